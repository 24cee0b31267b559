package shell

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
)

// A variable whose name says that it holds a secret does so wherever its value goes: in
// a word of a command, which may print it, if only in an error message; in another
// variable; in what the shell itself prints. That the value is empty, or how long it is,
// tells nothing: ${#x} and ${x:+set} do not count. Of a part of the value they do: a
// line that may ask of each part whether it is empty can spell the secret out.

// mentionsSecret reports whether the value of a variable that may hold a secret is part
// of an expansion. The commands of a substitution are examined by themselves.
func (w *walker) mentionsSecret(n syntax.Node) bool { return w.secrecy(n) != unrelated }

// secrecy returns what an expansion reveals about a secret.
func (w *walker) secrecy(n syntax.Node) Secrecy {
	found := unrelated
	eachParameter(n, func(p *syntax.ParamExp) { found = max(found, w.revealed(p, w.holds(p.Param.Value))) })
	return found
}

// eachParameter calls f for every parameter expansion of a node outside its commands.
func eachParameter(n syntax.Node, f func(*syntax.ParamExp)) {
	if word, ok := n.(*syntax.Word); n == nil || ok && word == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false
		case *syntax.ParamExp:
			if n.Param != nil {
				f(n)
			}
		}
		return true
	})
}

// revealed returns what an expansion reveals about what its variable holds.
func (w *walker) revealed(p *syntax.ParamExp, held Secrecy) Secrecy {
	switch {
	case held != asItIs:
		return held
	case p.Length || tellsIfSet(p):
		return unrelated
	case w.computes(p):
		return derived
	}
	return asItIs
}

// tellsIfSet reports whether an expansion is ${x:+word}, which only tells whether there
// is a value.
func tellsIfSet(p *syntax.ParamExp) bool {
	return p.Exp != nil && (p.Exp.Op == syntax.AlternateUnset || p.Exp.Op == syntax.AlternateUnsetOrNull)
}

// computes reports whether an expansion is anything but the whole value, or a default.
func (w *walker) computes(p *syntax.ParamExp) bool {
	if p.Exp != nil && !tellsIfSet(p) {
		switch p.Exp.Op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
		default:
			return true
		}
	}
	return p.Slice != nil || p.Repl != nil || p.Excl || p.Flags != nil || len(p.Modifiers) > 0 || p.Index != nil && w.unit.dialect == Zsh
}

// holds returns what the value of a variable reveals about a secret: by its name, or
// since the text, or one that runs it, puts such a value into it.
func (w *walker) holds(name string) Secrecy {
	found := unrelated
	if mask.IsSecretVariable(name) {
		found = asItIs
	}
	if name == lastWord && w.unit.outer != nil {
		found = asItIs // a word of the other text
	}
	for u := w.unit; u != nil; u = u.outer {
		w.followSecrets(u)
		found = max(found, u.secrets[name])
	}
	return found
}

// reading is an expansion whose value a text puts into a variable.
type reading struct {
	into string
	by   *syntax.ParamExp
}

// followSecrets finds the variables into which a text puts secrets. Each expansion is
// followed as often as what its variable holds grows, which is twice.
func (w *walker) followSecrets(u *unit) {
	if u.followed || len(u.given) == 0 {
		return
	}
	u.followed = true
	readings := map[string][]reading{}
	for name, nodes := range u.given {
		for _, n := range nodes {
			eachParameter(n, func(p *syntax.ParamExp) {
				readings[p.Param.Value] = append(readings[p.Param.Value], reading{name, p})
			})
		}
	}
	var grown []string
	for name := range readings {
		if w.holds(name) != unrelated {
			grown = append(grown, name)
		}
	}
	for len(grown) > 0 {
		name := grown[len(grown)-1]
		grown = grown[:len(grown)-1]
		held := w.holds(name)
		for _, r := range readings[name] {
			if u.keepsSecret(r.into, w.revealed(r.by, held)) {
				grown = append(grown, r.into)
			}
		}
	}
}

// keepsSecret records what a variable may hold, and reports whether that is more than
// was known.
func (u *unit) keepsSecret(name string, held Secrecy) bool {
	if held <= u.secrets[name] {
		return false
	}
	if u.secrets == nil {
		u.secrets = map[string]Secrecy{}
	}
	u.secrets[name] = held
	return true
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
	pattern := w.unit.text(with)
	empty := plain && text == "" || pattern == "?*"
	if held := w.secrecy(value); pattern != "*" && (held == derived || held == asItIs && !empty) {
		w.secretShown("a comparison")
	}
}

// testsSecret adds one for a test of [[ that tells more of a secret than whether it is
// empty.
func (w *walker) testsSecret(op syntax.UnTestOperator, x syntax.TestExpr) {
	word, ok := x.(*syntax.Word)
	if !ok {
		return
	}
	ofEmptiness := op == 0 || op == syntax.TsEmpStr || op == syntax.TsNempStr || op == syntax.TsNot
	if held := w.secrecy(word); held == derived || held == asItIs && !ofEmptiness {
		w.secretShown("a test")
	}
}

// loopsOverSecret adds one for a loop that runs as often as a part of a secret has words.
func (w *walker) loopsOverSecret(item *syntax.Word) {
	unquoted := slices.ContainsFunc(item.Parts, func(part syntax.WordPart) bool {
		p, ok := part.(*syntax.ParamExp)
		return ok && w.secrecy(p) == derived
	})
	if unquoted {
		w.secretShown("a loop")
	}
}

// countsSecret adds one for arithmetic with what reveals a secret: the length of a part
// of it.
func (w *walker) countsSecret(word *syntax.Word) {
	name, plain := literal(word)
	if plain && syntax.ValidName(name) && w.holds(name) != unrelated || !plain && w.mentionsSecret(word) {
		w.secretShown("arithmetic")
	}
}
