package risk

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

// use is how the words of one command read.
type use struct {
	words []shell.Word
	scan  shell.Scan
	entry *shell.Program // innermost entry of the shell catalogue
	// operands are the texts of subcommands and operands in order; "" stands
	// for one that is not known.
	operands []string
	unsure   bool // an argument may be an option, and the entry is not harmless
}

// bare reads the words of a program that the shell catalogue does not know:
// every option is unlisted, and none takes a value.
var bare shell.Program

// read sorts the words of a command.
func read(a *shell.Action, name string) *use {
	entry := a.Program
	if entry == nil {
		entry = &bare
	}
	u := &use{words: a.Words, scan: entry.Scan(a.Words)}
	u.entry = u.scan.Prog
	if name == "kill" {
		u.scan.Args = killArgs(a.Words)
	}
	for _, arg := range u.scan.Args {
		u.operand(arg)
	}
	return u
}

// operand notes what an argument is if it is no option. Names of subcommands
// are taken as they stand: what is an alias to the catalogue (git stash pop and
// drop read their options alike) may differ in class.
func (u *use) operand(arg shell.Arg) {
	w := &u.words[arg.Word]
	switch {
	case arg.Kind == shell.ArgUnsure:
		u.unsure = u.unsure || !u.entry.Safe
		u.operands = append(u.operands, "")
	case arg.Kind == shell.ArgOperand || arg.Kind == shell.ArgSubcommand || u.isWord(arg):
		u.operands = append(u.operands, knownText(w))
	}
}

func knownText(w *shell.Word) string {
	if !w.Known() {
		return ""
	}
	return w.Text
}

// isWord reports whether an argument that is not listed is no option.
func (u *use) isWord(arg shell.Arg) bool {
	return arg.Kind == shell.ArgUnlisted && !strings.HasPrefix(u.words[arg.Word].Text, "-")
}

// killArgs reads the words of kill: the first may be a signal (-9, -KILL,
// -s KILL), and a number behind it is a target also when it is negative.
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

// asksForHelp reports whether the command is a program, subcommands of the
// tables and --help or --version, and nothing else: it then prints a text and
// ends. With an operand it might pass the word on to another program.
func (u *use) asksForHelp(rows []row) bool {
	last := len(u.words) - 1
	text := u.words[last].Text
	if last < 1 || !u.words[last].Known() || text != "--help" && text != "--version" {
		return false
	}
	for _, arg := range u.scan.Args {
		option := arg.Kind == shell.ArgOption || arg.Kind == shell.ArgUnlisted && !u.isWord(arg)
		if option != (arg.Word == last) || arg.Kind == shell.ArgDashes || arg.Kind == shell.ArgUnsure {
			return false
		}
	}
	return u.named(rows)
}

// named reports whether all operands are subcommands that a row names.
func (u *use) named(rows []row) bool {
	for i := range rows {
		if u.path(rows[i].subs) == len(u.operands) {
			return true
		}
	}
	return false
}

// find returns the row that the tables' order chooses, or nil.
func (u *use) find(rows []row) *row {
	var best *row
	depth := -1
	for i := range rows {
		if n := u.path(rows[i].subs); n > depth && u.holds(&rows[i], n) {
			best, depth = &rows[i], n
		}
	}
	return best
}

// path returns the length of the longest of the paths that the command's
// subcommands begin with, -1 if there is none. No path has the length 0.
func (u *use) path(subs string) int {
	if subs == "" {
		return 0
	}
	if !u.mayLead(subs) {
		return -1
	}
	longest := -1
	for one := ""; subs != ""; {
		one, subs, _ = strings.Cut(subs, " ")
		if one != "" {
			longest = max(longest, u.leads(one))
		}
	}
	return longest
}

// mayLead is a quick look: without a * the first operand must stand among the
// paths.
func (u *use) mayLead(subs string) bool {
	return strings.IndexByte(subs, '*') >= 0 || len(u.operands) > 0 && strings.Contains(subs, u.operands[0])
}

func (u *use) leads(one string) int {
	if len(u.operands) == 0 || u.operands[0] != "" && one[0] != u.operands[0][0] && one[0] != '*' {
		return -1
	}
	n := 0
	for segment := range strings.SplitSeq(one, "/") {
		if n >= len(u.operands) || !star(segment, u.operands[n]) {
			return -1
		}
		n++
	}
	return n
}

// holds reports whether the command has all that the row asks for, behind a
// path of n subcommands.
func (u *use) holds(r *row, n int) bool {
	for want := range strings.FieldsSeq(r.with) {
		if !u.has(want, n, r.class == Safe) {
			return false
		}
	}
	return true
}

func (u *use) has(want string, n int, exact bool) bool {
	switch want[0] {
	case '+':
		return len(u.operands)-n >= int(want[1]-'0')
	case '@':
		for _, o := range u.operands[n:] {
			if o != "" && star(want[1:], o) {
				return true
			}
		}
		return false
	}
	for spelling := range strings.SplitSeq(want, "|") {
		if u.option(spelling, exact) {
			return true
		}
	}
	return false
}

// option reports whether the command has an option of that name. In a word
// that the catalogue does not list, letters may be a cluster; exact leaves
// that out.
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

func hasName(o *shell.Option, name string) bool {
	for _, n := range o.Names {
		if n == name {
			return true
		}
	}
	return false
}

// spelled reports whether a word that no entry lists is the option name:
// --name, --name=value, -n, -nvalue, or a letter of a cluster.
func spelled(text, name string, exact bool) bool {
	if text == name || strings.HasPrefix(name, "--") && strings.HasPrefix(text, name+"=") {
		return true
	}
	short := len(name) == 2 && name[0] == '-' && name[1] != '-'
	cluster := len(text) > 2 && text[0] == '-' && text[1] != '-'
	return short && cluster && !exact && strings.IndexByte(text[1:], name[1]) >= 0
}

// unlisted returns the first option that neither the shell catalogue nor the
// row itself knows, "" if there is none. Of a harmless program every option
// will do.
func (u *use) unlisted(r *row) string {
	if u.entry.Safe {
		return ""
	}
	for i := range u.scan.Args {
		arg := &u.scan.Args[i]
		text := u.words[arg.Word].Text
		if arg.Kind == shell.ArgUnlisted && !u.isWord(*arg) && !r.names(text) {
			return text
		}
	}
	return ""
}

// names reports whether the row asks for an option of this spelling.
func (r *row) names(text string) bool {
	for want := range strings.FieldsSeq(r.with) {
		for spelling := range strings.SplitSeq(want, "|") {
			if spelled(text, spelling, true) {
				return true
			}
		}
	}
	return false
}

// star reports whether text has the form of a pattern in which * is any text.
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
