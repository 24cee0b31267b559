package whitelist

import (
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// Validator asks a list about command lines: a permission.CommandGate.
type Validator struct {
	List *List // nil lets nothing pass
	Look Look  // what may be looked at for details; nil: nothing
	// Argv: a line that passes is run as List.Command gives it, without a shell.
	// Otherwise a shell runs it, so that the name of a custom entry, which it
	// would look up on PATH, does not pass for its binary.
	Argv bool
	// Log gets a line for each that passes in a dry run, as often as it is asked
	// about; nil: nothing is logged.
	Log func(text string)
}

var _ permission.CommandGate = (*Validator)(nil)

// Validate is List.Validate for the way that the line is run, with details of
// what the files say.
func (v *Validator) Validate(line string, facts *shell.Facts) *CommandValidationError {
	_, f := v.List.look(line, facts, way(v.Argv))
	if f == nil {
		return nil
	}
	return &CommandValidationError{Command: line, Reason: f.reason, Detail: f.describe(v.Look), List: v.List.elsewhere()}
}

// Forbid says what the list has against a command line. A strict list refuses;
// a permissive one asks about what is not listed; a dry run only tells.
func (v *Validator) Forbid(line string, facts *shell.Facts) permission.Refusal {
	refused := v.Validate(line, facts)
	dry := v.List != nil && v.List.policy.DryRunMode
	switch {
	case refused == nil && dry && v.Log != nil:
		v.Log("[DRY RUN] Command validated: " + visible.Line(line))
		return permission.Refusal{}
	case refused == nil:
		return permission.Refusal{}
	}
	o := permission.Refusal{Behavior: permission.Deny, Kind: string(refused.Reason), Reason: refused.line()}
	switch {
	case dry:
		o.Behavior = 0
	case refused.Reason == NotWhitelisted && v.List != nil && !v.List.strict:
		o.Behavior = permission.Ask
	}
	return o
}

// line is the error without the command, in one line.
func (e *CommandValidationError) line() string {
	text := e.text()
	if e.Detail != "" {
		text += " (" + visible.Line(e.Detail) + ")"
	}
	return text
}
