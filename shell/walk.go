package shell

import (
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

// stmts walks statements one after the other and returns the state behind
// them. Statements behind an exit are walked as well.
func (w *walker) stmts(list []*syntax.Stmt, s *scope) *scope {
	return w.block(list, s).any()
}

// block is stmts with the outcome of the last statement.
func (w *walker) block(list []*syntax.Stmt, s *scope) outcome {
	out := same(s)
	last := s
	for _, stmt := range list {
		at := out.any()
		if at == nil {
			at = last
		}
		last = at
		out = w.stmt(stmt, at)
	}
	return out
}

func (w *walker) stmt(st *syntax.Stmt, s *scope) outcome {
	if w.unit.outer == nil {
		defer func(from, to int) { w.from, w.to = from, to }(w.from, w.to)
		w.from, w.to = int(st.Pos().Offset()), int(st.End().Offset())
	}
	w.redirects(st.Redirs, s)
	if st.Coprocess || st.Disown {
		w.odd(causeOtherBackground)
	}
	in := s
	if s.names != nil && redirectsInput(st.Redirs) {
		in = s.with(func(c *scope) { c.names = nil })
	}
	out := w.command(st.Cmd, in)
	if len(st.Redirs) > 0 {
		out.fail = join(out.fail, in) // nothing happens when a redirection fails
	}
	switch {
	case st.Background || st.Coprocess || st.Disown:
		return same(s)
	case st.Negated:
		return outcome{ok: out.fail, fail: out.ok}
	}
	return out
}

func (w *walker) command(cmd syntax.Command, s *scope) outcome {
	switch c := cmd.(type) {
	case nil:
		return same(s)
	case *syntax.CallExpr:
		return w.call(c, s)
	case *syntax.BinaryCmd:
		return w.binary(c, s)
	case *syntax.Subshell:
		w.stmts(c.Stmts, s)
		return same(s)
	case *syntax.Block:
		return w.block(c.Stmts, s)
	case *syntax.IfClause:
		return w.ifClause(c, s)
	case *syntax.WhileClause:
		return w.while(c, s)
	case *syntax.ForClause:
		return w.forClause(c, s)
	case *syntax.CaseClause:
		return w.caseClause(c, s)
	case *syntax.FuncDecl:
		return w.function(c, s)
	case *syntax.TestClause:
		w.bashOnly("[[")
		w.test(c.X, s)
		return same(s)
	case *syntax.ArithmCmd:
		w.bashOnly("((")
		w.arithm(c.X, s)
		return same(w.assignedBy(c.X, s))
	case *syntax.DeclClause:
		return w.declare(c, s)
	case *syntax.LetClause:
		return w.let(c, s)
	case *syntax.TimeClause:
		return w.time(c, s)
	case *syntax.CoprocClause:
		w.odd(causeCoproc)
		if c.Stmt != nil {
			w.stmt(c.Stmt, s)
		}
		if c.Name != nil {
			w.fields(c.Name, s)
		}
		return same(s)
	}
	w.odd(causeOtherCommand)
	return same(s)
}

// binary walks a chain of commands. Chains nest to the left, as deep as they are
// long, and are gone through in a loop: recursion would copy a stack of their
// length again and again.
func (w *walker) binary(c *syntax.BinaryCmd, s *scope) outcome {
	var few [8]*syntax.BinaryCmd
	chain := few[:0]
	from, to := w.from, w.to
	for st := (*syntax.Stmt)(nil); c != nil; c = chained(st) {
		if st != nil {
			w.at(st)
		}
		if c.Op == syntax.PipeAll {
			w.bashOnly("|&")
		}
		chain = append(chain, c)
		st = c.X
	}
	last := len(chain) - 1
	out := w.stmt(chain[last].X, s)
	var names []Word // what the left side of the pipe prints
	for i := last; i >= 0; i-- {
		c = chain[i]
		w.from, w.to = from, to
		if i > 0 {
			w.at(chain[i-1].X)
		}
		switch {
		case c.Op == syntax.AndStmt || c.Op == syntax.OrStmt:
			out = w.right(c, out, s)
			continue
		case i == last || chain[i+1].Op != syntax.Pipe:
			names = w.namesFrom(c.X, s, false)
		case !narrows(chain[i+1].Y):
			names = w.namesFrom(chain[i+1].Y, s, false)
		}
		w.piped(c, names, s)
		out = same(s)
	}
	return out
}

// chained returns the command of a statement that is nothing but the left side
// of a chain, nil for any other.
func chained(st *syntax.Stmt) *syntax.BinaryCmd {
	if len(st.Redirs) > 0 || st.Background || st.Coprocess || st.Disown || st.Negated {
		return nil
	}
	c, _ := st.Cmd.(*syntax.BinaryCmd)
	return c
}

// at makes a statement of the line itself the place of what is found next.
func (w *walker) at(st *syntax.Stmt) {
	if w.unit.outer == nil {
		w.from, w.to = int(st.Pos().Offset()), int(st.End().Offset())
	}
}

// right walks the right side of && or ||.
func (w *walker) right(c *syntax.BinaryCmd, x outcome, s *scope) outcome {
	if c.Op == syntax.AndStmt {
		y := w.stmt(c.Y, reached(x.ok, s))
		return outcome{ok: y.ok, fail: join(x.fail, y.fail)}
	}
	y := w.stmt(c.Y, reached(x.fail, s))
	return outcome{ok: join(x.ok, y.ok), fail: y.fail}
}

// piped walks the right side of a pipe.
func (w *walker) piped(c *syntax.BinaryCmd, names []Word, s *scope) {
	if _, ok := c.Y.Cmd.(*syntax.TimeClause); ok {
		// Behind a pipe bash takes time for an ordinary command.
		w.odd(causeTimeBehindPipe)
	}
	if c.Op == syntax.PipeAll {
		names = nil // messages come through as well
	}
	if names != nil || s.names != nil {
		s = s.with(func(n *scope) { n.names = names })
	}
	w.stmt(c.Y, s)
}

// reached replaces the state of a place that is not reached.
func reached(s, instead *scope) *scope {
	if s == nil {
		return instead
	}
	return s
}

func (w *walker) ifClause(c *syntax.IfClause, s *scope) outcome {
	if len(c.Cond) == 0 { // else
		return w.block(c.Then, s)
	}
	cond := w.block(c.Cond, s)
	then := w.block(c.Then, reached(cond.ok, s))
	if c.Else == nil {
		return outcome{ok: join(then.ok, cond.fail), fail: then.fail}
	}
	other := w.ifClause(c.Else, reached(cond.fail, s))
	return outcome{ok: join(then.ok, other.ok), fail: join(then.fail, other.fail)}
}

func (w *walker) while(c *syntax.WhileClause, s *scope) outcome {
	in := w.loopStart(s, c.Cond, c.Do)
	cond := w.block(c.Cond, in)
	enter, leave := cond.ok, cond.fail
	if c.Until {
		enter, leave = leave, enter
	}
	w.stmts(c.Do, reached(enter, in))
	return same(reached(leave, in))
}

// namesFrom returns the places whose names a command prints, nil if that is not
// known: the names that find, ls and their like print lie below the places that
// they were given.
func (w *walker) namesFrom(st *syntax.Stmt, s *scope, bare bool) []Word {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if narrows(b.Y) {
			return w.namesFrom(b.X, s, bare)
		}
		return w.namesFrom(b.Y, s, bare)
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if name := call.Args[0].Lit(); isName(name) && !printsNames(name) {
		return nil // spares expanding its words once more
	}
	defer w.mute()()
	var words []Word
	for _, list := range w.argLists(call.Args, s) {
		words = append(words, list...)
	}
	return w.namesOf(words, bare)
}

// isName reports whether a literal is nothing but letters: it stands for itself.
func isName(text string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] < 'a' || text[i] > 'z' {
			return false
		}
	}
	return text != ""
}

