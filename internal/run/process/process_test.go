//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// playing is set when the test binary plays one of the programs that are run; its
// first argument says which.
const playing = "PROCESS_TEST_SOCKET"

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(playing); !ok {
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { os.Exit(99) }) // in case a test fails to end it
	parts[os.Args[1]](os.Args[2:])
	syscall.Exit(0) // unlike os.Exit, it prints nothing when coverage is measured
}

var parts = map[string]func(args []string){
	"exit":    func(args []string) { var n int; fmt.Sscan(args[0], &n); syscall.Exit(n) },
	"echo":    func(args []string) { fmt.Print(strings.Join(args, "|")) },
	"copy":    func([]string) { io.Copy(os.Stdout, os.Stdin) },
	"both":    func([]string) { fmt.Print("1"); fmt.Fprint(os.Stderr, "2"); fmt.Print("3") },
	"environ": func([]string) { fmt.Print(strings.Join(os.Environ(), " ")) },
	"directory": func([]string) {
		dir, _ := os.Getwd()
		fmt.Print(dir)
	},
	"endless": func([]string) {
		for {
			if _, err := fmt.Println("y"); err != nil {
				os.Exit(5)
			}
		}
	},
	"much": func([]string) {
		defer register("much").Close()
		os.Stdout.Write(bytes.Repeat([]byte("x"), 60<<10))
	},
	"killed": func([]string) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	// deaf ignores SIGTERM; it ends when the test closes its connection.
	"deaf": func([]string) {
		signal.Ignore(syscall.SIGTERM)
		wait(register("deaf"))
	},
	// polite handles SIGTERM: it says so and exits with a code of its own.
	"polite": func([]string) {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		register("polite")
		<-told
		fmt.Print("bye")
		os.Exit(7)
	},
	// parent starts other programs and waits for their end.
	"parent": func(args []string) { children(args, false); wait(register("parent")) },
	"leaves": func(args []string) { children(args, false); fmt.Print("done") },
	// deserter leaves a child in a session of its own, which holds its output
	// open.
	"deserter": func(args []string) { children(args, true); fmt.Print("done") },
	// settler has a child in a session of its own, and waits.
	"settler": func(args []string) { children(args, true); wait(register("settler")) },
	"stopped": func([]string) {
		register("stopped")
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		select {}
	},
	// halting stops itself when it gets SIGTERM, and ends as polite does.
	"halting": func([]string) {
		told := make(chan os.Signal, 1)
		signal.Notify(told, syscall.SIGTERM)
		register("halting")
		<-told
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		fmt.Print("bye")
		os.Exit(7)
	},
	// runner runs another program as package process does.
	"runner": func(args []string) {
		c := self(args...)
		c.Stdin, c.Stdout = os.Stdin, os.Stdout
		c.Limit = time.Minute
		res, err := c.Run(context.Background())
		fmt.Printf("runner: %d %v front=%v echo=%v\n", res.Exit, err, front(), echoes())
	},
	"front": func([]string) { fmt.Printf("child: front=%v\n", front()) },
	"raw": func([]string) {
		term.MakeRaw(0)
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	},
}

// self returns a program of the test binary as a Command.
func self(args ...string) *Command {
	return &Command{Args: append([]string{os.Args[0]}, args...), Env: []string{playing + "=" + os.Getenv(playing)}}
}

// children starts programs and waits until each has registered.
func children(args []string, ownSession bool) {
	for _, part := range args {
		cmd := exec.Command(os.Args[0], part)
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: ownSession}
		ready, theirs, _ := os.Pipe()
		cmd.ExtraFiles = []*os.File{theirs}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		theirs.Close()
		io.ReadFull(ready, make([]byte, 1))
	}
}

// register keeps a connection to the test, and to a parent, open for as long as
// this process lives.
func register(name string) net.Conn {
	c, err := net.Dial("unix", os.Getenv(playing))
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(c, name)
	os.NewFile(3, "ready").Write([]byte{1})
	return c
}

func wait(c net.Conn) { io.Copy(io.Discard, c) }

