package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
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
	switch path := strings.Join(e.scan.Path, " "); path {
	case "test":
		e.goTestArgs()
	case "fmt", "fix":
		if !e.has("-n") && !e.has("-diff") {
			e.reformats()
		}
	case "mod tidy", "mod edit", "install":
		for _, name := range []string{"go.mod", "go.sum"} {
			e.write(Word{Text: name}, NeedNone, false, "module of go "+path)
		}
	case "env":
		e.goEnv()
	case "run":
		if len(e.operands) > 0 && strings.Contains(e.words[e.operands[0]].Text, "@") {
			e.apartLate(causeFetchesProgram, "go run")
		}
	}
}

// goCompiles marks flags of the compiler and the assembler unproven unless they are
// known to write no files (go tool compile, go tool asm).
func (e *effector) goCompiles() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-gcflags" && a.Option.Names[0] != "-asmflags" {
			continue
		}
		if !a.Value.Known() || slices.ContainsFunc(strings.Fields(a.Value.Text), compilerWrites) {
			e.unprovenLate(causeGoWrites, a.Option.Names[0])
		}
	}
}

// compilerWrites reports whether a word of -gcflags, [PATTERN=]OPTION, is not known
// to write nothing.
func compilerWrites(word string) bool {
	if dash := strings.IndexByte(word, '-'); dash > 0 && word[dash-1] == '=' {
		word = word[dash:]
	}
	word = strings.Trim(word, `"'`)
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	return !compilerFlags[name]
}

var compilerFlags = set(
	"m", "N", "l", "S", "e", "B", "C", "E", "K", "L", "W", "w", "h", "v", "live", "std", "race", "msan", "asan", "dynlink", "shared", "smallframes", "complete",
	"trimpath", "lang", "c", "d", "D", "dwarf", "spectre", "goversion", "wb", "errorurl", "pack", "t", "r", "j", "all",
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

// goEnv handles the settings of go env -w that are programs, or flags that can name
// one (go help environment).
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
		case strings.HasSuffix(name, "FLAGS") || name == "GOAUTH" || name == "GOCACHEPROG":
			e.odd(causeGoSetting, name)
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
