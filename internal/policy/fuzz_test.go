package policy

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// FuzzParse checks that a policy either loads, or has an error and denies
// everything.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add("role = 'ops'\n[risks]\nmoderate = 'allow'\nhigh = 'deny'\n[roles.ops]\nsafe = 'ask'")
	f.Add("[approvals]\ntimeout_seconds = 5\npeople = ['a','b']\nquorum.high = 2\nquorum.moderate = 1")
	f.Add("mode = 'bypassPermissions'\nallow = ['Bash']")
	f.Add("[[rules]]\ntools=['Bash']\naction='deny'\nmatch=['ls','Bash(x)']\nnot_match=['Read(y)']")
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := Parse([]byte(text), "p")
		if err != nil {
			return
		}
		p, session, _, err := spec.Compile(place)
		use := permission.ToolUse{Tool: "Read", Input: []byte(`{"file_path":"x"}`), Dir: place.Workspace}
		d := permission.Evaluate(p, session, &use, workspace.Fake{}, nil)
		if err != nil && d.Behavior != permission.Deny {
			t.Fatalf("a policy that does not load (%v) gives %v", err, d.Behavior)
		}
		if err == nil && p.Version != spec.Digest() {
			t.Fatal("the version is not that of the spec")
		}
	})
}

// FuzzParseRules checks that rules get a place inside their text.
func FuzzParseRules(f *testing.F) {
	f.Add(`[{"tools":["Bash"],"action":"deny","match":["rm x"]}]`)
	f.Add("[\n\n{}]")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules(text, patterns.Source{Name: "r"})
		if err != nil && rules != nil {
			t.Fatal("rules and an error")
		}
		for _, r := range rules {
			if r.Source.Line < 1 || r.Source.Col < 1 {
				t.Fatalf("no place: %+v", r.Source)
			}
		}
	})
}

// FuzzRewrite checks that new expectations are either rejected or written into
// a file of cases so that it parses as intended.
func FuzzRewrite(f *testing.F) {
	f.Add(someCases, "deny", "Bash(a \"b\" 'c' \\)")
	f.Add("[[case]]\nuse='Bash'\n[case.with]\nmode='plan'", "ask", "")
	f.Add(`case=[{use="Bash"}]`, "allow", "x")
	f.Fuzz(func(t *testing.T, text, behavior, rule string) {
		cases, err := ParseCases([]byte(text), "c")
		if err != nil {
			return
		}
		want, err := parseExpectation(behavior + " guard " + rule)
		if err != nil {
			return
		}
		for i := range cases {
			cases[i].Want = want
		}
		next := rewrite([]byte(text), cases)
		if reads(next, "c", []byte(text), cases) != nil {
			return
		}
		after, err := ParseCases(next, "c")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range after {
			if c.Want != want {
				t.Fatalf("want %+v, wrote %+v", want, c.Want)
			}
		}
	})
}
