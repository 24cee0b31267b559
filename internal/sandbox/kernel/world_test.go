//go:build sandbox && linux && (amd64 || arm64)

package kernel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
)

// marker is what a secret holds.
const marker = "the-secret-marker"

// world is a throw-away place with a workspace, what lies outside, and what runs there.
type world struct {
	Root, Work, Out, Home  string
	Service, Run           string // sockets
	TCP, TCP6, UDP         string // addresses
	Abstract               string
	Shm                    string // a file in /dev/shm
	Pts                    string // a terminal outside
	PID                    int    // of a process outside
	SysV, Queue            int
	DirFD, WriteFD, ReadFD int
	Handle                 []byte // of the file that is denied
	HandleType             int32
}

func newWorld(t *testing.T) *world {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Root: root, Work: root + "/ws", Out: root + "/out", Home: root + "/home"}
	for _, dir := range []string{w.Work + "/.git/hooks", w.Work + "/keys", w.Work + "/nest", w.Out + "/dir", w.Home + "/.ssh"} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	for path, text := range map[string]string{
		w.Work + "/mine": "mine", w.Work + "/.git/config": "config", w.Work + "/settings.json": "settings",
		w.Work + "/.env": marker, w.Work + "/keys/k": marker, w.Work + "/nest/secret": marker,
		w.Out + "/victim": "victim", w.Out + "/readable": marker, w.Home + "/.npmrc": marker, w.Home + "/.ssh/id": marker,
	} {
		must(t, os.WriteFile(path, []byte(text), 0o644))
	}
	must(t, os.WriteFile(w.unreadable(), []byte(marker), 0o644))
	must(t, os.WriteFile(w.Work+"/keys/tool", []byte("#!/bin/sh\nexit 0\n"), 0o755))
	if h, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.Work+"/.env", 0); err == nil {
		w.Handle, w.HandleType = h.Bytes(), h.Type()
	}
	if os.Getuid() == 0 && os.Getenv(nestedEnv) == "" {
		data, err := os.ReadFile("/usr/bin/id")
		must(t, unix.Mknod(w.Out+"/null", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))))
		must(t, errors.Join(err, os.WriteFile(w.Work+"/id", data, 0o755), os.Chown(w.Work+"/id", 1234, 1234), os.Chmod(w.Work+"/id", 0o755|os.ModeSetuid)))
	}
	w.serve(t)
	w.process(t)
	w.descriptors(t)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// serve starts the services outside.
func (w *world) serve(t *testing.T) {
	listen := func(network, address string) string {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Logf("no service at %s %s: %v", network, address, err)
			return ""
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte(marker))
				c.Close()
			}
		}()
		return l.Addr().String()
	}
	w.Service = listen("unix", w.Out+"/service.sock")
	w.Run = listen("unix", fmt.Sprintf("/run/aw-sandbox-%s-%d.sock", strings.ReplaceAll(w.Root, "/", "")[len(w.Root)/3:], os.Getpid()))
	w.Abstract = listen("unix", fmt.Sprintf("@aw-sandbox-%d-%s", os.Getpid(), filepath.Base(w.Root)))
	w.TCP = listen("tcp4", "127.0.0.1:0")
	w.TCP6 = listen("tcp6", "[::1]:0")
	u, err := net.ListenPacket("udp4", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { u.Close() })
	go func() {
		buf := make([]byte, 100)
		for {
			_, from, err := u.ReadFrom(buf)
			if err != nil {
				return
			}
			u.WriteTo([]byte(marker), from)
		}
	}()
	w.UDP = u.LocalAddr().String()
}

// process starts a process outside, and makes what it shares with others.
func (w *world) process(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.Env, cmd.Dir = []string{"SECRET=" + marker}, w.Out
	must(t, cmd.Start())
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	w.PID = cmd.Process.Pid
	shm, err := os.CreateTemp("/dev/shm", "aw-sandbox-")
	must(t, err)
	fmt.Fprint(shm, marker)
	t.Cleanup(func() { shm.Close(); os.Remove(shm.Name()) })
	w.Shm = shm.Name()
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600)
	must(t, err)
	data, err := unix.SysvShmAttach(id, 0, 0)
	must(t, err)
	copy(data, marker)
	unix.SysvShmDetach(data)
	t.Cleanup(func() { unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	w.SysV = id
	queue, _, errno := unix.Syscall(unix.SYS_MSGGET, unix.IPC_PRIVATE, unix.IPC_CREAT|0o600, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { unix.Syscall(unix.SYS_MSGCTL, queue, unix.IPC_RMID, 0) })
	w.Queue = int(queue)
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	w.Pts = fmt.Sprintf("/dev/pts/%d", n)
}

// descriptors are inherited by whatever is started.
func (w *world) descriptors(t *testing.T) {
	open := func(path string, flags int) int {
		fd, err := unix.Open(path, flags, 0)
		must(t, err)
		high, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD, 100)
		must(t, err)
		unix.Close(fd)
		t.Cleanup(func() { unix.Close(high) })
		return high
	}
	w.DirFD = open(w.Out, unix.O_RDONLY|unix.O_DIRECTORY)
	w.WriteFD = open(w.Out+"/victim", unix.O_RDWR)
	w.ReadFD = open(w.Out+"/readable", unix.O_RDONLY)
}

