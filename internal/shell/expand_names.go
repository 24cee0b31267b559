package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// namesIn returns the places of the names that a substitution prints, nil if unknown.
// Bash drops NUL bytes, which joins names.
func (w *walker) namesIn(stmts []*syntax.Stmt, s *scope) []Word {
	if len(stmts) != 1 {
		return nil
	}
	joined, nodes := false, 0
	syntax.Walk(stmts[0], func(n syntax.Node) bool {
		if nodes++; nodes > maxPrinter {
			joined = true // unknown; nested substitutions are visited once for each level
		}
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			joined = joined || slices.ContainsFunc(call.Args[1:], func(arg *syntax.Word) bool { return endsInNUL(call.Args[0].Lit(), arg) })
		}
		return !joined
	})
	if joined {
		return nil
	}
	return w.namesFrom(stmts[0], s, true)
}

// maxPrinter is the maximum size, in syntax nodes, of a command whose names are
// determined.
const maxPrinter = 250

// endsInNUL reports whether an argument may be an option that terminates names with
// NUL.
func endsInNUL(program string, word *syntax.Word) bool {
	arg, plain := literal(word)
	if first, ok := word.Parts[0].(*syntax.Lit); !plain {
		return !ok || strings.HasPrefix(first.Value, "-")
	}
	switch {
	case !strings.HasPrefix(arg, "-"):
		return false
	case program == "find":
		return arg == "-print0"
	case strings.HasPrefix(arg, "--"):
		return strings.HasPrefix(arg, "--z") || strings.HasPrefix(arg, "--nu") || strings.HasPrefix(arg, "--print0")
	case program == "rg" || program == "fd":
		return strings.Contains(arg, "0")
	}
	return strings.ContainsAny(arg, "zZ")
}

// namesFrom returns the places of the names that a command prints, nil if unknown.
// The names printed by find, ls and the like lie below the places given to them.
func (w *walker) namesFrom(st *syntax.Stmt, s *scope, bare bool) []Word {
	if b, ok := st.Cmd.(*syntax.BinaryCmd); ok && b.Op == syntax.Pipe {
		if narrows(b.Y) {
			return w.narrowed(w.namesFrom(b.X, s, bare), b.Y)
		}
		return w.namesFrom(b.Y, s, bare)
	}
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	if name := call.Args[0].Lit(); isName(name) && !printsNames(name) {
		return nil // avoids expanding its words a second time
	}
	defer w.mute()()
	var words []Word
	for _, list := range w.argLists(call.Args, s) {
		words = append(words, list...)
	}
	return w.namesOf(words, bare)
}

// narrows reports whether a command in a pipe passes on some of its input lines
// unchanged.
func narrows(st *syntax.Stmt) bool {
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 || len(call.Assigns) > 0 {
		return false
	}
	name := call.Args[0].Lit()
	flags, ok := narrowing[name]
	operands := 0
	for _, a := range call.Args[1:] {
		text, plain := literal(a)
		switch {
		case !plain || strings.HasPrefix(text, "-") && strings.Trim(text[1:], flags) != "":
			return false
		case !strings.HasPrefix(text, "-") && strings.Trim(text, "+0123456789") != "":
			operands++
		}
	}
	return ok && (operands == 0 && name != "grep" || operands == 1 && name == "grep")
}

// narrowing lists the commands that pass lines on, with their option letters that
// change no line.
var narrowing = map[string]string{
	"sort": "urnVzfb", "uniq": "uiz", "head": "n0123456789z", "tail": "n0123456789z", "grep": "viEFPwx",
}

// namesOf returns the places at or below which the names lie that a command prints,
// relative to its directory; nil if unknown. No name leaves its place with "..". With
// bare set, names without a directory count as well, as ls prints them.
func (w *walker) namesOf(words []Word, bare bool) []Word {
	if len(words) == 0 || !printsNames(words[0].Text) || slices.ContainsFunc(words, func(w Word) bool { return w.hasHole(AnyText) }) {
		return nil
	}
	prog := w.opt.Catalog.Lookup(words[0].Text)
	if prog == nil {
		return nil
	}
	if words[0].Text == "find" {
		return w.namesOfFind(prog, words)
	}
	n, ok := sortNames(ScanWords(prog, words), words)
	if !ok || slices.ContainsFunc(n.options, func(o string) bool { return slices.Contains(shapesNames[words[0].Text], o) }) {
		return nil
	}
	switch words[0].Text {
	case "ls":
		return w.walked(namesOfLs(&n, bare), n.walkOfLs())
	case "fd":
		return w.walked(n.fd(), n.walkOfFd())
	case "rg", "grep":
		if n.has("-l", "--files-with-matches") {
			return w.walked(namesBelow(behind(n.operands, n.pattern)), Walk{Kept: true})
		}
	case "git":
		if n.sub == "ls-files" || n.sub == "diff" && n.has("--name-only") {
			return w.walked(namesOfGit(n.operands), Walk{Kept: !n.has("-o", "-k")})
		}
	}
	return nil
}

