package main

import (
	"context"
	"errors"
	"io"
)

// input returns standard input, of which a read ends with the context, if that comes first.
func (a *app) input(ctx context.Context) io.Reader { return &input{ctx: ctx, in: a.in} }

// input is what is typed, or comes through a pipe, until a context ends. What is read
// as it ends is not delivered, so that no answer counts that came with a signal.
type input struct {
	ctx context.Context
	in  io.Reader
	buf []byte
}

func (i *input) Read(p []byte) (int, error) {
	if len(i.buf) < len(p) {
		i.buf = make([]byte, len(p))
	}
	n, err, into := 0, error(nil), i.buf[:len(p)]
	if !until(i.ctx, func() { n, err = i.in.Read(into) }) {
		i.buf = nil // the read that was left has it
		return 0, cutShort(i.ctx)
	}
	return copy(p, into[:n]), err
}

// until runs a read, and reports whether that ended before the context. A read that did
// not is left behind, for nothing ends one of a terminal: the program is about to end.
func until(ctx context.Context, read func()) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		read()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// cutShort returns the error of what a context has ended.
func cutShort(ctx context.Context) error {
	cause := context.Cause(ctx)
	var by *signalled
	if !errors.As(cause, &by) {
		return cause
	}
	return ending(reasonInterrupted, codeSignal+int(by.Signal), errors.New("ended by "+by.Error()))
}
