package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// Hole marks a place in a word whose text is known only when the line runs.
type Hole struct {
	At   int      // byte offset in Word.Text
	Kind HoleKind // what may stand there
	// Secret is not 0 if what stands there reveals the value of a variable whose name is
	// that of a secret: NPM_TOKEN, db_password.
	Secret Secrecy
	// Job reports that it is the value of $!. Count reports that it is a count that a
	// substitution prints, with blanks before it, or nothing.
	Job, Count bool
}

// Secrecy tells what a text reveals about a secret.
type Secrecy uint8

const (
	unrelated Secrecy = iota
	asItIs            // it is a secret, and may be tested for emptiness and length
	derived           // it is computed from a secret, and so is whether it is empty
)

// HoleKind tells what may fill a hole.
type HoleKind uint8

// The kinds of holes.
const (
	AnyText HoleKind = iota // any text, including none
	Glob                    // pathname expansion: any text without a slash
	Digits                  // decimal digits only, at least one
	Number                  // as Digits, with an optional minus sign
	Pipe                    // the descriptor number of a process substitution
	Pattern                 // a pattern that the program itself matches: as Glob, also for a leading dot (the shell's own under dotglob)
)

// Word is one argument as the program receives it. Its text is known except at its
// holes: "src/$x.go" has Text "src/.go" and a hole at 4.
type Word struct {
	Text  string
	Holes []Hole
	// Split reports that the word may become any number of words, including none (an
	// unquoted expansion, a glob).
	Split bool
	// Pos and End delimit the word in the command line, in bytes. Both are 0 if it
	// does not stand there literally (an alias, the text of an eval).
	Pos, End int
	// under holds the paths that the word's unknown names lie at or below (names
	// printed by find), relative to the directory of the command that receives the
	// word; nil if unknown.
	under []Word
	// printed reports that the names come from a substitution. Ask and deny rules
	// then take under for true, but it proves nothing for an allow.
	printed bool
	// files, for a word in under, reports that the names are of regular files, not of
	// links.
	files bool
	// matched reports that the word is a pattern that the program itself matches, or a
	// name that one means.
	matched bool
	// walk, for a word in under, tells which files there are named: it is the place of that
	// in Facts.walks, counted from 1, or 0 for every file.
	walk uint16
}

// Known reports whether the word is one word of known text.
func (w *Word) Known() bool { return len(w.Holes) == 0 && !w.Split }

// Filled returns the word's text with mark at each hole.
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

// MayBeOption reports whether the program may take the word for an option that the
// text does not show: a hole stands where a dash would, or the word may split.
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

// onlyGlobs reports whether nothing but pathname expansion fills the holes of a word.
func (w *Word) onlyGlobs() bool {
	return !slices.ContainsFunc(w.Holes, func(h Hole) bool { return h.Kind != Glob && h.Kind != Pattern })
}

// Kind is the kind of an action.
type Kind uint8

// The kinds of actions; the zero value is invalid.
const (
	Command Kind = iota + 1 // runs Words
	Read                    // reads Path
	Write                   // creates, changes or removes Path
	Fetch                   // fetches the URL in Path
	Opaque                  // may do anything that May allows for
)

// Need is the cover that an action needs from a rule before it may be allowed.
type Need uint8

// The needs. A Command with NeedNone is a plain wrapper (timeout, nice).
const (
	NeedNone    Need = iota // none; only ask and deny rules apply to it
	NeedOutside             // a rule of its own if the path is outside the workspace
	NeedCover               // always
)

// Effects is the set of effects that an opaque spot may hide.
type Effects uint8

