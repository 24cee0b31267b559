package permission

import (
	"maps"
	"regexp"
	"slices"
)

// harmless reports whether a field's value makes the tool do nothing but its
// housekeeping.
type harmless func(value any) bool

// housekeeping are the tools that count as listed in every mode, each with the
// fields that it may be given then. The list is closed, and so are the fields:
// a use with another one, or with a value that is not harmless, may run, fetch
// or write something and needs a rule as that of any tool does. They are those
// of the agent CLI's own schemas, 2.1.197 to 2.1.330.
var housekeeping = map[string]map[string]harmless{
	"TodoWrite":      {"todos": whatever},
	"TaskCreate":     {"subject": whatever, "description": whatever, "activeForm": whatever, "metadata": whatever},
	"TaskGet":        {"taskId": whatever},
	"TaskList":       {},
	"TaskUpdate":     taskUpdate,
	"TaskOutput":     {"task_id": whatever, "block": whatever, "timeout": whatever},
	"TaskStop":       {"task_id": whatever, "shell_id": whatever},
	"ToolSearch":     {"query": whatever, "max_results": whatever},
	"ListAgents":     {"q": whatever, "channel": whatever, "cursor": whatever},
	"ReportFindings": {"level": whatever, "findings": whatever},
	"EnterPlanMode":  {},
	"Agent":          subagent,
	"Task":           subagent,
	"SendMessage":    sendMessage,
}

var taskUpdate = map[string]harmless{
	"taskId": whatever, "subject": whatever, "description": whatever, "activeForm": whatever, "status": whatever,
	"addBlocks": whatever, "addBlockedBy": whatever, "owner": whatever, "metadata": whatever,
}

// subagent: what a subagent does is decided use by use. Its isolation is not
// among the fields: to make a worktree git runs what the repository's hooks and
// settings name, and "remote" starts it on another machine.
var subagent = map[string]harmless{
	"description": whatever, "prompt": whatever, "subagent_type": whatever, "model": whatever, "effort": whatever,
	"run_in_background": whatever, "name": whatever, "team_name": whatever, "resume": whatever, "max_turns": whatever,
	"mode": oneOf("plan", "default", "dontAsk"),
}

// sendMessage: a message to an agent of the session. One to another session
// makes something else run, perhaps elsewhere, and to approve a plan is for a
// person. What stands behind message are fields that the agent CLI adds for
// whoever looks on.
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
	plainName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)
	sessionName = regexp.MustCompile(`^(session|cse|local)_`)
)

// agentName: a name without the marks of an address.
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

// beyond returns the field of an input, the first by name, that makes the use
// of a housekeeping tool more than that, "" if there is none.
func beyond(fields map[string]harmless, input map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(input)) {
		if is := fields[name]; is == nil || !is(input[name]) {
			return name
		}
	}
	return ""
}
