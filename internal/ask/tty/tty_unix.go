//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package tty

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// CanLend: the terminal can be handed to another program and taken back.
const CanLend = true

// reader reads a terminal until it is ended, and not a byte more.
type reader struct {
	wake *os.File      // closing it ends reading
	quit chan struct{} // closed before wake
	done chan struct{} // closed when reading has ended
}

func (r *reader) begin(in *os.File, chunks chan<- []byte) error {
	end, wake, err := os.Pipe()
	if err != nil {
		return err
	}
	quit, done := make(chan struct{}), make(chan struct{})
	r.wake, r.quit, r.done = wake, quit, done
	go func() {
		defer close(done)
		defer end.Close()
		pump(int(in.Fd()), int(end.Fd()), chunks, quit)
	}()
	return nil
}

// end ends reading and waits for it.
func (r *reader) end() {
	if r.wake == nil {
		return
	}
	close(r.quit)
	r.wake.Close()
	<-r.done
	r.wake = nil
}

// pump forwards input from in until wake becomes readable.
func pump(in, wake int, chunks chan<- []byte, quit <-chan struct{}) {
	buf := make([]byte, 4096)
	for ready(in, wake) {
		n, err := unix.Read(in, buf)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
			continue
		}
		if err != nil || n <= 0 {
			close(chunks)
			return
		}
		select {
		case chunks <- append([]byte(nil), buf[:n]...):
		case <-quit:
			return
		}
	}
}

// ready waits until in is readable; it returns false if wake is.
func ready(in, wake int) bool {
	for {
		var set unix.FdSet
		set.Set(in)
		set.Set(wake)
		_, err := unix.Select(max(in, wake)+1, &set, nil, nil, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return true // read reports the error
		case set.IsSet(wake):
			return false
		case set.IsSet(in):
			return true
		}
	}
}

// signals are those that affect the terminal. Signals that end the program are
// not among them: the program closes the terminal itself.
type signals struct {
	news chan os.Signal
	done chan struct{}
}

// watched does not include SIGTSTP: once it is watched, the runtime no longer
// lets it stop the program.
var watched = []os.Signal{syscall.SIGWINCH, syscall.SIGCONT}

func (s *signals) begin(t *Terminal) {
	news, done := make(chan os.Signal, 8), make(chan struct{})
	s.news, s.done = news, done
	signal.Notify(news, watched...)
	go func() {
		defer close(done)
		for sig := range news {
			t.signalled(sig)
		}
	}()
}

func (s *signals) end() {
	if s.news == nil {
		return
	}
	signal.Stop(s.news)
	close(s.news)
	<-s.done
	s.news = nil
}

// signalled handles one signal.
func (t *Terminal) signalled(sig os.Signal) {
	switch sig {
	case syscall.SIGWINCH:
		t.tell(Resized)
	case syscall.SIGCONT:
		t.tell(Resumed)
	}
}

// tell sends a notice; if the buffer is full, another one would say nothing
// new.
func (t *Terminal) tell(n Notice) {
	select {
	case t.notices <- n:
	default:
	}
}

// Retake makes an open terminal raw again after another program, such as a
// shell, has changed it.
func (t *Terminal) Retake() {
	if t.was == nil {
		return
	}
	_, _ = term.MakeRaw(int(t.in.Fd())) // if the terminal is gone, reading reports it
	flush(t.in)
}

// stopTime is how long to wait for the stop to take effect: without a shell
// that could continue it, the system does not stop the process group.
const stopTime = 200 * time.Millisecond

// Stop restores the terminal, stops the process group as ^Z does, and takes the
// terminal again when the process continues.
func (t *Terminal) Stop() error {
	t.Close()
	goesOn := make(chan os.Signal, 1)
	signal.Notify(goesOn, syscall.SIGCONT)
	defer signal.Stop(goesOn)
	_ = unix.Kill(0, unix.SIGTSTP) // its own group, so it cannot fail
	select {
	case <-goesOn:
	case <-time.After(stopTime):
	}
	return t.Open()
}
