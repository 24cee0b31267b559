//go:build walls && linux && (amd64 || arm64)

package kernel

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/walls"
)

func openRoom(t *testing.T) *Room {
	t.Helper()
	room, err := OpenRoom(func(context.Context, string, string) error { return errors.New("no rule allows it") })
	must(t, err)
	t.Cleanup(room.Close)
	return room
}

// started is a command of bash in a room, with what it writes.
type started struct {
	*Process
	out *os.File
}

func start(t *testing.T, r *Room, w *world, line string) *started {
	t.Helper()
	in, err := os.Open(os.DevNull)
	must(t, err)
	defer in.Close()
	out, write, err := os.Pipe()
	must(t, err)
	defer write.Close()
	t.Cleanup(func() { out.Close() })
	p, err := r.Start(w.plan(), &exec.Cmd{Path: "/bin/bash", Args: []string{"bash", "-c", line}, Dir: w.Work, Env: []string{"PATH=/usr/bin:/bin"}}, [3]*os.File{in, write, write})
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
	if _, err := r.Start(w.plan(), &exec.Cmd{Path: "/bin/true", Args: []string{"true"}, Dir: w.Work}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr}); err == nil {
		t.Error("a room that is gone starts a command")
	}
}

// TestRoomFails: a command whose walls cannot be built is not run, and the next one is.
func TestRoomFails(t *testing.T) {
	w, r := newWorld(t), openRoom(t)
	run := func(plan *walls.Plan, path, dir string) error {
		p, err := r.Start(plan, &exec.Cmd{Path: path, Args: []string{path, "made"}, Dir: dir}, [3]*os.File{os.Stdin, os.Stdout, os.Stderr})
		if err == nil {
			_, err = p.Wait()
		}
		return err
	}
	broken := w.plan()
	broken.Writable[0].Path = w.Root + "/none"
	if no := new(missing); !errors.As(run(broken, "/bin/touch", w.Out), &no) || no.layer != "mounts" {
		t.Error("walls that cannot be built")
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
