package engine

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/policy"
)

// TestGrownBy: after "always", the trusted settings are the previous ones and the
// rule, not what another process wrote meanwhile.
func TestGrownBy(t *testing.T) {
	parse := func(text string) *policy.Spec {
		s, err := policy.Parse([]byte(text), "x")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, tt := range []struct {
		before, after string
		want          bool
	}{
		{"", `approved = ["Bash(npm test)"]`, true},
		{`deny = ["Read"]`, "deny = ['Read']\napproved = [\"Bash(npm test)\"]", true},
		{`approved = ["Bash(npm test)"]`, `approved = ["Bash(npm test)"]`, true},
		{`approved = ["Edit"]`, `approved = ["Edit", "Bash(npm test)"]`, true},
		{"", `approved = ["Bash"]`, false},
		{"", `approved = ["Bash(npm test)", "Bash"]`, false},
		{"", `approved = ["Bash", "Bash(npm test)"]`, false},
		{`deny = ["Read"]`, `approved = ["Bash(npm test)"]`, false},
		{"", "mode = \"bypassPermissions\"\napproved = [\"Bash(npm test)\"]", false},
	} {
		if got := grownBy("Bash(npm test)", parse(tt.before), parse(tt.after)); got != tt.want {
			t.Errorf("%s became %s: %v", tt.before, tt.after, got)
		}
	}
}

// TestKeepLocal: "always" writes to a local policy that does not exist or is
// trusted in its current state, which stays trusted, and to no other.
func TestKeepLocal(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), policy.LocalName)
	for _, rule := range []string{"Bash(npm test)", "Bash(make)", "Bash(npm test)"} {
		if place, kept, err := UserDirs().keepLocal(rule, path); !kept || err != nil || place.Name != path {
			t.Fatal(rule, place, kept, err)
		}
		trust, err := UserDirs().Trust()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := trusted(trust, path); !ok {
			t.Fatalf("after %s the file is not trusted", rule)
		}
	}
	changed := "approved = [\"Bash(npm test)\", \"Bash(make)\"]\nallow = [\"Bash\"]\n"
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, kept, err := UserDirs().keepLocal("Bash(ls)", path); kept || err != nil {
		t.Error("a rule was kept in a file that changed", err)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != changed {
		t.Errorf("the file became %s", text)
	}
}

// TestKeepLocalLink: a local policy that is a link to a trusted file is neither
// trusted nor written through.
func TestKeepLocalLink(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), policy.LocalName)
	if _, kept, err := UserDirs().keepLocal("Bash(make)", path); !kept || err != nil {
		t.Fatal(kept, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{path, filepath.Join(t.TempDir(), "none")} {
		link := filepath.Join(t.TempDir(), policy.LocalName)
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
		if _, kept, err := UserDirs().keepLocal("Bash(ls)", link); kept || err != nil {
			t.Errorf("a rule is kept through a link to %s: %v", to, err)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the trusted file became %s", after)
	}
}
