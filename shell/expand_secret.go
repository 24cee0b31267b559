package shell

import (
	"slices"

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
