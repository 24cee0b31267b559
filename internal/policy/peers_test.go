package policy

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/test/corpus"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

const (
	peersFile = "../../testdata/cases/peers.jsonl"
	peersPage = "../../docs/project/peers.md"
	// peersMark ends the handwritten part of the page.
	peersMark = "<!-- below: go test ./internal/policy -run TestPeers -update -->\n"
)

// compared is a case of another engine with the decision of this one.
type compared struct {
	corpus.Peer
	answer Answer
	facts  *shell.Facts // of a command line, otherwise empty
	got    string
	same   bool
}

// The kinds of classes of differences. There is none for bugs, since a bug that
// a case reveals is fixed.
const (
	byDialect = "dialect"
	isSafer   = "safer here"
)

// deviation is a class of differences. A difference belongs to the first class
// that it matches.
type deviation struct {
	name string
	kind string // byDialect, isSafer
	why  string
	fits func(c *compared) bool
}

// TestPeers checks that every case of another engine that is decided
// differently here has a reason, and that nothing that must be denied is
// allowed.
func TestPeers(t *testing.T) {
	rows, err := corpus.ReadPeers(peersFile)
	if err != nil {
		t.Fatal(err)
	}
	check := &Check{Risk: "off", Unlisted: "ask"}
	of := map[string][]*compared{}
	all := make([]*compared, len(rows))
	for i, row := range rows {
		c := compare(t, check, row)
		all[i] = c
		if c.answer.Behavior == "allow" && (row.Expected == "deny" || row.Expected == "dangerous") {
			t.Errorf("%s must be denied and is allowed: %q", row.ID, row.Input)
		}
		if c.same {
			continue
		}
		class := deviationOf(c)
		if class == "" {
			t.Errorf("%s (%s): expected %s, got %s (%s), and no known reason: %q", row.ID, row.Source, c.wanted(), c.got, c.answer.Reason, row.Input)
		}
		of[class] = append(of[class], c)
	}
	for _, d := range deviations {
		if len(of[d.name]) == 0 {
			t.Errorf("no case shows the difference %q any more: remove it", d.name)
		}
	}
	golden.Check(t, peersPage, head(t)+peersTables(all, of))
}

func head(t *testing.T) string {
	data, err := os.ReadFile(peersPage)
	if err != nil {
		t.Fatal(err)
	}
	text, _, found := strings.Cut(string(data), peersMark)
	if !found {
		t.Fatalf("%s has no mark for its generated part", peersPage)
	}
	return text + peersMark
}

func deviationOf(c *compared) string {
	for _, d := range deviations {
		if d.fits(c) {
			return d.name
		}
	}
	return ""
}

// compare decides a case.
func compare(t *testing.T, check *Check, p corpus.Peer) *compared {
	c := &compared{Peer: p, facts: &shell.Facts{}}
	if p.Tool == "Bash" {
		c.facts = shell.Analyze(p.Input, shell.Options{Dir: "/home/dev/proj", Home: "/home/dev"})
	}
	if p.Kind == "split" {
		c.split(t, check)
		return c
	}
	c.answer = decideRow(t, check, c.row(p.Policy()))
	c.got = c.answer.Behavior
	switch {
	case p.Kind == "redirect" && p.Expected == "unknown":
		c.same = c.got == "allow" // nothing is redirected
	case p.Expected == "unknown":
		c.same = c.answer.Rule == "" && c.got != "deny"
	default:
		c.same = c.got == p.Expected
	}
	return c
}

func (c *compared) row(policy corpus.Policy) map[string]any {
	return map[string]any{"id": c.ID, "policy": policy, "tool": c.Tool, "input": c.Use(), "cwd": c.Cwd, "symlinks": c.Symlinks}
}

// split compares the commands of a line with those that the other engine finds.
// Denying any of them must stop the line.
func (c *compared) split(t *testing.T, check *Check) {
	var parts, roots []string
	for _, a := range c.facts.Actions {
		switch a.Kind {
		case shell.Command:
			parts = append(parts, c.Input[a.Pos:a.End])
			roots = append(roots, a.Words[0].Text)
		case shell.Opaque:
			parts = append(parts, "("+a.Why.String()+")")
		}
	}
	got := parts
	if c.Roots != nil {
		got = roots
	}
	c.got = list(got)
	c.same = slices.Equal(sorted(got), sorted(append(c.Parts, c.Roots...)))
	for _, part := range append(c.Parts, c.Roots...) {
		for _, a := range shell.Analyze(part, shell.Options{}).Actions {
			if a.Kind != shell.Command {
				continue
			}
			rule := "Bash(" + a.Words[0].Text + ":*)"
			d := decideRow(t, check, c.row(corpus.Policy{Allow: []string{"Bash"}, Deny: []string{rule}}))
			if d.Behavior == "allow" {
				t.Errorf("%s: deny %s does not stop %q", c.ID, rule, c.Input)
			}
		}
	}
}

