package program

// Facts are what is so of a program whatever its words say.
type Facts uint16

// The facts.
const (
	// TaskRunner: the operands name what is done, or run (make).
	TaskRunner Facts = 1 << iota
	// Interpreter: a shell, an interpreter, or another program that is there to
	// run what it is told to.
	Interpreter
	// Fetcher: its output comes from a host, whether or not the address is known.
	Fetcher
	// ObeysProject: runs code that the project names before it looks at its words,
	// so that not even --version is harmless: yarnPath in .yarnrc.yml,
	// .pnpmfile.cjs, the Gemfile, plugins of composer and in .poetry/plugins,
	// .mvn/jvm.config.
	ObeysProject
	// BySubcommand: a rule is better about a subcommand than about the program.
	BySubcommand
)

// Is reports whether a fact is known of the program of that name.
func Is(name string, fact Facts) bool {
	p := find(name)
	return p != nil && p.Facts&fact != 0
}
