package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Facts that package shell does not return, but that must not allow anything if
// it did.
func TestOddFacts(t *testing.T) {
	p := spec{allow: "Bash(ls:*)", deny: "Bash(rm:*)"}.policy(t)
	r := &reading{use: ToolUse{Tool: "Bash"}, know: p.knowledge(), env: fakeFS{}, dir: workspace, facts: &shell.Facts{}}
	sub := patterns.Subject{Tool: "Bash", Line: "x"}
	r.add(&shell.Action{Kind: 0, Parent: -1}, &sub)
	r.add(&shell.Action{Kind: shell.Opaque, Need: 99, Parent: 7}, &sub)
	r.found, r.profile, r.weighed = []risk.Finding{{}, {Class: 77}}, p.Profile, true
	e := begin(r, p, &noStanding)
	for i := range e.acts {
		a := &e.acts[i]
		if a.class != risk.Forbidden || a.parent != -1 || a.sub.Kind != patterns.Hidden {
			t.Errorf("%d: %+v", i, a)
		}
	}
	r.found = r.found[:1]
	if less := begin(r, p, &noStanding); less.acts[1].class != risk.Forbidden {
		t.Errorf("an action of no finding is %s", less.acts[1].class)
	}
	if e.acts[0].sub.May != shell.MayRun {
		t.Errorf("an action of no kind may %v", e.acts[0].sub.May)
	}
	if e.acts[1].free {
		t.Error("an unknown need is none")
	}
	if d := e.decide(); d.Behavior == Allow {
		t.Errorf("%+v", d)
	}
}

// For a write to a path with unknown parts the known parts decide.
func TestFits(t *testing.T) {
	word := func(text string) shell.Word { // "*" is a hole
		w := shell.Word{}
		for i, piece := range strings.Split(text, "*") {
			if i > 0 {
				w.Holes = append(w.Holes, shell.Hole{At: len(w.Text)})
			}
			w.Text += piece
		}
		return w
	}
	tests := []struct {
		text, name string
		want       bool
	}{
		{".git", ".git", true},
		{".GIT", ".git", true},
		{".gitx", ".git", false},
		{"*", ".git", false},
		{".g*", ".git", true},
		{".g*t", ".git", true},
		{".g*x", ".git", false},
		{".x*t", ".git", false},
		{"*git", ".git", true},
		{"m*c*j", "mcxjsonj", true},
		{"m*q*j", "mcxj", false},
		{"m*c*j", "mxj", false},
		{"*a*b*", "xxaxxbxx", true},
		{"*b*a*", "xxaxxbxx", false},
		{"ab*ba", "aba", false},
		{"*İ", "i̇", false},
	}
	for _, tt := range tests {
		if got := fits(word(tt.text), tt.name); got != tt.want {
			t.Errorf("fits(%q, %q) = %v", tt.text, tt.name, got)
		}
	}
	if fits(shell.Word{Text: "t", Holes: []shell.Hole{{Kind: shell.Glob}}}, ".git") {
		t.Error("a glob stands for a leading dot")
	}

	paths := []struct {
		text, name string
		tree, want bool
	}{
		{"/etc/aw", "/etc/aw", false, true},
		{"/etc/aw/x", "/etc/aw", false, true},
		{"/etc/awx", "/etc/aw", false, false},
		{"/etc", "/etc/aw", false, false},
		{"/etc", "/etc/aw", true, true},
		{"/", "/etc/aw", true, true},
		{"/etc/a*", "/etc/aw", false, true},
		{"/etc/aw/*", "/etc/aw", false, true},
		{"*/aw", "/etc/aw", false, true},
		{"*", "/etc/aw", false, false},
		{"/*", "/etc/aw", false, false},
		{"/x*", "/etc/aw", false, false},
		{"/etc/x", "", false, false},
		{"/etc/x", "/", false, false},
	}
	for _, tt := range paths {
		if got := reaches(word(tt.text), tt.name, tt.tree); got != tt.want {
			t.Errorf("reaches(%q, %q, %v) = %v", tt.text, tt.name, tt.tree, got)
		}
	}
	for text, want := range map[string]bool{
		"/a/.git/config": true, "/a/.vscode/tasks.json": true, "/a/.vscode": true, "/a/.vscode/x": true, "/a/.github/x": false, "/a/.github": true, "/a/build*": false, "/a/Jenkins*": true,
		"*/tasks.json": true, "*/tasks.json/x": true, "*/x": false, "/a/*": false, "/a/.vs*/tasks.json": true,
		"/a/.config": true, "/a/.config/x": false, "/": false,
	} {
		if got := named(word(text), protectedNames(), true); got != want {
			t.Errorf("named(%q) = %v", text, got)
		}
	}
}

