package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
)

// keyboard reads lines from a person. A line that ends while none is expected
// is dropped, so that what was typed before a question was seen does not
// answer it.
type keyboard struct {
	mu       sync.Mutex
	expected chan string // takes the next line; nil: none is expected
	gone     chan struct{}
}

// newKeyboard reads from in until it ends.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{gone: make(chan struct{})}
	go k.read(bufio.NewReader(in))
	return k
}

// errGone says that the person's terminal is closed.
var errGone = errors.New("there is nobody to ask: the terminal is closed")

// expect begins to wait for a line: the next that ends is the one.
func (k *keyboard) expect(string) <-chan string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.expected = make(chan string, 1)
	return k.expected
}

// line waits for the line that was expected.
func (k *keyboard) line(ctx context.Context, expected <-chan string) (string, error) {
	select {
	case text := <-expected:
		return text, nil
	case <-ctx.Done():
		k.give("")
		return "", ctx.Err()
	case <-k.gone:
	}
	select {
	case text := <-expected: // the last before the end
		return text, nil
	default:
		return "", errGone
	}
}

// give hands a line to whoever expects one.
func (k *keyboard) give(text string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.expected != nil {
		k.expected <- text
		k.expected = nil
	}
}

// read ends with the input. An unfinished line is no answer.
func (k *keyboard) read(in *bufio.Reader) {
	defer close(k.gone)
	for {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		k.give(strings.TrimSpace(text))
	}
}
