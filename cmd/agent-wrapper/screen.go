package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// screen is what the event stream and the questions to the person share.
// While a question is open, what else is written waits until it is answered.
type screen struct {
	mu      sync.Mutex
	out     io.Writer
	held    bool
	waiting bytes.Buffer
	err     error       // the first write that failed
	lost    func(error) // is told of it at once, nil for nobody
}

// screen returns the screen of a run on standard output, and a context that ends
// when it cannot be written: nobody sees any more what an agent does, so it does
// nothing more. A reader that has gone is such an error, and not the end of the
// program: the agent is ended first and the record closed.
func (a *app) screen(ctx context.Context) (context.Context, *screen) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, lost := context.WithCancelCause(ctx)
	return ctx, &screen{out: a.out, lost: lost}
}

// Write writes p, or keeps it until the question is answered.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return s.waiting.Write(p)
	}
	return s.write(p)
}

func (s *screen) write(p []byte) (int, error) {
	n, err := s.out.Write(p)
	if err != nil && s.err == nil {
		s.err = fmt.Errorf("standard output cannot be written, so the run was ended: %w", err)
		if s.lost != nil {
			s.lost(s.err)
		}
	}
	return n, err
}

// failed is the first write that failed.
func (s *screen) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
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
	s.write([]byte(text))
}

// release ends a question and writes what waited.
func (s *screen) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	if s.waiting.Len() > 0 {
		s.write(s.waiting.Bytes())
		s.waiting.Reset()
	}
}
