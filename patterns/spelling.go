package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// spelling is the command of a subject expressed as another program or
// subcommand that does the same.
type spelling struct {
	sub *Subject
	// sure is Yes if both do the same, and Maybe if they possibly do or if the
	// other does only a part of it.
	sure Match
	// script is set if the other program is another package manager that would run the same
	// script of the project. A rule about that manager as a whole is not about the script.
	script bool
}

// maxSpellings is the maximum number of spellings of one command, whose words
// may be unknown, and maxSpelled that of their words. Beyond them ask and deny rules for a
// program that it may be spelled with possibly match.
const (
	maxSpellings = 64
	maxSpelled   = 4096
)

// spellings returns the other spellings of a subject's command, which ask and
// deny rules match as well: those that the catalogue lists (program.Alias), the
// program without its version (python3.12), and git push for git-push.
func (sub *Subject) spellings() []spelling {
	if !sub.spelled {
		sub.spelled = true
		if a := sub.Command; a != nil && sub.Kind == RunCommand && len(a.Words) > 0 && a.Words[0].Known() {
			sub.others, sub.cut = spell(sub)
		}
	}
	return sub.others
}

// spell returns the spellings of a command, including the spellings of those, and
// whether there may be more.
func spell(sub *Subject) (list []spelling, cut bool) {
	from, words := spelling{sub: sub, sure: Yes}, 0
	for i := -1; i < len(list) && !cut; i++ {
		if i >= 0 {
			from = list[i]
		}
		for _, other := range from.respelled() {
			if words += len(other.sub.Command.Words); len(list) >= maxSpellings || words > maxSpelled {
				return list, true
			}
			if !sameWords(other.sub, sub) && !slices.ContainsFunc(list, func(s spelling) bool { return sameWords(other.sub, s.sub) }) {
				list = append(list, other)
			}
		}
	}
	return list, false
}

func sameWords(a, b *Subject) bool {
	x, y := a.Command.Words, b.Command.Words
	return lastSegment(x[0].Text) == lastSegment(y[0].Text) &&
		slices.EqualFunc(x[1:], y[1:], func(a, b shell.Word) bool { return a.Text == b.Text && len(a.Holes) == len(b.Holes) })
}

// respelled returns the spellings that are one step away.
func (s spelling) respelled() []spelling {
	a := s.sub.Command
	name := lastSegment(a.Words[0].Text)
	var list []spelling
	add := func(words []shell.Word, sure Match) {
		list = append(list, s.with(words, min(sure, s.sure)))
	}
	if entry := program.Spellings(a.Program, name); entry != nil {
		for i := range entry.Also {
			alias := &entry.Also[i]
			if !mayStand(alias.From, a.Words) {
				continue
			}
			have := s.sub.read()
			if !hasOptions(&have, alias.With) {
				continue
			}
			if words, sure := respell(alias, name, &have, a.Words); sure > No {
				add(words, sure)
				list[len(list)-1].script = s.script || alias.Part && alias.To[0] != name && runsScript(words)
			}
		}
		list = append(list, s.otherForms(entry)...)
	}
	if dir := path.Dir(a.Words[0].Text); initDirs[dir] {
		add(renamed(a.Words, 1, "service", name), Yes)
	}
	if other := unversioned(name); other != "" {
		add(renamed(a.Words, 1, other), Maybe)
		list[len(list)-1].sub.shortened = true
	}
	if host, plugin := pluginOf(name); host != "" {
		add(renamed(a.Words, 1, host, plugin), Yes)
	}
	return list
}

// otherForms returns the spellings that the operands of a program allow.
func (s spelling) otherForms(entry *program.Program) []spelling {
	var list []spelling
	if entry.HasSubs() {
		list = append(s.withoutGlobals(), s.refForms()...)
	}
	if !entry.Kinds && entry.Facts&(program.TaskRunner|program.Interpreter) == 0 {
		return list
	}
	words := s.sub.Command.Words
	have := s.sub.read()
	if entry.Kinds {
		for _, other := range typed(&have, words) {
			list = append(list, s.with(other, s.sure))
		}
	}
	for _, other := range tasks(entry, &have, words) {
		list = append(list, s.with(other, min(Maybe, s.sure)))
	}
	return list
}

