package shell

import (
	"slices"
	"strings"
)

// zshEvaluates looks at the arguments of builtins that zsh takes for arithmetic
// (zshbuiltins(1)), which runs the substitutions in them. bash takes numbers
// only, and refuses the rest.
func (w *walker) zshEvaluates(words []Word, parent int) {
	if !slices.ContainsFunc(evaluated(words), func(arg Word) bool { return !number(&arg) }) {
		return
	}
	w.opaque(parent, MayRun, causeZshEvaluates, words[0].Text)
}

// evaluated are the arguments that zsh evaluates, if they are no numbers.
func evaluated(words []Word) []Word {
	args := words[1:]
	if len(args) > 0 && args[0].Known() && args[0].Text == "--" {
		args = args[1:]
	}
	switch words[0].Text {
	case "break", "continue", "shift", "return", "exit", "bye", "logout":
		return args
	case "printf":
		if len(args) > 1 && !convertsText(&args[0]) {
			return args[1:]
		}
	case "test", "[":
		return terminals(args)
	}
	return nil
}

// convertsText reports whether a format of printf takes its arguments as text.
func convertsText(format *Word) bool {
	for i := 0; format.Known() && i < len(format.Text); i++ {
		if format.Text[i] != '%' {
			continue
		}
		for i++; i < len(format.Text) && strings.IndexByte("-+ #.0123456789", format.Text[i]) >= 0; i++ {
		}
		if i == len(format.Text) || strings.IndexByte("%sbcq", format.Text[i]) < 0 {
			return false
		}
	}
	return format.Known()
}

// terminals are the descriptors that -t looks at: what stands behind it, or
// behind a word that may be it, and is no operator.
func terminals(args []Word) []Word {
	var found []Word
	for i := 1; i < len(args); i++ {
		if !args[i-1].MayBeOption() && args[i-1].Text != "-t" {
			continue
		}
		if t := args[i].Text; !args[i].Known() || t != "]" && t != "!=" && strings.Trim(t, "=<>") != "" && !isOption(t) {
			found = append(found, args[i])
		}
	}
	return found
}