// narrows reports whether a command in a pipe passes some of its lines on as
// they are.
func narrows(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	name := call.Args[0].Lit()
	flags, ok := narrowing[name]
	operands := 0
	for _, a := range call.Args[1:] {
		text, plain := literal(a)
		switch {
		case !plain || strings.HasPrefix(text, "-") && strings.Trim(text[1:], flags) != "":
			return false
		case !strings.HasPrefix(text, "-") && strings.Trim(text, "+0123456789") != "":
			operands++
		}
	}
	return ok && (operands == 0 && name != "grep" || operands == 1 && name == "grep")
}

// narrowing are the commands that pass lines on, with the option letters that
// change nothing in a line.
var narrowing = map[string]string{
	"sort": "urnVzfb", "uniq": "uiz", "head": "n0123456789z", "tail": "n0123456789z", "grep": "viEFPwx",
}

// redirectsInput reports whether standard input comes from somewhere else.
func redirectsInput(list []*syntax.Redirect) bool {
	for _, r := range list {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut, syntax.DplIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
			return true
		}
	}
	return false
}

// loopStart is the state at the start of every round of a loop: the directory
// is known only if no round changes it.
func (w *walker) loopStart(s *scope, bodies ...[]*syntax.Stmt) *scope {
	for _, body := range bodies {
		if moves(body) {
			return s.in(unknown())
		}
	}
	return s
}

