package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// maxModules is how many modules may run each other (python -m coverage run -m x).
const maxModules = 3

// namesScript reports whether the file name in a rule such as "python *.py *" is that of a
// program file in a place where the rule counts. The wildcard before it does not stand for an
// option that chooses another program: python -m twine upload x.py needs a rule that says so,
// python -m mypy x.py does not.
func (r *Rule) namesScript(sub *Subject, q Query) bool {
	a := sub.Command
	if a == nil || a.Program == nil || !r.command.starsFile() {
		return true
	}
	scan := sub.scanned()
	if scan.Prog.Operands != program.Script || scan.Prog.Special == "awk" {
		return true
	}
	near := func(file *shell.Word) bool { return r.isPlaced(file, a.Dirs, q) }
	return runsNear(scan, a.Words, r.command.literal, maxModules, near)
}

// starsFile reports whether the first wildcard begins a word, and the name of a file follows.
func (c *commandRule) starsFile() bool {
	if c.literal == 0 || len(c.words) <= c.literal || c.words[c.literal][0] != wild {
		return false
	}
	return slices.ContainsFunc(c.words[c.literal:], func(w string) bool { return w[0] != '-' && path.Ext(w) != "" })
}

// runsNear reports whether all that an interpreter is told to run are files that are near, or
// modules that do no more than that. The words before from are those of a rule.
func runsNear(scan shell.Scan, words []shell.Word, from, modules int, near func(*shell.Word) bool) bool {
	for _, arg := range scan.Args {
		switch {
		case arg.Kind == shell.ArgOperand && scan.Prog.Operands == program.Script:
			file := &words[arg.Word]
			return arg.Word < from || near(file) && (modules == maxModules || path.Ext(file.Text) != "") // memray run x
		case arg.Kind != shell.ArgOption:
		case arg.Option.Effect == program.EffModule:
			return arg.Word < from || runsTool(arg, words, modules-1, near)
		case choosesProgram(arg.Option.Effect):
			return arg.Word < from
		case isFile(arg) && arg.Word >= from && !near(&arg.Value):
			return false
		}
	}
	return scan.Prog.Operands != program.Script
}

// runsTool reports whether a module is a tool of projects, or one that only reads and writes
// the files that it is given, by the section of its program.
func runsTool(arg shell.Arg, words []shell.Word, modules int, near func(*shell.Word) bool) bool {
	if arg.ValueAt < 0 || !arg.Value.Known() || modules == 0 {
		return false
	}
	p := program.Lookup(strings.TrimSuffix(arg.Value.Text, ".__main__"))
	if p == nil {
		return false
	}
	words = append([]shell.Word{arg.Value}, words[arg.ValueAt+1:]...)
	scan := shell.ScanWords(p, words)
	switch scan.Prog.Operands {
	case program.Script, program.Reads, program.Outputs:
	default:
		if p.Facts&program.Packaged == 0 || p.Facts&program.Interpreter != 0 || p.Registry != "" {
			return false
		}
		for i := range words[1:] {
			if !staysNear(&words[i+1], near) {
				return false
			}
		}
	}
	return runsNear(scan, words, 0, modules, near)
}

// staysNear reports whether a word, or the value of the option that it is, names nothing
// that is not near: its program may run that, and what each word is to it is not known.
func staysNear(word *shell.Word, near func(*shell.Word) bool) bool {
	if !word.Known() {
		return near(word)
	}
	text := word.Text
	if strings.HasPrefix(text, "-") {
		text = strings.TrimLeft(text, "-")
		if _, value, found := strings.Cut(text, "="); found {
			text = value
		} else if at := strings.IndexAny(text, "/~"); at == 1 { // -f/tmp/x.py
			text = text[at:]
		} else {
			return true
		}
	}
	for piece := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("=:,;@", r) }) {
		if piece == "data" && text != piece || piece[0] == '~' || !near(&shell.Word{Text: piece}) {
			return false
		}
	}
	return true
}

// choosesProgram reports whether an option of an interpreter says what is run in place of
// a program file.
func choosesProgram(effect program.Effect) bool {
	switch effect {
	case program.EffCode, program.EffRun, program.EffOpaque:
		return true
	}
	return false
}

// isFile reports whether an option names a file that is run as well.
func isFile(arg shell.Arg) bool {
	switch arg.Option.Effect {
	case program.EffProgram, program.EffPlugin:
		return arg.ValueAt >= 0 && (arg.Value.Text == "" || shell.NamesFile(arg.Value.Text))
	}
	return false
}

// isPlaced reports whether a file certainly lies below the directory of the rule's file or in the
// workspace, or is one that is trusted alike.
func (r *Rule) isPlaced(file *shell.Word, dirs []shell.Word, q Query) bool {
	if file.Text == "-" || !file.Known() && (file.Split || !globOnly(file.Holes)) {
		return false
	}
	name := file.Filled(wildcard)
	if path.IsAbs(name) {
		return r.isNear(path.Clean(name), q)
	}
	for i := range dirs {
		if !dirs[i].Known() || !r.isNear(path.Join(dirs[i].Text, name), q) {
			return false
		}
	}
	return len(dirs) > 0
}

func (r *Rule) isNear(file string, q Query) bool {
	below := func(dir string) bool { return dir != "" && subpath.Within(file, dir) }
	return below(r.source.Dir) || below(r.place.Workspace) || slices.ContainsFunc(r.place.Roots, below) ||
		q.Files != nil && q.Files.Trusted(file)
}