// withoutGlobals returns the command without the options before its subcommand, for rules
// with a wildcard, which are compared as text: git push for git -C x push.
func (s spelling) withoutGlobals() []spelling {
	words := s.sub.Command.Words
	if len(words) < 2 || isSubcommand(&words[1]) {
		return nil
	}
	have, sure := s.sub.read(), s.sure
	for i := range have.Args {
		switch a := &have.Args[i]; a.Kind {
		case shell.ArgSubcommand:
			if a.Word == 1 {
				return nil
			}
			return []spelling{s.with(append(words[:1:1], words[a.Word:]...), sure)}
		case shell.ArgOption:
		default:
			sure = Maybe
		}
	}
	return nil
}

// initDirs are the directories of the scripts that service runs.
var initDirs = map[string]bool{"/etc/init.d": true, "/etc/rc.d": true, "/etc/rc.d/init.d": true}

// hasOptions reports whether a command has all of these options.
func hasOptions(have *shell.Scan, names []string) bool {
	for _, name := range names {
		if !slices.ContainsFunc(have.Args, func(a shell.Arg) bool { return a.Kind == shell.ArgOption && named(a.Option, name) }) {
			return false
		}
	}
	return true
}

// mayStand reports whether all names are, or may be, among the words.
func mayStand(names []string, words []shell.Word) bool {
	for _, name := range names {
		found := false
		for i := 1; i < len(words) && !found; i++ {
			found = name == "_" || !words[i].Known() || words[i].Text == name
		}
		if !found {
			return false
		}
	}
	return true
}

// with returns the subject with other words.
func (s spelling) with(words []shell.Word, sure Match) spelling {
	a := *s.sub.Command
	if name := lastSegment(words[0].Text); name != lastSegment(a.Words[0].Text) {
		a.Program = program.Lookup(name)
	}
	a.Words = words
	sub := *s.sub
	sub.Command, sub.scan, sub.strictText, sub.looseText, sub.spelled, sub.others = &a, shell.Scan{}, "", "", true, nil
	sub.plained, sub.plain, sub.placedIn, sub.places = true, nil, "", nil
	return spelling{sub: &sub, sure: sure, script: s.script}
}

// read returns the words as interpreted by the program, even if the catalogue
// lacks it.
func (sub *Subject) read() shell.Scan {
	if sub.Command.Program == nil {
		return shell.ScanWords(stranger, sub.Command.Words)
	}
	return sub.scanned()
}

// respell returns the words of a command as rewritten by an alias, and whether
// the alias applies to it.
func respell(alias *program.Alias, name string, have *shell.Scan, words []shell.Word) ([]shell.Word, Match) {
	sure := Yes
	if alias.Part {
		sure = Maybe
	}
	at := []int{}
	if len(alias.From) > 0 {
		var found Match
		if at, found = wordsOf(alias.From, have, words); found == No {
			return nil, No
		}
		sure = min(sure, found)
	} else if alias.To[0] == name && len(alias.With) == 0 && !bareOperand(alias, have, words) {
		return nil, No // the alias applies to commands without a subcommand
	}
	first, last := 1, 1
	if len(at) > 0 {
		first, last = at[0], at[len(at)-1]+1
	}
	out := renamed(words, 1, alias.To...)[:len(alias.To)]
	for i, name := range alias.To {
		if from := slices.Index(alias.From, "_"); name == "_" && from >= 0 {
			out[i] = words[at[from]]
		}
	}
	out = slices.DeleteFunc(out, func(w shell.Word) bool { // an option that is there already
		return strings.HasPrefix(w.Text, "-") && slices.ContainsFunc(words, func(o shell.Word) bool { return o.Known() && o.Text == w.Text })
	})
	if alias.To[0] == name {
		out = append(append(slices.Clone(words[:1]), words[1:first]...), out[1:]...)
	}
	for i := first; i < last; i++ {
		if !slices.Contains(at, i) {
			out = append(out, words[i])
		}
	}
	rest := words[last:]
	if alias.To[0] != name && len(at) > 0 && len(rest) > 0 && rest[0].Known() && rest[0].Text == "--" {
		rest = rest[1:] // it ends the options of the program that starts the other one
	}
	return append(out, rest...), sure
}

// bareOperand reports whether a command has no subcommand but an operand, other than
// the subcommand that an alias would give it.
func bareOperand(alias *program.Alias, have *shell.Scan, words []shell.Word) bool {
	at := positional(have, words, false)
	return len(have.Path) == 0 && len(at) > 0 && (len(alias.To) < 2 || words[at[0]].Text != alias.To[1])
}

