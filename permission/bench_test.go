package permission

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// benchUses lists the tool uses that are measured.
var benchUses = []struct {
	name string
	use  ToolUse
}{
	{"status", using("Bash", "git status")},
	{"pipe3", using("Bash", "go test ./... 2>&1 | grep -E 'ok|FAIL' | head -20")},
	{"pipe5", using("Bash", "cd a && npm run test -- --coverage 2>&1 | tail -20 | sort | uniq -c")},
	{"heredoc2k", using("Bash", "git commit -m \"$(cat <<'EOF'\n"+strings.Repeat("a line of the message\n", 90)+"EOF\n)\"")},
	{"edit", using("Edit", workspace+"/src/a.go")},
}

const benchAllow = "Bash(git:*); Bash(go test:*); Bash(grep:*); Bash(head:*); Bash(cd:*); Bash(npm run test:*); Bash(tail:*); " +
	"Bash(sort:*); Bash(uniq:*); Bash(cat:*); Edit(src/**)"

// benchPolicy returns a policy with n rules beside those that the uses need,
// every tenth of them a deny.
func benchPolicy(t testing.TB, n int) *Policy {
	p := (spec{risk: true}).policy(t)
	allow := parseRules(t, patterns.Allow, benchAllow, "x")
	var deny []*patterns.Rule
	for i := range n {
		if i%10 == 9 {
			deny = append(deny, parseRules(t, patterns.Deny, fmt.Sprintf("Bash(tool%d run:*)", i), "x")...)
			continue
		}
		allow = append(allow, parseRules(t, patterns.Allow, fmt.Sprintf("Bash(tool%d run:*)", i), "x")...)
	}
	p.Allow, p.Deny = patterns.NewSet(place, allow...), patterns.NewSet(place, deny...)
	return p
}

// BenchmarkEvaluate measures one tool use, from the JSON of its input to the
// decision with its reason, under policies of growing size and without a trace.
func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		p := benchPolicy(b, n)
		for _, u := range benchUses {
			u.use.Dir = workspace
			b.Run(fmt.Sprintf("%s/%d", u.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d := Evaluate(p, nil, &u.use, fakeFS{}, nil); d.Behavior != Allow {
						b.Fatal(outcome(d))
					}
				}
			})
		}
	}
}

// evaluating returns the evaluation of a command line up to its facts and their
// risk, before any layer.
func evaluating(t testing.TB, p *Policy, line string) *evaluation {
	use := using("Bash", line)
	use.Dir = workspace
	r := newReading(&use, p.knowledge(), fakeFS{}, nil)
	if r.err != nil {
		t.Fatal(r.err)
	}
	return begin(r, p, &noStanding)
}

// BenchmarkSplit measures the decision after reading: every layer answers, and
// nothing is formatted.
func BenchmarkSplit(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		e := evaluating(b, benchPolicy(b, n), "git status")
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a, _ := e.verdict(); a.behavior != Allow {
					b.Fatal(a)
				}
			}
		})
	}
}

// BenchmarkLine measures a command line from its text to the decision with its
// reason: Evaluate without the JSON of the input.
func BenchmarkLine(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		p := benchPolicy(b, n)
		for _, u := range benchUses[:4] {
			e := evaluating(b, p, line(u.use))
			b.Run(fmt.Sprintf("%s/%d", u.name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d := again(e); d.Behavior != Allow {
						b.Fatal(outcome(d))
					}
				}
			})
		}
	}
}

// again decides a command line again without parsing the input again.
func again(e *evaluation) Decision {
	r := readings.Get().(*reading)
	r.use, r.know, r.env, r.dir, r.input = e.use, e.know, e.env, e.dir, e.input
	if err := r.readLine(tools.Builtin(tools.Bash)); err != nil {
		return refused(err.Error())
	}
	d := judge(r, e.policy, e.session, nil)
	r.release()
	return d
}

func line(use ToolUse) string {
	var input struct{ Command string }
	if err := json.Unmarshal(use.Input, &input); err != nil {
		panic(err)
	}
	return input.Command
}

