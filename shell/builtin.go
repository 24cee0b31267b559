package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func pathClean(p string) string { return path.Clean(p) }

// declare makes a command of an export, declare, local, readonly or typeset
// that the parser reads as a clause of its own.
func (w *walker) declare(c *syntax.DeclClause, s *scope) outcome {
	w.substituted = false
	if c.Variant.Value != "export" && c.Variant.Value != "readonly" {
		w.bashOnly(c.Variant.Value)
	}
	words := []Word{{Text: c.Variant.Value}}
	for _, a := range c.Args {
		words = append(words, w.declared(a, s)...)
	}
	f := frame{parent: w.parent, from: -1, subst: w.substituted, pos: w.span(c)}
	w.simple(words, f, s)
	if c.Variant.Value == "local" && !w.inFunction || slices.ContainsFunc(words[1:], prints) {
		return same(s)
	}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			s = s.assign(a.Name.Value)
		}
	}
	return same(s)
}

// prints reports whether a word may be an option with which a declaration shows
// variables, or is about functions, and assigns nothing: declare -p x=1.
func prints(word Word) bool {
	return word.MayBeOption() || isOption(word.Text) && strings.ContainsAny(word.Text, "pfF")
}

// declared are the words of one argument of a declaration.
func (w *walker) declared(a *syntax.Assign, s *scope) []Word {
	switch {
	case a.Name == nil:
		lists := w.fields(a.Value, s)
		if len(lists) != 1 {
			return []Word{{Holes: []Hole{{Kind: AnyText}}, Split: true}}
		}
		return lists[0]
	case a.Naked:
		if a.Index != nil {
			w.arithm(a.Index, s)
		}
		return []Word{{Text: a.Name.Value}}
	}
	w.assignParts(a, s)
	word := Word{Text: a.Name.Value + "="}
	if a.Value != nil {
		word = joinText(word, w.mutedValue(a.Value, s))
		if mayHoldBraces(a.Value) {
			w.odd(causeDeclaredBraces)
		}
	}
	return []Word{word}
}

func (w *walker) mutedValue(word *syntax.Word, s *scope) Word {
	defer w.mute()()
	values := w.value(word, s)
	if len(values) != 1 {
		return unknown()
	}
	return values[0]
}

func joinText(a, b Word) Word {
	out := Word{Text: a.Text + b.Text, Holes: a.Holes}
	for _, h := range b.Holes {
		out.Holes = append(out.Holes, Hole{At: h.At + len(a.Text), Kind: h.Kind})
	}
	return out
}

// let makes a command of a let clause.
func (w *walker) let(c *syntax.LetClause, s *scope) outcome {
	w.bashOnly("let")
	words := []Word{{Text: "let"}}
	for _, x := range c.Exprs {
		w.arithm(x, s)
		s = w.assignedBy(x, s)
		words = append(words, Word{Text: w.unit.src[x.Pos().Offset():x.End().Offset()]})
	}
	w.add(Action{
		Kind: Command, Need: NeedCover, Words: words, Program: w.opt.Catalog.Lookup("let"), Dirs: s.dirs,
		Parent: w.parent, From: -1,
	})
	return same(s)
}

// letCommand is a let that the parser takes for an ordinary command.
func (e *effector) letCommand() {
	for i := range e.words[1:] {
		t := &e.words[i+1]
		name, value, _ := strings.Cut(t.Text, "=")
		if !t.Known() || !syntax.ValidName(name) || strings.Trim(value, "0123456789+-*") != "" {
			e.odd(causeLet)
			return
		}
	}
}

// declare looks at the names that a declaration sets: the command export, and
// what stands behind command or builtin.
func (e *effector) declare() {
	e.done = true
	for i := range e.words[1:] {
		t := &e.words[i+1]
		switch {
		case t.MayBeOption():
			e.odd(causeSetUnknown, e.prog.Name)
		case strings.HasPrefix(t.Text, "-") || strings.HasPrefix(t.Text, "+"):
			if e.prog.Name != "export" && strings.ContainsAny(t.Text, "ni") {
				e.odd(causeSetEvaluates, t.Text, e.prog.Name)
			}
		default:
			e.declareName(t)
		}
	}
	if e.showsDeclared() {
		e.shows()
	}
}

