package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"reflect"
	"sync"
	"time"
)

// streams are the streams of a program. Those that are not files use pipes of
// ours in place of those of os/exec, whose Wait would wait for every process that
// holds them open.
type streams struct {
	theirs []*os.File // the program's ends, closed here once it has been started
	in     *os.File   // our end of its input, nil if we do not write it
	source io.Reader
	outs   []*out

	mu    sync.Mutex
	ended bool
}

// out is an output that we copy.
type out struct {
	from *os.File
	to   io.Writer
	err  error
	done chan struct{} // closed when everything is copied
}

// connect sets up the streams of a program.
func (s *streams) connect(c *Command, cmd *exec.Cmd) error {
	var err error
	if cmd.Stdin, err = s.input(c.Stdin); err != nil {
		return err
	}
	if cmd.Stdout, err = s.output(c.Stdout); err != nil {
		return err
	}
	if same(c.Stdout, c.Stderr) {
		cmd.Stderr = cmd.Stdout // the writer need not be safe for concurrent use
		return nil
	}
	cmd.Stderr, err = s.output(c.Stderr)
	return err
}

func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && reflect.TypeOf(b).Comparable() && a == b
}

func (s *streams) input(from io.Reader) (io.Reader, error) {
	file, ok := from.(*os.File)
	if from == nil || ok && file != nil {
		return from, nil
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs, s.in, s.source = append(s.theirs, theirs), ours, from
	return theirs, nil
}

func (s *streams) output(to io.Writer) (io.Writer, error) {
	file, ok := to.(*os.File)
	if to == nil || ok && file != nil {
		return to, nil
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.theirs = append(s.theirs, theirs)
	s.outs = append(s.outs, &out{from: ours, to: to, done: make(chan struct{})})
	return theirs, nil
}

// abandon closes the streams of a program that was not started.
func (s *streams) abandon() {
	for _, f := range s.theirs {
		f.Close()
	}
	if s.in != nil {
		s.in.Close()
	}
	for _, o := range s.outs {
		o.from.Close()
	}
}

// begin starts to copy, now that the program has its ends.
func (s *streams) begin() {
	for _, f := range s.theirs {
		f.Close()
	}
	if s.in != nil {
		go func() {
			_, _ = io.Copy(s.in, s.source) // a program need not read all of its input
			s.in.Close()
		}()
	}
	for _, o := range s.outs {
		go s.pass(o)
	}
}

// Once the program has ended, an output that a process outside its group holds
// open is copied until it is silent for afterEnd, or until as much is copied as a
// pipe can hold.
const (
	afterEnd = 500 * time.Millisecond
	maxPipe  = 1 << 20
)

// pass copies an output to its end.
func (s *streams) pass(o *out) {
	defer close(o.done)
	defer o.from.Close()
	buf := make([]byte, 32<<10)
	for left := maxPipe; left > 0; {
		ended := s.over(o)
		n, err := o.from.Read(buf)
		if n > 0 {
			if _, o.err = o.to.Write(buf[:n]); o.err != nil {
				return
			}
		}
		if err != nil {
			return // the end, or silence
		}
		if ended {
			left -= n
		}
	}
}

// over reports whether the program has ended, after which a read does not wait
// long.
func (s *streams) over(o *out) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		o.from.SetReadDeadline(time.Now().Add(afterEnd))
	}
	return s.ended
}

// finish waits until everything that the program wrote is copied.
func (s *streams) finish() error {
	s.mu.Lock()
	s.ended = true
	for _, o := range s.outs {
		o.from.SetReadDeadline(time.Now().Add(afterEnd))
	}
	s.mu.Unlock()
	if s.in != nil {
		s.in.Close()
	}
	var errs []error
	for _, o := range s.outs {
		<-o.done
		if o.err != nil {
			errs = append(errs, fmt.Errorf("pass on the output: %w", o.err))
		}
	}
	return errors.Join(errs...)
}
