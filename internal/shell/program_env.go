package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// env runs a command with other variables, and prints all of them if there is no
// command. With - or -i these are only the ones that it sets.
func (e *effector) env() {
	clean := e.has("-i") || len(e.operands) > 0 && e.words[e.operands[0]].Text == "-"
	if !e.envRuns() && !clean && !e.asksHelp() {
		e.shows()
	}
}

// envRuns reports whether env certainly runs a command. The command follows the
// options and assignments.
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

// envOption reports whether the command stays in its place despite an option of env.
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
	a := e.w.unit.dialect.assign(name, &value)
	e.w.sets(name, &value, e.index)
	e.w.unit.keepsSecret(name, value.secrecy())
	if !e.ownAssigns {
		e.frame.Assigns, e.ownAssigns = slices.Clone(e.frame.Assigns), true
	}
	e.frame.Assigns = append(e.frame.Assigns, a)
}

// Variables hold secrets as files do: keys, tokens and passwords. A command that
// prints values of variables is marked (Action.Environment), unless the tables list
// each of the variables by name as harmless. Printing only names does not count
// (compgen -e, declare -F), nor does what was configured for another machine or
// container (docker inspect).

// vanish reports whether each word after the first may expand to none.
func (e *effector) vanish() bool { return !slices.ContainsFunc(e.words[1:], stays) }

// stays reports whether a word certainly remains after expansion.
func stays(w Word) bool { return !w.Split || w.Text != "" }

// asksHelp reports whether a program only prints its help or version.
func (e *effector) asksHelp() bool { return e.has("--help") || e.has("--version") }

// variables handles programs whose operands name the variables that they print;
// without operands they print all (printenv, tmux show-environment).
func (e *effector) variables() {
	names := e.operandWords(0)
	all := !slices.ContainsFunc(names, stays)
	if !e.asksHelp() && (all || slices.ContainsFunc(names, tellsWord)) {
		e.shows()
	}
}

// envsubst prints the values of the variables that its operand names, else of those
// that its input names.
func (e *effector) envsubst() {
	names := e.operandWords(0)
	open := len(names) == 0 || slices.ContainsFunc(names, func(w Word) bool {
		return !w.Known() || slices.ContainsFunc(expanded(w.Text), tells)
	})
	if open && !e.has("-v") && !e.has("-h") && !e.has("-V") && !e.asksHelp() {
		e.shows()
	}
}

// expanded returns the names of the variables that a text expands by $NAME or
// ${NAME}.
func expanded(text string) []string {
	var names []string
	parts := strings.Split(text, "$")
	for _, part := range parts[1:] {
		part = strings.TrimPrefix(part, "{")
		names = append(names, nameAt(part))
	}
	return names
}

// ps handles the option letter e of BSD, in a word without a dash, which prints the
// environment of processes. After a dash procps reads letters as BSD's where they are
// otherwise invalid: -x is not an option, and -u takes the rest for a user. macOS has
// -E. Measured with procps 4.0.
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
// the next word.
const psValues = "kNoOpqtU"

// psFallsBack reports whether letters after a dash make ps print environments.
func psFallsBack(letters string) bool {
	letters = upTo(letters, "oO") // a format follows
	e, x := strings.Contains(letters, "e"), strings.Contains(letters, "x")
	return e && x || strings.Contains(letters, "ue") || strings.Contains(letters, "E")
}

// isValue reports whether a word is the value of an option before it.
func (e *effector) isValue(at int) bool {
	return slices.ContainsFunc(e.scan.Args, func(a Arg) bool { return a.ValueAt == at && a.Word != at })
}

// upTo returns a text up to the first of some characters.
func upTo(text, chars string) string {
	if at := strings.IndexAny(text, chars); at >= 0 {
		return text[:at]
	}
	return text
}
