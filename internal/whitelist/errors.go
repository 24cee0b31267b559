package whitelist

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Reason is why a command must not run.
type Reason string

// The reasons, in the order in which they are checked.
const (
	TooLong        Reason = "too_long"
	ShellOperators Reason = "shell_operators"
	NotWhitelisted Reason = "not_whitelisted"
	DangerousArgs  Reason = "dangerous_args"
)

// texts are the messages of the reasons (seed 2). If the list is not the file
// in the default place, its name replaces that of the default.
var texts = map[Reason]string{
	NotWhitelisted: "Command not in whitelist. Add to .smartergpt/allowed-commands.json if legitimate.",
	DangerousArgs:  "Command contains dangerous arguments that are explicitly denied.",
	ShellOperators: "Command contains shell operators (|, >, <, &&, ||) which are not allowed.",
	TooLong:        "Command exceeds maximum allowed length.",
}

// CommandValidationError is the refusal of a command.
type CommandValidationError struct {
	Command string
	Reason  Reason
	// Detail adds to the reason where possible: the argument that is wrong, or
	// the name that was probably meant. It may be "".
	Detail string
	// List is the file of the list, "" for the one in the default place.
	List string
}

// text returns the message of the reason.
func (e *CommandValidationError) text() string {
	if e.List == "" {
		return texts[e.Reason]
	}
	return strings.Replace(texts[e.Reason], FileName, visible.Line(e.List), 1)
}

// Error returns the message and the command on two lines, and the detail on a
// third. Control characters are spelled out.
func (e *CommandValidationError) Error() string {
	text := fmt.Sprintf("Command validation failed: %s\nCommand: %s", e.text(), visible.Line(e.Command))
	if e.Detail != "" {
		text += "\n" + visible.Line(e.Detail)
	}
	return text
}
