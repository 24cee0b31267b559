package doctor

import (
	"cmp"
	"fmt"
)

// Result is what came of one canary.
type Result struct {
	Host    string  `json:"host"`
	Canary  string  `json:"canary"`
	Hook    string  `json:"hook"` // what the hook did
	Outcome Outcome `json:"outcome"`
	Mark    Mark    `json:"mark"`
	Why     string  `json:"why,omitempty"`
}

// Outcome is how a canary ended.
type Outcome string

// The outcomes.
const (
	Stopped  Outcome = "stopped"
	Ran      Outcome = "RAN"
	Through  Outcome = "got through" // with a hook that allows it, as it must
	NotRun   Outcome = "not run"     // the canary was never attempted
	Unproven Outcome = "not proven"  // it left no file, and that need not be the hook's doing
)

// state is what the hook does in a trial.
type state string

// The states of the hook.
const (
	answering state = "answers"
	killed    state = "is killed"
	hanging   state = "hangs"
	missing   state = "is missing"
	failing   state = "fails"
	garbage   state = "prints garbage"
	allowing  state = "allows"
)

// states are the states of the hook in the order of a proof, of which the control is
// the first: what the others show depends on it.
func states() []state {
	return []state{allowing, answering, killed, hanging, missing, failing, garbage}
}

// evidence is what a trial left behind.
type evidence struct {
	ran   bool   // the file of the canary is there
	made  bool   // the model made the call
	back  bool   // the host went on after it
	words bool   // it told the model the words of our policy
	ended string // how the host itself ended, "" for well
}

// judge says what the evidence of a trial proves. control is that of the same canary
// with a hook that allows it; known is why the host is known to let the tool run in
// this state, "" if it is not.
func judge(s state, e, control evidence, known string) (Outcome, Mark, string) {
	switch {
	case s == allowing && e.ran:
		return Through, OK, ""
	case s == allowing:
		return NotRun, Red, "it does not run even with a hook that allows it, so nothing is proven: " + e.short()
	case e.ran && known != "":
		return Ran, Warn, "known to be open: " + known
	case e.ran && s == answering:
		return Ran, Red, "the policy denies it, and it ran"
	case e.ran:
		return Ran, Red, fmt.Sprintf("a hook that %s lets it run", s)
	case !e.made || !e.back:
		return NotRun, Warn, e.short()
	case s == answering && !e.words:
		return Unproven, Red, "it was stopped, but not in the words of the policy: not by agent-wrapper"
	case s == answering:
		return Stopped, OK, ""
	case !control.ran:
		return Unproven, Warn, "it does not run with a hook that allows it either"
	}
	return Stopped, OK, ""
}

// short says how far a trial got.
func (e evidence) short() string {
	end := cmp.Or(e.ended, "the host ended")
	switch {
	case !e.made:
		return "the host did not come to the call: " + end
	case !e.back:
		return "the host did not go on after the call: " + end
	}
	return "the host refused the call itself"
}
