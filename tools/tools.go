// Package tools holds what is known of the tools of an agent: what the fields of
// their inputs mean, how a rule names what they are asked for, and which uses of
// them are housekeeping. The packages that read, match, show and record tool uses
// ask it, so that a fact about a tool stands here and nowhere else.
package tools

// Kind is what a tool does with a field of its input.
type Kind uint8

// The kinds; the zero value is none.
const (
	Command Kind = iota + 1 // runs it as a command line
	Read                    // reads the path
	Write                   // writes the path
	Fetch                   // fetches the URL
)

// The tools that a rule for a command line, a path or a URL is written with. Such
// a rule is about what any tool does; one for another tool that does the same
// (Grep, MultiEdit) is about that tool only.
const (
	Bash     = "Bash"
	Reader   = "Read"
	Editor   = "Edit"
	Writer   = "Write"
	WebFetch = "WebFetch"
)

// General returns the tool that rules for a kind are written with, "" for none.
func (k Kind) General() string {
	return [...]string{Command: Bash, Read: Reader, Write: Editor, Fetch: WebFetch}[min(k, Fetch)]
}

// Tool is what is known of a built-in tool.
type Tool struct {
	// Does is what the tool does with Field; 0 for one that is used as a whole.
	Does  Kind
	Field string
	// Optional: without the field it is the directory of the shell.
	Optional bool
	// Tree: everything below the path as well.
	Tree bool
	// Glob names a field with a pattern whose leading directories are followed
	// from the path.
	Glob string

	// Names are the fields that may say what a tool that is used as a whole is
	// asked for; the first that is there counts.
	Names []string
	// Short: a text in parentheses behind the tool's name stands for the field.
	Short bool
	// Asked names the field that says best what the tool is asked for, where that
	// is neither Field nor one of Names.
	Asked string

	// Twin is another name of the same tool.
	Twin string
	// chores are the fields that a use may have that is housekeeping; nil: none is.
	chores map[string]harmless
}

// The tools that are neither allowed nor refused by lists and modes, and the field
// that asks to run outside the sandbox.
const (
	AskQuestion = "AskUserQuestion"
	ExitPlan    = "ExitPlanMode"
	Unsandboxed = "dangerouslyDisableSandbox"
)

// Builtin returns what is known of a tool of the agent CLI, nil for another tool.
func Builtin(name string) *Tool { return builtins[name] }

// Builtins calls f with the name of each tool of the agent CLI, in no order.
func Builtins(f func(name string)) {
	for name := range builtins {
		f(name)
	}
}

// Main is the field that says what the tool is asked for, "" if none does.
func (t *Tool) Main() string {
	switch {
	case t == nil:
		return ""
	case t.Field != "":
		return t.Field
	case t.Short && len(t.Names) > 0:
		return t.Names[0]
	}
	return ""
}