// The effects. MayRun includes all others.
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
	// Program is the catalogue entry of Words[0], nil if there is none or the name is
	// unknown.
	Program *program.Program
	// Assigns are the variable assignments before a Command's words.
	Assigns []Assign
	// Installed is the name of a Command that is a program of the project's own
	// environment (.venv/bin/pytest in the workspace), "" for any other.
	Installed string
	// Dirs holds the directories that the action may start in, as absolute paths. An
	// unknown directory is a word with holes.
	Dirs []Word
	// Substitution reports that the command's words hold a command or process
	// substitution.
	Substitution bool
	// Environment reports that the Command prints values of variables that may hold
	// secrets.
	Environment bool
	// Exports reports that the Command exports a variable that no known program obeys, in
	// a shell that survives the line.
	Exports bool

	// Path is the path of a Read or Write, absolute as far as it is known and not
	// cleaned, or the URL of a Fetch.
	Path Word
	// Recursive reports that the Read or Write includes everything below Path.
	Recursive bool
	// Sweep reports that a recursive Write affects every file below Path (find
	// -delete), unlike a formatter, which changes only files of its own kind.
	Sweep bool
	// Chosen, for a Write that sweeps, holds what the names of the changed files and
	// directories look like (*.log); nil if they may be any. What is in such a directory
	// is changed as well.
	Chosen []Word
	// Clears reports that a Write first removes what is at Path, which is not the purpose
	// of the program (pytest --basetemp).
	Clears bool
	// Replaces reports that a Write, which is not the purpose of the program, may leave
	// nothing of what Path had in it: it is no edit, like a formatter's.
	Replaces bool
	// NoFollow reports that Path is not followed if its last element is a symbolic
	// link (rm, the sources of mv).
	NoFollow bool
	// Found reports that Path stands for names found by a search, which follows no
	// links. The names may themselves be links unless NoFollow is set.
	Found bool
	// Unnamed reports that the Write may be anywhere below Path, as decided by the
	// contents of a file rather than by a word (git apply). Only ask and deny rules
	// consider it; it is not assumed to change guarded files.
	Unnamed bool
	// ByPattern reports that a pattern of the program's own names the Read below a
	// directory that is read anyway, so that only ask and deny rules and secrets count it.
	ByPattern bool
	// Own reports that the Write is to a file in which the program keeps its own
	// settings and which no word names. Harmless reports that the setting written
	// cannot make anything run.
	Own, Harmless bool
	// FollowsLinks reports that a recursive Read follows the symbolic links below Path.
	FollowsLinks bool
	// SkipHidden reports that a recursive Read leaves out names that begin with a
	// dot.
	SkipHidden bool
	// Skips holds the names of files that a recursive Read leaves out, with "*" for
	// any text. Directories of these names are read.
	Skips []string
	walk  []Walk // that of a Read, if it is not every file
	// Purpose reports that the Write is the purpose of the program (mkdir, rm, cp),
	// so that a mode that accepts edits may cover the program as well.
	Purpose bool
	// Append reports that the Write only appends; Redirect, that it is a redirection.
	Append, Redirect bool

	// May is the set of effects that an Opaque action may hide.
	May Effects

	// Why is the cause of an Opaque action. For a Command it is why no allow rule
	// with a specifier covers it even if its words match: an argument that may be an
	// option, a variable that the program may obey. It is the zero value if there is
	// no such cause.
	Why Why
	// Exact reports that Why is about what a word does, not about unknown text. A
	// rule that reaches into the command does not cover it either.
	Exact bool
	// Reach is the number of the Command's words that the literal words of an allow
	// rule must exceed. "npm install x" runs what it fetches: "npm install:*" covers
	// it, "npm:*" does not. 0 means no limit.
	Reach int
	// Elsewhere reports that the Command takes configuration from a directory that
	// its words do not show and that is not proven to be in the workspace. Not even a
	// rule for its exact words covers it.
	Elsewhere bool
	// Prints reports that the Command only prints a text about its program and exits.
	Prints bool
	// Followed reports that the Fetch is of an unknown URL that a redirect leads to.
	Followed bool
	// Hosted reports that the host of a Fetch is the beginning of a name (go get HOST/x), which
	// the program may ask for by way of a registry or a proxy.
	Hosted bool
	// Config holds the directories that the Command takes configuration from. Unless
	// the Command is unproven, they lie in the workspace lexically; links are for the
	// caller to follow.
	Config []Word
	// Reason describes to a person how a Read, Write or Fetch comes about:
	// "redirection >", "option -o of sort".
	Reason string

	// Parent is the index of the Command that causes this action (sudo for the rm of
	// "sudo rm x", sort for the write of "sort -o x"), or -1. A rule for exactly the
	// parent's words covers this action as well.
	Parent int
	// From is the index in the parent's words at which the words of this Command
	// begin, or -1 if they do not stand there unchanged, but for the name of a plugin (git-x
	// for the x of git x). A rule for the parent whose
	// literal words go beyond From covers this Command as well.
	From int
	// Pos and End delimit the action in the command line, in bytes; for an action
	// without text of its own they delimit its statement.
	Pos, End int

	// input is the text of the line on a Command's standard input.
	input input
	// fed: a pipe, a redirection or the caller of a function may give standard input.
	fed bool
	// inner: the words or the text that the Command runs were analyzed.
	inner bool
	// function: the Command is a function of the line.
	function bool
	// code is what a Command that AsFile returned runs.
	code Word
	// untold: the program's entry does not say what some word of the Command does.
	untold bool
	// share is how much PossibleCommands may find.
	share int
}

