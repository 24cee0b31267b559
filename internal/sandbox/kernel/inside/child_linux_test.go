//go:build (amd64 || arm64) && !race

// The race detector has a hand in how assembly calls Go, and cannot have it in the child.

package inside

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// bare are the layers without which anybody may start a child.
var bare = []string{pids, mounts, processes, landlocked, seccomp, capabilities, limits, privileges, first}

// tested is a command with the other end of its line.
type tested struct {
	*command
	hearing int
}

// newShell returns a command of a shell around which no sandbox is built.
func newShell(t *testing.T, script string) *tested {
	t.Helper()
	dir := t.TempDir()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	ours, theirs, err := pair()
	if err != nil {
		t.Fatal(err)
	}
	c := &tested{hearing: ours, command: &command{
		Sandbox: &Sandbox{Shared: true, Omit: bare},
		Start:   &Start{Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir},
		to:      &line{theirs}, outside: -1, line: -1, other: -1, dir: -1, rules: -1,
	}}
	for i := range c.streams {
		if c.streams[i], err = unix.FcntlInt(null.Fd(), unix.F_DUPFD_CLOEXEC, firstFree); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { c.let(); unix.Close(ours); unix.Close(theirs) })
	return c
}

// starts has the child wait.
func (c *tested) starts(change func(*child)) error {
	err := errors.Join(c.open(), c.prepareChild(), c.prepare())
	if err == nil {
		change(&c.child)
		err = c.launch()
	}
	if err == nil {
		err = errors.Join(c.enter(), c.restrictChild())
	}
	return err
}

func asItIs(*child) {}

// ends has the child run the command, and waits for its end.
func (c *tested) ends(t *testing.T) int {
	t.Helper()
	if err := errors.Join(c.starts(asItIs), c.begin()); err != nil {
		t.Fatal(err)
	}
	code, err := c.wait()
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// TestChild: the command runs, with the signals and the descriptors of its own, and its end
// is told.
func TestChild(t *testing.T) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGTERM, unix.SIGUSR1)
	defer signal.Stop(signals)
	signal.Ignore(unix.SIGUSR2)
	defer signal.Reset(unix.SIGUSR2)
	leak, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD, 100) // without close-on-exec
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(leak)
	for _, test := range []struct {
		name, script string
		code         int
	}{
		{"an exit code", "exit 3", 3},
		{"a signal", "kill -TERM $$; exit 3", 128 + 15},
		{"a signal of which we are told", "kill -USR1 $$; exit 3", 128 + 10},
		{"a signal that is ignored here", "kill -USR2 $$; exit 3", 3},
		{"no other descriptor", "for fd in /proc/self/fd/*; do case ${fd##*/} in 0|1|2) ;; *) readlink -e $fd && exit 4;; esac; done; exit 3", 3},
		{"no signal is blocked", "while read -r name value; do [ $name = SigBlk: ] && [ $value = 0000000000000000 ] && exit 3; done </proc/self/status", 3},
		{"its directory", `[ "$(ls -A)" = "" ] && echo x > made && exit 3`, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newShell(t, test.script)
			if code := c.ends(t); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if made, _ := filepath.Glob(c.Dir + "/*"); len(made) != 0 && test.name != "its directory" {
				t.Errorf("made %q", made)
			}
		})
	}
}

// TestChildStopped: a command that is stopped says so, and goes on.
func TestChildStopped(t *testing.T) {
	c := newShell(t, "kill -STOP $$; exit 3")
	over := make(chan bool)
	go func() {
		defer close(over)
		for {
			switch said, ok := Hear(c.hearing); {
			case !ok || said.Word == "ended":
				return
			case said.Word == "stopped":
				c.signal(unix.SIGCONT)
			default:
				t.Errorf("it says %q", said.Word)
			}
		}
	}()
	if code := c.ends(t); code != 3 {
		t.Errorf("exit code %d", code)
	}
	<-over
}

func pair() (ours, theirs int, err error) {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	return ends[0], ends[1], err
}