// unreadable is a secret whose name is not UTF-8.
func (w *world) unreadable() string { return w.Work + "/\xff.key" }

// plan returns the plan for the world.
func (w *world) plan() *sandbox.Plan {
	paths := func(all ...string) []sandbox.Path {
		var list []sandbox.Path
		for _, p := range all {
			list = append(list, sandbox.Path{Path: p})
		}
		return list
	}
	p := &sandbox.Plan{
		Writable: paths(w.Work, w.Work+"/.git"), ReadOnly: paths(w.Work+"/.git/config", w.Work+"/.git/hooks", w.Work+"/settings.json"),
		Denied: paths(w.Work+"/.env", w.Work+"/keys", w.Work+"/nest/secret", w.unreadable(), w.Service), Empty: paths(w.Home+"/.npmrc", w.Home+"/.ssh"),
		Services: paths("/run"), Limits: sandbox.Limits{Memory: 4 << 30, Processes: 300},
	}
	return p
}

// attackEnv names the attack that a process is.
const attackEnv = "AW_WALLS_ATTACK"

func TestMain(m *testing.M) {
	if text := os.Getenv(attackEnv); text != "" {
		var a struct {
			Name  string
			World world
		}
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			fmt.Println(err)
			os.Exit(3)
		}
		i := slices.IndexFunc(escapes, func(e escape) bool { return e.name == a.Name })
		if err := escapes[i].try(&a.World); err != nil {
			fmt.Println(err)
			os.Exit(9)
		}
		fmt.Println("escaped")
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// attack tries an escape from the sandbox without some layers. It reports whether it got out.
func attack(t *testing.T, e *escape, omit []string) (out bool, said string) {
	t.Helper()
	w := newWorld(t)
	h := &Held{Plan: w.plan(), omit: omit}
	var output bytes.Buffer
	c := &process.Command{Args: []string{self(t)}, Dir: w.Work, Env: e.env(t, w), Stdout: &output, Stderr: &output, Limit: time.Minute}
	if e.stdin != nil {
		f, err := os.Open(e.stdin(w))
		must(t, err)
		defer f.Close()
		c.Stdin = f
	}
	res, err := h.Run(context.Background(), c)
	return got(t, e, res.Exit, err, output.String())
}

// attackInRoom tries an escape from the sandbox of a room.
func attackInRoom(t *testing.T, e *escape) (out bool, said string) {
	t.Helper()
	w := newWorld(t)
	input := os.DevNull
	if e.stdin != nil {
		input = e.stdin(w)
	}
	in, err := os.Open(input)
	must(t, err)
	defer in.Close()
	output, err := os.Create(t.TempDir() + "/output")
	must(t, err)
	defer output.Close()
	room := openRoom(t)
	p, err := begin(room, w.plan(), &exec.Cmd{Path: self(t), Args: []string{"attack"}, Dir: w.Work, Env: e.env(t, w)}, [3]*os.File{in, output, output})
	code := 0
	if err == nil {
		code, err = p.Wait()
	}
	text, _ := os.ReadFile(output.Name())
	return got(t, e, code, err, string(text))
}

// got returns whether an escape got out.
func got(t *testing.T, e *escape, code int, err error, said string) (bool, string) {
	t.Helper()
	if err != nil {
		if no := new(missing); errors.As(err, &no) && e.stdin != nil && no.layer == "descriptors" {
			return false, err.Error()
		}
		t.Fatalf("%v: %s", err, said)
	}
	if code != 0 && code != 9 {
		t.Fatalf("exit code %d: %s", code, said)
	}
	return code == 0, strings.TrimSpace(said)
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	return exe
}

// env has this program try an escape.
func (e *escape) env(t *testing.T, w *world) []string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Name": e.name, "World": w})
	must(t, err)
	return append(os.Environ(), attackEnv+"="+string(text))
}
