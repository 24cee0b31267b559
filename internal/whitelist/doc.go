// Package whitelist restricts command lines to a list of known ones, recognizes
// hallucinated commands, counts them per agent and plan, and pauses an agent
// that exceeds a threshold (seed 2). It is an additional gate: package
// permission asks it as its CommandGate, and still decides what it lets pass.
//
// allowed-commands.json names programs, their subcommands and their arguments.
// The checks of a line have a fixed order, so that the reason is always the
// same: its length, shell operators, whether its command is listed, its
// arguments. Words are compared after quote removal by package shell; a word
// whose value is known only at run time never passes.
//
// A list says what may start, not what the started program does: npm test runs
// what package.json says, node -e runs its argument.
//
//	{"version": "1.0.0", "mode": "strict",
//	 "defaults": {"npm": {"commands": ["test", "run build"], "allow_args": ["--silent"], "deny_args": []}}}
package whitelist
