package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// runText runs the value of an option, or an argument, as shell text.
func (e *effector) runText(text Word, what string, missing bool) {
	if missing || !text.Known() {
		e.w.opaque(e.index, MayRun, causeCommandUnknown, what)
		e.ownText(text)
		return
	}
	e.runsInner()
	e.w.recurse.nested(text.Text, Sh, e.child(), e.index, what)
}

// runMore runs a command to which the program appends words, the first of which is
// not an option: a host, a file. Text that a shell would change makes an opaque spot.
func (e *effector) runMore(text Word, what string, missing bool) {
	if missing || !text.Known() || strings.ContainsAny(text.Text, "$`\"'\\|&;<>()*?[]#~\n") || strings.TrimSpace(text.Text) == "" {
		e.runText(text, what, missing)
		e.odd(causeMoreWords, what)
		return
	}
	var words []Word
	for _, name := range strings.Fields(text.Text) {
		words = append(words, Word{Text: name, Pos: text.Pos, End: text.End})
	}
	e.runList(append(words, Word{Text: "./", Holes: []Hole{{At: 2, Kind: AnyText}}}), -1)
}

// child returns the state in which a program starts another one.
func (e *effector) child() *scope {
	return &scope{dirs: e.dirs, input: e.s.input, env: e.s.env.given(e.frame.Assigns, e.w.unit.dialect)}
}

// runsInner notes that what the command runs is analyzed.
func (e *effector) runsInner() {
	if e.index >= 0 && e.index < len(e.w.facts.Actions) {
		e.w.facts.Actions[e.index].inner = true
	}
}

// runFile runs a program that an option names, or obeys such a file. There is nothing
// to obey in /dev/null.
func (e *effector) runFile(file Word, what string) {
	if file.Known() && file.Text == "/dev/null" {
		return
	}
	if file.hasHole(Pipe) || !file.Known() || standardInput(file.Text) {
		e.w.opaque(e.index, MayRun, causeFileUnknown, what)
		return
	}
	e.w.add(Action{
		Kind: Command, Need: NeedCover, Words: []Word{file}, Dirs: e.dirs, Reason: what,
		Parent: e.index, From: -1, Pos: file.Pos, End: file.End,
	})
	e.read(file, NeedNone, what)
	e.w.runs = append(e.w.runs, e.runsFile(file)...)
}

// leaves runs the files that operands name outside the directory below which the program
// looks for them, whether it reads or runs what it finds.
func (e *effector) leaves() {
	base := e.sub().Base
	if base == "" {
		return
	}
	for _, a := range e.scan.Args {
		w := e.words[a.Word]
		if a.Kind != ArgOperand && a.Kind != ArgUnsure && a.Kind != ArgUnlisted || strings.HasPrefix(w.Text, "-") {
			continue
		}
		if path := w.Text; strings.HasPrefix(path, "/") {
			e.runFile(w, "operand of "+e.prog.Name)
		} else if slices.Contains(strings.Split(path, "/"), "..") {
			e.runFile(joinPath(known(base), w), "operand of "+e.prog.Name)
		}
	}
}

// runsFile returns the paths of a script that the command runs.
func (e *effector) runsFile(file Word) []scriptRun {
	var out []scriptRun
	for _, at := range beneath(e.dirs, file) {
		out = append(out, scriptRun{path: at, by: e.index})
	}
	return out
}

// obeys notes the files by which the program is told what to run. An option may name
// another one (make -f x).
func (e *effector) obeys() {
	files := e.sub().Obeys
	if files == "" {
		return
	}
	note := func(file Word) {
		for _, at := range beneath(e.dirs, file) {
			e.w.runs = append(e.w.runs, scriptRun{path: at, by: e.index, obeyed: true})
		}
	}
	for name := range strings.FieldsSeq(files) {
		note(Word{Text: name})
	}
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.ValueAt >= 0 && slices.ContainsFunc(a.Option.Names, func(n string) bool { return n == "-f" || n == "--file" }) {
			note(a.Value)
			if a.Option.Effect == program.EffDir { // its file is what the directories are now
				note(Word{Text: "."})
			}
		}
	}
}

// runWords runs the words from index at on as a command.
func (e *effector) runWords(at int) { e.runList(e.words[at:], at) }

