// Package whitelist holds command lines to a list of known ones, tells which
// were made up, counts these per agent and plan, and pauses an agent that makes
// up too many (seed 2). It is a further gate: what it lets through is still
// decided by package permission, which asks it as its CommandGate.
//
// allowed-commands.json names programs, their subcommands and their arguments.
// A line is looked at in this order, so that the reason is always the same: its
// length, shell operators, whether its command is listed, its arguments. The
// words are those that package shell reads, after quote removal; a word that is
// known only when it runs never passes.
//
// A list says what may start, not what the started program does: npm test runs
// what package.json says, node -e runs its argument.
//
//	{"version": "1.0.0", "mode": "strict",
//	 "defaults": {"npm": {"commands": ["test", "run build"], "allow_args": ["--silent"], "deny_args": []}}}
package whitelist
