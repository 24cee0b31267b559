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
	s.held = true
}

// Ask writes text of the open question.
func (s *Screen) Ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write([]byte(text))
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
