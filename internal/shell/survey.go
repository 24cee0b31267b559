package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// survey examines the whole text once. It records assignments, and adds opaque spots
// where the parser's tree differs from what bash runs. A plain tree consists of
// simple commands only.
func (w *walker) survey(file *syntax.File, tree *plainTree, src string, d Dialect, parent int) *unit {
	u, v := w.newUnit()
	u.src, u.dialect = src, d
	v.w, v.u, v.parent = w, u, parent
	if tree == nil {
		syntax.Walk(file, v.node)
	} else {
		for i := range tree.calls.used {
			v.call(&tree.calls.all[i])
		}
	}
	if w.opt.Survives && (w.traced || len(v.defines) > 0) {
		syntax.Walk(file, v.outsideSubshells)
	}
	if v.lastWord {
		syntax.Walk(file, v.givesLastWord)
	}
	v.carriageReturns()
	v.continuations()
	if trailing(src)%2 == 1 {
		v.odd(causeBackslashEnd)
	}
	if d == Zsh {
		v.zsh(file)
	}
	v.functions()
	if !v.harmlessNames() {
		u.poisoned, u.moves = true, true
	}
	if u.assigned["IFS"] != nil || v.readsLine && (w.defined["read"] || slices.Contains(v.defines, "read")) {
		u.poisoned = true
	}
	return u
}

// functions records that a function of another text may assign any variable of this
// one and change its directory.
func (v *surveyor) functions() {
	for _, name := range v.called {
		if v.w.defined[name] {
			v.u.poisoned, v.u.moves = true, true
		}
	}
	if v.w.defined == nil && len(v.defines) > 0 {
		v.w.defined = map[string]bool{}
	}
	for _, name := range v.defines {
		v.w.defined[name] = true
	}
}

func (v *surveyor) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Comment:
		v.comment(n)
		v.asItIs(n)
	case *syntax.SglQuoted:
		v.quotedCR += strings.Count(n.Value, "\r")
		v.asItIs(n)
	case *syntax.DblQuoted:
		if n.Dollar {
			v.odd(causeTranslated)
		}
	case *syntax.Assign:
		v.assign(n)
	case *syntax.CallExpr:
		v.call(n)
		if readsLine(n) {
			v.readsLine = true
			for _, word := range n.Args {
				syntax.Walk(word, v.node)
			}
			if value := n.Assigns[0].Value; value != nil {
				syntax.Walk(value, v.node)
			}
			return false
		}
	case *syntax.BinaryCmd:
		v.chain(n)
		return false
	case *syntax.WordIter:
		for _, item := range n.Items {
			v.add(n.Name.Value, assigned{word: item, items: true})
			v.gives(n.Name.Value, item)
		}
		if n.Items == nil {
			v.add(n.Name.Value, assigned{})
		}
	case *syntax.ParamExp:
		v.param(n)
	case *syntax.BinaryArithm:
		v.arithm(n)
	case *syntax.UnaryArithm:
		v.step(n)
	case *syntax.CoprocClause:
		v.u.poisoned = true
	case *syntax.Redirect:
		if n.Hdoc != nil && quotedDelimiter(n.Word) {
			v.asItIs(n.Hdoc)
		} else if n.Hdoc != nil {
			v.joined = append(v.joined, stretchOf(n.Hdoc))
		}
		if n.N != nil && strings.HasPrefix(n.N.Value, "{") {
			v.add(strings.Trim(n.N.Value, "{}"), assigned{})
		}
	case *syntax.DeclClause:
		v.decl(n)
	case *syntax.FuncDecl:
		if n.Name != nil {
			v.defines = append(v.defines, n.Name.Value)
		}
	case *syntax.ForClause:
		if iter, ok := n.Loop.(*syntax.WordIter); ok && n.Select {
			v.add("REPLY", assigned{})
			v.add(iter.Name.Value, assigned{}) // empty if the answer is not a number
		}
	}
	return true
}

// chain visits lists and pipes in a loop, as walker.binary does.
func (v *surveyor) chain(c *syntax.BinaryCmd) {
	behind := []*syntax.Stmt{c.Y}
	for next := chained(c.X); next != nil; next = chained(next.X) {
		for i := range c.X.Comments {
			v.node(&c.X.Comments[i])
		}
		behind = append(behind, next.Y)
		c = next
	}
	syntax.Walk(c.X, v.node)
	for i := len(behind) - 1; i >= 0; i-- {
		syntax.Walk(behind[i], v.node)
	}
}