func (e *effector) declareName(t *Word) {
	name, value, assigns := t.splitAt('=')
	plus := strings.HasSuffix(name, "+")
	name = strings.TrimSuffix(name, "+")
	if len(t.Holes) > 0 && t.Holes[0].At <= len(name) {
		e.odd(causeSetUnknown, e.prog.Name)
		return
	}
	if !plainIndex(name) || strings.HasPrefix(value.Text, "(") {
		e.odd(causeSetIndex, e.prog.Name)
		return
	}
	switch {
	case !assigns:
		e.w.sets(name, nil, e.index)
	case plus:
		value = unknown()
		fallthrough
	default:
		e.w.sets(name, &value, e.index)
	}
}

// names looks at the variables that read and getopts set.
func (e *effector) names() {
	e.done = true
	for _, a := range e.scan.Args {
		switch a.Kind {
		case ArgOption:
			if a.Option.Names[0] == "-a" {
				e.setName(&a.Value)
			}
		case ArgUnsure:
			e.odd(causeSetUnknown, e.prog.Name)
		}
	}
	for _, r := range e.operandWords(e.sub().Skip) {
		e.setName(&r)
	}
}

func (e *effector) setName(t *Word) {
	if !t.Known() || !plainIndex(t.Text) {
		e.odd(causeSetName, e.prog.Name)
		return
	}
	value := unknown()
	e.w.sets(withoutIndex(t.Text), &value, e.index)
}

// withoutIndex is the name of a variable before its index.
func withoutIndex(name string) string {
	name, _, _ = strings.Cut(name, "[")
	return name
}

func (e *effector) mapfile() {
	e.names()
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-C" {
			e.odd(causeMapfileRuns, e.prog.Name)
		}
	}
}

func (e *effector) wait() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgUnsure {
			e.odd(causeWait)
		}
		if a.Kind == ArgOption && a.Option.Names[0] == "-p" {
			e.setName(&a.Value)
		}
	}
}

func (e *effector) unset() {
	e.done = true
	for _, r := range e.operandWords(0) {
		if !r.Known() || !plainIndex(r.Text) {
			e.odd(causeSetIndex, e.prog.Name)
			continue
		}
		e.w.sets(withoutIndex(r.Text), nil, e.index)
	}
}

// printf -v sets a variable; of several the last.
func (e *effector) printf() {
	for i := 1; i < len(e.words); i++ {
		t, last := &e.words[i], i == len(e.words)-1 && !e.words[i].Split
		switch {
		case last:
			return // a format, whatever it says: behind -v none is left
		case t.MayBeOption():
			e.odd(causePrintfFormat)
			return
		case t.Text == "-v":
			i++
			e.setName(&e.words[i])
		case strings.HasPrefix(t.Text, "-v"):
			name := cutWord(*t, 2)
			e.setName(&name)
		default:
			return
		}
	}
}

// testCommand is test and [: -v evaluates an index in the name.
func (e *effector) testCommand() {
	e.done = true
	for i := range e.words[1:] {
		t := &e.words[i+1]
		if t.Split && t.hasHole(AnyText) {
			e.odd(causeTestWords, e.prog.Name)
			return
		}
		if i+2 >= len(e.words) {
			continue
		}
		name := &e.words[i+2]
		index := !name.Known() || strings.Contains(name.Text, "[") // what -v would evaluate
		switch {
		case t.MayBeOption() && index,
			(t.Text == "-v" || t.Text == "-R") && (index && !plainIndex(name.Text) || !name.Known()):
			e.odd(causeTestIndex)
		}
	}
}

func (e *effector) hash() {
	for i := range e.words[1:] {
		if t := &e.words[i+1]; t.MayBeOption() || strings.HasPrefix(t.Text, "-") && strings.ContainsAny(t.Text, "p") {
			e.odd(causeHash)
		}
	}
}

