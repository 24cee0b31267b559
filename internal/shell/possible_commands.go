package shell

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// The limits of PossibleCommands; what is beyond them is opaque.
const (
	maxPossible = 64      // commands and texts that are read as such
	maxSuffixes = 256     // words that a command may begin with
	maxTokens   = 400     // words of texts that a command may begin with
	maxSupposed = 4       // texts inside one another
	maxText     = MaxLine // bytes of texts
	maxShown    = 32      // words of a command that begins inside a text

	// maxPossibleParts is for all commands of a line together, in parts: see Action.size.
	// Each has the same share of it.
	maxPossibleParts = 4 * maxParts
)

// share divides what the commands of a line may do although nothing says so among them.
func (f *Facts) share() {
	n := 0
	for i := range f.Actions {
		if f.Actions[i].mayDoMore() {
			n++
		}
	}
	for i := range f.Actions {
		if a := &f.Actions[i]; a.mayDoMore() {
			a.share = max(maxPossibleParts/n, 1)
		}
	}
}

// PossibleCommands returns what a Command may do although nothing says so: for a
// program that is not known, each rest of its words and each word that holds
// more than a name may be a command line, and so may its standard input when it
// stands in the line. For a program with an entry these are the words that the
// entry says nothing of, and the input of one that runs what it is told. The
// actions are nested no deeper than Parent says and need no cover: deny and ask
// rules are asked about them, and an Opaque one stands for what cannot be told.
// opt is that of Analyze.
func (a *Action) PossibleCommands(opt Options) []Action {
	if !a.mayDoMore() {
		return nil
	}
	return possible(a, opt)
}

// mayDoMore reports whether an action is a Command that may do what nothing says.
func (a *Action) mayDoMore() bool {
	return a.Kind == Command && len(a.Words) > 0 && a.Words[0].Known() &&
		(unprovenAssign(a.Assigns).Cause != 0 || !a.Prints && (a.untold || a.input.given() || a.code.Text != "" || a.Program == nil))
}

func possible(a *Action, opt Options) (found []Action) {
	c := possibleCommands{opt: opt, dirs: a.Dirs, input: a.input, left: cmp.Or(a.share, maxPossibleParts)}
	defer func() {
		if r := recover(); r != nil { // too many actions
			found = append(c.found, opaque(-1, MayRun, because(causeCode, "what is given to "+a.Words[0].Text)))
		}
	}()
	c.command(a)
	c.variables(a)
	return c.found
}

// possibleCommands collects what a command may run.
type possibleCommands struct {
	opt   Options
	dirs  []Word
	input input // of the command
	found []Action

	name                           string // the program whose words are read
	depth                          int    // of texts inside one another
	read, suffixes, tokens, length int    // how much was done, see the limits
	left                           int    // how many parts may still be found
	full                           bool   // a limit was reached
}

// command reads the words of a command.
func (c *possibleCommands) command(a *Action) {
	c.name = a.Words[0].Text
	switch {
	case a.Program != nil:
		c.known(a)
	case a.function:
		c.inputText(&a.input, false) // its body has been read
	default:
		if !plainName(c.name) { // no program is called so, but a shell may read it
			c.text(a.Words[0], false, false)
		}
		c.kin(a.Words)
		for i := range a.Words[1:] {
			c.word(a.Words, i+1, c.clear(a.Words, i+1))
		}
		c.inputText(&a.input, true)
	}
}

// variables reads the values of variables that the program may obey: each may be a
// command, or name a host.
func (c *possibleCommands) variables(a *Action) {
	c.name = a.Words[0].Text
	for i := range a.Assigns {
		value := a.Assigns[i].Value
		if a.Assigns[i].Name == anyVariable {
			c.stop()
		}
		if a.Assigns[i].Class != Other || !value.Known() {
			continue
		}
		value.Text = strings.TrimSpace(value.Text)
		c.word([]Word{value}, 0, true)
		eachHost(value.Text, func(host string) {
			c.found = append(c.found, Action{Kind: Fetch, Path: Word{Text: host}, Parent: -1, From: -1})
		})
	}
}

