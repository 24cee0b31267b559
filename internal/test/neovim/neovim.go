//go:build linux

// Package neovim drives a real Neovim in tests: keys go in as they are typed, the
// screen comes out as it is drawn.
package neovim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long Wait waits. Other work may share the machine.
const patience = 40 * time.Second

// Release is an installed Neovim.
type Release struct {
	Version string // "0.7.2"
	// Command starts it, with variables of its own.
	Command, Env []string
}

// Releases returns the installed versions, the oldest first: the one on PATH, and those
// that install.sh has put below dir.
func Releases(dir string) []Release {
	var found []Release
	dir, _ = filepath.Abs(dir)
	if path, err := exec.LookPath("nvim"); err == nil {
		found = append(found, Release{Command: []string{path}})
	}
	roots, _ := filepath.Glob(filepath.Join(dir, "*", "usr", "bin", "nvim"))
	for _, path := range roots {
		root := filepath.Dir(filepath.Dir(path))
		lib := filepath.Join(root, "lib", "x86_64-linux-gnu")
		loaders, _ := filepath.Glob(filepath.Join(root, "lib*", "ld-linux-x86-64.so.2"))
		if len(loaders) == 0 {
			continue
		}
		found = append(found, Release{
			Command: []string{loaders[0], "--library-path", lib, path},
			Env:     []string{"VIMRUNTIME=" + filepath.Join(root, "share", "nvim", "runtime")},
		})
	}
	for i := range found {
		found[i].Version = found[i].version()
	}
	return slices.DeleteFunc(found, func(r Release) bool { return r.Version == "" })
}

func (r Release) version() string {
	cmd := exec.Command(r.Command[0], append(r.Command[1:len(r.Command):len(r.Command)], "--version")...)
	cmd.Env = append(os.Environ(), r.Env...)
	out, err := cmd.Output()
	line, _, _ := strings.Cut(string(out), "\n")
	version, ours := strings.CutPrefix(line, "NVIM v")
	if err != nil || !ours {
		return ""
	}
	return version
}

// Nvim is a running Neovim with one screen.
type Nvim struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu      sync.Mutex
	screen  display
	shown   string // the screen when it was last whole
	called  int
	answers map[int]chan answer
	changed chan struct{} // closed and replaced when shown changes
	over    error         // why it has ended
}

type answer struct {
	value any
	err   error
}

// Options say how Neovim is started.
type Options struct {
	Dir           string
	Env           []string // all of it, but for what the release needs
	Args          []string
	Width, Height int
}

// Start starts Neovim. It is killed at the end of the test.
func (r Release) Start(t testing.TB, o Options) *Nvim {
	t.Helper()
	args := append(slices.Clone(r.Command[1:]), "--embed", "--headless")
	cmd := exec.Command(r.Command[0], append(args, o.Args...)...)
	cmd.Dir, cmd.Env = o.Dir, append(slices.Clone(o.Env), r.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	n := &Nvim{t: t, cmd: cmd, stdin: stdin, answers: map[int]chan answer{}, changed: make(chan struct{})}
	t.Cleanup(n.Kill)
	go n.listen(stdout)
	n.Call("nvim_ui_attach", o.Width, o.Height, map[string]any{"ext_linegrid": true, "rgb": true})
	return n
}

// Kill kills Neovim, if it is there.
func (n *Nvim) Kill() {
	n.cmd.Process.Kill()
	n.cmd.Wait()
}

// listen takes what Neovim says until it ends.
func (n *Nvim) listen(out io.Reader) {
	in := bufio.NewReaderSize(out, 1<<16)
	for {
		v, err := decode(in)
		n.mu.Lock()
		if err != nil {
			n.end(err)
			n.mu.Unlock()
			return
		}
		n.take(v.([]any))
		n.mu.Unlock()
	}
}

func (n *Nvim) end(err error) {
	n.over = fmt.Errorf("nvim has ended: %w", err)
	for id, waits := range n.answers {
		delete(n.answers, id)
		waits <- answer{err: n.over}
	}
	n.change()
}

func (n *Nvim) change() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// take takes one message: an answer, or a notification.
func (n *Nvim) take(m []any) {
	switch {
	case m[0] == 1:
		waits := n.answers[m[1].(int)]
		delete(n.answers, m[1].(int))
		var err error
		if m[2] != nil {
			err = fmt.Errorf("%v", m[2])
		}
		waits <- answer{m[3], err}
	case m[0] == 2 && m[1] == "redraw":
		if n.screen.redraw(m[2].([]any)) {
			if shown := n.screen.text(); shown != n.shown {
				n.shown = shown
				n.change()
			}
		}
	}
}

// Call calls a function of Neovim's API and returns its result.
func (n *Nvim) Call(method string, args ...any) any {
	n.t.Helper()
	value, err := n.Try(method, args...)
	if err != nil {
		n.t.Fatalf("%s: %v\n%s", method, err, n.Screen())
	}
	return value
}

// Try is Call for a call that may fail.
func (n *Nvim) Try(method string, args ...any) (any, error) {
	waits, err := n.send(method, args)
	if err != nil {
		return nil, err
	}
	select {
	case a := <-waits:
		return a.value, a.err
	case <-time.After(patience):
		return nil, errors.New("nvim does not answer")
	}
}

func (n *Nvim) send(method string, args []any) (chan answer, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over != nil {
		return nil, n.over
	}
	n.called++
	waits := make(chan answer, 1)
	n.answers[n.called] = waits
	if args == nil {
		args = []any{}
	}
	_, err := n.stdin.Write(encode(nil, []any{0, n.called, method, args}))
	return waits, err
}

// Notify calls a function of the API without waiting for it.
func (n *Nvim) Notify(method string, args ...any) {
	n.t.Helper()
	if _, err := n.send(method, args); err != nil {
		n.t.Fatal(err)
	}
}

// Lua runs a chunk and returns its value.
func (n *Nvim) Lua(code string, args ...any) any {
	n.t.Helper()
	if args == nil {
		args = []any{}
	}
	return n.Call("nvim_exec_lua", code, args)
}

// Type types keys, as Neovim names them: "ihello<Esc>".
func (n *Nvim) Type(keys string) {
	n.t.Helper()
	n.Call("nvim_input", keys)
}

// Screen returns what is shown.
func (n *Nvim) Screen() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.shown
}

// Wait waits until the screen shows what is wanted, and returns it.
func (n *Nvim) Wait(what string, wanted func(screen string) bool) string {
	n.t.Helper()
	limit := time.After(patience)
	for {
		n.mu.Lock()
		shown, changed, over := n.shown, n.changed, n.over
		n.mu.Unlock()
		if wanted(shown) {
			return shown
		}
		if over != nil {
			n.t.Fatalf("waiting for %s: %v\n%s", what, over, shown)
		}
		select {
		case <-changed:
		case <-limit:
			n.t.Fatalf("%s was not seen:\n%s\nmessages:\n%v", what, shown, n.messages())
		}
	}
}

func (n *Nvim) messages() any {
	out, err := n.Try("nvim_exec", "messages | echo get(g:, 'agent_wrapper_error', '')", true)
	if err != nil {
		return err
	}
	return out
}

// See waits for all of the texts.
func (n *Nvim) See(texts ...string) string {
	n.t.Helper()
	return n.Wait(fmt.Sprintf("%q", texts), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// Unsee waits until a text is gone.
func (n *Nvim) Unsee(text string) string {
	n.t.Helper()
	return n.Wait("the end of "+text, func(screen string) bool { return !strings.Contains(screen, text) })
}
