// Package recording reads and writes recordings of terminals in the format asciicast v3
// of asciinema (https://docs.asciinema.org/manual/asciicast/v3/): lines of JSON, first an
// object that describes the terminal, then an array [interval, code, data] for each event.
// An interval is that to the event before, in seconds. Lines that begin with # are
// comments.
//
// Data is text: of a terminal's output what is valid UTF-8, and U+FFFD for each byte that
// is not, as who watches a terminal over a WebSocket gets it. A character that comes in
// two pieces has to be put together by who writes the event.
package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"
)

// Header describes a recording.
type Header struct {
	Version   int      `json:"version"` // 3
	Term      Term     `json:"term"`
	Timestamp int64    `json:"timestamp,omitempty"` // of the beginning, Unix time in seconds
	Title     string   `json:"title,omitempty"`
	Tags      []string `json:"tags,omitempty"`
	// Of other programs:
	Command   string            `json:"command,omitempty"`
	IdleLimit float64           `json:"idle_time_limit,omitempty"` // in seconds
	Env       map[string]string `json:"env,omitempty"`
}

// Term is a terminal: its size in characters, and its type, as in TERM.
type Term struct {
	Columns int    `json:"cols"`
	Rows    int    `json:"rows"`
	Type    string `json:"type,omitempty"`
	// Of other programs:
	Version string          `json:"version,omitempty"`
	Theme   json.RawMessage `json:"theme,omitempty"`
}

// Code says what an event is.
type Code string

// The codes of events, with what Data is.
const (
	Output Code = "o" // what the terminal showed
	Input  Code = "i" // what was typed
	Marker Code = "m" // a label, in words
	Resize Code = "r" // the new size, "100x40"
	Exit   Code = "x" // the exit code, "0"
)

// Event is an event of a recording. At is the time since its beginning, in microseconds.
type Event struct {
	At   time.Duration
	Code Code
	Data string
}

// Size returns the data of an event Resize.
func Size(columns, rows int) string { return strconv.Itoa(columns) + "x" + strconv.Itoa(rows) }

// Writer writes a recording.
type Writer struct {
	w    io.Writer
	buf  bytes.Buffer
	last time.Duration
}

// NewWriter writes the header, with its Version, and returns a writer of the events.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = version
	if err := h.check(); err != nil {
		return nil, err
	}
	out := &Writer{w: w}
	if err := out.encode(h); err != nil {
		return nil, err
	}
	return out, out.flush()
}

// Write writes an event, in one call of the underlying writer. One that is earlier than
// the last is at its time.
func (w *Writer) Write(e Event) error {
	if err := e.check(); err != nil {
		return err
	}
	at := max(e.At.Truncate(time.Microsecond), w.last)
	fmt.Fprintf(&w.buf, "[%.6f,%q,", (at - w.last).Seconds(), e.Code)
	w.last = at
	if err := w.encode(e.Data); err != nil {
		return err
	}
	w.buf.Truncate(w.buf.Len() - 1)
	w.buf.WriteString("]\n")
	return w.flush()
}

// encode adds the JSON of a value and a line feed. Invalid UTF-8 is replaced.
func (w *Writer) encode(v any) error {
	e := json.NewEncoder(&w.buf)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

func (w *Writer) flush() error {
	defer w.buf.Reset()
	_, err := w.w.Write(w.buf.Bytes())
	return err
}
