package shell

import "mvdan.cc/sh/v3/syntax"

// unit is one shell text with what is known of it as a whole, before it is
// walked: which variables it assigns anywhere, and whether it changes the
// directory. Values are kept without regard to order: a variable may hold any
// of the words that the text assigns to it.
type unit struct {
	src      string
	dialect  Dialect
	assigned map[string][]assigned
	seen     map[*syntax.Word][]Word // the words of assignments that were walked
	busy     map[string]bool         // names being valued: a cycle is unknown
	poisoned bool                    // any variable may hold anything
	moves    bool                    // a command in the text changes the directory
	outer    *unit                   // the unit that runs this text (eval, bash -c)
}

// text is the part of the source that a node stands for.
func (u *unit) text(n syntax.Node) string {
	to := min(int(n.End().Offset()), len(u.src))
	return u.src[min(int(n.Pos().Offset()), to):to]
}

// saw keeps the words of an assignment that was walked.
func (u *unit) saw(word *syntax.Word, values []Word) {
	if u.seen == nil {
		u.seen = map[*syntax.Word][]Word{}
	}
	u.seen[word] = values
}

// assigned is one way in which a variable gets a value: a word, an arithmetic
// expression, or (neither) something unknown.
type assigned struct {
	word  *syntax.Word
	arith syntax.ArithmExpr
	items bool // the word is an item of a loop: it is split
}

type surveyor struct {
	w        *walker
	u        *unit
	parent   int
	quotedCR int
	raw      []stretch      // text in which a backslash is a character
	joined   []stretch      // here-documents whose lines bash joins before it reads what is in them
	dynamic  []*syntax.Word // command names that are not plain text
	called   []string       // plain command names, where functions are known
	defines  []string
}

// stretch is a part of the text, by its first byte and the one behind its last.
type stretch struct{ from, to int }