// TestChildFails: if one call fails, the command does not run. The layer and the error are
// told.
func TestChildFails(t *testing.T) {
	wrong := call{nr: unix.SYS_FCHDIR, args: [6]uintptr{^uintptr(0)}, layer: "x"}
	for _, test := range []struct {
		name string
		in   int // the phase
		at   int
	}{
		{"before it waits", begins, 0},
		{"before the command is known", restricts, 0},
		{"first", starts, 0},
		{"in the middle", starts, 3},
		{"last", starts, -1},
	} {
		for _, may := range []bool{false, true} {
			t.Run(test.name, func(t *testing.T) {
				c := newShell(t, "echo x > made")
				one := wrong
				if may {
					one.may = unix.EBADF
				}
				err := c.starts(func(k *child) {
					calls, at := &k.calls[test.in], test.at
					if at < 0 {
						at = len(*calls)
					}
					*calls = slices.Insert(*calls, at, one)
				})
				if err == nil {
					err = c.begin()
				}
				made := func() bool {
					_, err := os.Stat(c.Dir + "/made")
					return err == nil
				}
				if may {
					if err != nil {
						t.Fatal(err)
					}
					if code, err := c.wait(); err != nil || code != 0 || !made() {
						t.Errorf("exit code %d, %v, made %v", code, err, made())
					}
					return
				}
				if no := new(missing); !errors.As(err, &no) || no.layer != "x" || !errors.Is(no.err, syscall.EBADF) {
					t.Error(err)
				}
				c.let()
				if made() {
					t.Error("the command ran")
				}
			})
		}
	}
}

// TestChildNotRun: a program that cannot be run is told of.
func TestChildNotRun(t *testing.T) {
	c := newShell(t, "")
	c.Path = c.Dir
	if err := errors.Join(c.starts(asItIs), c.begin()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.wait(); !errors.Is(err, syscall.EACCES) || !errors.As(err, new(*notRun)) {
		t.Error(err)
	}
}

func (n *notRun) Unwrap() error { return n.err }

// TestStands: a tree of which a path is on another mount than it was made with, or is there
// and was not, does not stand; and what is not the root of a mount was not mounted. Of two
// mounts at a path the last one counts.
func TestStands(t *testing.T) {
	dir := t.TempDir()
	made := dir + "/made"
	c := &command{mounted: map[string]uint64{}}
	if err := c.covers(dir, unix.AT_FDCWD, dir); err == nil {
		t.Error("nothing is mounted there")
	}
	if err := c.covers(made, unix.AT_FDCWD, made); err == nil || len(c.mounted) > 0 {
		t.Error("it is not there")
	}
	c.mounted["/proc"] = mountAt(dir)
	if err := c.covers("/proc", unix.AT_FDCWD, "/proc"); err != nil {
		t.Fatal(err)
	}
	if err := c.stands(); err != nil {
		t.Error(err)
	}
	c.mounted["/proc"] = mountAt(dir)
	if err := c.stands(); err == nil {
		t.Error("another mount")
	}
	c.mounted = map[string]uint64{made: 0}
	if err := c.stands(); err != nil {
		t.Error(err)
	}
	if err := os.Mkdir(made, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.stands(); err == nil {
		t.Error("made meanwhile")
	}
	c.mounted[made] = mountAt(made)
	if err := os.Remove(made); err != nil {
		t.Fatal(err)
	}
	if err := c.stands(); err == nil {
		t.Error("removed meanwhile")
	}
}

// TestChildKilled: a child that somebody ends is noticed, whatever it waits for.
func TestChildKilled(t *testing.T) {
	c := newShell(t, "exit 3")
	if err := c.starts(asItIs); err != nil {
		t.Fatal(err)
	}
	c.signal(unix.SIGKILL)
	if err := c.begin(); err == nil {
		t.Error("it went on")
	}
	c = newShell(t, "sleep 1000")
	if err := errors.Join(c.starts(asItIs), c.begin()); err != nil {
		t.Fatal(err)
	}
	c.signal(unix.SIGKILL)
	if code, err := c.wait(); err != nil || code != 128+9 {
		t.Errorf("exit code %d, %v", code, err)
	}
	_ = unix.Kill(-int(c.child.pid), unix.SIGKILL) // without a namespace of its own, the command is left
}

// TestPlain: a path of a plan is opened only if no part of it is a link.
func TestPlain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = errors.Join(os.Mkdir(dir+"/real", 0o755), os.Symlink("real", dir+"/link"), os.WriteFile(dir+"/real/file", nil, 0o644), os.Symlink("file", dir+"/real/name"))
	}
	if err != nil {
		t.Fatal(err)
	}
	for path, plainly := range map[string]bool{"real": true, "real/file": true, "link": false, "link/file": false, "real/name": false, "real/../real": true, "none": false} {
		fd, err := plain(dir + "/" + path)
		if (err == nil) != plainly {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}
