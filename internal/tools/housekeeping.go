package tools

import (
	"maps"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// harmless reports whether a value of a field keeps the use of the tool to
// housekeeping.
type harmless func(value any) bool

// Housekeeping reports whether uses of a tool may be housekeeping, which counts
// as listed in every mode. beyond is the first field of the input, by name,
// that makes the use more than that, "" if there is none. The list of these
// tools is closed, and so are their fields: a use with another field, or with a
// value that is not harmless, may run, fetch or write something and needs a
// rule like that of any tool. The fields are those of the agent CLI's own
// schemas, 2.1.197 to 2.1.330. StructuredOutput alone may have any: its fields are
// those of the schema that the run was started with, and the CLI does nothing with
// them but to hand them over in the result.
func Housekeeping(tool string, input map[string]any) (beyond string, may bool) {
	t := builtins[tool]
	switch {
	case t == nil:
		return "", false
	case t.answers:
		return "", true
	case t.chores == nil:
		return "", false
	}
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if is := t.chores[name]; is == nil || !is(input[name]) {
			return name, true
		}
	}
	return "", true
}

// fields returns fields that may have any value.
func fields(names ...string) map[string]harmless {
	all := map[string]harmless{}
	for _, name := range names {
		all[name] = whatever
	}
	return all
}

// subagent holds the fields of the tools that start a subagent, whose own tool
// uses are decided one by one. Its isolation is not among them: to create a
// worktree, git runs what the repository's hooks and settings name, and
// "remote" starts the subagent on another machine.
var subagent = map[string]harmless{
	"description": whatever, "prompt": whatever, "subagent_type": whatever, "model": whatever, "effort": whatever,
	"run_in_background": whatever, "name": whatever, "team_name": whatever, "resume": whatever, "max_turns": whatever,
	"mode": oneOf("plan", "default", "dontAsk"),
}

// sendMessage holds the fields of a message to an agent of the session. A
// message to another session makes something else run, perhaps elsewhere, and
// the approval of a plan is up to a person. The fields after message are added
// by the agent CLI for display.
var sendMessage = map[string]harmless{
	"to": agentName, "summary": whatever, "message": plainMessage,
	"type": messageType, "recipient": agentName, "recipient_kind": oneOf("main", "agent", "name"),
	"content": whatever, "request_id": whatever, "approve": whatever,
}

func whatever(any) bool { return true }

func oneOf(texts ...string) harmless {
	return func(value any) bool {
		text, ok := value.(string)
		return ok && slices.Contains(texts, text)
	}
}

var (
	plainName   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	sessionName = lazyregexp.New(`^(session|cse|local)_`)
)

// agentName reports whether the value is a plain name rather than an address.
func agentName(value any) bool {
	name, ok := value.(string)
	return ok && plainName.MatchString(name) && !sessionName.MatchString(name)
}

var messageType = oneOf("message", "shutdown_request", "shutdown_response")

func plainMessage(value any) bool {
	if fields, ok := value.(map[string]any); ok {
		return messageType(fields["type"])
	}
	_, ok := value.(string)
	return ok
}
