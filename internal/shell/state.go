package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks the tree of a command line and collects its actions. It does not use
// syntax.Walk, which does not pass on the context that several differences to bash
// depend on.
type walker struct {
	opt   Options
	facts *Facts
	unit  *unit
	// from and to delimit the current statement in the command line, for actions that
	// have no place of their own.
	from, to int
	// parent is the action that runs the current text, -1 for the line itself.
	parent  int
	depth   int
	muted   int         // if not 0, actions are dropped: a word is expanded a second time
	steps   int         // words expanded so far, to bound a line that repeats them
	parts   int         // what was read so far: see size
	runs    []scriptRun // script files that commands run
	links   []Word      // links created by ln and its like
	gitAdds gitAdds     // what git commands of the line added
	// backquotes is the depth of `..`. The parser leaves the third level in the text,
	// where an escaped backquote is a real one.
	backquotes int
	// quotes is the depth of "..", also around the substitution that is walked.
	quotes int
	again  int // bytes of text run by commands so far
	// moved reports that a text read since it was cleared may change the directory.
	moved bool
	// defined holds the functions of all texts read so far.
	defined map[string]bool
	// changes holds what the current statements change of the exported variables, and
	// ever what the line exports anywhere. Loops, functions and traps begin with bodies;
	// returns reports that the line has one of them.
	changes      []change
	ever, bodies *environ
	returns      bool
	// inFunction reports that the body of a function is walked.
	inFunction bool
	// fed reports that standard input may be another than the line's own.
	fed bool
	// substituted reports that the words expanded last held a substitution.
	substituted bool
	// listings are the commands that print what the line has declared, and
	// secretDeclared reports that this may be a secret.
	listings       []int
	secretDeclared bool
	// end is the state after the line, and stay what it leaves besides.
	end  *scope
	stay leftovers
	// exporters are the commands that export variables.
	exporters []int
	// traced reports that the shell may print each command before it runs: set -x.
	traced   bool
	globbing globOptions
	// room is space for the words of the commands of a plain line.
	room  []Word
	quick bool // plain text is read without the parser
	// recurse walks the commands in a word, or that a command runs.
	recurse recursion
	scratch
}

// gitAdds holds the files that git commands of the line put into its objects, as far as
// the actions before next tell.
type gitAdds struct {
	next  int
	files []Word
}

// recursion is the part of the walk that earlier stages call, since lines nest: a
// substitution holds statements, "sh -c" runs text, "sudo" runs words, and "gh repo
// clone" does the work of "git clone". The walker implements it itself.
type recursion interface {
	// stmts walks the statements of a substitution.
	stmts(list []*syntax.Stmt, s *scope) *scope
	// nested walks text that a command runs as a child of the action parent, and
	// returns the state after it. what names the text in messages.
	nested(text string, d Dialect, s *scope, parent int, what string) *scope
	// aside walks text beside the line, and returns its actions.
	aside(text string, s *scope) []Action
	// simple walks the words of a command.
	simple(words []Word, f frame, s *scope) outcome
	// effects adds a command and its effects according to the catalogue.
	effects(a Action, s *scope) outcome
}

// frame is the context of a simple command.
type frame struct {
	assigns []Assign
	parent  int
	from    int
	subst   bool
	pos     [2]int
}

// scriptRun is a file that a command runs.
type scriptRun struct {
	path Word
	by   int
	// obeyed: the program looks for the file on its own, and may not find it.
	obeyed bool
}

// mute drops actions until the returned function is called.
func (w *walker) mute() func() {
	was := w.substituted
	w.muted++
	return func() { w.muted--; w.substituted = was }
}

// step counts word expansions. Words nest and some are expanded more than once, so
// that without a limit a short line could take forever.
func (w *walker) step() {
	if w.steps++; w.steps > maxSteps {
		panic(tooMuch{})
	}
}

// tooMuch ends the reading of a line at a limit. What was read until then stands.
type tooMuch struct{}

// size is what an action adds to the parts of a line: the action and its words, in each
// directory that it may start in, and the length of what it has no word for.
func (a *Action) size() int {
	n := (1 + len(a.Words)) * max(len(a.Dirs), 1)
	text := len(a.Path.Text) + len(a.Path.Holes)
	for i := range a.Words {
		text += len(a.Words[i].Text) + len(a.Words[i].Holes)
	}
	for i := range a.Dirs {
		text += len(a.Dirs[i].Text)
	}
	return n + text/partBytes
}

