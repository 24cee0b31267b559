package shell

import (
	"fmt"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The limits of a command line. What is beyond them is opaque, never refused
// silently: the line may still be approved by a person.
const (
	MaxLine    = 64 << 10 // bytes
	maxOpeners = 1000     // opening ( [ { and backquotes, counted before the parse
	maxNesting = 16       // wrappers, evals and -c inside one another
	maxActions = 10000
	maxAgain   = 4 * MaxLine // bytes of text in all that commands run as text
	maxSteps   = 200000      // words that are expanded, those inside words included
	maxLinks   = 32          // links that a line makes
	maxNames   = 256         // variables or functions that are known to be set
	maxDirs    = 4           // directories that the shell may be in at one place
	maxAlts    = 32          // words or argument lists that one word or command may stand for
)

// Analyze says what a command line would do. It never fails and never panics:
// what cannot be read becomes an opaque action.
func Analyze(line string, opt Options) *Facts { return analyzeWith(line, opt, true) }

// analyzeWith is Analyze; unless quick is set, plain lines are given to the parser
// like all others.
func analyzeWith(line string, opt Options, quick bool) (f *Facts) {
	defer func() {
		if r := recover(); r != nil {
			f = failed(line, opt, because(causeReaderFailed, fmt.Sprint(r)))
		}
	}()
	w := newWalker(opt, line)
	w.quick, w.recurse = quick, w
	if _, why, err := w.run(line, opt.Dialect, &w.home, -1); why.Cause != 0 {
		f = failed(line, opt, why)
		f.Failed.stopped(line, err)
		return f
	}
	w.writtenThenRun()
	w.throughLinks()
	f = w.facts
	w.free()
	return f
}

// refuse returns why a line is not given to the parser at all.
func refuse(line string, d Dialect) Why {
	switch {
	case d == Foreign:
		return because(causeForeign)
	case len(line) > MaxLine:
		return because(causeTooLong, strconv.Itoa(MaxLine))
	case strings.IndexByte(line, 0) >= 0:
		return because(causeNUL)
	case openers(line) > maxOpeners:
		// The parser has no depth limit, and a stack overflow cannot be
		// recovered: count before the parse.
		return because(causeBrackets, strconv.Itoa(maxOpeners))
	}
	return Why{}
}

func openers(line string) int {
	return strings.Count(line, "(") + strings.Count(line, "[") + strings.Count(line, "{") + strings.Count(line, "`")
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

// parse reads text as bash reads it. RecoverErrors is never used, and a tree
// that comes with an error is thrown away: lines before the error have run by
// the time bash sees it. A parser that failed, or panicked, is not used again.
func parse(text string) (*syntax.File, error) {
	p := borrow()
	p.src.Reset(text)
	f, err := p.Parse(&p.src, "")
	if err != nil {
		return nil, err
	}
	p.src.Reset("")
	parsers.Put(p)
	return f, nil
}

// run walks shell text that starts in s, as a child of the action parent, and
// returns what comes after it, or why it could not be read, with the error of
// the parser.
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
	if outer == nil {
		w.facts.Simple = simpleLine(file)
	}
	w.unit, w.parent = outer, by
	if tree != nil {
		tree.free()
	}
	return end, Why{}, nil
}

// tree reads text. If it is plain the tree is to be freed when it has been
// walked.
func (w *walker) tree(text string) (*syntax.File, *plainTree, error) {
	if w.quick {
		if t := plain(text); t != nil {
			return &t.file, t, nil
		}
	}
	file, err := parse(text)
	return file, nil, err
}

// simpleLine reports whether a rule's words can stand for the whole line.
func simpleLine(f *syntax.File) bool {
	if len(f.Stmts) != 1 {
		return false
	}
	s := f.Stmts[0]
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(s.Redirs) > 0 || s.Background || s.Negated || s.Coprocess || len(call.Assigns) > 0 {
		return false
	}
	for _, arg := range call.Args {
		if substitutes(arg.Parts) {
			return false
		}
	}
	return true
}

// substitutes reports whether word parts hold a command or process
// substitution.
func substitutes(parts []syntax.WordPart) bool {
	for _, p := range parts {
		switch p := p.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return true
		case *syntax.DblQuoted:
			if substitutes(p.Parts) {
				return true
			}
		case *syntax.ParamExp:
			if p.Exp != nil && p.Exp.Word != nil && substitutes(p.Exp.Word.Parts) {
				return true
			}
		}
	}
	return false
}

// nested walks text that a command runs (bash -c, eval, a trap) and returns
// the state after it.
func (w *walker) nested(text string, d Dialect, s *scope, parent int, what string) *scope {
	if w.again += len(text); w.depth >= maxNesting || w.again > maxAgain {
		w.opaque(parent, MayRun, causeTextDeep, what)
		return s
	}
	if strings.HasSuffix(text, "\\") {
		// bash goes on with another state: a (( behind it is read as subshells.
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
