package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestValidate checks that all errors are reported, each with its place.
func TestValidate(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"a good one", full, ""},
		{"keys", "alow = []\nmode = 1\n\n[[rules]]\ntool = []", `
			p:1:1: error: unknown key alow (did you mean allow?)
			p:2:8: error: mode: must be a string, not a number
			p:5:1: error: rules[0]: unknown key tool (did you mean tools?)`},
		{"twice", "mode = 'plan'\nmode = 'plan'", "p:2:1: error: key mode stands twice: remove one"},
		{"no TOML", "allow = [", "p:1:10: error: the file ends where a value is expected"},
		{"rules", "deny = ['Bash(x', 'Bash(a b)(', \n 'Read(a)']\nallow = ['Bash(fi)', 'Bash(\u200bx)', 'Bash(ls)']", `
			p:1:14: error: rule Bash(x: "(" is not closed; write Bash(x)
			p:1:29: error: rule Bash(a b)(: text after the closing ")"; write Bash(a b)
			p:3:16: warning: rule Bash(fi): "fi" is a shell keyword, and a rule matches one simple command, so it never matches: remove it, or name the command itself
			p:3:28: warning: rule "Bash(\u200bx)": the rule contains U+200B, which is invisible or looks like a space`},
		{"settings", "mode = 'x'\nrisk = ''\nunlisted = 'maybe'\n", `
			p:3:12: error: unlisted is "maybe": write ask, deny or risk
			p:2:8: error: risk is "": write on or off
			p:1:8: error: unknown permission mode "x" (use default, acceptEdits, plan, dontAsk, bypassPermissions)`},
		{"protect", "protect = ['a', '*.x', './y']", `
			p:1:18: error: protect "*.x": patterns are not supported here: name a directory to protect everything below it, or write one entry for each file
			p:1:25: error: protect "./y": "." and ".." cannot be protected: write only the name, which matches at any depth, or the absolute path`},
		{"granular rules", "[[rules]]\ntools = ['Bash']\naction = 'no'\n[[rules]]\ntools = ['Bash']\naction = 'deny'\npatterns = ['(']\n" +
			"[[rules]]\ntools = ['Bash']\naction = 'deny'\ncommands = ['rm']\nmatch = ['ls']", `
			p:1:1: error: action is "no": write allow, ask or deny
			p:4:1: error: rule deny Bash patterns=(: patterns: "(": missing closing ): "("; write a regular expression in RE2 syntax
			p:12:11: error: match: the rule does not deny ls`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, p := range Validate([]byte(tt.text), "p") {
				got = append(got, p.String())
			}
			want := strings.Split(strings.ReplaceAll(strings.TrimSpace(tt.want), "\t", ""), "\n")
			if diff := cmp.Diff(strings.Join(want, "\n"), strings.Join(got, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// An unknown key does not hide what else is wrong, and the rest is no policy.
func TestValidateBehindUnknownKeys(t *testing.T) {
	text := []byte("alow = [\"Bash\"]\nmode = \"plann\"\ndeny = [\"Bsh(x)\"]\n[[rules]]\nactoin = \"ask\"\n")
	var got []string
	for _, p := range Validate(text, "p.toml") {
		got = append(got, p.String())
	}
	if len(got) < 4 || !strings.Contains(got[0], "p.toml:1:1: error: unknown key alow") {
		t.Errorf("%q", got)
	}
	for _, part := range []string{"unknown key actoin", "plann", "Bsh"} {
		if !strings.Contains(strings.Join(got, "\n"), part) {
			t.Errorf("nothing about %s: %q", part, got)
		}
	}
	if spec, err := Parse(text, "p.toml"); err == nil || spec != nil {
		t.Errorf("%v, %v", spec, err)
	}
}
