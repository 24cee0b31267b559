package whitelist

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// Start is a whitelist made from what a project runs.
type Start struct {
	Text []byte // the file
	// Notes say what was left out and why, or what was split.
	Notes    []string
	Commands int // number of simple commands that it lists
	Off      int // number of those that stand under off
}

// Starting makes a strict whitelist that allows the commands in lines and
// little else: each becomes its program, its subcommand as the catalogue knows
// it, and its arguments. A line with operators is split. Words whose values are
// known only at run time, and commands that change the shell itself, are left
// out; what publishes or deploys stands under off. dry makes the list a dry run.
func Starting(lines []Line, dry bool) (*Start, error) {
	d := &draft{programs: map[string]*sketch{}, off: map[string]*sketch{}, seen: map[string]bool{}}
	for _, line := range lines {
		d.line(line)
	}
	d.withoutListed()
	text := d.text(dry)
	if _, err := Parse(text, FileName); err != nil {
		return nil, fmt.Errorf("the generated list is not valid: %w", err)
	}
	return &Start{Text: text, Notes: d.notes, Commands: d.commands, Off: d.idle}, nil
}

// draft is a list under construction.
type draft struct {
	programs map[string]*sketch
	off      map[string]*sketch // what publishes or deploys
	vars     []string
	notes    []string
	seen     map[string]bool // notes
	commands int
	idle     int // commands that are off
}

// sketch is one program of a draft.
type sketch struct {
	name    string
	phrases []string
	bare    bool // runs without a subcommand
	args    []string
	words   []string // operands
	// looks means that all commands only look at their operands, so that any
	// other operand is harmless.
	looks bool
}

func (d *draft) note(line Line, format string, args ...any) {
	text := visible.Line(line.Source + ": " + fmt.Sprintf(format, args...))
	if !d.seen[text] {
		d.seen[text] = true
		d.notes = append(d.notes, text)
	}
}

// shown returns a line's text, truncated.
func shown(text string) string {
	const longest = 60
	text = strings.TrimSpace(text)
	if first, _, more := strings.Cut(text, "\n"); more || len(first) > longest {
		return strings.ToValidUTF8(first[:min(longest, len(first))], "") + "…"
	}
	return text
}

func (d *draft) line(line Line) {
	if line.Shell != "" {
		d.note(line, "left out %q: it is for %s", shown(line.Text), line.Shell)
		return
	}
	facts := shell.Analyze(line.Text, shell.Options{Dir: "/workspace"})
	if facts.Failed != nil {
		d.note(line, "left out %q: %s", shown(line.Text), facts.Failed.Why)
		return
	}
	if len(line.Text) > defaultLength && facts.Simple {
		d.note(line, "left out %q: longer than max_command_length", shown(line.Text))
		return
	}
	if ops, err := shell.Operators(line.Text); err != nil || len(ops) > 0 {
		d.note(line, "%q has shell operators: its commands are listed one by one", shown(line.Text))
	}
	covered := map[int]int{} // by action: the end of its phrase
	for i := range facts.Actions {
		a := &facts.Actions[i]
		if a.Kind != shell.Command {
			continue
		}
		if end, ok := covered[a.Parent]; ok {
			if from := place(facts, a); configures(&facts.Actions[a.Parent], a) || from >= 0 && from < end {
				continue
			}
		}
		covered[i] = d.command(line, facts, i)
	}
}

// ofTheShell are builtins that change their own shell, or do nothing outside
// one.
var ofTheShell = strings.Fields(". : alias bg break cd continue declare dirs disown eval exec exit export fg hash jobs let local mapfile popd pushd read readonly return set shift shopt source trap type typeset ulimit umask unalias unset wait")

