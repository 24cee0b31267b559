package engine

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// listOf is a whitelist of one program.
func listOf(program, mode string) string {
	return `{"version":"1.0.0","mode":"` + mode + `","custom":{"x":{"binary":"` + program + `","allow_args":["test"]}}}`
}

// TestWhitelistsUpwards: a whitelist in its usual place is found as a policy is, and
// each that is found binds.
func TestWhitelistsUpwards(t *testing.T) {
	root := tree(t, []string{"p/.git", "p/a/src", "p/.smartergpt", "p/a/.smartergpt", "p/in/.git", "p/in/.smartergpt", "p/bare/.git", "q/sub", "q/.smartergpt"}, map[string]string{
		"p/" + whitelist.FileName:    listOf("npm", "strict"),
		"p/a/" + whitelist.FileName:  `{"version":"1.0.0","mode":"strict","custom":{"x":{"binary":"npm"},"y":{"binary":"go","allow_args":["test"]}}}`,
		"p/in/" + whitelist.FileName: listOf("make", "strict"),
		"q/" + whitelist.FileName:    listOf("npm", "strict"),
	})
	trusted := filepath.Join(root, "state")
	for _, tt := range []struct {
		name, dir string
		roots     []string
		trust     bool // the policy of p
		binds     []string
		warns     bool
	}{
		{name: "in its directory", dir: "p", binds: []string{"p"}},
		{name: "from a folder, the nearest first", dir: "p/a/src", binds: []string{"p/a", "p"}},
		{name: "in a nested repository", dir: "p/in", binds: []string{"p/in"}, warns: true},
		{name: "without one of its own", dir: "p/bare", warns: true},
		{name: "above a nested repository, where a policy is trusted", dir: "p/bare", trust: true, binds: []string{"p"}},
		{name: "without a repository", dir: "q/sub"},
		{name: "of a further root", dir: "q/sub", roots: []string{"q/sub", "p/a"}, binds: []string{"p/a", "p"}},
	} {
		dirs := Dirs{State: trusted}
		if tt.trust {
			file := filepath.Join(root, "p", policy.FileName)
			if err := os.WriteFile(file, []byte("deny = [\"Bash(rm:*)\"]"), 0o600); err != nil {
				t.Fatal(err)
			}
			trust, err := dirs.Trust()
			if err != nil {
				t.Fatal(err)
			}
			spec, err := policy.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := trust.Set(file, spec); err != nil {
				t.Fatal(err)
			}
		}
		o := Options{Dir: filepath.Join(root, tt.dir), Dirs: &dirs}
		for _, name := range tt.roots {
			o.Roots = append(o.Roots, filepath.Join(root, name))
		}
		r, err := Load(o)
		if err != nil {
			t.Fatal(tt.name, err)
		}
		var got, want []string
		for _, l := range r.Whitelists() {
			got = append(got, l.Name())
		}
		for _, dir := range tt.binds {
			want = append(want, filepath.Join(root, dir, whitelist.FileName))
		}
		warns := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "has no effect") })
		if !slices.Equal(got, want) || warns != tt.warns {
			t.Errorf("%s: %q, want %q; warnings %q", tt.name, got, want, r.Warnings)
		}
		for _, file := range want {
			if !slices.Contains(r.Policy.Guarded, file) {
				t.Errorf("%s: %s is not guarded", tt.name, file)
			}
		}
		if tt.dir == "p/a/src" {
			for line, allowed := range map[string]bool{"npm": true, "npm test": false, "go test": false} {
				d := r.Explain(permission.ToolUse{Tool: "Bash", Input: []byte(`{"command":"` + line + `"}`)}, nil)
				if (d.Refusal.Kind == "") != allowed {
					t.Errorf("%s: refused %q", line, d.Refusal.Kind)
				}
			}
		}
	}
}

// TestForeignWhitelist: a whitelist that neither the person nor root owns does not
// bind, and there is a warning.
func TestForeignWhitelist(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("only root may give a file away")
		return
	}
	root := tree(t, []string{".smartergpt"}, map[string]string{whitelist.FileName: listOf("npm", "strict")})
	file := filepath.Join(root, whitelist.FileName)
	if err := os.Chown(file, 4242, -1); err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{Dir: root, Dirs: &Dirs{}})
	if err != nil || len(r.Whitelists()) != 0 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], file+" is ignored: its owner is user 4242") {
		t.Error(r.Whitelists(), r.Warnings, err)
	}
}
