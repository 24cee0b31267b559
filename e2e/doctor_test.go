//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/doctor"
)

// hooked makes a machine of a person who has an agent CLI, and a hook in its settings:
// agent-wrapper's own, or with standIn a script that answers in the same shapes.
func hooked(t *testing.T, r release, onFailure string, standIn bool) doctor.Machine {
	t.Helper()
	b := newBox(t)
	program := binary(t)
	if standIn {
		text, err := os.ReadFile("../internal/hook/doctor/testdata/stand-in.sh")
		if err != nil {
			t.Fatal(err)
		}
		program = b.Dir + "/prog/agent-wrapper"
		b.write("prog/agent-wrapper", string(text))
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	hook := in{"type": "command", "command": program, "args": []string{"hook", "claude"}, "timeout": 600}
	if onFailure != "" {
		hook["onFailure"] = onFailure
	}
	b.write("home/.claude/settings.json", marshal(in{"hooks": in{"PreToolUse": []any{in{"hooks": []any{hook}}}}}))
	b.write("hosts/x", "")
	if err := os.Symlink(r.Path, b.Dir+"/hosts/claude"); err != nil {
		t.Fatal(err)
	}
	path := b.Dir + "/hosts" + string(filepath.ListSeparator) + os.Getenv("PATH")
	return doctor.Machine{Home: b.Home, Dir: b.Work, Env: []string{"PATH=" + path}}
}

// proven runs a proof for the agent CLI and returns what came of each canary, by what
// the hook did.
func proven(t *testing.T, m doctor.Machine) map[string]map[string]doctor.Outcome {
	t.Helper()
	p := doctor.Proof{Machine: m, Hosts: []string{"claude"}, Isolated: true, Limit: time.Minute, Tell: func(line string) { t.Log(line) }}
	results, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]map[string]doctor.Outcome{}
	for _, r := range results {
		if r.Why != "" {
			t.Logf("%s with a hook that %s: %s", r.Canary, r.Hook, r.Why)
		}
		if got[r.Hook] == nil {
			got[r.Hook] = map[string]doctor.Outcome{}
		}
		got[r.Hook][r.Canary] = r.Outcome
	}
	return got
}

// TestDoctorProves: the real agent CLI is stopped by our hook where it denies, and where
// it fails, as onFailure is block; without that, the proof finds what ran.
func TestDoctorProves(t *testing.T) {
	if !doctor.Alone() {
		unable(t, "there is a network here: "+noNamespace)
	}
	r := allReleases()[0]
	need(t, r)
	for _, x := range []struct {
		name, onFailure string
		standIn         bool
		failing         doctor.Outcome
	}{{"block", "block", false, doctor.Stopped}, {"continue", "", true, doctor.Ran}} {
		if x.standIn && !long() {
			continue
		}
		t.Run(r.Version+"/"+x.name, func(t *testing.T) {
			got := proven(t, hooked(t, r, x.onFailure, x.standIn))
			for hook, want := range map[string]doctor.Outcome{
				"allows": doctor.Through, "answers": doctor.Stopped, "prints garbage": doctor.Ran,
				"is killed": x.failing, "hangs": x.failing, "is missing": x.failing, "fails": x.failing,
			} {
				for _, canary := range strings.Fields("shell write mcp subagent background") {
					if o := got[hook][canary]; o != want {
						t.Errorf("%s with a hook that %s: %q, want %q", canary, hook, o, want)
					}
				}
			}
		})
	}
}

// TestDoctorSwitchedOff: a repository that switches hooks off is found, and, in the long
// form, what it does is proven.
func TestDoctorSwitchedOff(t *testing.T) {
	r := allReleases()[0]
	need(t, r)
	m := hooked(t, r, "block", true)
	if err := os.MkdirAll(m.Dir+"/.claude", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(m.Dir+"/.claude/settings.json", []byte(`{"disableAllHooks":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := m.Look(context.Background(), "claude")
	if err != nil || !strings.HasPrefix(found[0].Version, r.Version) {
		t.Fatalf("%+v, %v", found, err)
	}
	red := false
	for _, f := range found[0].Findings {
		red = red || f.Mark == doctor.Red && strings.Contains(f.Text, "disableAllHooks")
	}
	if !red {
		t.Errorf("it is not found: %+v", found[0].Findings)
	}
	if !long() {
		return
	}
	if got := proven(t, m); got["answers"]["shell"] != doctor.Ran {
		t.Errorf("%v", got)
	}
}
