package client_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/server/client"
)

// A token is sent over TLS, or stays on the machine.
func ExampleNew() {
	for _, url := range []string{"https://approvals.example", "http://127.0.0.1:7323", "http://approvals.example"} {
		c, err := client.New(client.Options{URL: url, Token: "awt_example"})
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
	// http:// sends the token readably to approvals.example: over a network it has to be https://
}

// The tokens of a user lie in a file, by server.
func ExampleTokens_Of() {
	tokens := client.Tokens{File: filepath.Join(os.TempDir(), "no", "such", "credentials.json")}
	_, err := tokens.Of("https://approvals.example")
	fmt.Println(err)
	// Output: there is no token for this server
}
