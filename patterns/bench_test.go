package patterns

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// benchRules returns n rules like those of a policy, with the wanted ones last.
func benchRules(b testing.TB, list List, n int) []*Rule {
	var rules []*Rule
	add := func(text string) {
		r, _, err := Parse(text, list, Source{})
		if err != nil {
			b.Fatal(err)
		}
		rules = append(rules, r)
	}
	for i := 0; len(rules) < n-6; i++ {
		switch i % 10 {
		case 0, 1, 2, 3, 4, 5:
			add(fmt.Sprintf("Bash(tool%d sub%d:*)", i/7, i))
		case 6, 7:
			add(fmt.Sprintf("Edit(/srv/p%d/**/*.go)", i))
		case 8:
			add(fmt.Sprintf("WebFetch(domain:h%d.example.com)", i))
		default:
			add(fmt.Sprintf("mcp__s%d__t%d", i, i))
		}
	}
	for _, text := range []string{"Bash(git status:*)", "Bash(git push --force:*)", "Bash(npm test)", "Edit(src/**)", "WebFetch(domain:github.com)", "mcp__github__get_*"} {
		add(text)
	}
	return rules
}

// benchSubjects returns the subjects of the benchmarks by name.
func benchSubjects() map[string]*Subject {
	subs := map[string]*Subject{
		"prefix": commands("git status -s")[0],
		"exact":  commands("npm test")[0],
		"miss":   commands("make all")[0],
		"path":   {Kind: WritePath, Tool: "Edit", Path: written("src/a/b.go", here)},
		"host":   {Kind: FetchURL, Tool: "WebFetch", URL: NewURL(shell.Word{Text: "https://github.com/a"})},
		"mcp":    {Kind: UseTool, Tool: "mcp__github__get_issue"},
	}
	return subs
}

// BenchmarkMatch matches against 10 to 10,000 rules. The cost should not depend
// on their number.
func BenchmarkMatch(b *testing.B) {
	for _, list := range []List{Allow, Deny} {
		for _, n := range []int{10, 100, 1000, 10000} {
			set := NewSet(here, benchRules(b, list, n)...)
			for _, name := range sortedSubjects() {
				sub := benchSubjects()[name]
				b.Run(fmt.Sprintf("%v/%s/%d", list, name, n), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						set.Match(sub, Query{})
					}
				})
			}
		}
	}
}

// BenchmarkLinear tries each rule in turn, for comparison.
func BenchmarkLinear(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		set := NewSet(here, benchRules(b, Allow, n)...)
		for _, name := range sortedSubjects() {
			sub := benchSubjects()[name]
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					best := No
					for _, r := range set.rules {
						best = max(best, r.match(sub, Query{}))
					}
				}
			})
		}
	}
}

func sortedSubjects() []string {
	return []string{"prefix", "exact", "miss", "path", "host", "mcp"}
}

// TestMatchAllocatesNothing checks that the index matches prefix and exact
// rules with known words, paths, hosts and names without allocating.
func TestMatchAllocatesNothing(t *testing.T) {
	set := NewSet(here, benchRules(t, Allow, 1000)...)
	for name, sub := range benchSubjects() {
		if n := testing.AllocsPerRun(100, func() { set.Match(sub, Query{}) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkNewSet builds a set of 10,000 rules.
func BenchmarkNewSet(b *testing.B) {
	rules := benchRules(b, Allow, 10000)
	b.ReportAllocs()
	for b.Loop() {
		NewSet(here, rules...)
	}
}

// BenchmarkParse parses one rule of each form.
func BenchmarkParse(b *testing.B) {
	for _, text := range []string{"Bash(git push:*)", "Bash(git * main)", "Edit(src/**/*.go)", "WebFetch(domain:github.com)", "mcp__s__t"} {
		b.Run(text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, _ = Parse(text, Allow, Source{})
			}
		})
	}
}

// BenchmarkDoubling matches hostile patterns against input of doubling length.
// The time should at most grow by a factor of 2.5.
func BenchmarkDoubling(b *testing.B) {
	for _, shape := range []struct{ name, rule, unit string }{
		{"command stars", "Bash(x *a*a*a*a*b)", "a"},
		{"command tail", "Bash(*ab:*)", "aab"},
		{"path stars", "Read(/*a*a*a*a*b?)", "a"},
		{"path classes", "Read(/[ab]*[ab]*[ab]*c)", "ab"},
		{"path segments", "Read(/**/a*/**/b*/**/c)", "a/b/"},
		{"host", "WebFetch(evil.org)", "a."},
	} {
		r := rule(b, shape.rule, Deny)
		for size := 256; size <= 4096; size *= 2 {
			text := strings.Repeat(shape.unit, size/len(shape.unit))
			b.Run(fmt.Sprintf("%s/%d", shape.name, size), func(b *testing.B) {
				sub := &Subject{Kind: ReadPath, Tool: "Read"}
				switch r.family {
				case ofReads:
					sub.Path = NewPath(shell.Word{Text: "/" + text[:len(text)-2]}, "", here, same)
				case ofFetch:
					sub.Kind = FetchURL
				default:
					sub = commandOf([]shell.Word{{Text: "x"}, {Text: text}})
				}
				for b.Loop() {
					if sub.Kind == FetchURL {
						sub.URL = NewURL(shell.Word{Text: "https://" + text})
					}
					sub.looseText = ""
					r.match(sub, Query{})
				}
			})
		}
	}
}

// BenchmarkMeets compares a word with a hole, as of `cat "$f"`, with the pattern of a rule.
func BenchmarkMeets(b *testing.B) {
	p := textPattern{chunks: []string{"secrets/", ".json"}}
	steps := wordSteps(nil, &shell.Word{Text: "sub/deep/a.txt", Holes: []shell.Hole{{At: 0, Kind: shell.AnyText}}}, false)
	b.ReportAllocs()
	for b.Loop() {
		p.meets(steps)
	}
}