// printsNames reports whether a program is known to print names.
func printsNames(program string) bool {
	switch program {
	case "find", "ls", "fd", "rg", "grep", "git":
		return true
	}
	return false
}

// shapesNames lists the options that make a command print something other than plain
// names, or names of another place.
var shapesNames = map[string][]string{
	"ls":   {"-a", "-f", "-l", "-g", "-o", "-n", "-D", "--format", "--full-time", "--hyperlink", "--indicator-style"},
	"fd":   {"--format", "-x", "-X", "-C", "--search-path", "--path-separator"},
	"rg":   {"--path-separator"},
	"grep": {"--label"},
	"git":  {"--format", "--line-prefix", "--no-index", "--output", "-C", "--git-dir", "--work-tree"},
}

// nameWords holds the words of a command that prints names, by kind.
type nameWords struct {
	operands []Word
	options  []string // first name of each option
	sub      string   // the subcommand
	pattern  bool     // an option gave the pattern
	endings  []Word   // values of -e
	depth    Word     // value of --max-depth
}

func (n *nameWords) has(names ...string) bool {
	return slices.ContainsFunc(names, func(o string) bool { return slices.Contains(n.options, o) })
}

// sortNames sorts the words. It is not ok if the catalogue does not know an option.
func sortNames(scan Scan, words []Word) (n nameWords, ok bool) {
	for _, a := range scan.Args {
		switch a.Kind {
		case ArgOperand:
			n.operands = append(n.operands, words[a.Word])
		case ArgSubcommand:
			n.sub = words[a.Word].Text
		case ArgOption:
			n.options = append(n.options, a.Option.Names[0])
			if a.Option.Names[0] == "-e" {
				n.endings = append(n.endings, a.Value)
			}
			if slices.Contains(a.Option.Names, "--max-depth") {
				n.depth = a.Value
			}
			n.pattern = n.pattern || a.Option.Pattern || a.Option.Effect == program.EffPattern
		case ArgUnlisted, ArgUnsure:
			return n, false
		}
	}
	return n, true
}

// namesOfFind returns the places of the names printed by find, unless it is told what
// to print or runs something.
func (w *walker) namesOfFind(prog *program.Program, words []Word) []Word {
	start := findStart(words)
	for i := range words {
		for _, p := range []string{"-exec", "-ok", "-printf", "-ls", "-f", "-files0-from"} {
			if t := words[i].Text; strings.HasPrefix(t, p) && t != "-false" && t != "-fstype" && t != "-follow" && t != "-flags" && t != "-executable" {
				return nil
			}
		}
	}
	return start.names(words, w.numbered(walkOfFind(prog, start, words)), w.numbered(stoodFor))
}

// namesOfLs returns the places of the names printed by ls. For a directory ls prints
// the names in it without the directory, so that they are relative to the directory
// of the command that uses them.
func namesOfLs(n *nameWords, bare bool) []Word {
	switch {
	case n.has("-d") || len(n.operands) == 0:
		return namesBelow(n.operands)
	case bare:
		return append(slices.Clone(n.operands), Word{Text: "."})
	case slices.ContainsFunc(n.operands, func(w Word) bool { return w.Known() }):
		return nil
	}
	return namesBelow(n.operands)
}

// namesOfGit returns the places of the names printed by git. They are relative to the
// root of the repository, and therefore lie below the current directory when used
// there. An operand outside is printed with "..".
func namesOfGit(operands []Word) []Word {
	for i := range operands {
		if t := operands[i].Text; strings.HasPrefix(t, "/") || strings.Contains(t, "..") && strings.Contains(t, "/") || t == ".." {
			return nil
		}
	}
	names := []Word{{Text: "."}}
	for _, operand := range operands {
		for _, name := range pathspec(operand) {
			name.matched = true
			names = append(names, name)
		}
	}
	return names
}

// fd returns the places of the names that fd prints, and those that its pattern means.
func (n *nameWords) fd() []Word {
	dirs := namesBelow(behind(n.operands, false))
	var files []Word
	if len(n.operands) > 0 {
		switch pattern := n.operands[0]; {
		case !pattern.Known():
		case n.has("-g"):
			files = wildWords(pattern)
		case n.has("-F"):
			files = []Word{{Text: pattern.Text, Holes: []Hole{{Kind: Pattern}, {At: len(pattern.Text), Kind: Pattern}}, matched: true}}
		default:
			files = regexWords(pattern)
		}
	}
	for _, ending := range n.endings {
		files = append(files, Word{Text: "." + strings.TrimPrefix(ending.Text, "."), Holes: []Hole{{Kind: Pattern}}, matched: true})
	}
	if !n.has("-H", "-u") {
		files = visible(files)
	}
	places := dirs
	for _, dir := range dirs {
		for _, file := range files {
			places = append(places, joinPath(dir, file))
		}
	}
	return places
}

// namesBelow returns the operands, or the current directory.
func namesBelow(operands []Word) []Word {
	if len(operands) == 0 {
		return []Word{{Text: "."}}
	}
	return slices.Clone(operands)
}
