package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Analyze returns what a command line would do. It never fails or panics: what cannot
// be read becomes an opaque action.
func Analyze(line string, opt Options) *Facts { return analyzeWith(line, opt, true) }

// analyzeWith is Analyze. Unless quick is set, plain lines go through the parser as
// well.
func analyzeWith(line string, opt Options, quick bool) (f *Facts) {
	w := newWalker(opt, line)
	w.quick, w.recurse = quick, w
	defer func() {
		switch r := recover(); r.(type) {
		case nil:
		case tooMuch:
			f = w.cutOff()
		default:
			f = failed(line, opt, because(causeReaderFailed, fmt.Sprint(r)))
		}
	}()
	if why, err := w.settled(line, opt.Dialect, &w.home); why.Cause != 0 {
		f = failed(line, opt, why)
		f.Failed.stopped(line, err)
		return f
	}
	w.writtenThenRun()
	w.throughLinks()
	w.leaves()
	f = w.facts
	f.share()
	w.free()
	return f
}

// cutOff returns the facts of a line whose reading ended at a limit: what was read, and
// one opaque spot for the rest.
func (w *walker) cutOff() *Facts {
	f := w.facts
	rest := opaque(-1, MayRun, because(causeTooMuch))
	f.Failed = &Failure{Why: rest.Why, Cut: true}
	rest.Pos, rest.End, rest.Dirs = w.from, len(f.Source), []Word{known(w.opt.Dir)}
	f.Actions = append(f.Actions, rest)
	f.share()
	return f
}

// failed returns facts with the whole line as one opaque spot.
func failed(line string, opt Options, why Why) *Facts {
	return &Facts{
		Source: line,
		Failed: &Failure{Why: why},
		Actions: []Action{{
			Kind: Opaque, Need: NeedCover, May: MayRun, Parent: -1, From: -1,
			Why: why, End: len(line), Dirs: []Word{known(opt.Dir)},
		}},
	}
}

// settled walks the text of a line, again while a loop, a function or a trap of it
// turns out to begin with more exported variables.
func (w *walker) settled(text string, d Dialect, s *scope) (Why, error) {
	for {
		outer := w.unit
		_, why, err := w.run(text, d, s, -1)
		if why.Cause != 0 || !w.returns || w.ever.within(w.bodies) {
			return why, err
		}
		w.bodies = joinEnvirons(w.bodies, w.ever)
		w.unit, w.defined, w.runs, w.links, w.changes = outer, nil, nil, nil, nil
		w.listings, w.exporters = nil, nil
		w.top, w.look = unit{}, surveyor{}
		w.facts.Actions, w.facts.Simple = nil, false
		w.moved, w.substituted = false, false
	}
}

// run walks shell text that starts in the state s, as a child of the action parent.
// It returns the state after the text, or why the text could not be read, with the
// error of the parser.
func (w *walker) run(text string, d Dialect, s *scope, parent int) (outcome, Why, error) {
	if why := refuse(text, d); why.Cause != 0 {
		return same(s), why, nil
	}
	file, tree, err := w.tree(text)
	if err != nil {
		return same(s), because(CauseUnparsed, err.Error()), err
	}
	if tree != nil && w.facts.Actions == nil {
		w.facts.Actions = make([]Action, 0, tree.actions())
		w.room = make([]Word, tree.args.used)
	}
	outer, by := w.unit, w.parent
	w.parent = parent
	w.unit = w.survey(file, tree, text, d, parent)
	w.unit.outer = outer
	w.moved = w.moved || w.unit.moves
	end := w.block(file.Stmts, s)
	if w.opt.Survives {
		w.staySecrets()
	}
	if outer == nil {
		w.end = end.any()
		w.facts.Simple = simpleLine(file)
	}
	w.unit, w.parent = outer, by
	if tree != nil {
		tree.free()
	}
	return end, Why{}, nil
}

// tree returns the tree of text. The caller frees a plain tree after the walk.
func (w *walker) tree(text string) (*syntax.File, *plainTree, error) {
	if w.quick {
		if t := plain(text); t != nil {
			return &t.file, t, nil
		}
	}
	file, err := parse(text)
	return file, nil, err
}

// nested walks text that a command runs (bash -c, eval, a trap) and returns the state
// after it.
func (w *walker) nested(text string, d Dialect, s *scope, parent int, what string) *scope {
	if w.again += len(text); w.depth >= maxNesting || w.again > maxAgain {
		w.opaque(parent, MayRun, causeTextDeep, what)
		return s
	}
	if strings.HasSuffix(text, "\\") {
		// Bash continues in another state: a (( behind it is read as subshells.
		w.opaque(-1, MayRun, causeTextBackslash, what)
	}
	w.depth++
	defer func() { w.depth-- }()
	end, why, err := w.run(text, d, s, parent)
	switch {
	case err != nil:
		w.opaque(parent, MayRun, CauseTextUnparsed, what, why.Name)
	case why.Cause != 0:
		w.opaque(parent, MayRun, causeTextRefused, what, why.String())
	}
	return end.any()
}

// aside walks text in a state, and returns its actions, which are none of the line's.
// What cannot be read has none. The limits of the line count for it.
func (w *walker) aside(text string, s *scope) []Action {
	if w.again += len(text); w.depth >= maxNesting || w.again > maxAgain {
		return nil
	}
	x := newWalker(w.opt, "")
	x.quick, x.recurse, x.unit = true, x, &unit{dialect: w.unit.dialect}
	x.depth, x.steps, x.again, x.parts = w.depth+1, w.steps, w.again, w.parts
	_, _ = x.settled(text, w.unit.dialect, s)
	actions := x.facts.Actions
	w.steps, w.again, w.parts = x.steps, x.again, x.parts
	x.free()
	return actions
}

// Readable reports whether text is a complete command line that the parser can read,
// without an unclosed loop or quote. Text beyond the limits of Analyze is not
// readable.
func Readable(text string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if refuse(text, Bash).Cause != 0 {
		return false
	}
	f, err := parse(text)
	return err == nil && len(f.Stmts) > 0
}
