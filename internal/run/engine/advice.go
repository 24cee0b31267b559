package engine

import (
	"sync"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// maxAdvised is how many tool uses of one turn of the agent are answered with advice
// at most. An agent that goes on regardless is not helped by more.
const maxAdvised = 3

// advised keeps account of the advice that was told. The zero value has told none.
type advised struct {
	mu   sync.Mutex
	told map[told]bool
	turn map[string]int // how many in the present turn, by session
}

// told is what is advised once: a cause, for each agent and program of a session.
type told struct{ session, agent, cause, program string }

// Advise implements permission.Adviser.
func (a *advised) Advise(use permission.ToolUse, advice []permission.Advice) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.turn[use.Session] >= maxAdvised {
		return false
	}
	for _, one := range advice {
		if a.told[told{use.Session, use.Agent, one.Cause, one.Program}] {
			return false
		}
	}
	if a.told == nil {
		a.told, a.turn = map[told]bool{}, map[string]int{}
	}
	for _, one := range advice {
		a.told[told{use.Session, use.Agent, one.Cause, one.Program}] = true
	}
	a.turn[use.Session]++
	return true
}

// begin begins a turn of the agent, in all sessions.
func (a *advised) begin() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.turn)
}
