package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// env runs a command with other variables, and shows all of them if there is no
// command. With - or -i they are only those that it sets.
func (e *effector) env() {
	clean := e.has("-i") || len(e.operands) > 0 && e.words[e.operands[0]].Text == "-"
	if !e.envRuns() && !clean && !e.asksHelp() {
		e.shows()
	}
}

// envRuns reports whether env runs a command for certain. What stands behind its
// options and assignments is the command.
func (e *effector) envRuns() bool {
	e.done = true
	at := len(e.words)
	if len(e.operands) > 0 {
		at = e.operands[0]
	}
	for _, a := range e.scan.Args {
		if a.Word < at && !e.envOption(a) {
			return false
		}
	}
	for first := at; at < len(e.words); at++ {
		t := &e.words[at]
		switch {
		case at == first && t.Text == "-" && t.Known(): // the same as -i
		case t.MayBeOption():
			e.odd(causeArgumentUnknown, "env")
			return false
		case strings.Contains(t.Text, "="):
			e.envAssign(t)
		default:
			e.runWords(at)
			return true
		}
	}
	return false
}

// envOption reports whether an option of env leaves the command in its place.
func (e *effector) envOption(a Arg) bool {
	switch {
	case a.Kind == ArgUnsure, a.Kind == ArgUnlisted && e.words[a.Word].Text != "-":
		e.odd(causeEnvOption)
		return false
	case a.Kind == ArgOption && a.Option.Effect == program.EffRun:
		e.odd(causeEnvSplits)
		return false
	}
	return true
}

func (e *effector) envAssign(t *Word) {
	name, value, _ := t.splitAt('=')
	if len(t.Holes) > 0 && t.Holes[0].At <= len(name) {
		e.odd(causeEnvName)
		return
	}
	a := Assign{Name: name, Value: value, Class: e.w.unit.dialect.classOf(name, &value)}
	e.w.sets(name, &value, e.index)
	if !e.ownAssigns {
		e.frame.Assigns, e.ownAssigns = slices.Clone(e.frame.Assigns), true
	}
	e.frame.Assigns = append(e.frame.Assigns, a)
}

// Variables hold secrets as files do: keys, tokens, passwords of the machine and
// of whoever started the agent. A command that shows the values of variables is
// marked (Action.Environment), unless the tables have the very name of each.
// What shows names alone is not meant (compgen -e, declare -F), nor what was
// configured for a process of another machine or container (docker inspect).

// vanish reports whether each word behind the first may become none at all.
func (e *effector) vanish() bool { return !slices.ContainsFunc(e.words[1:], stays) }

// stays reports whether something stands there in any case.
func stays(w Word) bool { return !w.Split || w.Text != "" }

// asksHelp reports whether a program only prints a text about itself.
func (e *effector) asksHelp() bool { return e.has("--help") || e.has("--version") }

// variables: the operands name variables that are shown, and without one all are
// (printenv, tmux show-environment).
func (e *effector) variables() {
	names := e.operandWords(0)
	all := !slices.ContainsFunc(names, stays)
	if !e.asksHelp() && (all || slices.ContainsFunc(names, tellsWord)) {
		e.shows()
	}
}

// envsubst puts the values of variables into its input: of those that its operand
// names, else of those that the input does.
func (e *effector) envsubst() {
	names := e.operandWords(0)
	open := len(names) == 0 || slices.ContainsFunc(names, func(w Word) bool {
		return !w.Known() || slices.ContainsFunc(expanded(w.Text), tells)
	})
	if open && !e.has("-v") && !e.has("-h") && !e.has("-V") && !e.asksHelp() {
		e.shows()
	}
}

// expanded are the names of the variables that a text expands: $NAME and ${NAME}.
func expanded(text string) []string {
	var names []string
	parts := strings.Split(text, "$")
	for _, part := range parts[1:] {
		part = strings.TrimPrefix(part, "{")
		names = append(names, nameAt(part))
	}
	return names
}

// ps shows the environment of processes for the letter e of BSD, in a word without
// a dash. Behind a dash letters are read as BSD's where they make no sense
// otherwise: there is no option -x, and -u takes what follows for a user. macOS has
// -E. Measured: procps 4.0.
func (e *effector) ps() {
	value := false
	for i := 1; i < len(e.words); i++ {
		letters := strings.TrimPrefix(e.words[i].Text, "-")
		dash := letters != e.words[i].Text
		switch {
		case value || e.isValue(i) || strings.HasPrefix(letters, "-") || !e.words[i].Known():
			value = false
		case dash && psFallsBack(letters), !dash && strings.Contains(upTo(letters, psValues), "e"):
			e.shows()
			return
		default:
			value = dash && strings.HasSuffix(letters, "u") || !dash && strings.IndexAny(letters, psValues) == len(letters)-1
		}
	}
}

// psValues are the letters of BSD's ps that take a value: the rest of the word, or
// the next one.
const psValues = "kNoOpqtU"

// psFallsBack reports whether letters behind a dash make ps show environments.
func psFallsBack(letters string) bool {
	letters = upTo(letters, "oO") // behind it stands a format
	e, x := strings.Contains(letters, "e"), strings.Contains(letters, "x")
	return e && x || strings.Contains(letters, "ue") || strings.Contains(letters, "E")
}

// isValue reports whether a word is the value of an option before it.
func (e *effector) isValue(at int) bool {
	return slices.ContainsFunc(e.scan.Args, func(a Arg) bool { return a.ValueAt == at && a.Word != at })
}

// upTo is a text up to the first of some characters.
func upTo(text, chars string) string {
	if at := strings.IndexAny(text, chars); at >= 0 {
		return text[:at]
	}
	return text
}
