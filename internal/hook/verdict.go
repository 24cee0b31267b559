package hook

import (
	"encoding/json"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Verdict is the answer to an event: what the engine has decided, for the host to put in
// its own words.
type Verdict struct {
	behavior permission.Behavior // anything but Allow and Ask denies

	Reason string // for the model if it is denied, for the person if it is asked
	// Input replaces the input of the tool, in the host's form; nil: it runs as it is.
	Input json.RawMessage
	// Silent leaves the event to the host and its person: a dialog that nobody has
	// answered elsewhere.
	Silent bool
}

// Allows reports whether the tool is to run.
func (v *Verdict) Allows() bool { return v.behavior == permission.Allow && !v.Silent }

// Denies reports whether the tool is not to run.
func (v *Verdict) Denies() bool { return !v.Silent && !v.Allows() && v.behavior != permission.Ask }

// Word returns allow, ask or deny.
func (v *Verdict) Word() string { return v.behavior.String() }

// The verdicts that are none of the engine's: about what is no tool use, and about what
// could not be decided.
var (
	passes = Verdict{behavior: permission.Allow}
	left   = Verdict{behavior: permission.Ask, Silent: true}
)

// refuses returns a denial.
func refuses(why string) Verdict {
	return Verdict{behavior: permission.Deny, Reason: "agent-wrapper: " + why}
}

// verdict returns the answer that a result means.
func (s *session) verdict(e *Event, res permission.Result) (Verdict, error) {
	switch res.Behavior {
	case permission.Ask:
		if res.Question { // the tool is what asks
			return passes, nil
		}
		return Verdict{behavior: permission.Ask, Reason: s.question(&res.Decision)}, nil
	case permission.Allow:
		return s.allow(e, res.UpdatedInput)
	}
	message := res.Message
	if s.Session.Paused() != "" {
		message += "; a person resumes it with: agent-wrapper resume " + s.id
	}
	return refuses(message), nil
}

// stands returns the verdict on a dialog where nobody has to be asked, false if
// somebody has.
func stands(d *permission.Decision) (Verdict, bool) {
	switch d.Behavior {
	case permission.Ask:
		return Verdict{}, false
	case permission.Allow:
		return left, true // the host has reasons of its own
	}
	return refuses(d.Message), true
}

// staysInside reports whether a command is to run inside the sandbox: it is allowed there, and if
// nothing but the sandbox allows it, the host is known to run what it is answered.
func staysInside(d *permission.Decision, proven bool) bool {
	return d.Behavior == permission.Allow && (d.Sandbox == permission.Inside || d.Sandbox == permission.Within && proven)
}

// runsOnlyInside reports whether nothing but the sandbox allows a tool use.
func runsOnlyInside(res *permission.Result) bool {
	return res.Behavior == permission.Allow && res.Sandbox == permission.Within
}

// runsAs reports whether a tool use was allowed as it is.
func runsAs(res *permission.Result, input json.RawMessage) bool {
	return res.Behavior == permission.Allow && string(res.UpdatedInput) == string(input)
}
