package shell

// The limits of a command line. What is beyond them is opaque, never refused
// silently: the line may still be approved by a person.
const (
	MaxLine    = 64 << 10 // bytes
	maxOpeners = 1000     // opening ( [ { and backquotes, counted before the parse
	maxNesting = 16       // wrappers, evals and -c inside one another
	maxActions = 10000
	maxAgain   = 4 * MaxLine // bytes of text in all that commands run as text
	maxSteps   = 200000      // words that are expanded, those inside words included
	maxLinks   = 32          // links that a line makes
	maxNames   = 256         // variables or functions that are known to be set
	maxDirs    = 4           // directories that the shell may be in at one place
	maxAlts    = 32          // words or argument lists that one word or command may stand for
)

// maxPath is the longest path that a system opens, in bytes.
const maxPath = 4 << 10
