package shell

import (
	"slices"
	"strings"
)

// namesOf returns the directories that the names lie in which a command
// prints, nil if that is not known.
func (w *walker) namesOf(words []Word, s *scope) []Word {
	if len(words) == 0 || slices.ContainsFunc(words, func(w Word) bool { return w.hasHole(AnyText) }) {
		return nil
	}
	prog := w.opt.Catalog.Lookup(words[0].Text)
	if prog == nil {
		return nil
	}
	if words[0].Text == "find" {
		return namesOfFind(prog, words, s)
	}
	n, ok := sortNames(prog.Scan(words), words)
	if !ok || slices.ContainsFunc(n.options, func(o string) bool { return slices.Contains(shapesNames[words[0].Text], o) }) {
		return nil
	}
	switch words[0].Text {
	case "ls":
		return namesOfLs(&n, s)
	case "fd":
		return namesBelow(behind(n.operands, false), s)
	case "rg", "grep":
		if n.has("-l", "--files-with-matches") {
			return namesBelow(behind(n.operands, n.pattern), s)
		}
	case "git":
		if n.sub == "ls-files" || n.sub == "diff" && n.has("--name-only") {
			return namesOfGit(n.operands, s)
		}
	}
	return nil
}

// shapesNames are the options that make a command print something else than
// names as they are, or names of another place.
var shapesNames = map[string][]string{
	"ls":   {"-a", "-f", "-l", "-g", "-o", "-n"},
	"fd":   {"--format", "-x", "-X", "-C", "--search-path", "--path-separator"},
	"rg":   {"--path-separator"},
	"grep": {"--label"},
	"git":  {"--format", "--line-prefix", "--no-index", "--output", "-C", "--git-dir", "--work-tree"},
}

// nameWords are the words of a command that prints names.
type nameWords struct {
	operands []Word
	options  []string // the first name of each
	sub      string   // the subcommand
	pattern  bool     // an option gave the pattern
}

func (n *nameWords) has(names ...string) bool {
	return slices.ContainsFunc(names, func(o string) bool { return slices.Contains(n.options, o) })
}

// sortNames is not ok if the catalogue does not know an option.
func sortNames(scan Scan, words []Word) (n nameWords, ok bool) {
	for _, a := range scan.Args {
		switch a.Kind {
		case ArgOperand:
			n.operands = append(n.operands, words[a.Word])
		case ArgSubcommand:
			n.sub = words[a.Word].Text
		case ArgOption:
			n.options = append(n.options, a.Option.Names[0])
			n.pattern = n.pattern || a.Option.Pattern || a.Option.Effect == EffPattern
		case ArgUnlisted, ArgUnsure:
			return n, false
		}
	}
	return n, true
}

// namesOfFind: find prints names below the places where it starts, unless it
// is told what to print, or runs something that prints.
func namesOfFind(prog *Program, words []Word, s *scope) []Word {
	e := effector{words: words, prog: prog}
	start := e.findStart()
	for i := range words {
		for _, p := range []string{"-exec", "-ok", "-printf", "-ls", "-f", "-files0-from"} {
			if t := words[i].Text; strings.HasPrefix(t, p) && t != "-false" && t != "-fstype" && t != "-follow" && t != "-flags" && t != "-executable" {
				return nil
			}
		}
	}
	return namesBelow(start.paths, s)
}

// namesOfLs: of a directory ls prints names that lie in it, without its own, so
// whoever takes them finds something else.
func namesOfLs(n *nameWords, s *scope) []Word {
	for i := range n.operands {
		if n.operands[i].Known() && !n.has("-d") {
			return nil
		}
	}
	return namesBelow(n.operands, s)
}

// namesOfGit: git prints names from the root of its repository, which lie
// below the directory when they are taken from there. An operand outside is
// printed with .. in it.
func namesOfGit(operands []Word, s *scope) []Word {
	for i := range operands {
		if t := operands[i].Text; strings.HasPrefix(t, "/") || strings.Contains(t, "..") && strings.Contains(t, "/") || t == ".." {
			return nil
		}
	}
	return slices.Clone(s.dirs)
}

// namesBelow are the places of the operands, or the current directory.
func namesBelow(operands []Word, s *scope) []Word {
	var out []Word
	for _, a := range operands {
		out = append(out, beneath(s.dirs, a)...)
	}
	if len(out) == 0 {
		return slices.Clone(s.dirs)
	}
	return out
}
