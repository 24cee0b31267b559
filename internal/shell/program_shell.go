package shell

import (
	"path"
	"slices"
	"strings"
)

// exit ends the shell: the commands behind it are unreachable.
func (e *effector) exit() outcome {
	// exit --help continues, and so does an exit whose assignment fails.
	plain := (len(e.words) == 1 || len(e.words) == 2 && number(&e.words[1])) && len(e.frame.Assigns) == 0
	if plain && e.w.unit.outer == nil && e.words[0].Text == "exit" {
		return outcome{}
	}
	return same(e.s)
}

// builtin handles command and builtin, which run their words in this shell.
func (e *effector) builtin() outcome {
	e.done = true
	dashes := false
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case !t.Known():
			e.odd(causeBuiltinUnknown)
			return same(e.s)
		case isOption(t.Text) && !dashes:
			dashes = t.Text == "--"
			if strings.ContainsAny(t.Text, "vV") {
				e.secretWords() // names only, but for what is none
				return same(e.s)
			}
		default:
			f := frame{assigns: e.frame.Assigns, parent: e.index, from: i, subst: e.frame.Substitution}
			return e.w.recurse.simple(e.words[i:], f, e.s)
		}
	}
	return same(e.s)
}

// eval runs its words, joined by blanks, in this shell.
func (e *effector) eval() outcome {
	e.done = true
	rest := e.words[1:]
	if len(rest) > 0 && rest[0].Known() && rest[0].Text == "--" {
		rest = rest[1:]
		e.w.bashOnly("-- behind eval")
	}
	text := joinWords(rest)
	if !text.Known() {
		e.odd(causeEvalUnknown)
		e.ownText(text)
		return same(e.s.in(unknown()))
	}
	s := e.w.changed(e.s, 0).with(func(c *scope) { c.set = nil })
	s = s.behind(e.w.recurse.nested(text.Text, e.w.unit.dialect, s, e.index, "eval"))
	if e.w.unit.moves {
		return same(s.in(unknown()))
	}
	return same(s)
}

func (e *effector) source() outcome {
	e.done = true
	if rest := e.operandWords(0); len(rest) > 0 {
		e.read(rest[0], NeedNone, "operand of "+e.prog.Name)
	}
	if e.activates() {
		e.w.facts.Actions[e.index].Reach = 1
		e.w.runs = append(e.w.runs, e.runsFile(e.words[1])...)
		return same(e.s)
	}
	e.odd(causeSource)
	return outcome{ok: e.s.in(unknown()), fail: e.s.in(unknown())}
}

// activates reports whether the command runs the activation of the project's Python
// environment in this shell and nothing else. That sets PATH, PS1 and variables of its
// own, and defines the function deactivate (docs.python.org/3/library/venv.html); the
// names of programs then are those of .venv/bin. Only a rule that names the file
// covers it: who writes it lets the project's code run, whose packages lie beside.
func (e *effector) activates() bool {
	return e.index >= 0 && len(e.words) == 2 && e.words[1].Known() && path.Base(e.words[1].Text) == "activate" &&
		strings.Contains(e.words[1].Text, "/") && e.w.inEnvironment(e.words[1], e.dirs)
}

// exec runs its words. Without a command it only redirects.
func (e *effector) exec() outcome {
	e.done = true
	dashes := false
	for i := 1; i < len(e.words); i++ {
		t := &e.words[i]
		switch {
		case t.Known() && isOption(t.Text) && !dashes:
			dashes = t.Text == "--"
			e.w.bashOnly("an option of exec")
			// The value of -a is attached, or the next word.
			if at := strings.IndexByte(t.Text, 'a'); at == len(t.Text)-1 {
				if i++; i < len(e.words) && !e.words[i].Known() {
					e.odd(causeExecName)
				}
			}
		default:
			e.runWords(i)
			return same(e.s)
		}
	}
	return same(e.s)
}

