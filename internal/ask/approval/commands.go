package approval

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// commands returns the steps for a command: its words, its subcommand or the
// script that it runs, its program.
func commands(r *permission.Request, p *permission.Part) []step {
	all := one(p.Exact, "exactly "+ticked(spec(p.Exact)))
	for _, n := range prefixes(p) {
		rule := patterns.CommandRule(p.Words[:n], true)
		if rule != "" {
			all = append(all, step{rule: rule, label: "any " + ticked(spec(rule)) + " command" + included(r, p, n), line: spec(rule) + moreWords})
		}
	}
	for i := range all {
		if inline(p) {
			all[i].label = "inline code for " + ticked(p.Words[0].Text) + ": " + all[i].label
		}
	}
	return all
}

// included returns the first option that makes a command riskier and that a rule for all
// that begin with n words of a part includes, for its label; "" if the tables know of none.
func included(r *permission.Request, p *permission.Part, n int) string {
	options, _, ok := r.Graver(p, n, r.Mildest(p, n))
	if !ok || len(options) == 0 {
		return ""
	}
	return ", " + options[0] + " too"
}

// inline reports whether a part is code that counts as a file.
func inline(p *permission.Part) bool {
	return p.Program != nil && p.Program.Inline != "" && slices.ContainsFunc(p.Words, func(w shell.Word) bool { return w.Text == p.Program.Inline })
}

// moreWords stands in a line for the words that a rule leaves open.
const moreWords = " $agent_wrapper_any"

// denials returns the steps for denying a part.
func denials(p *permission.Part) []step {
	switch p.Kind {
	case patterns.RunCommand:
	case patterns.ReadPath:
		return one(p.Exact, "reading "+ticked(p.Target.Text)+" and everything below it")
	case patterns.WritePath:
		return one(p.Exact, "changing "+ticked(p.Target.Text)+" and everything below it")
	case patterns.FetchURL:
		return one(p.Exact, "fetching from "+ticked(p.Host)+" and its subdomains")
	default:
		return uses(p)[:min(1, len(uses(p)))]
	}
	all := one(patterns.CommandRule(p.Words, false), "")
	for i := range all {
		all[i].label = ticked(spec(all[i].rule)) + ", however it is written"
	}
	if _, n := entryOf(p); n > 0 {
		rule := patterns.CommandRule(p.Words[:n], true)
		all = append(all, one(rule, "every "+ticked(spec(rule))+" command, however it is written")...)
	}
	return all
}

// prefixes returns the numbers of leading words that a rule may name while
// leaving the rest open, from narrow to wide.
func prefixes(p *permission.Part) []int {
	entry, depth := entryOf(p)
	if depth == 0 || depth < len(p.Words) && entry == nil && !literal(p.Words[0]) {
		return nil
	}
	var all []int
	if names(p, depth) {
		all = append(all, depth+1)
	}
	for n, e := depth, entry; n > 0; n-- {
		if e = at(p, n); !opens(e) && !interpreter(p.Words[0].Text) {
			all = append(all, n)
		}
	}
	return all
}

// entryOf returns the catalogue's entry for the subcommand that a command
// names, and the number of words that name it; 0 if the program is unknown when
// the line is parsed. Options before a subcommand are not skipped.
func entryOf(p *permission.Part) (*program.Program, int) {
	if len(p.Words) == 0 || !p.Words[0].Known() {
		return nil, 0
	}
	entry, n := p.Program, 1
	for entry != nil && n < len(p.Words) && p.Words[n].Known() {
		sub := entry.Subcommand(p.Words[n].Text)
		if sub == nil {
			break
		}
		entry, n = sub, n+1
	}
	return entry, n
}

// at returns the entry that the first n words name.
func at(p *permission.Part, n int) *program.Program {
	short := *p
	short.Words = p.Words[:n]
	entry, _ := entryOf(&short)
	return entry
}

// names reports whether the word behind the subcommand names what runs: the
// file of an interpreter, the target of make, the script of npm run. For a
// program that is not in the catalogue, it is taken as a subcommand.
func names(p *permission.Part, depth int) bool {
	if depth >= len(p.Words) || !literal(p.Words[depth]) {
		return false
	}
	entry := at(p, depth)
	return entry == nil && !interpreter(p.Words[0].Text) || entry != nil && (entry.Operands == program.Script || targets(p, depth))
}

// literal reports whether a word is known and cannot be an option.
func literal(w shell.Word) bool {
	return w.Known() && w.Text != "" && !strings.HasPrefix(w.Text, "-") && !strings.ContainsAny(w.Text, "= \t\n")
}

// running are the subcommands whose first operand names what they run.
var running = []string{"run", "run-script"}

// targets reports whether the words up to depth belong to a program whose next
// word names what runs.
func targets(p *permission.Part, depth int) bool {
	last := p.Words[depth-1].Text
	return depth == 1 && program.Is(last, program.TaskRunner) || depth > 1 && slices.Contains(running, last)
}

// opens reports whether a rule for the name of an entry allows too much: the
// program runs what its words say, or it has subcommands, some of which only
// read while others destroy. For a program that is not in the catalogue this is
// unknown, and the answer is no.
func opens(e *program.Program) bool {
	if e == nil {
		return false
	}
	return e.Runs() || e.Stdin || e.Plugins || e.HasSubs() || e.Facts&program.TaskRunner != 0 || slices.Contains(running, e.Name)
}

// interpreter reports whether the name of a program, even of one that is not in
// the catalogue, is that of a shell, an interpreter or a program that runs
// others.
func interpreter(word string) bool {
	word = word[strings.LastIndexByte(word, '/')+1:]
	name := strings.TrimRight(word, "0123456789.-")
	return program.Is(word, program.Interpreter) || program.Is(strings.ToLower(strings.TrimSuffix(name, ".exe")), program.Interpreter)
}