// renamed returns the words with the first n replaced by names.
func renamed(words []shell.Word, n int, names ...string) []shell.Word {
	out := make([]shell.Word, 0, len(names)+len(words))
	for _, name := range names {
		out = append(out, shell.Word{Text: name, Pos: words[0].Pos, End: words[0].End})
	}
	return append(out, words[n:]...)
}

// wordsOf returns the indexes of the names of an alias among the words of a
// command, whose first words other than options they must be.
func wordsOf(names []string, have *shell.Scan, words []shell.Word) ([]int, Match) {
	for _, doubt := range []bool{false, true} {
		at := positional(have, words, doubt)
		if len(at) < len(names) {
			continue
		}
		at = at[:len(names)]
		best := Yes
		for i, name := range names {
			if name != "_" {
				best = min(best, fits(name, &words[at[i]]))
			}
		}
		if doubt {
			best = min(best, Maybe)
		}
		if best > No {
			return at, best
		}
	}
	return nil, No
}

// positional returns the indexes of the words that are not options: subcommands
// and operands. With doubt set, it omits those that may be the value of an
// unlisted option.
func positional(have *shell.Scan, words []shell.Word, doubt bool) []int {
	var at []int
	value := false
	for i := range have.Args {
		a := &have.Args[i]
		dashed := strings.HasPrefix(words[a.Word].Text, "-")
		switch {
		case a.Kind == shell.ArgSubcommand, a.Kind == shell.ArgOperand, a.Kind == shell.ArgUnlisted && !dashed:
			if !value || !doubt {
				at = append(at, a.Word)
			}
			value = false
		default:
			value = a.Kind == shell.ArgUnlisted
		}
	}
	return at
}

// pluginOf splits the name of a program that is a subcommand of another one:
// git-push is git push, kubectl-x kubectl x.
func pluginOf(name string) (host, plugin string) {
	for i := 1; i < len(name)-1; i++ {
		if name[i] != '-' {
			continue
		}
		if p := program.Lookup(name[:i]); p != nil && p.Plugins {
			return name[:i], name[i+1:]
		}
	}
	return "", ""
}

// unversioned returns the name of a program without the version or what else it
// ends in, or a part of that, if the catalogue has that program: python3 and then
// python for python3.12, gcc for gcc-12, npm for npm@latest, git for git.exe, pip for
// the module pip._internal.cli. "" if there is none.
func unversioned(name string) string {
	for {
		short := strings.TrimRight(name, "0123456789")
		if at := strings.LastIndexByte(name, '.'); at > 0 && extensions[name[at+1:]] {
			short = name[:at]
		}
		for _, mark := range []string{"._", "@"} {
			if at := strings.Index(short, mark); at > 0 {
				short = short[:at]
			}
		}
		if short = strings.TrimRight(short, ".-"); short == "" || short == name {
			return ""
		}
		if program.Spellings(nil, short) != nil {
			return short
		}
		name = short
	}
}

// extensions are those of the files of a program on Windows.
var extensions = map[string]bool{"exe": true, "bat": true, "cmd": true}

// abbreviated matches a command whose subcommands abbreviate those of the rule,
// after expanding them.
func (r *reading) abbreviated(have *shell.Scan, words []shell.Word, open bool) bool {
	want := positional(&r.scan, r.words, false)
	for _, doubt := range []bool{false, true} {
		if full := r.expanded(want, positional(have, words, doubt), have, words); full != nil {
			again := shell.ScanWords(r.prog, full)
			if r.match(&again, full, open) > No {
				return true
			}
		}
	}
	return false
}

// expanded returns the words with abbreviations of the rule's words expanded,
// nil if there are none.
func (r *reading) expanded(want, at []int, have *shell.Scan, words []shell.Word) []shell.Word {
	var out []shell.Word
	for i := range min(len(want), len(at)) {
		w, full := &words[at[i]], r.words[want[i]].Text
		listed := i < len(have.Path)
		if listed || !w.Known() || w.Text == full || !abbreviation(full, w.Text) {
			continue
		}
		if out == nil {
			out = slices.Clone(words)
		}
		out[at[i]] = shell.Word{Text: full, Pos: w.Pos, End: w.End}
	}
	return out
}

// abbreviation reports whether each part of a text begins the same part of another:
// mig:fr is migrate:fresh.
func abbreviation(full, text string) bool {
	for text != "" {
		var part, whole string
		part, text, _ = strings.Cut(text, ":")
		whole, full, _ = strings.Cut(full, ":")
		if part == "" || !strings.HasPrefix(whole, part) {
			return false
		}
	}
	return full == ""
}