// command adds a command and returns the end of its phrase.
func (d *draft) command(line Line, facts *shell.Facts, index int) int {
	a := &facts.Actions[index]
	words := make([]string, len(a.Words))
	for i := range a.Words {
		if !a.Words[i].Known() || strings.ContainsFunc(a.Words[i].Text, control) {
			d.note(line, "left out %q: the word %q is known only when it runs", shown(line.Text), a.Words[i].Filled("…"))
			return 0
		}
		words[i] = a.Words[i].Text
	}
	if why := unlistable(words); why != "" {
		d.note(line, "left out %q: %s", shown(strings.Join(words, " ")), why)
		return 0
	}
	for _, v := range a.Assigns {
		switch {
		case v.Class == shell.Dangerous:
			d.note(line, "the variable %s can change what commands do: it was left out of allow_env_vars", v.Name)
		case !slices.Contains(d.vars, v.Name):
			d.vars = append(d.vars, v.Name)
		}
	}
	into, count := d.programs, &d.commands
	if line.Outward || publishes(words) {
		into, count = d.off, &d.idle
	}
	end, ok := sketchOf(into, words[0]).add(a, words, inner(facts, index))
	if !ok {
		d.note(line, "left out %q: no plain words say what it does", shown(strings.Join(words, " ")))
		return 0
	}
	*count++
	return end
}

func unlistable(words []string) string {
	switch name := words[0]; {
	case slices.Contains(ofTheShell, name):
		return name + " only affects the shell it runs in"
	case name == "" || strings.HasSuffix(name, "/") || strings.ContainsAny(name, " *=") || name[0] == '-':
		return "not a program name"
	case slices.Contains(words, ""):
		return "an empty word"
	}
	return ""
}

// span is the range of an inner command's words.
type span struct{ from, to int }

func inner(facts *shell.Facts, index int) []span {
	var spans []span
	for i := range facts.Actions {
		a := &facts.Actions[i]
		if a.Kind != shell.Command || a.Parent != index || configures(&facts.Actions[index], a) {
			continue
		}
		if from := place(facts, a); from >= 0 {
			spans = append(spans, span{from, min(from+len(a.Words), len(facts.Actions[index].Words))})
		}
	}
	return spans
}

// outside marks the words that do not belong to an inner command, except to one
// that the phrase names (that is, one that begins before end).
func outside(n int, spans []span, end int) []bool {
	marks := slices.Repeat([]bool{true}, n)
	for _, s := range spans {
		for k := s.from; s.from >= end && k < s.to; k++ {
			marks[k] = false
		}
	}
	return marks
}

// place returns where the words of a command begin among those of the command
// that runs it, or -1.
func place(facts *shell.Facts, a *shell.Action) int {
	outer := facts.Actions[a.Parent].Words
	return begins(a, len(outer), func(k int) bool { return outer[len(outer)-len(a.Words)+k].Text == a.Words[k].Text })
}

func sketchOf(all map[string]*sketch, name string) *sketch {
	s := all[name]
	if s == nil {
		s = &sketch{name: name, looks: true}
		all[name] = s
	}
	return s
}

// argWord is the role of a word in a starting list.
type argWord struct {
	option  *program.Option
	valueAt int // index of the word with its value, 0 for none
	kind    shell.ArgKind
}

// add adds the words of a command without those of inner commands, and returns
// the end of the phrase. It is not ok if the phrase cannot be expressed.
func (s *sketch) add(a *shell.Action, words []string, inner []span) (end int, ok bool) {
	kinds, last := sorted(a, words)
	phrase, end := phraseOf(s.name, last, words, kinds, inner)
	if len(phrase) > 0 {
		text := joined(words, phrase)
		if len(strings.Fields(text)) != len(phrase) || strings.Contains(text, "*") {
			return 0, false
		}
		s.phrases = appendNew(s.phrases, text)
	} else {
		s.bare = true
	}
	outer := outside(len(words), inner, end)
	for i := 1; i < len(words); i++ {
		if outer[i] && !slices.Contains(phrase, i) {
			i += s.word(words, i, kinds[i], outer, last)
		}
	}
	if len(phrase) > 0 && !looksOnly(last) {
		s.looks = false
	}
	return end, true
}

func joined(words []string, at []int) string {
	var out []string
	for _, i := range at {
		out = append(out, words[i])
	}
	return strings.Join(out, " ")
}

