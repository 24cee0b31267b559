package risk

import (
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// use is the words of one command, sorted into options and operands.
type use struct {
	words []shell.Word
	scan  shell.Scan
	entry *program.Program // innermost entry of the catalogue
	// operands are the texts of subcommands and operands in order; "" if
	// unknown.
	operands []string
	kinds    bool // the operands are types, whose case does not count
	unsure   bool // an argument may be an option, and the entry is not marked safe
}

// bare stands in for the entry of a program that the catalogue does not know:
// every option is unlisted, and none takes a value.
var bare program.Program

// room is reusable memory for the words of one command at a time. No finding
// refers to it.
type room struct {
	args     []shell.Arg
	operands []string
	used     int // of args, at most
}

var rooms = sync.Pool{New: func() any { return new(room) }}

// maxRoom is the number of arguments above which a room is not reused.
const maxRoom = 64

func newRoom() *room { return rooms.Get().(*room) }

// free clears the room and returns it to the pool.
func (in *room) free() {
	if cap(in.args) > maxRoom {
		return
	}
	clear(in.args[:in.used])
	clear(in.operands[:min(in.used, cap(in.operands))])
	in.used = 0
	rooms.Put(in)
}

// sortWords sorts the words of a command. The result is valid until the next
// call for the same room.
func (in *room) sortWords(a *shell.Action, name string) use {
	entry := a.Program
	if entry == nil {
		entry = &bare
	}
	u := use{words: a.Words, operands: in.operands[:0], scan: shell.ScanInto(entry, a.Words, in.args), kinds: entry.Kinds}
	in.args = u.scan.Args[:0]
	u.entry = u.scan.Prog
	switch name {
	case "kill":
		u.scan.Args = killArgs(a.Words)
	case "find":
		u.scan.Args = u.ownArgs()
	case "git":
		u.scan.Args = u.withoutDir()
	}
	for i := range u.scan.Args {
		u.operand(&u.scan.Args[i])
	}
	in.operands, in.used = u.operands, max(in.used, len(u.scan.Args))
	return u
}

// operand records an argument that is not an option. Subcommands keep their
// spelling: what the catalogue treats as an alias (git stash pop and drop have
// the same options) may differ in class.
func (u *use) operand(arg *shell.Arg) {
	w := &u.words[arg.Word]
	switch {
	case arg.Kind == shell.ArgUnsure:
		u.unsure = u.unsure || !u.entry.Safe
		u.operands = append(u.operands, "")
	case arg.Kind == shell.ArgOperand || arg.Kind == shell.ArgSubcommand || u.isWord(arg):
		text := knownText(w)
		if u.kinds {
			text = strings.ToLower(text)
		}
		u.operands = append(u.operands, text)
	}
}

func knownText(w *shell.Word) string {
	if !w.Known() {
		return ""
	}
	return w.Text
}

// isWord reports whether an unlisted argument is not an option.
func (u *use) isWord(arg *shell.Arg) bool {
	return arg.Kind == shell.ArgUnlisted && !strings.HasPrefix(u.words[arg.Word].Text, "-")
}

// withoutDir omits the options -C of git before its subcommand, which say where it runs:
// git branch has an option of that name.
func (u *use) withoutDir() []shell.Arg {
	rest := u.scan.Args
	for len(rest) > 0 && rest[0].Kind == shell.ArgOption && slices.Contains(rest[0].Option.Names, "-C") {
		rest = rest[1:]
	}
	return rest
}

// ownArgs omits the arguments of find that belong to a command that it runs,
// which is an action of its own.
func (u *use) ownArgs() []shell.Arg {
	own, inner := u.scan.Args[:0], false
	for _, arg := range u.scan.Args {
		switch text := u.words[arg.Word].Text; {
		case inner:
			inner = text != ";" && text != "+"
			continue
		case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
			inner = true
		}
		own = append(own, arg)
	}
	return own
}

// killArgs sorts the words of kill: the first may be a signal (-9, -KILL, -s
// KILL), and a number behind it is a target even if it is negative.
func killArgs(words []shell.Word) []shell.Arg {
	var args []shell.Arg
	for i := 1; i < len(words); i++ {
		text, kind := words[i].Text, shell.ArgOperand
		switch {
		case text == "--":
			kind = shell.ArgDashes
		case text == "-s" || text == "-n" || text == "--signal":
			kind = shell.ArgUnlisted
			args = append(args, shell.Arg{Kind: kind, Word: i, ValueAt: i + 1})
			i++
			continue
		case i == 1 && strings.HasPrefix(text, "-"):
			kind = shell.ArgUnlisted
		}
		args = append(args, shell.Arg{Kind: kind, Word: i, ValueAt: -1})
	}
	return args
}

// asksForHelp reports whether the command is only a program, subcommands that
// the tables list, and --help or --version: it then prints a text and exits.
// With an operand, the program might pass the option on to another one.
func (u *use) asksForHelp(p *plan) bool {
	last := len(u.words) - 1
	text := u.words[last].Text
	if last < 1 || !u.words[last].Known() || text != "--help" && text != "--version" {
		return false
	}
	for i := range u.scan.Args {
		arg := &u.scan.Args[i]
		option := arg.Kind == shell.ArgOption || arg.Kind == shell.ArgUnlisted && !u.isWord(arg)
		if option != (arg.Word == last) || arg.Kind == shell.ArgDashes || arg.Kind == shell.ArgUnsure {
			return false
		}
	}
	return p.names(u) || u.onlySubcommands()
}

// onlySubcommands reports whether all operands are subcommands in the
// catalogue.
func (u *use) onlySubcommands() bool {
	for i := range u.scan.Args {
		arg := &u.scan.Args[i]
		if arg.Kind == shell.ArgOperand || u.isWord(arg) {
			return false
		}
	}
	return len(u.operands) > 0
}

// begins reports whether the operands begin with a subcommand path.
func (u *use) begins(path []string) bool {
	if len(path) > len(u.operands) {
		return false
	}
	for i := range path {
		if !star(path[i], u.operands[i]) {
			return false
		}
	}
	return true
}

// holds reports whether the command meets the conditions of row i of its
// program, after a path of n subcommands.
func (u *use) holds(p *plan, i, n int) bool {
	for k := range p.wants[i] {
		if !u.has(&p.wants[i][k], n, &p.rows[i]) {
			return false
		}
	}
	return true
}

func (u *use) has(w *want, n int, row *program.Row) bool {
	switch {
	case w.none:
		return len(u.operands) == n
	case w.operands > 0:
		return len(u.operands)-n >= w.operands
	case w.destroys:
		return slices.ContainsFunc(u.words, func(word shell.Word) bool { return destroysData(word.Text) })
	case w.form != "":
		if row.Cause == copies && slices.Contains(u.operands, "") {
			return false // it may say where to
		}
		for _, o := range u.operands[n:] {
			if o != "" && star(w.form, o) || o == "" && row.Cause == asks { // it may have the form
				return true
			}
		}
		return false
	}
	for _, spelling := range w.spellings {
		if u.option(spelling, row.Class == Safe) {
			return true
		}
	}
	return false
}

// option reports whether the command has the named option. In a word that the
// catalogue does not list, letters may form a cluster, unless exact is set.
func (u *use) option(name string, exact bool) bool {
	for i := range u.scan.Args {
		arg := &u.scan.Args[i]
		switch arg.Kind {
		case shell.ArgOption:
			if hasName(arg.Option, name) {
				return true
			}
		case shell.ArgDashes:
			if name == "--" {
				return true
			}
		case shell.ArgUnlisted:
			if spelled(u.words[arg.Word].Text, name, exact) {
				return true
			}
		}
	}
	return false
}

func hasName(o *program.Option, name string) bool {
	for _, n := range o.Names {
		if n == name {
			return true
		}
	}
	return false
}

// spelled reports whether an unlisted word is the named option: --name,
// --name=value, -n, -nvalue, or a letter of a cluster.
func spelled(text, name string, exact bool) bool {
	if text == name || strings.HasPrefix(name, "--") && strings.HasPrefix(text, name+"=") {
		return true
	}
	short := len(name) == 2 && name[0] == '-' && name[1] != '-'
	cluster := len(text) > 2 && text[0] == '-' && text[1] != '-'
	return short && cluster && !exact && strings.IndexByte(text[1:], name[1]) >= 0
}

// unlisted returns the first option that neither the catalogue nor the row
// knows, or "". A program that is marked safe may have any option.
func (u *use) unlisted(r *program.Row) string {
	if u.entry.Safe {
		return ""
	}
	for i := range u.scan.Args {
		arg := &u.scan.Args[i]
		text := u.words[arg.Word].Text
		if arg.Kind == shell.ArgUnlisted && !u.isWord(arg) && !rowNames(r, text) {
			return text
		}
	}
	return ""
}

// rowNames reports whether a row has a condition on an option of this spelling.
func rowNames(r *program.Row, text string) bool {
	for spelling := range strings.FieldsSeq(r.Free) {
		if spelled(text, spelling, true) {
			return true
		}
	}
	for want := range strings.FieldsSeq(r.With) {
		for spelling := range strings.SplitSeq(want, "|") {
			if spelled(text, spelling, true) {
				return true
			}
		}
	}
	return false
}

// star reports whether text matches a pattern in which * stands for any text.
func star(pattern, text string) bool {
	head, tail, found := strings.Cut(pattern, "*")
	if !found {
		return pattern == text
	}
	if !strings.HasPrefix(text, head) {
		return false
	}
	for rest := text[len(head):]; ; rest = rest[1:] {
		if star(tail, rest) {
			return true
		}
		if rest == "" {
			return false
		}
	}
}