func front() bool {
	group, err := unix.IoctlGetInt(0, unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func echoes() bool {
	modes, err := unix.IoctlGetTermios(0, unix.TCGETS)
	return err == nil && modes.Lflag&unix.ECHO != 0
}

// census accepts the connections of a test's processes.
type census struct {
	t *testing.T
	l net.Listener
}

func newCensus(t *testing.T) *census {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return &census{t, l}
}

// command returns a program of the test binary that registers here.
func (c *census) command(args ...string) *Command {
	cmd := self(args...)
	cmd.Env = []string{playing + "=" + c.l.Addr().String()}
	return cmd
}

// born waits for n processes.
func (c *census) born(n int) []net.Conn {
	c.t.Helper()
	var all []net.Conn
	for range n {
		c.l.(*net.UnixListener).SetDeadline(time.Now().Add(30 * time.Second))
		conn, err := c.l.Accept()
		if err != nil {
			c.t.Fatal(err)
		}
		c.t.Cleanup(func() { conn.Close() })
		all = append(all, conn)
	}
	return all
}

// arrived returns the processes, of n, that have registered by now.
func (c *census) arrived(n int) (all []net.Conn) {
	c.l.(*net.UnixListener).SetDeadline(time.Now().Add(time.Second))
	for len(all) < n {
		conn, err := c.l.Accept()
		if err != nil {
			break
		}
		c.t.Cleanup(func() { conn.Close() })
		all = append(all, conn)
	}
	return all
}

// dead waits for the end of processes.
func (c *census) dead(all []net.Conn) {
	c.t.Helper()
	for _, conn := range all {
		conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		if _, err := io.Copy(io.Discard, conn); err != nil && !errors.Is(err, syscall.ECONNRESET) {
			c.t.Errorf("a process lives: %v", err)
		}
	}
}

// ran runs a program and returns its output.
func ran(t *testing.T, c *Command) (Result, string) {
	t.Helper()
	var out bytes.Buffer
	c.Stdout = &out
	res, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res, out.String()
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		want int
		args []string
	}{{0, []string{"exit", "0"}}, {3, []string{"exit", "3"}}, {255, []string{"exit", "255"}}, {137, []string{"killed"}}} {
		if res, _ := ran(t, self(tt.args...)); res.Exit != tt.want || res.TimedOut || res.Cancelled || res.Took <= 0 {
			t.Errorf("%v: %+v", tt.args, res)
		}
	}
}

func TestArgumentsAreWords(t *testing.T) {
	t.Parallel()
	if _, out := ran(t, self("echo", "a b", "$HOME", "", "*", "x;y")); out != "a b|$HOME||*|x;y" {
		t.Errorf("%q", out)
	}
}

func TestStreams(t *testing.T) {
	t.Parallel()
	c := self("copy")
	c.Stdin = strings.NewReader("in")
	if _, out := ran(t, c); out != "in" {
		t.Errorf("%q", out)
	}
	c = self("copy")
	if _, out := ran(t, c); out != "" {
		t.Errorf("no input: %q", out)
	}
	var out bytes.Buffer
	c = self("both")
	c.Stdout, c.Stderr = &out, &out
	if _, err := c.Run(t.Context()); err != nil || out.String() != "123" {
		t.Errorf("%v, %q", err, out.String())
	}
	c = self("copy") // an input that never ends
	r, w := io.Pipe()
	defer w.Close()
	c.Stdin, c.Args[1] = r, "exit"
	c.Args = append(c.Args, "4")
	if res, _ := ran(t, c); res.Exit != 4 {
		t.Errorf("%+v", res)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("LEAK", "x")
	c := self("environ")
	c.Env = append(c.Env, "A=1")
	if _, out := ran(t, c); out != playing+"= A=1" {
		t.Errorf("%q", out)
	}
}

func TestDirectory(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := self("directory")
	c.Dir = dir
	if _, out := ran(t, c); out != dir {
		t.Errorf("%q", out)
	}
}

// A program is never found in the current directory, and one that does not exist
// is not started.
func TestNotStarted(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	link := func(name string) {
		if err := os.Symlink(os.Args[0], filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("here")
	if err := os.WriteFile("data", []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	for _, tt := range []struct {
		name, path string
		args       []string
		ctx        context.Context
		want       string
	}{
		{"here", ".:", []string{"here"}, nil, "there is no program here on PATH"},
		{"here, empty PATH", "", []string{"here"}, nil, "there is no program here on PATH"},
		{"relative PATH", "./:../" + filepath.Base(dir), []string{"here"}, nil, "there is no program here on PATH"},
		{"no program", dir, nil, nil, "no program to run"},
		{"empty name", dir, []string{""}, nil, "no program to run"},
		{"not there", dir, []string{"./gone"}, nil, "there is no program ./gone"},
		{"no program file", dir, []string{dir + "/data"}, nil, "data is not executable"},
		{"over", dir, []string{"here"}, over, "enough"},
		{"bad argument", dir, []string{"here", "a\x00b"}, nil, "holds a NUL byte"},
	} {
		c := &Command{Args: tt.args, Env: []string{"PATH=/nowhere", "PATH=" + tt.path, playing + "="}, Stdout: io.Discard}
		ctx := tt.ctx
		if ctx == nil {
			ctx = t.Context()
		}
		_, err := c.Run(ctx)
		var not *NotStarted
		if !errors.As(err, &not) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
	}
	for _, name := range []string{"here", "./here", dir + "/here"} {
		c := &Command{Args: []string{name, "exit", "6"}, Env: []string{"PATH=:/nowhere:" + dir, playing + "="}}
		if res, err := c.Run(t.Context()); err != nil || res.Exit != 6 {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
	}
}

// At the limit the whole group ends, including a process that ignores SIGTERM.
func TestLimit(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for limit := 2 * time.Second; ; limit *= 2 { // until it is long enough for all three to start
		c := newCensus(t)
		cmd := c.command("parent", "deaf", "deaf")
		cmd.Grace, cmd.Limit = 50*time.Millisecond, limit
		res, _ := ran(t, cmd)
		if res.Exit != 128+15 || !res.TimedOut || res.Cancelled {
			t.Errorf("%+v", res)
		}
		all := c.arrived(3)
		c.dead(all)
		if len(all) == 3 {
			return
		}
		if limit > time.Minute {
			t.Fatalf("%d of 3 processes started within %v", len(all), limit)
		}
	}
}

// The same happens when the context ends, even if the program ignores SIGTERM.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, exit int
		out     string
		args    []string
	}{
		{1, 137, "", []string{"deaf"}},
		{2, 128 + 15, "", []string{"parent", "deaf"}},
		{1, 7, "bye", []string{"polite"}},
		{2, 128 + 15, "bye", []string{"parent", "polite"}},
		{1, 128 + 15, "", []string{"stopped"}},
		{1, 7, "bye", []string{"halting"}},
	} {
		c := newCensus(t)
		cmd := c.command(tt.args...)
		if tt.exit == 137 || tt.args[len(tt.args)-1] == "deaf" {
			cmd.Grace = 50 * time.Millisecond
		}
		var out bytes.Buffer
		cmd.Stdout = &out
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan Result)
		go func() {
			res, err := cmd.Run(ctx)
			if err != nil {
				t.Error(err)
			}
			done <- res
		}()
		all := c.born(tt.n)
		cancel()
		res := <-done
		if res.Exit != tt.exit || !res.Cancelled || res.TimedOut || out.String() != tt.out {
			t.Errorf("%v: %+v, %q", tt.args, res, out.String())
		}
		c.dead(all)
	}
}

// What a program leaves in its group ends with it.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	c := newCensus(t)
	cmd := c.command("leaves", "deaf", "polite")
	cmd.Grace = 50 * time.Millisecond
	res, out := ran(t, cmd)
	if res.Exit != 0 || !strings.HasPrefix(out, "done") {
		t.Errorf("%+v, %q", res, out)
	}
	c.dead(c.born(2))
}

// A process outside the group that holds the output open does not block Run.
func TestDeserter(t *testing.T) {
	t.Parallel()
	c := newCensus(t)
	cmd := c.command("deserter", "deaf")
	res, out := ran(t, cmd)
	if res.Exit != 0 || out != "done" {
		t.Errorf("%+v, %q", res, out)
	}
	all := c.born(1)
	all[0].(*net.UnixConn).CloseWrite() // it is alive: it notices the closed connection
	c.dead(all)
}

// unread reads nothing until the program has ended.
type unread struct {
	bytes.Buffer
	ended chan struct{}
}

func (s *unread) Write(p []byte) (int, error) {
	<-s.ended
	return s.Buffer.Write(p)
}

// All output is copied, however late it is read.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	c := newCensus(t)
	cmd := c.command("much")
	out := &unread{ended: make(chan struct{})}
	cmd.Stdout = out
	go func() {
		c.dead(c.born(1))
		close(out.ended)
	}()
	if res, err := cmd.Run(t.Context()); err != nil || res.Exit != 0 || out.Len() != 60<<10 {
		t.Errorf("%+v, %v, %d bytes", res, err, out.Len())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// A program whose output cannot be copied gets an error.
func TestBrokenOutput(t *testing.T) {
	t.Parallel()
	c := self("endless")
	c.Stdout = full{}
	res, err := c.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "no space") || res.Exit != 128+13 && res.Exit != 5 {
		t.Errorf("%+v, %v", res, err)
	}
}

// A program dies when we are killed.
func TestDiesWithUs(t *testing.T) {
	t.Parallel()
	c := newCensus(t)
	cmd := c.command("runner", "deaf")
	runner := exec.Command(cmd.Args[0], cmd.Args[1:]...)
	runner.Env = cmd.Env
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	all := c.born(1)
	runner.Process.Kill()
	runner.Wait()
	c.dead(all)
}

// The program has the terminal while it runs; afterwards we have it again,
// unchanged.
func TestTerminal(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ part, want string }{
		{"front", "child: front=true\nrunner: 0 <nil> front=true echo=true\n"},
		{"raw", "runner: 137 <nil> front=true echo=true\n"},
	} {
		master, slave, err := pty.Open()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "runner", tt.part)
		cmd.Env = []string{playing + "="}
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		slave.Close()
		out, _ := io.ReadAll(master) // its end is an error
		cmd.Wait()
		master.Close()
		if got := strings.ReplaceAll(string(out), "\r\n", "\n"); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.part, got, tt.want)
		}
	}
}
