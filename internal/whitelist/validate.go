package whitelist

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Validate checks one command line: its length, operators, whether its commands
// are listed, their arguments, in this order. facts must be those of the line,
// from shell.Analyze. It returns nil if the line may run; a single command then
// runs as Command returns it.
func (l *List) Validate(line string, facts *shell.Facts) *CommandValidationError {
	_, f := l.look(line, facts)
	if f == nil {
		return nil
	}
	return &CommandValidationError{Command: line, Reason: f.reason, Detail: f.describe(nil), List: l.elsewhere()}
}

// Command returns how a line runs without a shell: the words of its single
// command, with the binary in place of a custom name, and the variables set
// before it. It is not ok if the list refuses the line or the line needs a
// shell.
func (l *List) Command(line string, facts *shell.Facts) (argv, env []string, ok bool) {
	r, f := l.look(line, facts)
	if f != nil || len(r.operators) > 0 {
		return nil, nil, false
	}
	c := r.commands[0]
	argv = slices.Clone(c.words)
	if c.item.binary != "" {
		argv[0] = c.item.binary
	}
	for _, a := range c.action.Assigns {
		env = append(env, a.Name+"="+a.Value.Text)
	}
	return argv, env, true
}

// fault is why a line is refused.
type fault struct {
	reason Reason
	detail string
	// What the files of the project may add to the detail: a word that should
	// name a script or target of program, or a program that may not exist.
	program, script string
	near            []string // what the list has instead
	word            string   // the word that near replaces
}

// reading is a line, divided into its commands.
type reading struct {
	list      *List
	operators []shell.Operator
	facts     *shell.Facts
	commands  []*command        // the line's own first; the others may be commands that it runs
	hidden    map[int]shell.Why // by action: why a part of it is opaque
}

// command is a simple command of a line, or one that another command runs.
type command struct {
	action *shell.Action
	index  int // of the action
	words  []string
	item   *item
	spoken []bool // words that belong to the phrase
	end    int    // behind the phrase
	inner  []bool // words that belong to an inner command
	bare   bool   // allowed without a phrase
}

func (l *List) look(line string, facts *shell.Facts) (*reading, *fault) {
	if l == nil {
		return nil, &fault{reason: NotWhitelisted, detail: "there is no whitelist"}
	}
	if max := l.policy.MaxCommandLength; len(line) > max {
		return nil, &fault{reason: TooLong, detail: fmt.Sprintf("%d bytes, at most %d", len(line), max)}
	}
	r := &reading{list: l, facts: facts, hidden: map[int]shell.Why{}}
	for _, step := range []func(string) *fault{r.operate, r.programs, r.arguments} {
		if f := step(line); f != nil {
			return nil, f
		}
	}
	return r, nil
}

// operate refuses operators that need a shell.
func (r *reading) operate(line string) *fault {
	if r.facts == nil || r.facts.Source != line {
		return operators("the line was not parsed")
	}
	if r.facts.Failed != nil {
		return operators("%s", r.facts.Failed.Why)
	}
	ops, err := shell.Operators(line)
	if err != nil {
		return operators("%v", err)
	}
	r.operators = ops
	for _, op := range ops {
		if !r.list.policy.AllowShellOperators || !passes(op) {
			return operators("%s at byte %d%s", op.Text, op.Pos+1, hints[op.Kind])
		}
	}
	for i := range r.facts.Actions {
		if f := r.action(i); f != nil {
			return f
		}
	}
	return nil
}

func operators(format string, args ...any) *fault {
	return &fault{reason: ShellOperators, detail: fmt.Sprintf(format, args...)}
}

// hints name the operators that their sign alone does not explain.
var hints = map[shell.OperatorKind]string{
	shell.Compound: ": loops, conditions, functions and declarations are not allowed",
	shell.Expands:  ": the shell would expand it; quote it, or write out its value",
	shell.Sets:     ": only NAME=text before a command is allowed",
}

// passes reports whether allow_shell_operators allows an operator.
func passes(op shell.Operator) bool {
	return op.Kind == shell.Joins || op.Kind == shell.Redirects && (op.Free || strings.HasPrefix(op.Text, "<"))
}