// input is text of the line that stands on the standard input of a command.
type input struct {
	texts []Word
	// changed: what the command reads is made of the texts, but is not them.
	changed bool
	// secret: a here-document or here-string holds a secret variable's value.
	secret bool
	// document: the only text is a here-document or here-string of the statement that
	// the command belongs to, and nothing else is on the input.
	document bool
}

func (in *input) given() bool { return in.changed || len(in.texts) > 0 }

// Assign is one assignment of a variable.
type Assign struct {
	Name  string
	Value Word // known only if it is literal
	Class VarClass
	// ignored reports that Class would be Other for another program.
	ignored bool
}

// VarClass is how far a variable can change what a program does.
type VarClass uint8

// The classes of variables.
const (
	Other     VarClass = iota // unlisted, or known to be neither; an allow is not proven
	Harmless                  // ignored
	Dangerous                 // can make a program run something else; opaque
)

// Facts describes what a command line would do.
type Facts struct {
	Source string
	// Actions are in the order of the line; derived actions follow their parent.
	Actions []Action
	// Simple reports that the line is one simple command without redirections,
	// assignments, substitutions or here-documents, so that a rule's words can stand
	// for the whole line.
	Simple bool
	// Failed is set if the line could not be read. Its only action is then opaque; if
	// reading ended at a limit, the last one is, and what was read before it stands.
	Failed *Failure
	walks  []Walk
}

// Variable returns the dangerous variable that an Opaque action is about, or "".
func (a *Action) Variable() string {
	if a.Kind == Opaque && (a.Why.Cause == causeVariable || a.Why.Cause == causeCounter) {
		return a.Why.Name
	}
	return ""
}

// Function reports whether the Command is a function of the line.
func (a *Action) Function() bool { return a.function }

// Unproven reports whether the action is a Command that no allow rule with a
// specifier covers although its words may match.
func (a *Action) Unproven() bool { return a.Kind == Command && a.Why.Cause != 0 }

// movers lists the builtins that may change the directory. The value reports whether they
// do so themselves; the others run text that may.
var movers = map[string]bool{"cd": true, "chdir": true, "pushd": true, "popd": true, "eval": false, "source": false, ".": false}

// Moves reports whether the action is a builtin that changes the directory.
func (a *Action) Moves() bool { return a.Kind == Command && movers[a.Words[0].Text] }

// MayMove reports whether the shell may be in another directory after the line: a builtin
// changes it, or something that is not known may. A name that the catalogue lacks may be a
// function or an alias of the user; a program of its own moves no shell, whatever it runs.
func (f *Facts) MayMove() bool {
	for i := range f.Actions {
		a := &f.Actions[i]
		unknown := a.Kind == Opaque && a.May&MayRun != 0 || a.Kind == Command && a.Program == nil && !strings.Contains(a.Words[0].Text, "/")
		if a.Moves() || unknown && (a.Parent < 0 || f.Actions[a.Parent].inShell()) {
			return true
		}
	}
	return false
}

// inShell reports whether the shell may run the Command itself: it is a builtin, or it is not known.
func (a *Action) inShell() bool { return a.Program == nil || a.Program.Facts&program.InShell != 0 }

// Unreadable reports whether nothing of the line could be read.
func (f *Facts) Unreadable() bool { return f.Failed != nil && !f.Failed.Cut }

// Options describe the machine and the shell to Analyze.
type Options struct {
	Dir  string // directory that the shell is in, absolute; "" if unknown
	Home string // home directory; "" if unknown
	// Workspace is the directory whose configuration is trusted, absolute. The
	// default is Dir. Roots are further ones.
	Workspace string
	Roots     []string
	Temp      string  // value of TMPDIR in the shell; "" if unknown
	Dialect   Dialect // the shell that runs the line
	// Survives reports that the shell may run further lines, with the variables, functions
	// and options that this one leaves behind.
	Survives bool
	Catalog  *program.Catalog
}

// Dialect is the language that a command line is in.
type Dialect uint8

// The dialects. Foreign stands for shells that are not analyzed (PowerShell, cmd):
// the whole line is opaque.
const (
	Bash Dialect = iota
	Sh
	Zsh
	Foreign
)

// Failure describes a line that could not be read, or not to its end.
type Failure struct {
	Why Why
	// Cut reports that reading ended at a limit, so that the line was read in part.
	Cut bool
	// Line is the line number at which the parser stopped, 0 if unknown.
	Line int
	// Document is the delimiter of the here-document, possibly unterminated, that
	// begins where the parser stopped, or "".
	Document string
}
