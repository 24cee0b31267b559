//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// moved writes a secret into a file, and moves that in the place of another one.
func moved(from, to string) error {
	return errors.Join(os.WriteFile(from, []byte(marker), 0o644), os.Rename(from, to))
}

func openRoom(t *testing.T) *Room {
	t.Helper()
	room, err := OpenRoom(func(context.Context, string, string) error { return errors.New("no rule allows it") })
	must(t, err)
	t.Cleanup(room.Close)
	return room
}

// begin starts a command in a room.
func begin(r *Room, plan *sandbox.Plan, cmd *exec.Cmd, streams [3]*os.File) (*Process, error) {
	p, err := r.Prepare(plan)
	if err == nil {
		err = p.Start(cmd, streams)
	}
	return p, err
}

// started is a command of bash in a room, with what it writes.
type started struct {
	*Process
	out *os.File
}

func start(t *testing.T, r *Room, w *world, line string) *started {
	t.Helper()
	return startBy(t, r, w, w.plan(), line)
}

func startBy(t *testing.T, r *Room, w *world, plan *sandbox.Plan, line string) *started {
	t.Helper()
	in, err := os.Open(os.DevNull)
	must(t, err)
	defer in.Close()
	out, write, err := os.Pipe()
	must(t, err)
	defer write.Close()
	t.Cleanup(func() { out.Close() })
	p, err := begin(r, plan, &exec.Cmd{Path: "/bin/bash", Args: []string{"bash", "-c", line}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}}, [3]*os.File{in, write, write})
	must(t, err)
	return &started{p, out}
}

// says returns all that a command writes, and its exit code. The end of the pipe says
// that nothing has it any more.
func (s *started) says(t *testing.T) (string, int) {
	t.Helper()
	said, err := io.ReadAll(s.out)
	must(t, err)
	code, err := s.Wait()
	must(t, err)
	return strings.TrimSpace(string(said)), code
}

// line returns the next line that a command writes.
func (s *started) line(t *testing.T) string {
	t.Helper()
	var text []byte
	for one := make([]byte, 1); !strings.HasSuffix(string(text), "\n"); text = append(text, one[0]) {
		if _, err := s.out.Read(one); err != nil {
			t.Fatalf("%v after %q", err, text)
		}
	}
	return strings.TrimSpace(string(text))
}

// TestRoomNever: in a room too a command is ended that makes what it must not, and one is not
// started where it is there by then.
func TestRoomNever(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	must(t, os.MkdirAll(w.Work+"/g", 0o755))
	plan := w.plan()
	plan.Never = []string{w.Work + "/g/commondir"}
	s := startBy(t, r, w, plan, "echo began; echo x >g/commondir; sleep 100")
	if said := s.line(t); said != "began" {
		t.Error(said)
	}
	if code, err := s.Wait(); err == nil || !strings.Contains(err.Error(), "g/commondir") {
		t.Errorf("%d, %v", code, err)
	}
	if _, err := os.Lstat(plan.Never[0]); err == nil {
		t.Error("it is there")
	}
	must(t, os.WriteFile(plan.Never[0], nil, 0o600))
	if _, err := begin(r, plan, &exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Dir: w.Work}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}); !IsUnbegun(err) || !strings.Contains(err.Error(), "was not when the sandbox was planned") {
		t.Error(err)
	}
}

// TestRoom: what a command serves another one of the same room reaches, and nobody else.
func TestRoom(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	server := start(t, r, w, `python3 -c '
import socket, sys
s = socket.create_server(("127.0.0.1", 0))
print(s.getsockname()[1], flush=True)
while True:
	c, _ = s.accept()
	c.sendall(b"served\n")
	c.close()'`)
	port := server.line(t)
	get := "exec 3<>/dev/tcp/127.0.0.1/" + port + " && cat <&3"
	if said, code := start(t, r, w, get).says(t); said != "served" || code != 0 {
		t.Errorf("in the same room: %q, exit code %d", said, code)
	}
	if said, code := start(t, openRoom(t), w, get).says(t); code == 0 || strings.Contains(said, "served") {
		t.Errorf("in another room: %q", said)
	}
	if c, err := net.Dial("tcp4", "127.0.0.1:"+port); err == nil {
		said, _ := io.ReadAll(c)
		c.Close()
		if strings.Contains(string(said), "served") {
			t.Error("it is reached from outside")
		}
	}
	server.Signal(syscall.SIGTERM)
	if _, code := server.says(t); code != 128+int(syscall.SIGTERM) {
		t.Errorf("ended by SIGTERM with %d", code)
	}
	if said, code := start(t, r, w, get).says(t); code == 0 {
		t.Errorf("after its end: %q", said)
	}
}

