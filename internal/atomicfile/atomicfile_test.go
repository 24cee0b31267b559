package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestMain lets the test binary act as another process.
func TestMain(m *testing.M) {
	switch job := os.Getenv("ATOMICFILE_JOB"); job {
	case "":
		os.Exit(m.Run())
	case "die":
		dieBeforeCommit(os.Args[1])
	case "count":
		count(os.Args[1], 100)
	case "remove":
		if err := alone(os.Args[1], 300); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

// alone locks a directory n times, which each holder removes, and reports that another
// process held the lock at the same time.
func alone(dir string, n int) error {
	for n > 0 {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		lock := Lock
		if n%2 == 0 {
			lock = tryLock
		}
		unlock, err := lock(dir)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errHeld) {
			continue
		}
		if err != nil {
			return err
		}
		held, err := os.OpenFile(dir+".held", os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := errors.Join(held.Close(), os.Remove(held.Name()), os.Remove(dir)); err != nil {
			return err
		}
		unlock()
		n--
	}
	return nil
}

var errHeld = errors.New("held")

func tryLock(dir string) (unlock func(), err error) {
	unlock, free, err := TryLock(dir)
	if err == nil && !free {
		err = errHeld
	}
	return unlock, err
}

func dieBeforeCommit(path string) {
	if _, err := stage(path, []byte("new"), 0o600); err != nil {
		panic(err)
	}
	p, _ := os.FindProcess(os.Getpid())
	p.Kill()
	select {}
}

// count increments the number in a file n times.
func count(path string, n int) {
	for range n {
		unlock, err := Lock(filepath.Dir(path))
		if err != nil {
			panic(err)
		}
		data, _ := os.ReadFile(path)
		was, _ := strconv.Atoi(string(data))
		if err := Write(path, []byte(strconv.Itoa(was+1)), 0o600); err != nil {
			panic(err)
		}
		unlock()
	}
}

// other returns a command that runs this binary with a job.
func other(t *testing.T, job, path string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], path)
	cmd.Env = append(os.Environ(), "ATOMICFILE_JOB="+job)
	return cmd
}

// TestKilled: a process that dies before the last step leaves the old file.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, was := range []string{"", "old"} {
		if was != "" {
			os.WriteFile(path, []byte(was), 0o644)
		}
		err := other(t, "die", path).Run()
		if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("the process was not killed: %v", err)
		}
		if data, err := os.ReadFile(path); string(data) != was || was == "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q, %v", data, err)
		}
	}
	staged, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".x.*.tmp"))
	if len(staged) != 2 {
		t.Errorf("nothing was written before the kill: %v", staged)
	}
}

// TestLock: processes are serialized by the lock.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	one, two := other(t, "count", path), other(t, "count", path)
	if err := errors.Join(one.Start(), two.Start()); err != nil {
		t.Fatal(err)
	}
	count(path, 100)
	if err := errors.Join(one.Wait(), two.Wait()); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(path); string(data) != "300" {
		t.Errorf("counted to %s, want 300", data)
	}
}

// TestLockRemoved: a directory that is removed by the holder of its lock and made anew
// is locked by one process at a time.
func TestLockRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	one := other(t, "remove", dir)
	out := new(strings.Builder)
	one.Stderr = out
	if err := one.Start(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(alone(dir, 300), one.Wait()); err != nil {
		t.Errorf("two hold the lock at once: %v %s", err, out)
	}
}

func TestLockRefuses(t *testing.T) {
	if _, err := Lock(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := Write(path, []byte("one"), 0o640); err != nil {
		t.Fatal(err)
	}
	os.Chmod(path, 0o604)
	if err := Write(path, []byte("two"), 0o640); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	info, errStat := os.Stat(path)
	if string(data) != "two" || info.Mode() != 0o604 || errors.Join(err, errStat) != nil {
		t.Errorf("%q, %v, %v, %v", data, info.Mode(), err, errStat)
	}
	for _, path := range []string{dir, filepath.Join(dir, "none", "x"), filepath.Join(path, "x")} {
		if err := Write(path, nil, 0o600); err == nil {
			t.Errorf("%s is written", path)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("the directory holds %v", entries)
	}
}

func TestTarget(t *testing.T) {
	dir, _ := filepath.EvalSymlinks(t.TempDir())
	os.MkdirAll(filepath.Join(dir, "a/b"), 0o755)
	links := map[string]string{
		"up": "a/b", "to": "up/../c", "abs": filepath.Join(dir, "none"), "round": "round", "chain": "to", "a/c": "d",
	}
	for name, link := range links {
		if err := os.Symlink(link, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{"x": "x", "abs": "none", "chain": "a/d", "to": "a/d", "a/b": "a/b", "up/x": "a/b/x", "none/x": "none/x"} {
		got, err := Target(filepath.Join(dir, name))
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s stands for %s, %v, want %s", name, got, err, want)
		}
	}
	if _, err := Target(filepath.Join(dir, "round")); err == nil || !strings.Contains(err.Error(), "symbolic links") {
		t.Error(err)
	}
}
