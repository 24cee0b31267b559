package shell

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// goTool handles the words of go, first of all linker and compiler flags, which can
// name a program.
func (e *effector) goTool() {
	e.goSources()
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Effect != program.EffNone {
			continue
		}
		switch a.Option.Names[0] {
		case "-ldflags", "-gcflags", "-asmflags":
			if !a.Value.Known() || strings.Contains(a.Value.Text, "-ext") || strings.Contains(a.Value.Text, "-toolexec") {
				e.odd(causeGoLinker, a.Option.Names[0])
			}
		}
	}
}

// goSources derives what go changes in the module, and code that it fetches and runs.
func (e *effector) goSources() {
	e.goCompiles()
	e.goElsewhere()
	switch path := strings.Join(e.scan.Path, " "); path {
	case "test":
		e.goLoads()
		e.goTestArgs()
		e.goOutputs()
	case "generate":
		e.goLoads()
	case "fmt", "fix":
		if !e.has("-n") && !e.has("-diff") {
			e.reformats()
			e.goFormats()
		}
	case "mod tidy", "mod edit", "install":
		for _, name := range []string{"go.mod", "go.sum"} {
			e.write(Word{Text: name}, NeedNone, false, "module of go "+path)
		}
		if path == "mod edit" { // it can print what it is given
			e.goPrints(path)
		}
	case "work edit":
		e.goPrints(path)
	case "env":
		e.goEnv()
	case "run":
		if len(e.operands) > 0 && strings.Contains(e.words[e.operands[0]].Text, "@") {
			e.apartLate(causeFetchesProgram, "go run")
		}
	}
}

// goLoads reads the packages by path that a command of go runs something of.
func (e *effector) goLoads() {
	for _, r := range e.goPaths() {
		e.load(r, "operand of go "+strings.Join(e.scan.Path, " "))
	}
}

// goPaths returns the operands that name files or packages elsewhere.
func (e *effector) goPaths() []Word {
	var paths []Word
	for _, r := range e.operandWords(0) {
		if strings.HasPrefix(r.Text, "/") || strings.HasPrefix(r.Text, "..") || strings.Contains(r.Text, "/../") {
			paths = append(paths, r)
		}
	}
	return paths
}

// goElsewhere reads the module in the directory of -C if a command runs or changes
// something of it.
func (e *effector) goElsewhere() {
	if len(e.scan.Path) == 0 {
		return
	}
	switch e.scan.Path[0] {
	case "test", "run", "generate", "tool", "fmt", "fix", "build", "install":
		for _, a := range e.scan.Args {
			if a.Kind == ArgOption && a.Option.Names[0] == "-C" {
				e.load(a.Value, "option -C of go "+e.scan.Path[0])
			}
		}
	}
}

// goFormats changes the sources elsewhere that operands name.
func (e *effector) goFormats() {
	for _, r := range e.goPaths() {
		if strings.HasSuffix(r.Text, "/...") && r.Known() {
			r.Text = strings.TrimSuffix(r.Text, "...")
		}
		e.inPlaceWrite(r, NeedOutside, "sources that go changes")
	}
}

// goOutputs writes the profiles of a test in the directory of -outputdir.
func (e *effector) goOutputs() {
	for _, dir := range e.scan.Args {
		if dir.Kind != ArgOption || !strings.HasSuffix(dir.Option.Names[0], "outputdir") {
			continue
		}
		for _, a := range e.scan.Args {
			if a.Kind == ArgOption && a.Option.Effect == program.EffWrite && a.ValueAt >= 0 && a.Word != dir.Word {
				e.write(joinPath(dir.Value, a.Value), NeedCover, false, "option "+a.Option.Names[0]+" of go test")
			}
		}
	}
}

// goPrints reads the files that a command of go can print.
func (e *effector) goPrints(path string) {
	for _, r := range e.operandWords(0) {
		e.read(r, NeedNone, "operand of go "+path)
	}
}

// goCompiles marks flags of the compiler, the assembler and the linker unproven unless
// they are known to write no files (go tool compile, go tool asm, go tool link). What
// others name may be written.
func (e *effector) goCompiles() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		known := compilerFlags
		switch a.Option.Names[0] {
		case "-gcflags", "-asmflags":
		case "-ldflags":
			known = linkerFlags
		default:
			continue
		}
		if !a.Value.Known() {
			e.unprovenLate(causeGoWrites, a.Option.Names[0])
			continue
		}
		for _, flag := range toolFlags(a.Value.Text, known) {
			e.unprovenLate(causeGoWrites, a.Option.Names[0])
			e.write(Word{Text: flag, Pos: a.Value.Pos, End: a.Value.End}, NeedCover, false, "option "+a.Option.Names[0]+" of go")
		}
	}
}

