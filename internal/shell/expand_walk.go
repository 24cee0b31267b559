package shell

import (
	"math"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walked returns places with what of the files there is named.
func (w *walker) walked(places []Word, walk Walk) []Word {
	number := w.numbered(walk)
	for i := range places {
		places[i].walk = number
	}
	return places
}

// numbered returns the number of a walk.
func (w *walker) numbered(walk Walk) uint16 {
	known := &w.facts.walks
	if walk == (Walk{}) || len(*known) == math.MaxUint16 {
		return 0
	}
	if n := len(*known); n == 0 || (*known)[n-1] != walk {
		*known = append(*known, walk)
	}
	return uint16(len(*known))
}

// walk returns the walk with a number.
func (w *walker) walk(number uint16) Walk {
	if number == 0 {
		return Walk{}
	}
	return w.facts.walks[number-1]
}

// walkOfLs returns what of the files in a directory ls names.
func (n *nameWords) walkOfLs() Walk {
	walk := Walk{Visible: !n.has("-A"), Depth: 1}
	if n.has("-R") {
		walk.Depth = 0
	}
	return walk
}

// walkOfFd returns what of the files below a directory fd names.
func (n *nameWords) walkOfFd() Walk {
	walk := Walk{Visible: !n.has("-H", "-u"), Depth: maxDepth(n.depth.Text)}
	for _, ending := range n.endings {
		if !ending.Known() {
			return walk
		}
	}
	var names []string
	for _, ending := range n.endings {
		names = append(names, "*."+strings.TrimPrefix(ending.Text, "."))
	}
	walk.restrict(names)
	if len(n.operands) == 0 || n.has("-p", "--and") || !n.operands[0].Known() {
		return walk
	}
	switch pattern := n.operands[0]; {
	case n.has("-g"):
		walk.restrict(lastNames(pattern, false))
	case !n.has("-F") && plainRegex(pattern.Text):
		pattern.Text = globOfRegex(unanchored(pattern.Text, hasChoices(pattern.Text)))
		walk.restrict(lastNames(pattern, false))
	}
	return walk
}

// walkFor returns the walk with a number for an action, nil for every file.
func (w *walker) walkFor(number uint16) []Walk {
	if number == 0 {
		return nil
	}
	return w.facts.walks[number-1 : number : number]
}

// narrowed returns places with what a command in a pipe passes on of the names there: grep
// with a pattern, or without the names that it leaves out.
func (w *walker) narrowed(places []Word, st *syntax.Stmt) []Word {
	call := st.Cmd.(*syntax.CallExpr)
	if call.Args[0].Lit() != "grep" {
		return places
	}
	flags, pattern := "", ""
	for _, a := range call.Args[1:] {
		switch text, _ := literal(a); {
		case strings.HasPrefix(text, "-"):
			flags += text[1:]
		default:
			pattern = text
		}
	}
	if strings.ContainsAny(flags, "Fwx") {
		return places
	}
	out := slices.Clone(places)
	for i := range out {
		walk := w.walk(out[i].walk)
		if !strings.Contains(flags, "v") {
			walk.restrict(lastNamesOfRegex(Word{Text: pattern}))
		} else {
			walk.leaveMatched(pattern, strings.ContainsAny(flags, "EP"))
		}
		out[i].walk = w.numbered(walk)
	}
	return out
}