// action refuses what is known only at run time, and collects commands. An
// opaque part of the line itself is always refused; one of a program may be
// listed (see reads).
func (r *reading) action(i int) *fault {
	a := &r.facts.Actions[i]
	switch {
	case a.Kind == shell.Opaque && a.Variable() == "" && a.Parent < 0:
		return operators("%s: %s", a.Why, a.Why.Rewrite())
	case a.Kind == shell.Opaque && a.Variable() == "":
		r.hidden[a.Parent] = a.Why
		return nil
	case a.Kind == shell.Write && a.Redirect:
		return operators("%s writes a file", a.Reason)
	case a.Kind != shell.Command:
		return nil
	}
	c := &command{action: a, index: i, words: make([]string, len(a.Words)), inner: make([]bool, len(a.Words))}
	for k := range a.Words {
		if !a.Words[k].Known() {
			return operators("the word %s is known only when it runs", a.Words[k].Filled("…"))
		}
		c.words[k] = a.Words[k].Text
	}
	r.commands = append(r.commands, c)
	return nil
}

// runsOthers reports whether the purpose of a command is to run others that the
// line names.
func (r *reading) runsOthers(index int) bool {
	for i := range r.facts.Actions {
		if a := &r.facts.Actions[i]; a.Kind == shell.Command && a.Parent == index {
			return true
		}
	}
	a := &r.facts.Actions[index]
	if a.Program == nil || slices.Contains(runners, a.Program.Special) {
		return true
	}
	scan := shell.ScanWords(a.Program, a.Words)
	return scan.Prog.Wraps() || slices.ContainsFunc(scan.Args, func(arg shell.Arg) bool {
		return arg.Option != nil && slices.Contains([]program.Effect{program.EffRun, program.EffRunMore, program.EffExec}, arg.Option.Effect)
	})
}

// runners are the names of the special readers for programs that run shell text
// or other programs.
var runners = []string{"shell", "eval", "source", "ssh", "ssh-option", "tmux", "busybox", "trap", "flock", "supervised", "env", "xargs", "find", "exec", "command"}

// programs refuses commands that are not listed.
func (r *reading) programs(string) *fault {
	if len(r.commands) == 0 {
		return &fault{reason: NotWhitelisted, detail: "the line contains no command"}
	}
	if len(r.operators) == 0 && slices.ContainsFunc(r.commands[1:], func(c *command) bool { return c.action.Parent < 0 }) {
		return operators("it runs several commands")
	}
	for _, c := range r.commands {
		if r.covered(c) {
			continue
		}
		if f := r.listed(c); f != nil {
			return f
		}
	}
	return nil
}

// covered reports whether a command's words are part of a phrase of the command
// that runs it: "npx eslint" names eslint.
func (r *reading) covered(c *command) bool {
	outer := r.command(c.action.Parent)
	if outer == nil {
		return false
	}
	from := begins(c.action, len(outer.words), func(k int) bool { return outer.words[len(outer.words)-len(c.words)+k] == c.words[k] })
	if configures(outer.action, c.action) || from >= 0 && from < outer.end {
		return true
	}
	if from < 0 {
		return false
	}
	for k := from; k < min(from+len(c.words), len(outer.words)); k++ {
		outer.inner[k] = true
	}
	return false
}

// configures reports whether the inner command is a file that the outer one
// takes instructions from (make -f x, eslint -c x): an argument like any other.
func configures(outer, inner *shell.Action) bool {
	if outer.Program == nil || len(inner.Words) != 1 {
		return false
	}
	for _, a := range shell.ScanWords(outer.Program, outer.Words).Args {
		if a.Option != nil && (a.Option.Effect == program.EffProgram || a.Option.Effect == program.EffPlugin) && a.Value.Text == inner.Words[0].Text {
			return true
		}
	}
	return false
}

// begins returns where an inner command's words begin among those of the outer
// one, or -1. For yarn x, which may run a script or a program, the catalogue
// does not say: then they are the last words of the outer one.
func begins(inner *shell.Action, outer int, same func(k int) bool) int {
	if inner.From >= 0 {
		return inner.From
	}
	n := len(inner.Words)
	if n >= outer {
		return -1
	}
	for k := range n {
		if !same(k) {
			return -1
		}
	}
	return outer - n
}

// command returns the command of an action, or nil.
func (r *reading) command(index int) *command {
	for _, c := range r.commands {
		if c.index == index {
			return c
		}
	}
	return nil
}

func (r *reading) listed(c *command) *fault {
	if c.item = r.find(c); c.item == nil {
		return r.list.orOff(c, r.unlisted(c))
	}
	if f := c.denied(); f != nil {
		return f
	}
	return r.list.orOff(c, c.phrase())
}

// orOff adds to a fault that the list has the command under off.
func (l *List) orOff(c *command, f *fault) *fault {
	if f == nil {
		return nil
	}
	for _, e := range l.off {
		name := cmp.Or(e.binary, e.name)
		try := *c
		if try.item = e; c.words[0] == name && try.phrase() == nil {
			return &fault{reason: f.reason, detail: quoted(strings.Join(c.words[:try.end], " ")) + " is listed under off"}
		}
	}
	return f
}

