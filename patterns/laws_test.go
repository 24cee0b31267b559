package patterns

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Pieces of rules and of subjects: few enough that they often match.
var (
	someWords  = []string{"git", "push", "rm", "-rf", "-r", "--force", "ls", "main", "a b", "/bin/rm", "x", "--", "sudo", "git/..", "-x", "unfamiliar", "time"}
	somePaths  = []string{".env", "src/a.go", "src/b/c.md", "/etc/passwd", "~/.ssh/id", "../x", "a/.env/b", "/proc/self/cwd/x", "src/*.go", "$", "$/x", "SRC/a.go", "s\u00e9/x", "."}
	someHosts  = []string{"github.com", "api.github.com", "evil.org", "127.0.0.1", "localhost", "a@evil.org", "0x7f.1", "evil.org%2f", "$"}
	someTools  = []string{"mcp__s__t", "mcp__s__t__u", "mcp__s", "mcp__x__get_a", "Skill", "Task", "Agent", "TodoWrite", "Bash", "Edit", "Other"}
	someGlobs  = []string{"*", ".env", "src/**", "**/*.md", "/etc/**", "~/.ssh/**", "*.go", "src/{a,b}.go", "./x", "//**/x", "a/[ab]?", "src/a.go", "SRC/**"}
	someNames  = []string{"mcp__s", "mcp__s__*", "mcp__s__t", "mcp__x__get_*", "Skill", "Skill(x)", "Skill(x*)", "Task(x)", "Agent", "TodoWrite", "Other", "Read", "Edit", "Write", "Grep", "WebFetch", "Bash", "Bash(*)"}
	anyServers = []string{"*", "mcp__*", "mcp__*__get_*"}
)

// drawRule draws a rule of a list.
func drawRule(t *rapid.T, list List) *Rule {
	return drawRuleOf(t, list, func(*Rule) bool { return true })
}

// drawRuleOf draws a rule of a list that is of the wanted kind.
func drawRuleOf(t *rapid.T, list List, wanted func(*Rule) bool) *Rule {
	var rule *Rule
	rapid.Custom(func(t *rapid.T) string { return drawRuleText(t, list) }).Filter(func(text string) bool {
		r, _, err := Parse(text, list, Source{Name: "t", Line: 1})
		rule = r
		return err == nil && wanted(r)
	}).Draw(t, "rule")
	return rule
}

func drawRuleText(t *rapid.T, list List) string {
	switch rapid.IntRange(0, 4).Draw(t, "form") {
	case 0, 1:
		words := rapid.SliceOfN(rapid.SampledFrom(someWords), 1, 4).Draw(t, "words")
		for i, w := range words {
			words[i] = quoted(w)
		}
		if rapid.Bool().Draw(t, "star") {
			words[rapid.IntRange(0, len(words)-1).Draw(t, "at")] = rapid.SampledFrom([]string{"*", "g*", "r*m", "-*"}).Draw(t, "pattern")
		}
		return "Bash(" + strings.Join(words, " ") + rapid.SampledFrom([]string{"", ":*", " *", "*"}).Draw(t, "end") + ")"
	case 2:
		return rapid.SampledFrom([]string{"Read", "Edit", "Write", "Grep"}).Draw(t, "tool") + "(" + rapid.SampledFrom(someGlobs).Draw(t, "glob") + ")"
	case 3:
		return "WebFetch(" + rapid.SampledFrom([]string{"", "domain:", "*."}).Draw(t, "how") + rapid.SampledFrom(someHosts[:5]).Draw(t, "host") + ")"
	}
	names := someNames
	if list != Allow {
		names = append(names[:len(names):len(names)], anyServers...)
	}
	return rapid.SampledFrom(names).Draw(t, "name")
}