func appendNew(list []string, text string) []string {
	if slices.Contains(list, text) {
		return list
	}
	return append(list, text)
}

// sorted returns the role of each word, and the entry of the catalogue for the
// operands, nil if there is none.
func sorted(a *shell.Action, words []string) ([]argWord, *program.Program) {
	kinds := make([]argWord, len(words))
	for i, w := range words {
		kinds[i].kind = shell.ArgOperand
		if len(w) > 1 && w[0] == '-' {
			kinds[i].kind = shell.ArgUnlisted
		}
	}
	if a.Program == nil {
		return kinds, nil
	}
	scan := shell.ScanWords(a.Program, a.Words)
	for i := len(scan.Args) - 1; i >= 0; i-- {
		arg := &scan.Args[i]
		k := argWord{option: arg.Option, kind: arg.Kind}
		if arg.ValueAt >= arg.Word {
			k.valueAt = arg.ValueAt
		}
		kinds[arg.Word] = k
	}
	return kinds, scan.Prog
}

// scriptRunners are programs that run a script or plugin by name: npm run X.
var scriptRunners = map[string][]string{
	"npm": {"run", "run-script"}, "pnpm": {"run", "run-script"}, "yarn": {"run", "workspace"}, "bun": {"run"}, "deno": {"task"},
	"cargo": {"make"}, "mise": {"run"}, "composer": {"run", "run-script"}, "turbo": {"run"}, "nx": {"run"},
}

// phraseOf returns the indexes of the words that name what a command does, and
// the end of the last of them.
func phraseOf(name string, prog *program.Program, words []string, kinds []argWord, inner []span) (at []int, end int) {
	own := outside(len(words), inner, 0)
	base := path.Base(name)
	all, names, ended := program.Is(base, program.TaskRunner), false, false
	for i := 1; i < len(words) && !ended; i++ {
		k := kinds[i]
		switch {
		case k.kind == shell.ArgDashes:
			ended = true
		case k.valueAt > i:
			if ended = k.option.Effect == program.EffModule && len(at) == 0; ended {
				at = append(at, i, k.valueAt)
			}
			i = k.valueAt
		case strings.HasPrefix(words[i], "-"), strings.HasPrefix(words[i], "+"):
		case k.kind == shell.ArgSubcommand, k.kind == shell.ArgUnlisted:
			at, names = append(at, i), slices.Contains(scriptRunners[base], words[i])
		case all && !strings.Contains(words[i], "="):
			at = append(at, i)
		case names, len(at) == 0 && startsScript(base, prog, own[i]):
			at, ended = append(at, i), true
		default:
			ended = !all
		}
	}
	if len(at) == 0 {
		return nil, 1
	}
	return at, at[len(at)-1] + 1
}

// startsScript reports whether the first operand of a program names what runs:
// a file, or a script of package.json, which the catalogue takes for a program.
func startsScript(base string, prog *program.Program, own bool) bool {
	if !own {
		return base == "yarn" || base == "pnpm" || base == "bun"
	}
	return prog != nil && prog.Operands == program.Script
}

// word adds the word at i with its value to the arguments, and returns how many
// words the value takes.
func (s *sketch) word(words []string, i int, k argWord, outer []bool, prog *program.Program) int {
	w := words[i]
	free := k.option != nil && k.option.Effect == program.EffNone && !prog.Runs()
	name, _, attached := strings.Cut(w, "=")
	switch {
	case k.kind == shell.ArgOperand:
		s.words = appendNew(s.words, oneWord(w))
		s.looks = s.looks && looksOnly(prog)
	case k.valueAt == i+1 && outer[i+1]:
		value := words[i+1]
		if free && !strings.HasPrefix(value, "-") {
			value = "*"
		}
		s.args = appendNew(s.args, w+" "+oneWord(value))
		return 1
	case k.valueAt == i && free && attached && len(name) > 2:
		s.args = appendNew(s.args, name+" *")
	case k.valueAt == i && free && len(w) > 2 && w[1] != '-' && slices.Contains(k.option.Names, w[:2]):
		s.args = appendNew(s.args, w[:2]+"*")
	default:
		s.args = appendNew(s.args, oneWord(w))
	}
	return 0
}

