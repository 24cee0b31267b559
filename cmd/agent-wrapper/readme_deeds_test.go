//go:build linux

package main

import (
	"fmt"
	"strings"
)

// ranWith is a tool use with what the tool returns.
func ranWith(use, result string) string {
	return strings.TrimSuffix(use, "}") + fmt.Sprintf(`,"result":%q}`, result)
}

// The tool uses of the reader's agent.
var (
	fixes     = ranWith(tool("Edit", map[string]any{"file_path": "price.go", "old_string": "n * 99", "new_string": "n * 100"}), "price.go was changed.")
	tests     = ranWith(bash("go test ./..."), "ok  \tshop\t0.004s")
	pushesWeb = ranWith(bash("cd web && git push origin main"), "main -> main")
)

// deeds are what a reader does with the commands of the README, in their order.
var deeds = []deed{
	{
		command: "make demo", typed: "agent-wrapper demo",
		acts: []act{{press: "o"}, {press: "d"}, {press: "d"}},
	},
	{command: "CGO_ENABLED=0 go install ./cmd/...", typed: "command -v agent-wrapper claude > installed"},
	{command: "agent-wrapper init", acts: []act{{sees: "Let the agent edit files here", types: "\n"}, {sees: "Write agent-wrapper.toml?", types: "\n"}}, shot: shot{
		"init", "agent-wrapper init", "init has found a project in Go, asks whether edits need a question, and writes a policy.",
	}},
	{command: "agent-wrapper trust agent-wrapper.toml", acts: []act{{sees: "Do you trust exactly these settings?", types: "y\n"}}},
	{
		command: `agent-wrapper --prompt "fix the failing test"`,
		uses:    []string{"The test says that the price is wrong.", fixes, tests, pushesWeb, bash("cat .env")},
		acts: []act{{press: "o", shot: shot{
			"question", "A question at the terminal",
			"agent-wrapper asks about cd web && git push origin main: the part that is asked about is marked, and below it stand the rule that asks and the keys that answer.",
		}}},
		shot: shot{
			"run", "An agent at work",
			"An edit and go test ./... are allowed, git push is asked about and allowed once, cat .env is denied; each with its reason.",
		},
	},
	{
		command: `agent-wrapper --prompt "fix the failing test" --allow "Read,Edit,Bash(go test:*)" --ask "Bash(git push:*)" --deny "Bash(rm:*)"`,
		uses:    []string{fixes, tests, bash("/bin/rm -r -f build")},
	},
	{
		command: "agent-wrapper explain Bash 'cd web && git push origin main'",
		shot: shot{
			"explain", "agent-wrapper explain",
			"Every part of a command line with its decision and the rule behind it: cd web is allowed, git push origin main is asked about.",
		},
	},
	{command: "agent-wrapper check Bash 'git push'"},
	{command: "agent-wrapper policy lint"},
	{command: "agent-wrapper audit tail -n 20"},
	{command: `agent-wrapper run --approvals local --prompt "update the dependencies"`, uses: []string{bash("npm install left-pad")}, stays: true, acts: []act{{sees: "npm install left-pad"}}},
	{command: "agent-wrapper approvals", allows: true},
	{
		command: `agent-wrapper run --prompt "review the last commit" --isolated --allow "Read,Bash(git show:*)" --max-turns 40 --timeout 10m --output json`,
		uses:    []string{ranWith(bash("git show"), "commit 5c0ffee"), bash("git push"), "The commit is sound."},
		alone:   true,
	},
	{
		command: "agent-wrapper test policies",
		files:   map[string]string{"policies/shop.cases.toml": "[[case]]\nuse = \"Bash(git push)\"\nexpect = \"ask\"\n", "policies/agent-wrapper.toml": "ask = [\"Bash(git push:*)\"]\n"},
		alone:   true,
	},
	{command: "make test", typed: "true"},
}

// drawn are the deeds of the pictures that no command of the README gives.
var drawn = []deed{
	{
		command: `agent-wrapper --prompt "sell it for less"`,
		uses:    []string{fixes},
		acts: []act{{press: "d", shot: shot{
			"edit", "A question about an edit",
			"agent-wrapper asks about an edit of price.go and shows it as a diff.",
		}}},
	},
}
