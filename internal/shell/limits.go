package shell

// Limits of a command line. What exceeds them becomes opaque, so that a person may
// still approve it.
const (
	MaxLine    = 64 << 10    // bytes
	maxOpeners = 1000        // ( [ { and backquotes, counted before parsing
	maxNesting = 16          // nested wrappers, evals and -c
	maxParts   = 4096        // actions and their words, in each directory: see Action.size
	partBytes  = 64          // bytes of text that count as a part
	maxAgain   = 4 * MaxLine // total bytes of text that commands run as shell text
	maxSteps   = 200000      // word expansions, nested ones included
	textStep   = 64          // bytes of text looked through again that count as a step
	nodeStep   = 8           // nodes of the tree visited again that count as a step
	maxLinks   = 32          // links created by a line
	maxNames   = 256         // tracked variables or functions
	maxDirs    = 4           // possible directories of the shell at one place
	maxAlts    = 32          // alternatives for one word or argument list
)

// maxPath is the longest path that a system opens, in bytes.
const maxPath = 4 << 10
