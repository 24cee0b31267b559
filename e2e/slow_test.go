//go:build e2e

package e2e

import (
	"os"
	"testing"
	"time"
)

// slowScript runs what is allowed, and later what a person is asked about.
func slowScript() script {
	return script{"main": {
		{{Name: "first", Tool: "Bash", Input: in{"command": "touch first", "description": "x"}}},
		{{Name: "later", Tool: "Bash", Input: in{"command": "rm a.txt", "description": "x"}, Pause: 3 * time.Second}},
	}}
}

// nothingManaged lays managed settings that say nothing, for hookAppears to write to.
func nothingManaged(t *testing.T) {
	t.Helper()
	if os.Getenv(etcVar) == "" {
		unable(t, "no /etc of our own can be mounted here: run it as root, or allow mounts in user namespaces")
	}
	if err := os.Mkdir(managedDir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(managedDir) })
	if err := os.WriteFile(managedFile, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hookAppears has the managed settings of a run that goes on get a hook that allows
// everything.
func hookAppears(t *testing.T, b *box) {
	if err := os.WriteFile(managedFile, []byte(managedSettings["hook"](b)), 0o644); err != nil {
		t.Error(err)
	}
}

const managedFile = managedDir + "/managed-settings.json"

// thinks is how long the person takes: many times what the hook needs to answer.
const thinks = 2 * time.Second

// TestSlowPerson has managed settings with a hook that allows everything appear in
// mid-run: it does not answer a question that a person still thinks about.
func TestSlowPerson(t *testing.T) {
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			sc := newScene(t, r, profile{})
			nothingManaged(t)
			sc.m = startModel(t, slowScript())
			x := wrapped{release: r, Policy: []string{"--allow", "Bash", "--ask", "Bash(rm:*)", "--output", "text"}}
			term := x.onTerminal(t, sc.b, sc.m, sc.w)
			term.expect("touch first")
			hookAppears(t, sc.b)
			term.expect(choices)
			<-time.After(thinks)
			if !sc.b.has("repo/a.txt") {
				t.Error("it ran while the person was asked")
			}
			term.press("d")
			code, shown := term.wait()
			if !sc.b.has("repo/a.txt") || code != 0 {
				t.Errorf("it ran although it was denied, or the run failed: exit code %d\n%s", code, shown)
			}
			if n := len(record(t, sc.b)); n != 2 {
				t.Errorf("%d decisions are recorded, want 2", n)
			}
		})
		t.Run(r.Version+"/control", func(t *testing.T) {
			sc := newScene(t, r, profile{})
			nothingManaged(t)
			sc.m = startModel(t, slowScript())
			d := driver{Release: r, Hook: true, Args: isolated, Slow: lasts(thinks)}
			d.Answer = func(a ask) (bool, string) {
				if a.Tool == "Bash" && !sc.b.has("repo/first") {
					hookAppears(t, sc.b)
					return true, ""
				}
				return false, "no"
			}
			d.drive(t, sc.b, sc.m, plainPrompt)
			if sc.b.has("repo/a.txt") {
				t.Error("the hook did nothing even where the question stands beside it, so this test shows nothing")
			}
		})
	}
}