// toolFlags returns the values, [PATTERN=]FLAG …, that do not belong to flags which
// are known to write nothing; "." for a flag without a value.
func toolFlags(text string, known nameSet) []string {
	if pattern, flags, found := strings.Cut(text, "="); found && !strings.HasPrefix(strings.TrimLeft(text, ` "'`), "-") && !strings.ContainsAny(pattern, " \t") {
		text = flags
	}
	var values []string
	words := quotedFields(text)
	for i := 0; i < len(words); i++ {
		name, value, valued := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		next := i+1 < len(words) && !strings.HasPrefix(words[i+1], "-")
		switch {
		case !strings.HasPrefix(words[i], "-"):
			if !known.has(words[i]) {
				values = append(values, words[i])
			}
			continue
		case !valued && next:
			i++
			value = words[i]
		}
		if !known.has(name) {
			values = append(values, cmp.Or(value, "."))
		}
	}
	return values
}

// quotedFields splits words at blanks; a word may stand in quotes as a whole (go help
// build).
func quotedFields(text string) []string {
	var words []string
	for text = strings.TrimLeft(text, " \t\n\r"); text != ""; text = strings.TrimLeft(text, " \t\n\r") {
		if quote := text[0]; quote == '"' || quote == '\'' {
			word, rest, _ := strings.Cut(text[1:], string(quote))
			words, text = append(words, word), rest
			continue
		}
		end := strings.IndexAny(text, " \t\n\r")
		if end < 0 {
			end = len(text)
		}
		words, text = append(words, text[:end]), text[end:]
	}
	return words
}

var compilerFlags = set(
	"m", "N", "l", "S", "e", "B", "C", "E", "K", "L", "W", "w", "h", "v", "live", "std", "race", "msan", "asan", "dynlink", "shared", "smallframes", "complete",
	"trimpath", "lang", "c", "d", "D", "dwarf", "spectre", "goversion", "wb", "errorurl", "pack", "t", "r", "j", "all",
)

// linkerFlags are those of go tool link that write nothing (its -help). A program
// that it runs is held by goTool.
var linkerFlags = set(
	"X", "s", "w", "v", "V", "n", "B", "E", "H", "R", "T", "a", "c", "d", "f", "g", "h", "k", "race", "msan", "asan", "aslr", "bindnow", "buildid", "buildmode",
	"checklinkname", "compressdwarf", "debugtextsize", "debugtramp", "debugnosplit", "dumpdep", "extld", "extldflags", "extar", "funcalign", "installsuffix",
	"libgcc", "linkmode", "linkshared", "memprofilerate", "pluginpath", "pruneweakmap", "randlayout", "strictdups", "benchmark",
)

// goTestArgs reads the options of the test binary behind -args as those before it (go
// help testflag).
func (e *effector) goTestArgs() {
	at := slices.IndexFunc(e.words, func(w Word) bool { return w.Text == "-args" || w.Text == "--args" })
	if at < 0 {
		return
	}
	words := []Word{e.words[0], {Text: "test"}}
	for _, w := range e.words[at+1:] {
		if strings.HasPrefix(strings.TrimLeft(w.Text, "-"), "test.") || len(words) > 2 {
			words = append(words, w)
		}
	}
	if len(words) > 2 {
		e.part(words, -1)
	}
}

// goEnv runs the settings of go env -w that are programs (go help environment).
func (e *effector) goEnv() {
	if !e.has("-w") {
		return
	}
	for _, r := range e.words[1:] {
		name, value, found := strings.Cut(r.Text, "=")
		switch {
		case !found:
		case name == "CC" || name == "CXX" || name == "FC" || name == "AR" || name == "GCCGO" || name == "PKG_CONFIG":
			e.runText(cutWord(r, len(r.Text)-len(value)), "setting "+name+" of go", false)
		}
	}
}

// golangci writes the file that a format names (golangci-lint run, --out-format
// FORMAT[:FILE],…).
func (e *effector) golangci() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "--out-format" {
			continue
		}
		for _, piece := range pieces(a.Value, ',') {
			at := strings.IndexByte(piece.Text, ':')
			if file := cutWord(piece, at+1); at >= 0 && file.Text != "stdout" && file.Text != "stderr" {
				e.write(file, NeedCover, false, "option --out-format of golangci-lint")
			}
		}
	}
}
