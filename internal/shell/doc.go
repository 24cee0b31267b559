// Package shell reports what a command line would do: which commands it runs,
// which paths it reads and writes, which hosts it fetches from, and which parts
// of it cannot be known before it runs.
//
// The package analyzes; it decides nothing. Its result is complete in one sense:
// whatever the line does is an action, or lies in an opaque spot, which is an
// action of kind Opaque. A parse error, an exceeded limit or a recovered panic
// makes the whole line opaque, never empty.
//
// The package touches no file, process, clock or environment.
//
// # Stages
//
// The first part of a file's name is its stage. A file refers to declarations of
// its own stage and of those above it in this list, never to those below
// (TestShellStages in internal/arch):
//
//	facts, cause, limits  the result, why parts of it are unknown, and the bounds
//	word      one word: its text and holes, its path, options and operands, variables
//	parse     text to a syntax tree, plain lines without the parser
//	state     the walker, the shell's state at one place, one command in progress
//	survey    a whole text before it is walked: assignments, and where bash or zsh
//	          reads it in another way than the parser
//	expand    words of the tree to words as a program gets them; redirections
//	effect    what a command may do: read, write, fetch, run
//	program   programs that a table cannot describe, and their languages: sed, awk,
//	          find, make, the settings of git
//	command   a command's options and operands to effects, by the catalogue
//	walk      statements, in the order in which the shell runs them
//	analyze, operators, possible_reads, possible_writes, settings  the entry points
//
// Shell lines nest: a word holds statements, a command runs text or words. The
// lower stages return to the walk through one interface, recursion.
package shell
