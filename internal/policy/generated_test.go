package policy

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// generated is how many lines of each family TestGeneratedDenied decides. With AW_LONG it
// is longLines times as many.
const (
	generated = 2000
	longLines = 20
)

// TestGeneratedDenied draws uses of programs from the catalogue, writes each in one of
// the spellings that its program and the shell have, and decides it under rules that
// deny what it does. None is allowed.
func TestGeneratedDenied(t *testing.T) {
	slow.Test(t)
	seed, err := strconv.ParseUint(os.Getenv("AW_SEED"), 10, 64)
	if err != nil {
		seed = 13
	}
	n := generated
	if os.Getenv("AW_LONG") != "" {
		n *= longLines
	}
	cat := collect()
	for i, family := range []struct {
		name string
		next func(*speller) (corpus.Policy, string)
	}{
		{"options that run", cat.runs.next}, {"options that write", cat.writes.next}, {"options that read", cat.reads.next},
		{"operands that are run", cat.wraps.next}, {"operands that are written", cat.written.next}, {"operands that are read", cat.read.next},
		{"unknown programs", cat.unknown}, {"files of unknown programs", unknownFiles}, {"other spellings of a program", cat.also.next}, {"other spellings of an option", cat.flags.next},
		{"abbreviated subcommands", cat.short.next}, {"denied operands behind others", cat.among.next}, {"versions of a program", cat.versions.next}, {"files of the project", cat.changes.next}, {"settings", cat.settings.next}, {"projects elsewhere", cat.elsewhere.next},
	} {
		t.Run(family.name, func(t *testing.T) {
			s := &speller{r: rand.New(rand.NewPCG(seed, uint64(i)))}
			check := &Check{Risk: "off", Unlisted: "ask"}
			wrong, free := 0, 0
			for i := range n {
				rules, line := family.next(s)
				decide := func(rules corpus.Policy) bool {
					a := decideRow(t, check, corpus.Row{ID: "generated", Policy: rules, Tool: "Bash", Input: map[string]any{"command": line}})
					return a.Behavior == "allow"
				}
				if i < n/10 && decide(corpus.Policy{Allow: []string{"Bash"}}) {
					free++
				}
				if !decide(rules) {
					continue
				}
				if wrong++; wrong <= 20 {
					t.Errorf("allowed: %s\nallow %q deny %q", line, rules.Allow, rules.Deny)
				}
			}
			t.Logf("seed %d: %d lines, %d allowed; without their rule %d of %d", seed, n, wrong, free, n/10)
			if free < n/20 {
				t.Errorf("only %d of %d lines are allowed without their rule: the test shows little", free, n/10)
			}
		})
	}
}

// use is one thing that a program does with its words, and a rule that denies it.
type use struct {
	words []string         // the program and its subcommands
	entry *program.Program // of the last of them
	opt   *program.Option  // what does it; nil for an operand or the words themselves
	name  string           // of opt
	value []string         // candidates; of an operand its words are separated by blanks
	rest  []string         // words behind it
	rules corpus.Policy
}

// chain returns the program and its subcommands.
func (u *use) chain() []*program.Program {
	p := program.Lookup(u.words[0])
	out := []*program.Program{p}
	for _, w := range u.words[1:] {
		if p = p.Subcommand(w); p == nil {
			break
		}
		out = append(out, p)
	}
	return out
}

// uses is a list from which lines are drawn.
type uses []use

func (u *uses) next(s *speller) (corpus.Policy, string) {
	x := (*u)[s.r.IntN(len(*u))]
	return x.rules, s.line(s.argv(&x))
}

// catalogued are the uses of the catalogue by family.
type catalogued struct {
	runs, writes, reads, wraps, written, read, also, flags, short, among, versions, changes, settings, elsewhere uses
	commands, odd                                                                                                [][]string // odd: with a colon in their names
}