func sorted(words []string) []string { return slices.Sorted(slices.Values(words)) }

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return strings.Join(quoted, ", ")
}

func (c *compared) wanted() string {
	if c.Kind == "split" {
		return list(append(c.Parts, c.Roots...))
	}
	return c.Expected
}

// says reports whether the reason of the decision contains a text.
func (c *compared) says(text string) bool { return strings.Contains(c.answer.Reason, text) }

// turns reports whether the case expects one behavior and gets the other.
func (c *compared) turns(from, to string) bool { return c.Expected == from && c.got == to }

// ruleLike reports whether a rule of the case matches a form.
func (c *compared) ruleLike(form string) bool {
	if c.Rules == nil {
		return false
	}
	return slices.ContainsFunc(slices.Concat(c.Rules.Allow, c.Rules.Ask, c.Rules.Deny), regexp.MustCompile(form).MatchString)
}

// words returns the words of the first command of the line.
func (c *compared) words() []string {
	for _, a := range c.facts.Actions {
		if a.Kind == shell.Command {
			words := make([]string, len(a.Words))
			for i, w := range a.Words {
				words[i] = w.Text
			}
			return words
		}
	}
	return nil
}

// allows reports whether f holds for the words of an allow rule without its
// final wildcard.
func (c *compared) allows(f func(rule []string) bool) bool {
	return c.Rules != nil && slices.ContainsFunc(c.Rules.Allow, func(rule string) bool {
		text := strings.TrimSuffix(strings.TrimPrefix(rule, "Bash("), ")")
		return f(strings.Fields(strings.TrimSuffix(text, " *")))
	})
}

// names reports whether an allow rule of the case names a program.
func (c *compared) names(program string) bool {
	return c.allows(func(rule []string) bool {
		return len(rule) > 0 && strings.TrimSuffix(rule[0], ":*") == program
	})
}

// runs reports whether the line runs a program, or may conceal that it does.
func (c *compared) runs(program string) bool {
	return slices.ContainsFunc(c.facts.Actions, func(a shell.Action) bool {
		return a.Kind == shell.Opaque || a.Kind == shell.Command && a.Words[0].Text == program
	})
}

// unnamed reports whether the line is asked about because no rule names its
// program.
func (c *compared) unnamed() bool {
	_, run, found := strings.Cut(c.answer.Reason, ": run ")
	program, _, _ := strings.Cut(run, " ")
	return found && !c.names(program)
}

