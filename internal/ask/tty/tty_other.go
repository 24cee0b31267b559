//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package tty

import (
	"errors"
	"os"
	"sync"
)

// CanLend: a pending read cannot be cancelled on this system, so the terminal
// cannot be handed to another program.
const CanLend = false

// reader reads a terminal; input that arrives while it is closed is dropped.
type reader struct {
	mu     sync.Mutex
	chunks chan<- []byte
	begun  bool
}

func (r *reader) begin(in *os.File, chunks chan<- []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = chunks
	if !r.begun {
		r.begun = true
		go r.pump(in)
	}
	return nil
}

func (r *reader) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chunks = nil
}

func (r *reader) pump(in *os.File) {
	buf := make([]byte, 4096)
	for {
		n, err := in.Read(buf)
		r.mu.Lock()
		chunks := r.chunks
		if err != nil && chunks != nil {
			close(chunks)
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
		select {
		case chunks <- append([]byte(nil), buf[:n]...):
		default:
		}
	}
}

type signals struct{}

func (*signals) begin(*Terminal) {}
func (*signals) end()            {}

func flush(*os.File) {}

// Retake does nothing on this system.
func (t *Terminal) Retake() {}

// Stop is not supported on this system.
func (t *Terminal) Stop() error { return errors.New("this system cannot stop a program") }
