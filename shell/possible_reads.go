package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// PossibleReads returns the paths that a Command may read without a Read of its own:
// words that its catalogue entry knows only as data, and the files in "@file",
// "option=file" and "file:place". The paths are absolute as far as they are known.
// Programs that only name files have none.
func (a *Action) PossibleReads() []Word {
	if a.Kind != Command {
		return nil
	}
	p := possibleReads{dirs: a.Dirs}
	if a.Program == nil {
		for i := range a.Words[1:] {
			p.parts(a.Words[i+1]) // the words themselves are Reads
		}
		return p.paths
	}
	scan := ScanWords(a.Program, a.Words)
	if scan.Prog.Operands == program.Names || namesOnly(a.Program.Name, scan) {
		return nil
	}
	p.prog = scan.Prog
	for _, arg := range scan.Args {
		p.arg(arg, &a.Words[arg.Word])
	}
	return p.paths
}

// gitNames lists the subcommands of git that use only names, or that write.
var gitNames = []string{
	"branch", "check-attr", "check-ignore", "checkout", "clean", "ls-files", "ls-tree", "mv", "reset", "restore", "rm",
	"status", "switch", "update-index",
}

// namesOnly reports whether a program reads none of the files that it is given. git
// add reads them into the index.
func namesOnly(name string, scan Scan) bool {
	if name != "git" || len(scan.Path) == 0 {
		return scan.Prog.Safe
	}
	return slices.Contains(gitNames, scan.Path[0]) || scan.Prog.Safe && scan.Path[0] != "add"
}

// naming lists parts of the long names of options whose values select or describe
// files.
var naming = []string{
	"exclude", "ignore", "skip", "filter", "pattern", "glob", "name", "regex", "match", "grep", "message", "subject", "title",
	"body", "label", "format", "author", "branch", "arg",
}

// adds lists the readers that supplement the table's description of the operands
// rather than replace it.
var adds = set("git", "gh", "kubectl", "compose", "aws", "azure", "go", "make", "npm", "runner", "deno", "gcc", "mvn", "cmake", "rustc", "libtest", "golangci", "python", "pytest")

type possibleReads struct {
	prog  *program.Program
	dirs  []Word
	paths []Word
}

func (p *possibleReads) arg(arg Arg, w *Word) {
	switch arg.Kind {
	case ArgOperand, ArgUnsure:
		p.operand(*w)
	case ArgUnlisted:
		p.unlisted(w)
	case ArgOption:
		p.option(arg)
	}
}

// operand adds a word that is data, or that is read as it stands.
func (p *possibleReads) operand(w Word) {
	switch p.prog.Operands {
	case program.Text, program.Unread:
		if p.prog.Special == "" || adds[p.prog.Special] {
			p.word(w)
		}
	case program.Reads, program.Script, program.Copy, program.Transfer, program.InOut:
		p.parts(w)
	}
}

// unlisted adds the file in a word that the entry does not list: -fvalue,
// --option=value, or the name of a subcommand.
func (p *possibleReads) unlisted(w *Word) {
	switch {
	case strings.HasPrefix(w.Text, "--"):
		if at := strings.IndexByte(w.Text, '='); at >= 0 && !choosing(w.Text[:at]) {
			p.word(cutWord(*w, at+1))
		}
	case strings.HasPrefix(w.Text, "-"):
		p.word(cutWord(*w, 2))
	default:
		p.word(*w)
	}
}

func (p *possibleReads) option(arg Arg) {
	switch arg.Option.Effect {
	case program.EffDir:
		p.word(arg.Value) // a file, for docker compose --env-file
		p.dirs = beneath(p.dirs, arg.Value)
	case program.EffNone, program.EffUnproven, program.EffSystem, program.EffWrite:
		if arg.ValueAt >= 0 && !slices.ContainsFunc(arg.Option.Names, choosing) {
			p.word(arg.Value)
		}
	}
}

func choosing(option string) bool {
	return len(option) > 2 && slices.ContainsFunc(naming, func(n string) bool { return strings.Contains(option, n) })
}

// word adds the word and its parts.
func (p *possibleReads) word(w Word) {
	p.part(w)
	p.parts(w)
}

// parts adds the parts of a word that may be paths.
func (p *possibleReads) parts(w Word) {
	if strings.HasPrefix(w.Text, "@") {
		p.part(cutWord(w, 1))
	}
	for from := 0; from <= len(w.Text); {
		end := strings.IndexAny(w.Text[from:], "=,:")
		if end < 0 {
			end = len(w.Text)
		} else {
			end += from
			p.part(cutWord(w, end+1))
		}
		if from > 0 || end < len(w.Text) {
			p.part(headWord(w, from, end))
		}
		from = end + 1
	}
}

// part adds a path if its known text distinguishes it from others.
func (p *possibleReads) part(w Word) {
	if strings.HasPrefix(w.Text, "@") {
		w = cutWord(w, 1)
	}
	if len(w.Text) > maxPath || strings.Trim(w.Text, "./") == "" || strings.ContainsAny(w.Text, "\n\x00") || w.hasHole(AnyText) || w.hasHole(Pipe) {
		return
	}
	p.paths = append(p.paths, beneath(p.dirs, w)...)
}
