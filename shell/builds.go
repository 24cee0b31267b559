package shell

import (
	"slices"
	"strings"
)

// make: a variable on the command line goes into the text of recipes and into
// their environment, and stands before what the makefile says (GNU make manual,
// "Overriding Variables", "Implicit Variables").
func (e *effector) make() {
	for _, r := range e.operandWords(0) {
		at := strings.IndexByte(r.Text, '=')
		if at < 0 {
			at = len(r.Text)
		}
		switch name := strings.TrimSpace(r.Text[:at]); {
		case r.holeAt(0):
		case len(r.Holes) > 0 && r.Holes[0].At <= at && strings.Trim(name, makeCapitals) == "":
			e.unprovenLate(causeMakeName, show(&r), name)
		case at < len(r.Text):
			e.makeVariable(name, cutWord(r, at+1))
		}
	}
}

// makeCapitals are what the names of variables are made of that make and its
// built-in rules know.
const makeCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// makeVariable reads NAME=VALUE. Blanks about the name are none of it.
func (e *effector) makeVariable(name string, value Word) {
	plain := strings.TrimSpace(strings.TrimRight(name, ":+?!"))
	flags := strings.HasSuffix(plain, "FLAGS") && plain != ".SHELLFLAGS" && plain != "MAKEFLAGS"
	switch {
	case strings.HasSuffix(name, "!"), plain == "SHELL", plain == ".SHELLFLAGS", plain == "MAKEFLAGS", plain == "GNUMAKEFLAGS", plain == "MAKEFILES":
		e.odd(causeMakeObeys, name)
	case strings.Contains(value.Text, "$"):
		e.odd(causeMakeExpands, plain)
	case makePrograms[plain]:
		e.makeProgram(plain, value)
	case flags:
		e.flags(plain, value)
	case Sh.classOf(plain, nil) == Dangerous:
		e.odd(causeMakeRuns, plain)
	case makePlaces[plain]:
		e.write(value, NeedOutside, false, "variable "+plain+" of make")
	case breaks(value.Text, 0), breaks(value.Text, '"'):
		e.odd(causeMakeValue, plain)
	case breaks(value.Text, '\''):
		e.unprovenLate(causeMakeQuoted, plain)
	case value.hasHole(AnyText):
		e.unprovenLate(causeMakeUnknown, plain)
	}
}

// makePrograms are the variables whose value recipes run.
var makePrograms = set(
	"AR", "AS", "CC", "CXX", "CPP", "FC", "M2C", "PC", "CO", "GET", "LD", "LEX", "YACC", "LINT", "MAKEINFO", "TEX", "TEXI2DVI",
	"WEAVE", "CWEAVE", "TANGLE", "CTANGLE", "RM", "MAKE", "CP", "MV", "LN", "MKDIR", "INSTALL", "NM", "STRIP", "RANLIB",
	"OBJCOPY", "OBJDUMP", "HOSTCC", "HOSTCXX", "CMAKE", "NINJA", "PYTHON", "PYTHON3", "PIP", "NODE", "NPM", "NPX", "GO", "CARGO",
	"RUSTC", "JAVA", "JAVAC", "RUBY", "PERL", "SUDO", "EDITOR", "PAGER", "DOCKER", "GIT", "CURL", "WGET", "SED", "AWK", "BASH", "SH",
)

// makePlaces are the variables that name where recipes install (GNU coding
// standards, "Directory Variables").
var makePlaces = set("DESTDIR", "PREFIX", "prefix", "exec_prefix", "bindir", "sbindir", "libdir", "datadir", "datarootdir", "mandir", "sysconfdir", "BINDIR", "LIBDIR")

// makeTools are programs that such a variable may name by itself: they do what
// the recipe is written for.
var makeTools = set(
	"cc", "c++", "gcc", "g++", "clang", "clang++", "clang-cl", "tcc", "icx", "icpx", "cpp", "gfortran", "ld", "lld", "gold", "mold", "ar", "llvm-ar",
	"gcc-ar", "as", "nm", "strip", "ranlib", "objcopy", "objdump", "flex", "lex", "bison", "yacc", "make", "gmake", "ninja", "cmake",
	"python", "python3", "pip", "pip3", "node", "npm", "npx", "go", "cargo", "rustc", "java", "javac", "ruby", "perl", "docker", "podman",
	"gsed", "gawk", "install", "ginstall",
)

// makeProgram: a compiler by its name, with its version and target, is what the
// recipe is written for; anything else is a program that it is told to run.
func (e *effector) makeProgram(name string, value Word) {
	if !strings.ContainsAny(value.Text, " /") && value.Known() && !breaks(value.Text, 0) {
		tool := strings.TrimRight(value.Text, "0123456789.-")
		if i := strings.LastIndexByte(tool, '-'); i >= 0 && makeTools[tool[i+1:]] || makeTools[tool] || makeTools[value.Text] || tool == "" {
			return
		}
	}
	e.runText(value, "variable "+name+" of make", false)
}

// flags reads the value of a variable with options for a compiler.
func (e *effector) flags(name string, value Word) {
	if !value.Known() || breaks(value.Text, 0) || breaks(value.Text, '"') || breaks(value.Text, '\'') {
		e.odd(causeMakeValue, name)
		return
	}
	tool := "gcc"
	switch name {
	case "RUSTFLAGS":
		tool = "rustc"
	case "GOFLAGS":
		tool = "go"
	}
	words := []Word{{Text: tool}}
	if tool == "go" {
		words = append(words, Word{Text: "build"})
	}
	for _, one := range strings.Fields(strings.NewReplacer("'", " ", "\"", " ").Replace(value.Text)) {
		words = append(words, Word{Text: one, Pos: value.Pos, End: value.End})
	}
	e.part(words, -1)
}

