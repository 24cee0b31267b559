//go:build oracle && linux

package effects

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/effectbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

var (
	lines = flag.Int("lines", 300, "command lines to decide, and to run if they are allowed")
	seed  = flag.Uint64("seed", 0, "seed of the generator; 0 takes the time")
)

// With a line of its own the test shows what that one comes to.
var (
	oneLine = flag.String("line", "", "a command line to look at instead")
	allow   = flag.String("allow", "", "its allow rules, separated by \"; \"; empty: it is run whatever is decided")
	mode    = flag.String("mode", "default", "its permission mode")
)

func TestMain(m *testing.M) {
	effectbox.Main()
	os.Exit(m.Run())
}

// leastAllowed is the share of lines, in percent, that must be allowed: an
// engine that always asks would pass otherwise.
const leastAllowed = 20

// TestEffects gives generated lines and policies to the evaluator. What is
// allowed is run, and whatever it started or changed must be covered.
func TestEffects(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d lines", *seed, *lines)
	tree := world(t)
	box, err := effectbox.Open(effectbox.Config{
		Real: realPrograms, Stubs: stubs, Tree: tree, Dir: work, Home: home, Timeout: 1500 * time.Millisecond,
	}, t.TempDir())
	if errors.Is(err, effectbox.ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	t.Logf("%d programs are real", len(box.Real))
	if len(box.Real) < fewestReal {
		t.Errorf("only %d programs are real, want %d", len(box.Real), fewestReal)
	}
	if *oneLine != "" {
		look(t, box, tree)
		return
	}
	e := &experiment{t: t, box: box, g: newGenerator(*seed, tree), env: env(tree), links: links(tree), ran: map[string]int{}}
	began := time.Now()
	for i := range *lines {
		e.next()
		if (i+1)%10_000 == 0 {
			t.Logf("%d lines, %d allowed, %d violations, %s", i+1, e.allowed, e.violations, time.Since(began).Round(time.Second))
		}
	}
	e.report(time.Since(began))
}

// look shows what one line does.
func look(t *testing.T, box *effectbox.Box, tree []effectbox.File) {
	spec := &policy.Spec{Mode: *mode, Risk: "off"}
	for _, text := range strings.Split(*allow, "; ") {
		if text != "" {
			spec.Allow = append(spec.Allow, policy.Item{Text: text})
		}
	}
	d := decide(t, spec, *oneLine, env(tree))
	t.Logf("%s: %s", d.Behavior, d.Reason)
	if *allow != "" && d.Behavior != permission.Allow {
		return
	}
	got, err := box.Run(effectbox.Request{Line: *oneLine})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range got.Started {
		t.Logf("started in %s by %d: %q", s.Dir, s.Parent, s.Argv)
	}
	for _, c := range got.Changes {
		t.Logf("%s %s", c.What, c.Path)
	}
}

// experiment is one run of the test.
type experiment struct {
	t   *testing.T
	box *effectbox.Box
	g   *generator
	env workspace.Fake
	// links are those of the tree, for the judge.
	links map[string]string

	lines, allowed, timeouts, started, changed, violations int
	ran                                                    map[string]int // how often a program ran
}

// next makes a line, decides it, runs it if that is allowed, and judges.
func (e *experiment) next() {
	e.lines++
	line := e.g.line()
	rules := e.g.policy(line)
	if decide(e.t, rules.spec(), line, e.env).Behavior != permission.Allow {
		return
	}
	e.allowed++
	got, err := e.box.Run(effectbox.Request{Line: line, Extra: e.g.extra, Bare: e.g.in(2)})
	if err != nil {
		e.t.Fatalf("line %q: %v", line, err)
	}
	e.count(got)
	if found := violations(rules, line, got, e.links); len(found) > 0 {
		e.violations++
		if e.violations <= 40 {
			e.t.Errorf("%s\nline: %s\npolicy: %s\nextra: %s", strings.Join(found, "\n"), line, show(rules), names(e.g.extra))
		}
	}
}

func (e *experiment) count(got effectbox.Result) {
	if got.TimedOut {
		e.timeouts++
	}
	e.started += len(got.Started)
	e.changed += len(got.Changes)
	for _, s := range got.Started {
		e.ran[standard(s.Argv[0])]++
	}
}

func (e *experiment) report(took time.Duration) {
	var idle []string
	for _, name := range e.box.Real {
		if e.ran[name] == 0 {
			idle = append(idle, name)
		}
	}
	sort.Strings(idle)
	e.t.Logf("lines %d, allowed %d (%.1f %%), timed out %d, programs started %d, paths changed %d, violations %d, took %s (%.0f lines/s)",
		e.lines, e.allowed, 100*float64(e.allowed)/float64(e.lines), e.timeouts, e.started, e.changed, e.violations,
		took.Round(time.Second), float64(e.lines)/took.Seconds())
	e.t.Logf("real programs that ran: %d of %d; never: %s", len(e.box.Real)-len(idle), len(e.box.Real), strings.Join(idle, " "))
	if e.allowed*100 < e.lines*leastAllowed {
		e.t.Errorf("only %d of %d lines were allowed, want %d %%: the test shows little", e.allowed, e.lines, leastAllowed)
	}
	if e.lines >= 1000 && len(e.box.Real)-len(idle) < 40 {
		e.t.Errorf("only %d real programs ran", len(e.box.Real)-len(idle))
	}
}

// decide asks the engine.
func decide(t *testing.T, spec *policy.Spec, line string, env permission.Env) permission.Decision {
	t.Helper()
	compiled, session, _, err := spec.Compile(place)
	if err != nil {
		t.Fatalf("line %s: policy: %v", line, err)
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		t.Fatal(err)
	}
	return permission.Evaluate(compiled, session, &permission.ToolUse{Tool: "Bash", Input: input, Dir: work}, env, nil)
}

func show(p *rules) string {
	out := p.mode
	for _, r := range p.allow {
		out += ", " + r.String()
	}
	for _, name := range p.denied {
		out += ", deny " + name
	}
	return out
}

func names(files []effectbox.File) string {
	var out []string
	for _, f := range files {
		out = append(out, fmt.Sprintf("%q", strings.TrimPrefix(f.Path, work+"/")))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}
