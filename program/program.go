// Package program holds what is known of programs: their names, how they read
// their words, and what the words make them do. The entries are written in
// catalog/*.toml, in the form that package catalogfile describes, and compiled
// into tables by go generate.
//
// Nothing here reads a command: package shell does, by these tables.
package program

// Program is what the catalogue knows of a program.
type Program struct {
	Name     string
	Style    Style
	Operands Operands
	// Skip is the number of operands before the command of a wrapper
	// (timeout's duration) or before the operands proper.
	Skip int
	// Options of the program itself; with subcommands, those that may stand
	// before the subcommand. Subs inherit none of them unless Inherit is set.
	Options []Option
	// Shared are lists of options that several entries have; a name in Options
	// stands before the same name in them.
	Shared [][]Option
	// Subs are the subcommands, sorted by name.
	Subs    []Program
	Inherit bool
	// Path is the names of the subcommands that lead to this entry, aliases
	// resolved: [compose logs]; nil for a program itself.
	Path []string
	// Ends: the first operand ends the options (wrappers, interpreters), as it
	// does in style POSIX.
	Ends bool
	// Safe: no option or operand runs, writes or fetches anything, so an
	// unknown argument is harmless (echo, ls, cat, head).
	Safe bool
	// Plain: a wrapper that needs no cover of its own (timeout, nice, nohup,
	// time, stdbuf, command, builtin).
	Plain bool
	// Workdir: takes configuration from the directory it is started in.
	Workdir bool
	// Here: writes files in the directory it is in whose names the words do not
	// tell (split, unzip, wget without -O).
	Here bool
	// Beside: writes a file of another name in the folder of each operand
	// (gzip, unless an option says that nothing is written).
	Beside bool
	// Named: a subcommand that fetches code and runs it when it is told what
	// (npm install x): an allow rule covers it only if it names the subcommand.
	Named bool
	// Apart: a subcommand whose work is not the program's everyday one (git
	// daemon, gh auth token): an allow rule covers it only if it names it.
	Apart bool
	// Plugins: a subcommand that the entry does not list is a program of its own,
	// NAME-SUBCOMMAND (git x runs git-x).
	Plugins bool
	// Assigns: operands NAME=value before the command of a wrapper are variables
	// (sudo, env).
	Assigns bool
	// Wordless: nothing is known of the words: they are read as those of a program
	// without an entry. What is known is the risk.
	Wordless bool
	// Risk is what is known of how dangerous the uses of the program are; 0 if
	// that is not known.
	Risk Risk
	// Facts are what is so whatever the words say.
	Facts Facts
	// Secrets are where among the words secrets stand.
	Secrets Secrets
	// Stdin: without an operand it runs what it reads from standard input.
	Stdin bool
	// Home is the file below the home directory that a subcommand is there to
	// write (kubectl config set).
	Home string
	// Special names the reader in Go for what a table cannot say (sed, awk,
	// find, env …).
	Special string
}

// Style is how a program reads its options.
type Style uint8

// The styles.
const (
	GNU    Style = iota // -abc clusters, --long, --long=value, unique abbreviations; options anywhere
	POSIX               // as GNU, but the first operand ends the options (wrappers, shells)
	Dash                // one dash for long names: -name value, -name=value; no clusters (find, go, terraform)
	NoOpts              // every word is an operand (echo, test)
	Exact               // as GNU, but long names are never abbreviated, and -o=value is -o value (cobra, clap)
	Joined              // as Dash, and a value may follow the name directly; the longest name wins (gcc, java)
	Bundle              // as GNU, and the first word may be a cluster without a dash (tar, ar)
)

// Operands is what the words that are no options mean.
type Operands uint8

