// Package tools holds the facts about the tools of an agent: what the fields of
// their inputs mean, how a rule names what they are asked for, and which uses
// of them are housekeeping. The packages that read, match, show and record tool
// uses take these facts from here.
package tools

// Kind is what a tool does with the value of a field.
type Kind uint8

// The kinds. The zero value means none of them.
const (
	Command Kind = iota + 1 // runs it as a command line
	Read                    // reads the path
	Write                   // writes the path
	Fetch                   // fetches the URL
)

// The tools in whose name rules for command lines, paths and URLs are written.
// Such a rule applies to all tools; a rule for another tool that does the same
// (Grep, MultiEdit) applies to that tool only.
const (
	Bash     = "Bash"
	Reader   = "Read"
	Editor   = "Edit"
	Writer   = "Write"
	WebFetch = "WebFetch"
)

// General returns the tool in whose name rules for a kind are written, "" for
// none.
func (k Kind) General() string {
	return [...]string{Command: Bash, Read: Reader, Write: Editor, Fetch: WebFetch}[min(k, Fetch)]
}

// Tool describes a built-in tool.
type Tool struct {
	// Does is what the tool does with Field; 0 for a tool that is matched as a
	// whole.
	Does  Kind
	Field string
	// Optional reports that the default of the field is the directory of the
	// shell.
	Optional bool
	// Tree reports that everything below the path is included.
	Tree bool
	// Glob names a field with a pattern whose leading directories are followed
	// from the path.
	Glob string

	// Names lists the fields that may hold what a tool that is matched as a whole
	// is asked for. The first field that is present counts.
	Names []string
	// Short reports that text in parentheses after the tool's name is the field's
	// value.
	Short bool
	// Asked names the field that best describes what the tool is asked for, if
	// that is neither Field nor one of Names.
	Asked string

	// Twin is another name of the same tool.
	Twin string
	// chores holds the fields that a housekeeping use may have; nil if no use is
	// one.
	chores map[string]harmless
	// answers reports that every use is housekeeping: its input, of whatever fields,
	// only goes back to whoever runs the agent.
	answers bool
}

// The tools that lists and modes neither allow nor deny, and the field that
// requests to run outside the sandbox.
const (
	AskQuestion = "AskUserQuestion"
	ExitPlan    = "ExitPlanMode"
	Unsandboxed = "dangerouslyDisableSandbox"
)

// Builtin returns the built-in tool of the agent CLI with that name, or nil.
func Builtin(name string) *Tool { return builtins[name] }

// Builtins calls f with the name of each tool of the agent CLI, in unspecified
// order.
func Builtins(f func(name string)) {
	for name := range builtins {
		f(name)
	}
}

// Main returns the field that describes what the tool is asked for, "" if there
// is none.
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

// builtins holds the tools of the agent CLI. A name that is nearly one of
// theirs is taken for a misspelling.
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
	"CronCreate": {}, "CronDelete": {}, "CronList": {}, "ScheduleWakeup": {}, "StructuredOutput": {answers: true},
	"PushNotification": {}, "RemoteTrigger": {}, "Config": {}, "Brief": {},
	"TeamCreate": {}, "TeamDelete": {}, "Sleep": {}, "REPL": {},
}

// known lists the fields that may matter in the input of any tool.
var known = []string{
	"command", "file_path", "notebook_path", "path", "pattern", "url", Unsandboxed,
	"questions", "answers", "skill", "subagent_type", "query", "name",
}

// Known returns the fields that an input must not repeat in another letter
// case, since an agent and its tool could then read different values.
func Known() []string { return known }

// synonyms holds names that people use for built-in tools.
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

// Synonym returns the built-in tool that people mean by a lower-case name, ""
// for none.
func Synonym(name string) string { return synonyms[name] }

// Name returns what a tool is asked for: the text of its naming field (the
// skill of Skill, the agent type of Task). It is "" for tools without such a
// field, and if the field is missing or is not a string.
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

// Asked returns in one text what a tool is asked for: the command, the path,
// the pattern, the URL, or what Name returns. It is "" if the input does not
// have it in the field that the tool reads. Other fields do not affect the tool
// and must not be shown instead.
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
