package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
)

// A variable whose name says that it holds a secret does so wherever its value goes: in
// a word of a command, which may print it, if only in an error message; in another
// variable; in what the shell itself prints. That a value is empty, or how long it is,
// tells nothing: ${#x} and ${x:+set} do not count.

// mentionsSecret reports whether the value of a variable that may hold a secret is part
// of an expansion. The commands of a substitution are examined by themselves.
func (w *walker) mentionsSecret(n syntax.Node) bool {
	found := false
	if word, ok := n.(*syntax.Word); n == nil || ok && word == nil {
		return false
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			found = found || !n.Length && !tellsIfSet(n) && n.Param != nil && w.holdsSecret(n.Param.Value)
		}
		return !found
	})
	return found
}

// tellsIfSet reports whether an expansion is ${x:+word}, which only tells whether there
// is a value.
func tellsIfSet(p *syntax.ParamExp) bool {
	return p.Exp != nil && (p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull)
}

// holdsSecret reports whether the value of a variable may be a secret: by its name, or
// since the text, or one that runs it, puts the value of such a variable into it.
func (w *walker) holdsSecret(name string) bool {
	if mask.IsSecretVariable(name) {
		return true
	}
	for u := w.unit; u != nil; u = u.outer {
		if w.isGivenSecret(u, name) {
			return true
		}
	}
	return false
}

func (w *walker) isGivenSecret(u *unit, name string) bool {
	if known, done := u.secrets[name]; done || u.given[name] == nil {
		return known
	}
	u.keepsSecret(name, false) // ends a cycle
	if slices.ContainsFunc(u.given[name], w.mentionsSecret) {
		u.keepsSecret(name, true)
		return true
	}
	return false
}

// keepsSecret records whether a variable may hold a secret.
func (u *unit) keepsSecret(name string, secret bool) {
	if u.secrets == nil {
		u.secrets = map[string]bool{}
	}
	u.secrets[name] = secret
}

// secretShown adds an opaque spot for a secret that the shell itself prints.
func (w *walker) secretShown(by string) { w.opaque(w.parent, MayRead, causeSecretShown, by) }

// traceShows adds one for an expansion that the shell prints before it uses the value.
func (w *walker) traceShows(p *syntax.ParamExp) {
	if w.traced && w.mentionsSecret(p) {
		w.secretShown("set -x")
	}
}

// comparesSecret adds one for a comparison with anything but nothing, which is a guess at
// the value.
func (w *walker) comparesSecret(value, with *syntax.Word) {
	text, plain := literal(with)
	any := w.unit.text(with) == "*" || w.unit.text(with) == "?*"
	if (!plain || text != "") && !any && w.mentionsSecret(value) {
		w.secretShown("a comparison")
	}
}

// traces reports whether options of set may switch the trace on.
func traces(args []*syntax.Word) bool {
	for _, arg := range args {
		text, _ := literal(arg)
		if tracesOption(text) {
			return true
		}
	}
	return false
}

// tracesOption reports whether a word of set, or of a shell, is or may be an option that
// switches the trace on: -x, -ex, xtrace behind -o.
func tracesOption(text string) bool {
	return text == "xtrace" || strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") && strings.Contains(text, "x")
}

// secretWords marks a command that gets the value of a secret as one of its words, and
// may print it: in what it is for, or in the message of an error. A command that runs
// the words has no need to.
func (e *effector) secretWords() {
	if e.silent || !holdsSecret(e.words[1:]) {
		return
	}
	for _, a := range e.derived() {
		if a.Kind == Command && a.Parent == e.index && holdsSecret(a.Words) {
			return
		}
	}
	e.shows()
}

func holdsSecret(words []Word) bool {
	return slices.ContainsFunc(words, func(w Word) bool { return w.secret() })
}

// quiet is the reader of programs that print nothing, whatever their words are.
func (e *effector) quiet() { e.silent = true }

// testsSecret reports whether test compares a secret with anything but nothing, or
// takes it for something else: a number, which it prints if it is none.
func (e *effector) testsSecret() bool {
	words := e.words[1:]
	at := func(i int) string {
		if i < 0 || i >= len(words) || !words[i].Known() {
			return ""
		}
		return words[i].Text
	}
	for i := range words {
		if !words[i].secret() || at(i-1) == "-n" || at(i-1) == "-z" {
			continue
		}
		switch next := at(i + 1); {
		case next == "=", next == "==", next == "!=":
			if i+2 >= len(words) || !sameButHoles(&words[i], &words[i+2]) {
				return true
			}
		case strings.Trim(at(i-1), "!=(") == "" && at(i-1) != "" && i > 1 && strings.HasSuffix(at(i-1), "="):
			if !sameButHoles(&words[i], &words[i-2]) {
				return true
			}
		case i > 0 && at(i-1) != "!" && at(i-1) != "-a" && at(i-1) != "-o" && at(i-1) != "(":
			return true
		case next != "" && next != "]" && next != "-a" && next != "-o" && next != ")":
			return true
		}
	}
	return false
}

// sameButHoles reports whether a word is what another is if its holes are empty:
// "x$y" and x, "$y" and "".
func sameButHoles(w, other *Word) bool { return other.Known() && other.Text == w.Text }