// builtins are the tools of the agent CLI. A name that is nearly one of them is
// taken for a slip.
var builtins = map[string]*Tool{
	"Bash":         {Does: Command, Field: "command"},
	"Monitor":      {Does: Command, Field: "command"},
	"Read":         {Does: Read, Field: "file_path"},
	"NotebookRead": {Does: Read, Field: "notebook_path"},
	"LS":           {Does: Read, Field: "path", Optional: true},
	"Grep":         {Does: Read, Field: "path", Optional: true, Tree: true, Asked: "pattern"},
	"Glob":         {Does: Read, Field: "path", Optional: true, Tree: true, Glob: "pattern", Asked: "pattern"},
	"Edit":         {Does: Write, Field: "file_path"},
	"MultiEdit":    {Does: Write, Field: "file_path"},
	"Write":        {Does: Write, Field: "file_path"},
	"NotebookEdit": {Does: Write, Field: "notebook_path"},
	"WebFetch":     {Does: Fetch, Field: "url"},

	"Agent":        {Names: []string{"subagent_type"}, Short: true, Twin: "Task", chores: subagent},
	"Task":         {Names: []string{"subagent_type"}, Short: true, Twin: "Agent", chores: subagent},
	"Skill":        {Names: []string{"skill", "command", "name"}, Short: true},
	"SlashCommand": {Names: []string{"command"}, Short: true},
	"WebSearch":    {Names: []string{"query"}, Short: true},
	"ToolSearch":   {Names: []string{"query"}, chores: fields("query", "max_results")},
	"PowerShell":   {Names: []string{"command"}},
	"Workflow":     {Names: []string{"name", "workflow"}},
	"SendMessage":  {Names: []string{"to", "recipient"}, chores: sendMessage},
	"LSP":          {Names: []string{"operation"}},
	"TaskOutput":   {Names: []string{"task_id"}, chores: fields("task_id", "block", "timeout")},
	"TaskStop":     {Names: []string{"task_id"}, chores: fields("task_id", "shell_id")},
	"BashOutput":   {Names: []string{"bash_id"}},
	"KillBash":     {Names: []string{"shell_id"}},
	"KillShell":    {Names: []string{"shell_id"}},

	"ReadMcpResource":      {Names: []string{"uri"}, Twin: "ReadMcpResourceTool"},
	"ReadMcpResourceTool":  {Names: []string{"uri"}, Twin: "ReadMcpResource"},
	"ListMcpResources":     {Names: []string{"server"}, Twin: "ListMcpResourcesTool"},
	"ListMcpResourcesTool": {Names: []string{"server"}, Twin: "ListMcpResources"},

	"TodoWrite":      {chores: fields("todos")},
	"TaskCreate":     {chores: fields("subject", "description", "activeForm", "metadata")},
	"TaskGet":        {chores: fields("taskId")},
	"TaskList":       {chores: fields()},
	"TaskUpdate":     {chores: fields("taskId", "subject", "description", "activeForm", "status", "addBlocks", "addBlockedBy", "owner", "metadata")},
	"ListAgents":     {chores: fields("q", "channel", "cursor")},
	"ReportFindings": {chores: fields("level", "findings")},
	"EnterPlanMode":  {chores: fields()},

	"AskUserQuestion": {}, "TodoRead": {}, "ExitPlanMode": {}, "EnterWorktree": {}, "ExitWorktree": {},
	"CronCreate": {}, "CronDelete": {}, "CronList": {}, "ScheduleWakeup": {}, "StructuredOutput": {},
	"PushNotification": {}, "RemoteTrigger": {}, "Config": {}, "Brief": {},
	"TeamCreate": {}, "TeamDelete": {}, "Sleep": {}, "REPL": {},
}

// known are the fields that are looked at in the input of any tool.
var known = []string{
	"command", "file_path", "notebook_path", "path", "pattern", "url", Unsandboxed,
	"questions", "answers", "skill", "subagent_type", "query", "name",
}

// Known returns the fields of which an input may have no twin, equal but for its
// case: an agent and its tool could read two different ones.
func Known() []string { return known }

// synonyms are names that people write for a built-in tool.
var synonyms = map[string]string{
	"create": "Write", "createfile": "Write", "writefile": "Write",
	"update": "Edit", "editfile": "Edit", "strreplace": "Edit", "patch": "Edit",
	"fetch": "WebFetch", "browse": "WebFetch", "curl": "WebFetch",
	"search": "Grep", "find": "Glob", "list": "LS",
	"view": "Read", "readfile": "Read", "open": "Read", "cat": "Read",
	"shell": "Bash", "sh": "Bash", "zsh": "Bash", "terminal": "Bash", "exec": "Bash",
	"execute": "Bash", "run": "Bash", "command": "Bash",
	"subagent": "Agent", "mcp": "mcp__server__tool",
}

// Synonym returns the built-in tool that people mean by a name in lower case, ""
// for none.
func Synonym(name string) string { return synonyms[name] }

// Name returns what a tool is asked for: the text of its naming field (the skill of
// Skill, the agent type of Task). It is "" for tools without one, and when the field
// is not there or is no string.
func Name(tool string, input map[string]any) string {
	t := builtins[tool]
	if t == nil {
		return ""
	}
	for _, field := range t.Names {
		if s, ok := input[field].(string); ok {
			return s
		}
	}
	return ""
}

// Asked returns in one text what a tool is asked for: the command, the path, the
// pattern, the URL, or what Name says; "" if its input does not say it where the
// tool reads it. What an agent puts beside that is nothing to the tool, and is not
// to be shown in its place.
func Asked(tool string, input map[string]any) string {
	t := builtins[tool]
	if t == nil {
		return ""
	}
	field := t.Asked
	if field == "" {
		field = t.Field
	}
	if s, ok := input[field].(string); ok && field != "" {
		return s
	}
	return Name(tool, input)
}
