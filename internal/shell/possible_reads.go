package shell

import (
	"math"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// PossibleReads returns the paths that a Command may read without a Read of its own:
// words that its catalogue entry knows only as data, and the files in "@file",
// "option=file" and "file:place". The paths are absolute as far as they are known.
// Programs that only name files have none.
func (a *Action) PossibleReads() []Word {
	if a.Kind != Command || a.Prints {
		return nil
	}
	p := possibleReads{dirs: a.Dirs}
	p.variables(a.Assigns)
	if a.Program == nil {
		for i := range a.Words[1:] {
			p.parts(a.Words[i+1]) // the words themselves are Reads
			p.code(a.Words[i+1])
			p.attached(a.Words[i+1])
		}
		p.given(&a.input)
		return p.paths
	}
	scan := ScanWords(a.Program, a.Words)
	if namesOnly(a.Program.Name, scan) {
		return p.paths
	}
	p.prog = scan.Prog
	p.lone = a.Program.Name == "yq" && countOperands(scan) == 1
	if scan.Prog.Wraps() {
		p.mounted(a.Words, scan)
	}
	for _, arg := range scan.Args {
		p.arg(arg, &a.Words[arg.Word])
	}
	splitPaths(a.code, p.part)
	if k := scan.Prog.Operands; (scan.Prog.Special == "" || adds.has(scan.Prog.Special)) && (k == program.Text || k == program.Unread) {
		p.given(&a.input)
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
	switch {
	case scan.Prog.Operands == program.Names:
		return !slices.ContainsFunc(scan.Args, func(a Arg) bool { return a.Kind == ArgOption && a.Option.Effect == program.EffUnproven })
	case name != "git" || len(scan.Path) == 0:
		return scan.Prog.Safe
	case showsObjects(scan):
		return false
	}
	return slices.Contains(gitNames, scan.Path[0]) || scan.Prog.Safe && scan.Path[0] != "add"
}

// showsObjects reports whether git prints the names of the objects that the files are
// kept in, by which the objects can be read.
func showsObjects(scan Scan) bool {
	switch scan.Path[0] {
	case "ls-tree", "rev-parse":
		return true
	case "ls-files":
		return slices.ContainsFunc(scan.Args, func(a Arg) bool {
			return a.Kind == ArgOption && (slices.Contains(a.Option.Names, "--stage") || slices.Contains(a.Option.Names, "-s") || slices.Contains(a.Option.Names, "--format"))
		})
	}
	return false
}

func countOperands(scan Scan) (n int) {
	for _, a := range scan.Args {
		if a.Kind == ArgOperand || a.Kind == ArgUnsure {
			n++
		}
	}
	return n
}

// naming lists parts of the long names of options whose values select or describe
// files.
var naming = []string{
	"exclude", "ignore", "skip", "filter", "pattern", "glob", "name", "regex", "match", "grep", "message", "subject", "title",
	"body", "label", "format", "author", "branch", "arg",
}

// adds lists the readers that supplement the table's description of the operands
// rather than replace it.
var adds = set("git", "gh", "kubectl", "compose", "aws", "azure", "go", "make", "npm", "runner", "deno", "gcc", "mvn", "cmake", "rustc", "libtest", "golangci", "python", "pytest", "mount", "parallel")

type possibleReads struct {
	prog  *program.Program
	dirs  []Word
	paths []Word
	// lone: the only operand may be a file although it is read as a pattern.
	lone bool
}

// variables adds the values of variables that the program may obey.
func (p *possibleReads) variables(assigns []Assign) {
	for i := range assigns {
		if a := &assigns[i]; a.Class == Other {
			p.word(a.Value)
			splitPaths(a.Value, p.part)
		}
	}
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
	case program.Text, program.Unread, program.Names:
		if p.prog.Special == "" || adds.has(p.prog.Special) {
			p.word(w)
		}
		if p.prog.Operands == program.Unread {
			p.code(w)
		}
	case program.Outputs: // \input{file}, caption:@file
		p.parts(w)
		p.code(w)
	case program.Script:
		p.parts(w)
		p.attached(w)
	case program.Reads, program.Copy, program.Transfer, program.InOut, program.Loads:
		p.parts(w)
	case program.PatternReads:
		if p.lone { // the expression, or the file
			p.word(w)
		}
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
	case program.EffNone, program.EffTask, program.EffUnproven, program.EffSystem, program.EffWrite:
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

// attached adds the value of an option of one letter: -ovalue.
func (p *possibleReads) attached(w Word) {
	if strings.HasPrefix(w.Text, "-") && !strings.HasPrefix(w.Text, "--") && !w.holeAt(0) {
		p.part(cutWord(w, 2))
	}
}

// given adds the paths in text of the line on standard input: names of files, or code
// (echo 'file("f")' | terraform console).
func (p *possibleReads) given(in *input) {
	for _, text := range in.texts {
		p.part(text)
		splitPaths(text, p.part)
	}
}

// code adds the paths in a word that may be code in a program's own language: what
// stands in quotes or brackets in it.
func (p *possibleReads) code(w Word) {
	if strings.ContainsAny(w.Text, "\"'`()<>{}[] ") {
		splitPaths(w, p.part)
	}
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

// maxMounted is the number of paths that mounted adds. Beyond it any path is meant.
const maxMounted = 4096

// mounted adds the files that a command may see under other paths: a container, or a
// command with a root of its own, has directories of this machine in it that the words
// before the command name (docker run -v .:/w i cat /w/.env). Where they are mounted
// is not read: each end of an absolute path may lie below each of them.
func (p *possibleReads) mounted(words []Word, scan Scan) {
	from := wrappedAt(scan)
	var places, ends []Word
	for i := 1; i < len(words); i++ {
		eachPath(words[i], func(w Word) {
			switch {
			case i >= from && strings.HasPrefix(w.Text, "/"):
				ends = append(ends, suffixes(w)...)
			case i < from && (w.holeAt(0) || strings.IndexAny(w.Text, "./") == 0):
				places = append(places, beneath(p.dirs, w)...)
			}
		})
	}
	if len(places)*len(ends) > maxMounted {
		p.paths = append(p.paths, unknown())
		return
	}
	for _, place := range places {
		for _, end := range ends {
			p.paths = append(p.paths, joinPath(place, end))
		}
	}
}

// wrappedAt returns the index of the first word of the command that a wrapper runs.
func wrappedAt(scan Scan) int {
	skip := scan.Prog.Skip
	for _, a := range scan.Args {
		if a.Kind != ArgOperand && a.Kind != ArgUnsure {
			continue
		}
		if skip--; skip < 0 {
			return a.Word
		}
	}
	return math.MaxInt
}

// suffixes returns what stands behind each slash of a path.
func suffixes(w Word) []Word {
	var list []Word
	for i := range len(w.Text) {
		if w.Text[i] == '/' && i+1 < len(w.Text) && w.Text[i+1] != '/' {
			list = append(list, cutWord(w, i+1))
		}
	}
	return list
}

// eachPath calls add with a word and each path in it.
func eachPath(w Word, add func(Word)) {
	add(w)
	splitPaths(w, add)
}

// separators separate the paths in a word: a=b, a:b, a,b, and in code of a program's
// own language (tee > "a", $*).
const separators = "=,:;\"'`()<>{}[]| \t\n"

// splitPaths calls add with each part of a word between separators, if it has any.
func splitPaths(w Word, add func(Word)) {
	if !strings.ContainsAny(w.Text, separators) {
		return
	}
	for from := 0; from <= len(w.Text); {
		end := strings.IndexAny(w.Text[from:], separators)
		if end < 0 {
			end = len(w.Text) - from
		}
		add(headWord(w, from, from+end))
		from += end + 1
	}
}
