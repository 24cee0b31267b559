package shell

import "strings"

// rustc handles --emit, which may name a file for each kind, and -C, which may name a
// program or a file (rustc book, "Codegen Options").
func (e *effector) rustc() {
	e.gcc()
	for _, a := range e.scan.Args {
		switch {
		case a.Kind != ArgOption:
		case a.Option.Names[0] == "-C":
			e.codegen(a.Value)
		case a.Option.Names[0] == "--emit":
			e.emits(a.Value)
		}
	}
}

func (e *effector) emits(kinds Word) {
	for _, piece := range pieces(kinds, ',') {
		if at := strings.IndexByte(piece.Text, '='); at >= 0 {
			e.write(cutWord(piece, at+1), NeedCover, false, "option --emit of rustc")
		}
	}
}

func (e *effector) codegen(setting Word) {
	key, value, _ := strings.Cut(setting.Text, "=")
	switch file := cutWord(setting, len(setting.Text)-len(value)); {
	case key == "linker" || key == "ar" || key == "dlltool":
		e.runFile(file, "option -C "+key+" of rustc")
	case key == "incremental" || key == "profile-generate":
		e.write(file, NeedCover, false, "option -C "+key+" of rustc")
	case !codegens.has(key) || setting.holeAt(0):
		e.unprovenLate(causeVeryWords, "option -C "+key, "rustc")
	}
}

// codegens lists the settings that name no program or file, and no argument for a
// program.
var codegens = set(
	"code-model", "codegen-units", "control-flow-guard", "debug-assertions", "debuginfo", "default-linker-libraries", "embed-bitcode",
	"extra-filename", "force-frame-pointers", "force-unwind-tables", "instrument-coverage", "lto", "metadata", "no-prepopulate-passes",
	"no-redzone", "no-vectorize-loops", "no-vectorize-slp", "opt-level", "overflow-checks", "panic", "passes", "prefer-dynamic",
	"relocation-model", "relro-level", "rpath", "soft-float", "split-debuginfo", "strip", "symbol-mangling-version", "target-cpu",
	"target-feature",
)

// rustcWords passes the words behind -- to rustc.
func (e *effector) rustcWords() {
	if words, ok := e.behindDashes(); ok {
		e.part(append([]Word{{Text: "rustc"}}, words...), -1)
	}
}

// libtest writes the log file that an option behind -- names (rustc book, "Tests").
func (e *effector) libtest() {
	words, _ := e.behindDashes()
	for i, t := range words {
		switch {
		case t.Text == "--logfile" && i+1 < len(words):
			e.write(words[i+1], NeedCover, false, "option --logfile of the tests")
		case strings.HasPrefix(t.Text, "--logfile="):
			e.write(cutWord(t, len("--logfile=")), NeedCover, false, "option --logfile of the tests")
		}
	}
}