func (v *surveyor) odd(c Cause, names ...string) { v.w.opaque(v.parent, MayRun, c, names...) }

// comment adds an opaque spot where the parser and bash disagree on a comment. Inside
// backquotes the parser takes any # for a comment, bash only one at the start of a
// word. The parser ends a comment at the newline, whereas bash continues the command
// if a backslash precedes it.
func (v *surveyor) comment(c *syntax.Comment) {
	if !startsWord(v.u.src, int(c.Hash.Offset())) {
		v.odd(causeHashInWord)
	}
	if strings.HasSuffix(strings.TrimSuffix(c.Text, "\n"), "\\") {
		v.odd(causeCommentGoesOn)
	}
}

// startsWord reports whether a word certainly starts at an offset. A closing
// parenthesis may end a command or a part of a word.
func startsWord(src string, at int) bool {
	before := src[:min(at, len(src))]
	if before == "" {
		return true
	}
	last := len(before) - 1
	return strings.IndexByte(" \t\n;&|(", before[last]) >= 0 && (last == 0 || before[last-1] != '\\')
}

// carriageReturns adds an opaque spot for an unquoted CR, which the parser takes for
// a blank and bash for a part of the word.
func (v *surveyor) carriageReturns() {
	if strings.Count(v.u.src, "\r") > v.quotedCR {
		v.odd(causeCarriageReturn)
	}
}

// asItIs records text in which a backslash is an ordinary character.
func (v *surveyor) asItIs(n syntax.Node) { v.raw = append(v.raw, stretchOf(n)) }

func stretchOf(n syntax.Node) stretch {
	return stretch{int(n.Pos().Offset()), int(n.End().Offset())}
}

func within(list []stretch, at int) bool {
	return slices.ContainsFunc(list, func(s stretch) bool { return s.from <= at && at < s.to })
}

// continuations adds an opaque spot for a line continuation inside a word or
// operator. Bash removes the backslash and the newline before it reads on, so that $
// and ( on two lines begin a substitution; the parser has ended its token there.
func (v *surveyor) continuations() {
	src := v.u.src
	for from := 0; ; {
		at := strings.Index(src[from:], "\\\n")
		if at < 0 {
			return
		}
		at += from
		from = at + 2
		switch raw := within(v.raw, at); {
		case raw && within(v.joined, at):
			v.odd(causeDocumentGoesOn)
		case at > 0 && from < len(src) && !raw && parts(src[at-1], src[from]):
			v.odd(causeWordGoesOn)
		}
	}
}

// parts reports whether two characters may belong to one word or operator that is not
// plain text.
func parts(before, behind byte) bool {
	const ends = " \t\n"
	return before == '$' || strings.IndexByte(ends, before) < 0 && strings.IndexByte("()<>&|;{}=[]+#!`$'\"*?-", behind) >= 0
}

func (v *surveyor) add(name string, a assigned) {
	if v.u.assigned == nil {
		v.u.assigned = map[string][]assigned{}
	}
	v.u.assigned[name] = append(v.u.assigned[name], a)
}

// gives records what is put into a variable, whatever else may be.
func (v *surveyor) gives(name string, what syntax.Node) {
	if v.u.given == nil {
		v.u.given = map[string][]syntax.Node{}
	}
	v.u.given[name] = append(v.u.given[name], what)
}

// assignedName returns the name before the first = of a word of a builtin, "" if there
// is none: x of x=$y and "x=$y".
func assignedName(word *syntax.Word) string {
	parts := word.Parts
	if q, ok := parts[0].(*syntax.DblQuoted); ok {
		parts = q.Parts
	}
	if len(parts) == 0 {
		return ""
	}
	lit, _ := parts[0].(*syntax.Lit)
	if lit == nil {
		return ""
	}
	name, _, found := strings.Cut(lit.Value, "=")
	if name = strings.TrimSuffix(withoutIndex(name), "+"); found && syntax.ValidName(name) {
		return name
	}
	return ""
}

