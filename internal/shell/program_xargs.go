package shell

import (
	"slices"
	"strings"
)

// xargs runs a command with unknown words from standard input.
func (e *effector) xargs() {
	e.done = true
	defer func(before bool) { e.w.fed = before }(e.w.fed)
	e.w.fed = true // by /dev/null
	if len(e.operands) == 0 {
		return // the default command is echo
	}
	at := e.operands[0]
	names := Word{Holes: []Hole{{Kind: AnyText}}, Split: true, under: e.s.names}
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && (a.Option.Names[0] == "-a" || a.Option.Names[0] == "--arg-file") {
			names.under = nil
		}
	}
	replace, ok := e.xargsReplace()
	words := append([]Word(nil), e.words[at:]...)
	if !ok {
		words = append(words, names)
	}
	for i := range words {
		if ok && strings.Contains(words[i].Text, replace) {
			words[i] = holeFor(words[i], replace, names.under)
		}
	}
	e.runList(words, at)
}

func (e *effector) xargsReplace() (string, bool) {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Names[0] {
		case "-I", "-i", "--replace":
			if a.Value.Text == "" {
				return "{}", true
			}
			return a.Value.Text, true
		}
	}
	return "", false
}

// parallel reads the files of arguments behind :::: (parallel(1)), and puts what it reads
// in place of {} or behind the command.
func (e *effector) parallel() {
	defer func(before bool) { e.w.fed = before }(e.w.fed)
	e.w.fed = true
	line := slices.Clone(e.operandWords(0))
	if end := slices.IndexFunc(line, func(w Word) bool { return strings.HasPrefix(w.Text, ":::") }); end >= 0 {
		line = line[:end]
	}
	for i := range line {
		if strings.Contains(line[i].Text, "{") {
			line[i] = unknown()
		}
	}
	e.ownText(joinWords(append(line, anyWords())))
	files := false
	for _, w := range e.words[1:] {
		switch strings.TrimSuffix(w.Text, "+") {
		case "::::":
			files = true
		case ":::":
			files = false
		default:
			if files {
				e.read(w, NeedNone, "operand of parallel")
			}
		}
	}
}