// runList runs words as a command. from is the index in the parent's words at which
// they stand, or -1.
func (e *effector) runList(words []Word, from int) outcome {
	if e.w.depth >= maxNesting {
		e.w.opaque(e.index, MayRun, causeDeep)
		return same(e.s)
	}
	e.w.depth++
	defer func() { e.w.depth-- }()
	e.runsInner()
	s := e.child()
	s.names = e.s.names
	f := frame{assigns: e.frame.Assigns, parent: e.index, from: from, subst: e.frame.Substitution}
	return e.w.recurse.simple(words, f, s)
}

// runsText runs the operands, joined by blanks, as shell text.
func (e *effector) runsText(rest []Word, what string) {
	if len(rest) == 0 {
		return
	}
	e.runText(joinWords(rest), what, false)
}

// script handles a program file as the first operand. The contents of files are not
// part of a tool use, but a program from a pipe is.
func (e *effector) script(rest []Word, what string) {
	if len(rest) == 0 {
		if e.sub().Stdin && !e.pattern {
			e.stdin()
		}
		return
	}
	e.mayRead(rest, what)
	if e.pattern {
		return
	}
	if file := rest[0]; file.hasHole(Pipe) || file.Known() && standardInput(file.Text) {
		e.stdin()
	} else {
		e.w.runs = append(e.w.runs, e.runsFile(file)...)
		e.knownScript(rest)
		if e.index >= 0 && toldOutward(rest[1:]) {
			own := &e.w.facts.Actions[e.index]
			own.Reach = max(own.Reach, 1) // a rule has to name the file
		}
	}
}

// knownScript reads the words of a program file that has a section of its own (manage.py).
func (e *effector) knownScript(words []Word) {
	name := words[0]
	if !name.Known() {
		return
	}
	if at := strings.LastIndexByte(name.Text, '/'); at >= 0 {
		name = cutWord(name, at+1)
	}
	if strings.LastIndexByte(name.Text, '.') > 0 && e.w.opt.Catalog.Lookup(name.Text) != nil {
		e.part(append([]Word{name}, words[1:]...), e.operands[e.sub().Skip])
	}
}

// toldOutward reports whether the words behind a program file name a subcommand that does
// more than a rule for all such files should let run (manage.py flush, cli.py db:drop).
// The word behind an option may be the option's value, or the subcommand.
func toldOutward(words []Word) bool {
	valued := false
	for i := range words {
		w := &words[i]
		switch {
		case strings.HasPrefix(w.Text, "-"):
			valued = !strings.Contains(w.Text, "=")
			continue
		case w.Known() && subcommand.MatchString(w.Text) && program.IsOutward(w.Text):
			return true
		case !valued:
			return false
		}
		valued = false
	}
	return false
}

// subcommand matches names of subcommands, rather than files and texts.
var subcommand = lazyregexp.New(`^[A-Za-z][A-Za-z0-9:_-]*$`)

func (e *effector) stdin() {
	e.w.opaque(e.index, MayRun, CauseStandardInput, e.prog.Name)
}

// part derives the effects of words as those of another program whose work this one
// does, without the need for a rule of their own: gh repo clone passes the words
// behind -- to git clone. from is the index at which they stand in the words of the
// command, or -1.
func (e *effector) part(words []Word, from int) {
	if e.w.depth >= maxNesting {
		e.odd(causeDeep)
		return
	}
	e.w.depth++
	defer func() { e.w.depth-- }()
	m := Action{
		Kind: Command, Need: NeedNone, Words: words, Dirs: e.dirs,
		Program: e.w.opt.Catalog.Lookup(words[0].Text), Parent: e.index, From: -1,
	}
	at := len(e.w.facts.Actions)
	e.w.recurse.effects(m, e.child())
	if at >= len(e.w.facts.Actions) || e.index < 0 {
		return
	}
	inner, own := &e.w.facts.Actions[at], &e.w.facts.Actions[e.index]
	if inner.Unproven() {
		e.doubted(inner.Why)
		own.Exact = own.Exact || inner.Exact
	}
	switch {
	case inner.Reach > 0 && from >= 0:
		own.Reach = max(own.Reach, from+inner.Reach)
	case inner.Reach > 0:
		e.unprovenLate(causeMoreThanUsual, words[0].Text)
	}
}
