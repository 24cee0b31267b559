package shell

import (
	"slices"
	"strings"
)

// zshEvaluates adds an opaque spot for arguments of builtins that zsh evaluates as
// arithmetic (zshbuiltins(1)) and whose substitutions it runs. Bash accepts only
// numbers there.
func (w *walker) zshEvaluates(words []Word, parent int) {
	if !slices.ContainsFunc(evaluated(words), func(arg Word) bool { return !number(&arg) }) {
		return
	}
	w.opaque(parent, MayRun, causeZshEvaluates, words[0].Text)
}

// evaluated returns the arguments that zsh evaluates.
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

// convertsText reports whether a printf format takes all its arguments as text.
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

// terminals returns the descriptors that -t examines: words that follow -t, or a word
// that may be -t, and that are not operators.
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
