package shell

import "strings"

// cd changes the directory if its word is known.
func (e *effector) cd() outcome {
	rest := e.operandWords(0)
	for _, a := range e.frame.Assigns {
		if a.Name == "CDPATH" {
			rest = []Word{{Text: "-"}}
		}
	}
	switch {
	case len(rest) == 0:
		return outcome{ok: e.s.in(known(e.w.opt.Home)), fail: e.s}
	case e.physical() && strings.Contains(rest[0].Text, ".."):
	case len(rest) == 1 && rest[0].Known() && plainDir(rest[0].Text):
		return outcome{ok: e.s.in(clean(beneath(e.s.dirs, rest[0]))...), fail: e.s}
	}
	return e.stack()
}

// physical reports whether cd resolves links before "..".
func (e *effector) physical() bool {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-P" {
			return true
		}
	}
	return false
}

// plainDir reports whether text names a directory: cd - goes back, and cd "" stays.
func plainDir(text string) bool { return text != "" && !strings.HasPrefix(text, "-") }

// stack changes to a directory that is not certain, as far as its word tells, so that
// ask and deny rules and the guard see where it may lead.
func (e *effector) stack() outcome {
	rest := e.operandWords(0)
	if len(rest) != 1 || !plainDir(rest[0].Text) || strings.HasPrefix(rest[0].Text, "+") {
		return outcome{ok: e.s.in(unknown()), fail: e.s}
	}
	dirs := []Word{endOf(rest[0])}
	if rest[0].Known() {
		dirs = append(dirs, beneath(e.s.dirs, rest[0])...)
	}
	return outcome{ok: e.s.in(clean(dirs)...), fail: e.s}
}