// Reasons and messages.
func TestWords(t *testing.T) {
	tests := []struct {
		s              spec
		use            string
		reason, advice string
	}{
		{spec{deny: "Bash(rm:*)"}, "Bash: rm x", "denied by rule Bash(rm:*): run rm x", "Denied: denied by rule"},
		{spec{deny: "Bash"}, `Bash: eval "$x"`, "denied by rule Bash", ""},
		{spec{deny: "WebFetch(evil.example)", allow: "WebFetch"}, "WebFetch: https://a\\@evil.example/", "", ""},
		{spec{allow: "Read"}, "Bash: npm i", "Not in allow list: run npm i", "Not approved: Not in allow list"},
		{spec{allow: "Bash(git log:*)"}, "Bash: git log $x", "Not in allow list: run git log … (the argument", ""},
		{spec{mode: "plan"}, `Bash: python3 -c 'x'`, "plan mode", "Denied: plan mode"},
		{spec{}, `Skill: {"skill":"pdf"}`, "no rule allows it: use Skill(pdf)", ""},
		{spec{}, "Write: /tmp/x", "write /tmp/x", ""},
		{spec{}, "WebFetch: https://example.com/", "fetch https://example.com/", ""},
		{spec{risk: true}, "Bash: FOO=1 ls", "it may not be harmless: the variable FOO may change what the program does", ""},
		{spec{rules: []patterns.GranularSpec{{Tools: []string{"Bash"}, Commands: []string{"git push"}, Action: patterns.Ask}}}, "Bash: git $x", "may match ask rule", ""},
		{spec{rules: []patterns.GranularSpec{
			{Tools: []string{"Bash"}, Commands: []string{"git push"}, Action: patterns.Deny}, {Tools: []string{"Bash"}, Commands: []string{"git pull"}, Action: patterns.Deny},
		}}, "Bash: git $x", "may match deny rule deny Bash commands=git push", ""},
		{spec{deny: "Bash(rm:*)", allow: "Bash"}, "Bash: unheard rm x", "may match deny rule Bash(rm:*): the command may do what the rule covers", ""},
	}
	for _, tt := range tests {
		tool, text, _ := strings.Cut(tt.use, ": ")
		d := tt.s.decideOn(t, using(tool, text))
		if !strings.Contains(d.Reason, tt.reason) || !strings.HasPrefix(d.Message, tt.advice) || d.Reason == "" {
			t.Errorf("%s: %q, %q", tt.use, d.Reason, d.Message)
		}
	}
}

// The denial of an opaque line tells the model what would be clear.
func TestRewrite(t *testing.T) {
	d := spec{mode: "plan"}.decideOn(t, using("Bash", `eval "$x"`))
	e := d.Message
	if d.Behavior != Deny || !strings.Contains(e, "Instead: ") {
		t.Errorf("%q", e)
	}
	many := spec{mode: "plan"}.decideOn(t, using("Bash", "eval \"$x\"; . ./f; make --eval x; alias a=b; hash -p /x ls; enable -n echo; shopt -s globstar; set -k"))
	if n := strings.Count(many.Message, "Instead: "); n != maxSpots || !strings.HasSuffix(many.Message, "Other parts cannot be analysed either") {
		t.Errorf("%d of many spots: %q", n, many.Message)
	}
}

func TestDoubt(t *testing.T) {
	for _, tt := range []struct {
		a    action
		want string
	}{
		{action{sub: patterns.Subject{Kind: patterns.FetchURL}}, "the exact host is unknown"},
		{action{sub: patterns.Subject{Kind: patterns.UseTool}}, "what it does is unknown"},
		{action{sub: patterns.Subject{Kind: patterns.Hidden}}, "what it does is unknown"},
		{action{sub: patterns.Subject{Kind: patterns.ReadPath}, does: &shell.Action{}}, "the exact path is unknown"},
		{action{sub: patterns.Subject{Kind: patterns.RunCommand}, does: &shell.Action{Words: []shell.Word{{Text: "x"}}}}, "the command may do what the rule covers"},
		{action{sub: patterns.Subject{Kind: patterns.RunCommand}, does: &shell.Action{Words: []shell.Word{{Text: "x"}, {Holes: []shell.Hole{{}}}}}}, shell.Why{Cause: shell.CauseWordUnknown}.String()},
	} {
		if got := tt.a.doubt().String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