// trap runs its first argument later, in this shell.
func (e *effector) trap() outcome {
	e.done = true
	rest := e.words[1:]
	if len(rest) > 0 && rest[0].Known() && isOption(rest[0].Text) {
		switch rest[0].Text {
		case "-l", "-p":
			return same(e.s)
		case "--":
			rest = rest[1:]
		default: // an option in one shell, a command in another
			e.odd(causeTrapOption)
			return same(e.s)
		}
	}
	if len(rest) < 2 || rest[0].Known() && (rest[0].Text == "-" || rest[0].Text == "") {
		return same(e.s)
	}
	if !rest[0].Known() {
		e.odd(causeTrapUnknown)
		return same(e.s)
	}
	s := &scope{dirs: []Word{unknown()}, funcs: e.s.funcs}
	if !e.w.unit.moves {
		s.dirs = e.s.dirs
	}
	e.w.moved = false
	e.w.recurse.nested(rest[0].Text, e.w.unit.dialect, s, e.index, "trap")
	if e.w.moved { // it may run before any of the commands behind
		return same(e.s.in(unknown()))
	}
	return same(e.s)
}

func (e *effector) alias() {
	e.done = true
	for i := range e.words[1:] {
		if t := &e.words[i+1]; !t.Known() || strings.Contains(t.Text, "=") {
			e.odd(causeAlias)
		}
	}
}

func (e *effector) enable() {
	if len(e.words) > 1 {
		e.odd(causeEnable)
	}
}

// set: options of the shell; without a word it shows all variables. -k makes
// arguments variables.
func (e *effector) set() {
	e.done = true
	if e.vanish() {
		e.shows()
	}
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case t.MayBeOption():
			e.odd(causeSetOptionUnknown)
			return
		case t.Text == "--" || t.Text == "-":
			return
		case t.Text == "-o" || t.Text == "+o":
			if i++; i < len(e.words) && (!e.words[i].Known() || e.words[i].Text == "keyword" || e.words[i].Text == "posix" || e.words[i].Text == "physical") {
				e.odd(causeSetOption)
			}
		case strings.HasPrefix(t.Text, "-") || strings.HasPrefix(t.Text, "+"):
			if strings.Trim(t.Text[1:], "aefuvxnChbo") != "" {
				e.w.bashOnly("option " + t.Text + " of set")
			}
			if strings.ContainsAny(t.Text, "kP") {
				e.odd(causeSetLetter)
			}
		default:
			return
		}
	}
}

func (e *effector) shopt() {
	e.done = true
	for i := range e.words[1:] {
		switch t := &e.words[i+1]; t.Text {
		case "-s", "-u", "-q", "-p", "-o", "nullglob", "dotglob", "failglob", "nocaseglob", "inherit_errexit":
			if !t.Known() {
				e.odd(causeShoptUnknown)
			}
		default:
			e.odd(causeShopt)
		}
	}
}

func (e *effector) complete() {
	e.done = true
	for i := range e.words[1:] {
		t := &e.words[i+1]
		if t.MayBeOption() || strings.HasPrefix(t.Text, "-") && strings.ContainsAny(t.Text, "CFW") {
			e.odd(causeComplete, e.prog.Name)
			return
		}
	}
}

func (e *effector) fc() {
	e.odd(causeFc)
}

func (e *effector) history() {
	for i := range e.words[1:] {
		t := &e.words[i+1]
		if t.MayBeOption() || strings.HasPrefix(t.Text, "-") {
			e.unprovenLate(causeHistoryFile)
		}
	}
}

// jobs -x runs a command.
func (e *effector) jobs() {
	e.done = true
	runs := false
	for i := 1; i < len(e.words); i++ {
		switch t := &e.words[i]; {
		case t.MayBeOption():
			e.odd(causeJobs)
			return
		case isOption(t.Text) && t.Text != "--":
			runs = runs || strings.Contains(t.Text, "x")
		case runs && t.Text == "--" && i+1 < len(e.words):
			e.runWords(i + 1)
			return
		case runs:
			e.runWords(i)
			return
		}
	}
}
