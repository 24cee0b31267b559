package main

import (
	"os"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestSessions holds the figures of docs/proof/sessions.txt, and which uses did not
// become what they ideally would.
func TestSessions(t *testing.T) {
	slow.Test(t)
	dir, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keepEnv(t)
	outcomes, err := measure("../../../testdata/cases", "testdata", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(outcomes) != 604+702 {
		t.Errorf("%d uses", len(outcomes))
	}
	for _, o := range outcomes {
		if o.Ideal == "deny" && o.fate == run {
			t.Errorf("allowed: %s", line(&o))
		}
	}
	golden.Check(t, "testdata/outcomes.golden", table(outcomes)+"\n"+amiss(outcomes))
}

// TestAttacks holds which attacks on other policies run under that of init. Each of
// them is argued in docs/proof/init-attacks.md.
func TestAttacks(t *testing.T) {
	slow.Test(t)
	dir, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keepEnv(t)
	all, err := attacks("../../../testdata/cases", "testdata", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 1200 {
		t.Errorf("%d rows", len(all))
	}
	golden.Check(t, "testdata/attacks.golden", allowedAttacks(all))
}

// keepEnv restores the environment at the end of the test.
func keepEnv(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", os.Getenv("HOME"))
	for _, name := range environment() {
		t.Setenv(name, os.Getenv(name))
	}
}

func TestPersonDeniesWhatShouldBe(t *testing.T) {
	dir, err := tempDir()
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	keepEnv(t)
	for _, tt := range []struct {
		ideal, command string
		want           []string
	}{
		{"deny", "git push --force", []string{"asked (only once)", "asked (only once)"}},
		{"ask", "git push origin x", []string{"asked", "run (by an answer before)"}},
		{"run", "git status", []string{"run", "run"}},
		{"run", "cat .env", []string{"refused", "refused"}},
	} {
		u := use{Session: "go-x", N: 1, Tool: "Bash", Input: []byte(`{"command":"` + tt.command + `"}`), Ideal: tt.ideal}
		got, err := driveIn(t.TempDir(), "go", []string{"testdata/go.txtar"}, []use{u, u})
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if f := got[i].fated(); f != tt.want[i] {
				t.Errorf("%s %d: %s, want %s", tt.command, i+1, f, tt.want[i])
			}
		}
	}
}
