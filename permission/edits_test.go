package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/modes"
)

// acceptEdits is the answer that accepts edits for the session.
var acceptEdits = Answer{Behavior: Allow, Scope: ScopeEdits}

// TestAcceptEditsForTheSession checks that the answer counts for edits in the workspace, for nothing
// else, until it is revoked or a mode is set.
func TestAcceptEditsForTheSession(t *testing.T) {
	s := spec{ask: "Edit; Bash(npm:*); Edit(migrations/**)", deny: "Edit(secrets/**)", risk: true}
	v, book := evaluator(t, s, &person{answers: []Answer{acceptEdits}})
	res := can(t, v, using("Edit", "src/a.go"))
	if res.Behavior != Allow || !strings.HasPrefix(res.Reason, "approved by you, with all edits in the workspace for this session; asked by Edit") {
		t.Fatalf("%s %q", outcome(res.Decision), res.Reason)
	}
	if all := v.Session.Grants(); len(all) != 1 || !all[0].Edits || all[0].String() != "allow all edits in the workspace, except of protected files" {
		t.Fatalf("%+v", all)
	}
	for use, want := range map[string]Behavior{
		"Edit: src/a.go": Allow, "Write: b.go": Allow, "Edit: secrets/x": Deny, "Edit: migrations/1.sql": Ask, "Edit: /srv/x/y": Ask,
		"Edit: .git/config": Ask, "Bash: npm i": Ask, "Bash: rm src/a.go": Ask, "Edit: ../x/y": Ask, "WebFetch: https://go.dev/": Ask,
	} {
		tool, text, _ := strings.Cut(use, ": ")
		if d := v.Request(here(tool, text)).Decision; d.Behavior != want {
			t.Errorf("%s: %s (%s), want %s", use, d.Behavior, d.Reason, want)
		}
	}
	res = can(t, v, using("Write", "c.go"))
	if last := book.records[len(book.records)-1]; res.Layer != LayerMode || len(last.Result.Grants) != 1 || !last.Result.Grants[0].Edits {
		t.Errorf("%s: %+v", outcome(res.Decision), last.Result.Grants)
	}
	if got := v.Session.Modes(v.Policy); len(got) != 1 || got[0] != modes.AcceptEdits {
		t.Errorf("modes %v", got)
	}
	all := v.Session.Grants()
	if !v.Session.Revoke(all[0].ID) || v.Request(here("Edit", "src/a.go")).Decision.Behavior != Ask {
		t.Error("it counts after it was revoked")
	}
	if err := v.Session.Restore(all, 1); err != nil || v.Request(here("Edit", "src/a.go")).Decision.Behavior != Allow {
		t.Errorf("it does not count after it was restored: %v", err)
	}
	v.Session.SetMode(modes.Default)
	if len(v.Session.Grants()) != 0 || v.Request(here("Edit", "src/a.go")).Decision.Behavior != Ask {
		t.Error("it counts after a mode was set")
	}
}

// TestAcceptEditsNot checks where the answer may not be given, and that it counts once if
// it is.
func TestAcceptEditsNot(t *testing.T) {
	for name, tt := range map[string]struct {
		s   spec
		use ToolUse
	}{
		"a file that an ask rule names": {spec{ask: "Edit(src/**)"}, using("Edit", "src/a.go")},
		"outside the workspace":         {spec{}, using("Edit", "/srv/x/y")},
		"a protected file":              {spec{}, using("Edit", ".git/config")},
		"a command":                     {spec{}, using("Bash", "npm i")},
		"a command that writes":         {spec{}, using("Bash", "echo x > src/a.go")},
		"a read":                        {spec{ask: "Read"}, using("Read", "src/a.go")},
		"a fetch":                       {spec{}, using("WebFetch", "https://go.dev/")},
		"mode plan":                     {spec{mode: "plan"}, using("Bash", "npm i")},
	} {
		v, _ := evaluator(t, tt.s, &person{answers: []Answer{acceptEdits}})
		tt.use.Dir = workspace
		r := v.Request(tt.use)
		if err := r.CanAcceptEdits(); err == nil {
			t.Errorf("%s: it may", name)
		}
		if res := can(t, v, tt.use); len(v.Session.Grants()) != 0 || res.Behavior == Allow && !strings.Contains(res.Reason, " once, edits are not accepted: ") {
			t.Errorf("%s: %s %+v", name, res.Reason, v.Session.Grants())
		}
	}
	v, _ := evaluator(t, spec{ask: "Edit"}, &person{answers: []Answer{acceptEdits, acceptEdits}})
	own := *v.Policy
	own.OwnMode = true
	v.Policy = &own
	if r := v.Request(here("Edit", "src/a.go")); r.CanAcceptEdits() == nil {
		t.Error("a policy with a mode of its own: it may")
	}
	for _, odd := range []Grant{{ID: 1, Behavior: Deny, Edits: true}, {ID: 1, Behavior: Allow, Edits: true, Rule: "Bash"}, {ID: 1, Behavior: Allow, Edits: true, Counted: true, Left: 2}} {
		if err := v.Session.Restore([]Grant{odd}, 1); err == nil {
			t.Errorf("%+v is restored", odd)
		}
	}
	if r := (&Request{}); r.CanAcceptEdits() == nil {
		t.Error("a request of nobody: it may")
	}
}

// here returns a tool use in the workspace.
func here(tool, text string) ToolUse {
	use := using(tool, text)
	use.Dir = workspace
	return use
}

// TestAcceptEditsInAnotherMode checks that the answer counts in place of default alone.
func TestAcceptEditsInAnotherMode(t *testing.T) {
	for _, mode := range []string{"plan", "dontAsk"} {
		v, _ := evaluator(t, spec{mode: mode, ask: "Edit"}, nil)
		if err := v.Session.Restore([]Grant{{ID: 1, Behavior: Allow, Edits: true}}, 1); err != nil {
			t.Fatal(err)
		}
		if d := v.Request(here("Edit", "src/a.go")).Decision; d.Behavior != Deny {
			t.Errorf("%s: %s", mode, outcome(d))
		}
	}
}