// oneWord returns an entry for a single word: a blank would separate an option
// from its value.
func oneWord(w string) string { return strings.ReplaceAll(w, " ", "*") }

// looksOnly reports whether a program only looks at its operands, so that any
// other operand is harmless.
func looksOnly(p *program.Program) bool {
	if p == nil || p.Special == "sed" || p.Special == "awk" { // their operands are code
		return false
	}
	switch p.Operands {
	case program.Reads, program.ReadsTree, program.Names, program.PatternReads, program.PatternTree:
		return true
	}
	return p.Safe
}

// text returns the file: programs with subcommands under defaults, the others
// under custom with themselves as the binary.
func (d *draft) text(dry bool) []byte {
	defaults, customs := entries(d.programs)
	slices.Sort(d.vars)
	vars := []string{"NODE_ENV", "CI"}
	for _, v := range d.vars {
		vars = appendNew(vars, v)
	}
	file := object{
		{"$comment", "Made by agent-wrapper whitelist init: read it before you rely on it. Keys and limits: docs/whitelist.md"},
		{"version", fileVersion},
		{"mode", strict},
		{"defaults", defaults},
		{"custom", customs},
	}
	if defaults, customs := entries(d.off); len(defaults)+len(customs) > 0 {
		file = append(file, member{"off", object{
			{"$comment", "These publish or deploy, so they are not allowed. Move those that an agent may run to defaults or custom above"},
			{"defaults", defaults}, {"custom", customs},
		}})
	}
	file = append(file, object{
		{"policy", object{
			{"$comment", "dry_run_mode true: unlisted commands are recorded, and run anyway. Set it to false to enforce the list"},
			{"allow_shell_operators", false},
			{"allow_env_vars", vars},
			{"max_command_length", defaultLength},
			{"hallucination_threshold", defaultThreshold},
			{"dry_run_mode", dry},
		}},
	}...)
	text, _ := json.MarshalIndent(file, "", "  ") // cannot fail: texts, numbers and lists of them
	return append(text, '\n')
}

// entries returns programs with subcommands, and the others.
func entries(programs map[string]*sketch) (defaults, customs object) {
	defaults, customs = object{}, object{}
	taken := map[string]bool{}
	names := slices.Sorted(maps.Keys(programs))
	for _, name := range names {
		if s := programs[name]; len(s.phrases) > 0 {
			defaults = append(defaults, member{name, s.program()})
			taken[name] = true
		}
	}
	for _, name := range names {
		if s := programs[name]; len(s.phrases) == 0 && s.bare {
			customs = append(customs, member{unused(taken, name), s.custom()})
		}
	}
	return defaults, customs
}

// unused returns the name of a custom entry: the last segment of the program's
// path, with a number appended if the name is taken.
func unused(taken map[string]bool, name string) string {
	base := path.Base(name)
	free := base
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d", base, n)
	}
	taken[free] = true
	return free
}

func (s *sketch) program() object {
	slices.Sort(s.phrases)
	o := object{{"commands", s.phrases}}
	if s.bare {
		o = append(o, member{"allow_bare", true})
	}
	return append(o, s.arguments()...)
}

func (s *sketch) custom() object {
	return append(object{{"binary", s.name}}, s.arguments()...)
}

func (s *sketch) arguments() object {
	args := s.args
	if !s.looks {
		args = append(args, s.words...)
	}
	slices.Sort(args)
	if args = slices.Compact(args); args == nil {
		args = []string{}
	}
	return object{{"allow_args", args}, {"deny_args", []string{}}, {"allow_positionals", s.looks && len(s.words) > 0}}
}

// object is a JSON object that keeps the order of its keys.
type object []member

type member struct {
	key   string
	value any
}

// MarshalJSON writes the keys in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%s:%s", strconv.Quote(m.key), value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
