package shell

import (
	"slices"
	"strings"
)

// crontab: an operand is a file of commands that are run later.
func (e *effector) crontab() {
	for _, r := range e.operandWords(0) {
		e.runFile(r, "operand of crontab")
	}
}

// tmux runs what a format holds in #( ) (tmux(1), "Formats").
func (e *effector) tmux() {
	if slices.ContainsFunc(e.words[1:], func(w Word) bool { return strings.Contains(w.Text, "#(") }) {
		e.odd(causeTmuxFormat)
	}
}

// behind: the words behind -- are a command.
func (e *effector) behind() {
	for _, a := range e.scan.Args {
		if a.Kind == ArgDashes && a.Word+1 < len(e.words) {
			e.runWords(a.Word + 1)
			return
		}
	}
}