func (v *surveyor) assign(a *syntax.Assign) {
	switch {
	case a.Name != nil && a.Array != nil:
		v.gives(a.Name.Value, a.Array)
	case a.Name != nil && a.Value != nil:
		v.gives(a.Name.Value, a.Value)
	}
	switch {
	case a.Name == nil: // a naked word of declare, known only at run time
		return
	case a.Naked && a.Value == nil:
		return
	case a.Append || a.Index != nil || a.Array != nil || a.Value == nil:
		if a.Value == nil && a.Array == nil && a.Index == nil && !a.Append {
			v.add(a.Name.Value, assigned{word: &syntax.Word{}})
			return
		}
		v.add(a.Name.Value, assigned{})
	default:
		v.add(a.Name.Value, assigned{word: a.Value})
	}
}

func (v *surveyor) param(p *syntax.ParamExp) {
	v.lastWord = v.lastWord || p.Param != nil && p.Param.Value == lastWord
	if p.Param == nil || p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		v.add(p.Param.Value, assigned{word: p.Exp.Word})
		v.gives(p.Param.Value, p.Exp.Word)
	}
}

func (v *surveyor) givesLastWord(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			v.gives(lastWord, n.Args[len(n.Args)-1])
		}
	case *syntax.DeclClause:
		if len(n.Args) > 0 {
			v.gives(lastWord, n.Args[len(n.Args)-1])
		}
	}
	return true
}

func (v *surveyor) arithm(b *syntax.BinaryArithm) {
	switch b.Op {
	case syntax.Assgn:
		v.target(b.X, assigned{arith: b.Y})
	case syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		v.target(b.X, assigned{arith: b})
	}
}

func (v *surveyor) step(u *syntax.UnaryArithm) {
	if u.Op == syntax.Inc || u.Op == syntax.Dec {
		v.target(u.X, assigned{arith: u})
	}
}

// target records an arithmetic assignment to a plain name. Any other target may
// assign any variable.
func (v *surveyor) target(x syntax.ArithmExpr, a assigned) {
	if word, ok := x.(*syntax.Word); ok {
		if name := word.Lit(); syntax.ValidName(name) {
			v.add(name, a)
			return
		}
	}
	v.u.poisoned = true
}

// readsLine reports whether a command is "IFS= read -r x", with a known value. Only the
// builtin obeys it, and only where it divides what it reads: bash(1), dash(1) and
// zshmisc(1) take such an assignment back behind a command that is no special builtin.
func readsLine(c *syntax.CallExpr) bool {
	if len(c.Assigns) != 1 || len(c.Args) == 0 || c.Args[0].Lit() != "read" {
		return false
	}
	a := c.Assigns[0]
	if a.Name == nil || a.Name.Value != "IFS" || a.Append || a.Naked || a.Index != nil || a.Array != nil {
		return false
	}
	if a.Value == nil {
		return true
	}
	_, plain := literal(a.Value)
	return plain
}

// assigners lists the builtins that assign variables without an assignment in the
// tree. The value reports whether they may assign any variable.
var assigners = map[string]bool{
	"read": false, "mapfile": false, "readarray": false, "printf": false, "getopts": false,
	"wait": false, "unset": false, "let": false, "export": false, "declare": false,
	"typeset": false, "local": false, "readonly": false, "set": false, "shift": false,
	"eval": true, "source": true, ".": true, "trap": true, "coproc": true, "enable": true,
}

// setsUnasked lists the variables that a builtin sets by default.
var setsUnasked = map[string][]string{
	"read": {"REPLY"}, "mapfile": {"MAPFILE"}, "readarray": {"MAPFILE"}, "getopts": {"OPTARG", "OPTIND"},
}

// call records what a simple command may assign. A command name that is not literal
// may be any builtin.
func (v *surveyor) call(c *syntax.CallExpr) {
	if len(c.Args) == 0 {
		return
	}
	first, plain := literal(c.Args[0])
	if !plain {
		v.dynamic = append(v.dynamic, c.Args[0])
		return
	}
	if v.w.defined != nil {
		v.called = append(v.called, first)
	}
	if first == "printf" && onlyPrints(c.Args[1:]) {
		return
	}
	found, all := false, false
	names := c.Args[:1]
	if runsBuiltins[first] {
		names = c.Args
	}
	for _, arg := range names {
		text, ok := literal(arg)
		if !ok {
			continue
		}
		v.w.traced = v.w.traced || text == "set" && traces(c.Args)
		if any, is := assigners[text]; is {
			found, all = true, all || any
			for _, name := range setsUnasked[text] {
				v.add(name, assigned{})
			}
		}
		if _, moves := movers[text]; moves {
			v.u.moves = true
		}
	}
	if !found {
		return
	}
	if all {
		v.u.poisoned, v.u.moves = true, true
		return
	}
	v.names(c.Args[1:])
}

