//go:build linux

// Package realshell runs command lines in a real shell inside a disposable
// root, and reports which commands the shell would have run. It is for tests
// only.
//
// The root holds bash, dash and zsh with their libraries and nothing else. It
// has its own mount, network, process and IPC namespaces, and the shells run as
// an unprivileged user. A library preloaded into the shells (shim/shim.c, built
// with cc) makes every command seem to exist, and records its argv instead of
// running it. So only shells ever run, and lines behave as usual: both sides of
// && and ||, names with a slash, exec.
package realshell

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// boxEnv marks the process of the box.
const boxEnv = "AGENT_WRAPPER_BOX"

//go:embed shim/shim.c
var shimSource []byte

// Main turns the process into the box if it was started as one; call it first
// in TestMain.
func Main() {
	if os.Getenv(boxEnv) == "" {
		return
	}
	if err := serve(os.Getenv(boxEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Box is a running box. It runs one line at a time.
type Box struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	shim string
}

// Result describes what the shell did with one line.
type Result struct {
	Commands []Run
	TimedOut bool
}

// Run is one command that the shell would have run.
type Run struct {
	Path string   // the argument of execve; /none/NAME for a name from PATH
	Argv []string // including Argv[0]
}

// Words returns the words of the command as the line gave them. The name is
// taken from the path, because exec -a changes it.
func (r Run) Words() []string {
	if len(r.Argv) == 0 {
		return []string{r.Path}
	}
	dir, name := filepath.Split(r.Path)
	said := r.Argv[0]
	switch {
	case said == r.Path, strings.Contains(said, "/") && strings.HasSuffix(r.Path, strings.TrimLeft(said, ".")):
		name = said // exec makes it absolute
	case slices.Contains(searched, dir): // changed by exec -a
	default:
		name = strings.Replace(r.Path, "/w/", "./", 1)
	}
	return append([]string{name}, r.Argv[1:]...)
}

// searched lists the directories in which the shim finds every name.
var searched = []string{"/none/", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/"}

// request is one line. Argv[0] is the shell.
type request struct{ Argv []string }

// Open starts a box. dir is an empty directory for the root.
func Open(dir string) (*Box, error) {
	shim, err := buildShim()
	if err != nil {
		return nil, err
	}
	b := &Box{shim: shim}
	if err := b.start(dir); err != nil {
		os.RemoveAll(filepath.Dir(shim))
		return nil, fmt.Errorf("start the box: %w", err)
	}
	return b, nil
}

func (b *Box) start(dir string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	b.cmd = exec.Command(exe)
	b.cmd.Env = []string{boxEnv + "=" + dir, "BOX_SHIM=" + b.shim}
	b.cmd.Stderr = os.Stderr
	flags := syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: uintptr(flags), Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		b.cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		b.cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		b.cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if b.in, err = b.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := b.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	b.out = bufio.NewReaderSize(out, 1<<20)
	return b.cmd.Start()
}

// buildShim compiles the shim into a new directory.
func buildShim() (string, error) {
	dir, err := os.MkdirTemp("", "realshell")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "shim.so")
	cmd := exec.Command("cc", "-x", "c", "-shared", "-fPIC", "-O1", "-o", out, "-")
	cmd.Stdin = bytes.NewReader(shimSource)
	if text, err := cmd.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("build the shim (it needs a C compiler): %w\n%s", err, text)
	}
	return out, nil
}

// Run starts a shell with arguments, of which the last is usually the line, and
// waits until it and all of its descendants have ended.
func (b *Box) Run(argv ...string) (Result, error) {
	for _, a := range argv {
		if strings.IndexByte(a, 0) >= 0 {
			return Result{}, nil // no argument can contain NUL
		}
	}
	if err := json.NewEncoder(b.in).Encode(encode(argv)); err != nil {
		return Result{}, err
	}
	answer, err := b.out.ReadBytes('\n')
	if err != nil {
		return Result{}, fmt.Errorf("the box ended: %w", err)
	}
	var r Result
	err = json.Unmarshal(answer, &r)
	for i := range r.Commands {
		r.Commands[i].Path = plain(r.Commands[i].Path)
		for j, a := range r.Commands[i].Argv {
			r.Commands[i].Argv[j] = plain(a)
		}
	}
	return r, err
}

// encode quotes the arguments, since JSON cannot represent invalid UTF-8.
func encode(argv []string) request {
	var r request
	for _, a := range argv {
		r.Argv = append(r.Argv, strconv.Quote(a))
	}
	return r
}

func plain(quoted string) string {
	s, err := strconv.Unquote(quoted)
	if err != nil {
		panic("realshell: " + quoted + ": " + err.Error())
	}
	return s
}

// Close ends the box and everything in it.
func (b *Box) Close() error {
	b.in.Close()
	os.RemoveAll(filepath.Dir(b.shim))
	return b.cmd.Wait()
}

// serve is the box: it builds the root and runs the lines that it receives.
func serve(root string) error {
	if err := build(root); err != nil {
		return fmt.Errorf("build the box: %w", err)
	}
	in := json.NewDecoder(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	for {
		var req request
		if err := in.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		r, err := runLine(root, req.Argv)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// shells lists the programs of the root.
var shells = []string{"/bin/bash", "/bin/dash", "/bin/sh", "/bin/zsh"}

func build(root string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("box", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=64m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, d := range []string{"w", "tmp", "dev", "home/dev", "t/C.UTF-8/LC_MESSAGES"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"dev/null": "", "log": "", "stdin": "c16 i1\n-n c18 '\n",
		"t/C.UTF-8/LC_MESSAGES/x.mo": catalogue([][2]string{{"", "Content-Type: text/plain; charset=UTF-8\n"}, {"hello", "$(c9)"}}),
	} {
		if err := writeFor(filepath.Join(root, name), text); err != nil {
			return err
		}
	}
	if err := copyFile(root, os.Getenv("BOX_SHIM"), "/shim.so"); err != nil {
		return err
	}
	for _, s := range shells {
		if err := copyProgram(root, s); err != nil {
			return err
		}
	}
	return errors.Join(copyModules(root), copyLocale(root))
}

// writeFor writes a file that every user in the box can write.
func writeFor(path, text string) error {
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		return err
	}
	return os.Chmod(path, 0o666)
}

// catalogue returns a file of translations, in the order of their messages, as
// gettext(3) reads it (GNU gettext manual, "The Format of GNU MO Files").
func catalogue(messages [][2]string) string {
	const magic, header = 0x950412de, 28
	n := len(messages)
	tables, texts := []uint32(nil), ""
	for i := range 2 {
		for _, m := range messages {
			tables = append(tables, uint32(len(m[i])), uint32(header+n*16+len(texts)))
			texts += m[i] + "\x00"
		}
	}
	var out []byte
	for _, word := range append([]uint32{magic, 0, uint32(n), header, uint32(header + n*8), 0, uint32(header + n*16)}, tables...) {
		out = binary.LittleEndian.AppendUint32(out, word)
	}
	return string(out) + texts
}

func copyFile(root, from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	to = filepath.Join(root, to)
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// copyProgram copies a program and its libraries to the same paths. A missing
// program is skipped.
func copyProgram(root, program string) error {
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	out, err := exec.Command("/usr/bin/ldd", program).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", program, err)
	}
	for _, f := range append(strings.Fields(string(out)), program) {
		if !strings.HasPrefix(f, "/") {
			continue
		}
		if err := copyFile(root, f, f); err != nil {
			return err
		}
	}
	return nil
}

// copyModules copies the modules that zsh loads on demand.
func copyModules(root string) error {
	dirs, err := filepath.Glob("/usr/lib/*/zsh/*/zsh")
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		files, err := filepath.Glob(dir + "/*.so")
		if err != nil {
			return err
		}
		for _, f := range files {
			if err := copyFile(root, f, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyLocale copies the locale C.UTF-8 if it is not part of the C library.
// Without it the shells would run in the locale C, in which bash does not
// translate.
func copyLocale(root string) error {
	const dir = "/usr/lib/locale/C.utf8"
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.CopyFS(filepath.Join(root, dir), os.DirFS(dir))
}

// The time limits of a line and of what it leaves running.
const (
	lineTime = time.Second
	restTime = 200 * time.Millisecond
)

// runLine runs one line in a new directory.
func runLine(root string, quoted []string) (Result, error) {
	if err := freshDir(filepath.Join(root, "w")); err != nil {
		return Result{}, err
	}
	if err := os.Truncate(filepath.Join(root, "log"), 0); err != nil {
		return Result{}, err
	}
	argv := make([]string, len(quoted))
	for i, a := range quoted {
		argv[i] = plain(a)
	}
	timedOut, err := runAll(root, argv)
	if err != nil {
		return Result{}, err
	}
	data, err := os.ReadFile(filepath.Join(root, "log"))
	return Result{Commands: records(data), TimedOut: timedOut}, err
}

// runAll runs a shell and waits for all of its descendants. The box is the
// first process of its namespace, so orphans become its children.
func runAll(root string, argv []string) (timedOut bool, err error) {
	in, err := os.Open(filepath.Join(root, "stdin"))
	if err != nil {
		return false, err
	}
	defer in.Close()
	null, err := os.OpenFile(filepath.Join(root, "dev/null"), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return false, err
	}
	defer null.Close()
	attr := &syscall.ProcAttr{
		Dir:   "/w",
		Env:   []string{"PATH=/none", "HOME=/home/dev", "LC_ALL=C.UTF-8", "LD_PRELOAD=/shim.so"},
		Files: []uintptr{in.Fd(), null.Fd(), null.Fd()},
		Sys:   &syscall.SysProcAttr{Chroot: root, Setpgid: true},
	}
	if canDrop() {
		attr.Sys.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	pid, err := syscall.ForkExec(argv[0], argv, attr)
	if err != nil {
		return false, fmt.Errorf("start the shell: %w", err)
	}
	return waitAll(pid), nil
}

// waitAll reaps until nothing is left, and kills what takes too long.
func waitAll(pid int) (timedOut bool) {
	late := make(chan bool, 1)
	end := func() {
		late <- true
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
	timer := time.AfterFunc(lineTime, end)
	for {
		got, err := syscall.Wait4(-1, nil, 0, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			timer.Stop()
			return len(late) > 0
		case got == pid && timer.Stop():
			timer = time.AfterFunc(restTime, func() { _ = syscall.Kill(-1, syscall.SIGKILL) })
		}
	}
}

// canDrop reports whether the user can be changed to nobody, who only exists
// with a full mapping of users.
func canDrop() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !strings.HasSuffix(strings.TrimSpace(string(data)), " 1")
}

// records parses what the shim wrote, in which strings are quoted. It stops at
// a truncated record.
func records(data []byte) []Run {
	var out []Run
	next := func() (string, bool) {
		s, rest, found := bytes.Cut(data, []byte{0})
		data = rest
		return string(s), found
	}
	for {
		count, _ := next()
		n, err := strconv.Atoi(count)
		if err != nil || n < 1 {
			return out
		}
		strs := make([]string, n)
		for i := range strs {
			s, ok := next()
			if !ok {
				return out
			}
			strs[i] = strconv.Quote(s)
		}
		out = append(out, Run{Path: strs[0], Argv: strs[1:]})
	}
}

func freshDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		return err
	}
	for _, f := range []string{"a.txt", "-rf", "b"} {
		if err := os.WriteFile(filepath.Join(dir, f), []byte("#c7 x\n"), 0o666); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(dir, "sub"), 0o777)
}
