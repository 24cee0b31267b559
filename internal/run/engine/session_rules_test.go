package engine

import (
	"strings"
	"testing"
)

// TestSaidRules: a rule of the person counts for the session as an answer does: behind
// every denial, never for tier 3, and again when the session is resumed, also if it was
// said before the session began.
func TestSaidRules(t *testing.T) {
	o := Options{Dir: t.TempDir(), Dirs: &Dirs{State: t.TempDir()}}
	o.Settings = settings(t, asksFor)
	e := opened(t, o)
	says := func(keep func(string) ([]string, error), rule string) {
		t.Helper()
		if _, err := keep(rule); err != nil {
			t.Error(err)
		}
	}
	want := func(e *Engine, line, how string) {
		t.Helper()
		if got := decided(t, e, line); !strings.HasSuffix(got, how) {
			t.Errorf("%s: %s, want %s", line, got, how)
		}
	}
	want(e, "npm test", "deny") // nobody can be asked
	says(e.Allow, "Bash(npm test)")
	says(e.Deny, "Bash(ls:*)")
	says(e.Allow, "Read(.env)")
	says(e.Allow, "Bash(rm:*)")
	want(e, "npm test", "allow")
	want(e, "npm install x", "deny")
	want(e, "ls", "deny")
	want(e, "cat .env", "deny")
	want(e, "rm -rf ~/x", "deny")
	for _, bad := range []string{"", "bash", "Bash(", "Bash()", "*", "Bash(git:*) x"} {
		if _, err := e.Allow(bad); err == nil {
			t.Errorf("%q was kept", bad)
		}
	}
	if n := len(e.Session.Grants()); n != 4 {
		t.Errorf("%d answers: %v", n, e.Session.Grants())
	}
	if err := e.Began("s-1"); err != nil {
		t.Fatal(err)
	}
	closed(t, e)
	again := resumed(t, o, "s-1", nil)
	want(again, "npm test", "allow")
	want(again, "ls", "deny")
	if !again.Session.Revoke(1) {
		t.Error("the first answer cannot be revoked")
	}
	want(again, "npm test", "deny")
	closed(t, again)
	other := resumed(t, o, "s-2", nil)
	want(other, "npm test", "deny")
	closed(t, other)
}

// TestSessionRefuses checks that a rule that could never allow in a session is refused with
// the line to add to the policy, if one there could, and that nothing is kept then.
func TestSessionRefuses(t *testing.T) {
	o := site(t, map[string]string{"config/agent-wrapper.toml": `deny = ["Bash(docker-compose:*)"]`})
	e := opened(t, o)
	defer closed(t, e)
	for rule, want := range map[string]string{
		"Bash(rm -rf build dist)":   `add this line to agent-wrapper.toml: allow = ["Bash(rm -rf build dist)"]`,
		"Bash(docker compose up)":   "no rule can allow Bash(docker compose up): it never allows anything: deny Bash(docker-compose:*)",
		"Bash(docker compose up:*)": "always answers first",
	} {
		if _, err := e.Allow(rule); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", rule, err, want)
		}
	}
	for _, rule := range []string{"Bash(npm test)", "Bash(rm:*)", "Bash(docker ps)", "Edit(src/**)", "Read", "mcp__x__y", "Bash(rm -rf node_modules)"} {
		if _, err := e.Allow(rule); err != nil {
			t.Errorf("%s: %v", rule, err)
		}
	}
	if n := len(e.Session.Grants()); n != 7 {
		t.Errorf("%d answers: %v", n, e.Session.Grants())
	}
}
