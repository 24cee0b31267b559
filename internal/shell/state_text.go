package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// unit is one shell text and what is known of it as a whole before the walk: the
// variables that it assigns anywhere, and whether it changes the directory. The order
// of assignments is ignored: a variable may hold any of the words assigned to it.
type unit struct {
	src      string
	dialect  Dialect
	assigned map[string][]assigned
	seen     map[*syntax.Word][]Word  // words of the assignments walked so far
	busy     map[string]bool          // names being evaluated; a cycle is unknown
	poisoned bool                     // any variable may hold anything
	given    map[string][]syntax.Node // what the text puts into a variable, known or not
	secrets  map[string]Secrecy       // what variables may hold of secrets: see walker.holds
	followed bool                     // the secrets in given are known
	moves    bool                     // a command in the text changes the directory
	outer    *unit                    // unit that runs this text (eval, bash -c)
}

// The options of bash by which wildcards mean hidden names, and names in any case.
const dotGlob, noCaseGlob = "dotglob", "nocaseglob"

// globOptions tells which of these options the line has the name of, anywhere.
type globOptions struct{ looked, dots, folds bool }

func (w *walker) globOptions() globOptions {
	if !w.globbing.looked {
		w.globbing = globOptions{true, strings.Contains(w.facts.Source, dotGlob), strings.Contains(w.facts.Source, noCaseGlob)}
	}
	return w.globbing
}

// text returns the source text of a node.
func (u *unit) text(n syntax.Node) string {
	to := min(int(n.End().Offset()), len(u.src))
	return u.src[min(int(n.Pos().Offset()), to):to]
}

// saw records the words of an assignment that was walked.
func (u *unit) saw(word *syntax.Word, values []Word) {
	if u.seen == nil {
		u.seen = map[*syntax.Word][]Word{}
	}
	u.seen[word] = values
}

// assigned is one assignment to a variable: of a word, of an arithmetic expression
// or, with neither, of something unknown.
type assigned struct {
	word  *syntax.Word
	arith syntax.ArithmExpr
	items bool // the word is an item of a loop, and is split
}

type surveyor struct {
	w        *walker
	u        *unit
	parent   int
	quotedCR int
	raw      []stretch      // text in which a backslash is an ordinary character
	joined   []stretch      // here-documents whose lines bash joins first
	dynamic  []*syntax.Word // command names that are not literal
	called   []string       // literal command names, if functions are defined
	defines  []string
	// readsLine reports that a command of the text divides a line that it reads in its
	// own way.
	readsLine bool
	lastWord  bool // the text reads $_
}

// stretch is a part of the text, from a byte up to but not including another.
type stretch struct{ from, to int }
