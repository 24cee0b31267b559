// Package program describes programs: their names, how they read their words, and
// what the words make them do. The entries are written in catalog/*.toml, in the form
// described in package catalogfile, compiled into a table of text by go generate, and
// decoded when they are first looked up.
//
// The package does not read commands. Package shell does, by means of these tables.
package program

// Program is the catalogue entry of a program or a subcommand.
type Program struct {
	Name     string
	Style    Style
	Operands Operands
	// Spelling is how else names of options are read.
	Spelling Spelling
	// Skip is the number of operands before the command of a wrapper (the duration of
	// timeout), or before the operands proper.
	Skip int
	// Options are the options of the program itself. If there are subcommands, these
	// options may stand before the subcommand, which inherits them only if Inherit is
	// set.
	Options []Option
	// Shared holds lists of options shared by several entries. A name in Options
	// takes precedence.
	Shared [][]Option
	// subs are the subcommands, sorted by name: see Subs.
	subs    []row
	Inherit bool
	// Path holds the names of the subcommands that lead to this entry, aliases
	// resolved: [compose logs]. It is nil for a program.
	Path []string
	// Same is the main name of a subcommand that has several, or "" under that name.
	// Subcommands listed together share Path, but not the main name.
	Same string
	// Ends reports that the first operand ends the options (wrappers, interpreters),
	// as in style POSIX.
	Ends bool
	// Safe reports that no option or operand runs, writes or fetches anything, so
	// that an unknown argument is harmless (echo, ls, cat, head).
	Safe bool
	// Plain marks a wrapper that needs no cover of its own (timeout, nice, nohup,
	// time, stdbuf, command, builtin).
	Plain bool
	// Workdir reports that the program takes configuration from its working
	// directory.
	Workdir bool
	// Here reports that the program writes files in its working directory whose names
	// are not in its words (split, unzip, wget without -O).
	Here bool
	// Beside reports that the program writes a file of another name in the directory
	// of each operand (gzip), unless an option prevents writes.
	Beside bool
	// Endings lists, with blanks between them, what the program takes from the name of an
	// operand for that of the file beside it: .gz, or .tgz=.tar for what is put in its
	// place. It adds the first one.
	Endings string
	// Named marks a subcommand that fetches code and runs it if told what to fetch
	// (npm install x). An allow rule covers such a use only if it names the
	// subcommand.
	Named bool
	// Apart marks a subcommand that does something unlike the program's everyday work
	// (git daemon, gh auth token). An allow rule covers it only if it names it.
	Apart bool
	// Plugins reports that an unlisted subcommand is a program NAME-SUBCOMMAND (git x
	// runs git-x).
	Plugins bool
	// Assigns reports that operands NAME=value before the command of a wrapper are
	// variables (sudo, env).
	Assigns bool
	// Wordless reports that only the risk is known. The words are read as those of a
	// program without an entry.
	Wordless bool
	// Risk gives the classes of the uses of the program, nil if they are unknown.
	Risk []Row
	// Facts are the properties that do not depend on the words.
	Facts Facts
	// Secrets tells where secrets stand among the words.
	Secrets []Secret
	// Stdin reports that without operands the program runs what it reads from
	// standard input.
	Stdin bool
	// Home is the file below the home directory that a subcommand exists to write
	// (kubectl config set), or "".
	Home string
	// Settings lists the forms in which the program is told a setting.
	Settings []Setting
	// Harmless lists the settings that make the program neither run, find, load nor
	// trust anything that it would not otherwise. A * stands for any text.
	Harmless []string
	// Variables lists the variables of the environment that the program obeys, Ignored
	// those with which it neither runs, finds, loads, sends, writes nor trusts anything
	// that it would not otherwise. A * stands for any text.
	Variables, Ignored []string
	// Aside lists options that say where, how often or how loudly the program does the
	// same, which an allow rule need not name.
	Aside []string
	// Also lists other spellings of what the program does, for ask and deny rules.
	Also []Alias
	// Abbreviates reports that names of subcommands may be abbreviated (ip l, tmux
	// kill-ser).
	Abbreviates bool
	// Equal lists words that mean the same as operands or values of options (pod, pods;
	// KILL, 9), Folds reports that the case of operands does not count, Suffix is what
	// may follow an operand or not (.service).
	Equal  [][]string
	Folds  bool
	Suffix string
	// Refs says which operands name refs, and by which options: see package catalogfile.
	Refs string
	// Kinds reports that the operands are TYPE NAME, TYPE/NAME or TYPE,TYPE NAME
	// (kubectl).
	Kinds bool
	// Changes are the files, with blanks between their names, that a subcommand changes
	// in its directory for the project (npm install: package.json). No rule is needed
	// for them; ask and deny rules count them.
	Changes string
	// Obeys are the files, with blanks between their names, by which the program is told
	// in its directory what to run (make: Makefile).
	Obeys string
	// Hosts are the hosts, with blanks between their names, that the program asks
	// whatever its words say (gh: github.com).
	Hosts string
	// Hosted lists the operands and values of options that begin with the host that the
	// program asks (docker pull, gh --repo): see package catalogfile.
	Hosted []string
	// Base is the directory below which the operands are names, so that one with .. in it
	// names a file somewhere else (service: /etc/init.d).
	Base string
	// Makes lists patterns for the names of files that the program makes anew, and
	// Executable.
	Makes []string
	// Prints lists the words of which each, as the only one, makes the program print a text
	// about itself and exit (-v, --version, --help).
	Prints []string
	// Gets lists the options with which a client only gets what its URLs name (curl -s).
	Gets []string
	// Registry names the registries, with blanks between their names, whose files in a
	// project name hosts that the program asks; of NAME:WORD only with that word. Offline lists the uses that ask none, and
	// Updates reports that the program asks now and then for a newer one of its own, whatever
	// its words say: see package catalogfile.
	Registry string
	Offline  []string
	Updates  bool
	// Inline is the name of a file in the program's language, which stands for code that
	// an option or standard input gives it (python: inline.py). "" if such code is
	// never like a file.
	Inline string
	// Special names the Go function in package shell that handles what a table cannot
	// describe (sed, awk, find, env), or is "".
	Special string
}

