package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Session is a running program that we talk to. It runs in a session of its own,
// so that it has no terminal, and is killed with all of its descendants. On Linux
// it is also killed when we die; elsewhere its input then ends. Read reads its
// standard output, Write writes its standard input, and Close closes that input.
// Its methods are safe for concurrent use.
type Session struct {
	cmd      *exec.Cmd
	in       *os.File // the program's input
	out, err *os.File // the program's output
	ended    chan struct{}
	problem  error // how it ended; set before ended is closed

	mu   sync.Mutex
	gone bool // reaped: its pid may belong to another process
}

// silence is how long the streams are read on after the program has ended,
// because processes that it started may hold them open.
const silence = time.Second

// StartSession starts a program with pipes as its streams. It sets the streams
// and the SysProcAttr of cmd. No signal is ignored there ([DefaultSignals]).
func StartSession(cmd *exec.Cmd) (*Session, error) {
	DefaultSignals()
	s := &Session{cmd: cmd, ended: make(chan struct{})}
	var theirs [3]*os.File
	var err error
	if theirs[0], s.in, err = os.Pipe(); err != nil {
		return nil, err
	}
	if s.out, theirs[1], err = os.Pipe(); err != nil {
		return nil, err
	}
	if s.err, theirs[2], err = os.Pipe(); err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	ownSession(cmd)
	err = launch(cmd, s.attend)
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(s.in, s.out, s.err)
		return nil, err
	}
	return s, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// attend waits until the program has ended.
func (s *Session) attend() {
	s.reap()
	close(s.ended)
	s.out.SetReadDeadline(time.Now().Add(silence))
	s.err.SetReadDeadline(time.Now().Add(silence))
}

// reap waits for the program. On systems that report the end of a process before
// it is reaped, Kill never signals a reused pid.
func (s *Session) reap() {
	if waitFor(s.cmd.Process.Pid) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.problem = s.cmd.Wait()
		s.gone = true
		return
	}
	s.problem = s.cmd.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = true
}

// Read reads the program's standard output.
func (s *Session) Read(p []byte) (int, error) { return s.readFrom(s.out, p) }

// Stderr returns a reader of the program's standard error. It has to be read to
// its end, or the program may block.
func (s *Session) Stderr() io.Reader { return complaints{s} }

type complaints struct{ s *Session }

func (c complaints) Read(p []byte) (int, error) { return c.s.readFrom(c.s.err, p) }

// readFrom reads a stream. Once the program has ended, a stream that stays silent
// is at its end.
func (s *Session) readFrom(f *os.File, p []byte) (int, error) {
	select {
	case <-s.ended:
		f.SetReadDeadline(time.Now().Add(silence))
	default:
	}
	n, err := f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = io.EOF
	}
	return n, err
}

// Write writes the program's standard input.
func (s *Session) Write(p []byte) (int, error) { return s.in.Write(p) }

// Close closes the program's standard input.
func (s *Session) Close() error { return s.in.Close() }

// Wait waits until the program has ended, and returns the error of exec.Cmd.Wait.
func (s *Session) Wait() error {
	<-s.ended
	s.in.Close()
	return s.problem
}

// Kill kills the program and all of its descendants, without waiting.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		killTree(s.cmd.Process.Pid)
	}
}