// clear reports whether the words behind i say on their own what they do: there is
// nothing to suppose but what a program with an entry does with them. So it is
// where one follows the program or "--".
func (c *possibleCommands) clear(words []Word, i int) bool {
	for at := 1; at < i; at++ {
		if at > 1 && words[at-1].Text != "--" {
			continue
		}
		if c.opt.Catalog.Lookup(base(words[at].Text)) != nil {
			return true
		}
	}
	return false
}

// kin reads the words as those of the interpreter that the program's name begins
// with: perl5.36, python3-dbg, bash-static.
func (c *possibleCommands) kin(words []Word) {
	name := base(words[0].Text)
	for n := len(name) - 1; n > 1; n-- {
		if isLetter(name[n]) || !program.Is(name[:n], program.Interpreter) {
			continue
		}
		c.run(append([]Word{{Text: name[:n]}}, words[1:]...))
		return
	}
}

// known reads the words of a program with an entry.
func (c *possibleCommands) known(a *Action) {
	scan := ScanWords(a.Program, a.Words)
	p := scan.Prog
	if p.Safe {
		return
	}
	if a.code.Text != "" {
		c.text(a.code, true, false)
	}
	operands, untold := 0, untelling(&scan)
	for i := range scan.Args {
		arg := &scan.Args[i]
		switch {
		case !untold.word(*arg):
		case arg.Kind == ArgOption:
			c.option(arg, p)
		case arg.Kind == ArgUnlisted && strings.HasPrefix(a.Words[arg.Word].Text, "-"):
			c.unlisted(a.Words, arg.Word)
		case p.Operands == program.Script:
			operands++
			c.script(a.Words, arg.Word, operands == 1)
		case p.Special == "make":
			if _, v, found := a.Words[arg.Word].splitAt('='); found { // VARIABLE=text
				c.text(v, true, false)
			}
		default:
			c.word(a.Words, arg.Word, true)
		}
	}
	if interpreter := a.Program.Facts&program.Interpreter != 0; !a.inner && (interpreter || runsInput(p)) {
		c.inputText(&a.input, p.Runs() && operands == 0 || interpreter && p.Operands != program.Script)
	}
}

// runsInput reports whether a program may run what it reads from standard input:
// it is there to run what it is told, or little is known of it.
func runsInput(p *program.Program) bool {
	if p.Runs() || p.Stdin || p.Operands == program.Unread {
		return true
	}
	for o := range p.All {
		switch o.Effect {
		case program.EffRun, program.EffCode, program.EffOpaque:
			return true
		}
	}
	return false
}

// option is an option that the entry lists: its value may be a text.
func (c *possibleCommands) option(arg *Arg, p *program.Program) {
	c.text(arg.Value, true, p.Operands == program.Unread && runsCode(arg.Option.Names[0]))
}

// unlisted is an option that the entry does not list. It may run its value, in the
// same word or in the next.
func (c *possibleCommands) unlisted(words []Word, i int) {
	c.word(words, i, true)
	if i+1 < len(words) && !strings.HasPrefix(words[i+1].Text, "-") && !plainName(words[i+1].Text) {
		c.text(words[i+1], !runsCode(words[i].Text), runsCode(words[i].Text))
	}
}

// script are the operands of an interpreter: the first may be no file but code, and
// nothing is known of what the file does with the others.
func (c *possibleCommands) script(words []Word, i int, first bool) {
	if first && strings.ContainsAny(words[i].Text, " \t\n()'\"") {
		c.text(words[i], false, true)
		return
	}
	if !first {
		c.word(words, i, true)
	}
}

// marks stand before a command in the words of some programs.
const marks = "@+%!:^|&"

// word supposes that a command begins at the word i, or in it. clear: what cannot
// be told is left out.
func (c *possibleCommands) word(words []Word, i int, clear bool) {
	if c.suffixes++; c.suffixes > maxSuffixes || c.left < 0 {
		c.stop()
		return
	}
	w := words[i]
	if w.under != nil || w.Text == "" && len(w.Holes) == 0 {
		return // names that a search finds
	}
	option := strings.HasPrefix(w.Text, "-")
	if !option {
		c.suffix(w, words[i+1:], clear)
		if mark := len(w.Text) - len(strings.TrimLeft(w.Text, marks)); mark > 0 {
			c.shallow(append([]Word{cutWord(w, mark)}, words[i+1:]...))
			if rest := cutWord(w, mark); !plainName(rest.Text) {
				c.text(rest, clear, false)
			}
		}
	}
	if plainName(w.Text) && len(w.Holes) == 0 && !option {
		return
	}
	if option {
		c.value(w, words[i+1:], clear)
		return
	}
	c.text(w, clear, i > 1 && runsCode(words[i-1].Text))
}

