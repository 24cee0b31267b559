//go:build unix

package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// tempHome makes a directory for everybody's temporary files and names it in TMPDIR.
func tempHome(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	return dir
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return all
}

// TestScratch: a run has a private directory, in which a command may do as in the
// workspace, and which is gone afterwards, however the run ends.
func TestScratch(t *testing.T) {
	temp := tempHome(t)
	o := site(t, nil)
	o.NoRecord = true
	e := opened(t, o)
	for name, end := range map[string]func() error{
		"done":   func() error { return nil },
		"failed": func() error { return errors.New("broken") },
		"panic":  func() error { panic("lost") },
	} {
		var dir string
		agent := taken(func(task wrapper.Task) error {
			dir = task.Scratch
			info, err := os.Stat(dir)
			if err != nil || info.Mode().Perm() != 0o700 || filepath.Dir(filepath.Dir(dir)) != temp {
				t.Errorf("%s: %s, %v", name, dir, err)
			}
			res, err := e.CanUseTool(t.Context(), bash(e, "echo x > $TMPDIR/a && mkdir "+dir+"/b && rm -rf $TMPDIR/b; echo y > "+temp+"/own"))
			if err != nil || res.Behavior != permission.Allow {
				t.Errorf("%s: %v %s, %v", name, res.Behavior, res.Reason, err)
			}
			env, err := os.ReadFile(task.ShellEnv)
			if err != nil || string(env) != "export TMPDIR='"+dir+"'\n" {
				t.Errorf("%s: %s, %v", name, env, err)
			}
			for line, rule := range map[string]string{"rm " + task.ShellEnv: "", "echo x > " + task.ShellEnv: "Edit(/" + temp + "/**)", "rm -rf " + filepath.Dir(dir): "Bash(rm:*)"} {
				if rule != "" {
					if err := e.Session.Allow(rule); err != nil {
						t.Error(err)
					}
				}
				if d := e.Explain(bash(e, line), nil); d.Behavior == permission.Allow || strings.HasPrefix(line, "echo") && !d.Held {
					t.Errorf("%s: %s: %s", name, line, d.Reason)
				}
			}
			for _, file := range []string{"locked/a", "b"} {
				if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o700), os.WriteFile(filepath.Join(dir, file), nil, 0o400)); err != nil {
					t.Error(err)
				}
			}
			if err := os.Chmod(filepath.Join(dir, "locked"), 0o500); err != nil {
				t.Error(err)
			}
			return end()
		})
		func() {
			defer func() { recover() }()
			_, err := e.Drive(t.Context(), agent, wrapper.Task{Prompt: "x"})
			if (err == nil) != (name == "done") {
				t.Errorf("%s: %v", name, err)
			}
		}()
		if _, err := os.Lstat(filepath.Dir(dir)); !errors.Is(err, os.ErrNotExist) || dir == "" {
			t.Errorf("%s: %s is still there, %v", name, dir, err)
		}
		if d := e.Explain(bash(e, "touch $TMPDIR/a"), nil); d.Behavior == permission.Allow {
			t.Errorf("%s: after the run: %s", name, d.Reason)
		}
	}
	if left := names(t, temp); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestSweep: what a killed run left behind is removed when the next one begins, and
// nothing else.
func TestSweep(t *testing.T) {
	temp := tempHome(t)
	elsewhere := t.TempDir()
	for _, file := range []string{scratchPrefix + "1/a/b", scratchPrefix + "2/a", scratchPrefix + "3/a", scratchPrefix + "x/a", "other/a", filepath.Join(elsewhere, "kept")} {
		if !filepath.IsAbs(file) {
			file = filepath.Join(temp, file)
		}
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	unlock, free, err := atomicfile.TryLock(filepath.Join(temp, scratchPrefix+"2")) // a live run
	if err != nil || !free {
		t.Fatal(free, err)
	}
	defer unlock()
	if err := errors.Join(
		os.Chmod(filepath.Join(temp, scratchPrefix+"3"), 0o755), // not as we make them
		os.Symlink(elsewhere, filepath.Join(temp, scratchPrefix+"4")),
		os.Symlink(elsewhere, filepath.Join(temp, scratchPrefix+"1", "link")),
	); err != nil {
		t.Fatal(err)
	}
	sweep(temp)
	want := []string{scratchPrefix + "2", scratchPrefix + "3", scratchPrefix + "4", scratchPrefix + "x", "other"}
	for i := range want {
		want[i] = strings.TrimSuffix(want[i], "/")
	}
	slices.Sort(want)
	if left := names(t, temp); !slices.Equal(left, want) {
		t.Errorf("left: %q", left)
	}
	if _, err := os.Stat(filepath.Join(elsewhere, "kept")); err != nil {
		t.Error(err)
	}
}

// TestTempDirs: a directory counts for temporary files only if nobody else can
// replace what is there, and if it is not the home or in the workspace.
func TestTempDirs(t *testing.T) {
	o := site(t, nil)
	o.NoRecord = true
	shared := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777)); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	e := opened(t, o)
	for _, dir := range []string{shared, home, e.Place.Workspace, filepath.Join(e.Place.Workspace, "sub"), "/", filepath.Join(home, "none")} {
		t.Setenv("TMPDIR", dir)
		if got := e.tempDirs(); slices.Contains(got, dir) {
			t.Errorf("%s is taken", dir)
		}
	}
	t.Setenv("TMPDIR", shared)
	var warned string
	_, err := e.Drive(t.Context(), taken(func(task wrapper.Task) error {
		if task.Scratch != "" {
			t.Errorf("others may change %s", task.Scratch)
		}
		return nil
	}), wrapper.Task{Prompt: "x", Events: func(ev wrapper.Event) { warned += ev.Message }})
	if err != nil || !strings.Contains(warned, "no private directory") {
		t.Errorf("%q, %v", warned, err)
	}
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", shared)
	if got := e.tempDirs(); !slices.Contains(got, shared) {
		t.Errorf("%s is not taken: %q", shared, got)
	}
}

// TestScratchLinks: the real file system is asked about links and about what exists.
func TestScratchLinks(t *testing.T) {
	temp := tempHome(t)
	o := site(t, nil)
	o.NoRecord = true
	e := opened(t, o)
	if err := errors.Join(os.WriteFile(filepath.Join(temp, "old"), nil, 0o600), os.Symlink(filepath.Join(temp, "none"), filepath.Join(temp, "dangling"))); err != nil {
		t.Fatal(err)
	}
	_, err := e.Drive(context.Background(), taken(func(task wrapper.Task) error {
		if err := errors.Join(os.Symlink(o.Dirs.User, filepath.Join(task.Scratch, "away")), os.WriteFile(filepath.Join(task.Scratch, "x"), nil, 0o600)); err != nil {
			t.Error(err)
		}
		for line, want := range map[string]permission.Behavior{
			"echo x > " + temp + "/old":         permission.Deny,
			"echo x > " + temp + "/dangling":    permission.Deny,
			"rm -f " + temp + "/old":            permission.Deny,
			"echo x > $TMPDIR/away/y":           permission.Deny,
			"rm -rf $TMPDIR/*":                  permission.Allow, // removes links, not what they lead to
			"echo x > " + temp + "/new/../new2": permission.Allow,
			"cat $TMPDIR/x":                     permission.Allow,
		} {
			if res, err := e.CanUseTool(t.Context(), bash(e, line)); err != nil || res.Behavior != want {
				t.Errorf("%s: %v %s, %v", line, res.Behavior, res.Reason, err)
			}
		}
		return nil
	}), wrapper.Task{Prompt: "x"})
	if err != nil {
		t.Error(err)
	}
}
