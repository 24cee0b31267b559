package whitelist

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
)

// Look provides what a Validator may look up to suggest what was meant. The
// answers never let a line pass.
type Look interface {
	Scripts() ([]string, error) // names of the scripts in package.json
	Targets() ([]string, error) // names of the targets in the Makefile
	OnPath(name string) bool    // whether such a program exists
}

// script returns the script or target that a command names, or "".
func script(program string, said []string) string {
	switch {
	case len(said) == 0:
	case runsScripts(program) && len(said) > 1 && (said[0] == "run" || said[0] == "run-script"):
		return said[1]
	case program == "make" || program == "yarn":
		return said[0]
	}
	return ""
}

func runsScripts(program string) bool {
	return slices.Contains([]string{"npm", "pnpm", "yarn", "bun"}, program)
}

// describe returns the detail with a suggestion of what was meant.
func (f *fault) describe(look Look) string {
	text, found := f.detail, false
	if look != nil {
		text, found = f.looked(look)
	}
	if found {
		return text
	}
	if near := nearest(f.word, f.near); near != "" {
		if f.script != "" || f.program != "" && f.program != f.word {
			near = f.program + " " + near
		}
		text += ": did you mean `" + near + "`?"
	}
	return text
}

// looked returns the detail that the files of the project give; found means
// that it is complete.
func (f *fault) looked(look Look) (text string, found bool) {
	switch {
	case f.script != "":
		return f.noScript(look)
	case f.program != "" && f.program == f.word && !look.OnPath(f.program):
		return f.detail + "; program not on PATH", false
	}
	return f.detail, false
}

func (f *fault) noScript(look Look) (text string, found bool) {
	what, names, err := "script in package.json", []string(nil), error(nil)
	if f.program == "make" {
		what = "target in the Makefile"
		names, err = look.Targets()
	} else {
		names, err = look.Scripts()
	}
	switch {
	case err != nil:
		return f.detail, false
	case slices.Contains(names, f.script):
		return f.detail + ": there is a " + what + " of that name", true
	}
	text = "no such " + what
	if near := nearest(f.script, names); near != "" {
		text += ": did you mean `" + near + "`?"
	}
	return text, true
}

// nearest returns the name that a word most likely stands for, or "" if none is
// near.
func nearest(word string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		if d, ok := distance(word, name); ok && (best == "" || d < least || d == least && name < best) {
			best, least = name, d
		}
	}
	return best
}

// maxNear is the maximum length in bytes of words that are compared.
const maxNear = 64

// distance returns how far a word is from a name, if it is near: a few typing
// errors away, or it contains all parts of the name.
func distance(word, name string) (int, bool) {
	if word == "" || name == "" || word == name || len(word) > maxNear || len(name) > maxNear {
		return 0, false
	}
	d := spelling.Edits(word, name)
	if d <= 1+min(len(word), len(name))/4 {
		return d, true
	}
	theirs := parts(name)
	for _, part := range theirs {
		if !slices.Contains(parts(word), part) {
			return 0, false
		}
	}
	return 2*maxNear - len(theirs), len(theirs) > 0
}

// parts returns the words of a name: test:coverage is test and coverage.
func parts(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_:./ ", r) })
}