// find returns the entry for a command: by the binary of a custom entry, or by
// the name. A gate runs the binary in place of a custom name; a shell runs what
// PATH has, as for any other listed name.
func (r *reading) find(c *command) *item {
	name := c.words[0]
	if e := r.list.binaries[name]; e != nil {
		return e
	}
	return r.list.items[name]
}

func (r *reading) unlisted(c *command) *fault {
	name := c.words[0]
	f := &fault{reason: NotWhitelisted, program: name, word: name, near: r.list.names}
	f.detail = quoted(name) + " is not in the list"
	if outer := r.command(c.action.Parent); outer != nil {
		f.detail = outer.words[0] + " runs " + f.detail
	}
	return f
}

// arguments refuses variables and arguments that are not listed.
func (r *reading) arguments(string) *fault {
	for _, c := range r.commands {
		if f := r.variables(c); f != nil {
			return f
		}
		if c.item != nil {
			if f := r.words(c); f != nil {
				return f
			}
		}
		if f := r.reads(c); f != nil {
			return f
		}
	}
	return nil
}

func (r *reading) variables(c *command) *fault {
	for _, a := range c.action.Assigns {
		if !slices.Contains(r.list.policy.AllowEnvVars, a.Name) || !a.Value.Known() {
			return &fault{reason: DangerousArgs, detail: fmt.Sprintf("the variable %s is not in allow_env_vars", a.Name), word: a.Name, near: r.list.policy.AllowEnvVars}
		}
	}
	return nil
}

// words refuses arguments that the entry does not list. A permissive list
// treats them like a command that is not listed and asks.
func (r *reading) words(c *command) *fault {
	i := c.wrong()
	if i < 0 {
		return nil
	}
	f := &fault{reason: DangerousArgs, detail: fmt.Sprintf("%s is not in allow_args of %s", quoted(c.words[i]), c.item.name), word: c.words[i], near: c.item.options()}
	if !r.list.strict {
		f.reason = NotWhitelisted
	}
	if f.word == "" || f.word[0] != '-' {
		f.detail += ", and words that are not options are not allowed (allow_positionals)"
	}
	return f
}

// reads refuses a command with an opaque part unless the list names that part:
// node -e does, sed with any operand does not. A program whose purpose is to
// run others hides one that is not named.
func (r *reading) reads(c *command) *fault {
	why := r.hidden[c.index]
	others := why.Cause != 0 && r.runsOthers(c.index)
	for c.item == nil {
		c = r.command(c.action.Parent) // it names c in a phrase or an argument
	}
	if why.Cause == 0 || !others && (!c.free() || c.namesCode()) {
		return nil
	}
	return &fault{reason: DangerousArgs, detail: fmt.Sprintf("%s: no entry of %s lists it", why, c.item.name)}
}

// free reports whether a word passes as any other would.
func (c *command) free() bool {
	for i := 1; i < len(c.words); {
		n := 1
		if !c.spoken[i] && !c.inner[i] {
			if n = c.item.allows(c.words[i:]); n == 0 {
				return true
			}
		}
		i += n
	}
	return false
}

// namesCode reports whether the phrase is an option whose value is code to run.
func (c *command) namesCode() bool {
	for i, spoken := range c.spoken {
		if spoken && runsCode(c.words[0], c.words[i:i+1]) {
			return true
		}
	}
	return false
}

// wrong returns the index of the first word that is not allowed, or -1.
func (c *command) wrong() int {
	for i := 1; i < len(c.words); {
		n := c.takes(i)
		if n == 0 {
			return i
		}
		i += n
	}
	return -1
}

// takes returns how many words from i on are allowed together, 0 if the one at
// i is not.
func (c *command) takes(i int) int {
	if c.spoken[i] || c.inner[i] {
		return 1
	}
	end := i + 1
	for end < len(c.words) && !c.spoken[end] && !c.inner[end] {
		end++
	}
	if n := c.item.allows(c.words[i:end]); n > 0 {
		return n
	}
	return count(c.positional(i) && c.passes())
}

// allows returns the largest number of words that an entry of allow_args
// allows.
func (e *item) allows(words []string) int {
	n := 0
	for i := range e.allow {
		n = max(n, e.allow[i].allows(words))
	}
	return n
}

// options returns the names in allow_args.
func (e *item) options() []string {
	var names []string
	for i := range e.allow {
		names = append(names, e.allow[i].word)
	}
	return names
}

