package process

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// Session is a running program that we talk with: it is in a session of its own,
// so that it has no terminal to type answers at, and is killed with all that
// descends from it. On Linux it also dies when we do; elsewhere its input ends
// then. Read gives what it writes to standard output, Write what it reads, Close
// ends its input.
type Session struct {
	cmd      *exec.Cmd
	in       *os.File // its input
	out, err *os.File // what it says
	ended    chan struct{}
	problem  error // of its end; set before ended is closed

	mu   sync.Mutex
	gone bool // reaped: its pid may be another's
}

// silence is how long the streams of a session that has ended are read on: what
// it left running may hold them open.
const silence = time.Second

// StartSession starts a program with pipes in the place of its streams, which cmd
// does not name.
func StartSession(cmd *exec.Cmd) (*Session, error) {
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

// attend stays with the program until it has ended.
func (s *Session) attend() {
	s.reap()
	close(s.ended)
	s.out.SetReadDeadline(time.Now().Add(silence))
	s.err.SetReadDeadline(time.Now().Add(silence))
}

// reap waits for the program to end. Where the system can tell of the end before
// the program is reaped, Kill never meets a pid that is another's.
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

// Read reads what the program writes to standard output.
func (s *Session) Read(p []byte) (int, error) { return s.readFrom(s.out, p) }

// Stderr is what the program writes to standard error.
func (s *Session) Stderr() io.Reader { return complaints{s} }

type complaints struct{ s *Session }

func (c complaints) Read(p []byte) (int, error) { return c.s.readFrom(c.s.err, p) }

// readFrom reads a stream; once the program has ended, a stream that stays silent
// has ended too.
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

// Write writes what the program reads.
func (s *Session) Write(p []byte) (int, error) { return s.in.Write(p) }

// Close ends the program's input.
func (s *Session) Close() error { return s.in.Close() }

// Wait returns when the program has ended.
func (s *Session) Wait() error {
	<-s.ended
	s.in.Close()
	return s.problem
}

// Kill kills the program and all that descends from it.
func (s *Session) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.gone {
		killTree(s.cmd.Process.Pid)
	}
}