// TestRoomEnds: nothing of a command is left when it has ended, and nothing of a room.
func TestRoomEnds(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	const leaves = "setsid sh -c 'sleep 1000' & echo $((40+2)); "
	if said, code := start(t, r, w, leaves+"exit 7").says(t); said != "42" || code != 7 {
		t.Errorf("%q, exit code %d", said, code)
	}
	killed := start(t, r, w, leaves+"trap '' TERM; sleep 1000")
	killed.line(t)
	killed.Signal(syscall.SIGTERM)
	killed.Signal(syscall.SIGKILL)
	if _, code := killed.says(t); code != 128+int(syscall.SIGKILL) {
		t.Errorf("killed: exit code %d", code)
	}
	killed.Signal(syscall.SIGKILL) // nothing
	with := start(t, r, w, leaves+"sleep 1000")
	with.line(t)
	r.Close()
	if _, code := with.says(t); code != 128+int(syscall.SIGKILL) || !r.Gone() {
		t.Errorf("with its room: exit code %d", code)
	}
	if _, err := r.Prepare(w.plan()); err == nil {
		t.Error("a room that is gone starts a command")
	}
}

// TestRoomFails: a command whose sandbox cannot be built is not run, and the next one is.
func TestRoomFails(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	run := func(plan *sandbox.Plan, path, dir string) error {
		p, err := begin(r, plan, &exec.Cmd{Path: path, Args: []string{path, "made"}, Dir: dir}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr})
		if err == nil {
			_, err = p.Wait()
		}
		return err
	}
	broken := w.plan()
	broken.Writable[0].Path = w.Root + "/none"
	if no := new(missing); !errors.As(run(broken, "/bin/touch", w.Out), &no) || no.layer != "mounts" {
		t.Error("a sandbox that cannot be built")
	}
	if not := new(process.NotStarted); !errors.As(run(w.plan(), w.Work+"/mine", w.Work), &not) {
		t.Error("a program that cannot be run")
	}
	if err := run(w.plan(), "/bin/touch", w.Root+"/none"); err == nil {
		t.Error("a directory that is not there")
	}
	if err := run(w.plan(), "/bin/touch", w.Work); err != nil {
		t.Error(err)
	}
	if made, _ := filepath.Glob(w.Root + "/*/made"); len(made) != 1 || made[0] != w.Work+"/made" {
		t.Errorf("made %q", made)
	}
}

// waits returns when the sandbox waits for its command: the rules of Landlock are the last thing
// that is built before.
func (r *Room) waits() {
	for {
		fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.cmd.Process.Pid))
		for _, fd := range fds {
			if to, _ := os.Readlink(fd); strings.Contains(to, "landlock") {
				return
			}
		}
	}
}

// TestRoomForgone: nothing is left of a sandbox for which no command comes.
func TestRoomForgone(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	children := func() string {
		all, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", r.cmd.Process.Pid))
		must(t, err)
		var pids string
		for _, list := range all {
			text, _ := os.ReadFile(list)
			pids += string(text)
		}
		return pids
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	must(t, err)
	defer null.Close()
	for _, test := range []struct {
		name string
		ends func(*Process) error
	}{
		{"forgone", func(p *Process) error { p.Forgo(); p.Forgo(); return nil }},
		{"ended", func(p *Process) error { p.Signal(syscall.SIGKILL); return nil }},
		{"a directory that is not there", func(p *Process) error {
			if err := p.Start(&exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Dir: w.Root + "/none"}, [3]*os.File{null, null, null}); err == nil {
				return errors.New("it starts")
			}
			return nil
		}},
	} {
		p, err := r.Prepare(w.plan())
		must(t, err)
		r.waits()
		if children() == "" {
			t.Fatal("there is no first process, so this test shows nothing")
		}
		must(t, test.ends(p))
		if code, err := p.Wait(); err == nil || children() != "" {
			t.Errorf("%s: exit code %d, %v, and there are %s", test.name, code, err, children())
		}
	}
	p, err := r.Prepare(w.plan())
	must(t, err)
	r.waits()
	pids := strings.Fields(children())
	r.Close()
	for _, pid := range pids {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s is left", pid)
		}
	}
	if err := p.Start(&exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Dir: w.Work}, [3]*os.File{null, null, null}); err == nil {
		t.Error("it starts in a room that is gone")
	}
	if code, err := p.Wait(); err == nil {
		t.Errorf("in a room that is gone: exit code %d", code)
	}
	p.Signal(syscall.SIGKILL) // nothing
	p.Forgo()
}

