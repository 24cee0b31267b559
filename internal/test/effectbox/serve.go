//go:build linux

package effectbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"syscall"
	"time"
)

// server is the box: the first process of its namespace.
type server struct {
	conf   Config
	tree   *tree
	null   *os.File
	agent  *agentEnd
	around *around
}

// serve builds the root and runs the lines that come in.
func serve(root string, stdin io.Reader, stdout io.Writer) error {
	if os.Getpid() != 1 {
		return errors.New("it must be the first process of its own namespace")
	}
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var first setup
	if err := in.Decode(&first); err != nil {
		return err
	}
	real, err := build(root, &first)
	if err != nil {
		return fmt.Errorf("build: %w", err)
	}
	if err := enter(root); err != nil {
		return err
	}
	s := &server{conf: first.Config, tree: newTree(first.Tree, first.user(), first.Agent)}
	if first.Agent {
		if s.around, err = surround(); err != nil {
			return err
		}
	}
	if s.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
		return err
	}
	if err := limit(); err != nil {
		return err
	}
	if err := out.Encode(real); err != nil {
		return err
	}
	for {
		var req Request
		if err := in.Decode(&req); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var r Result
		if req.Session != nil {
			r.Session, err = s.session(&req)
		} else {
			r, err = s.run(&req)
		}
		if err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
}

// enter makes the root that of the namespace: nothing outside has a path any longer.
// In a root made by chroot(2) there could be no sandbox.
func enter(root string) error {
	if err := os.Chdir(root); err != nil {
		return err
	}
	if err := syscall.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("enter the root: %w", err)
	}
	if err := syscall.Unmount(".", syscall.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the root of the machine: %w", err)
	}
	return os.Chdir("/")
}

const rlimitNproc = 6

// limit limits the resources of a line, and of the box itself.
func limit() error {
	for what, to := range map[int]uint64{
		syscall.RLIMIT_FSIZE: 4 << 20, syscall.RLIMIT_CORE: 1 /* as the sandbox want it */, syscall.RLIMIT_NOFILE: 256, syscall.RLIMIT_DATA: 2 << 30,
		rlimitNproc: 2000, // threads of that user on the whole machine
	} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: to, Max: to}); err != nil {
			return fmt.Errorf("limit %d: %w", what, err)
		}
	}
	return nil
}

// run runs one line and returns its effects.
func (s *server) run(req *Request) (r Result, err error) {
	if err := s.tree.reset(req.Extra); err != nil {
		return r, fmt.Errorf("make the tree: %w", err)
	}
	const trace = "/log/trace"
	if err := os.Truncate(trace, 0); err != nil {
		return r, err
	}
	if r.TimedOut, err = s.shell(req); err != nil {
		return r, err
	}
	data, err := os.ReadFile(trace)
	if err != nil {
		return r, err
	}
	if r.Started, err = started(data); err != nil {
		return r, err
	}
	r.Changes, err = s.tree.changes()
	return r, err
}

// shell runs the line and waits until all of its processes have ended. All
// processes of the namespace are its descendants: they become children of this
// one when their parents end.
func (s *server) shell(req *Request) (timedOut bool, err error) {
	env := []string{"PATH=/usr/bin:/bin", "HOME=" + s.conf.Home, "LC_ALL=C.UTF-8", "TMPDIR=/tmp", "PWD=" + s.conf.Dir}
	if req.Bare {
		env = append(env, "BASH_ENV=/log/bare")
	}
	null := s.null.Fd()
	_, err = syscall.ForkExec("/real/bin/bash", []string{"bash", "-c", req.Line}, &syscall.ProcAttr{
		Dir: s.conf.Dir, Env: env, Files: []uintptr{null, null, null},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}},
	})
	if err != nil {
		return false, fmt.Errorf("start the shell: %w", err)
	}
	timeout := s.conf.Timeout
	if timeout == 0 {
		timeout = 2 * time.Second
	}
	var killed atomic.Bool
	timer := time.AfterFunc(timeout, func() {
		killed.Store(true)
		if os.Getpid() == 1 { // in its own namespace: all but this process
			_ = syscall.Kill(-1, syscall.SIGKILL)
		}
	})
	defer timer.Stop()
	for {
		switch _, err := syscall.Wait4(-1, nil, 0, nil); err {
		case nil, syscall.EINTR:
		case syscall.ECHILD:
			return killed.Load(), nil
		default:
			return false, err
		}
	}
}

// started parses the trace.
func started(data []byte) ([]Started, error) {
	var out []Started
	ids, pids := map[string]int{}, map[string]int{}
	for len(data) > 0 {
		fields, rest, err := next(data)
		if err != nil {
			return out, err
		}
		data = rest
		id, from, pid, ppid, dir := fields[0], fields[1], fields[2], fields[3], fields[4]
		parent := -1
		for _, at := range []struct {
			known map[string]int
			key   string
		}{{ids, from}, {pids, pid}, {pids, ppid}} {
			if i, ok := at.known[at.key]; ok {
				parent = i
				break
			}
		}
		ids[id], pids[pid] = len(out), len(out)
		out = append(out, Started{Name: fields[5], Argv: fields[6:], Dir: dir, Parent: parent})
	}
	return out, nil
}

// next returns the fields of the next record, which has their number and the
// length of each.
func next(data []byte) (fields []string, rest []byte, err error) {
	number := func() int {
		if len(data) < 4 {
			return -1
		}
		n := int(binary.BigEndian.Uint32(data))
		data = data[4:]
		return n
	}
	n := number()
	for range n {
		size := number()
		if size < 0 || size > len(data) {
			return nil, nil, errors.New("the trace is cut")
		}
		fields, data = append(fields, string(data[:size])), data[size:]
	}
	if len(fields) < 7 {
		return nil, nil, errors.New("the trace is damaged")
	}
	return fields, data, nil
}