// onlyPrints reports whether printf has no option: -v, which names a variable, stands
// before the format.
func onlyPrints(args []*syntax.Word) bool {
	if len(args) == 0 {
		return true
	}
	format, plain := literal(args[0])
	return plain && !strings.HasPrefix(format, "-")
}

// harmlessNames reports whether every command name that is not literal is a variable
// to which the text assigns only names of commands that assign nothing. Each variable
// is examined once, since a line may hold thousands of both.
func (v *surveyor) harmlessNames() bool {
	var seen map[string]bool
	for _, word := range v.dynamic {
		name := plainVariable(word)
		if name == "" {
			return false
		}
		if seen[name] {
			continue
		}
		if !v.harmless(name) {
			return false
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		seen[name] = true
	}
	return true
}

// harmless reports whether the text assigns to a variable only names of commands that
// assign nothing. An unknown value makes the command opaque during the walk.
func (v *surveyor) harmless(name string) bool {
	for _, a := range v.u.assigned[name] {
		if a.word == nil {
			return false
		}
		text, ok := literal(a.word)
		if !ok {
			return false
		}
		for _, field := range strings.Fields(text) {
			_, assigns := assigners[field]
			if _, moves := movers[field]; assigns || moves || runsBuiltins[field] {
				return false
			}
		}
	}
	return true
}

// runsBuiltins lists the commands that run a builtin named by their arguments, and
// options that may stand between.
var runsBuiltins = map[string]bool{"command": true, "builtin": true, "time": true, "exec": true, "jobs": true, "-p": true}

// names records the arguments that name variables. One that is not literal may name
// any variable.
func (v *surveyor) names(args []*syntax.Word) {
	for _, arg := range args {
		text, ok := literal(arg)
		if !ok {
			if name := assignedName(arg); name != "" {
				v.gives(name, arg)
			}
			if _, isAssign := leadingName(arg); !isAssign {
				v.u.poisoned = true
			}
			continue
		}
		name, _, _ := strings.Cut(text, "=")
		name, _, _ = strings.Cut(name, "[")
		name = strings.TrimRight(name, "+-*/%&|^<>")
		if syntax.ValidName(name) {
			v.add(name, assigned{})
		}
		v.attached(name)
	}
}

// attached records a name attached to an option letter: read -ax, printf -vx.
func (v *surveyor) attached(text string) {
	if !strings.HasPrefix(text, "-") {
		return
	}
	for i := range text {
		if name := text[i+1:]; strings.IndexByte("avp", text[i]) >= 0 && syntax.ValidName(name) {
			v.add(name, assigned{})
		}
	}
}

// decl records that a name reference makes every variable unknown, and that a
// declaration without a value may empty a variable (in a function) or make it
// read-only.
func (v *surveyor) decl(d *syntax.DeclClause) {
	for _, a := range d.Args {
		switch {
		case a.Name == nil && a.Value != nil:
			text, ok := literal(a.Value)
			if !ok || !strings.HasPrefix(text, "-") || strings.ContainsAny(text, "niuclA") {
				v.u.poisoned = true
			}
			if name := assignedName(a.Value); name != "" {
				v.gives(name, a.Value)
			}
		case a.Naked && a.Name != nil && d.Variant.Value != "export":
			v.add(a.Name.Value, assigned{})
		}
	}
}

// chained returns the command of a statement that is only the left side of a chain,
// else nil.
func chained(st *syntax.Stmt) *syntax.BinaryCmd {
	if len(st.Redirs) > 0 || st.Background || st.Coprocess || st.Disown || st.Negated {
		return nil
	}
	c, _ := st.Cmd.(*syntax.BinaryCmd)
	return c
}

// outsideSubshells records what the text leaves. What is in a subshell ends with it.
func (v *surveyor) outsideSubshells(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Subshell, *syntax.CmdSubst, *syntax.ProcSubst:
		return false
	case *syntax.FuncDecl:
		if n.Name != nil {
			v.w.stay.function = n.Name.Value
		}
	case *syntax.CallExpr:
		if len(n.Args) > 0 {
			name, _ := literal(n.Args[0])
			v.w.stay.traced = v.w.stay.traced || name == "set" && traces(n.Args)
		}
	}
	return true
}