// moves reports whether statements may change the directory. A word that is
// not plain may be cd, and a function may call it.
func moves(stmts []*syntax.Stmt) bool {
	found := false
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 {
				return !found
			}
			for i, arg := range call.Args {
				text, plain := literal(arg)
				if movers[text] || !plain && i == 0 {
					found = true
				}
				if !runsBuiltins[text] && !strings.HasPrefix(text, "-") {
					break
				}
			}
			return !found
		})
	}
	return found
}

func (w *walker) forClause(c *syntax.ForClause, s *scope) outcome {
	if c.Braces {
		w.odd(causeLoopBraces)
	}
	in := w.loopStart(s, c.Do)
	if w.unit.moves && w.definesFunctions(s) {
		in = s.in(unknown())
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		w.loopVariable(l, s)
		in = in.assign(l.Name.Value)
	case *syntax.CStyleLoop:
		w.bashOnly("for ((")
		w.arithm(l.Init, s)
		in = w.assignedBy(l.Init, in)
		w.arithm(l.Cond, in)
		w.arithm(l.Post, in)
	default:
		w.odd(causeOtherLoop)
	}
	if c.Select {
		w.bashOnly("select")
	}
	w.stmts(c.Do, in)
	return same(s.in(in.dirs...))
}

func (w *walker) definesFunctions(s *scope) bool { return len(s.funcs) > 0 }

func (w *walker) loopVariable(l *syntax.WordIter, s *scope) {
	var all []Word
	for _, item := range l.Items {
		var values []Word
		for _, list := range w.fields(item, s) {
			values = append(values, list...)
		}
		for i := range values {
			values[i].Split, values[i].Pos, values[i].End = false, 0, 0
		}
		w.unit.saw(item, values)
		all = append(all, values...)
	}
	w.setsOneOf(l.Name.Value, all, -1)
}

func (w *walker) caseClause(c *syntax.CaseClause, s *scope) outcome {
	w.value(c.Word, s)
	out := same(s)
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			w.pattern(p, s, true)
		}
		o := w.block(item.Stmts, s.in(out.any().dirs...))
		out = outcome{ok: join(out.ok, o.ok), fail: join(out.fail, o.fail)}
	}
	return out
}

func (w *walker) function(c *syntax.FuncDecl, s *scope) outcome {
	if c.Name == nil || len(c.Names) > 0 {
		w.odd(causeOtherFunction)
		w.stmt(c.Body, s)
		return same(s)
	}
	if c.RsrvWord {
		w.bashOnly("function")
	}
	name := c.Name.Value
	if w.opt.Catalog.Lookup(name) != nil || strings.HasPrefix(name, "command_not_found") {
		w.odd(causeFunctionOfCommand, name)
	}
	if callsItself(c.Body, name) {
		w.opaque(w.parent, MayRun, CauseForkBomb)
	}
	// The body may be called from anywhere behind: it knows the directory
	// only if nothing in the text changes it.
	in := s
	if w.unit.moves {
		in = s.in(unknown())
	}
	outer := w.inFunction
	w.inFunction = true // local is an error elsewhere
	w.stmt(c.Body, in.with(func(n *scope) { n.names = nil }))
	w.inFunction = outer
	return same(s.define(name))
}

