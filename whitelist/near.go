package whitelist

import (
	"slices"
	"strings"
)

// Look is what a validator may look at to say what was meant. Nothing that it
// says lets a line pass.
type Look interface {
	Scripts() ([]string, error) // names of the scripts in package.json
	Targets() ([]string, error) // names of the targets in the Makefile
	OnPath(name string) bool    // whether a program of that name is there
}

// script is the name of the script or target that a command asks for.
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

// describe is the detail with what may have been meant.
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

// looked is the detail with what the files say; found: no more is to be said.
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
		return f.detail + ": there is such a " + what, true
	}
	text = "no such " + what
	if near := nearest(f.script, names); near != "" {
		text += ": did you mean `" + near + "`?"
	}
	return text, true
}

// nearest is the name that a word was most likely meant for, "" if none is near.
func nearest(word string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		if d, ok := distance(word, name); ok && (best == "" || d < least || d == least && name < best) {
			best, least = name, d
		}
	}
	return best
}

// maxNear is the length of the longest words that are compared, in bytes.
const maxNear = 64

// distance says how far a word is from a name, if it is near: some typing
// errors away, or all parts of the name stand in the word.
func distance(word, name string) (int, bool) {
	if word == "" || name == "" || word == name || len(word) > maxNear || len(name) > maxNear {
		return 0, false
	}
	d := edits(word, name)
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

// parts are the words of a name: test:coverage is test and coverage.
func parts(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return strings.ContainsRune("-_:./ ", r) })
}

// edits is the number of bytes to put in, leave out, change, or swap with the
// next one to make b of a.
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
