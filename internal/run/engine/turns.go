package engine

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A host of hooks starts a process for each tool use. What belongs to the session, its
// answers, counts, pause and advice, is in the directory of the session, which is locked
// for as long as a process decides, and not while a person is asked.

// advisedOnce is what was advised, for the file.
type advisedOnce struct {
	Agent   string `json:"agent,omitempty"`
	Cause   string `json:"cause"`
	Program string `json:"program,omitempty"`
}

// Enter has the engine go on with a session in which other processes decide as well. It
// waits until none of them does, or until ctx ends; Exit lets the next one in. What
// cannot be read is an error: it may be a denial.
func (e *Engine) Enter(ctx context.Context, session string) error {
	err := e.resume(session, patient(ctx, func() {}), nil)
	if err != nil {
		return err
	}
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	if e.store.dir == "" {
		return notKept(errors.New("there is no directory for it"))
	}
	now := &e.store.now
	counts := permission.Counts{}
	if now.Counts != nil {
		counts = *now.Counts
	}
	e.Session.SetCounts(counts)
	e.advised.set(session, now.Advised, now.Turn)
	return nil
}

// Exit writes what has changed in the session, and lets another process go on with it.
func (e *Engine) Exit() error {
	err := e.keepTurn()
	e.Leave()
	return err
}

// keepTurn writes the counts and the advice, if they have changed.
func (e *Engine) keepTurn() error {
	e.store.mu.Lock()
	defer e.store.mu.Unlock()
	now := &e.store.now
	counts := e.Session.Counts()
	told, turn := e.advised.of(now.Session)
	before := permission.Counts{}
	if now.Counts != nil {
		before = *now.Counts
	}
	if reflect.DeepEqual(counts, before) && slices.Equal(told, now.Advised) && turn == now.Turn {
		return nil
	}
	now.Counts, now.Advised, now.Turn = &counts, told, turn
	if why, err := e.store.write(); why != nil {
		return errors.Join(notKept(why), err)
	}
	return nil
}

// BeginTurn begins a turn of the agent, in a session that was entered.
func (e *Engine) BeginTurn() { e.advised.begin() }

// set replaces what was advised in a session.
func (a *advised) set(session string, all []advisedOnce, turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told, a.turn = map[told]bool{}, map[string]int{session: turn}
	for _, one := range all {
		a.told[told{session, one.Agent, one.Cause, one.Program}] = true
	}
}

// of returns what was advised in a session.
func (a *advised) of(session string) (all []advisedOnce, turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for one := range a.told {
		if one.session == session {
			all = append(all, advisedOnce{one.agent, one.cause, one.program})
		}
	}
	slices.SortFunc(all, func(x, y advisedOnce) int {
		return cmp.Or(cmp.Compare(x.Agent, y.Agent), cmp.Compare(x.Cause, y.Cause), cmp.Compare(x.Program, y.Program))
	})
	return all, a.turn[session]
}
