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
		for _, p := range out.paths { // names found may also lie anywhere
			out.paths = append(out.paths, Word{Holes: []Hole{{Kind: AnyText}}, Pos: p.Pos, End: p.End})
		}
	}
	return out
}

// names returns the places at or below which the names lie that find prints: its
// starting points, with the number of their walk, and, for a name that it searches for, that
// name below them, for whose wildcards the walk stands.
func (f findPaths) names(words []Word, walk, stood uint16) []Word {
	places := slices.Clone(f.paths)
	for i := f.end; i+1 < len(words); i++ {
		negated := words[i-1].Text == "!" || words[i-1].Text == "-not"
		for _, name := range namesOfTest(words[i].Text, words[i+1], negated) {
			for _, p := range f.paths {
				places = append(places, somewhereBelow(p, name)...)
			}
		}
	}
	files := f.regular(words)
	for i := range places {
		places[i].files, places[i].walk = files, walk
		if i >= len(f.paths) && len(places[i].Holes) > 0 {
			places[i].walk = stood
		}
	}
	return places
}

// namesOfTest returns the names that a test of find is for: what its pattern begins with, and
// those that its wildcards mean. A test that is negated is for no others than the first.
func namesOfTest(test string, pattern Word, negated bool) []Word {
	if !pattern.Known() {
		return nil
	}
	base := strings.TrimPrefix(strings.TrimPrefix(test, "-"), "i")
	var names []Word
	switch base {
	case "name":
		names = beginning(pattern)
	case "path", "wholename":
		names = beginning(pattern)
	case "regex":
		pattern.Text = globOfRegex(pattern.Text)
	default:
		return nil
	}
	switch text := strings.TrimPrefix(strings.TrimRight(pattern.Text, "*"), "./"); {
	case negated, len(names) > 0 && text == names[0].Text:
	case base == "name":
		names = append(names, wildWords(pattern)...)
	default:
		names = append(append(names, wildWords(pattern)...), spanning(pattern)...)
	}
	if strings.HasPrefix(test, "-i") {
		for i := range names {
			names[i].Text = strings.ToLower(names[i].Text)
		}
	}
	return names
}

// beginning returns what a pattern begins with, if that is no wildcard.
func beginning(pattern Word) []Word {
	literal := strings.IndexAny(pattern.Text+"*", `*?[\\`)
	if literal == 0 {
		return nil
	}
	begin := Word{Text: strings.TrimPrefix(pattern.Text[:literal], "./"), Pos: pattern.Pos, End: pattern.End}
	if literal < len(pattern.Text) {
		begin.Holes = []Hole{{At: len(begin.Text), Kind: Glob}}
	}
	return []Word{begin}
}

// wildWords returns the names that a pattern with wildcards means: .aws/config for
// */.aws/config.
func wildWords(pattern Word) []Word {
	var out []Word
	for _, text := range globTexts(pattern.Text) {
		for _, end := range behindWild(text) {
			out = append(out, globWord(end, pattern))
		}
	}
	return out
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

// somewhereBelow returns a name in a directory and in unknown directories below it, which
// may be those that a rule is about. A pattern only means names.
func somewhereBelow(dir, name Word) []Word {
	if name.matched {
		return []Word{joinPath(dir, name)}
	}
	var places []Word
	for range maxFound + 1 {
		places = append(places, joinPath(dir, name))
		dir = joinPath(dir, Word{Holes: []Hole{{Kind: Glob}}})
	}
	return places
}
