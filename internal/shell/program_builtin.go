package shell

import (
	"maps"
	"slices"
	"strings"
)

// set handles options of the shell. Without a word set prints all variables; -k makes
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
			if i++; i < len(e.words) && e.words[i].Text == "allexport" && t.Text == "-o" {
				e.exportAll()
			}
			if i < len(e.words) && (!e.words[i].Known() || e.words[i].Text == "keyword" || e.words[i].Text == "posix" || e.words[i].Text == "physical") {
				e.odd(causeSetOption)
			}
		case strings.HasPrefix(t.Text, "-") || strings.HasPrefix(t.Text, "+"):
			if strings.Trim(t.Text[1:], "aefuvxnChbo") != "" {
				e.w.bashOnly("option " + t.Text + " of set")
			}
			if strings.Contains(t.Text, "a") && t.Text[0] == '-' {
				e.exportAll()
			}
			if strings.ContainsAny(t.Text, "kP") {
				e.odd(causeSetLetter)
			}
		default:
			return
		}
	}
}

// exportAll exports what is assigned from here on, and counts what was assigned before.
func (e *effector) exportAll() {
	e.w.late(change{all: true})
	u := e.w.unit
	for _, name := range slices.Sorted(maps.Keys(u.assigned)) {
		e.w.late(change{name: name, values: e.held(name)})
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
			e.setsGlob(t.Text)
		default:
			e.odd(causeShopt)
		}
	}
}

// setsGlob adds an opaque spot for an option that changes what wildcards mean, if the line
// does not have its name as it stands: wildcards were read without it.
func (e *effector) setsGlob(option string) {
	if has := e.w.globOptions(); option == dotGlob && !has.dots || option == noCaseGlob && !has.folds {
		e.odd(causeShopt)
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

// jobs handles -x, which runs a command.
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

func (e *effector) hash() {
	for i := range e.words[1:] {
		if t := &e.words[i+1]; t.MayBeOption() || strings.HasPrefix(t.Text, "-") && strings.ContainsAny(t.Text, "p") {
			e.odd(causeHash)
		}
	}
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

// trap walks its first argument, which this shell runs later.
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
	s := e.w.anyTime(&scope{dirs: []Word{unknown()}, funcs: e.s.funcs, env: e.s.env})
	if !e.w.unit.moves {
		s = s.in(e.s.dirs...)
	}
	e.w.moved = false
	after := e.s.behind(e.w.recurse.nested(rest[0].Text, e.w.unit.dialect, s, e.index, "trap"))
	if e.w.moved { // it may run before any later command
		return same(after.in(unknown()))
	}
	return same(after)
}

// testCommand handles test and [, whose -v evaluates an index in the name.
func (e *effector) testCommand() {
	e.done, e.silent = true, !e.testsSecret()
	for i := range e.words[1:] {
		t := &e.words[i+1]
		if t.Split && slices.ContainsFunc(t.Holes, func(h Hole) bool { return h.Kind == AnyText && !h.Count }) {
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