// within reports whether the words occur among others in the same order.
func within(words, among []string) bool {
	for _, w := range among {
		if len(words) > 0 && w == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// builtIn reports whether no deny rule of the case is about the line: each has
// a word that the line lacks.
func (c *compared) builtIn() bool {
	for _, rule := range c.Rules.Deny {
		_, spec, _ := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
		words := slices.DeleteFunc(strings.Fields(spec), func(w string) bool { return w == "*" })
		if within(words, c.words()) {
			return false
		}
	}
	return len(c.Rules.Deny) > 0
}

var deviations = []deviation{
	{"lost", byDialect, "The neutral form of the case has lost something: the field `lost` of its row says what.",
		func(c *compared) bool { return c.Lost != "" }},
	{"empty line", isSafer, "A Bash tool use without a command line is malformed: denied, not asked.",
		func(c *compared) bool { return c.Input == "" && c.Tool == "Bash" }},
	{"unreadable rule", isSafer, "The peer passes over a rule that it cannot read, or reads it in a form that is refused here (`* x`, `:*` in the middle, `mcp_*`). Here such a rule stops the load with its place and a fix, and until then everything is denied.",
		func(c *compared) bool {
			return c.got == "deny" && regexp.MustCompile(`^(allow|ask|deny)\[\d+\]:\d+: `).MatchString(c.answer.Reason)
		}},
	{"last match", byDialect, "In the peer the last rule that matches decides. Here deny stands before ask and allow, wherever it is written.",
		func(c *compared) bool { return c.Ordered }},
	{"catastrophe", isSafer, "Removing `/` recursively is denied before any rule is asked, in every spelling.",
		func(c *compared) bool { return c.got == "deny" && c.says("catastrophic command") }},
	{"hard deny", byDialect, "In the peer a denied command falls back to a question. Here deny denies.",
		func(c *compared) bool { return c.turns("ask", "deny") && c.answer.Layer == "deny-list" }},
	{"another language", isSafer, "`python -c` and `node -e` run text that is not read: a rule with a specifier does not cover it.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.says("is code in another language") }},
	{"variable", isSafer, "A variable before a command may change what it does: `PYTHONPATH=` and its like can make it run anything, of others only a list of harmless names proves an allow.",
		func(c *compared) bool {
			return c.turns("allow", "ask") && (c.says("can change what commands do") || c.says("may change what the program does"))
		}},
	{"assignment", byDialect, "The peer does not read on behind an assignment. Here an assignment alone needs no cover, unless the variable is a dangerous one.",
		func(c *compared) bool {
			return c.turns("ask", "allow") && regexp.MustCompile(`^\w+=`).MatchString(c.Input)
		}},
	{"source", isSafer, "`source` runs a file in this shell: only bare `Bash` or a rule for the whole line covers it.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.says("runs a file in this shell") }},
	{"may be an option", isSafer, "A file of a glob may have a name that begins with a dash; the program may then take it for an option.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.says("may be an option") }},
	{"write", isSafer, "A redirection writes a file: the rule of the command does not cover it, an edit rule does.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.says("Not in allow list: write") }},
	{"program's path", isSafer, "An allow for `git` is for the program that PATH finds; another path is another program.",
		func(c *compared) bool {
			return c.turns("allow", "ask") && strings.HasPrefix(c.Input, "/") && c.Tool == "Bash"
		}},
	{"subdomain", isSafer, "An allow for a host is for that host; `*.host` is for its subdomains.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.Tool == "WebFetch" }},
	{"from the root", byDialect, "In the peer `/x` is a path from the project. Here it is absolute; the load says so.",
		func(c *compared) bool { return c.turns("deny", "ask") && c.ruleLike(`\(/[^/]`) }},
	{"parameters", byDialect, "The peer reads `Agent(key:value)` as a condition on an input field. Here the specifier is the agent's type; without a rule against it, starting an agent needs none, unless a field stands there that nobody knows.",
		func(c *compared) bool { return c.got != "deny" && c.ruleLike(`^Agent\(\w+:`) }},
	{"comment", byDialect, "The peer denies a line for what stands in its comment. A comment does not run: nothing in the line is denied.",
		func(c *compared) bool {
			return c.turns("deny", "ask") && strings.Contains(c.Input, "#") && !c.runs("rm")
		}},
	{"may be covered", byDialect, "What cannot be read may be what a rule denies: it is asked, whatever else is allowed.",
		func(c *compared) bool { return c.turns("deny", "ask") && c.says("it may match deny rule") }},
	{"dangers of its own", byDialect, "The peer denies from a list of its own; no rule of the case is about the line.",
		func(c *compared) bool { return c.turns("deny", "ask") && c.builtIn() }},
	{"word in the middle", byDialect, "The case's rule stands for an argument anywhere. Here ` * ` in the middle of a rule is one word at least.",
		func(c *compared) bool { return c.turns("deny", "ask") && c.ruleLike(` \* \S+ `) }},
	{"safe by itself", byDialect, "The peer lets programs through that it holds for harmless. Here the risk catalogue does that, which is off in this comparison.",
		func(c *compared) bool {
			return c.turns("allow", "ask") && c.unnamed() && !c.allows(func(r []string) bool { return len(r) > 1 && within(r, c.words()) }) && !c.ruleLike(`[?\[]`)
		}},
	{"glob characters", byDialect, "The peer's rules are shell globs. Here only `*` is special: `?` and `[` are themselves, as in real command lines.",
		func(c *compared) bool { return c.turns("allow", "ask") && c.ruleLike(`[?\[]`) }},
	{"prefix", byDialect, "In the peer a rule without `*` is a prefix. Here it is exactly these words.",
		func(c *compared) bool {
			return c.turns("allow", "ask") && !c.ruleLike(`\*`) && c.allows(func(r []string) bool { return len(r) < len(c.words()) && slices.Equal(r, c.words()[:len(r)]) })
		}},
	{"words left out", byDialect, "The peer's rule passes over options and operands between its words. Here no word of the command is passed over for an allow, and a command that a wrapper runs needs cover of its own.",
		func(c *compared) bool {
			return c.turns("allow", "ask") && c.allows(func(r []string) bool { return len(r) > 1 && within(r, c.words()) })
		}},
	{"redirection", byDialect, "The peer asks for every `<` and `>`, quoted ones too. Here only what writes a file needs cover.",
		func(c *compared) bool {
			writes := func(a shell.Action) bool { return a.Kind == shell.Write }
			return c.Kind == "redirect" && c.turns("ask", "allow") && !slices.ContainsFunc(c.facts.Actions, writes)
		}},
	{"opaque spot", isSafer, "Here what cannot be known stands among the parts, in brackets: it needs cover as well.",
		func(c *compared) bool { return c.Kind == "split" && strings.Contains(c.got, `"(`) }},
	{"redirection apart", byDialect, "The peer leaves a redirection with its command. Here it is an action of its own, and rules for the command do not cover it.",
		func(c *compared) bool {
			return c.Kind == "split" && len(c.Parts) == 1 && strings.ContainsAny(c.Parts[0], "<>") && strings.HasPrefix(strconv.Quote(c.Parts[0]), strings.TrimSuffix(c.got, `"`))
		}},
}

// peersTables returns the generated part of the page: the figures, the classes
// and every difference.
func peersTables(all []*compared, of map[string][]*compared) string {
	var b strings.Builder
	figures(&b, all)
	b.WriteString("\n## Why cases differ\n\n| class | | cases | reason |\n|---|---|---|---|\n")
	for _, d := range deviations {
		fmt.Fprintf(&b, "| %s | %s | %d | %s |\n", d.name, d.kind, len(of[d.name]), strings.ReplaceAll(d.why, "|", `\|`))
	}
	b.WriteString("\n## Every case that differs\n\n| case | engine | input | rules | there | here | class |\n|---|---|---|---|---|---|---|\n")
	for _, d := range deviations {
		for _, c := range of[d.name] {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", c.ID, c.Source, code(c.Input), c.rules(), c.cell(c.wanted()), c.cell(c.got), d.name)
		}
	}
	return b.String()
}

// figures counts the cases of each engine.
func figures(b *strings.Builder, all []*compared) {
	type row struct{ cases, same, stricter, looser, split int }
	rows := map[string]*row{}
	for _, c := range all {
		engine, _, _ := strings.Cut(c.Source, ":")
		for _, name := range []string{engine, "all"} {
			r := rows[name]
			if r == nil {
				r = &row{}
				rows[name] = r
			}
			r.cases++
			switch was, is := weight[c.Expected], weight[c.got]; {
			case c.same:
				r.same++
			case c.Kind == "split":
				r.split++
			case is > was:
				r.stricter++
			default:
				r.looser++
			}
		}
	}
	b.WriteString("\n| engine | cases | as there | stricter here | looser here | other parts |\n|---|---|---|---|---|---|\n")
	for _, name := range append(slices.DeleteFunc(sortedKeys(rows), func(n string) bool { return n == "all" }), "all") {
		r := rows[name]
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d |\n", name, r.cases, r.same, r.stricter, r.looser, r.split)
	}
}

// weight orders the behaviors. A case about which there is no rule is asked.
var weight = map[string]int{"allow": 1, "ask": 2, "unknown": 2, "deny": 3}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	return sorted(keys)
}

func (c *compared) cell(text string) string {
	if c.Kind == "split" {
		return code(text)
	}
	return text
}

func (c *compared) rules() string {
	if c.Rules == nil {
		return ""
	}
	var parts []string
	for _, l := range []struct {
		list  patterns.List
		rules []string
	}{{patterns.Allow, c.Rules.Allow}, {patterns.Ask, c.Rules.Ask}, {patterns.Deny, c.Rules.Deny}} {
		for i, rule := range l.rules {
			if i == 3 {
				parts = append(parts, fmt.Sprintf("and %d more", len(l.rules)-i))
				break
			}
			parts = append(parts, l.list.String()+" "+code(rule))
		}
	}
	return strings.Join(parts, ", ")
}

// code returns text as a code span in a table.
func code(text string) string {
	if strings.ContainsFunc(text, control) {
		text = strconv.Quote(text)
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if fence != "`" || text == "" {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}
