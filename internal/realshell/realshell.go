//go:build linux

// Package realshell runs command lines in a real shell inside a throw-away
// root, and tells which commands the shell would have run. Only tests use it.
//
// The root holds the shell, its libraries and nothing else; it has its own
// mount, network, process and IPC namespaces and runs as nobody. PATH is
// names no directory, so that no command is found and the shell reports each one through
// command_not_found_handle.
package realshell

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// boxEnv marks the process that is the box.
const boxEnv = "AGENT_WRAPPER_BOX"

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

// Shell is a running box.
type Shell struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Result is what the shell did with one line.
type Result struct {
	Commands [][]string // the argv of each command that was not found
	TimedOut bool
}

type request struct {
	Line string
	Args []string
}

// Open starts a box around the shell program at path ("/bin/bash"). dir is an
// empty directory for the root.
func Open(path, dir string) (*Shell, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{boxEnv + "=" + dir, "BOX_SHELL=" + path}
	cmd.Stderr = os.Stderr
	flags := syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: uintptr(flags), Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the box: %w", err)
	}
	return &Shell{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}, nil
}

// Run gives a line to the shell, with -c.
func (s *Shell) Run(line string) (Result, error) {
	if strings.IndexByte(line, 0) >= 0 {
		return Result{}, nil // no argument can hold it
	}
	if err := json.NewEncoder(s.in).Encode(request{Line: line}); err != nil {
		return Result{}, err
	}
	answer, err := s.out.ReadBytes('\n')
	if err != nil {
		return Result{}, fmt.Errorf("the box ended: %w", err)
	}
	var r Result
	return r, json.Unmarshal(answer, &r)
}

// Close ends the box and everything in it.
func (s *Shell) Close() error {
	s.in.Close()
	return s.cmd.Wait()
}

// serve is the box: it builds the root and runs the lines that come in.
func serve(root string) error {
	shell := os.Getenv("BOX_SHELL")
	if err := build(root, shell); err != nil {
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
		r, err := runLine(root, shell, req.Line)
		if err != nil {
			return err
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// handler makes the shell write each argv to descriptor 9. Newlines are
// replaced: the shell would write each line by itself, and the records of two
// commands of a pipeline would mix.
const handler = `command_not_found_handle() {
	local IFS=$'\x1f'
	local argv="$*"
	printf '%s\x1e' "${argv//$'\n'/$'\x1d'}" >&9
	return 127
}
`

func build(root, shell string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	if err := syscall.Mount("box", root, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, "size=64m"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, d := range []string{"w", "tmp", "dev", "home/dev"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(root, "dev/null"), nil, 0o666); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "handler"), []byte(handler), 0o644); err != nil {
		return err
	}
	return copyProgram(root, shell)
}

// copyProgram copies a program and its libraries to the same places.
func copyProgram(root, program string) error {
	out, err := exec.Command("/usr/bin/ldd", program).Output()
	if err != nil {
		return fmt.Errorf("ldd %s: %w", program, err)
	}
	files := []string{program}
	for _, f := range strings.Fields(string(out)) {
		if strings.HasPrefix(f, "/") {
			files = append(files, f)
		}
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		to := filepath.Join(root, f)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, data, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// runLine runs one line in a fresh directory.
func runLine(root, shell, line string) (Result, error) {
	work := filepath.Join(root, "w")
	if err := freshDir(work); err != nil {
		return Result{}, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return Result{}, err
	}
	defer r.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, shell, "-c", line)
	cmd.Dir = "/w"
	cmd.Env = []string{"PATH=/none", "BASH_ENV=/handler", "HOME=/home/dev", "LC_ALL=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{nil, nil, nil, nil, nil, nil, w} // descriptor 9
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Setpgid: true}
	if os.Getenv("BOX_NOBODY") == "" && canDrop() {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 200 * time.Millisecond
	if err := cmd.Start(); err != nil {
		w.Close()
		return Result{}, fmt.Errorf("start the shell: %w", err)
	}
	w.Close()
	done := make(chan []byte, 1)
	go func() { done <- drain(r) }()
	_ = cmd.Wait() // the exit code of a line means nothing here
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = r.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	return Result{Commands: records(<-done), TimedOut: ctx.Err() != nil}, nil
}

// canDrop: without a full mapping of users there is no nobody to become.
func canDrop() bool {
	data, err := os.ReadFile("/proc/self/uid_map")
	return err == nil && !strings.HasSuffix(strings.TrimSpace(string(data)), " 1")
}

const maxRecords = 1 << 20

func drain(r io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(r, maxRecords)) // the deadline ends it
	return data
}

// records splits what the handler wrote; a record that was cut is left out.
func records(data []byte) [][]string {
	var out [][]string
	for {
		rec, rest, found := bytes.Cut(data, []byte{0x1e})
		if !found {
			return out
		}
		rec = bytes.ReplaceAll(rec, []byte{0x1d}, []byte{'\n'})
		out = append(out, strings.Split(string(rec), "\x1f"))
		data = rest
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
		if err := os.WriteFile(filepath.Join(dir, f), []byte("c7 x\n"), 0o666); err != nil {
			return err
		}
	}
	return os.Mkdir(filepath.Join(dir, "sub"), 0o777)
}
