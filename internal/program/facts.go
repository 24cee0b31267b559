package program

// Facts is a set of properties of a program that do not depend on its words.
type Facts uint16

// The facts.
const (
	// TaskRunner marks a program whose operands name tasks that it runs (make).
	TaskRunner Facts = 1 << iota
	// Interpreter marks a shell, an interpreter, or another program whose purpose is
	// to run what it is given.
	Interpreter
	// Fetcher marks a program whose output comes from a host, whether or not the
	// address is known.
	Fetcher
	// ObeysProject marks a program that runs code named by the project before it
	// reads its words, so that not even --version is harmless: yarnPath in
	// .yarnrc.yml, .pnpmfile.cjs, the Gemfile, plugins of composer and in
	// .poetry/plugins, .mvn/jvm.config.
	ObeysProject
	// BySubcommand marks a program for which rules should name the subcommand.
	BySubcommand
	// Editor marks a program that only reads and writes files that its words name
	// (sed -i, tee, gofmt -w), so that a mode that accepts edits may cover it.
	Editor
	// NamesHosts marks a program whose words name the hosts that it tells something,
	// if only their names to the servers of their domain (CVE-2025-55284).
	NamesHosts
	// Packaged marks a program that packages of a project bring along and that obeys the
	// project's code or settings, so that the one in the project's own environment
	// (.venv/bin, node_modules/.bin) is meant by its name.
	Packaged
	// Interactive marks a program that reads the keyboard of its terminal, or may ask
	// for a password there: an editor, a pager, a monitor, a client of another host.
	Interactive
	// Outside marks a program that does its work by means of a service, other processes,
	// the machine's settings or another host, none of which are there inside the sandbox.
	Outside
	// InShell marks what the shell does itself, without a program that could obey a
	// variable of the environment.
	InShell
)

// Is reports whether the program of that name has the property.
func Is(name string, fact Facts) bool {
	p := find(name)
	return p != nil && p.Facts&fact != 0
}
