package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// survey reads the whole text once: it notes assignments, and makes opaque
// spots of the places where the parser's tree is not what bash runs.
// A plain tree has nothing but simple commands to look at.
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
	if u.assigned["IFS"] != nil {
		u.poisoned = true
	}
	return u
}

// functions notes that a function of another text may assign any variable of
// this one and change its directory.
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
	case *syntax.BinaryCmd:
		v.chain(n)
		return false
	case *syntax.WordIter:
		for _, item := range n.Items {
			v.add(n.Name.Value, assigned{word: item, items: true})
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
			v.add(iter.Name.Value, assigned{}) // empty for an answer that is no number
		}
	}
	return true
}

// chain goes through lists and pipes in a loop, as walker.binary does.
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

// comment: inside backquotes the parser takes any # for a comment, bash only
// one at the start of a word. The parser ends a comment at the newline; bash
// goes on with the command when a backslash stands before it.
func (v *surveyor) comment(c *syntax.Comment) {
	if !startsWord(v.u.src, int(c.Hash.Offset())) {
		v.odd(causeHashInWord)
	}
	if strings.HasSuffix(strings.TrimSuffix(c.Text, "\n"), "\\") {
		v.odd(causeCommentGoesOn)
	}
}

// startsWord reports whether a word starts at an offset for certain: a closing
// parenthesis may end a command or a part of a word.
func startsWord(src string, at int) bool {
	before := src[:min(at, len(src))]
	if before == "" {
		return true
	}
	last := len(before) - 1
	return strings.IndexByte(" \t\n;&|(", before[last]) >= 0 && (last == 0 || before[last-1] != '\\')
}

// carriageReturns: the parser takes CR for a blank, bash keeps it in the word.
func (v *surveyor) carriageReturns() {
	if strings.Count(v.u.src, "\r") > v.quotedCR {
		v.odd(causeCarriageReturn)
	}
}

// asItIs notes a stretch of text in which a backslash is a character.
func (v *surveyor) asItIs(n syntax.Node) { v.raw = append(v.raw, stretchOf(n)) }

func stretchOf(n syntax.Node) stretch {
	return stretch{int(n.Pos().Offset()), int(n.End().Offset())}
}

func within(list []stretch, at int) bool {
	return slices.ContainsFunc(list, func(s stretch) bool { return s.from <= at && at < s.to })
}

// continuations: bash takes a backslash and the newline behind it out before
// it reads on, so that $ and ( on two lines begin a substitution; the parser
// has ended its word or operator there.
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

// parts reports whether two characters may belong to one word or operator that
// is not plain text.
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

func (v *surveyor) assign(a *syntax.Assign) {
	switch {
	case a.Name == nil: // a naked word of declare: decided at run time
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
	if p.Param == nil || p.Exp == nil {
		return
	}
	switch p.Exp.Op {
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		v.add(p.Param.Value, assigned{word: p.Exp.Word})
	}
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

// target notes an arithmetic assignment to a plain name; anything else may
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

// assigners are the builtins that give variables values which the tree does
// not show. The value tells whether any variable may be concerned.
var assigners = map[string]bool{
	"read": false, "mapfile": false, "readarray": false, "printf": false, "getopts": false,
	"wait": false, "unset": false, "let": false, "export": false, "declare": false,
	"typeset": false, "local": false, "readonly": false, "set": false, "shift": false,
	"eval": true, "source": true, ".": true, "trap": true, "coproc": true, "enable": true,
}

// setsUnasked are the variables that a builtin sets without being told.
var setsUnasked = map[string][]string{
	"read": {"REPLY"}, "mapfile": {"MAPFILE"}, "readarray": {"MAPFILE"}, "getopts": {"OPTARG", "OPTIND"},
}

// movers are the builtins that change the directory.
var movers = map[string]bool{"cd": true, "pushd": true, "popd": true, "eval": true, "source": true, ".": true}

// call notes what a simple command may assign. A command name that is not
// plain text may be any builtin.
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
		if any, is := assigners[text]; is {
			found, all = true, all || any
			for _, name := range setsUnasked[text] {
				v.add(name, assigned{})
			}
		}
		if movers[text] {
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

// harmlessNames reports whether every command name that is not plain text is a
// variable that the text gives only names of commands that assign nothing. A
// variable is looked at once: a line may hold thousands of both.
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

// harmless reports whether the text gives a variable only names of commands
// that assign nothing. A value that is not known makes the command opaque when
// it is walked.
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
			if _, assigns := assigners[field]; assigns || movers[field] || runsBuiltins[field] {
				return false
			}
		}
	}
	return true
}

// runsBuiltins are the commands that run a builtin named by their arguments.
var runsBuiltins = map[string]bool{"command": true, "builtin": true, "time": true, "exec": true, "jobs": true, "-p": true}

// names notes every argument that names a variable; one that is not plain may
// name any.
func (v *surveyor) names(args []*syntax.Word) {
	for _, arg := range args {
		text, ok := literal(arg)
		if !ok {
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

// attached notes the name behind the letter of an option: read -ax, printf -vx.
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

// decl notes that a name reference makes every variable unknown, and that a
// declaration without a value may empty one (in a function), or keep it as it
// is for good (readonly).
func (v *surveyor) decl(d *syntax.DeclClause) {
	for _, a := range d.Args {
		switch {
		case a.Name == nil && a.Value != nil:
			text, ok := literal(a.Value)
			if !ok || !strings.HasPrefix(text, "-") || strings.ContainsAny(text, "niuclA") {
				v.u.poisoned = true
			}
		case a.Naked && a.Name != nil && d.Variant.Value != "export":
			v.add(a.Name.Value, assigned{})
		}
	}
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
