package ask

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Screen is an output that events and questions share. While a question is open,
// everything else that is written waits until it is answered. It is safe for
// concurrent use.
type Screen struct {
	mu      sync.Mutex
	out     io.Writer
	held    bool
	waiting bytes.Buffer
	within  bool        // the last line that was written has no end
	status  bool        // below it is that of Status
	err     error       // the first write error
	lost    func(error) // is called with it; may be nil
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
	if len(p) > 0 {
		s.within = p[len(p)-1] != '\n'
	}
	return s.put(p)
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
	}
}
