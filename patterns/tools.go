package patterns

import "strings"

// family says which subjects a tool's rules are about.
type family uint8

const (
	ofTool    family = iota // uses of the tool itself
	ofLines                 // what a command line does
	ofReads                 // reading a path, by whatever tool
	ofReadsBy               // reading a path by this tool only
	ofEdits                 // writing a path, by whatever tool
	ofEditsBy               // writing a path by this tool only
	ofFetch                 // fetching a URL, by whatever tool
	ofAll                   // "*": everything
)

// path reports whether the rules of a family have path patterns.
func (f family) path() bool { return f >= ofReads && f <= ofEditsBy }

// tool is what is known of a tool's rules.
type tool struct {
	family family
	// fields are the input fields that may say what the tool is asked for; the
	// first that is there counts.
	fields []string
	// twin is another name of the same tool.
	twin string
}

// builtins are the tools of the agent CLI. A name that is nearly one of them
// is taken for a slip.
var builtins = map[string]tool{
	"Bash":         {family: ofLines},
	"Read":         {family: ofReads},
	"Grep":         {family: ofReadsBy},
	"Glob":         {family: ofReadsBy},
	"LS":           {family: ofReadsBy},
	"NotebookRead": {family: ofReadsBy},
	"Edit":         {family: ofEdits},
	"MultiEdit":    {family: ofEditsBy},
	"Write":        {family: ofEditsBy},
	"NotebookEdit": {family: ofEditsBy},
	"WebFetch":     {family: ofFetch},

	"Agent":        {fields: []string{"subagent_type"}, twin: "Task"},
	"Task":         {fields: []string{"subagent_type"}, twin: "Agent"},
	"Skill":        {fields: []string{"skill", "command", "name"}},
	"SlashCommand": {fields: []string{"command"}},
	"WebSearch":    {fields: []string{"query"}},
	"ToolSearch":   {fields: []string{"query"}},
	"PowerShell":   {fields: []string{"command"}},
	"Workflow":     {fields: []string{"name", "workflow"}},
	"SendMessage":  {fields: []string{"to", "recipient"}},
	"LSP":          {fields: []string{"operation"}},
	"TaskOutput":   {fields: []string{"task_id"}},
	"TaskStop":     {fields: []string{"task_id"}},
	"BashOutput":   {fields: []string{"bash_id"}},
	"KillBash":     {fields: []string{"shell_id"}},
	"KillShell":    {fields: []string{"shell_id"}},

	"ReadMcpResource":     {fields: []string{"uri"}, twin: "ReadMcpResourceTool"},
	"ReadMcpResourceTool": {fields: []string{"uri"}, twin: "ReadMcpResource"},

	"ListMcpResources": {fields: []string{"server"}, twin: "ListMcpResourcesTool"},

	"ListMcpResourcesTool": {fields: []string{"server"}, twin: "ListMcpResources"},

	"AskUserQuestion": {}, "Monitor": {}, "TodoRead": {}, "TodoWrite": {},
	"TaskCreate": {}, "TaskGet": {}, "TaskList": {}, "TaskUpdate": {},
	"EnterPlanMode": {}, "ExitPlanMode": {}, "EnterWorktree": {}, "ExitWorktree": {},
	"CronCreate": {}, "CronDelete": {}, "CronList": {}, "ScheduleWakeup": {},
	"ListAgents": {}, "ReportFindings": {}, "StructuredOutput": {},
	"PushNotification": {}, "RemoteTrigger": {}, "Config": {}, "Brief": {},
	"TeamCreate": {}, "TeamDelete": {}, "Sleep": {}, "REPL": {},
}

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

// Name returns what a tool is asked for: the text of its naming input field
// (the skill of Skill, the agent type of Task). It is "" for tools without
// one, and when the field is not there or is no string.
func Name(tool string, input map[string]any) string {
	for _, field := range builtins[tool].fields {
		if s, ok := input[field].(string); ok {
			return s
		}
	}
	return ""
}

// askedFields are the input fields that say what the tools are asked for whose
// rules are about what they do.
var askedFields = map[string]string{
	"Bash": "command", "Monitor": "command", "Grep": "pattern", "Glob": "pattern", "LS": "path", "WebFetch": "url",
	"Read": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "Write": "file_path", "NotebookRead": "notebook_path", "NotebookEdit": "notebook_path",
}

// Asked returns in one text what a tool is asked for: the command, the path, the
// pattern, the URL, or what Name says; "" if its input does not say it where the
// tool reads it. What an agent puts beside that is nothing to the tool, and is
// not to be shown in its place.
func Asked(tool string, input map[string]any) string {
	if s, ok := input[askedFields[tool]].(string); ok && askedFields[tool] != "" {
		return s
	}
	return Name(tool, input)
}

// Builtin reports whether a name is that of a tool of the agent CLI.
func Builtin(tool string) bool {
	_, known := builtins[tool]
	return known
}

// sameTool reports whether a rule for the tool named a is about the tool b.
func sameTool(a, b string) bool {
	return a == b || b != "" && builtins[a].twin == b
}

// nearMiss returns the built-in tool that a name was probably meant for, "" if
// none is near.
func nearMiss(name string) string {
	lower := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
	for b := range builtins {
		if strings.EqualFold(b, lower) {
			return b
		}
	}
	if b := synonyms[lower]; b != "" {
		return b
	}
	found, best := "", 3
	for b := range builtins {
		d := distance(lower, strings.ToLower(b))
		if d < best || d == best && b < found {
			if d <= 1 || d == 2 && (len(b) >= 7 || stutters(lower, strings.ToLower(b))) {
				found, best = b, d
			}
		}
	}
	return found
}

// stutters reports whether name is the built-in name with something stuck to
// one end, as in BaBash.
func stutters(name, builtin string) bool {
	return len(builtin) >= 4 && (strings.HasSuffix(name, builtin) || strings.HasPrefix(name, builtin))
}

// distance returns the number of single-byte edits between two short names; a
// swap of neighbours counts as one. It stops counting at 3.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return 3
	}
	var rows [3][]int
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
	}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[(i-1)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return min(3, rows[(len(a)+1)%3][len(b)])
}
