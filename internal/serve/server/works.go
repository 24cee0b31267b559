package server

import "sync"

// works are the decisions under way. Close waits for them.
type works struct {
	mu     sync.Mutex
	closed bool
	queue  []func()
	busy   int // goroutines that take from the queue
	all    sync.WaitGroup
}

// maxBusy is how many tool uses that have waited are gone on with at once: answers may
// come to thousands of them together.
const maxBusy = 16

// do calls a function, and reports whether it did: not after close.
func (w *works) do(f func()) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	w.all.Add(1)
	w.mu.Unlock()
	defer w.all.Done()
	f()
	return true
}

// later has a function called soon, by another goroutine. After close it is dropped.
func (w *works) later(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.queue = append(w.queue, f)
	if w.busy < maxBusy {
		w.busy++
		w.all.Go(w.work)
	}
}

// work calls the functions of the queue until there is none.
func (w *works) work() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.busy--
			w.mu.Unlock()
			return
		}
		f := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.mu.Unlock()
		f()
	}
}

// close waits for what is under way, and has nothing else begin.
func (w *works) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.all.Wait()
}