// Setting is a form in which a program is told a setting.
type Setting struct {
	// Subs are the words before the setting, each one or several separated by |.
	Subs []string
	// Option is the option whose value the setting is or, with Each, that must be
	// present; "" for none.
	Option string
	// Prefix is the beginning of a word that is followed by the setting, or "".
	Prefix string
	// Each reports that every operand is a setting.
	Each bool
	// Valued reports that the form sets something only if a value follows.
	Valued bool
}

// Alias is another spelling of a use of a program.
type Alias struct {
	// From holds subcommands or operands, in order, with _ for any one, which also
	// stands in To. It is empty for the program itself.
	From []string
	// With holds options that must all be present.
	With []string
	// To is a program and its subcommands, with options.
	To []string
	// Part reports that To is only a part of what is done (git subtree push, git
	// push).
	Part bool
}

// Style is the syntax of a program's options.
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

// Spelling is how else names of options are read.
type Spelling uint8

// The spellings.
const (
	asListed Spelling = iota
	anyCase           // whatever the case, with one dash or two (tsc)
	kebab             // --output-file is --outputFile (yargs)
)

// Operands is the meaning of the words that are not options.
type Operands uint8

// The operand models.
const (
	Text         Operands = iota // data, no effect
	Reads                        // each is read
	ReadsTree                    // each is read recursively; without operands, the working directory
	Names                        // only the names are used (ls, stat)
	PatternReads                 // the first is a pattern (unless an option gave it), the rest are read
	PatternTree                  // as PatternReads, recursively; without operands, the working directory (rg)
	Writes                       // each is written, which is the purpose of the program (touch, rm, mkdir)
	Outputs                      // each is read and written, which is not the purpose of the program (gzip)
	Places                       // each is created or changed; one outside the workspace needs cover (git clone, git init)
	Copy                         // the last is written, the others are read (cp, ln, install)
	Move                         // all are written (mv)
	InOut                        // the first is read, the second written (uniq, xxd)
	ModeWrites                   // the first is a mode or owner, the rest as Writes (chmod)
	Fills                        // each is emptied or gets new contents, which is not the purpose of the program (tee)
	ModeOutputs                  // the first is a mode or owner, the rest as Outputs (chown)
	URLs                         // each is fetched
	RunsArgs                     // the rest is a command, word by word (sudo, timeout, xargs)
	RunsText                     // the rest, joined by blanks, is shell text (eval, watch, ssh after the host)
	RunsTexts                    // each is shell text (hyperfine)
	ShellArgs                    // the rest are the arguments of a shell (su after the user, capsh after --)
	Script                       // the first is a program file in the language of the program, the rest its arguments
	Code                         // the first is code in another language (deno eval)
	Assigns                      // NAME=value words (export, declare): see Special
	Transfer                     // as Copy, but not the purpose of the program; host:path is on another machine (scp, rsync)
	Loads                        // each is obeyed or sent, as for EffLoad
	Unread                       // unknown; an allow with an unknown argument is not proven
)