// value is an option that may hold a command: --option=value, -ovalue.
func (c *possibleCommands) value(w Word, rest []Word, clear bool) {
	cuts := [2]int{strings.IndexAny(w.Text, "=:") + 1, 0}
	if !strings.HasPrefix(w.Text, "--") {
		cuts[1] = 2
	}
	for _, at := range cuts {
		if at == 0 || at > len(w.Text) || at == len(w.Text) && len(w.Holes) == 0 {
			continue
		}
		v := cutWord(w, at)
		c.suffix(v, rest, clear)
		if !plainName(v.Text) {
			c.text(v, clear, runsCode(w.Text[:at]))
		}
	}
}

// suffix supposes that head and the words behind it are a command.
func (c *possibleCommands) suffix(head Word, rest []Word, clear bool) {
	switch {
	case !head.Known():
		if (head.holeAt(0) || head.Split) && head.hasHole(AnyText) || head.hasHole(Pipe) {
			if !clear {
				c.shallow(append([]Word{anyWords()}, rest...))
			}
			return
		}
		name := base(head.Text[:head.Holes[0].At])
		if name == "" && !standardPath(head.Text[:head.Holes[0].At]) || head.holeAt(0) && strings.Trim(head.Text, "./") == "" {
			return // the name of a file
		}
		if len(name) == head.Holes[0].At {
			head = withoutSlashes(head)
		}
	case strings.ContainsAny(head.Text, `'"\`): // a program that joins its words for a shell
		head.Text = unquoted.Replace(head.Text)
	}
	words := append([]Word{head}, rest...)
	if p := c.opt.Catalog.Lookup(base(head.Text)); p == nil || !head.Known() || shellOnly.has(head.Text) {
		c.shallow(words)
		return
	}
	c.run(words)
}

// withoutSlashes is a name whose beginning is known: what it goes on with leads to no
// program elsewhere.
func withoutSlashes(w Word) Word {
	w.Holes = slices.Clone(w.Holes)
	for i := range w.Holes {
		if w.Holes[i].Kind == AnyText {
			w.Holes[i].Kind = Glob
		}
	}
	return w
}

// shellOnly are names that only a shell runs: what stands behind one of them is a
// suffix, or a text, of its own.
var shellOnly = set(".", "source", "eval", "exec", "builtin", "trap", "alias", "set", "export", "declare", "local", "read", "let", "r", "fc", "coproc")

// shallow adds a command of which only the words are looked at.
func (c *possibleCommands) shallow(words []Word) {
	var p *program.Program
	if words[0].Known() {
		p = c.opt.Catalog.Lookup(base(words[0].Text))
	}
	c.add(Action{Kind: Command, Words: words, Program: p, Dirs: c.dirs, Parent: -1, From: -1})
}

// add adds an action, unless too much was found.
func (c *possibleCommands) add(a Action) {
	if c.left -= a.size(); c.left < 0 {
		c.stop()
		return
	}
	c.found = append(c.found, a)
}

// run reads words as a command.
func (c *possibleCommands) run(words []Word) {
	c.walk(func(w *walker, s *scope) bool {
		w.simple(words, frame{parent: -1, from: -1}, s)
		return true
	}, false, false)
}

// walk reads a command or a text, and then what that may run: but for the words of
// the command itself, which are those that were supposed to be one.
func (c *possibleCommands) walk(read func(*walker, *scope) bool, clear, text bool) {
	if c.read++; c.read > maxPossible || c.depth >= maxSupposed || c.left < 0 {
		c.stop()
		return
	}
	w := newWalker(c.opt, "")
	w.quick, w.recurse = true, w
	w.unit = &unit{dialect: c.opt.Dialect}
	if !read(w, &scope{dirs: c.dirs}) {
		return
	}
	actions := w.facts.Actions
	w.free()
	for i := range actions {
		a := &actions[i]
		switch {
		case a.Kind == Opaque && (clear || a.Why.Cause == CauseStandardInput && !c.input.given()):
			continue
		case a.Kind == Command && clear && nameless(&a.Words[0]):
			continue
		}
		a.Parent, a.From, a.Need = -1, -1, NeedNone
		if a.Kind == Command {
			a.Words = oneName(a.Words)
		}
		c.add(*a)
	}
	if text {
		c.inside(actions)
	} else if len(actions) > 1 {
		c.inside(actions[1:])
	}
}

// nameless reports whether nothing is known of the name of a program.
func nameless(name *Word) bool {
	return len(name.Holes) > 0 && base(name.Text) == ""
}

// oneName makes one word of a name that is a pattern: the first file that it meets.
func oneName(words []Word) []Word {
	if len(words[0].Holes) == 0 || words[0].hasHole(AnyText) {
		return words
	}
	words = slices.Clone(words)
	words[0].Split = false
	return words
}

// inside reads the commands of a text that was supposed to be one.
func (c *possibleCommands) inside(actions []Action) {
	name := c.name
	c.depth++
	for i := range actions {
		a := &actions[i]
		if a.Kind == Command && a.Words[0].Known() && c.depth < maxSupposed {
			c.command(a)
		}
	}
	c.depth--
	c.name = name
}

// text supposes that a word is a text: a line of a shell, or code. code: nothing
// else is to be expected.
func (c *possibleCommands) text(w Word, clear, code bool) {
	if len(w.Holes) > 0 {
		if !w.hasHole(AnyText) {
			return
		}
		switch begun := w.Holes[0].At > 0 && plainName(w.Text); {
		case begun:
			c.shallow([]Word{withoutSlashes(w)})
		case !clear || code:
			c.shallow([]Word{anyWords()})
		}
	}
	if len(w.Holes) > 0 { // which may hold blanks
		c.search(w.Filled(" "))
	}
	c.texts(w.Filled("_"), clear, code)
}

func (c *possibleCommands) texts(text string, clear, code bool) {
	if c.length += len(text); c.length > maxText || c.depth >= maxSupposed {
		c.stop()
		return
	}
	if list, ok := jsonTexts(text); ok {
		c.depth++
		for _, t := range list {
			c.texts(t, clear, code)
		}
		c.depth--
		return
	}
	if plainName(text) {
		c.shallow([]Word{{Text: text}})
		return
	}
	if !strings.ContainsAny(text, " \t\n;|&<>()$`'\"\\{") {
		c.search(text) // a pattern of names, a list
		return
	}
	c.walk(func(w *walker, s *scope) bool {
		why, err := w.settled(text, Bash, s)
		return why.Cause == 0 && err == nil
	}, clear, true)
	c.search(text)
	if bare := unquoted.Replace(text); bare != text {
		c.search(bare)
	}
	if !clear && (code && strings.ContainsAny(text, " \t\n") || computes(text)) || code && computes(text) || namesItself(text) {
		c.unclear(false)
	}
}

// variableRuns matches a line that sets a variable and then runs what one holds.
var variableRuns = lazyregexp.New(`(^|[;&|({\n])\s*\w+\+?=(.|\n)*[;&|({\n]\s*"?[$\x60]`)

// namesItself reports whether a text is a line that puts the name of a command
// together and runs it: no data looks so.
func namesItself(text string) bool {
	return strings.Contains(text, "=") && strings.ContainsAny(text, "$`") && variableRuns.MatchString(text)
}

// search supposes that a command begins at any word of a text in whatever
// language: system("rm x"), ["git", "push"].
func (c *possibleCommands) search(text string) {
	tokens, ends := tokensOf(text)
	for i, t := range tokens {
		if !strings.ContainsFunc(t, func(r rune) bool { return r >= 'A' }) || t[0] == '-' || strings.HasPrefix(t, "//") {
			continue
		}
		if c.tokens++; c.tokens > maxTokens {
			c.stop()
			return
		}
		all := tokens[i:min(len(tokens), i+maxShown)]
		c.shallow(wordsOf(all))
		if n := ends[i] - i; n < len(all) {
			c.shallow(wordsOf(all[:n]))
		}
	}
}

func wordsOf(texts []string) []Word {
	words := make([]Word, len(texts))
	for i, t := range texts {
		words[i].Text = t
	}
	return words
}

// inputText supposes that the command runs its standard input.
func (c *possibleCommands) inputText(in *input, strict bool) {
	for _, w := range in.texts {
		c.text(w, !strict, false)
	}
	if in.changed {
		c.unclear(!strict)
	}
}

// unclear adds an opaque spot, unless what cannot be told is left out.
func (c *possibleCommands) unclear(clear bool) {
	if !clear {
		c.stop()
	}
}

// stop adds an opaque spot, once.
func (c *possibleCommands) stop() {
	if !c.full {
		c.full = true
		c.found = append(c.found, opaque(-1, MayRun, because(causeCode, "what is given to "+c.name)))
	}
}

// tokensOf splits a text into the words that it may hold, whatever the language.
// ends[i] is the index behind the last word of the group that word i is in: a
// quoted string, an argument list, a line.
func tokensOf(text string) (tokens []string, ends []int) {
	group := 0
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && tokenByte(text[i]) {
			i++
		}
		if i > from {
			if t := strings.TrimLeft(strings.TrimRight(text[from:i], ".^@"), marks); t != "" {
				tokens = append(tokens, t)
			}
			continue
		}
		if strings.IndexByte(" \t,=", text[i]) < 0 {
			for ; group < len(tokens); group++ {
				ends = append(ends, len(tokens))
			}
		}
		i++
	}
	for ; group < len(tokens); group++ {
		ends = append(ends, len(tokens))
	}
	return tokens, ends
}

