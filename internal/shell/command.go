package shell

import (
	"slices"
	"strings"
)

// effects adds a command and its effects according to the catalogue, and returns the
// state after it.
func (w *walker) effects(a Action, s *scope) outcome {
	e := w.effector()
	e.w, e.s, e.words, e.prog, e.frame, e.dirs = w, s, a.Words, a.Program, a, s.dirs
	out := e.run()
	w.retire(e)
	return out
}

// run adds the command and its effects, and returns the state after it.
func (e *effector) run() outcome {
	w, a, s := e.w, &e.frame, e.s
	if a.Program == nil || !standardPath(a.Words[0].Text) {
		e.unfamiliar()
	}
	if a.Program == nil {
		e.index = w.add(e.frame)
		e.settings()
		e.mayRead(e.words[1:], "argument of "+show(&e.words[0]))
		e.urls()
		e.secretWords()
		return same(s)
	}
	if a.Program.Plain && standardPath(a.Words[0].Text) {
		e.frame.Need = NeedNone
	}
	if e.frame.Prints = printsItself(a); e.frame.Prints {
		e.index = w.add(e.frame)
		return same(s)
	}
	e.scan = ScanInto(a.Program, a.Words, e.scan.Args)
	e.readOptions()
	e.workdir()
	e.namedSub()
	e.frame.untold = untold(e.scan)
	e.index = w.add(e.frame)
	e.optionEffects()
	e.plugin()
	e.obeys()
	e.settings()
	e.homeFile()
	e.leaves()
	out := e.readByProgram()
	e.operandEffects()
	e.configBeside()
	e.urls()
	e.secretWords()
	return out
}

// printsItself reports whether the only word behind the program makes it print a text about
// itself and exit.
func printsItself(a *Action) bool {
	return len(a.Words) == 2 && len(a.Program.Prints) > 0 && a.Words[1].Known() && slices.Contains(a.Program.Prints, a.Words[1].Text)
}

// unfamiliar marks a command unproven if its program is unlisted and an unknown
// argument may be an option that runs something.
func (e *effector) unfamiliar() {
	for i := range e.words[1:] {
		if e.words[i+1].MayBeOption() {
			e.unproven(causeMayBeOption, e.words[0].Text)
			return
		}
	}
}

// workdir marks a command unproven if its program takes configuration from a
// directory that is not in the workspace.
func (e *effector) workdir() {
	if !e.prog.Workdir && !e.sub().Workdir {
		return
	}
	e.frame.Config = e.dirs
	for i := range e.dirs {
		if !e.w.inside(&e.dirs[i]) {
			e.frame.Elsewhere = !e.w.allInside(e.s.dirs) // the directory of an option is in the words
			e.frame.Exact = true
			e.unproven(causeConfigElsewhere, e.prog.Name)
			return
		}
	}
}

// namedSub requires a rule that names the subcommand.
func (e *effector) namedSub() {
	if p := e.sub(); p.Apart || p.Named && len(e.operands) > 0 {
		e.frame.Reach = e.subcommandAt()
	}
}

// plugin runs the program of an unlisted subcommand: git x is git-x.
func (e *effector) plugin() {
	if !e.prog.Plugins || len(e.scan.Path) > 0 {
		return
	}
	for _, a := range e.scan.Args {
		t := &e.words[a.Word]
		if a.Kind != ArgUnlisted || strings.HasPrefix(t.Text, "-") {
			continue
		}
		name := joinText(Word{Text: e.prog.Name + "-"}, *t)
		e.runList(append([]Word{name}, e.words[a.Word+1:]...), a.Word)
		return
	}
}

// homeFile writes a file of the user's that the subcommand exists to write (kubectl
// config set).
func (e *effector) homeFile() {
	name := e.sub().Home
	if name == "" && isOwn(e.prog) {
		name = mayName(e.prog, e.words[1:])
	}
	e.ownRecord()
	if name != "" {
		e.write(joinPath(known(e.w.opt.Home), Word{Text: name}), NeedNone, false, "settings of "+e.prog.Name)
	}
}
