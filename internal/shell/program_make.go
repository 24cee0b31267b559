package shell

import "strings"

// make handles variables on the command line. They become part of the text and the
// environment of recipes, and override the makefile (GNU make manual, "Overriding
// Variables", "Implicit Variables").
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

// makeCapitals are the characters of the variables known to make and its built-in
// rules.
const makeCapitals = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

// makeVariable handles NAME=VALUE. Blanks around the name do not belong to it.
func (e *effector) makeVariable(name string, value Word) {
	plain := strings.TrimSpace(strings.TrimRight(name, ":+?!"))
	flags := strings.HasSuffix(plain, "FLAGS") && plain != ".SHELLFLAGS" && plain != "MAKEFLAGS"
	switch {
	case strings.HasSuffix(name, "!"), plain == "SHELL", plain == ".SHELLFLAGS", plain == "MAKEFLAGS", plain == "GNUMAKEFLAGS", plain == "MAKEFILES":
		e.odd(causeMakeObeys, name)
	case strings.Contains(value.Text, "$"):
		e.odd(causeMakeExpands, plain)
	case makePrograms.has(plain):
		e.makeProgram(plain, value)
	case flags:
		e.flags(plain, value)
	case Sh.classOf(plain, nil) == Dangerous:
		e.odd(causeMakeRuns, plain)
	case makePlaces.has(plain):
		e.write(value, NeedOutside, false, "variable "+plain+" of make")
	case breaks(value.Text, 0), breaks(value.Text, '"'):
		e.odd(causeMakeValue, plain)
	case breaks(value.Text, '\''):
		e.unprovenLate(causeMakeQuoted, plain)
	case value.hasHole(AnyText):
		e.unprovenLate(causeMakeUnknown, plain)
	}
}

// makePrograms lists the variables whose values recipes run.
var makePrograms = set(
	"AR", "AS", "CC", "CXX", "CPP", "FC", "M2C", "PC", "CO", "GET", "LD", "LEX", "YACC", "LINT", "MAKEINFO", "TEX", "TEXI2DVI",
	"WEAVE", "CWEAVE", "TANGLE", "CTANGLE", "RM", "MAKE", "CP", "MV", "LN", "MKDIR", "INSTALL", "NM", "STRIP", "RANLIB",
	"OBJCOPY", "OBJDUMP", "HOSTCC", "HOSTCXX", "CMAKE", "NINJA", "PYTHON", "PYTHON3", "PIP", "NODE", "NPM", "NPX", "GO", "CARGO",
	"RUSTC", "JAVA", "JAVAC", "RUBY", "PERL", "SUDO", "EDITOR", "PAGER", "DOCKER", "GIT", "CURL", "WGET", "SED", "AWK", "BASH", "SH",
)

// makePlaces lists the variables for the places where recipes install (GNU coding
// standards, "Directory Variables").
var makePlaces = set("DESTDIR", "PREFIX", "prefix", "exec_prefix", "bindir", "sbindir", "libdir", "datadir", "datarootdir", "mandir", "sysconfdir", "BINDIR", "LIBDIR")

// makeTools lists programs that such a variable may name without a rule: they do what
// the recipe is for.
var makeTools = set(
	"cc", "c++", "gcc", "g++", "clang", "clang++", "clang-cl", "tcc", "icx", "icpx", "cpp", "gfortran", "ld", "lld", "gold", "mold", "ar", "llvm-ar",
	"gcc-ar", "as", "nm", "strip", "ranlib", "objcopy", "objdump", "flex", "lex", "bison", "yacc", "make", "gmake", "ninja", "cmake",
	"python", "python3", "pip", "pip3", "node", "npm", "npx", "go", "cargo", "rustc", "java", "javac", "ruby", "perl", "docker", "podman",
	"gsed", "gawk", "install", "ginstall",
)

// makeProgram handles a variable whose value recipes run. A compiler by its name,
// with its version and target, is what the recipe is for; any other value is run as a
// command.
func (e *effector) makeProgram(name string, value Word) {
	if !strings.ContainsAny(value.Text, " /") && value.Known() && !breaks(value.Text, 0) {
		tool := strings.TrimRight(value.Text, "0123456789.-")
		if i := strings.LastIndexByte(tool, '-'); i >= 0 && makeTools.has(tool[i+1:]) || makeTools.has(tool) || makeTools.has(value.Text) || tool == "" {
			return
		}
	}
	e.runText(value, "variable "+name+" of make", false)
}

// flags derives the effects of a variable with options for a compiler.
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

// breaks reports whether text, placed between quotes of the kind around (0 for none),
// holds a shell operator outside quotes or leaves other quotes open.
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