// callsItself reports whether a function calls itself in a pipe or in the
// background.
func callsItself(body *syntax.Stmt, name string) bool {
	found := false
	var in func(st *syntax.Stmt, forked bool)
	in = func(st *syntax.Stmt, forked bool) {
		forked = forked || st.Background
		switch c := st.Cmd.(type) {
		case *syntax.CallExpr:
			if len(c.Args) > 0 {
				if text, ok := literal(c.Args[0]); ok && text == name && forked {
					found = true
				}
			}
		case *syntax.BinaryCmd:
			pipe := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
			in(c.X, forked || pipe)
			in(c.Y, forked || pipe)
		case *syntax.Block:
			for _, x := range c.Stmts {
				in(x, forked)
			}
		case *syntax.Subshell:
			for _, x := range c.Stmts {
				in(x, forked)
			}
		}
	}
	in(body, false)
	return found
}

// time: bash takes the word for the keyword only before a pipeline; the parser
// knows some of its places wrongly.
func (w *walker) time(c *syntax.TimeClause, s *scope) outcome {
	w.bashOnly("time")
	if c.Stmt == nil {
		return same(s)
	}
	if strings.HasPrefix(w.unit.src[c.Stmt.Pos().Offset():], "-") {
		w.odd(causeTimeOption)
	}
	switch c.Stmt.Cmd.(type) {
	case *syntax.CallExpr, *syntax.BinaryCmd, nil:
	default:
		w.odd(causeTimeCompound)
	}
	return w.stmt(c.Stmt, s)
}

// call is a simple command, or assignments alone.
func (w *walker) call(c *syntax.CallExpr, s *scope) outcome {
	w.substituted = false
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			s = w.assignment(a, s, true)
		}
		return same(s)
	}
	var assigns []Assign
	for _, a := range c.Assigns {
		w.assignment(a, s, false)
		if a.Name != nil {
			value := plainValue(a)
			assigns = append(assigns, Assign{Name: a.Name.Value, Value: value, Class: w.unit.dialect.classOf(a.Name.Value, &value)})
		}
	}
	words, plain := w.plainArgs(c.Args)
	if plain {
		return w.simple(words, frame{assigns: assigns, parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}, s)
	}
	lists := w.fieldLists(c.Args, s)
	frame := frame{assigns: assigns, parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}
	out := outcome{}
	for _, words := range lists {
		o := w.simple(words, frame, s)
		out = outcome{ok: join(out.ok, o.ok), fail: join(out.fail, o.fail)}
	}
	return out
}

func (w *walker) span(n syntax.Node) [2]int {
	if w.unit.outer != nil {
		return [2]int{}
	}
	return [2]int{int(n.Pos().Offset()), int(n.End().Offset())}
}

// argLists expands the words of a command into the argument lists that it may
// have.
func (w *walker) argLists(args []*syntax.Word, s *scope) [][]Word {
	if words, ok := w.plainArgs(args); ok {
		return [][]Word{words}
	}
	return w.fieldLists(args, s)
}

// fieldLists is argLists for words that are not all plain.
func (w *walker) fieldLists(args []*syntax.Word, s *scope) [][]Word {
	var lists [][]Word
	for _, arg := range args {
		next := w.fields(arg, s)
		if len(next) == 1 && len(lists) == 1 {
			lists[0] = append(lists[0], next[0]...)
			continue
		}
		lists = product(lists, next)
	}
	return lists
}

func (w *walker) plainArgs(args []*syntax.Word) ([]Word, bool) {
	words := w.wordsFor(len(args))
	for i, arg := range args {
		f, ok := w.plainWord(arg)
		if !ok {
			return nil, false
		}
		words[i] = f
	}
	return words, true
}

