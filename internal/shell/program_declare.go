package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// declare handles the names that a declaration sets: for the command export, and
// behind command or builtin.
func (e *effector) declare() {
	e.done, e.silent = true, true
	exports := e.exports()
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
			e.declareName(t, exports)
		}
	}
	if e.showsDeclared() {
		e.shows()
	}
}

// exports reports whether a declaration may export its names: it is an export, or has
// an option x.
func (e *effector) exports() bool {
	export := e.words[0].Text == "export"
	letter := "x"
	if export {
		letter = "n"
	}
	has := slices.ContainsFunc(e.words[1:], func(w Word) bool { return isOption(w.Text) && strings.Contains(w.Text, letter) })
	return export != has
}

func (e *effector) declareName(t *Word, exports bool) {
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
	name = withoutIndex(name)
	if e.words[0].Text != "export" && (value.secret() || e.w.holds(name) != unrelated) {
		e.w.declaresSecret()
	}
	if exports {
		if e.index >= 0 && e.w.opt.Survives {
			e.w.exporters = append(e.w.exporters, e.index)
		}
		c := change{name: name, export: true}
		if !assigns {
			c.values = e.held(name)
		}
		e.w.late(c)
	}
	switch {
	case !assigns:
		e.w.sets(name, nil, e.index)
	case plus:
		value = unknown()
		fallthrough
	default:
		e.w.keeps(name, &value, e.index)
	}
}

// held returns the values that a variable may have where it is exported: those that the
// text assigns, before or after. What it had before the line is no change, unless an
// earlier line may have assigned it.
func (e *effector) held(name string) []Word {
	switch u := e.w.unit; {
	case u.outer != nil || u.poisoned || u.dialect.changes(name):
	case u.assigned[name] == nil && !e.w.opt.Survives:
		return nil
	default:
		if values := e.w.textValues(name); values != nil {
			return values
		}
	}
	return []Word{unknown()}
}

// showsDeclared reports whether export, declare, typeset, local or readonly prints
// values. TestShellsShowNothingUnseen compares it with bash, dash and zsh.
func (e *effector) showsDeclared() bool {
	letters, names := "", e.words[:0:0]
	for _, w := range e.words[1:] {
		if w.Known() && w.Text != "" && (w.Text[0] == '-' || w.Text[0] == '+') {
			letters += w.Text[1:]
			continue
		}
		names = append(names, w)
	}
	dialect, command := e.w.unit.dialect, e.words[0].Text
	switch {
	case dialect != Sh && strings.Contains(letters, "f") || dialect == Bash && strings.Contains(letters, "F"): // functions
		return false
	case !e.vanish() && len(names) > 0:
		prints := strings.ContainsAny(letters, "pm") || dialect == Zsh && letters == "" && command != "export"
		return prints && slices.ContainsFunc(names, tellsWord)
	case strings.Contains(letters, "x") || command == "export":
		return true
	}
	whole := command == "declare" || command == "typeset" || command == "local" && dialect == Zsh
	if whole && !strings.ContainsAny(letters, "aAcilnrtu") {
		return true
	}
	e.w.listings = append(e.w.listings, e.index)
	return e.w.secretDeclared || e.w.opt.Survives
}

// letCommand handles a let that the parser takes for an ordinary command.
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

// names handles the variables that read and getopts set.
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
	if e.w.holds(withoutIndex(t.Text)) != unrelated {
		e.w.declaresSecret() // the rest of an array
	}
	value := unknown()
	e.w.keeps(withoutIndex(t.Text), &value, e.index)
}

func (e *effector) mapfile() {
	e.names()
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-C" {
			e.odd(causeMapfileRuns, e.prog.Name)
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

// printf handles -v, which sets a variable; the last one counts.
func (e *effector) printf() {
	for i := 1; i < len(e.words); i++ {
		t, last := &e.words[i], i == len(e.words)-1 && !e.words[i].Split
		switch {
		case last:
			return // the last word is the format; nothing is left for -v
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