// computes reports whether a text holds more than words that stand for
// themselves, so that a program may put the name of a command together: quotes,
// calls, variables. An apostrophe and a remark in brackets are those of prose.
func computes(text string) bool {
	blanks := strings.ContainsAny(text, " \t\n")
	for i := range len(text) {
		switch text[i] {
		case '\\', '[', ']', '{', '}', '<', '|', ';':
			if blanks {
				return true
			}
		case '`', '"':
			return true
		case '$':
			if i+1 < len(text) && (awkLetter(text[i+1]) || text[i+1] == '{') && digits(text[i+1:i+2]) == 0 {
				return true
			}
		case '\'':
			if i == 0 || i+1 == len(text) || !isLetter(text[i-1]) || !isLetter(text[i+1]) {
				return true
			}
		case '(':
			if blanks && (i == 0 || text[i-1] != ' ') {
				return true
			}
		}
	}
	return false
}

// runsCode reports whether an option is one whose value often is code.
func runsCode(option string) bool {
	name := strings.TrimRight(option, "=:")
	switch strings.TrimLeft(name, "-") {
	case "eval", "exec", "execute", "command", "cmd", "code", "expr", "expression", "run", "script", "query-goal":
		return strings.HasPrefix(name, "-")
	}
	return len(name) > 1 && name[0] == '-' && name[1] != '-' && strings.IndexByte("ceEr", name[len(name)-1]) >= 0 && len(name) <= 4
}

// jsonTexts returns the strings of a JSON object or array; other text is not ok.
func jsonTexts(text string) ([]string, bool) {
	if t := strings.TrimLeft(text, " \t\n"); t == "" || t[0] != '{' && t[0] != '[' || !json.Valid([]byte(t)) {
		return nil, false
	}
	var list, all []string
	dec := json.NewDecoder(strings.NewReader(text))
	for {
		token, err := dec.Token()
		if err != nil {
			break
		}
		switch t := token.(type) {
		case string:
			list = append(list, t)
			all = append(all, t)
		case json.Delim: // a list of words may be those of a command
			if len(all) > 1 && slices.IndexFunc(all, func(s string) bool { return !plainName(s) }) < 0 {
				list = append(list, strings.Join(all, " "))
			}
			all = all[:0]
		}
	}
	return list, true
}
