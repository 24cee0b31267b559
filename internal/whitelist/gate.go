package whitelist

import (
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Validator checks command lines against a list. It implements
// permission.CommandGate.
type Validator struct {
	List *List // nil refuses every line
	Look Look  // source of details for refusals; nil: none
	// Log is called for each line that passes in a dry run, once per check; it
	// may be nil.
	Log func(text string)
}

var _ permission.CommandGate = (*Validator)(nil)

// Validate is List.Validate with details from the files of the project.
func (v *Validator) Validate(line string, facts *shell.Facts) *CommandValidationError {
	_, f := v.List.look(line, facts)
	if f == nil {
		return nil
	}
	return &CommandValidationError{Command: line, Reason: f.reason, Detail: f.describe(v.Look), List: v.List.elsewhere()}
}

// Forbid returns the list's answer to a command line. A strict list denies; a
// permissive one asks if a command is not listed; a dry run only reports.
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
	o := permission.Refusal{Behavior: permission.Deny, Kind: string(refused.Reason), Reason: refused.line(), Lenient: v.List != nil && !v.List.strict}
	switch {
	case dry:
		o.Behavior = 0
	case refused.Reason == NotWhitelisted && v.List != nil && !v.List.strict:
		o.Behavior = permission.Ask
	}
	return o
}

// line returns the error in one line, without the command.
func (e *CommandValidationError) line() string {
	text := e.text()
	if e.Detail != "" {
		text += " (" + visible.Line(e.Detail) + ")"
	}
	return text
}
