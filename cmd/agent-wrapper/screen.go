package main

import (
	"bytes"
	"io"
	"sync"
)

// screen is what the event stream and the questions to the person share.
// While a question is open, what else is written waits until it is answered.
type screen struct {
	mu      sync.Mutex
	out     io.Writer
	held    bool
	waiting bytes.Buffer
}

// Write writes p, or keeps it until the question is answered.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return s.waiting.Write(p)
	}
	return s.out.Write(p)
}

// hold begins a question. Until release, only ask writes.
func (s *screen) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
}

// ask writes text of the open question.
func (s *screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	io.WriteString(s.out, text)
}

// release ends a question and writes what waited.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.waiting.WriteTo(s.out)
}
