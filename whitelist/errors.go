package whitelist

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// Reason is why a command may not run.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	TooLong        Reason = "too_long"
	ShellOperators Reason = "shell_operators"
	NotWhitelisted Reason = "not_whitelisted"
	DangerousArgs  Reason = "dangerous_args"
)

// texts are what the reasons say (seed 2). Where another list binds than the one
// in the usual place, its name takes the place of that.
var texts = map[Reason]string{
	NotWhitelisted: "Command not in whitelist. Add to .smartergpt/allowed-commands.json if legitimate.",
	DangerousArgs:  "Command contains dangerous arguments that are explicitly denied.",
	ShellOperators: "Command contains shell operators (|, >, <, &&, ||) which are not allowed.",
	TooLong:        "Command exceeds maximum allowed length.",
}

// CommandValidationError says why a command may not run.
type CommandValidationError struct {
	Command string
	Reason  Reason
	// Detail is what is wrong with it, where more can be said than the reason:
	// the argument, or the name that was probably meant. "" if there is none.
	Detail string
	// List is the file of the list, "" for the one in the usual place.
	List string
}

// text is what the reason says.
func (e *CommandValidationError) text() string {
	if e.List == "" {
		return texts[e.Reason]
	}
	return strings.Replace(texts[e.Reason], FileName, visible.Line(e.List), 1)
}

// Error has the reason's text and the command on two lines, and the detail on a
// third one. What a screen would obey is spelled out.
func (e *CommandValidationError) Error() string {
	text := fmt.Sprintf("Command validation failed: %s\nCommand: %s", e.text(), visible.Line(e.Command))
	if e.Detail != "" {
		text += "\n" + visible.Line(e.Detail)
	}
	return text
}