// TestRoomAhead: a sandbox that was built before the command was known is not used if what it is
// made of has changed; the one that is built then holds the command to the plan.
func TestRoomAhead(t *testing.T) {
	another := func(dir string) error {
		return errors.Join(os.Rename(dir, dir+"-old"), os.Mkdir(dir, 0o755), os.WriteFile(dir+"/k", []byte(marker), 0o644))
	}
	for _, test := range []struct {
		name    string
		before  func(w *world) error // before the sandbox is built
		between func(w *world) error
		line    string
		want    string
	}{
		{name: "nothing", line: "cat .env; cat mine", want: "mine"},
		{name: "two mounts at one path", before: func(w *world) error { return os.WriteFile(w.Root+"/tmp/f", []byte("two"), 0o644) }, line: "cat ../tmp/f", want: "two"},
		{name: "a masked file is another one", between: func(w *world) error { return moved(w.Work+"/new", w.Work+"/.env") }, line: "cat .env; cat mine", want: "mine"},
		{name: "a masked directory is another one", between: func(w *world) error { return another(w.Work + "/keys") }, line: "cat keys/k; cat mine", want: "mine"},
		{name: "what was to be masked was not there", before: func(w *world) error { return os.RemoveAll(w.Home + "/.ssh") }, between: func(w *world) error {
			return errors.Join(os.Mkdir(w.Home+"/.ssh", 0o755), os.WriteFile(w.Home+"/.ssh/id", []byte(marker), 0o644))
		}, line: "cat ../home/.ssh/id; cat mine", want: "mine"},
		{name: "a protected file is another one", between: func(w *world) error { return moved(w.Work+"/new", w.Work+"/settings.json") }, line: "echo x > settings.json; cat mine", want: "mine"},
		{name: "a directory that is empty is another one", between: func(w *world) error { return another(w.Root + "/tmp") }, line: "cat ../tmp/k; cat mine", want: "mine"},
		{name: "a directory of services is another one", between: func(w *world) error { return another(w.Root + "/services") }, line: "cat ../services/k; cat mine", want: "mine"},
		{name: "the workspace is another one", between: func(w *world) error {
			return errors.Join(os.Rename(w.Work, w.Root+"/old"), exec.Command("cp", "-a", w.Root+"/old", w.Work).Run()) // os.CopyFS has no names that are not UTF-8
		}, line: "cat .env; echo x > settings.json; echo x >> mine; cat mine", want: "minex"},
		{name: unbuilt, before: func(w *world) error { return os.Rename(w.Work, w.Root+"/old") },
			between: func(w *world) error { return os.Rename(w.Root+"/old", w.Work) }, line: "cat .env; cat mine", want: "mine"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w, r := newWorld(t), openRoom(t)
			must(t, errors.Join(os.Mkdir(w.Root+"/tmp", 0o755), os.Mkdir(w.Root+"/services", 0o755)))
			plan := w.plan()
			plan.Temp, plan.Services = append(plan.Temp, sandbox.Path{Path: w.Root + "/tmp"}), append(plan.Services, sandbox.Path{Path: w.Root + "/services"})
			if test.before != nil {
				must(t, test.before(w))
			}
			if test.name == "two mounts at one path" {
				plan.Writable = append(plan.Writable, sandbox.Path{Path: w.Root + "/tmp"})
			}
			p, err := r.Prepare(plan)
			must(t, err)
			if test.name == unbuilt {
				if _, err := p.Wait(); !IsUnbegun(err) || !IsMissing(err) {
					t.Error(err)
				}
			} else {
				r.waits()
			}
			if test.between != nil {
				must(t, test.between(w))
			}
			out, err := os.Create(t.TempDir() + "/output")
			must(t, err)
			defer out.Close()
			cmd := &exec.Cmd{Path: "/bin/bash", Args: []string{"bash", "-c", "{ " + test.line + "; } 2>/dev/null"}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}}
			if err = p.Start(cmd, [3]*os.File{out, out, out}); IsUnbegun(err) != (test.between != nil) {
				t.Fatal(err)
			}
			if err != nil {
				p, err = begin(r, plan, cmd, [3]*os.File{out, out, out})
				must(t, err)
			}
			code, err := p.Wait()
			said, _ := os.ReadFile(out.Name())
			if err != nil || code != 0 || strings.Join(strings.Fields(string(said)), "") != test.want {
				t.Errorf("%q, exit code %d, %v", said, code, err)
			}
			if text, _ := os.ReadFile(w.Work + "/settings.json"); strings.HasPrefix(string(text), "x") {
				t.Error("what is protected was changed")
			}
		})
	}
}

