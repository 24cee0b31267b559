package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestCachesAreMade: the directory of a cache is made before a command begins, but not where
// one could have put a link: in the workspace, in the repository of it, or in another cache.
func TestCachesAreMade(t *testing.T) {
	if !caching()["go"] {
		t.Fatal("go test has put no go into PATH")
	}
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range caches {
		if caches[i].variable != "" {
			t.Setenv(caches[i].variable, filepath.Join(top, "none", caches[i].program))
		}
	}
	for _, dir := range []string{"ws/.cache", "root", "home", "victim", "pip", "git"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	lay(t, filepath.Join(top, "ws/.git"), "gitdir: ../git\n")
	lay(t, filepath.Join(top, "git/config"), "[core]\n\tworktree = ../ws\n")
	lay(t, filepath.Join(top, "git/HEAD"), "ref: refs/heads/main\n")
	for link, to := range map[string]string{"ws/link": "../victim", "ws/.cache/link": "../../victim", "root/link": "../victim", "pip/link": "../victim", "git/link": "../victim", "way": "ws/link", "link": "victim"} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	place := patterns.Place{Workspace: filepath.Join(top, "ws"), Roots: []string{filepath.Join(top, "root")}, Home: filepath.Join(top, "home")}
	t.Setenv("PIP_CACHE_DIR", filepath.Join(top, "pip"))
	for name, want := range map[string]bool{"home/a/b": true, "link/a": true, "ws/.cache/a": false, "ws/link/a": false, "ws/.cache/link/a": false, "root/link/a": false, "root/a": false, "way/a": false, "pip/link/a": false, "pip/a": false, "git/link/a": false} {
		at := filepath.Join(top, name)
		t.Setenv("GOCACHE", at)
		for _, begins := range []bool{false, true} {
			m := Machine(place, begins)
			if !slices.ContainsFunc(m.Writable, func(w sandbox.Path) bool { return w.Path == at }) {
				t.Errorf("%s is no cache", name)
			}
			if _, err := os.Lstat(at); (err == nil) != (want && begins) {
				t.Errorf("%s, before a command %v: %v", name, begins, err)
			}
		}
		if err := os.RemoveAll(filepath.Join(top, "victim", "a")); err != nil {
			t.Fatal(err)
		}
	}
}
