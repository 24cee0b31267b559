package whitelist_test

import (
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// A program with a whitelist of its own validates a line before it runs the
// line without a shell.
func ExampleList_Validate() {
	list, err := whitelist.Parse([]byte(`{
		"version": "1.0.0", "mode": "strict",
		"defaults": {"npm": {"commands": ["test"]}}
	}`), "built in")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"npm test", "npm publish"} {
		facts := shell.Analyze(line, shell.Options{})
		if refused := list.Validate(line, facts); refused != nil {
			fmt.Println(refused.Reason)
			continue
		}
		argv, _, _ := list.Command(line, facts)
		fmt.Printf("%q\n", argv)
	}
	// Output:
	// ["npm" "test"]
	// not_whitelisted
}
