package shell

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// Hole is a place in a word where text stands that is known only when the
// line runs.
type Hole struct {
	At   int      // byte offset in Word.Text
	Kind HoleKind // what may stand there
}

// HoleKind tells what may fill a hole.
type HoleKind uint8

// The kinds of holes.
const (
	AnyText HoleKind = iota // any text, also none
	Glob                    // pathname expansion: any text without a slash
	Digits                  // decimal digits only, at least one
	Number                  // as Digits, perhaps with a minus sign before them
	Pipe                    // the descriptor number of a process substitution
)

// Word is one argument as the program would get it. Its text is known but for
// its holes: "src/$x.go" is Text "src/.go" with a hole at 4.
type Word struct {
	Text  string
	Holes []Hole
	// Split: the word may become any number of words, also none (an unquoted
	// expansion, a glob).
	Split bool
	// Pos and End are the word's place in the command line, in bytes; both 0
	// when it does not stand there literally (the text of an alias, an eval).
	Pos, End int
	// under are the places, seen from the directory of whoever takes the word,
	// that its unknown names lie at or below (names that find prints); nil if
	// that is not known.
	under []Word
	// printed: the names come from a substitution. That they lie there is taken
	// for what ask and deny rules see, it proves nothing.
	printed bool
	// files, of a word in under: the names are those of regular files, not of
	// links.
	files bool
}

// Known reports whether the word is one word of known text.
func (w *Word) Known() bool { return len(w.Holes) == 0 && !w.Split }

// Filled returns the word's text with mark in each place that is not known.
func (w *Word) Filled(mark string) string {
	if len(w.Holes) == 0 {
		return w.Text
	}
	var b strings.Builder
	from := 0
	for _, h := range w.Holes {
		b.WriteString(w.Text[from:h.At])
		b.WriteString(mark)
		from = h.At
	}
	b.WriteString(w.Text[from:])
	return b.String()
}

// MayBeOption reports whether the program may take the word for an option
// although it does not show: unknown text stands where a dash would, or the
// word may fall apart into several.
func (w *Word) MayBeOption() bool {
	if len(w.Holes) == 0 {
		return false
	}
	first := w.Holes[0]
	if first.At == 0 && first.Kind != Digits && first.Kind != Pipe {
		return true
	}
	return w.Split && w.hasHole(AnyText)
}

func (w *Word) hasHole(kind HoleKind) bool {
	for _, h := range w.Holes {
		if h.Kind == kind {
			return true
		}
	}
	return false
}

// Kind is what an action does.
type Kind uint8

// The kinds of actions; the zero value is invalid.
const (
	Command Kind = iota + 1 // runs Words
	Read                    // reads Path
	Write                   // creates, changes or removes Path
	Fetch                   // fetches URL (in Path)
	Opaque                  // may do anything that May says
)

// Need tells what cover an action needs before it may be allowed
// (design: allow must be proven).
type Need uint8

// The needs; a Command with NeedNone is a plain wrapper (timeout, nice …).
const (
	NeedNone    Need = iota // none: only ask and deny rules see it
	NeedOutside             // a rule of its own when the path is not inside the workspace
	NeedCover               // always
)

// Effects says what an opaque spot may hide.
type Effects uint8

// The effects; MayRun includes everything.
const (
	MayRun Effects = 1 << iota
	MayRead
	MayWrite
	MayFetch
)