// positional reports whether a word is certainly not an option.
func (c *command) positional(i int) bool {
	w := c.words[i]
	if p := c.action.Program; p != nil {
		if p.Style == program.Bundle && i == 1 {
			return false // letters without a dash
		}
		for o := range p.All {
			if strings.HasPrefix(w, "+") && slices.Contains(o.Names, "+") {
				return false
			}
		}
	}
	return w == "-" || !strings.HasPrefix(w, "-")
}

// operands are the phrases that positionals may follow if the file does not
// say: those of the shipped list whose commands only look at them, or run given
// code anyway.
var operands = map[string][]string{
	"git":  {"status", "diff", "log", "show", "rev-parse"},
	"node": {"-e", "--eval", "--check"},
}

// passes reports whether positionals are allowed.
func (c *command) passes() bool {
	if p := c.item.positionals; p != nil {
		return *p && !c.bare
	}
	var phrase []string
	for i, spoken := range c.spoken {
		if spoken {
			phrase = append(phrase, c.words[i])
		}
	}
	return slices.Contains(operands[c.item.name], strings.Join(phrase, " "))
}

// denied refuses words that deny_args names, wherever they stand.
func (c *command) denied() *fault {
	p := c.action.Program
	clusters := p == nil || p.Style != program.Dash && p.Style != program.Joined
	for i := 1; i < len(c.words); i++ {
		for k := range c.item.deny {
			if d := &c.item.deny[k]; d.denies(c.words[i:], clusters, c.item.lists) {
				return &fault{reason: DangerousArgs, detail: fmt.Sprintf("%s is denied by %s in deny_args of %s", quoted(c.words[i]), d, c.item.name)}
			}
		}
	}
	return nil
}

// lists reports whether allow_args has an entry for exactly this option.
func (e *item) lists(option string) bool {
	return slices.ContainsFunc(e.allow, func(a argument) bool { return a.word == option })
}

// phrase finds the longest phrase that the command begins with, options
// skipped.
func (c *command) phrase() *fault {
	c.spoken, c.end = make([]bool, len(c.words)), 1
	if c.item.phrases == nil {
		return nil
	}
	skip := c.skips()
	for _, p := range c.item.phrases {
		if spoken, end := match(p, c.words, skip); end > 0 {
			c.spoken, c.end = spoken, end
			return nil
		}
	}
	if c.bare = c.item.bare; c.bare && c.wrong() < 0 {
		return nil
	}
	return c.noPhrase(skip)
}

// match compares a phrase word by word. skip holds how many words the option at
// each index takes.
func match(phrase, words []string, skip []int) (spoken []bool, end int) {
	spoken = make([]bool, len(words))
	i := 1
	for _, want := range phrase {
		for i < len(words) && words[i] != want && skip[i] > 0 {
			i += skip[i]
		}
		if i >= len(words) || words[i] != want {
			return nil, 0
		}
		spoken[i] = true
		i++
	}
	return spoken, i
}

// skips returns for each word how many words it takes as an option, 0 if it is
// not one. The catalogue knows which options have values; for options that it
// does not list, the list decides.
func (c *command) skips() []int {
	n := make([]int, len(c.words))
	for i, w := range c.words {
		if i > 0 && len(w) > 1 && w[0] == '-' && w != "--" {
			n[i] = max(1, c.item.allows(c.words[i:]))
		}
	}
	if c.action.Program == nil {
		return n
	}
	for _, a := range shell.ScanWords(c.action.Program, c.action.Words).Args {
		switch a.Kind {
		case shell.ArgOption:
			n[a.Word] = 1 + max(0, a.ValueAt-a.Word)
		case shell.ArgOperand, shell.ArgSubcommand, shell.ArgDashes:
			n[a.Word] = 0
		}
	}
	return n
}

// noPhrase describes what a command has instead of a listed phrase.
func (c *command) noPhrase(skip []int) *fault {
	var said []string
	for i := 1; i < len(c.words); i += max(1, skip[i]) {
		if skip[i] == 0 {
			said = append(said, c.words[i])
		}
	}
	f := &fault{reason: NotWhitelisted, program: c.item.name}
	for _, p := range c.item.phrases {
		f.near = append(f.near, strings.Join(p, " "))
	}
	longest := len(c.item.phrases[0])
	f.word = strings.Join(said[:min(longest, len(said))], " ")
	f.script = script(c.item.name, said)
	f.detail = quoted(strings.TrimSpace(c.item.name+" "+f.word)) + " is not in the list"
	if f.word == "" {
		f.detail += " without a subcommand"
	}
	return f
}

// String returns the entry as written in the file.
func (a *argument) String() string {
	return quoted(strings.TrimSpace(a.word + " " + a.value))
}