// wordsFor returns room for the words of a command: out of that for the whole
// line, while there is some. To append to them copies them.
func (w *walker) wordsFor(n int) []Word {
	if len(w.room) < n {
		return make([]Word, n)
	}
	words := w.room[:n:n]
	w.room = w.room[n:]
	return words
}

// assignment walks one assignment. A dangerous variable makes what follows
// opaque, before a command as well as alone.
func (w *walker) assignment(a *syntax.Assign, s *scope, alone bool) *scope {
	if a.Name == nil || !syntax.ValidName(a.Name.Value) {
		// The parser takes any word with =[ in it for an assignment.
		w.odd(causeNoAssignment)
		if a.Value != nil {
			w.value(a.Value, s)
		}
		return s
	}
	w.setsOneOf(a.Name.Value, w.assignParts(a, s), w.parent)
	if !alone {
		return s
	}
	return s.assign(a.Name.Value)
}

// plainValue is the value of an assignment if it stands there as it is.
func plainValue(a *syntax.Assign) Word {
	if a.Append || a.Index != nil || a.Array != nil {
		return unknown()
	}
	return plainWordText(a.Value)
}

// plainWordText is a word that stands there as it is, else unknown.
func plainWordText(word *syntax.Word) Word {
	if word == nil {
		return Word{}
	}
	text, plain := literal(word)
	if !plain {
		return unknown()
	}
	return Word{Text: text}
}

// assignParts walks the index and the value of an assignment, keeps the value,
// and returns the words that it may be; none if they are not known.
func (w *walker) assignParts(a *syntax.Assign, s *scope) []Word {
	if a.Append {
		w.bashOnly("+=")
	}
	if a.Index != nil {
		w.bashOnly("an index")
		w.arithm(a.Index, s)
	}
	if a.Array != nil {
		w.array(a.Array, s)
	}
	if a.Value == nil {
		return nil
	}
	values := w.value(a.Value, s)
	for i := range values {
		values[i].Pos, values[i].End = 0, 0
	}
	w.unit.saw(a.Value, values)
	return values
}

func (w *walker) array(a *syntax.ArrayExpr, s *scope) {
	w.bashOnly("an array")
	for _, e := range a.Elems {
		if e.Index != nil {
			w.arithm(e.Index, s)
		}
		if e.Value != nil {
			w.fields(e.Value, s)
		}
	}
}

// frame is where a simple command comes from.
type frame struct {
	assigns []Assign
	parent  int
	from    int
	subst   bool
	pos     [2]int
}

// simple is one argument list of a command.
func (w *walker) simple(words []Word, f frame, s *scope) outcome {
	if len(words) == 0 {
		return same(s)
	}
	a := Action{
		Kind: Command, Need: NeedCover, Words: words, Assigns: f.assigns, Dirs: s.dirs,
		Substitution: f.subst, Parent: f.parent, From: f.from, Pos: f.pos[0], End: f.pos[1],
	}
	name := &words[0]
	if !name.Known() {
		i := w.add(a)
		w.opaque(i, MayRun, causeNameUnknown)
		return same(s)
	}
	if s.funcs[name.Text] && f.from < 0 {
		a.Need = NeedNone
		a.Reason = "a function of this line"
		w.add(a)
		if w.unit.moves {
			return same(s.in(unknown()))
		}
		return same(s)
	}
	if w.unit.dialect == Zsh {
		w.zshEvaluates(words, f.parent)
	}
	a.Program = w.opt.Catalog.Lookup(base(name.Text))
	a.Why = unprovenAssign(f.assigns)
	out := w.effects(a, s)
	if w.defined[name.Text] { // perhaps the function: what it changes is not known
		return same(s.in(unknown()))
	}
	return out
}

func unprovenAssign(assigns []Assign) Why {
	for _, x := range assigns {
		if x.Class == Other {
			return because(causeObeysVariable, x.Name)
		}
	}
	return Why{}
}

// base is the last path segment of a program name.
func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }
