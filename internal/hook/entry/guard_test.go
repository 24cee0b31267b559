package entry

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// bash returns the path of bash. On a machine of CI it must be there.
func bash(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("bash")
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") == "true":
		t.Fatal("there is no bash")
	}
	t.Skip("there is no bash")
	return ""
}

// fakeHook is what a hook does, and what must become of it.
type fakeHook struct {
	name, script string
	code         int
	out, words   string // words that end a line, and none, are all of standard error
}

var fakeHooks = []fakeHook{
	{"allow", `cat; echo "args $*"`, 0, "question\nargs hook codex\n", ""},
	{"deny", `cat >/dev/null; echo 'not this' >&2; exit 2`, 2, "", "not this\n"},
	{"answer and deny", `echo '{}'; echo 'not this' >&2; exit 2`, 2, "{}\n", "not this\n"},
	{"exit 1", `exit 1`, 2, "", "failed"},
	{"exit 3", `echo '{"decision":"allow"}'; exit 3`, 2, "{\"decision\":\"allow\"}\n", "failed"},
	{"exit 127", `exit 127`, 2, "", "failed"},
	{"killed", `kill -9 $$`, 2, "", "failed"},
	{"terminated", `kill -15 $$`, 2, "", "failed"},
	{"hangs", `exec sleep 60`, 2, "", "failed"},
	{"hangs with a child", `sleep 60 & sleep 60`, 2, "", "failed"},
	{"hangs and ignores SIGTERM", `trap '' TERM; while :; do sleep 60; done`, 2, "", "failed"},
	{"answers and hangs", `echo '{}'; exec sleep 60`, 2, "{}\n", "failed"},
}

// limit is how long the hook may take: a second if it hangs, five if it answers first, else
// so long that a machine with much to do does not end one that answers.
func (w fakeHook) limit() time.Duration {
	switch {
	case !strings.Contains(w.name, "hangs"):
		return time.Minute
	case w.out != "":
		return 5 * time.Second
	}
	return time.Second
}

// TestGuard: with a real bash, with GNU timeout and without, a hook that fails in
// whatever way denies, and one that answers is not changed.
func TestGuard(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	shell := bash(t)
	dir := filepath.Join(t.TempDir(), "it's a dir")
	var all sync.WaitGroup
	for with, path := range searchPaths(t) {
		for _, tt := range fakeHooks {
			binary := filepath.Join(dir, strings.ReplaceAll(with+tt.name, " ", "_"))
			script(t, binary, tt.script)
			all.Go(func() { guardedRun(t, shell, path, Guard(binary, "codex", tt.limit()), tt) })
		}
		for name, prepare := range map[string]func(path string){
			"missing":        func(string) {},
			"not executable": func(path string) { write(t, path, "#!/bin/sh\n") },
			"directory":      func(path string) { write(t, filepath.Join(path, "x"), "") },
			"no program":     func(path string) { write(t, path, "\x00\x01"); os.Chmod(path, 0o755) },
		} {
			binary := filepath.Join(dir, strings.ReplaceAll(with+name, " ", "-"))
			prepare(binary)
			all.Go(func() {
				guardedRun(t, shell, path, Guard(binary, "codex", time.Second), fakeHook{name: name, code: 2, words: "failed"})
			})
		}
	}
	all.Wait()
}

// searchPaths returns values of PATH: one with timeout, if the machine has it, and one
// without.
func searchPaths(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"bash", "sh", "cat", "sleep", "mkdir"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	paths := map[string]string{"without timeout": dir}
	if _, err := exec.LookPath("timeout"); err == nil {
		paths["with timeout"] = os.Getenv("PATH")
	}
	return paths
}

// script writes a program.
func script(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, "#!"+bash(t)+"\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// guardedRun runs a line as hosts do.
func guardedRun(t *testing.T, shell, path, line string, want fakeHook) {
	cmd := exec.Command(shell, "-c", line)
	cmd.Env = []string{"PATH=" + path}
	cmd.Stdin = strings.NewReader("question\n")
	cmd.WaitDelay = 20 * time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	begin := time.Now()
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Error(err)
		return
	}
	want.check(t, cmd.ProcessState.ExitCode(), stdout.String(), stderr.String())
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("%s: it took %v", want.name, took)
	}
}

// check compares the outcome of a run: words "" or with a line feed are all of standard
// error, others a part of it.
func (w fakeHook) check(t *testing.T, code int, out, errs string) {
	if code != w.code || out != w.out {
		t.Errorf("%s: exit code %d, want %d; output %q, want %q; errors %q", w.name, code, w.code, out, w.out, errs)
	}
	if exact := w.words == "" || strings.HasSuffix(w.words, "\n"); exact && errs != w.words || !strings.Contains(errs, w.words) {
		t.Errorf("%s: errors %q, want %q", w.name, errs, w.words)
	}
}

// TestGuardInBash: in the shell that crush has in it, which is mvdan.cc/sh, too; also
// where there is no bash.
func TestGuardInBash(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	bash(t)
	dir := t.TempDir()
	var all sync.WaitGroup
	for with, path := range searchPaths(t) {
		for _, tt := range fakeHooks {
			binary := filepath.Join(dir, strings.ReplaceAll(with+tt.name, " ", "_"))
			script(t, binary, tt.script)
			tt.out = strings.ReplaceAll(tt.out, "codex", "crush")
			all.Go(func() { embedded(t, path, GuardInBash(binary, "crush", tt.limit()), tt) })
		}
	}
	all.Go(func() {
		embedded(t, dir, GuardInBash("/bin/true", "crush", time.Second), fakeHook{name: "no bash", code: 2, words: "failed"})
	})
	all.Wait()
}

// embedded runs a line in mvdan.cc/sh.
func embedded(t *testing.T, path, line string, want fakeHook) {
	tree, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	if err != nil {
		t.Error(err)
		return
	}
	var stdout, stderr bytes.Buffer
	r, err := interp.New(interp.StdIO(strings.NewReader("question\n"), &stdout, &stderr), interp.Env(expand.ListEnviron("PATH="+path)))
	if err != nil {
		t.Error(err)
		return
	}
	err = r.Run(context.Background(), tree)
	var status interp.ExitStatus
	if err != nil && !errors.As(err, &status) {
		t.Error(err)
		return
	}
	want.check(t, int(status), stdout.String(), stderr.String())
}