// The operand models.
const (
	Text         Operands = iota // data: nothing
	Reads                        // each is read
	ReadsTree                    // each is read recursively; none: the directory
	Names                        // names only are looked at (ls, stat)
	PatternReads                 // the first is a pattern (unless an option gave it), the rest are read
	PatternTree                  // as PatternReads, recursively; none: the directory (rg)
	Writes                       // each is written, and that is the program's purpose (touch, rm, mkdir)
	Outputs                      // each is written, not the program's purpose (tee)
	Places                       // each is created or changed; one outside the workspace needs cover (git clone, git init)
	Copy                         // the last is written, the others are read (cp, ln, install)
	Move                         // all are written (mv)
	InOut                        // the first is read, the second written (uniq, xxd)
	ModeWrites                   // the first is a mode or owner, the rest as Writes (chmod)
	ModeOutputs                  // the first is a mode or owner, the rest as Outputs (chown)
	URLs                         // each is fetched
	RunsArgs                     // the rest is a command, word by word (sudo, timeout, xargs)
	RunsText                     // the rest, joined by blanks, is shell text (eval, watch, ssh after the host)
	RunsTexts                    // each is shell text (hyperfine)
	ShellArgs                    // the rest are the arguments of a shell (su after the user, capsh after --)
	Script                       // the first is a program file in the language of the program, the rest its arguments
	Code                         // the first is code in another language (deno eval)
	Assigns                      // NAME=value words (export, declare): see Special
	Transfer                     // as Copy, but not the program's purpose; host:path is not of this machine (scp, rsync)
	Loads                        // each is obeyed or sent: as the option effect of that name
	Unread                       // the catalogue does not know: an unknown argument proves nothing
)

// Option is one option of a program under all its names.
type Option struct {
	// Names are "-o", "--output"; "-#" is a number (head -20), and "+" any
	// word that begins with it (less +G).
	Names  []string
	Value  ValueMode
	Effect Effect
	// Pattern: the option also gives the pattern, script or mode, so that no
	// operand is one (grep -f, python -m).
	Pattern bool
	// Ends: what stands behind the value are operands (python -m).
	Ends bool
}

// ValueMode tells whether an option takes a value.
type ValueMode uint8

// The value modes.
const (
	NoValue  ValueMode = iota
	Required           // the next word or the attached text
	Optional           // only attached: -i.bak, --color=auto
	Pair               // the next two words; the value is the second (jq --arg)
)

// Effect is what an option, or its value, makes the program do.
type Effect uint8

// The effects.
const (
	EffNone        Effect = iota // nothing of interest
	EffRun                       // the value is shell text that is run
	EffRunMore                   // the value is a command that is run with more words behind its own
	EffExec                      // the value and the words behind it, up to ";", are a command that is run (fd -x)
	EffProgram                   // the value names a program, library or configuration that is obeyed
	EffPlugin                    // as EffProgram if the value is a path (./x, /x, ~/x); else the name of a module
	EffModule                    // the value names a module, which reads the rest of the words as a program of that name
	EffCode                      // the value is code in another language
	EffWrite                     // the value is a path that is written
	EffOutput                    // as EffWrite; - is standard output
	EffReadOnly                  // operands are not written, nor anything in the directory (gzip -c, unzip -l)
	EffRead                      // the value is a path that is read, beside the program's purpose
	EffSend                      // the value is a path that is read and sent to a host: proves no allow
	EffLoad                      // the value is obeyed or sent: a path outside the workspace needs cover, a URL a rule that names the subcommand
	EffPairs                     // the value is [NAME=]PATH[,…], each a path as for EffLoad
	EffInput                     // the value is a path that is read, and that is the purpose (grep -f, tail operands)
	EffDir                       // the value is the directory that operands are relative to
	EffURL                       // the value is a URL that is fetched
	EffOpaque                    // its presence may make the program do anything
	EffUnproven                  // its presence proves no allow
	EffBelow                     // the value is a directory in which files of unknown names are written
	EffWriteListed               // the value is a file with the names of files that are written
	EffWriteHere                 // writes a file of unknown name in the directory (curl -O)
	EffInPlace                   // the operands are written as well (sed -i)
	EffPattern                   // gives the pattern or script, so that no operand is one
	EffRecursive                 // operands are read recursively (grep -r)
	EffTarget                    // the value is the target directory of Copy or Move (cp -t)
	EffSystem                    // changes the system (date -s): proves no allow, moderate at least
)