// BenchmarkWorst measures the most expensive line that is accepted, under
// 10,000 deny rules for commands and for paths.
func BenchmarkWorst(b *testing.B) {
	for _, kind := range []struct{ name, rule string }{{"commands", "Bash(tool%d run:*)"}, {"paths", "Read(./secret%d/**)"}} {
		p := (spec{risk: true}).policy(b)
		var deny []*patterns.Rule
		for i := range 10000 {
			deny = append(deny, parseRules(b, patterns.Deny, fmt.Sprintf(kind.rule, i), "x")...)
		}
		p.Deny = patterns.NewSet(place, deny...)
		for name, line := range worstLines {
			use := using("Bash", line)
			use.Dir = workspace
			b.Run(kind.name+"/"+name, func(b *testing.B) {
				for b.Loop() {
					Evaluate(p, nil, &use, fakeFS{}, nil)
				}
			})
		}
	}
}

var worstLines = map[string]string{
	"semicolons":  strings.Repeat("a;", 30000),
	"pipes":       strings.Repeat("ls|", 20000) + "ls",
	"unknown":     strings.Repeat("$x;", 20000),
	"globs":       strings.Repeat("a*;", 20000),
	"recursive":   strings.Repeat("rg x;", 9000),
	"assignments": strings.Repeat("x=1;", shell.MaxLine/8) + strings.Repeat("$x;", shell.MaxLine/8),
	"names":       "find . |" + strings.Repeat("grep x|", 9000) + "ls",
	"directories": strings.Repeat("cd a&&", 10000) + "ls",
	"values":      strings.Repeat("x=$x;", 13000),
	"quotes":      "echo " + strings.Repeat(`"a"`, 21000),
	"eval":        strings.Repeat("eval ", 13000) + "ls",
	"unfamiliar":  "foo " + strings.Repeat("rm ", 20000),
	"finds":       strings.Repeat("find -delete;", 5000),
	"removals":    "rm -r " + strings.Repeat("a ", 9000),
	"readers":     "gpg -c " + strings.Repeat("x ", 30000),
}

// TestConcurrent decides many lines concurrently, with the parsers, walkers,
// trees and lists that are reused between lines. It compares each decision, its
// trace and its facts with those of a sequential run, since nothing that a
// caller holds may be modified later.
func TestConcurrent(t *testing.T) {
	p := benchPolicy(t, 100)
	lines := []string{
		"git status", "git push --force origin main", "cd a && npm run test 2>&1 | tail -20", "rm -rf build | tee x > y",
		"sudo env A=1 timeout 5 rm -rf src", "find . -name '*.go' -exec rm {} ';'", "echo \"$(cat a; git log)\" > out.txt", "bash -c 'rm x; ls'",
		"x=1; echo $x | xargs rm", "cp -r a b c && mv d e", "if", strings.Repeat("rm a; ls > b; ", maxKept), "tool9 run x", "tar --checkpoint-action=exec=sh -cf a b", "curl -o x https://a.example/y",
	}
	get := func(line string) kept {
		use := using("Bash", line)
		use.Dir = workspace
		var tr Trace
		return kept{Evaluate(p, nil, &use, fakeFS{}, &tr), tr, shell.Analyze(strings.Clone(line), shell.Options{Dir: workspace, Workspace: workspace})}
	}
	want := map[string]string{}
	for _, line := range lines {
		want[line] = fmt.Sprintf("%+v", everything(get(line)))
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			var held []kept
			for i := range 105 { // each line seven times
				held = append(held, get(lines[(i*(g+1)+g)%len(lines)]))
			}
			for i, k := range held {
				line := lines[(i*(g+1)+g)%len(lines)]
				if diff := cmp.Diff(want[line], fmt.Sprintf("%+v", everything(k))); diff != "" {
					t.Errorf("%s: what was kept has changed\n%s", line, diff)
					return
				}
			}
		})
	}
	group.Wait()
}

// kept is what callers keep of a line.
type kept struct {
	d  Decision
	tr Trace
	f  *shell.Facts
}

// everything returns all of it as text, for comparison.
func everything(k kept) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "%+v\n%+v\n%s %v %+v\n", k.d, k.tr, k.f.Source, k.f.Simple, k.f.Failed)
	for _, a := range k.f.Actions {
		if a.Program != nil {
			fmt.Fprint(&sb, a.Program.Name, a.Program.Path)
			a.Program = nil
		}
		fmt.Fprintf(&sb, "%+v\n", a)
	}
	return sb.String()
}
