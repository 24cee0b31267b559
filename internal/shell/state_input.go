package shell

import (
	"slices"
	"strings"
)

// maxInputs is how many texts one input is made of; more of them count as changed.
const maxInputs = 32

// printed returns what the commands from an index on print of the line's own text
// into a pipe, nil if nothing: the words of echo and printf, and what the others
// pass on from their own input.
func (w *walker) printed(from int) *input {
	var in *input
	for i := from; i < len(w.facts.Actions); i++ {
		a := &w.facts.Actions[i]
		if a.Kind != Command || !a.Words[0].Known() {
			continue
		}
		name := base(a.Words[0].Text)
		prints := name == "echo" || name == "printf"
		if !prints && !a.input.given() {
			continue
		}
		if in == nil {
			in = new(input)
		}
		switch {
		case prints:
			in.print(name, a.Words[1:])
		case name == "cat" || name == "tee":
			in.pass(&a.input)
		default:
			in.pass(&a.input)
			in.changed = true
		}
	}
	return in
}

// maxWrites is how many actions are searched for writes of a file that is read.
const maxWrites = 1000

// wrote reports whether a file that the actions from an index on read is one that
// the line wrote before, so that it holds text of the line.
func (w *walker) wrote(from int) bool {
	for i := from; i < len(w.facts.Actions); i++ {
		a := &w.facts.Actions[i]
		if a.Kind == Read && a.Redirect && (from > maxWrites || w.writes(from, &a.Path)) {
			return true
		}
	}
	return false
}

// writes reports whether one of the actions before an index writes a file.
func (w *walker) writes(before int, file *Word) bool {
	for i := range before {
		if a := &w.facts.Actions[i]; a.Kind == Write && sameWord(&a.Path, file) {
			return true
		}
	}
	return false
}

// pass adds the texts of another input.
func (in *input) pass(from *input) {
	for i := range from.texts {
		if slices.ContainsFunc(in.texts, func(t Word) bool { return sameWord(&t, &from.texts[i]) }) {
			continue
		}
		in.add(from.texts[i])
	}
	in.changed = in.changed || from.changed
}

func (in *input) add(text Word) {
	if len(in.texts) >= maxInputs {
		in.changed = true
		return
	}
	in.texts = append(in.texts, text)
}

// print adds what echo or printf make of their words.
func (in *input) print(name string, words []Word) {
	var text Word
	for i := range words {
		if i > 0 {
			text = joinText(text, Word{Text: " "})
		}
		text = joinText(text, words[i])
		text.Split = text.Split || words[i].Split
	}
	if strings.ContainsAny(text.Text, `\%`) {
		plain := escapes.Replace(text.Text)
		in.changed = in.changed || strings.Contains(plain, `\`) || len(text.Holes) > 0 || name == "printf" && composes(plain)
		if len(text.Holes) == 0 {
			text.Text = plain
		}
	}
	in.add(text)
}

// escapes are those that only part words.
var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\r`, "\n", `\\`, `\`)

// composes reports whether a format of printf does more than put whole words in the
// place of its verbs.
func composes(format string) bool {
	for _, word := range strings.Fields(format) {
		if strings.Contains(word, "%") && word != "%s" && word != "%d" && word != "%b" {
			return true
		}
	}
	return false
}
