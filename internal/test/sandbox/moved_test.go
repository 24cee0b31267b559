//go:build sandbox && linux

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// neither runs two lines inside the sandbox, one after the other: neither shows the secret.
func neither(t *testing.T, w *world, args []string, lines ...string) {
	t.Helper()
	for i, line := range lines {
		script := fmt.Sprint(i+1, ".sh")
		write(t, w, script, "echo began; "+line)
		out, _ := w.command(script, args...).CombinedOutput()
		if !strings.Contains(string(out), "began") {
			t.Fatalf("%s did not run: %s", script, out)
		}
		if strings.Contains(string(out), "top-secret") {
			t.Errorf("%s: %s", script, out)
		}
	}
}

// TestMoved: a command moves directories so that the next one, whose sandbox is planned anew,
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
			neither(t, w, tt.args, tt.first, tt.second)
		})
	}
}

// TestPlaced: what is looked for where it is cannot be replaced, nor reached by another name
// than a link's.
func TestPlaced(t *testing.T) {
	depths := []string{"--deny", "Read(./key.txt)", "--deny", "Read(*/key.txt)", "--deny", "Read(*/*/key.txt)", "--deny", "Read(*/*/*/key.txt)"}
	for name, tt := range map[string]struct {
		files, links  map[string]string
		args          []string
		first, second string
	}{
		"a rule by a link":               {map[string]string{"../notes/x": "top-secret"}, map[string]string{"../lnotes": "notes"}, []string{"--deny", "Read(~/lnotes/**)"}, "cat ~/lnotes/x", "cat ~/notes/x"},
		"a rule by a link, for a file":   {map[string]string{"../notes/a/x.txt": "top-secret"}, map[string]string{"../lnotes": "notes"}, []string{"--deny", "Read(~/lnotes/**/x.txt)"}, "cat ~/lnotes/a/x.txt", "cat ~/notes/a/x.txt"},
		"a rule by a link to here":       {map[string]string{"a/x": "top-secret"}, map[string]string{"../here": "project/a"}, []string{"--deny", "Read(~/here/x)"}, "cat a/x", "mv a b; cat b/x"},
		"a home that is a link":          {map[string]string{"secrets/x": "top-secret"}, map[string]string{"../../hl": "home"}, []string{"--deny", "Read(~/project/secrets/**)"}, "cat secrets/x", "mv secrets s2; cat s2/x"},
		"a file, in a home by a link":    {map[string]string{"lock.json": "{}"}, map[string]string{"../../hl": "home"}, []string{"--deny", "Edit(~/project/lock.json)"}, "echo top-secret >lock.json; cat lock.json", "mv lock.json l2; echo top-secret >lock.json; cat lock.json"},
		"the agent's settings, linked":   {map[string]string{"claude/settings.json": "{}"}, map[string]string{"../.claude/settings.json": "../project/claude/settings.json"}, nil, "echo top-secret >claude/settings.json; cat claude/settings.json", "mv claude c2; mkdir claude; echo top-secret >claude/settings.json; cat claude/settings.json"},
		"logins, linked":                 {map[string]string{"dot/home/ssh/work": "top-secret"}, map[string]string{"../.ssh": "project/dot/home/ssh"}, nil, "mv dot/home dot/h2", "cat dot/*/ssh/work"},
		"a policy":                       {map[string]string{"team/agent-wrapper.toml": "mode = \"default\"\n"}, nil, []string{"--policy", "team/agent-wrapper.toml"}, "mv team t2 && mkdir team && echo '# top-secret' >team/agent-wrapper.toml; cat team/agent-wrapper.toml", ":"},
		"a rule for a protected name":    {map[string]string{"conf/Jenkinsfile": "x"}, nil, []string{"--deny", "Edit(conf/Jenkinsfile)"}, "mv conf c2; mkdir conf; echo top-secret >conf/Jenkinsfile; cat conf/Jenkinsfile", ":"},
		"a bare repository":              {map[string]string{"bare/HEAD": "ref: refs/heads/main\n", "bare/objects/x": "", "bare/refs/x": "", "bare/config": "[core]\n"}, nil, nil, "mv bare b2; cp -r b2 bare; echo top-secret >bare/config; cat bare/config", ":"},
		"rules for a few depths":         {map[string]string{"k/key.txt": "top-secret", "a/b/c/d/x": ""}, nil, depths, "mv k a/b/c/d/", "cat a/b/c/d/k/key.txt"},
		"a rule for names that it likes": {map[string]string{"m2/key.txt": "top-secret"}, nil, []string{"--deny", "Read(//home/**/[mp]*/key.txt)"}, "mv m2 x2", "cat x2/key.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.files)
			for at, to := range tt.links {
				at = filepath.Join(w.project, at)
				must(t, os.MkdirAll(filepath.Dir(at), 0o755))
				must(t, os.Symlink(to, at))
				if filepath.Base(at) == "hl" {
					w.home = at
				}
			}
			neither(t, w, tt.args, tt.first, tt.second)
		})
	}
}

// TestNever: a command that makes what git would obey at once, whoever starts it, is ended,
// with what it has put aside, and what it made is gone.
func TestNever(t *testing.T) {
	for name, make := range map[string]string{
		"written": "echo ../evil >.git/commondir", "moved there": "echo ../evil >x; mv x .git/commondir", "a link": "echo ../evil >x; ln -s ../x .git/commondir", "another name": "cd .git; echo ../evil >x; ln x commondir",
		"gone again": "echo ../evil >.git/commondir; rm -f .git/commondir", "a directory": "mkdir .git/commondir; touch .git/commondir/x", "by another process": "setsid -f sh -c 'echo ../evil >.git/commondir'", "of a bare repository": "echo ../evil >bare/commondir", "at the end": "echo ../evil >.git/commondir; exit",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/x": "", ".git/refs/x": "", ".git/config": "[core]\n", "bare/HEAD": "ref: refs/heads/main\n", "bare/objects/x": "", "bare/refs/x": ""})
			write(t, w, "1.sh", "echo began; "+make+"; sleep 30; echo late")
			out, err := w.command("1.sh").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "began") || strings.Contains(string(out), "late") || !strings.Contains(string(out), "commondir, which no command needs") {
				t.Errorf("%v: %s", err, out)
			}
			for _, at := range []string{"/.git/commondir", "/bare/commondir"} {
				if _, err := os.Lstat(w.project + at); err == nil {
					t.Errorf("%s is there", at)
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
	must(t, os.Rename(w.project+"/a", w.project+"/a2")) // as a command without a sandbox can
	must(t, os.Mkdir(w.project+"/a", 0o700))
	must(t, os.Symlink(victim, w.project+"/a/b"))
	if out, err := w.command("2.sh", roots...).CombinedOutput(); err == nil || !strings.Contains(string(out), "leads through the link") {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := os.ReadFile(victim + "/f"); err != nil || string(text) != "as it was" {
		t.Errorf("%s, %v", text, err)
	}
}
