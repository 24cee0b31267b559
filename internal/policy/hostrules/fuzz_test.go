package hostrules

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// fuzzHost checks that a file of a host either is refused, with its name, or becomes a
// policy that loads and that has a place in the file for each rule, and never a panic.
func fuzzHost(f *testing.F, host, name string, seeds ...string) {
	for _, file := range settingsFiles(f) {
		if got := formatOf(&file); got != nil && got.name == host {
			f.Add(string(file.Text))
		}
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		made, err := Read([]File{{Name: name, Text: []byte(text)}}, Options{Host: host, Home: lawHome})
		if err != nil {
			if !strings.Contains(err.Error(), name) {
				t.Fatalf("the error does not name the file: %v", err)
			}
			return
		}
		policy, err := made.Draft.Text()
		if err != nil {
			t.Fatalf("%v\n%s", err, policy)
		}
		lines := strings.Count(text, "\n") + 1
		for _, r := range made.Rules {
			if r.Line < 1 || r.Line > lines || r.Col < 1 {
				t.Fatalf("no place in the file: %+v", r)
			}
			if r.Outcome == LeftOut && len(r.Became) > 0 || r.Reason == "" {
				t.Fatalf("contradictory: %+v", r)
			}
		}
		decide := decider(t, policy)
		for _, u := range []use{{tool: "NotebookEdit", path: "/etc/x"}, {tool: "Unheard"}} {
			if d := decide(&u); d.Behavior == permission.Allow && !strings.Contains(text, u.tool) {
				t.Fatalf("%s is allowed: %s\n%s", u.tool, d.Reason, policy)
			}
		}
	})
}

func FuzzClaude(f *testing.F) {
	fuzzHost(f, "claude", "/w/.claude/settings.json", `{"permissions":{"allow":["Bash(x:*)","mcp__a__*","*"],"deny":["Read(../**)","W*","Bash(> x)"],"defaultMode":"plan"}}`)
}

func FuzzCodex(f *testing.F) {
	fuzzHost(f, "codex", "r.rules", `prefix_rule(pattern=["a", ["b", r"c"]], decision="prompt")`, "x = 1", `load("a", "b")`, `prefix_rule(pattern=["'"])`)
}

func FuzzGemini(f *testing.F) {
	fuzzHost(f, "gemini", "p.toml", "[[rule]]\ntoolName='*'\ndecision='deny'\npriority=1\n", "[[rule]]\ncommandRegex='a(b|c)\\s'\ndecision='allow'\n")
}

func FuzzOpenCode(f *testing.F) {
	fuzzHost(f, "opencode", "opencode.json", `{"permission":"allow"}`, `{"permission":{"*":{"*x":"deny"},"bash":{"a ?":"ask"}}}`)
}

func FuzzVSCode(f *testing.F) {
	fuzzHost(f, "vscode", ".vscode/settings.json", `{"chat.tools.terminal.autoApprove":{"/a|b/i":true,"x":{"approve":false,"matchCommandLine":true}}}`)
}
