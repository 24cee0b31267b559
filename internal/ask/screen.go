package ask

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Screen is an output that events, questions and what a person types share. While a
// question is open, everything else that is written waits until it is answered. It is
// safe for concurrent use.
type Screen struct {
	mu      sync.Mutex
	out     io.Writer
	held    bool
	waiting bytes.Buffer
	within  bool        // the last line that was written has no end
	status  bool        // below it is that of Status
	err     error       // the first write error
	lost    func(error) // is called with it; may be nil
	raw     bool        // a line feed does not return to the beginning of the row
	foot    Foot
	tail    []string
	drawn   int // the row of the cursor below what was written, plus one; 0: nothing is there
}

// Foot is what stands below everything that is written: rows shorter than the terminal
// is wide, and where the cursor stands in them. A terminal that does not obey control
// sequences has one row, at whose end the cursor stands.
type Foot struct {
	Rows        []string
	Row, Column int
	Dumb        bool
}

// Raw has a line feed return to the beginning of the row, as it has to on a terminal from
// which keys are read one by one.
func (s *Screen) Raw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raw = true
}

// Foot shows rows below all that was written, and below what will be, in place of those
// before; none removes them. While a question is open they are not shown. In place of
// Status, a screen has one or the other.
func (s *Screen) Foot(f Foot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.drawn > 0 && s.foot.Dumb && f.Dumb && len(f.Rows) == 1 {
		if more, ok := strings.CutPrefix(f.Rows[0], s.foot.Rows[0]); ok {
			s.foot = f
			s.put([]byte(more))
			return
		}
		if less, ok := strings.CutPrefix(s.foot.Rows[0], f.Rows[0]); ok {
			s.foot = f
			s.put(bytes.Repeat([]byte("\b \b"), utf8.RuneCountInString(less)))
			return
		}
	}
	up := s.lift()
	s.foot = f
	s.put(append(up, s.lower()...))
}

// Tail shows rows of a text that is not complete yet, between what was written and the
// foot, in place of those before; none removes them. Without a foot that obeys control
// sequences they are not shown.
func (s *Screen) Tail(rows []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(rows) > 0 && (len(s.foot.Rows) == 0 || s.foot.Dumb) {
		return
	}
	up := s.lift()
	s.tail = rows
	s.put(append(up, s.lower()...))
}

// lift returns what takes the foot off the screen.
func (s *Screen) lift() []byte {
	up := s.drawn - 1
	s.drawn = 0
	switch {
	case up < 0:
		return nil
	case s.foot.Dumb:
		return []byte("\r\n")
	case up > 0:
		return fmt.Appendf(nil, "\x1b[%dA\r\x1b[J", up)
	}
	return []byte("\r\x1b[J")
}

// lower returns what puts the foot on the screen.
func (s *Screen) lower() []byte {
	f := &s.foot
	if len(f.Rows) == 0 || s.held {
		return nil
	}
	text := strings.Join(append(slices.Clip(s.tail), f.Rows...), "\r\n")
	if !f.Dumb {
		if up := len(f.Rows) - 1 - f.Row; up > 0 {
			text += fmt.Sprintf("\x1b[%dA", up)
		}
		text += "\r"
		if f.Column > 0 {
			text += fmt.Sprintf("\x1b[%dC", f.Column)
		}
	}
	s.drawn = len(s.tail) + f.Row + 1
	return []byte(text)
}

// NewScreen returns a screen that writes to out. It calls lost, which may be nil,
// with the first write error.
func NewScreen(out io.Writer, lost func(error)) *Screen { return &Screen{out: out, lost: lost} }

// Out returns the output of the screen.
func (s *Screen) Out() io.Writer { return s.out }

// Write writes p, or delays it until the open question is answered.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return s.waiting.Write(p)
	}
	return s.write(p)
}

func (s *Screen) write(p []byte) (int, error) {
	s.erase()
	if len(p) == 0 {
		return 0, nil
	}
	s.within = p[len(p)-1] != '\n'
	if !s.raw {
		return s.put(p)
	}
	up := s.lift()
	text := bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	if _, err := s.put(slices.Concat(up, text, s.lower())); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Status shows a line below all that was written, in place of the one before, until
// something else is written or a question opens; "" removes it. The line must be
// shorter than the terminal is wide, and the terminal obey control sequences. While a
// question is open, or a line is not complete, nothing is shown.
func (s *Screen) Status(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held || s.within {
		return
	}
	s.erase()
	if line != "" {
		s.put([]byte(line))
		s.status = true
	}
}

// erase removes the line of Status.
func (s *Screen) erase() {
	if s.status {
		s.put([]byte("\r\x1b[K"))
	}
	s.status = false
}

func (s *Screen) put(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	n, err := s.out.Write(p)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("standard output cannot be written, so the run was ended: %w", err)
		if s.lost != nil {
			s.lost(s.err)
		}
	}
	return n, err
}

// Failed returns the first write error.
func (s *Screen) Failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// hold begins a question. Until release, only Ask writes.
func (s *Screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	s.put(s.lift())
	s.held = true
}

// Ask writes text of the open question.
func (s *Screen) Ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write([]byte(text))
}

// ring writes text that takes no place on the screen.
func (s *Screen) ring(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put([]byte(text))
}

// release ends a question and writes what was delayed.
func (s *Screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	if s.waiting.Len() > 0 {
		s.write(s.waiting.Bytes())
		s.waiting.Reset()
		return
	}
	s.put(s.lower())
}
