package tty

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// Notice is an event of the terminal other than a key.
type Notice uint8

// The notices.
const (
	Resized Notice = iota + 1
	Resumed        // the process was stopped and continues
)

// Terminal is the terminal on which questions are asked. It must be used by one
// goroutine at a time.
type Terminal struct {
	in, out *os.File

	was     *term.State // state before Open; nil if not open
	chunks  chan []byte
	notices chan Notice
	reader  reader
	signals signals
}

// New returns the terminal that reads from in and writes to out.
func New(in, out *os.File) *Terminal { return &Terminal{in: in, out: out} }

// ErrGone is the error of a terminal that was closed.
var ErrGone = errors.New("there is nobody to ask: the terminal is closed")

// Control sequences that switch the marks around pasted text on and off.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// Open prepares the terminal for a question: keys arrive one by one without
// echo, and earlier input is discarded. Close must follow.
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

// Close restores the terminal. It may be called more than once.
func (t *Terminal) Close() {
	if t.was == nil {
		return
	}
	t.reader.end()
	t.signals.end()
	t.restore()
	t.was = nil
}

// restore restores the state before Open.
func (t *Terminal) restore() {
	if !dumb() {
		io.WriteString(t.out, pasteOff)
	}
	flush(t.in)
	_ = term.Restore(int(t.in.Fd()), t.was) // if the terminal is gone, nothing is left to do
}

// Keys returns the channel of bytes from the keyboard, in chunks as they
// arrive. It is closed when the terminal is gone.
func (t *Terminal) Keys() <-chan []byte { return t.chunks }

// Notices returns the channel of notices, which are sent while the terminal is
// open.
func (t *Terminal) Notices() <-chan Notice { return t.notices }

// Size returns the number of columns and lines, 80 and 24 if it is unknown.
func (t *Terminal) Size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(t.out.Fd()))
	if err != nil || columns < 1 || lines < 1 {
		return 80, 24
	}
	return columns, lines
}

// Dumb reports whether the terminal cannot move the cursor.
func (t *Terminal) Dumb() bool { return dumb() }

// ASCII reports whether only the characters of ASCII can be relied on: the terminal is
// dumb, or the locale is not one of UTF-8.
func (t *Terminal) ASCII() bool { return dumb() || !utf8Locale(os.Getenv, runtime.GOOS) }

// utf8Locale reports whether the locale that counts for characters is one of UTF-8. See
// setlocale(3): the first of the variables that is set and not empty counts, and without
// one it is C. A terminal of Windows has no locale.
func utf8Locale(getenv func(string) string, system string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return system == "windows"
}

func dumb() bool { return os.Getenv("TERM") == "dumb" }

// Write writes text; a line feed moves to the beginning of the next line.
func (t *Terminal) Write(p []byte) (int, error) { return t.out.Write(p) }
