package shell

import (
	"slices"
	"strings"
)

// findPaths holds the starting points of find, and the index behind them.
type findPaths struct {
	paths []Word
	end   int
	links bool // find follows links
}

// findOption reports whether a word of find stands before its starting points.
func findOption(text string) bool {
	switch text {
	case "-H", "-L", "-P", "-D", "--":
		return true
	}
	return strings.HasPrefix(text, "-O") && digits(text[2:]) == len(text)-2
}

// findStart returns the starting points among the words of find.
func findStart(words []Word) findPaths {
	i := 1
	out := findPaths{}
	for i < len(words) && words[i].Known() && findOption(words[i].Text) {
		out.links = words[i].Text == "-L" || out.links && words[i].Text[1] != 'H' && words[i].Text[1] != 'P'
		if words[i].Text == "-D" {
			i++ // the debug option's value
		}
		i++
	}
	for ; i < len(words); i++ {
		t := &words[i]
		if t.MayBeOption() || strings.HasPrefix(t.Text, "-") || t.Text == "(" || t.Text == "!" || t.Text == "," {
			break
		}
		out.paths = append(out.paths, *t)
	}
	if len(out.paths) == 0 {
		out.paths = []Word{{Text: "."}}
	}
	out.end = min(i, len(words))
	for _, t := range words[out.end:] {
		out.links = out.links || t.Text == "-follow"
		if t.Text == "-files0-from" { // starting points that a file lists
			out.paths = append(out.paths, unknown())
		}
	}
	if out.links {
		for j := range out.paths { // names found may lie anywhere
			out.paths[j] = Word{Holes: []Hole{{Kind: AnyText}}, Pos: out.paths[j].Pos, End: out.paths[j].End}
		}
	}
	return out
}

// names returns the places at or below which the names lie that find prints: its
// starting points and, for a name that it searches for, that name below them. A name
// that begins with a wildcard tells too little.
func (f findPaths) names(words []Word) []Word {
	places := slices.Clone(f.paths)
	for i := f.end; i+1 < len(words); i++ {
		name := words[i+1]
		switch words[i].Text {
		case "-name", "-path", "-wholename":
		case "-iname", "-ipath", "-iwholename":
			name.Text = strings.ToLower(name.Text)
		default:
			continue
		}
		if literal := strings.IndexAny(name.Text+"*", `*?[\\`); name.Known() && literal > 0 {
			name.Text = strings.TrimPrefix(name.Text[:literal], "./")
			for _, p := range f.paths {
				places = append(places, somewhereBelow(p, name.Text, literal < len(words[i+1].Text))...)
			}
		}
	}
	if f.regular(words) {
		for i := range places {
			places[i].files = true
		}
	}
	return places
}

// regular reports whether find finds only regular files.
func (f findPaths) regular(words []Word) bool {
	found := false
	for i := f.end; i < len(words); i++ {
		switch words[i].Text {
		case "-o", "-or", ",", "!", "-not", "(":
			return false
		case "-type":
			found = found || i+1 < len(words) && words[i+1].Known() && words[i+1].Text == "f"
		}
	}
	return found && !f.links
}

// maxFound is the depth below the start of find to which names searched for are
// listed.
const maxFound = 3

// somewhereBelow returns a name in a directory and in unknown directories below it.
// With more set, unknown text follows the name.
func somewhereBelow(dir Word, name string, more bool) []Word {
	var places []Word
	for range maxFound + 1 {
		at := joinPath(dir, Word{Text: name})
		if more {
			at.Holes = append(at.Holes, Hole{At: len(at.Text), Kind: Glob})
		}
		places = append(places, at)
		dir = joinPath(dir, Word{Holes: []Hole{{Kind: Glob}}})
	}
	return places
}