// Executable is the entry of Program.Makes for what a compiler made.
const Executable = "executable"

// Option is one option of a program under all its names.
type Option struct {
	// Names are the names with their dashes: "-o", "--output". "-#" is a number (head
	// -20), and "+" or ":" any word that begins with it (less +G).
	Names  []string
	Value  ValueMode
	Effect Effect
	// Pattern reports that the option also gives the pattern, script or mode, which
	// is then not an operand (grep -f, python -m).
	Pattern bool
	// Ends reports that all words after the value are operands (python -m).
	Ends bool
}

// ValueMode is whether, and how, an option takes a value.
type ValueMode uint8

// The value modes.
const (
	NoValue  ValueMode = iota
	Required           // the next word or the attached text
	Optional           // attached text only: -i.bak, --color=auto
	Pair               // the next two words; the value is the second (jq --arg)
)

// Effect is the effect of an option or of its value.
type Effect uint8

// The effects.
const (
	EffNone            Effect = iota // none of interest
	EffRun                           // the value is shell text that is run
	EffRunMore                       // the value is a command that is run with further words appended
	EffExec                          // the value and the following words up to ";" are a command that is run (fd -x)
	EffProgram                       // the value names a program, library or configuration that is obeyed
	EffPlugin                        // as EffProgram if the value is a path (./x, /x, ~/x), else the name of a module
	EffModule                        // the value names a module, which reads the remaining words as a program of that name
	EffCode                          // the value is code in another language
	EffWrite                         // the value is a path that is written
	EffOutput                        // as EffWrite, with - for standard output
	EffReadOnly                      // neither the operands nor files in the working directory are written (gzip -c, unzip -l)
	EffRead                          // the value is a path that is read, which is not the purpose of the program
	EffSend                          // the value is a path that is read and sent to a host; an allow is not proven
	EffLoad                          // the value is obeyed or sent; a path outside the workspace needs cover, a URL needs a rule that names the subcommand
	EffPairs                         // the value is [NAME=]PATH[,…], each a path as for EffLoad
	EffInput                         // the value is a path that is read, which is the purpose of the program (grep -f)
	EffDir                           // the value is the directory that operands are relative to
	EffURL                           // the value is a URL that is fetched
	EffOpaque                        // the option may make the program do anything
	EffUnproven                      // an allow is not proven
	EffBelow                         // the value is a directory in which files of unknown names are written
	EffWriteListed                   // the value is a file with the names of files that are written
	EffReadListed                    // the value, or standard input, is a list of files that are read (cpio -o)
	EffWriteHere                     // a file of unknown name is written in the working directory (curl -O)
	EffInPlace                       // the operands are written as well (sed -i)
	EffClears                        // as EffWrite, and what is there is removed first; without a value, that holds for all that is written
	EffPattern                       // the value is the pattern or script, so that no operand is one
	EffRecursive                     // operands are read recursively (grep -r)
	EffFollow                        // where operands are read recursively, links below them are followed (rg -L)
	EffRecursiveFollow               // both: operands are read recursively, and links below them are followed (grep -R)
	EffTarget                        // the value is the target directory of Copy or Move (cp -t)
	EffSystem                        // the system is changed (date -s); an allow is not proven, and the risk is at least moderate
	EffGlob                          // the value is a pattern of names of files that are read below the operands; !PATTERN leaves them out, TYPE:PATTERN names them (rg -g, grep --include)
	EffNumber                        // the value is a number, where other words of the program are hosts (ping -i)
	EffRenames                       // the file beside an operand may have any name (gzip -S, -N)
	EffListens                       // the value is [HOST:]PORT of a debugger; other hosts than this one need a rule with the very words
	EffTask                          // the value names tasks that are run, with commas between them (nx -t)
)
