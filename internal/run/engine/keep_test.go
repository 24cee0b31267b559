package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/permission"
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

// TestKeepUpward: "always" writes beside the nearest policy that a person has
// trusted, and only what means the same there.
func TestKeepUpward(t *testing.T) {
	for _, tt := range []struct {
		name    string
		trusted []string // files with a policy that is trusted, below the root
		other   []string // those with one that is not
		rule    string
		want    string // the file that gets the rule
	}{
		{"nothing", nil, nil, "Bash(make)", "p/src/agent-wrapper.local.toml"},
		{"nothing is trusted", nil, []string{"p/agent-wrapper.toml"}, "Bash(make)", "p/src/agent-wrapper.local.toml"},
		{"one above", []string{"p/agent-wrapper.toml"}, nil, "Bash(make)", "p/agent-wrapper.local.toml"},
		{"a local one above", []string{"p/agent-wrapper.local.toml"}, nil, "Bash(make)", "p/agent-wrapper.local.toml"},
		{"two above", []string{"agent-wrapper.toml"}, nil, "Bash(make)", "agent-wrapper.local.toml"},
		{"the nearer of two", []string{"agent-wrapper.toml", "p/agent-wrapper.toml"}, nil, "Bash(make)", "p/agent-wrapper.local.toml"},
		{"the workspace's before those above", []string{"p/agent-wrapper.toml", "p/src/agent-wrapper.toml"}, nil, "Bash(make)", "p/src/agent-wrapper.local.toml"},
		{"one that is not trusted is passed", []string{"agent-wrapper.toml"}, []string{"p/agent-wrapper.toml", "p/src/agent-wrapper.toml"}, "Bash(make)", "agent-wrapper.local.toml"},
		{"a local one that is not trusted is not written", []string{"p/agent-wrapper.toml"}, []string{"p/agent-wrapper.local.toml", "p/src/agent-wrapper.local.toml"}, "Bash(make)", "config/agent-wrapper.toml"},
		{"an absolute path", []string{"p/agent-wrapper.toml"}, nil, "Edit(//srv/x/**)", "p/agent-wrapper.local.toml"},
		{"a relative path", []string{"p/agent-wrapper.toml"}, nil, "Edit(./x)", "p/src/agent-wrapper.local.toml"},
		{"a name at any depth", []string{"p/agent-wrapper.toml"}, nil, "Edit(*.md)", "p/src/agent-wrapper.local.toml"},
		{"a program beside the file", []string{"p/agent-wrapper.toml"}, nil, "Bash(./x.sh:*)", "p/src/agent-wrapper.local.toml"},
		{"a line of two commands", []string{"p/agent-wrapper.toml"}, nil, "Bash(make; ls)", "p/src/agent-wrapper.local.toml"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dirs := Dirs{User: filepath.Join(root, "config"), State: t.TempDir()}
			for _, dir := range []string{".git", "p/src"} {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			trust, err := dirs.Trust()
			if err != nil {
				t.Fatal(err)
			}
			for i, name := range append(tt.trusted[:len(tt.trusted):len(tt.trusted)], tt.other...) {
				path := filepath.Join(root, name)
				if err := os.WriteFile(path, []byte("deny = [\"Read(.env)\"]\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				if i < len(tt.trusted) {
					if err := trust.Set(path, settings(t, "deny = [\"Read(.env)\"]")); err != nil {
						t.Fatal(err)
					}
				}
			}
			o := Options{Dir: filepath.Join(root, "p/src"), Dirs: &dirs}
			r, err := Load(o)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := r.KeepsIn(tt.rule), strings.TrimPrefix(filepath.Join(root, tt.want), r.Place.Workspace+"/"); got != want {
				t.Errorf("it says %s, want %s", got, want)
			}
			place, err := r.Keep(tt.rule)
			if want := filepath.Join(root, tt.want); err != nil || place.Name != want {
				t.Fatalf("kept in %s, %v, want %s", place, err, want)
			}
			// The next run obeys it, and once more it is kept in the same file.
			r, err = Load(o)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := r.Keep("Bash(make again)"); tt.rule == "Bash(make)" && (err != nil || again.Name != place.Name) {
				t.Errorf("the next in %s, %v", again, err)
			}
		})
	}
}

// TestGuardsUpward: every file on the way that is a policy or may become one is
// guarded.
func TestGuardsUpward(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(root, "p/npm/src")
	for _, dir := range []string{filepath.Join(root, "p/.git"), filepath.Join(root, "p/npm/.git"), ws} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, isolated := range []bool{false, true} {
		for _, dir := range []string{"p", "p/npm", "p/npm/src"} {
			for _, name := range []string{policy.FileName, policy.LocalName, "Agent-Wrapper.toml"} {
				path := filepath.Join(root, dir, name)
				// A rule that spells the name lifts the protection of the table, but not
				// the guard.
				said := settings(t, "mode = \"bypassPermissions\"\nallow = [\"Edit("+path+")\"]")
				r, err := Load(Options{Dir: ws, Dirs: &Dirs{}, Isolated: isolated, Settings: said})
				if err != nil {
					t.Fatal(err)
				}
				use := permission.ToolUse{Tool: "Write", Dir: ws, Input: []byte(`{"file_path":"` + path + `","content":"x"}`)}
				if d := r.Explain(use, nil); d.Behavior != permission.Ask || d.Layer != permission.LayerGuard {
					t.Errorf("%s (isolated %v): %s by %s", path, isolated, d.Behavior, d.Layer)
				}
			}
		}
	}
}
