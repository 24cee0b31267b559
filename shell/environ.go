package shell

import (
	"slices"
	"strings"
)

// Variables hold secrets as files do: keys, tokens, passwords of the machine and
// of whoever started the agent. A command that shows the values of variables is
// marked (Action.Environment), unless the tables have the very name of each.
// What shows names alone is not meant (compgen -e, declare -F), nor what was
// configured for a process of another machine or container (docker inspect).

// shows marks the command.
func (e *effector) shows() {
	if e.index >= 0 {
		e.w.facts.Actions[e.index].Environment = true
	}
}

// tells reports whether the value of a variable may be a secret. That a name has
// the form of names that are known (GIT_…, …_OPTIONS) says nothing of its value.
func tells(name string) bool {
	switch Bash.effectOf(name) {
	case varUnlisted:
		return true
	case varHarmless:
		return false
	}
	return begins(name, families.dangerous) || ends(name, families.ends)
}

func tellsWord(w Word) bool { return !w.Known() || tells(w.Text) }

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

// showsDeclared reports whether export, declare, typeset, local or readonly prints
// values. Held against bash, dash and zsh by TestShellsShowNothingUnseen.
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
	return whole && !strings.ContainsAny(letters, "aAcilnrtu")
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

// awkEnviron reports whether the token i, ENVIRON, stands for more than a variable
// that tells nothing.
func awkEnviron(toks []awkToken, i int) bool {
	plain := i+3 < len(toks) && !toks[i+1].str && toks[i+1].text == "[" && toks[i+2].str && toks[i+3].text == "]" && !toks[i+3].str
	return !plain || tells(toks[i+2].text)
}

// jqEnviron reports whether a filter of jq or yq reads variables: $ENV, env,
// env(X), strenv(X), and not the field .env or the key env:.
func jqEnviron(filter string) bool {
	for _, name := range [...]string{"$ENV", "env", "strenv", "envsubst"} {
		for from := 0; ; {
			at := strings.Index(filter[from:], name)
			if at < 0 {
				break
			}
			at, from = at+from, at+from+len(name)
			if jqName(filter, at, from) && jqTells(filter[from:]) {
				return true
			}
		}
	}
	return false
}

// jqName reports whether a name in a filter is a word by itself, and neither a
// field nor a key.
func jqName(filter string, from, to int) bool {
	letter := func(i int) bool { return 0 <= i && i < len(filter) && awkLetter(filter[i]) }
	field := from > 0 && strings.IndexByte(`."$`, filter[from-1]) >= 0
	key := strings.HasPrefix(strings.TrimLeft(filter[to:], " \""), ":")
	return !letter(from-1) && !letter(to) && !field && !key
}

// jqTells reports whether what stands behind $ENV is no variable that tells
// nothing (.HOME).
func jqTells(rest string) bool {
	name, isField := strings.CutPrefix(rest, ".")
	return !isField || tells(nameAt(name))
}

// nameAt is the name that a text begins with.
func nameAt(text string) string {
	for i := range len(text) {
		if !awkLetter(text[i]) {
			return text[:i]
		}
	}
	return text
}