// otherForm reports whether an argument may be the short form of a long option,
// or the long form of a short one, because it begins with the same letter and
// one of the two is not listed, or each is listed without another form.
func otherForm(names []string, a *shell.Arg, w *shell.Word) bool {
	letter, long := forms(names)
	switch {
	case letter == 0 || !w.Known():
		return false
	case a.Kind == shell.ArgOption:
		other, otherLong := forms(a.Option.Names)
		return other == letter && long != otherLong
	case a.Kind != shell.ArgUnlisted || len(w.Text) < 2 || w.Text[0] != '-':
		return false
	case strings.HasPrefix(w.Text, "--"):
		return !long && len(w.Text) > 3 && lower(w.Text[2]) == letter
	}
	return long && strings.IndexByte(strings.ToLower(w.Text[1:]), letter) >= 0
}

// forms returns the lower-case first letter of an option with only one form,
// and whether that is the long form. The letter is 0 if the option has both, or
// if its names differ in their first letter.
func forms(names []string) (letter byte, long bool) {
	for i, name := range names {
		dashes := len(name) - len(strings.TrimLeft(name, "-"))
		if dashes == 0 || dashes > 2 || dashes == len(name) || dashes == 1 && len(name) > 2 {
			return 0, false
		}
		if i > 0 && (long != (dashes == 2) || lower(name[dashes]) != letter) {
			return 0, false
		}
		letter, long = lower(name[dashes]), dashes == 2
	}
	return letter, long
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// among returns whether other operands may precede the rule's. They may for a
// task runner, and where all operands are treated alike, so that another one
// does not affect the rest. They possibly may where the catalogue only says
// that words are operands.
func (r *reading) among(have *shell.Scan) Match {
	if r.prog.Facts&program.TaskRunner != 0 {
		return Yes
	}
	prog := have.Prog
	if prog == nil || prog == stranger {
		return No
	}
	switch prog.Operands {
	case program.Reads, program.ReadsTree, program.Names, program.Writes, program.Outputs, program.Fills, program.Places, program.URLs, program.RunsTexts, program.Loads:
		return Yes
	case program.Text, program.Unread, program.Move, program.Copy, program.Transfer:
		return maybeIf(!prog.Safe)
	}
	return No
}

// sameTask reports whether a task may be the wanted one, possibly in its
// project or plugin (:app:publish, deploy:deploy), or abbreviated if the
// program accepts that: gradle pTML is publishToMavenLocal.
func (r *reading) sameTask(want, task string) bool {
	for part := range strings.SplitSeq(task, ":") {
		if part != "" && (part == want || r.prog.Abbreviates && humps(want, part)) {
			return true
		}
	}
	return false
}

// humps reports whether the parts of short, each beginning with a capital, are
// prefixes of successive parts of full.
func humps(full, short string) bool {
	if short == "" {
		return true
	}
	if full == "" || full[0] != short[0] {
		return false
	}
	for n := 1; n <= len(short) && strings.HasPrefix(full, short[:n]); n++ {
		next := n
		for next < len(full) && (full[next] < 'A' || full[next] > 'Z') {
			next++
		}
		if humps(full[next:], short[n:]) {
			return true
		}
	}
	return false
}

// respelledShapes returns shapes for the other names of the rules' programs: git
// push for git-push, and python3 and python for python3.12, which may be the same
// file.
func respelledShapes(shapes []*shape) []*shape {
	var out []*shape
	add := func(s *shape, sure Match, words ...string) {
		out = append(out, &shape{words: append(words, s.words[1:]...), open: s.open, respelled: true, sure: sure})
	}
	for _, s := range shapes {
		if s.any || strings.Contains(s.words[0], "/") {
			continue
		}
		if host, plugin := pluginOf(s.words[0]); host != "" {
			add(s, Yes, host, plugin)
		}
		if words := refShape(s.words); words != nil {
			out = append(out, &shape{words: words, open: s.open, respelled: true, sure: Maybe})
		}
		if p := program.Spellings(nil, s.words[0]); p != nil && p.Kinds {
			for i, w := range s.words[1:] {
				if kinds, name, slash := strings.Cut(w, "/"); slash && !strings.HasPrefix(w, "-") {
					out = append(out, &shape{words: slices.Concat(s.words[:i+1], []string{kinds, name}, s.words[i+2:]), open: s.open, respelled: true, sure: Yes})
				}
			}
		}
		for name := unversioned(s.words[0]); name != ""; name = unversioned(name) {
			add(s, Maybe, name)
		}
	}
	return out
}
