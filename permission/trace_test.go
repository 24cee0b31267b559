package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

func explain(t *testing.T, s spec, use ToolUse) (*Trace, Decision) {
	t.Helper()
	use.Dir = workspace
	tr := &Trace{}
	return tr, Evaluate(s.policy(t), s.session(t), &use, fakeFS{}, tr)
}

// A trace has every layer's answer, including those that were not needed.
func TestTrace(t *testing.T) {
	s := spec{
		mode: "bypassPermissions", allow: "Bash(npm:*)", ask: "Bash(npm install:*)",
		deny: "Bash(rm:*)", sessionAllow: "Bash(npm install)",
	}
	tr, d := explain(t, s, using("Bash", "npm install"))
	if outcome(tr.Decision) != outcome(d) || len(tr.Actions) == 0 {
		t.Fatalf("%+v", tr)
	}
	a := tr.Actions[0]
	want := []string{
		"session-allow allow Bash(npm install) session",
		"mode allow  ",
		"allow-list - Bash(npm:*) --allow",
		"ask-list ask Bash(npm install:*) --ask",
		"default allow Bash(npm:*) --allow",
	}
	var got []string
	for _, s := range a.Steps {
		behavior := "-"
		if s.Behavior != 0 {
			behavior = s.Behavior.String()
		}
		got = append(got, s.Layer.String()+" "+behavior+" "+s.Rule+" "+s.Source.Name)
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if a.Decides != 0 || a.Action != "run npm install" || a.Pos != 0 || a.End != len("npm install") {
		t.Errorf("%+v", a)
	}
}

// A session rule that matches an action of tier 3 is named, with the reason why
// it does not count.
func TestTraceTier3(t *testing.T) {
	s := spec{risk: true, sessionAllow: "Bash; Bash(rm:*)"}
	tr, d := explain(t, s, using("Bash", "rm -rf x"))
	want := Step{Layer: LayerSessionAllow, Rule: "Bash(rm:*)", Source: patterns.Source{Name: "session"}, Reason: "tier 3: rules of the session do not cover it"}
	if steps := tr.Actions[0].Steps; len(steps) == 0 || steps[0] != want {
		t.Errorf("%+v", tr.Actions[0].Steps)
	}
	reason := "tier 3: destructive operation; it runs only if a rule of the policy names it"
	if want := reason + " (Bash(rm:*) is a rule of the session): run rm -rf x"; d.Reason != want {
		t.Errorf("%q, want %q", d.Reason, want)
	}
	s.sessionAllow = "Bash"
	if tr, d := explain(t, s, using("Bash", "rm -rf x")); d.Reason != reason+": run rm -rf x" || tr.Actions[0].Steps[0].Layer == LayerSessionAllow {
		t.Errorf("%q %+v", d.Reason, tr.Actions[0].Steps)
	}
}

func TestTraceNearMiss(t *testing.T) {
	tr, _ := explain(t, spec{allow: "Bash(git status); Bash(git push origin dev:*); Read"}, using("Bash", "git push origin main"))
	a := tr.Actions[0]
	if a.NearMiss != "Bash(git push origin dev:*)" || a.Missed == "" || a.NearMissSource.Name != "--allow" {
		t.Errorf("%+v", a)
	}
	paths := spec{allow: "Edit(src/**); Edit(src/a/*.go); Edit(/srv/**); Read(src/a/**)"}
	tr, _ = explain(t, paths, using("Edit", "src/a/b/c.go"))
	if a := tr.Actions[0]; a.NearMiss != "" {
		t.Errorf("a covered path has %+v", a)
	}
	tr, _ = explain(t, spec{allow: "Edit(lib/**); Edit(src/a/*.go); Edit(/srv/**); Read(src/**)"}, using("Edit", "src/a/b/c.go"))
	if a := tr.Actions[0]; a.NearMiss != "Edit(src/a/*.go)" || !strings.Contains(a.Missed, "does not match") {
		t.Errorf("%+v", a)
	}
	tr, _ = explain(t, spec{allow: "Read(src/**); Bash(ls:*)"}, using("Edit", "src/a.go"))
	if a := tr.Actions[0]; a.NearMiss != "" {
		t.Errorf("%+v", a)
	}
	tr, _ = explain(t, spec{allow: "Read; Bash(ls:*)"}, using("Bash", "git push"))
	if a := tr.Actions[0]; a.NearMiss != "" {
		t.Errorf("%+v", a)
	}
}

func TestTraceDecides(t *testing.T) {
	tests := []struct {
		s          spec
		line, want string
	}{
		{spec{allow: "Bash", deny: "Bash(rm:*)"}, "rm x", "deny-list"},
		{spec{mode: "bypassPermissions", deny: "Bash(rm:*)"}, "$x", "deny-list"},
		{spec{allow: "Bash(ls:*)", ask: "Bash(npm:*)"}, "npm i", "ask-list"},
		{spec{risk: true}, "rm -rf x", "default"},
		{spec{mode: "plan"}, "npm i", "mode"},
	}
	for _, tt := range tests {
		tr, d := explain(t, tt.s, using("Bash", tt.line))
		a := tr.Actions[0]
		if a.Decides < 0 || a.Steps[a.Decides].Layer.String() != tt.want || d.Layer.String() != tt.want {
			t.Errorf("%s: decides %d of %+v, decision %s", tt.line, a.Decides, a.Steps, outcome(d))
		}
	}
	tr, _ := explain(t, spec{allow: "Bash"}, using("Bash", "rm -rf /"))
	if tr.Whole.Layer != LayerGuard || tr.Whole.Behavior != Deny {
		t.Errorf("%+v", tr.Whole)
	}
	tr, _ = explain(t, spec{allow: "Bash(cat:*)"}, using("Bash", "cat a"))
	for _, a := range tr.Actions[1:] {
		if !a.Free || a.Decides != -1 {
			t.Errorf("%+v", a)
		}
	}
	tr, d := explain(t, spec{}, ToolUse{})
	if d.Behavior != Deny || outcome(tr.Decision) != "deny guard" {
		t.Errorf("%+v", tr)
	}
}

func TestTraceOfAQuestion(t *testing.T) {
	tr, d := explain(t, spec{mode: "bypassPermissions", allow: "ExitPlanMode"}, using("ExitPlanMode", "{}"))
	a := tr.Actions[0]
	if len(a.Steps) != 1 || a.Steps[0].Layer != LayerDefault || a.Steps[0].Behavior != Ask || d.Behavior != Ask {
		t.Errorf("%+v", a)
	}
}

func TestNames(t *testing.T) {
	if Behavior(0).String() != "deny" || Behavior(9).String() != "deny" || Allow.String() != "allow" {
		t.Error("behavior names")
	}
	if Layer(0).String() != "invalid" || Layer(99).String() != "invalid" || LayerDefault.String() != "default" || LayerGuard.String() != "guard" {
		t.Error("layer names")
	}
}

// "Nothing cut without saying so."
func TestLongTextIsCutAndSaysSo(t *testing.T) {
	d := spec{}.decideOn(t, using("Bash", "echo "+strings.Repeat("é", 3000)))
	if len(d.Reason) > 2*maxShown || !strings.Contains(d.Reason, "bytes more)") {
		t.Error(d.Reason)
	}
}