func drawSubject(t *rapid.T, place Place) *Subject {
	sub := &Subject{Tool: rapid.SampledFrom(someTools).Draw(t, "tool")}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0, 1:
		a := &shell.Action{Kind: shell.Command}
		for range rapid.IntRange(1, 5).Draw(t, "length") {
			w := shell.Word{Text: rapid.SampledFrom(someWords).Draw(t, "word")}
			if rapid.IntRange(0, 6).Draw(t, "unknown") == 0 {
				w = word(rapid.SampledFrom([]string{"$", "*", "g$", "-$", "*.x", "r*"}).Draw(t, "hole"))
				w.Split = rapid.Bool().Draw(t, "split")
			}
			a.Words = append(a.Words, w)
		}
		if a.Words[0].Known() {
			a.Program = program.Lookup(lastSegment(a.Words[0].Text))
		}
		line := "v=x; " // a line unlike any rule
		for i := range a.Words {
			line += quoted(a.Words[i].Text) + " "
		}
		sub.Kind, sub.Tool, sub.Command, sub.Line, sub.Simple = RunCommand, "Bash", a, line, rapid.Bool().Draw(t, "simple")
	case 2:
		sub.Kind = rapid.SampledFrom([]Kind{ReadPath, WritePath}).Draw(t, "path")
		sub.Tool = rapid.SampledFrom([]string{"Read", "Edit", "Write", "Grep", "Bash"}).Draw(t, "by")
		sub.Path = NewPath(word(rapid.SampledFrom(somePaths).Draw(t, "name")), place.Workspace, place, same)
	case 3:
		sub.Kind = FetchURL
		sub.URL = NewURL(plainHoles("https://" + rapid.SampledFrom(someHosts).Draw(t, "host") + "/x"))
	case 4:
		sub.Kind, sub.Tool, sub.Line = Hidden, "Bash", "x"
		sub.May = shell.Effects(rapid.IntRange(0, 15).Draw(t, "may"))
	default:
		sub.Kind, sub.Name = UseTool, rapid.SampledFrom([]string{"", "x", "p:x", "xy"}).Draw(t, "asked")
	}
	return sub
}

// TestSetIsItsRules checks that a set returns the strongest match of its rules,
// whatever their order, and the first rule that has it.
func TestSetIsItsRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		place := here
		place.Fold = rapid.Bool().Draw(t, "fold")
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		var rules []*Rule
		for range rapid.IntRange(1, 2*unindexed).Draw(t, "rules") {
			rules = append(rules, drawRule(t, list))
		}
		sub := drawSubject(t, place)
		q := Query{Specific: rapid.Bool().Draw(t, "specific"), Reach: rapid.IntRange(0, 2).Draw(t, "reach")}
		var best *Rule
		want := No
		for i, r := range rules {
			fresh := *sub
			if m := r.bound(place, i).match(&fresh, q); m > want {
				best, want = r, m
			}
		}
		got, m := NewSet(place, rules...).Match(sub, q)
		if m != want || (got == nil) != (best == nil) || got != nil && got.String() != best.String() {
			t.Fatalf("the set says %v by %v, its rules say %v by %v", m, got, want, best)
		}
		if list == Allow && m == Maybe {
			t.Fatal("an allow that may match")
		}
		if _, again := NewSet(place, rules...).Match(sub, q); again != m {
			t.Fatalf("first %v, then %v", m, again)
		}
	})
}

// TestMoreRulesMatchMore checks that adding a rule never weakens a match.
func TestMoreRulesMatchMore(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		a, b := drawRule(t, list), drawRule(t, list)
		sub := drawSubject(t, here)
		_, one := NewSet(here, a).Match(sub, Query{})
		_, two := NewSet(here, a, b).Match(sub, Query{})
		_, swapped := NewSet(here, b, a).Match(sub, Query{})
		if two < one || two != swapped {
			t.Fatalf("%v alone %v, with %v %v, swapped %v", a, one, b, two, swapped)
		}
	})
}

// TestDenySeesWhatAllowCovers checks that a deny rule matches whatever an allow
// rule of the same text certainly matches.
func TestDenySeesWhatAllowCovers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := drawRule(t, Allow)
		sub := drawSubject(t, here)
		if sub.Kind == Hidden || r.bare {
			return
		}
		_, m := NewSet(here, r).Match(sub, Query{})
		d, _, err := Parse(r.String(), Deny, Source{})
		if m != Yes || err != nil {
			return
		}
		if _, m := NewSet(here, d).Match(sub, Query{}); m != Yes {
			t.Fatalf("%v covers, but as a deny it says %v", r, m)
		}
	})
}

func TestPrintParse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		r := drawRule(t, list)
		again, _, err := Parse(r.String(), list, Source{Name: "t", Line: 1})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := fmt.Sprintf("%+v", dump(r)), fmt.Sprintf("%+v", dump(again)); a != b {
			t.Fatalf("%s\nis read again as\n%s", a, b)
		}
	})
}

// dump returns everything that was parsed from a rule.
func dump(r *Rule) any {
	var command, host, name any
	if r.command != nil {
		command = *r.command
	}
	if r.host != nil {
		host = *r.host
	}
	if r.name != nil {
		name = *r.name
	}
	var paths []string
	for _, p := range r.paths {
		paths = append(paths, fmt.Sprint(p.from, p.text, len(p.segs)))
	}
	return []any{r.tool, r.text, r.bare, r.family, command, paths, host, name, r.source}
}

