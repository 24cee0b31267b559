package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// PossibleWrites returns the paths that a Command may write without a Write of its
// own: all words of a program without an entry; for one with an entry, words that it
// does not describe and values of options that are unlisted or unproven; and the
// paths inside such words. A directory stands for the files below it as well. The
// paths are absolute as far as they are known. Programs that only read have none.
func (a *Action) PossibleWrites() []Word {
	if a.Kind != Command || a.Prints {
		return nil
	}
	p := possibleWrites{dirs: a.Dirs, words: a.Words}
	if a.Program == nil {
		p.variables(a.Assigns)
		for i := range a.Words[1:] {
			p.unlisted(a.Words[i+1])
		}
		return p.paths
	}
	if !a.Program.Safe || a.Program.Variables != nil {
		p.variables(a.Assigns)
	}
	scan := ScanWords(a.Program, a.Words)
	if scan.Prog.Safe {
		return p.paths
	}
	p.prog = scan.Prog
	for i := range scan.Args {
		p.arg(scan.Args, i)
	}
	if scan.Prog.Operands == program.Outputs && scan.Prog.Workdir && p.operands == 0 && !slices.ContainsFunc(scan.Args, onlyShows) {
		p.part(Word{Text: "."}) // what the configuration names
	}
	splitPaths(a.code, p.part)
	for _, name := range strings.Fields(scan.Prog.Changes) {
		p.part(Word{Text: name})
	}
	return p.paths
}

// variables adds the values of variables of which nothing is known: a program may
// write its log there.
func (p *possibleWrites) variables(assigns []Assign) {
	for _, a := range assigns {
		if a.Class == Other {
			p.word(a.Value)
		}
	}
}

// onlyShows reports whether an option makes a program write nothing.
func onlyShows(a Arg) bool {
	return a.Kind == ArgOption && (a.Option.Effect == program.EffReadOnly || slices.Contains(a.Option.Names, "--help") || slices.Contains(a.Option.Names, "--version"))
}

type possibleWrites struct {
	prog  *program.Program
	dirs  []Word
	words []Word
	paths []Word
	// operands is the number of operands so far.
	operands int
}

func (p *possibleWrites) arg(args []Arg, i int) {
	arg := args[i]
	switch arg.Kind {
	case ArgOperand, ArgUnsure:
		p.operands++
		if len(p.prog.Path) == 0 && p.prog.Wraps() && p.operands <= p.prog.Skip { // the root of chroot
			p.part(p.words[arg.Word])
		}
		if p.unknownOperand() || i > 0 && takesNext(args[i-1], p.words) && args[i-1].Word+1 == arg.Word {
			p.unlisted(p.words[arg.Word])
		}
	case ArgUnlisted:
		p.unlisted(p.words[arg.Word])
	case ArgOption:
		p.option(arg)
	}
}

// unknownOperand reports whether the entry does not describe the last operand: it
// describes none, or the operand is an argument of a script.
func (p *possibleWrites) unknownOperand() bool {
	switch p.prog.Operands {
	case program.Unread:
		return p.prog.Special == "" || adds.has(p.prog.Special)
	case program.Script:
		return p.operands > p.prog.Skip+1 && p.prog.Special != "awk" // the operands of awk are read
	}
	return false
}

// unlisted adds the paths of a word that no entry describes: an operand, -fvalue,
// --option=value. The values of options that select files by their name are left out.
func (p *possibleWrites) unlisted(w Word) {
	switch {
	case !strings.HasPrefix(w.Text, "-") || w.holeAt(0):
		p.word(w)
	case strings.HasPrefix(w.Text, "--"):
		if at := strings.IndexByte(w.Text, '='); at >= 0 && !choosing(w.Text[:at]) {
			p.word(cutWord(w, at+1))
		}
	default:
		p.parts(cutWord(w, 1))
		p.part(cutWord(w, 2))
	}
}

func (p *possibleWrites) option(arg Arg) {
	if arg.ValueAt < 0 {
		return
	}
	switch arg.Option.Effect {
	case program.EffDir:
		p.dirs = beneath(p.dirs, arg.Value)
	case program.EffUnproven, program.EffSystem:
		p.word(arg.Value)
	case program.EffPlugin: // pylint -f text:x
		p.tails(arg.Value)
	case program.EffWrite, program.EffOutput, program.EffClears: // type=local,dest=x
		p.parts(arg.Value)
	case program.EffNone: // an entry that does not describe operands stands for several programs
		switch {
		case p.prog.Operands == program.Unread && !slices.ContainsFunc(arg.Option.Names, choosing):
			p.word(arg.Value)
		case p.prog.Style == program.Joined && arg.Option.Value == program.Optional: // stands for all that begin so
			p.tails(arg.Value)
		}
	}
}

// word adds the word and its parts.
func (p *possibleWrites) word(w Word) {
	p.part(w)
	p.parts(w)
}

// parts adds the parts of a word that may be paths.
func (p *possibleWrites) parts(w Word) {
	splitPaths(w, p.part)
	p.tails(w)
}

// tails adds the rest of the word after each separator of options and values.
func (p *possibleWrites) tails(w Word) {
	for i := range len(w.Text) {
		switch w.Text[i] {
		case '=', ':', ',':
			p.part(cutWord(w, i+1))
		}
	}
}

// part adds a path if its known text distinguishes it from others. If it ends in
// unknown text, its directory is added.
func (p *possibleWrites) part(w Word) {
	if at := anyText(&w); at >= 0 {
		slash := strings.LastIndexByte(w.Text[:at], '/')
		if slash <= 0 || strings.Trim(w.Text[:slash], "./") == "" {
			return
		}
		w = headWord(w, 0, slash)
	}
	if w.Text == "" && len(w.Holes) == 0 || len(w.Text) > maxPath || strings.ContainsAny(w.Text, "\n\x00") || w.hasHole(Pipe) || free.has(w.Text) || strings.Contains(w.Text, "://") {
		return
	}
	p.paths = append(p.paths, beneath(p.dirs, w)...)
}

// anyText returns the position of the first hole for any text, or -1.
func anyText(w *Word) int {
	for _, h := range w.Holes {
		if h.Kind == AnyText {
			return h.At
		}
	}
	return -1
}
