package patterns

import (
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// Match is the result of a match. It is not a bool, because an allow rule must
// certainly match, while for ask and deny a possible match suffices.
type Match uint8

// The answers, in order of strength.
const (
	No Match = iota
	Maybe
	Yes
)

// List is the list that holds a rule. It determines the interpretation of the
// rule: allow compares words as written, ask and deny normalize their spelling.
type List uint8

// The lists. The zero value is invalid.
const (
	Allow List = iota + 1
	Ask
	Deny
)

// Source is the origin of a rule.
type Source struct {
	Name      string // a file's path, a flag ("--deny"), "session"
	Line, Col int    // from 1; 0 where there is none
	// Dir is the directory, absolute, that relative paths in the rule refer to; ""
	// means the workspace.
	Dir string
}

// String returns the source as NAME:LINE:COL, as far as it is known.
func (s Source) String() string {
	switch {
	case s.Name == "" || s.Line == 0:
		return s.Name
	case s.Col == 0:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	}
	return fmt.Sprintf("%s:%d:%d", s.Name, s.Line, s.Col)
}

// Kind is the kind of a subject.
type Kind uint8

// The kinds of subjects. The zero value is invalid.
const (
	UseTool    Kind = iota + 1 // the tool itself: Name says what it is asked for
	RunCommand                 // Command
	ReadPath                   // Path
	WritePath                  // Path
	FetchURL                   // URL
	Hidden                     // an opaque spot: anything that May says
)

// Subject is one action of a tool use in the form against which rules are
// matched.
type Subject struct {
	Kind Kind
	// Tool is the tool of the tool use: "Bash" for all actions of a command line,
	// "Edit", "mcp__server__tool".
	Tool string
	// Name is the value of the tool's naming field (for Skill, the skill), or "".
	Name string
	// Known describes the tools that are not built in, for a UseTool.
	Known *tools.Table
	// Command belongs to a RunCommand. Its Words, Program and Dirs are used.
	Command *shell.Action
	// Fetches lists the URLs that the command fetches or lets another program
	// fetch.
	Fetches []shell.Word
	// Line is the whole command line of a Bash subject, for rules that match whole
	// lines.
	Line string
	// Simple reports that the line is one plain simple command
	// (shell.Facts.Simple).
	Simple bool
	// Outside reports that the line may start in a directory outside the
	// workspace, which its words do not show.
	Outside bool
	Path    *Path
	// Recursive reports that the path is read or written with everything below it.
	// An allow rule for src/** then includes src itself.
	Recursive bool
	URL       *URL
	May       shell.Effects

	// Caches of what matching has derived from Command. A Subject is used by one
	// goroutine at a time.
	scan                  shell.Scan
	strictText, looseText string
	spelled               bool // others is known
	shortened             bool // a version was left out of the program's name
	others                []spelling
	cut                   bool // there may be more of them
	reached               *reach
	plained               bool // plain is known
	plain                 []*Subject
	placedIn              string // the workspace for which places are known
	places                []*Subject
}

// Place holds the directories to which patterns are relative.
type Place struct {
	Workspace string // absolute
	// Roots are further directories of the workspace, absolute. Nothing is relative
	// to them.
	Roots []string
	Home  string // absolute, "" if unknown
	// RealHome is Home without symbolic links, "" if there are none in it. What a rule says
	// of Home it says of RealHome.
	RealHome string
	Fold     bool // the file system ignores case
}

// Equal reports whether two places are the same.
func (p *Place) Equal(other *Place) bool {
	return p.Workspace == other.Workspace && p.Home == other.Home && p.RealHome == other.RealHome && p.Fold == other.Fold && slices.Equal(p.Roots, other.Roots)
}

// For returns the place for a rule of the given origin, whose relative paths may
// refer to another directory than the workspace.
func (p Place) For(s Source) Place {
	if s.Dir != "" {
		p.Workspace = s.Dir
	}
	return p
}

// Files tells which files outside the workspace are trusted as those in it are.
type Files interface {
	Trusted(file string) bool // by its clean absolute path
}

// Query restricts the rules that Set.Match considers.
type Query struct {
	// Specific excludes bare rules (Bash, Bash(*), *), and Bare all others.
	Specific, Bare bool
	// Reach selects rules whose own literal words extend beyond this many words of
	// the subject's command (for "xargs grep:*" they are 2). An exact rule extends
	// beyond everything. 0 selects all rules.
	Reach int
	// Named selects rules that spell out all of these paths.
	Named []Named
	// Files tells of the files outside the workspace which of them an interpreter may be
	// given where a rule stands for any program file. nil: none.
	Files Files
}