// TestExactRule checks that the exact rule for a subject matches it, and
// nothing that differs from it.
func TestExactRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		sub, other := drawSubject(t, here), drawSubject(t, here)
		text := ExactRule(sub)
		if text == "" {
			return
		}
		r, _, err := Parse(text, Allow, Source{})
		if err != nil {
			t.Fatal(err)
		}
		set := NewSet(here, r)
		if _, m := set.Match(sub, Query{}); m != Yes {
			t.Fatalf("%s does not cover what it was made for", text)
		}
		if _, m := set.Match(other, Query{}); m == Yes && sub.Kind == RunCommand {
			if other.Command == nil || !strings.EqualFold(quoteWords(other), quoteWords(sub)) {
				t.Fatalf("%s covers %+v", text, other)
			}
		}
	})
}

func quoteWords(sub *Subject) string {
	text, _ := plainText(sub.Command.Words)
	return text
}

// fuzzHang fails a fuzz target if an input takes too long. It tries three
// times, since the machine may be busy.
func fuzzHang(t *testing.T, what string, f func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		start := time.Now()
		f()
		if took = time.Since(start); took <= 10*time.Second {
			return
		}
	}
	t.Fatalf("%s took %v", what, took)
}

func FuzzParse(f *testing.F) {
	for _, r := range readLines[realRule](f, "testdata/real-rules.jsonl")[:300] {
		f.Add(r.Rule, uint8(Deny))
	}
	for _, text := range []string{"Bash(a*b:*)", "Read({a,{b,c}}/**)", "WebFetch(*.d)", "Bash(\"", "Bash($(x) *)", "mcp__a__*", "Bash(' *)", `Bash("*")`, "Bash('' *)", "Bash(time '')", "Bash(sudo '' *)"} {
		f.Add(text, uint8(Allow))
	}
	f.Fuzz(func(t *testing.T, text string, list uint8) {
		l := List(list%3) + Allow
		fuzzHang(t, "parsing", func() {
			r, _, err := Parse(text, l, Source{})
			if err != nil {
				if err.Error() == "" {
					t.Fatal("an error without a message")
				}
				return
			}
			again, _, err := Parse(r.String(), l, Source{})
			if err != nil || again.String() != r.String() || again.bare != r.bare {
				t.Fatalf("%q prints as %q, which reads as %v, error %v", text, r, again, err)
			}
			NewSet(here, r)
			NewSet(Place{}, r)
		})
	})
}

func FuzzMatch(f *testing.F) {
	f.Add("Bash(git * main)", "git\x00push\x00main", uint8(0), uint8(Deny))
	f.Add("Read(**/*a*b?/**)", "/aaaa/aab/aa", uint8(1), uint8(Deny))
	f.Add("WebFetch(*.d)", "https://a@b.d\\c", uint8(2), uint8(Ask))
	f.Add("Bash(*a*b*c*d)", strings.Repeat("a", 3000), uint8(0), uint8(Deny))
	f.Add("Skill(a*b)", "ab", uint8(3), uint8(Allow))
	f.Fuzz(func(t *testing.T, text, input string, kind, list uint8) {
		l := List(list%3) + Allow
		if len(input) > shell.MaxLine {
			return
		}
		r, _, err := Parse(text, l, Source{})
		if err != nil {
			return
		}
		set := NewSet(here, r)
		sub := fuzzSubject(input, kind)
		fuzzHang(t, r.String(), func() {
			if _, m := set.Match(sub, Query{}); l == Allow && m == Maybe {
				t.Fatalf("%s: an allow that may match", r)
			}
			ExactRule(sub)
			Explain(set.Rules()[0], sub)
		})
	})
}

// fuzzSubject returns a subject from fuzzed text: NUL ends a word, "$" and "*"
// are unknown.
func fuzzSubject(input string, kind uint8) *Subject {
	switch kind % 4 {
	case 0:
		a := &shell.Action{Kind: shell.Command}
		for _, part := range strings.Split(input, "\x00") {
			a.Words = append(a.Words, word(part))
		}
		if a.Words[0].Known() {
			a.Program = program.Lookup(lastSegment(a.Words[0].Text))
		}
		return &Subject{Kind: RunCommand, Tool: "Bash", Command: a, Line: input, Simple: true}
	case 1:
		return &Subject{Kind: WritePath, Tool: "Write", Path: written(input, here)}
	case 2:
		return &Subject{Kind: FetchURL, Tool: "WebFetch", URL: NewURL(word(input))}
	}
	return &Subject{Kind: UseTool, Tool: "Skill", Name: input}
}

