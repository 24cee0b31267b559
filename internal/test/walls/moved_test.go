//go:build walls && linux

package walls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMoved: a command moves directories so that the next one, whose walls are planned anew,
// would find what is withheld where no rule is about it.
func TestMoved(t *testing.T) {
	for name, tt := range map[string]struct {
		files         map[string]string
		args          []string
		first, second string
	}{
		"to another depth":         {map[string]string{"src/a/key.txt": "top-secret", "src/b/x": ""}, []string{"--deny", "Read(src/*/key.txt)"}, "mv src/a src/b/a", "cat src/b/a/key.txt"},
		"out of what a rule names": {map[string]string{"conf/key.txt": "top-secret", "deep/x": ""}, []string{"--deny", "Read(*/key.txt)"}, "mv conf deep/", "cat deep/conf/key.txt"},
		"to be written":            {map[string]string{"src/a/lock.json": "as it was", "src/b/x": ""}, []string{"--deny", "Edit(src/*/lock.json)"}, "mv src/a src/b/a", "echo top-secret >src/b/a/lock.json; mv src/b/a src/a; cat src/a/lock.json"},
		"to where a rule allows":   {map[string]string{"certs/server.pem": "top-secret", "fixtures/x.pem": ""}, []string{"--allow", "Read(fixtures/*.pem)"}, "mv fixtures f2; mv certs fixtures", "cat fixtures/server.pem"},
		"a repository's head":      {map[string]string{"bare/HEAD": "ref: refs/heads/main\n", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "[core]\n"}, nil, "mv bare/HEAD bare/H", "echo top-secret >>bare/config; mv bare/H bare/HEAD; cat bare/config"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			write(t, w, "1.sh", "echo began; "+tt.first)
			write(t, w, "2.sh", "echo began; "+tt.second)
			for _, script := range []string{"1.sh", "2.sh"} {
				out, _ := w.command(script, tt.args...).CombinedOutput()
				if !strings.Contains(string(out), "began") {
					t.Fatalf("%s did not run: %s", script, out)
				}
				if strings.Contains(string(out), "top-secret") {
					t.Errorf("%s: %s", script, out)
				}
			}
		})
	}
}

// TestNestedRoot: a directory of the workspace that lies in another one cannot be replaced,
// and one that a link leads to does not count.
func TestNestedRoot(t *testing.T) {
	w := newWorld(t, map[string]string{"a/b/x": "", "../victim/f": "as it was"})
	roots := []string{"--workspace", ".", "--workspace", "a/b"}
	victim := filepath.Join(w.home, "victim")
	swap := "echo began; mv a a2 && mkdir a && ln -s " + victim + " a/b"
	write(t, w, "1.sh", swap)
	write(t, w, "2.sh", "echo began; echo evil >"+victim+"/f")
	for _, script := range []string{"1.sh", "2.sh"} {
		if out, err := w.command(script, roots...).CombinedOutput(); err == nil || !strings.Contains(string(out), "began") {
			t.Errorf("%s: %v: %s", script, err, out)
		}
	}
	if kept, err := os.Readlink(w.project + "/a/b"); err == nil {
		t.Errorf("it leads to %s", kept)
	}
	must(t, os.Rename(w.project+"/a", w.project+"/a2")) // as a command without walls can
	must(t, os.Mkdir(w.project+"/a", 0o700))
	must(t, os.Symlink(victim, w.project+"/a/b"))
	if out, err := w.command("2.sh", roots...).CombinedOutput(); err == nil || !strings.Contains(string(out), "leads through the link") {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(victim + "/f"); err != nil || string(text) != "as it was" {
		t.Errorf("%s, %v", text, err)
	}
}