// breaks reports whether text holds an operator of the shell outside quotes, or
// leaves other quotes open, where it is put between quotes of one kind; 0 is
// none.
func breaks(text string, around byte) bool {
	quote := around
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '`' && quote != '\'':
			return true
		case c == '\\' && quote != '\'':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte(";|&<>()\n", c) >= 0:
			return true
		}
	}
	return quote != around
}

// reformats: a formatter or fixer by its subcommand changes the sources below its
// directory. That is what it is for: only ask and deny rules look at it.
func (e *effector) reformats() {
	if !e.readOnly {
		defer func(before bool) { e.inPlace = before }(e.inPlace)
		e.inPlace = true
		e.inPlaceWrite(Word{Text: "."}, NeedNone, "sources that "+e.prog.Name+" changes")
	}
}

// goSources: what go changes of the module, and code that it fetches and runs.
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

// goCompiles: the compiler and the assembler of go have options that write files
// (go tool compile, go tool asm); what is not known as harmless needs a rule for
// the very words.
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

// compilerWrites reports whether one word of -gcflags, [PATTERN=]OPTION, is none
// of those that are known to write nothing.
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

// goTestArgs: an option of the tests' own behind -args names a file as it does
// before it (go help testflag).
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

// goEnv: some settings that go env -w keeps are programs, or flags that can name
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

// rustc: --emit may name the file of each kind, -C a program or a file (rustc
// book, "Codegen Options").
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
	case !codegens[key] || setting.holeAt(0):
		e.unprovenLate(causeVeryWords, "-C "+key, "rustc")
	}
}

// codegens are the settings that name no program, file or argument for one.
var codegens = set(
	"code-model", "codegen-units", "control-flow-guard", "debug-assertions", "debuginfo", "default-linker-libraries", "embed-bitcode",
	"extra-filename", "force-frame-pointers", "force-unwind-tables", "instrument-coverage", "lto", "metadata", "no-prepopulate-passes",
	"no-redzone", "no-vectorize-loops", "no-vectorize-slp", "opt-level", "overflow-checks", "panic", "passes", "prefer-dynamic",
	"relocation-model", "relro-level", "rpath", "soft-float", "split-debuginfo", "strip", "symbol-mangling-version", "target-cpu",
	"target-feature",
)

// rustcWords: what stands behind -- is for rustc.
func (e *effector) rustcWords() {
	if words, ok := e.behindDashes(); ok {
		e.part(append([]Word{{Text: "rustc"}}, words...), -1)
	}
}

// libtest: an option behind -- names a file (rustc book, "Tests").
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

// cmake: what stands behind -- is for the build tool (cmake(1), --build).
func (e *effector) cmake() {
	if words, ok := e.behindDashes(); ok && e.has("--build") {
		e.part(append([]Word{{Text: "make"}}, words...), -1)
	}
	if !e.has("-E") {
		e.cmakeProjects()
	}
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-D" {
			continue
		}
		key, value, _ := strings.Cut(a.Value.Text, "=")
		key, _, _ = strings.Cut(key, ":")
		if slices.ContainsFunc([]string{"_COMPILER", "_LAUNCHER", "_PROGRAM", "_LINKER", "_EMULATOR", "_COMMAND", "_EXECUTABLE"}, func(end string) bool { return strings.HasSuffix(key, end) }) {
			e.runText(cutWord(a.Value, len(a.Value.Text)-len(value)), "variable "+key+" of cmake", false)
		}
	}
}

// golangci: a format may name the file that it goes to (golangci-lint run,
// --out-format FORMAT[:FILE],…).
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

// cmakeProjects: a directory whose project is obeyed, as with -S.
func (e *effector) cmakeProjects() {
	for _, r := range e.operandWords(0) {
		for _, dir := range beneath(e.dirs, r) {
			if !e.w.inside(&dir) {
				e.unprovenLate(causeCmakeProject)
			}
		}
	}
}

// mvn, gradle: a property can name a program, code that is loaded, or a file
// that is written; a goal with a group and a version is a plugin that is
// fetched.
func (e *effector) mvn() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Names[0] != "-D" {
			continue
		}
		key, value, _ := strings.Cut(a.Value.Text, "=")
		file := cutWord(a.Value, len(a.Value.Text)-len(value))
		switch low := strings.ToLower(strings.TrimSpace(key)); {
		case low == "exec.executable":
			e.runMore(file, "property exec.executable", false)
		case javaSettings[low] || strings.HasSuffix(low, ".debug") || strings.HasSuffix(low, "classpath") || strings.HasSuffix(low, "argline") || strings.HasSuffix(low, "jvmargs") || strings.Contains(value, "-javaagent"):
			e.odd(causeProperty, key, e.prog.Name)
		case low == "output" || strings.HasPrefix(low, "output") || strings.HasSuffix(low, "outputfile") || strings.HasSuffix(low, "outputdirectory"):
			e.write(file, NeedCover, false, "property "+key)
		case low == "maven.repo.local":
			e.write(file, NeedOutside, false, "property "+key)
		}
	}
	for _, r := range e.operandWords(0) {
		if e.prog.Name != "gradle" && e.prog.Name != "gradlew" && strings.Count(r.Text, ":") >= 2 {
			e.unprovenLate(causeGoalFetched, show(&r))
		}
	}
}

// javaSettings are the properties of Maven, its plugins and Gradle that name a
// program or code.
var javaSettings = set(
	"maven.ext.class.path", "maven.multimoduleprojectdirectory", "jvm", "exec.args", "exec.commandlineargs", "exec.classpathscope",
	"altdeploymentrepository", "org.gradle.java.home", "org.gradle.jvmargs", "java.home", "maven.compiler.executable", "maven.javadoc.executable",
)
