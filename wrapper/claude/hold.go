package claude

import (
	"encoding/json"
	"os"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A tool use is decided while its PreToolUse hook waits. A denial is given there: it
// stands against whatever else may allow the tool use. An allow is not: another hook
// could change the input, and the changed one would run unseen. It is held until the
// CLI asks with can_use_tool about the input as it will run. Another input, or the same
// in another directory, is decided anew.

// holding is an allow that the CLI has not been told.
type holding struct {
	use    permission.ToolUse
	at     os.FileInfo // the directory of the use, before it was decided
	answer answer
	moves  bool // it may change the directory of the main agent's shell
}

// held takes the answer to a call of the hook.
func (r *run) held(q *question, a *answer) error {
	e := r.uses.get(q.use.ID)
	e.deciding = false
	if a.allowed && !q.withdrawn && !q.over && r.deciding.Err() == nil {
		r.uses.hold(e, &holding{q.use, q.at, *a, e.moves})
		return r.writer.send(answering(a.id, hookAsks()))
	}
	if a.allowed {
		a.deny()
		a.result.Message = "the question is over"
	}
	r.tell(q.use, a)
	e.refuse()
	if q.withdrawn {
		return nil
	}
	err := r.writer.send(answering(a.id, hookDenies(a.message())))
	if a.result.Interrupt {
		r.out.Stopped = a.message()
		r.writer.send(controlling("end-"+a.id, subtype{"interrupt"})) // a hook's denial does not end the turn
	}
	return err
}

// given returns what is held for a question, nil if there is nothing. It is given once.
func (r *run) given(q *question) *holding {
	e := r.uses.get(q.use.ID)
	if q.hook || e.held == nil {
		return nil
	}
	h := r.uses.release(e)
	if r.o.paused() || !sameUse(&h.use, &q.use) {
		return nil
	}
	return h
}

// hold keeps an answer until the CLI asks.
func (u *uses) hold(e *entry, h *holding) {
	e.held = h
	if e.relies() {
		u.counting++
	}
}

// release returns the answer that is held for a tool use, nil if none is, and holds it
// no longer.
func (u *uses) release(e *entry) *holding {
	if e.relies() {
		u.counting--
	}
	h := e.held
	e.held = nil
	return h
}

// relies reports whether an answer is held that relies on the directory of the main
// agent's shell. One for a command that may itself change it does not count: two of
// them would wait for each other.
func (e *entry) relies() bool {
	return e.held != nil && !e.held.moves && e.held.use.Agent == "" && e.held.use.Dir != ""
}

// settled returns an answer that the CLI will not ask for any more, and drops it.
func (r *run) settled(e *entry) *holding {
	if e.held == nil {
		return nil
	}
	h := r.uses.release(e)
	r.startKept()
	return h
}

// undone reports that what was allowed did not run. The decision is recorded; that it
// came to nothing is its outcome.
func (r *run) undone(h *holding, e *entry, why error) {
	a := h.answer
	a.deny()
	a.result.Reason = why.Error()
	r.tell(h.use, &a)
	r.tellOutcome(h.use.ID, e, &block{Error: true}, "")
}

// sameUse reports whether two tool uses are the same in everything that is decided.
func sameUse(a, b *permission.ToolUse) bool {
	first, err := canonical(a.Input)
	second, errSecond := canonical(b.Input)
	return err == nil && errSecond == nil && first == second && a.ID == b.ID && a.Tool == b.Tool && a.Agent == b.Agent &&
		a.Dir == b.Dir && a.Session == b.Session && a.Dialect == b.Dialect
}

// canonical returns a JSON object with its keys sorted and without blanks.
func canonical(input json.RawMessage) (string, error) {
	members, err := strictjson.Object(input, strictjson.MaxSize(maxLine))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(members)
	return string(text), err
}