// add appends an action and returns its index.
func (w *walker) add(a Action) int {
	if w.parts += a.size(); w.parts > maxParts {
		if w.muted == 0 {
			w.addCut(a)
		}
		panic(tooMuch{})
	}
	if w.muted > 0 {
		return -1
	}
	a.fed = w.fed
	if a.Pos == a.End {
		a.Pos, a.End = w.from, w.to
	}
	w.facts.Actions = append(w.facts.Actions, a)
	return len(w.facts.Actions) - 1
}

// maxCut is the number of words that are kept of the command at which reading ends.
const maxCut = 64

// addCut adds the action at which reading ends, for ask and deny rules: of a command the
// first words, and one for the others, of which nothing is known.
func (w *walker) addCut(a Action) {
	if a.Kind != Command {
		return
	}
	if len(a.Words) > maxCut {
		a.Words = append(slices.Clone(a.Words[:maxCut]), anyWords())
	}
	a.Why, a.Exact = because(causeTooMuch), true
	if a.Pos == a.End {
		a.Pos, a.End = w.from, w.to
	}
	w.facts.Actions = append(w.facts.Actions, a)
}

// opaque adds an opaque spot.
func (w *walker) opaque(parent int, may Effects, c Cause, names ...string) {
	w.add(opaque(parent, may, because(c, names...)))
}

func opaque(parent int, may Effects, why Why) Action {
	return Action{Kind: Opaque, Need: NeedCover, May: may, Why: why, Parent: parent, From: -1}
}

// odd adds an opaque spot for a difference between the current text and what bash
// would run.
func (w *walker) odd(c Cause, names ...string) { w.opaque(w.parent, MayRun, c, names...) }

// bashOnly adds an opaque spot for a construct that sh reads differently.
func (w *walker) bashOnly(what string) {
	if w.unit.dialect == Sh {
		w.odd(causeUnlikeSh, what)
	}
}

// sets records that a variable is set or, with a nil value, that it is unset or gets
// attributes. Where this may make something else run, it adds an opaque spot.
func (w *walker) sets(name string, value *Word, parent int) {
	if value != nil && value.secret() {
		w.secretGiven(name, parent)
	}
	if w.unit.dialect.classOf(name, value) != Dangerous {
		return
	}
	c := causeVariable
	if w.unit.dialect.effectOf(name) == varCounter {
		c = causeCounter
	}
	w.opaque(parent, MayRun, c, name)
}

// keeps is sets for a variable of the shell, whose value later commands may get.
func (w *walker) keeps(name string, value *Word, parent int) {
	w.sets(name, value, parent)
	w.late(change{name: name, values: []Word{*value}})
}

// keepsOneOf is keeps for a variable that gets one of several values.
func (w *walker) keepsOneOf(name string, values []Word, parent int) {
	w.setsOneOf(name, values, parent)
	if len(values) == 0 {
		values = []Word{unknown()}
	}
	w.late(change{name: name, values: values})
}

// setsOneOf is sets for a variable that gets one of several values.
func (w *walker) setsOneOf(name string, values []Word, parent int) {
	value := unknown()
	dangerous := func(v Word) bool { return w.unit.dialect.classOf(name, &v) == Dangerous }
	if len(values) > 0 && !slices.ContainsFunc(values, dangerous) {
		value = values[0]
	}
	value = value.revealing(secrecyOf(values))
	w.sets(name, &value, parent)
}

func (w *walker) span(n syntax.Node) [2]int {
	if w.unit.outer != nil {
		return [2]int{}
	}
	return [2]int{int(n.Pos().Offset()), int(n.End().Offset())}
}

func (w *walker) spot(f *Word, word *syntax.Word) {
	if w.unit.outer == nil {
		f.Pos, f.End = int(word.Pos().Offset()), int(word.End().Offset())
	}
}

// inside reports whether a directory is known and lies in the workspace lexically.
func (w *walker) inside(dir *Word) bool {
	if w.opt.Workspace == "" || !dir.Known() {
		return false
	}
	clean := path.Clean(dir.Text)
	return lies(clean, w.opt.Workspace) || slices.ContainsFunc(w.opt.Roots, func(root string) bool { return lies(clean, root) })
}

// lies reports whether a clean path is a directory or lies below it.
func lies(clean, dir string) bool {
	dir = path.Clean(dir)
	return clean == dir || strings.HasPrefix(clean, strings.TrimSuffix(dir, "/")+"/")
}

func (w *walker) allInside(dirs []Word) bool {
	for i := range dirs {
		if !w.inside(&dirs[i]) {
			return false
		}
	}
	return true
}
