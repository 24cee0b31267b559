package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// mute is an input from which nothing comes.
type mute struct {
	once sync.Once
	read chan struct{} // closed when it is read
	over <-chan struct{}
}

func (s *mute) Read([]byte) (int, error) {
	s.once.Do(func() { close(s.read) })
	<-s.over
	return 0, io.EOF
}

// What reads standard input ends with a signal, though nothing comes.
func TestInputEnds(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"check", "--jsonl"}, {"classify", "--jsonl"}, {"policy", "fmt", "-"}, {"run", "--prompt", "-"},
		{"approvals", "login", "--server", "http://127.0.0.1:1"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		in := &mute{read: make(chan struct{}), over: t.Context().Done()}
		go func() {
			<-in.read
			cancel(&signalled{syscall.SIGTERM})
		}()
		var out bytes.Buffer
		code := (&app{in: in, out: &out, err: &out}).run(ctx, args)
		if code != codeSignal+int(syscall.SIGTERM) || !strings.Contains(out.String(), "ended by SIGTERM") {
			t.Errorf("%q: exit code %d\n%s", args, code, out.String())
		}
	}
}

// What comes with the end of the context is not delivered, so that no answer counts.
func TestInputTakesNoAnswerWithTheEnd(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	in := (&app{in: strings.NewReader("y\n")}).input(ctx)
	cancel(&signalled{syscall.SIGINT})
	if n, err := in.Read(make([]byte, 8)); n != 0 || exitCode(err) != 130 {
		t.Errorf("%d bytes, %v", n, err)
	}
}
