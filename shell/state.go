package shell

import (
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker walks the tree of a command line and collects its actions. It has a
// recursion of its own: the tree's general walk does not tell the context
// that several of the differences to bash depend on.
type walker struct {
	opt   Options
	facts *Facts
	unit  *unit
	// from and to are the place of the statement that is walked, in the command
	// line itself: that of an action which has none of its own.
	from, to int
	// parent is the action that runs the text that is being walked, -1 for the
	// line itself.
	parent int
	depth  int
	muted  int         // actions are dropped: a word is read a second time
	steps  int         // words that were expanded, to end a line that repeats them
	runs   []scriptRun // script files that commands run
	links  []Word      // where ln makes links
	// backquotes: how many `..` are around; the parser leaves the third in the
	// text, where an escaped backquote is a real one.
	backquotes int
	again      int // bytes of text that commands run as text, so far
	// moved: a text that was read since it was cleared may change the directory.
	moved bool
	// defined are the functions of all texts that were read so far.
	defined map[string]bool
	// inFunction: the body of a function is walked.
	inFunction bool
	// substituted: the words expanded last held a substitution.
	substituted bool
	// room is for the words of the commands of a plain line.
	room  []Word
	quick bool // plain text is not given to the parser
	// recurse walks the commands that stand inside a word, or that a command runs.
	recurse recursion
	scratch
}

// recursion is what the walk does for the stages below it, which are called by it:
// a substitution holds statements, "sh -c" runs a text, "sudo" runs words, and
// "gh repo clone" does the work of "git clone". The walker is its own.
type recursion interface {
	// stmts walks the statements of a substitution.
	stmts(list []*syntax.Stmt, s *scope) *scope
	// nested walks text that a command runs, as a child of the action parent;
	// what names it in messages.
	nested(text string, d Dialect, s *scope, parent int, what string) *scope
	// simple walks words that a command runs.
	simple(words []Word, f frame, s *scope) outcome
	// effects adds a command and what the catalogue knows that it does.
	effects(a Action, s *scope) outcome
}

// frame is where a simple command comes from.
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
}

// mute drops actions until the function that it returns is called.
func (w *walker) mute() func() {
	was := w.substituted
	w.muted++
	return func() { w.muted--; w.substituted = was }
}

// step counts the words that are expanded. Words stand inside words, and some
// are read more than once: without a limit a short line could take forever.
func (w *walker) step() {
	if w.steps++; w.steps > maxSteps {
		panic("the line has too many parts")
	}
}

// add appends an action and returns its index.
func (w *walker) add(a Action) int {
	if w.muted > 0 {
		return -1
	}
	if len(w.facts.Actions) >= maxActions {
		panic("the line has too many parts")
	}
	if a.Pos == a.End {
		a.Pos, a.End = w.from, w.to
	}
	w.facts.Actions = append(w.facts.Actions, a)
	return len(w.facts.Actions) - 1
}

// opaque adds an opaque spot.
func (w *walker) opaque(parent int, may Effects, c Cause, names ...string) {
	w.add(opaque(parent, may, because(c, names...)))
}

func opaque(parent int, may Effects, why Why) Action {
	return Action{Kind: Opaque, Need: NeedCover, May: may, Why: why, Parent: parent, From: -1}
}

// odd adds a spot that may do anything, where the text that is walked differs
// from what bash would run.
func (w *walker) odd(c Cause, names ...string) { w.opaque(w.parent, MayRun, c, names...) }

// bashOnly notes a construct that sh reads in another way.
func (w *walker) bashOnly(what string) {
	if w.unit.dialect == Sh {
		w.odd(causeUnlikeSh, what)
	}
}

// sets notes that a variable is set, or with a nil value that it is unset or
// gets attributes. Where that can make something else run it is an opaque spot.
func (w *walker) sets(name string, value *Word, parent int) {
	if w.unit.dialect.classOf(name, value) != Dangerous {
		return
	}
	c := causeVariable
	if w.unit.dialect.effectOf(name) == varCounter {
		c = causeCounter
	}
	w.opaque(parent, MayRun, c, name)
}

// setsOneOf is sets for a variable that gets one of several values.
func (w *walker) setsOneOf(name string, values []Word, parent int) {
	value := unknown()
	if allNumbers(values) && len(values) > 0 {
		value = values[0]
	}
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

// inside reports whether a directory is known and lies in the workspace by its
// spelling.
func (w *walker) inside(dir *Word) bool {
	if w.opt.Workspace == "" || !dir.Known() {
		return false
	}
	clean, root := path.Clean(dir.Text), path.Clean(w.opt.Workspace)
	return clean == root || strings.HasPrefix(clean, strings.TrimSuffix(root, "/")+"/")
}

func (w *walker) allInside(dirs []Word) bool {
	for i := range dirs {
		if !w.inside(&dirs[i]) {
			return false
		}
	}
	return true
}
