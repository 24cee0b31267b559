package terminal

import (
	"context"
	"io"
	"sync"
)

const (
	// kept is how many bytes of output a session keeps for those who look later.
	kept = 1 << 20
	// firstRing is what it keeps room for at first.
	firstRing = 4 << 10
	// viewed is the most that a viewer gets at once.
	viewed = 64 << 10
)

// stream is the output of a session. Positions count its bytes from the beginning
// of the session at this server. Whoever writes waits for no viewer.
type stream struct {
	mu    sync.Mutex
	ring  []byte
	begin int64         // of the oldest byte that is kept
	end   int64         // behind the newest
	over  bool          // nothing will follow
	shown func([]byte)  // is called with what is appended, in order; nil for nobody
	more  chan struct{} // closed at the next change; nil if nobody waits
}

// Write appends output.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(p)
	if s.shown != nil {
		s.shown(p)
	}
	s.grow(n)
	size := int64(len(s.ring))
	if over := int64(n) - size; over > 0 {
		p, s.end = p[over:], s.end+over
	}
	for len(p) > 0 {
		done := copy(s.ring[s.end%size:], p)
		p, s.end = p[done:], s.end+int64(done)
	}
	s.begin = max(s.begin, s.end-size)
	s.changed()
	return n, nil
}

// grow makes room for n more bytes as long as the ring has not its full size: until
// then it begins at position 0.
func (s *stream) grow(n int) {
	need := s.end + int64(n)
	if len(s.ring) == kept || need <= int64(len(s.ring)) {
		return
	}
	size := int64(max(firstRing, len(s.ring)))
	for size < need && size < kept {
		size *= 2
	}
	ring := make([]byte, min(size, kept))
	copy(ring, s.ring[:min(s.end, int64(len(s.ring)))])
	s.ring = ring
}

func (s *stream) changed() {
	if s.more != nil {
		close(s.more)
		s.more = nil
	}
}

// close ends the stream for those who have read it to its end.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.changed()
}

// read copies what is at a position into p, or returns a channel that is closed when
// there may be more. at is the position of the first byte: that of the oldest one if
// from is no longer or not yet there.
func (s *stream) read(p []byte, from int64) (at int64, n int, wait <-chan struct{}, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from < s.begin || from > s.end {
		from = s.begin
	}
	if from == s.end {
		if s.over {
			return from, 0, nil, true
		}
		if s.more == nil {
			s.more = make(chan struct{})
		}
		return from, 0, s.more, false
	}
	size := int64(len(s.ring))
	n = int(min(s.end-from, size-from%size, int64(len(p))))
	return from, copy(p, s.ring[from%size:][:n]), nil, false
}

// View is a viewer of the output of a session.
type View struct {
	stream *stream
	next   int64
	buf    []byte
}

// Output is a piece of the output of a session.
type Output struct {
	// At is the position of the first byte of Data. A view that goes on behind Data
	// begins at At plus its length.
	At   int64
	Data []byte // valid until the next call
	// Lost is how many bytes before At were not kept long enough for this viewer.
	Lost int64
}

// Next returns the next output, and waits for it. The error is io.EOF when the
// session was closed and all has been seen, or that of ctx.
func (v *View) Next(ctx context.Context) (Output, error) {
	for {
		at, n, wait, over := v.stream.read(v.buf, v.next)
		switch {
		case over:
			return Output{}, io.EOF
		case wait != nil:
			select {
			case <-wait:
				continue
			case <-ctx.Done():
				return Output{}, ctx.Err()
			}
		}
		out := Output{At: at, Data: v.buf[:n], Lost: max(0, at-v.next)}
		v.next = at + int64(n)
		return out, nil
	}
}

// view returns a viewer that begins at a position.
func (s *stream) view(from int64) *View {
	return &View{stream: s, next: max(0, from), buf: make([]byte, viewed)}
}
