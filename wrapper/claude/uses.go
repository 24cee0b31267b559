package claude

import "encoding/json"

// uses tracks every tool use that the agent mentions and how it was answered. It
// belongs to the goroutine of run.loop.
type uses struct {
	byID  map[string]*entry
	order []string // IDs in order of arrival
	// moving is the number of approved tool uses that may change the directory of
	// the main agent's shell and have no result yet; moved counts all that were
	// approved.
	moving, moved int
	// counting is the number of held answers that rely on the directory of the main
	// agent's shell.
	counting int
}

// entry is one tool use.
type entry struct {
	tool  string
	input json.RawMessage // as far as known
	dir   string          // reported by the hook, "" if unknown
	told  int             // the value of moved at the time of the hook
	moves bool            // it may change the directory of the main agent's shell
	agent string
	stand stand
	shown bool // its events were emitted

	deciding bool     // the hook's question is open
	held     *holding // what the hook's question came to, nil if it was no allow
}

// stand is the state of a tool use.
type stand uint8

const (
	unasked  stand = iota
	hooked         // the hook was called
	pending        // the Decider has been asked
	approved       // allowed, without a result yet
	used           // allowed, with its one result
	refused        // denied by us, or withdrawn before an answer
)

// get returns the entry of a tool use and creates it if necessary.
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

// refuse records a denial before the tool use was asked about.
func (e *entry) refuse() {
	if e.stand <= hooked {
		e.stand = refused
	}
}

// decided records the answer to a question.
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

// unanswered returns the tool uses that the hook was called for and that we were
// never asked about.
func (u *uses) unanswered() []string {
	var ids []string
	for _, id := range u.order {
		if u.byID[id].stand == hooked {
			ids = append(ids, id)
		}
	}
	return ids
}

// outcome is what a tool result shows about a tool use.
type outcome struct {
	id      string
	good    bool        // the result is not an error
	meta    *resultMeta // nil if the CLI reports nothing
	reached bool        // a shell was to run its command line, which nobody had allowed
}

// Verdicts of uses.settle.
const (
	inOrder     = iota
	foreignDeny // the CLI denied it without asking us
	breached
)

// settle records a tool result. Each approval covers one result. A tool that ran
// without an approval of ours, or with one of the CLI, is a breach; why says so.
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
	case o.reached && before != approved && before != used:
		return breached, "was to run without an approval, which our shell refused"
	case !ran && before == hooked:
		return foreignDeny, "" // older CLIs do not report it, but would have asked us
	case !ran, before == approved:
		return inOrder, ""
	case before == refused:
		return breached, "ran although it was denied"
	case before == used:
		return breached, "ran a second time on one approval"
	}
	return breached, "ran without an approval"
}
