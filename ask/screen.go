package ask

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// Screen is what the event stream and the questions to the person share.
// While a question is open, what else is written waits until it is answered.
type Screen struct {
	mu      sync.Mutex
	out     io.Writer
	held    bool
	waiting bytes.Buffer
	err     error       // the first write that failed
	lost    func(error) // is told of it at once, nil for nobody
}

// NewScreen returns a screen on out. lost is told of the first write that fails;
// nil: nobody is.
func NewScreen(out io.Writer, lost func(error)) *Screen { return &Screen{out: out, lost: lost} }

// Out is what the screen is shown on.
func (s *Screen) Out() io.Writer { return s.out }

// Write writes p, or keeps it until the question is answered.
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

// Failed is the first write that failed.
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

// release ends a question and writes what waited.
func (s *Screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	if s.waiting.Len() > 0 {
		s.write(s.waiting.Bytes())
		s.waiting.Reset()
	}
}
