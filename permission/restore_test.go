package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/modes"
)

// TestRestore: a session with the grants of another one of the same policy decides as
// that does.
func TestRestore(t *testing.T) {
	const opaque = `python3 -c "print(1)"`
	s := spec{allow: "Bash", ask: "Bash(npm:*)", deny: "Read(.env)", risk: true}
	v, _, _ := lastingEvaluator(t, s,
		forRules(0, 0, "Bash(npm i)"), forRules(time.Hour, 3, "Bash(npm ci)"),
		Answer{Behavior: Deny, Scope: ScopeSession, Rules: []string{"Bash(npm y)"}}, Answer{Behavior: Allow, Scope: ScopeUse})
	lines := []string{"npm i", "npm ci", "npm y", opaque}
	outcomes(t, v, lines...)
	w, _, _ := lastingEvaluator(t, s)
	if err := w.Session.Restore(v.Session.Grants(), 7); err != nil {
		t.Fatal(err)
	}
	lines = append(lines, opaque+" ", "npm ci", "npm ci", "npm i && npm ci", "npm z")
	if got, want := fmt.Sprint(outcomes(t, w, lines...)), fmt.Sprint(outcomes(t, v, lines...)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.Approver = &person{answers: []Answer{forRules(0, 0, "Bash(npm z)")}}
	outcomes(t, w, "npm z")
	if all := w.Session.Grants(); all[len(all)-1].ID != 8 {
		t.Errorf("an ID comes twice: %v", all)
	}
}

// TestRestoreRefuses: what no session would have kept is not restored, the rest is.
func TestRestoreRefuses(t *testing.T) {
	good := Grant{ID: 1, Behavior: Allow, Rule: "Bash(npm i)"}
	for name, bad := range map[string]Grant{
		"no number":         {Behavior: Allow, Rule: "Bash(npm ci)"},
		"a number twice":    {ID: 1, Behavior: Allow, Rule: "Bash(npm ci)"},
		"an ask":            {ID: 2, Behavior: Ask, Rule: "Bash(npm ci)"},
		"about nothing":     {ID: 2, Behavior: Allow},
		"about two things":  {ID: 2, Behavior: Allow, Rule: "Bash(npm ci)", Exactly: "ab"},
		"used up":           {ID: 2, Behavior: Allow, Rule: "Bash(npm ci)", Counted: true},
		"left of nothing":   {ID: 2, Behavior: Allow, Rule: "Bash(npm ci)", Left: 2},
		"a counted denial":  {ID: 2, Behavior: Deny, Rule: "Bash(npm ci)", Counted: true, Left: 1},
		"no rule":           {ID: 2, Behavior: Allow, Rule: "Bash(npm ci"},
		"a tool in no case": {ID: 2, Behavior: Allow, Rule: "bash(npm ci)"},
	} {
		v, _, _ := lastingEvaluator(t, spec{})
		if err := v.Session.Restore([]Grant{good, bad}, 0); err == nil || len(v.Session.Grants()) != 1 {
			t.Errorf("%s: %v, %v", name, err, v.Session.Grants())
		}
	}
	v, _, _ := lastingEvaluator(t, spec{})
	over := Grant{ID: 2, Behavior: Allow, Rule: "Bash(npm ci)", Until: time.Now()}
	if err := v.Session.Restore([]Grant{good, over}, 0); err != nil || len(v.Session.Grants()) != 1 {
		t.Error("what has ended is restored:", err)
	}
	v.Session.Now = nil
	over.Until = time.Now().Add(time.Hour)
	if err := v.Session.Restore([]Grant{over}, 0); err != nil || len(v.Session.Grants()) != 0 {
		t.Error("without a clock, what ends is restored:", err)
	}
}

// TestChanged: each change is told before it counts; what cannot be told is not kept,
// and a counted use that cannot is none.
func TestChanged(t *testing.T) {
	v, _, b := lastingEvaluator(t, spec{ask: "Bash(npm:*)"}, forRules(0, 3, "Bash(npm i)"), forRules(0, 0, "Bash(npm ci)"))
	var told [][]Grant
	var fails error
	v.Session.Changed = func(all []Grant) error {
		told = append(told, all)
		return fails
	}
	outcomes(t, v, "npm i", "npm i")
	if len(told) != 2 || told[0][0].Left != 2 || told[1][0].Left != 1 {
		t.Fatalf("%v", told)
	}
	fails = errors.New("the disk is full")
	use := using("Bash", "npm i")
	use.Dir = workspace
	if res, err := v.CanUseTool(t.Context(), use); err == nil || res.Behavior == Allow || v.Session.Grants()[0].Left != 1 {
		t.Error("a use that was not told counts:", res.Reason, err)
	}
	res := can(t, v, using("Bash", "npm ci"))
	if res.Behavior != Allow || !strings.Contains(res.Reason, "the disk is full") || len(v.Session.Grants()) != 1 {
		t.Error(res.Reason, v.Session.Grants())
	}
	if !v.Session.Revoke(1) || len(v.Session.Grants()) != 0 || len(told[len(told)-1]) != 0 {
		t.Error("what was revoked counts")
	}
	if len(b.records) == 0 {
		t.Error("nothing is recorded")
	}
}

// TestDeniedExactly: a denial of exactly one tool use denies that, as often as it says.
func TestDeniedExactly(t *testing.T) {
	v, p, _ := lastingEvaluator(t, spec{ask: "Bash(npm:*)"}, Answer{Behavior: Deny}, Answer{Behavior: Deny})
	outcomes(t, v, "npm i")
	digest, err := p.asked[0].Exactly()
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Session.Restore([]Grant{{ID: 1, Behavior: Deny, Exactly: digest, Counted: true, Left: 1}}, 0); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(outcomes(t, v, "npm i", "npm i")); got != "[rule deny person deny]" {
		t.Error(got)
	}
}

// TestExactly: the digest is the same for the same question, and another for any other.
func TestExactly(t *testing.T) {
	s := spec{allow: "Bash", ask: "Bash(npm:*)", deny: "Read(.env)", risk: true}
	digest := func(s spec, use ToolUse, rules ...string) string {
		v, _, _ := lastingEvaluator(t, s)
		for _, rule := range rules {
			if err := v.Session.Deny(rule); err != nil {
				t.Fatal(err)
			}
		}
		r := v.Request(use)
		d, err := r.Exactly()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	use := func(line string) ToolUse {
		u := using("Bash", line)
		u.Dir = workspace
		return u
	}
	line := `npm i && cat "$X" > out`
	first := digest(s, use(line))
	sub := use(line)
	sub.ID, sub.Agent, sub.Session = "x", "sub", "another"
	for name, same := range map[string]string{"once more": digest(s, use(line)), "a subagent": digest(s, sub), "beside another rule": digest(s, use(line), "Bash(make:*)")} {
		if same != first {
			t.Error(name, "is another question")
		}
	}
	elsewhere := use(line)
	elsewhere.Dir += "/sub"
	more := s
	more.ask = "Bash(npm i)"
	all := []string{first, digest(s, use(line+" ")), digest(s, elsewhere), digest(more, use(line)), digest(s, use("npm ci")), digest(s, using("Write", "/etc/x"))}
	slices.Sort(all)
	if len(slices.Compact(all)) != 6 {
		t.Error("two questions have one digest")
	}
	broken := Request{Use: ToolUse{Tool: "Bash", Input: []byte("[")}}
	if _, err := broken.Exactly(); err == nil {
		t.Error("an input that cannot be read has a digest")
	}
}

// TestSetMode: a mode of the session counts in place of the policy's, and leaves a
// further policy that has another one in that.
func TestSetMode(t *testing.T) {
	edit, line := using("Edit", workspace+"/x"), using("Bash", "npm i")
	edit.Dir, line.Dir = workspace, workspace
	said := func(v *Evaluator) string {
		return v.Explain(edit, nil).Behavior.String() + " " + v.Explain(line, nil).Behavior.String()
	}
	v, _, _ := lastingEvaluator(t, spec{})
	for _, tt := range []struct {
		mode modes.Mode
		want string
	}{{modes.AcceptEdits, "allow ask"}, {modes.DontAsk, "deny deny"}, {modes.BypassPermissions, "allow allow"}, {modes.Plan, "deny deny"}, {modes.Default, "ask ask"}} {
		v.Session.SetMode(tt.mode)
		if got := said(v); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.mode, got, tt.want)
		}
	}
	same, plan := *v.Policy, *v.Policy
	plan.Mode = modes.Plan
	inForce := func(want ...modes.Mode) {
		t.Helper()
		if got := v.Session.Modes(v.Policy); !slices.Equal(got, want) {
			t.Errorf("in force: %v, want %v", got, want)
		}
	}
	v.Policy.Further = []*Policy{&same}
	v.Session.SetMode(modes.AcceptEdits)
	if got := said(v); got != "allow ask" {
		t.Error("beside a further policy in the same mode:", got)
	}
	inForce(modes.AcceptEdits)
	v.Policy.Further = []*Policy{&same, &plan}
	v.Session.SetMode(modes.AcceptEdits)
	if got := said(v); got != "deny deny" {
		t.Error("beside a further policy in mode plan:", got)
	}
	inForce(modes.Plan)
	v.Session.SetMode(modes.DontAsk)
	inForce(modes.DontAsk, modes.Plan)
	v.Policy = spec{mode: "bypassPermissions"}.policy(t)
	v.Session.SetMode(modes.Default)
	inForce(modes.Default)
	v.Policy = &Policy{Place: place}
	if got := said(v); got != "deny deny" {
		t.Error("a policy that could not be read, in a mode of the session:", got)
	}
	v, _, _ = lastingEvaluator(t, spec{})
	for name, p := range map[string]*Policy{"the policy": v.Policy, "a further policy": &same} {
		v.Policy.Further, v.Policy.OwnMode, same.OwnMode = []*Policy{&same}, false, false
		p.OwnMode = true
		v.Session.SetMode(modes.BypassPermissions)
		if got := said(v); got != "ask ask" {
			t.Errorf("where %s has a mode of its own: %s", name, got)
		}
	}
}
