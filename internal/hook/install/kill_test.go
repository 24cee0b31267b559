package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// TestMain lets the test binary act as a process that is killed.
func TestMain(m *testing.M) {
	job := os.Getenv("INSTALL_JOB")
	if job == "" {
		os.Exit(m.Run())
	}
	die, err := strconv.Atoi(os.Getenv("INSTALL_DIES_AT"))
	if err == nil {
		err = work(job, os.Getenv("INSTALL_DIR"), die)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

// errStopped is the fault that is injected.
var errStopped = errors.New("stopped")

// work installs or uninstalls all hosts, and is killed before a write, counted from 0. If
// the number is too large, it ends on its own.
func work(job, dir string, dieAt int) error {
	m := machineOf(dir)
	steps := 0
	m.step = func(string) error {
		if steps++; steps-1 == dieAt {
			if p, err := os.FindProcess(os.Getpid()); err == nil {
				_ = p.Kill()
			}
			select {}
		}
		return nil
	}
	return m.all(job)
}

// machineOf is machineIn outside of a test.
func machineOf(dir string) *Machine {
	return &Machine{
		Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state"), Binary: testBinary, root: filepath.Join(dir, "root"),
		Getenv:   func(string) string { return "" },
		LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
	}
}

// all installs or uninstalls all hosts in all scopes.
func (m *Machine) all(job string) error {
	for _, h := range hosts() {
		for _, scope := range []Scope{User, Managed} {
			if scope == Managed && !h.managed {
				continue
			}
			plan := func() (*Plan, error) { return m.Install(h.name, scope, Options{NoWebSearch: scope == User}) }
			if job == "uninstall" {
				plan = func() (*Plan, error) { return m.Remove(h.name, scope) }
			}
			p, err := plan()
			if err == nil {
				err = p.Apply()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// furnished returns a machine whose configurations are those of the samples, and a copy
// of them.
func furnished(t *testing.T) (m *Machine, dir string, before map[string]string) {
	t.Helper()
	m = testMachine(t)
	dir = filepath.Dir(m.Home)
	for _, s := range samples(t) {
		if s.left == s.text && !strings.Contains(s.file, "switched-off") { // the last sample of a file stays
			write(t, s.path(t, m), s.text)
		}
	}
	return m, dir, m.files(t)
}

// files returns the files of a machine, by their paths in it, but for those in the state
// directory, and without what was staged by a process that was killed.
func (m *Machine) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, dir := range []string{m.Home, m.root} {
		for path, text := range tree(t, dir) {
			if !strings.HasSuffix(path, ".tmp") {
				all[strings.TrimPrefix(path, filepath.Dir(m.Home))] = text
			}
		}
	}
	return all
}

// TestKilled: a process that is killed before any of its writes leaves each file as it
// was or as it was to be; the same command then ends the work, and what was before comes
// back byte for byte.
func TestKilled(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	done, _, _ := furnished(t)
	finish(t, done, "install")
	for dieAt := 0; ; dieAt++ {
		m, dir, before := furnished(t)
		if !killed(t, "install", dir, dieAt) {
			if dieAt < 30 {
				t.Errorf("only %d writes", dieAt)
			}
			return
		}
		whole(t, m, before, done.files(t))
		finish(t, m, "install")
		if dieAt%3 == 0 { // and a removal that is killed as well
			killed(t, "uninstall", dir, dieAt/2)
			whole(t, m, before, done.files(t))
		}
		finish(t, m, "uninstall")
		left := m.files(t)
		for path := range left {
			if _, was := before[path]; !was && strings.HasPrefix(path, "/root") {
				delete(left, path) // directories of the machine
			}
		}
		if diff := cmp.Diff(before, left); diff != "" {
			t.Fatalf("killed before write %d, then installed and uninstalled: %s", dieAt, diff)
		}
	}
}

// finish does a job to its end.
func finish(t *testing.T, m *Machine, job string) {
	t.Helper()
	if err := m.all(job); err != nil {
		t.Fatal(err)
	}
}

// killed runs a job in a process that is killed; false if it came to its end before.
func killed(t *testing.T, job, dir string, dieAt int) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "INSTALL_JOB="+job, "INSTALL_DIR="+dir, "INSTALL_DIES_AT="+strconv.Itoa(dieAt))
	out, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() == -1 {
		return true
	}
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return false
}

// whole tests that each file is as it was before or as it is after.
func whole(t *testing.T, m *Machine, before, after map[string]string) {
	t.Helper()
	same := func(text string) string { return madeUpName.ReplaceAllString(text, hookName) }
	for path, text := range m.files(t) {
		if text != before[path] && same(text) != same(after[path]) {
			t.Fatalf("%s is neither old nor new:\n%s", path, text)
		}
	}
}

// TestFault: a write that fails is reported, and leaves each file as a kill would.
func TestFault(t *testing.T) {
	t.Parallel()
	for failAt := range 3 {
		m := testMachine(t)
		path := filepath.Join(m.Home, ".claude", "settings.json")
		write(t, path, "{\n  \"a\": 1\n}\n")
		steps := 0
		m.step = func(string) error {
			if steps++; steps-1 == failAt {
				return errStopped
			}
			return nil
		}
		p, err := m.Install("claude", User, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Apply(); !errors.Is(err, errStopped) {
			t.Fatalf("write %d: %v", failAt, err)
		}
		if got := contentsOf(t, path); got != "{\n  \"a\": 1\n}\n" {
			t.Errorf("write %d: %q", failAt, got)
		}
	}
}