// unbuilt is the case of TestRoomAhead whose sandbox cannot be built ahead.
const unbuilt = "what is writable was not there"

// TestLinks: where a link has come into a path of a plan since it was made, nothing is copied
// or mounted by it, and the command does not run: what the link leads to would be writable,
// and what was to be withheld not.
func TestLinks(t *testing.T) {
	for _, tt := range []struct {
		name string
		path string // below the workspace
		to   func(p *sandbox.Plan) *[]sandbox.Path
	}{
		{"writable", "link", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Writable }},
		{"writable, by a link above", "link/dir", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Writable }},
		{"read-only", "link", func(p *sandbox.Plan) *[]sandbox.Path { return &p.ReadOnly }},
		{"denied", "link", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Denied }},
		{"denied, by a link above", "link/readable", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Denied }},
		{"empty", "link", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Empty }},
		{"temporary files", "link/dir", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Temp }},
		{"sockets", "link/dir", func(p *sandbox.Plan) *[]sandbox.Path { return &p.Services }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			must(t, os.Symlink(w.Out, w.Work+"/link"))
			plan := w.plan()
			list := tt.to(plan)
			*list = append(*list, sandbox.Path{Path: w.Work + "/" + tt.path})
			c := &process.Command{Args: []string{"/bin/sh", "-c", "echo x >" + w.Out + "/dir/raced; echo x >began"}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}}
			if _, err := (&Held{Plan: plan}).Run(t.Context(), c); err == nil || !strings.Contains(err.Error(), "there is a link in it") {
				t.Errorf("the error %v", err)
			}
			for _, made := range []string{w.Out + "/dir/raced", w.Work + "/began"} {
				if _, err := os.Lstat(made); err == nil {
					t.Errorf("made %s", made)
				}
			}
		})
	}
}

// TestExchanged: where something else is at a path than was to be withheld there, the command
// does not run, and that is no reason to think that there is no sandbox.
func TestExchanged(t *testing.T) {
	for name, exchange := range map[string]func(w *world) error{
		"the file":      func(w *world) error { return os.Rename(w.Work+"/decoy", w.Work+"/.env") },
		"the directory": func(w *world) error { return os.Rename(w.Work+"/nest", w.Work+"/nest2") },
		"nothing of it": func(w *world) error { return os.WriteFile(w.Work+"/new", nil, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			must(t, os.WriteFile(w.Work+"/decoy", nil, 0o600))
			plan := w.plan()
			inode := func(path string) sandbox.Inode {
				var at syscall.Stat_t
				must(t, syscall.Lstat(path, &at))
				return sandbox.Inode{Dev: at.Dev, Ino: at.Ino}
			}
			for _, path := range []string{w.Work + "/.env", w.Work + "/nest/secret"} {
				plan.Found = append(plan.Found, sandbox.Found{Path: []byte(path), Is: inode(path), In: inode(filepath.Dir(path))})
			}
			must(t, exchange(w))
			if name == "the directory" { // another one, with a file that is the same by another name
				must(t, os.Mkdir(w.Work+"/nest", 0o700))
				must(t, os.Link(w.Work+"/nest2/secret", w.Work+"/nest/secret"))
			}
			c := &process.Command{Args: []string{"/bin/sh", "-c", "echo began"}, Dir: w.Out, Env: []string{"PATH=/usr/bin:/bin"}}
			_, err := (&Held{Plan: plan}).Run(t.Context(), c)
			if name == "nothing of it" {
				must(t, err)
			} else if err == nil || IsMissing(err) || !strings.Contains(err.Error(), "changed meanwhile") {
				t.Errorf("the error %v", err)
			}
		})
	}
}
