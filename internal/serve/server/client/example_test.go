package client_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/client"
)

// Questions and answers go over TLS, or stay on the machine.
func ExampleNew() {
	for _, url := range []string{"https://approvals.example", "http://127.0.0.1:7323", "http://approvals.example"} {
		c, err := client.New(client.Options{URL: url, Token: "awt_p1_example"})
		if err != nil {
			fmt.Println(err)
			continue
		}
		c.Close()
		fmt.Println(url)
	}
	// Output:
	// https://approvals.example
	// http://127.0.0.1:7323
	// http:// would send questions and answers to approvals.example unencrypted: use https:// over a network
}

// The tokens of a user lie in a file, by server.
func ExampleTokens_Of() {
	tokens := client.Tokens{File: filepath.Join(os.TempDir(), "no", "such", "credentials.json")}
	_, err := tokens.Of("https://approvals.example")
	fmt.Println(err)
	// Output: no token is saved for this server
}