// Action is one thing that a command line would do.
type Action struct {
	Kind Kind
	Need Need

	// Words is the argv of a Command; Words[0] names the program.
	Words []Word
	// Program is the catalogue's entry for Words[0], nil if it has none or the
	// name is not known.
	Program *program.Program
	// Assigns are the variable assignments before a Command's words.
	Assigns []Assign
	// Dirs are the directories that the action may start in: absolute paths;
	// an Unknown one is a word with holes.
	Dirs []Word
	// Substitution: the command's words hold a command or process substitution.
	Substitution bool
	// Environment: the Command shows the values of variables that may hold secrets.
	Environment bool

	// Path of a Read or Write: absolute as far as it is known, not cleaned.
	// The URL word of a Fetch.
	Path Word
	// Recursive: a Read or Write of everything below Path as well.
	Recursive bool
	// Sweep: a recursive Write that spares nothing below Path (find -delete); a
	// formatter goes through a directory for its own files only.
	Sweep bool
	// NoFollow: a symbolic link that is the last name of Path is not followed
	// (rm, the sources of mv).
	NoFollow bool
	// Found: Path stands for names that a search finds, which goes through no
	// link; the names may be links, unless NoFollow is set as well.
	Found bool
	// Unnamed: a Write that may be anywhere below a directory, by what stands in
	// a file and in no word (git apply). Ask and deny rules look at it; that it
	// changes what is guarded is not to be supposed.
	Unnamed bool
	// Own: a Write of a file in which the program keeps its own settings; the path
	// stands in no word. Harmless: what it writes there makes nothing run.
	Own, Harmless bool
	// SkipHidden: a recursive read that leaves out names beginning with a dot.
	SkipHidden bool
	// Purpose: the Write is what the program is for (mkdir, rm, cp …), so a
	// mode that accepts edits may answer for the program.
	Purpose bool
	// Append: the Write only adds to the file. Redirect: it is a redirection.
	Append, Redirect bool

	// May is what an Opaque action may hide.
	May Effects

	// Why is why an Opaque action is one, and of a Command why no allow rule with
	// a specifier covers it although its words may match: an argument that may be
	// an option, a variable that the program may obey. The zero value when there
	// is no such cause.
	Why Why
	// Exact: what is unproven is not that the words are unknown, but what one of
	// them does; a rule that reaches into the command does not cover it either.
	Exact bool
	// Reach: an allow rule covers the Command only if its own literal words go
	// beyond this many of the Command's (npm install x runs what it fetches:
	// "npm install:*" says so, "npm:*" does not). 0 asks for nothing.
	Reach int
	// Elsewhere: the Command takes configuration from a directory that its
	// words do not show and that is not proven to lie in the workspace. Not
	// even a rule for exactly its words covers it.
	Elsewhere bool
	// Followed: the Fetch is from wherever a redirect leads.
	Followed bool
	// Config are the directories, in the workspace by their spelling, that the
	// Command takes configuration from. Whoever can follow links has to see
	// whether they lie there.
	Config []Word
	// Reason is how a Read, Write or Fetch comes about, in words, for a person:
	// "redirection >", "option -o of sort".
	Reason string

	// Parent is the index of the Command action that does this one (sudo for
	// the rm of "sudo rm x", sort for the write of "sort -o x"), -1 for none.
	// A rule for exactly the parent's words covers it as well.
	Parent int
	// From is the index in the parent's words at which a Command's own words
	// begin, -1 if they do not stand there word by word. A rule for the parent
	// whose literal words reach beyond From covers this command as well.
	From int
	// Pos and End are the place in the command line: that of the statement it is
	// in, where it has none of its own.
	Pos, End int
}

// Assign is one assignment of a variable.
type Assign struct {
	Name  string
	Value Word // known only where it stands there as it is
	Class VarClass
}

// VarClass tells how far a variable can change what a program does.
type VarClass uint8

// The classes of variables.
const (
	Other     VarClass = iota // unknown: proves no allow
	Harmless                  // counts for nothing
	Dangerous                 // can make a program run something else: opaque
)

// Facts is what a command line would do.
type Facts struct {
	Source string
	// Actions in the order of the line; derived actions follow their parent.
	Actions []Action
	// Simple: the line is exactly one simple command without redirections,
	// assignments, substitutions or here-documents, so that a rule's words can
	// stand for the whole line.
	Simple bool
	// Failed tells of a line that could not be read at all, whose only action is
	// opaque; nil if it could.
	Failed *Failure
}

// Variable is the dangerous variable that an Opaque action is about, "" if it is
// about something else.
func (a *Action) Variable() string {
	if a.Kind == Opaque && (a.Why.Cause == causeVariable || a.Why.Cause == causeCounter) {
		return a.Why.Name
	}
	return ""
}

// Unproven reports whether the action is a Command that no allow rule with a
// specifier covers although its words may match.
func (a *Action) Unproven() bool { return a.Kind == Command && a.Why.Cause != 0 }

// Options are what Analyze is told of the machine and the shell.
type Options struct {
	Dir  string // directory the shell is in, absolute; "" is unknown
	Home string // home directory; "" is unknown
	// Workspace is the directory whose configuration may be trusted,
	// absolute; "" is Dir.
	Workspace string
	Dialect   Dialect // what will run the line
	Catalog   *program.Catalog
}

// Dialect is the language that a command line is in.
type Dialect uint8

// The dialects. Foreign stands for shells that are not read (PowerShell, cmd):
// the whole line is opaque.
const (
	Bash Dialect = iota
	Sh
	Zsh
	Foreign
)

// Failure tells of a line that could not be read.
type Failure struct {
	Why Why
	// Line is the number of the line in which the parser stopped, 0 if it did not
	// or that is not known.
	Line int
	// Document is the delimiter of the here-document that begins where the parser
	// stopped, which may be one without an end; "" if none begins there.
	Document string
}
