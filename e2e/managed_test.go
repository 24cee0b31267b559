//go:build e2e

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Managed settings of a machine stand above ours: those that could answer
// before us are refused.
var managedSettings = map[string]func(b *box) string{
	"rules only": func(*box) string {
		return marshal(in{"allowManagedPermissionRulesOnly": true, "permissions": in{"allow": []string{"Bash"}}})
	},
	"hook": func(b *box) string {
		return marshal(in{"hooks": in{"PermissionRequest": []any{in{"matcher": "*", "hooks": []any{in{
			"type": "command", "command": `echo '{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}'`,
		}}}}}})
	},
}

const managedDir = "/etc/claude-code"

func layManaged(t *testing.T, b *box, kind string) {
	t.Helper()
	if os.Getenv(etcVar) == "" {
		unable(t, "no /etc of our own can be mounted here: run it as root, or allow mounts in user namespaces")
	}
	if err := os.Mkdir(managedDir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(managedDir) })
	if err := os.WriteFile(managedDir+"/managed-settings.json", []byte(managedSettings[kind](b)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestManagedSettings(t *testing.T) {
	for _, r := range releases() {
		for kind := range managedSettings {
			t.Run(r.Version+"/"+kind, func(t *testing.T) {
				sc := newScene(t, r, profile{})
				layManaged(t, sc.b, kind)
				res := wrapped{release: r, Policy: openPolicy}.run(t, sc.b, sc.m, sc.w)
				if len(sc.m.sent) > 0 || res.Code != 1 || !strings.Contains(res.Out+res.Errors, "managed settings") {
					t.Errorf("the wrapper went on: exit code %d, %s", res.Code, lastOf(res.Out+res.Errors))
				}
			})
			if !long() {
				continue
			}
			t.Run(r.Version+"/"+kind+"/control", func(t *testing.T) {
				p := profile{Lay: func(b *box) { layManaged(t, b, kind) }}
				v := trial{release: r, profile: p, policy: allowAgents, args: isolated, slow: func(_ *box, a ask) { lasts(60 * time.Millisecond)(a) }}.run(t)
				if len(v.Faults) == 0 {
					t.Error("these settings did nothing, so this test shows nothing")
				}
				t.Logf("%d faults", len(v.Faults))
			})
		}
	}
}

// TestManagedHook: a managed hook that was accepted still runs, in front of a command that
// is decided by us.
func TestManagedHook(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		managedSettings["accepted"] = func(b *box) string {
			return marshal(in{"hooks": in{"PreToolUse": []any{in{"matcher": "*", "hooks": []any{in{"type": "command", "command": "touch " + b.Marks + "/hook"}}}}}})
		}
		defer delete(managedSettings, "accepted")
		layManaged(t, b, "accepted")
		row := shellRow{Name: "command", Command: "echo ran", Says: "ran"}
		m := startModel(t, script{"main": {turn{row.call()}}})
		wrapped{release: r, Policy: append([]string{"--accept-managed"}, openPolicy...)}.run(t, b, m, startWeb(t, b))
		row.check(t, m)
		if !b.has("marks/hook") {
			t.Error("the hook did not run")
		}
	})
}