var (
	noRM   = corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(rm:*)"}}
	noEdit = corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Edit(src/**)"}}
	noEnv  = corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Read(.env)"}}
)

// optionUses says what options of an effect are tried with.
var optionUses = map[program.Effect]struct {
	family string
	value  []string
}{
	program.EffRun: {"runs", []string{"rm x", "cd a && rm x", "/bin/rm -rf x", "echo; rm x"}}, program.EffRunMore: {"runs", []string{"rm x", "rm -rf"}},
	program.EffProgram: {"runs", []string{"rm", "/bin/rm", "./rm"}}, program.EffPlugin: {"runs", []string{"./rm", "/bin/rm"}},
	program.EffCode: {"runs", []string{`system("rm x")`, "rm x", `exec("rm")`}}, program.EffOpaque: {"runs", []string{"rm x", "x"}},
	program.EffWrite: {"writes", []string{"src/a.go", "./src/a.go", "/home/dev/proj/src/b"}}, program.EffOutput: {"writes", []string{"src/a.go", "src/x/y"}},
	program.EffClears: {"writes", []string{"src/a.go", "src"}}, program.EffUnproven: {"writes", []string{"src/a.go"}}, program.EffBelow: {"writes", []string{"src", "src/d"}}, program.EffRead: {"reads", []string{".env", "./.env", "/home/dev/proj/.env"}},
	program.EffSend: {"reads", []string{".env"}}, program.EffInput: {"reads", []string{".env", "./.env"}}, program.EffLoad: {"reads", []string{".env", "./.env"}},
}

// collect walks the catalogue.
func collect() *catalogued {
	c := &catalogued{}
	var walk func(words []string, p *program.Program)
	walk = func(words []string, p *program.Program) {
		c.options(words, p)
		c.operands(words, p)
		c.unlistedFlag(words, p)
		for sub := range p.Subs {
			walk(append(slices.Clone(words), sub.Name), sub)
		}
	}
	for p := range program.Builtin {
		c.spellings(p)
		if p.Wordless || p.Name == "time" { // a shell has a time of its own
			continue
		}
		walk([]string{p.Name}, p)
		c.set(p)
	}
	return c
}

func (c *catalogued) options(words []string, p *program.Program) {
	for o := range p.All {
		for _, name := range o.Names {
			if strings.ContainsAny(name, "#[") || p.Option(name) != o {
				continue
			}
			u := use{words: words, entry: p, opt: o, name: name}
			if does, telling := optionUses[o.Effect]; telling && (o.Value != program.NoValue || does.family == "runs") {
				u.value = does.value
				switch does.family {
				case "runs":
					u.rules = noRM
					c.runs = append(c.runs, u)
				case "writes":
					u.rules = noEdit
					c.writes = append(c.writes, u)
				case "reads":
					u.rules = noEnv
					c.reads = append(c.reads, u)
				}
			}
			if o.Effect == program.EffInPlace && slices.Contains(filesOperands, p.Operands) {
				u.rest, u.rules, u.value = []string{"src/a.go"}, noEdit, []string{".bak"}
				if u.entry.Operands >= program.PatternReads && u.entry.Operands <= program.PatternTree {
					u.rest = []string{"p", "src/a.go"}
				}
				c.writes = append(c.writes, u)
			}
			if o.Effect == program.EffNone && p.Style == program.Joined && o.Value == program.Optional && len(name) == 2 { // it stands for all that begin so
				u.value, u.rules = []string{"unheard=src/a.go"}, noEdit
				c.writes = append(c.writes, u)
			}
			if o.Effect == program.EffReadListed && o.Value != program.NoValue {
				u.value, u.rules = []string{"list"}, noEnv
				c.reads = append(c.reads, u)
			}
			c.flag(u)
			if p.Operands == program.RunsArgs && (name == "--volume" || name == "--mount") {
				u.value, u.rules, u.rest = []string{".:/w", "type=bind,src=.,dst=/w"}, noEnv, append(strings.Fields(strings.Repeat("i ", p.Skip)), "cat", "/w/.env")
				c.reads = append(c.reads, u)
			}
			if o.Effect == program.EffDir && p.Workdir {
				u.value, u.rules = []string{"/tmp/x", "/srv/other"}, corpus.Policy{Allow: []string{"Bash(" + strings.Join(words, " ") + ":*)"}}
				c.elsewhere = append(c.elsewhere, u)
			}
		}
	}
}

// filesOperands are the models in which each operand, or each but the first, is a file.
var filesOperands = []program.Operands{program.Reads, program.ReadsTree, program.PatternReads, program.PatternTree}

// unlistedFlag adds a rule that denies a flag that no entry lists, met in its short form.
func (c *catalogued) unlistedFlag(words []string, p *program.Program) {
	if p.Style != program.GNU && p.Style != program.Exact || p.Letter('z') != nil || p.Option("--zap") != nil || p.Safe || p.Wraps() || p.Operands == program.Script || p.Operands == program.Code {
		return
	}
	for _, names := range [][2]string{{"--zap", "-z"}, {"-z", "--zap"}} {
		c.flags = append(c.flags, use{words: words, entry: &program.Program{Style: program.NoOpts}, value: []string{names[1]}, rules: corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + strings.Join(words, " ") + " " + names[0] + ":*)"}}})
	}
}

// flag adds rules that deny a flag by another of its names.
func (c *catalogued) flag(u use) {
	if u.opt.Value != program.NoValue || u.opt.Effect != program.EffNone {
		return
	}
	for _, denied := range u.opt.Names {
		if strings.ContainsAny(denied, "#[+") || !strings.HasPrefix(denied, "-") || strings.ContainsAny(denied, "*?:") || u.entry.Option(denied) != u.opt {
			continue
		}
		u.rules = corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + strings.Join(u.words, " ") + " " + denied + ":*)"}}
		c.flags = append(c.flags, u)
	}
}

func (c *catalogued) operands(words []string, p *program.Program) {
	add := func(to *uses, rules corpus.Policy, value ...string) {
		*to = append(*to, use{words: words, entry: p, value: value, rules: rules})
	}
	skip := strings.Repeat("1 ", p.Skip)
	switch p.Operands {
	case program.RunsArgs:
		if p.Special == "supervised" { // it decides by itself
			return
		}
		add(&c.wraps, noRM, skip+"rm x", skip+"/bin/rm -rf x", skip+"env A=1 rm x", skip+"timeout 5 rm x")
	case program.RunsText, program.ShellArgs:
		if p.Operands == program.ShellArgs {
			skip += "-c "
		}
		add(&c.wraps, noRM, skip+"rm\x00x", skip+"cd\x00a;rm\x00x")
	case program.RunsTexts:
		add(&c.wraps, noRM, "rm\x00x", "ls rm\x00x")
	case program.Code:
		add(&c.wraps, noRM, `system("rm x")`, "rm")
	case program.Unread:
		if p.Style == program.Bundle || slices.Contains(onlyShell, words[0]) {
			return
		}
		if p.Subcommand("rm") == nil {
			add(&c.wraps, noRM, "rm x", "-- rm x", "unheard rm x", "rm\x00x")
		}
		if slices.Contains(ownWords, p.Special) {
			return
		}
		add(&c.written, noEdit, "src/a.go", "unheard src/a.go", "--unheard=src/a.go", "--unheard src/a.go", "-- src/a.go")
		add(&c.read, noEnv, `open("./.env")`, ".env", "unheard .env", "--unheard=.env", "-- .env")
	case program.Writes:
		add(&c.written, noEdit, "src/a.go", "a src/a.go", "-- src/a.go", "src/a.go b")
	case program.Outputs:
		if !p.Beside {
			add(&c.written, noEdit, skip+"src/a.go", skip+"a src/a.go", "-- "+skip+"src/a.go", skip+"src/a.go b")
		}
	case program.Places:
		add(&c.written, noEdit, skip+"a src/a", "-- "+skip+"a src/a")
	case program.Copy, program.Move, program.Transfer:
		add(&c.written, noEdit, skip+"a src/b", skip+"-- a src/b", skip+"a b src")
		add(&c.read, noEnv, skip+".env b", skip+"-- .env b")
	case program.InOut:
		add(&c.written, noEdit, "a src/b", "-- a src/b")
		add(&c.read, noEnv, ".env", "-- .env")
	case program.ModeWrites, program.ModeOutputs:
		add(&c.written, noEdit, "1 src/b", "1 a src/b", "1 -- src/b")
	case program.Reads, program.ReadsTree, program.Loads:
		add(&c.read, noEnv, skip+".env", skip+"a .env", skip+"-- .env", skip+".env a")
	case program.PatternReads, program.PatternTree:
		add(&c.read, noEnv, "p .env", "p a .env", "-- p .env")
	}
	rule := "Bash(" + strings.Join(words, " ")
	if !p.HasSubs() && (p.Facts&program.TaskRunner != 0 || slices.Contains(alike, p.Operands)) && p.Style != program.Bundle {
		add(&c.among, corpus.Policy{Allow: []string{"Bash"}, Deny: []string{rule + " deploy:*)"}}, "all deploy", "deploy", "a b deploy x", "-- all deploy")
	}
	if len(words) == 2 && !strings.ContainsAny(words[0], ".@0123456789") {
		for _, other := range []string{words[0] + ".exe", words[0] + "-12", words[0] + "@latest"} {
			u := use{words: []string{other, words[1]}, entry: &program.Program{Style: program.NoOpts}, value: []string{"x"}, rules: corpus.Policy{Allow: []string{"Bash"}, Deny: []string{rule + ":*)"}}}
			c.versions = append(c.versions, u)
			u.words, u.rules = words, corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + other + " " + words[1] + ":*)"}}
			c.versions = append(c.versions, u)
		}
	}
	if p.Workdir && (p.Operands == program.Unread || p.Operands == program.Text) && p.Special == "" && !p.HasSubs() {
		add(&c.elsewhere, corpus.Policy{Allow: []string{rule + ":*)"}}, "/tmp/x/t", "--unheard=/tmp/x/c", "a ../x/t", "-- /srv/x")
	}
	for _, name := range strings.Fields(p.Changes) {
		add(&c.changes, corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Edit(" + name + ")"}}, "x", "")
	}
	if p.Abbreviates && len(p.Path) == 0 {
		c.abbreviate(words, p)
	}
	if !p.HasSubs() || p.Operands == program.Unread {
		c.commands = append(c.commands, words)
		if strings.Contains(words[len(words)-1], ":") {
			c.odd = append(c.odd, words)
		}
	}
}

// alike are the models in which each operand is treated like the others.
var alike = []program.Operands{program.Reads, program.ReadsTree, program.Names, program.Writes, program.Outputs, program.Places, program.URLs, program.RunsTexts, program.Loads}

// ownWords are the readers of package shell that say of an unread entry what its
// operands are.
var ownWords = []string{"sets", "tmux", "supervised"}

// abbreviate adds the beginnings of the names of subcommands.
func (c *catalogued) abbreviate(words []string, p *program.Program) {
	subs := slices.Collect(p.Subs)
	for _, sub := range subs {
		name := sub.Name
		for n := 2; n < len(name); n++ {
			if slices.ContainsFunc(subs, func(s *program.Program) bool { return s.Name != name && strings.HasPrefix(s.Name, name[:n]) }) {
				continue
			}
			c.short = append(c.short, use{words: append(slices.Clone(words), name[:n]), entry: p, rules: corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + words[0] + " " + name + ":*)"}}})
		}
	}
}

// spellings adds what the catalogue says is another spelling, from both sides.
func (c *catalogued) spellings(p *program.Program) {
	for _, a := range p.Also {
		from := slices.Concat([]string{p.Name}, a.From)
		with := slices.Concat(from, a.With)
		add := func(denied, line []string) {
			c.also = append(c.also, use{words: line[:1], entry: &program.Program{Style: program.NoOpts}, value: []string{strings.Join(append(slices.Clone(line[1:]), "unheard"), " ")}, rules: corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + strings.Join(denied, " ") + ":*)"}}})
		}
		add(a.To, with)
		if !a.Part && len(a.With) == 0 && program.Spellings(nil, a.To[0]) != nil {
			add(from, a.To)
		}
	}
}

// set adds settings that nobody knows.
func (c *catalogued) set(p *program.Program) {
	for _, f := range p.Settings {
		words := []string{p.Name}
		for _, name := range f.Subs {
			name, _, _ = strings.Cut(name, "|")
			words = append(words, name)
		}
		value := f.Prefix + "unheard.of"
		if f.Option != "" {
			value = f.Option + " " + value
		}
		if !f.Each {
			value += " x"
		}
		c.settings = append(c.settings, use{words: words, entry: &program.Program{Style: program.NoOpts}, value: []string{value}, rules: noRM})
	}
}

// unknown gives a command that is denied to a program that nobody knows: as a rest of
// its words, as one of them, inside one, or on its standard input.
func (c *catalogued) unknown(s *speller) (corpus.Policy, string) {
	denied := c.commands[s.r.IntN(len(c.commands))]
	if s.r.IntN(8) == 0 {
		denied = c.odd[s.r.IntN(len(c.odd))]
	}
	for slices.Contains(onlyShell, denied[0]) {
		denied = c.commands[s.r.IntN(len(c.commands))]
	}
	rules := corpus.Policy{Allow: []string{"Bash"}, Deny: []string{"Bash(" + strings.Join(denied, " ") + ":*)"}}
	command := append(slices.Clone(denied), "x")
	before := strings.Fields(s.pick("unheard", "./unheard", "unheard run", "unheard -x", "unheard --y=z a", "unheard exec p --", "unheard a b", "timeout 9 unheard", "bash ./unheard.sh", "python3 unheard.py"))
	text := s.text(command)
	s.bare = true
	defer func() { s.bare = false }()
	switch n := s.r.IntN(9); {
	case n < 3:
		return rules, s.line(slices.Concat(before, strings.Fields(s.pick("", "--", "sudo", "env A=1", "timeout 9", "nice")), command))
	case n == 3:
		return rules, s.line(append(before, text))
	case n == 4 && s.r.IntN(2) == 0:
		return rules, s.line(slices.Concat(before, []string{s.pick("--cmd=", "-c", "--run=") + command[0]}, command[1:]))
	case n == 4:
		return rules, s.line(append(before, s.pick("--cmd=", "-c", "--run=", "@", "!")+text))
	case n == 5:
		return rules, s.line(append(before, s.pick("-c", "--exec", "-e", "a"), text, "z"))
	case n == 6 && !strings.Contains(before[len(before)-1], "."):
		return rules, s.words(before) + " <<< " + s.word(text)
	case n == 7 && !strings.Contains(before[len(before)-1], "."):
		return rules, s.words(before) + " <<" + s.pick("E", "'E'", "-E", "\\E") + "\n" + text + "\nE\n"
	case n == 8 && !strings.Contains(before[len(before)-1], "."):
		return rules, s.pick("echo "+s.word(text), "printf '%s\\n' "+s.word(text), "cat <<< "+s.word(text), "echo "+strings.Join(command, " ")) + s.pick(" | ", " | cat | ", " | tee f | ", "|") + s.words(before)
	}
	return rules, s.line(append(before, "sh", "-c", text))
}

// onlyShell are commands that only a shell has: to another program they are words.
var onlyShell = strings.Fields(". source eval exec builtin trap alias set export declare local typeset readonly read let r fc coproc command unset getopts shift return break continue exit logout times wait umask ulimit type hash jobs fg bg disown suspend caller bind complete compgen compopt dirs pushd popd enable help history mapfile readarray shopt unalias : [ [[ integer float print autoload emulate setopt unsetopt whence where functions zmodload vared zle zstyle bindkey rehash unhash unfunction noglob nocorrect limit unlimit sched cd test true false echo printf pwd kill")

// unknownFiles gives a file that may not be written, or not be read, to a program that
// nobody knows.
func unknownFiles(s *speller) (corpus.Policy, string) {
	rules, file := noEdit, s.pick("src/a.go", "./src/a.go", "/home/dev/proj/src/a.go", "src", "src/x/../a.go", "a/../src/b")
	if s.r.IntN(2) == 0 {
		rules, file = noEnv, s.pick(".env", "./.env", "/home/dev/proj/.env", "a/../.env")
	}
	before := strings.Fields(s.pick("unheard", "./unheard", "unheard run", "unheard -x", "timeout 9 unheard", "bash ./unheard.sh", "python3 unheard.py"))
	form := s.pick("%", "--out=%", "-o %", "a %", "-- %", "x=%", "a,%", "% b", "--file %", "k:%", "-o%")
	s.bare = true
	defer func() { s.bare = false }()
	switch n := s.r.IntN(12); {
	case n == 0 && rules.Deny[0] == noEdit.Deny[0]:
		return rules, s.pick("LOG=", "A=1 OUT=") + s.word(file) + " unheard run"
	case n < 2 && rules.Deny[0] == noEnv.Deny[0]:
		return rules, s.pick("echo "+s.word(file)+" | ", "printf '%s\\n' a "+s.word(file)+" | ", "cat <<< "+s.word(file)+" | ") + "unheard -x"
	}
	if rules.Deny[0] == noEnv.Deny[0] && s.r.IntN(6) == 0 { // code, in one word
		form = s.pick("importstr\x00\"%\"", "\\input{%}", "(load\x00\"%\")")
	}
	words := strings.Split(strings.Replace(form, "%", file, 1), " ")
	for i := range words {
		words[i] = strings.ReplaceAll(words[i], "\x00", " ")
	}
	return rules, s.line(append(before, words...))
}

// speller writes words as a shell reads them.
type speller struct {
	r    *rand.Rand
	sets []string // assignments before the line
	bare bool     // there is no place for assignments
}

func (s *speller) pick(from ...string) string { return from[s.r.IntN(len(from))] }

// argv returns the words of a use in one of the spellings of its program.
func (s *speller) argv(u *use) []string {
	words := slices.Clone(u.words)
	value := ""
	if len(u.value) > 0 {
		value = s.pick(u.value...)
	}
	if u.opt == nil {
		for _, w := range strings.Fields(value) {
			words = append(words, strings.ReplaceAll(w, "\x00", " "))
		}
		return words
	}
	opt := s.option(u, value)
	operands := s.operands(u.entry)
	ends := u.entry.Style == program.POSIX || u.entry.Ends || u.entry.Wraps()
	switch {
	case u.rest != nil:
		return slices.Concat(words, opt, u.rest)
	case len(operands) > 0 && !ends && s.r.IntN(3) == 0:
		return slices.Concat(words, operands, opt)
	case u.entry.Style != program.NoOpts && len(operands) > 0 && s.r.IntN(4) == 0:
		return slices.Concat(words, opt, []string{"--"}, operands)
	}
	return slices.Concat(words, opt, operands)
}

// operands returns words that a program of this model takes, or none.
func (s *speller) operands(p *program.Program) []string {
	if s.r.IntN(3) == 0 || p.Style == program.Bundle {
		return nil
	}
	switch p.Operands {
	case program.Reads, program.ReadsTree, program.Names, program.Text, program.Writes, program.Outputs:
		if p.HasSubs() {
			return nil
		}
		return []string{"a.txt"}
	case program.PatternReads, program.PatternTree:
		return []string{"p", "a.txt"}
	case program.Copy, program.Move, program.InOut:
		return []string{"a.txt", "b.txt"}
	}
	return nil
}

// option writes an option and its value in one of the forms of the program's parser.
func (s *speller) option(u *use, value string) []string {
	name, o, style := u.name, u.opt, u.entry.Style
	long := strings.HasPrefix(name, "--")
	dashed := style == program.Dash || style == program.Joined
	if long && !dashed && style != program.Exact && s.r.IntN(3) == 0 {
		name = s.abbreviated(u.chain(), o, name)
	}
	if !long && !dashed && len(name) == 2 && name[0] == '-' && s.r.IntN(3) == 0 {
		if more := "-" + s.letters(u.entry) + name[1:]; u.entry.Option(more) == nil {
			name = more
		}
	}
	switch {
	case name == "+":
		return []string{"+" + value}
	case name == ":": // the begin of what is deleted, behind the remote; alone it is a remote or all branches
		return []string{"origin", ":x"}
	case o.Value == program.NoValue:
		return []string{name}
	case o.Value == program.Pair:
		return []string{name, "a", value}
	case o.Effect == program.EffExec:
		return append([]string{name}, append(strings.Fields(value), ";")...)
	}
	attached := name + value
	switch {
	case long, style == program.Dash, dashed && len(name) > 2, style == program.Exact && s.r.IntN(3) == 0:
		attached = name + "=" + value
	case len(u.name) > 2 && name[0] == '-':
		attached = "" // -nc of wget takes its value from the next word
	}
	if dashed && !long && len(name) > 2 && style == program.Dash && s.r.IntN(4) == 0 {
		name, attached = "-"+name, "-"+attached
	}
	if o.Value == program.Required && (attached == "" || s.r.IntN(2) == 0) {
		return []string{name, value}
	}
	if attached == "" {
		attached = name + "=" + value
	}
	return []string{attached}
}

// abbreviated returns a beginning of the option's name that no other option has.
func (s *speller) abbreviated(chain []*program.Program, o *program.Option, name string) string {
	var found []string
	for n := 4; n < len(name); n++ {
		alone := true
		for _, p := range chain {
			for other := range p.All {
				alone = alone && (other == o || !other.Begins(name[:n]))
			}
		}
		if alone {
			found = append(found, name[:n])
		}
	}
	if len(found) == 0 {
		return name
	}
	return s.pick(found...)
}

// letters returns a few options of one letter that do nothing of interest.
func (s *speller) letters(p *program.Program) string {
	var all []string
	for o := range p.All {
		for _, n := range o.Names {
			if len(n) == 2 && n[0] == '-' && o.Value == program.NoValue && o.Effect == program.EffNone && n != "--" && p.Option(n) == o {
				all = append(all, n[1:])
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return s.pick(all...) + s.pick("", s.pick(all...))
}

// text joins words for a shell, or another language, that reads them once more.
func (s *speller) text(words []string) string {
	line := strings.Join(words, " ")
	return s.pick(line, line, "cd a && "+line, line+"; ls", "("+line+")", "  "+line, "exec "+line, "x | "+line)
}

// line writes words as a command somewhere in a line.
func (s *speller) line(words []string) string {
	s.sets = nil
	line := s.words(words)
	if len(s.sets) > 0 {
		line = strings.Join(s.sets, "; ") + "; " + line
	}
	form := s.pick("%", "%", "%", "(%)", "{ %; }", "ls; %", "if true; then %; fi", "! %", "for i in 1; do %; done", "% && ls", "bash -c Q", "eval Q", "timeout 9 bash -c Q", "f() { %; }; f")
	return strings.NewReplacer("%", line, "Q", quoted(line)).Replace(form)
}

func (s *speller) words(words []string) string {
	out := make([]string, 0, len(words))
	for i := 0; i < len(words); i++ {
		if i > 0 && i+1 < len(words) && s.r.IntN(12) == 0 && plainWord(words[i]) && plainWord(words[i+1]) {
			out = append(out, "{"+words[i]+","+words[i+1]+"}")
			i++
			continue
		}
		out = append(out, s.word(words[i]))
	}
	return strings.Join(out, s.pick(" ", " ", " ", "  ", "\t", " \\\n"))
}

const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+"

func plainWord(w string) bool { return w != "" && strings.Trim(w, plainBytes) == "" }

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// word writes one word in a form that a shell reads as it.
func (s *speller) word(w string) string {
	if plainWord(w) && s.r.IntN(3) > 0 {
		return w
	}
	switch s.r.IntN(8) {
	case 0:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(w) + `"`
	case 1:
		return s.escaped(w)
	case 2:
		return s.ansi(w)
	case 3:
		if len(w) > 1 {
			at := 1 + s.r.IntN(len(w)-1)
			return s.word(w[:at]) + s.word(w[at:])
		}
	case 4:
		if name := fmt.Sprintf("v%d", len(s.sets)); len(s.sets) < 3 && !s.bare && !strings.Contains(w, "\n") {
			s.sets = append(s.sets, name+"="+quoted(w))
			return `"$` + name + `"`
		}
	case 5:
		if plainWord(w) && len(w) > 1 {
			at := 1 + s.r.IntN(len(w)-1)
			return w[:at] + s.pick("''", `""`, "\\\n") + w[at:]
		}
	}
	return quoted(w)
}

// escaped puts a backslash before each character that needs one, and some others.
func (s *speller) escaped(w string) string {
	var sb strings.Builder
	for _, c := range []byte(w) {
		if strings.IndexByte(plainBytes, c) < 0 || s.r.IntN(3) == 0 {
			if c == '\n' {
				return quoted(w)
			}
			sb.WriteByte('\\')
		}
		sb.WriteByte(c)
	}
	return sb.String()
}

func (s *speller) ansi(w string) string {
	var sb strings.Builder
	for _, c := range []byte(w) {
		switch {
		case s.r.IntN(3) == 0:
			fmt.Fprintf(&sb, s.pick(`\x%02x`, `\%03o`), c)
		case c == '\'' || c == '\\':
			sb.WriteByte('\\')
			sb.WriteByte(c)
		default:
			sb.WriteByte(c)
		}
	}
	return "$'" + sb.String() + "'"
}

// TestGivenDenied holds single lines that the generator meets too seldom.
func TestGivenDenied(t *testing.T) {
	check := &Check{Risk: "off", Unlisted: "ask"}
	for line, denied := range map[string]string{
		"unheard '!x y:z a'": "Bash(x y:z:*)", "unheard run '@x y:z'": "Bash(x y:z:*)", "vault kv '!x y:z'": "Bash(x y:z:*)",
		`unheard <<< "r$x"`: "Bash(rm:*)", `echo "gi$x" | unheard run`: "Bash(git:*)", `ssh h <<< "r$x"`: "Bash(rm:*)",
	} {
		rules := corpus.Policy{Allow: []string{"Bash"}, Deny: []string{denied}}
		if a := decideRow(t, check, corpus.Row{ID: "given", Policy: rules, Tool: "Bash", Input: map[string]any{"command": line}}); a.Behavior == "allow" {
			t.Errorf("allowed: %s, deny %s", line, denied)
		}
	}
}
