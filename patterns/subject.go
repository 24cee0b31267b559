package patterns

import (
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Match is the answer of a matcher. It is never a bool: allow must be proven,
// ask and deny need only be possible.
type Match uint8

// The answers, in order of strength.
const (
	No Match = iota
	Maybe
	Yes
)

// List is the list that a rule stands in; it decides how the rule reads:
// allow compares the exact word, ask and deny see through spelling.
type List uint8

// The lists; the zero value is invalid.
const (
	Allow List = iota + 1
	Ask
	Deny
)

// Source is where a rule comes from.
type Source struct {
	Name      string // a file's path, a flag ("--deny"), "session"
	Line, Col int    // from 1; 0 where there is none
}

// String returns the place as NAME:LINE:COL, as far as it is known.
func (s Source) String() string {
	switch {
	case s.Name == "" || s.Line == 0:
		return s.Name
	case s.Col == 0:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	}
	return fmt.Sprintf("%s:%d:%d", s.Name, s.Line, s.Col)
}

// Kind is what a subject is about.
type Kind uint8

// The kinds of subjects; the zero value is invalid.
const (
	UseTool    Kind = iota + 1 // the tool itself: Name says what it is asked for
	RunCommand                 // Command
	ReadPath                   // Path
	WritePath                  // Path
	FetchURL                   // URL
	Hidden                     // an opaque spot: anything that May says
)

// Subject is one action of a tool use in the form that rules are matched
// against.
type Subject struct {
	Kind Kind
	// Tool is the tool of the tool use: "Bash" for everything that a command
	// line does, "Edit", "mcp__server__tool".
	Tool string
	// Name is the tool's naming input field (Skill: the skill), "" if none.
	Name string
	// Known are the tools of a UseTool that are not built in.
	Known *tools.Table
	// Command of a RunCommand; its Words, Program and Dirs are read.
	Command *shell.Action
	// Fetches are the URLs that the command fetches, or has fetched.
	Fetches []shell.Word
	// Line is the whole command line of a Bash subject, for rules that match
	// a whole line.
	Line string
	// Simple: the line is one plain simple command (shell.Facts.Simple).
	Simple bool
	// Outside: the line starts in a directory that is not proven to lie in the
	// workspace, which its words do not show.
	Outside bool
	Path    *Path
	// Recursive: the path is read or written with all that lies below it; an
	// allow for src/** then covers src itself.
	Recursive bool
	URL       *URL
	May       shell.Effects

	// What matching has worked out of Command; a Subject is used by one
	// goroutine at a time.
	scan                  shell.Scan
	strictText, looseText string
}

// Place is what relative patterns are relative to.
type Place struct {
	Workspace string // absolute
	Home      string // absolute, "" if unknown
	Fold      bool   // the file system ignores case
}

// Query narrows what Set.Match looks for.
type Query struct {
	// Specific: leave bare rules (Bash, Bash(*), *) out.
	Specific bool
	// Reach: only rules whose own literal words reach beyond this many words
	// of the subject's command (a rule "xargs grep:*" reaches 2). An exact
	// rule reaches beyond everything. 0 asks for nothing.
	Reach int
	// Named: only rules that spell all of these paths.
	Named []Named
}
