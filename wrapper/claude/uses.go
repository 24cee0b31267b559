package claude

import "encoding/json"

// uses knows every tool use that the agent spoke of and what was said to
// it. It belongs to the run's goroutine.
type uses struct {
	byID  map[string]*entry
	order []string // their ids as they came
	// moving are the approved tool uses without a result that may leave the
	// main agent's shell in another directory; moved counts them all.
	moving, moved int
}

// entry is one tool use.
type entry struct {
	tool  string
	input json.RawMessage // as far as known
	dir   string          // from the hook, "" unknown
	told  int             // the value of moved when the hook told it
	moves bool            // may leave the main agent's shell elsewhere
	agent string
	stand stand
	shown bool // announced by an event
}

// stand is how far a tool use has come.
type stand uint8

const (
	unasked  stand = iota
	hooked         // the hook was called
	pending        // the Decider is thinking
	approved       // allowed, and no result yet
	used           // allowed, and its one result has come
	refused        // denied by us, or withdrawn before an answer
)

// get returns the entry of an id, made at need.
func (u *uses) get(id string) *entry {
	if u.byID == nil {
		u.byID = map[string]*entry{}
	}
	e := u.byID[id]
	if e == nil {
		e = &entry{}
		u.byID[id] = e
		u.order = append(u.order, id)
	}
	return e
}

// refuse books a denial of ours that came before a question.
func (e *entry) refuse() {
	if e.stand <= hooked {
		e.stand = refused
	}
}

// decided books the answer to a question.
func (u *uses) decided(e *entry, allowed bool) {
	e.stand = refused
	if !allowed {
		return
	}
	e.stand = approved
	if e.moves {
		u.moving++
		u.moved++
	}
}

// unanswered returns the tool uses that the hook saw and that were never asked
// about.
func (u *uses) unanswered() []string {
	var ids []string
	for _, id := range u.order {
		if u.byID[id].stand == hooked {
			ids = append(ids, id)
		}
	}
	return ids
}

// outcome is what a tool result says of a tool use.
type outcome struct {
	id   string
	good bool        // the result is no error
	meta *resultMeta // nil: this CLI does not tell, or nothing was decided
}

// Verdicts of uses.settle.
const (
	inOrder     = iota
	foreignDeny // the CLI refused it by a rule of its own, without asking
	breached
)

// settle books a tool result. Each approval stands for one result. A tool
// that ran without one is a breach, and so is one whose approval came from
// elsewhere; why says so.
func (u *uses) settle(o outcome) (verdict int, why string) {
	e := u.get(o.id)
	before := e.stand
	if before == approved {
		e.stand = used
		if e.moves {
			u.moving--
		}
	}
	ran := o.good
	if o.meta != nil {
		switch o.meta.Decision.Decision {
		case "accept":
			ran = true
			if o.meta.foreign() {
				return breached, "was allowed by the agent CLI's own " + o.meta.Decision.Source + ", not by us"
			}
		case "reject":
			if !ran && before <= hooked {
				return foreignDeny, ""
			}
		}
	}
	switch {
	case !ran && before == hooked:
		return foreignDeny, "" // an old CLI does not tell, but it would have asked
	case !ran, before == approved:
		return inOrder, ""
	case before == refused:
		return breached, "ran although it was denied"
	case before == used:
		return breached, "ran a second time on one approval"
	}
	return breached, "ran without an approval"
}
