package server

import (
	"maps"
	"slices"
	"sync"
)

// audience is who watches the terminals, and who wants to hear of their changes. A
// stream that is slow misses changes, not the last one: it looks when it can.
type audience struct {
	mu sync.Mutex
	of map[string]*watching // by session
}

// watching is the audience of one session.
type watching struct {
	streams int
	people  map[string]int // how many streams each has
	changed chan struct{}  // closed at the next change
}

// enter adds a stream to those of a session until leave is called. Person is whose it
// is, "" for an agent's.
func (a *audience) enter(session, person string) (leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]*watching{}
	}
	w := a.of[session]
	if w == nil {
		w = &watching{people: map[string]int{}, changed: make(chan struct{})}
		a.of[session] = w
	}
	w.count(person, 1)
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if w.count(person, -1); w.streams == 0 {
			delete(a.of, session)
		}
	}
}

// count adds n streams of a person.
func (w *watching) count(person string, n int) {
	w.streams += n
	if person == "" {
		return
	}
	if w.people[person] += n; w.people[person] == 0 {
		delete(w.people, person)
	}
	w.touch()
}

// touch has those who watch look again.
func (w *watching) touch() {
	close(w.changed)
	w.changed = make(chan struct{})
}

// touch says that a session has changed.
func (a *audience) touch(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w := a.of[session]; w != nil {
		w.touch()
	}
}

// look returns the people who watch a session, in order, and a channel that is closed
// when that or the session changes. The caller has entered.
func (a *audience) look(session string) (people []string, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.of[session]
	return slices.Sorted(maps.Keys(w.people)), w.changed
}