// TestExactRuleIsOneCommand checks that the exact rule for a command matches
// these words only, whatever parses as an escape in a saved rule.
func TestExactRuleIsOneCommand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := &shell.Action{Kind: shell.Command, Words: []shell.Word{{Text: "echo"}}}
		for _, w := range rapid.SliceOfN(rapid.StringMatching("[a*'\"\\\\()$`~= ]{0,5}"), 0, 4).Draw(t, "words") {
			a.Words = append(a.Words, shell.Word{Text: w})
		}
		sub := &Subject{Kind: RunCommand, Tool: "Bash", Command: a, Line: "v=x; y"}
		text := ExactRule(sub)
		r, _, err := Parse(text, Allow, Source{})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(r.command.exact) != 1 || len(r.command.lines) != 1 || r.command.words != nil {
			t.Fatalf("%s is about %q", text, r.command.exact)
		}
		if m := r.bound(here, 0).match(sub, Query{}); m != Yes {
			t.Fatalf("%s does not cover %+v", text, a.Words)
		}
	})
}

// TestSetIsSharedSafely matches a set in several goroutines, each with its own
// subjects.
func TestSetIsSharedSafely(t *testing.T) {
	t.Parallel()
	set := NewSet(here, rule(t, "Bash(git push --force:*)", Deny), rule(t, "Bash(rm -rf:*)", Deny), rule(t, "Bash(* --force)", Deny))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, line := range []string{"git push -f", "rm -r -f x", "unfamiliar --force", "/bin/rm -fr x"} {
				if _, m := set.Match(commands(line)[0], Query{}); m != Yes {
					t.Errorf("%s: %v", line, m)
				}
			}
		})
	}
	group.Wait()
}

// TestMeetsIsMatch checks that text without holes meets a pattern if and only
// if it matches it.
func TestMeetsIsMatch(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := textPattern{
			chunks: rapid.SliceOfN(rapid.StringMatching(`[ab\x00]{0,40}`), 1, 4).Draw(t, "chunks"),
			open:   rapid.Bool().Draw(t, "open"),
		}
		text := rapid.OneOf(
			rapid.StringMatching(`[ab\x00]{0,80}`),
			rapid.Just(strings.Join(p.chunks, "ab")),
			rapid.Just(strings.Join(p.chunks, "")+"\x00a"),
		).Draw(t, "text")
		var steps []step
		for i := 0; i < len(text); i++ {
			steps = append(steps, step{byte: text[i]})
		}
		if m, meets := p.match(text), p.meets(steps); m != meets {
			t.Fatalf("%q of %q: matches %v, meets %v", p.chunks, text, m, meets)
		}
	})
}

// TestNearLeavesNothingOut checks that no rule that Near omits matches anything
// below a path.
func TestNearLeavesNothingOut(t *testing.T) {
	t.Parallel()
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		place := here
		place.Fold = rapid.Bool().Draw(t, "fold")
		list := rapid.SampledFrom([]List{Ask, Deny}).Draw(t, "list")
		rules := []*Rule{drawRuleOf(t, list, func(r *Rule) bool { return r.family.path() })}
		for i := range 12 * fewRules { // so that there is something to omit
			r, _, err := Parse(fmt.Sprintf("Edit(//far/%d/x)", i), list, Source{})
			if err != nil {
				t.Fatal(err)
			}
			rules = append(rules, r)
		}
		set := NewSet(place, rules...)
		dir := rapid.SampledFrom([]string{".", "src", "src/b", "/", "/etc", "//far/3", "~", "$", "a$/b", "*", "/proc", "..", "SRC", "s\u00e9", "../x", "-"}).Draw(t, "dir")
		p := NewPath(word(dir), place.Workspace, place, same)
		near := set.Near(p)
		last := -1
		for _, r := range near {
			if r.order <= last {
				t.Fatalf("%v stands behind a later rule", r)
			}
			last = r.order
		}
		if len(near) < len(rules) {
			left++
		}
		for _, r := range set.Rules() {
			for _, kind := range []Kind{ReadPath, WritePath} {
				for _, tool := range []string{"Bash", r.tool} {
					sub := &Subject{Kind: kind, Tool: tool, Path: p}
					if p.Below(r, sub) && !slices.Contains(near, r) {
						t.Fatalf("%v is about what lies below %s", r, dir)
					}
				}
			}
		}
	})
	if left == 0 {
		t.Error("no rule was ever left out")
	}
}