// shell handles a shell: -c runs text, an operand is a script, and without either it
// reads commands from standard input.
func (e *effector) shell() {
	e.done = true
	text, script, reads, exports := false, true, false, false
	i := 1
options:
	for ; i < len(e.words); i++ {
		t := &e.words[i]
		e.w.traced = e.w.traced || tracesOption(t.Text)
		switch {
		case t.MayBeOption():
			e.odd(causeArgumentUnknown, e.prog.Name)
			return
		case t.Text == "--" || t.Text == "-":
			i++
			break options
		case t.Text == "+": // an option without letters
		case t.Text == "--rcfile" || t.Text == "--init-file":
			if i++; i < len(e.words) {
				e.runFile(e.words[i], "option "+t.Text)
			}
		case t.Text == "-O" || t.Text == "+O" || t.Text == "-o" || t.Text == "+o":
			if i++; i < len(e.words) {
				e.w.traced = e.w.traced || tracesOption(e.words[i].Text)
				e.setsGlob(e.words[i].Text)
				exports = exports || !e.words[i].Known() || e.words[i].Text == "allexport"
			}
		case strings.HasPrefix(t.Text, "--"):
			script = script && t.Text != "--version" && t.Text != "--help"
		case len(t.Text) > 1 && (t.Text[0] == '-' || t.Text[0] == '+'):
			text = text || strings.Contains(t.Text, "c")
			reads = reads || strings.Contains(t.Text, "s")
			exports = exports || strings.Contains(t.Text, "a")
			if strings.HasSuffix(t.Text, "o") || strings.HasSuffix(t.Text, "O") {
				if i++; i < len(e.words) {
					e.setsGlob(e.words[i].Text)
					exports = exports || e.words[i].Text == "allexport"
				}
			}
		default:
			break options
		}
	}
	switch {
	case text && i < len(e.words):
		e.shellText(e.words[i], exports)
		if reads { // dash continues with its input
			e.stdin()
		}
	case reads || i >= len(e.words) && script && !text:
		e.stdin()
	case i < len(e.words):
		e.pattern = false
		e.script(e.words[i:], "script")
	}
}

// supervised handles agent-wrapper exec. Behind --, one argument is a line for bash,
// several are words. Words that may vanish may leave a single one. Behind --, the
// name of a subcommand is a command too.
func (e *effector) supervised() {
	rest, ok := e.behindDashes()
	if !ok {
		e.done = len(e.sub().Path) == 1 // exec itself runs nothing without --
		return
	}
	e.done = true
	for i := range rest {
		if rest[i].Split {
			e.odd(causeArgumentsUnknown)
			return
		}
	}
	switch len(rest) {
	case 0:
	case 1:
		e.runLine(rest[0])
	default:
		e.runWords(len(e.words) - len(rest))
	}
}

// runLine runs a line for bash.
func (e *effector) runLine(text Word) {
	if !text.Known() {
		e.odd(causeLineUnknown)
		e.ownText(text)
		return
	}
	e.w.recurse.nested(text.Text, Bash, e.child(), e.index, "agent-wrapper exec")
}

// shellText runs the text of a shell. exports reports that an option exports all its
// variables.
func (e *effector) shellText(text Word, exports bool) {
	if !text.Known() {
		e.odd(causeShellText, e.prog.Name)
		e.ownText(text)
		return
	}
	s := e.child()
	if exports {
		s.env = s.env.after(&change{all: true}, e.w.unit.dialect)
	}
	e.w.recurse.nested(text.Text, dialectOf(e.prog.Name), s, e.index, e.prog.Name+" -c")
}

func dialectOf(shell string) Dialect {
	switch shell {
	case "bash":
		return Bash
	case "zsh":
		return Zsh
	case "sh", "dash", "ash":
		return Sh
	}
	return Foreign
}

// busybox runs the applet named by its first argument.
func (e *effector) busybox() {
	e.done = true
	if len(e.words) > 1 && !strings.HasPrefix(e.words[1].Text, "--") {
		e.runWords(1)
	}
}

// behind runs the words behind -- as a command.
func (e *effector) behind() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgDashes && a.Word+1 < len(e.words) {
			e.runWords(a.Word + 1)
			return
		}
	}
}

// tmux adds an opaque spot for a format with #( ), which runs a command (tmux(1),
// "Formats").
func (e *effector) tmux() {
	if slices.ContainsFunc(e.words[1:], func(w Word) bool { return strings.Contains(w.Text, "#(") }) {
		e.odd(causeTmuxFormat)
	}
	for i := 1; i+1 < len(e.words); i++ { // tmux(1): a word that ends in ; ends a command
		if strings.HasSuffix(e.words[i].Text, ";") {
			e.part(append([]Word{e.words[0]}, e.words[i+1:]...), -1)
			return
		}
	}
}
