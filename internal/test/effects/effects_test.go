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
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	lines = flag.Int("lines", 300, "command lines to decide, and to run if they are allowed")
	seed  = flag.Uint64("seed", 0, "seed of the generator; 0 takes the time")
)

// With -line the test only shows the effects of that line.
var (
	oneLine = flag.String("line", "", "a command line to look at instead")
	allow   = flag.String("allow", "", "its allow rules, separated by \"; \"; empty: it is run whatever is decided")
	mode    = flag.String("mode", "default", "its permission mode")
)

func TestMain(m *testing.M) {
	effectbox.Main(newAgent)
	os.Exit(m.Run())
}

// leastAllowed is the minimum percentage of lines that must be allowed, since
// an engine that always asks would pass otherwise.
const leastAllowed = 20

// TestEffects decides generated lines under generated policies. It runs those
// that are allowed and checks that whatever they start or change is covered.
func TestEffects(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, %d lines", *seed, *lines)
	tree := world(t)
	if *oneLine != "" {
		look(t, open(t, tree), tree)
		return
	}
	all := make([]*experiment, boxes)
	for i := range all {
		all[i] = &experiment{
			t: t, box: open(t, tree), g: newGenerator(*seed+uint64(i), tree), env: env(tree), links: links(tree),
			lines: (*lines + i) / boxes, ran: map[string]int{}, began: time.Now(),
		}
	}
	var wait sync.WaitGroup
	for _, e := range all {
		wait.Go(e.run)
	}
	wait.Wait()
	for _, e := range all[1:] {
		all[0].add(e)
	}
	all[0].report()
}

// boxes is how many lines run concurrently. The generator of each box has its
// own seed, counted from the given one.
const boxes = 3

func open(t *testing.T, tree []effectbox.File) *effectbox.Box {
	t.Helper()
	box, err := effectbox.Open(effectbox.Config{
		Real: realPrograms, Stubs: stubs, Tree: tree, Dir: work, Home: home, Timeout: 1500 * time.Millisecond,
	}, t.TempDir())
	if errors.Is(err, effectbox.ErrNotRoot) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	if len(box.Real) < fewestReal {
		t.Errorf("only %d programs are real, want %d", len(box.Real), fewestReal)
	}
	return box
}

// look shows the effects of one line.
func look(t *testing.T, box *effectbox.Box, tree []effectbox.File) {
	spec := &policy.Spec{Mode: *mode, Risk: "off"}
	for _, text := range strings.Split(*allow, "; ") {
		if text != "" {
			spec.Allow = append(spec.Allow, policy.Item{Text: text})
		}
	}
	d, err := decide(spec, *oneLine, env(tree))
	if err != nil {
		t.Fatal(err)
	}
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

// experiment holds the state and the counts of one box.
type experiment struct {
	t     *testing.T
	box   *effectbox.Box
	g     *generator
	env   workspace.Fake
	links map[string]string // of the tree
	lines int
	began time.Time

	allowed, timeouts, started, changed, violations int
	ran                                             map[string]int // how often each program ran
}

func (e *experiment) run() {
	for i := range e.lines {
		if err := e.next(); err != nil {
			e.t.Error(err)
			return
		}
		if (i+1)%10_000 == 0 {
			e.t.Logf("%d lines in one box, %d allowed, %d violations, %s", i+1, e.allowed, e.violations, time.Since(e.began).Round(time.Second))
		}
	}
}

// next generates a line, decides it, runs it if it is allowed, and judges its
// effects.
func (e *experiment) next() error {
	line := e.g.line()
	rules := e.g.policy(line)
	d, err := decide(rules.spec(), line, e.env)
	if err != nil || d.Behavior != permission.Allow {
		return err
	}
	e.allowed++
	got, err := e.box.Run(effectbox.Request{Line: line, Extra: e.g.extra, Bare: e.g.in(2)})
	if err != nil {
		return fmt.Errorf("line %q: %w", line, err)
	}
	e.count(got)
	if found := violations(rules, line, got, e.links); len(found) > 0 {
		e.violations++
		if e.violations <= 40 {
			e.t.Errorf("%s\nline: %s\npolicy: %s\nextra: %s", strings.Join(found, "\n"), line, show(rules), names(e.g.extra))
		}
	}
	return nil
}

func (e *experiment) add(o *experiment) {
	e.lines += o.lines
	e.allowed += o.allowed
	e.timeouts += o.timeouts
	e.started += o.started
	e.changed += o.changed
	e.violations += o.violations
	for name, n := range o.ran {
		e.ran[name] += n
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

func (e *experiment) report() {
	took := time.Since(e.began)
	var idle []string
	for _, name := range e.box.Real {
		if e.ran[name] == 0 {
			idle = append(idle, name)
		}
	}
	sort.Strings(idle)
	e.t.Logf("%d programs are real", len(e.box.Real))
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

// decide returns the decision on a line.
func decide(spec *policy.Spec, line string, env permission.Env) (permission.Decision, error) {
	compiled, session, _, err := spec.Compile(place)
	if err != nil {
		return permission.Decision{}, fmt.Errorf("line %s: policy: %w", line, err)
	}
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		return permission.Decision{}, err
	}
	return permission.Evaluate(compiled, session, &permission.ToolUse{Tool: "Bash", Input: input, Dir: work}, env, nil), nil
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
