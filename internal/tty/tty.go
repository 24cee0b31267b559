package tty

import (
	"errors"
	"io"
	"os"

	"golang.org/x/term"
)

// Notice is news of the terminal that is no key.
type Notice uint8

// The notices.
const (
	Resized Notice = iota + 1
	Resumed        // the program was stopped and goes on
)

// Terminal is the terminal that questions are put on. It is used by one
// goroutine at a time.
type Terminal struct {
	in, out *os.File

	was     *term.State // how it was before Open; nil: it is not open
	chunks  chan []byte
	notices chan Notice
	reader  reader
	signals signals
}

// New returns the terminal of which in is read and out written.
func New(in, out *os.File) *Terminal { return &Terminal{in: in, out: out} }

// ErrGone says that the terminal is closed.
var ErrGone = errors.New("there is nobody to ask: the terminal is closed")

// Switches of the terminal: pasted text comes with marks around it.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Open takes the terminal for a question: keys come one by one and unseen, and
// what was typed before is dropped. Close must follow.
func (t *Terminal) Open() error {
	if t.was != nil {
		return errors.New("the terminal is in use")
	}
	was, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return ErrGone
	}
	t.was = was
	if !dumb() {
		io.WriteString(t.out, pasteOn)
	}
	flush(t.in)
	t.chunks, t.notices = make(chan []byte), make(chan Notice, 8)
	t.signals.begin(t)
	if err := t.reader.begin(t.in, t.chunks); err != nil {
		t.Close()
		return err
	}
	return nil
}

// Close gives the terminal back as it was. It may be called more than once.
func (t *Terminal) Close() {
	if t.was == nil {
		return
	}
	t.reader.end()
	t.signals.end()
	t.restore()
	t.was = nil
}

// restore makes the terminal what it was before Open.
func (t *Terminal) restore() {
	if !dumb() {
		io.WriteString(t.out, pasteOff)
	}
	flush(t.in)
	_ = term.Restore(int(t.in.Fd()), t.was) // there is nothing left to do if it is gone
}

// Keys are the bytes that come from the keyboard, as many as come at once; the
// channel is closed when the terminal is gone.
func (t *Terminal) Keys() <-chan []byte { return t.chunks }

// Notices are told while the terminal is open.
func (t *Terminal) Notices() <-chan Notice { return t.notices }

// Size is how many columns and lines it has, 80 and 24 if that is not known.
func (t *Terminal) Size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns < 1 || lines < 1 {
		return 80, 24
	}
	return columns, lines
}

// Dumb reports whether the terminal only writes one line after the other.
func (t *Terminal) Dumb() bool { return dumb() }

func dumb() bool { return os.Getenv("TERM") == "dumb" }

// Write writes text; a line feed goes to the beginning of the next line.
func (t *Terminal) Write(p []byte) (int, error) { return t.out.Write(p) }
