package mutants

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// trial is a test that may notice mutants.
type trial struct {
	pkg, name string
	took      time.Duration // of the processor
	kills     int
}

// trials are the tests of some packages, compiled with mutants.
type trials struct {
	root, dir string
	mu        sync.Mutex          // for kills
	meet      map[int][]*trial    // by the number of a mutant: the tests that get to it
	all       map[string][]*trial // by package
}

// together is how long tests take that are run by one process.
const together = 150 * time.Millisecond

// prepare compiles the tests of the packages with the mutants of list, and runs each test
// without any mutant to see which ones it gets to. They must pass.
func prepare(ctx context.Context, root, dir string, list []*mutant, skip string, pkgs ...string) (*trials, error) {
	overlay, err := instrument(root, dir, list)
	if err != nil {
		return nil, err
	}
	t := &trials{root: root, dir: dir, meet: map[int][]*trial{}, all: map[string][]*trial{}}
	for _, pkg := range pkgs {
		cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", t.binary(pkg), "./"+pkg)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s does not compile with the mutants: %s", pkg, head(out))
		}
		out, _, err := t.exec(ctx, pkg, time.Minute, nil, "-test.list", "^(Test|Fuzz|Example)", "-test.skip", skip)
		if err != nil {
			return nil, fmt.Errorf("tests of %s: %s", pkg, head(out))
		}
		for name := range strings.FieldsSeq(string(out)) {
			if skip == "" || !regexp.MustCompile(skip).MatchString(name) {
				t.all[pkg] = append(t.all[pkg], &trial{pkg: pkg, name: name})
			}
		}
	}
	return t, t.survey(ctx)
}

// survey runs each test alone.
func (t *trials) survey(ctx context.Context) error {
	all := slices.Concat(slices.Collect(maps.Values(t.all))...)
	errs := make([]error, len(all))
	parallel(len(all), func(i int) {
		c := all[i]
		met := filepath.Join(t.dir, fmt.Sprintf("met_%d", i))
		out, took, err := t.exec(ctx, c.pkg, time.Hour, []string{envMet + "=" + met}, only(c))
		if c.took = took; err != nil {
			errs[i] = fmt.Errorf("%s of %s fails without any mutant: %s", c.name, c.pkg, head(out))
			return
		}
		data, _ := os.ReadFile(met) // there is none if it gets to no mutant
		t.mu.Lock()
		defer t.mu.Unlock()
		for line := range strings.FieldsSeq(string(data)) {
			var n int
			fmt.Sscan(line, &n)
			t.meet[n] = append(t.meet[n], c)
		}
	})
	return cmp.Or(errs...)
}

// kill runs the tests that get to the mutant of this number, and returns the one that
// fails, or "".
func (t *trials) kill(ctx context.Context, n int, m *mutant) string {
	for _, group := range t.groups(t.meet[n], m.pkg) {
		var limit time.Duration
		for _, c := range group {
			limit += c.took
		}
		out, _, err := t.exec(ctx, group[0].pkg, 2*time.Second+10*limit, []string{fmt.Sprintf("%s=%d", envActive, n)}, only(group...), "-test.failfast")
		if err == nil {
			continue
		}
		name := group[0].pkg
		if _, after, ok := bytes.Cut(out, []byte("--- FAIL: ")); ok {
			name, _, _ = strings.Cut(string(after), " ")
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, c := range group {
			if c.name == name || len(group) == 1 {
				c.kills++
			}
		}
		return name
	}
	return ""
}

// groups returns the tests in the order in which they are run: first the short ones, a
// package at a time, then one by one those that kill much for their time.
func (t *trials) groups(tests []*trial, own string) (groups [][]*trial) {
	t.mu.Lock()
	defer t.mu.Unlock()
	short := map[string][]*trial{}
	var long [][]*trial
	for _, c := range tests {
		if c.took < together {
			short[c.pkg] = append(short[c.pkg], c)
		} else {
			long = append(long, []*trial{c})
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(short)) {
		at := len(groups)
		if pkg == own {
			at = 0
		}
		groups = slices.Insert(groups, at, short[pkg])
	}
	cost := func(c *trial) time.Duration { return c.took / time.Duration(1+c.kills) }
	slices.SortStableFunc(long, func(a, b []*trial) int { return cmp.Compare(cost(a[0]), cost(b[0])) })
	return append(groups, long...)
}

func (t *trials) binary(pkg string) string {
	return filepath.Join(t.dir, strings.ReplaceAll(pkg, "/", "_")+".test")
}

// exec runs the tests of a package in its directory. A mutant may compute for ever or ask
// for all memory there is.
func (t *trials) exec(ctx context.Context, pkg string, limit time.Duration, env []string, args ...string) ([]byte, time.Duration, error) {
	script := fmt.Sprintf(`ulimit -t %d && ulimit -v 8000000 && exec "$0" "$@"`, int(limit.Seconds())+1)
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", script, t.binary(pkg), "-test.short", "-test.timeout=10m"}, args...)...)
	cmd.Dir = filepath.Join(t.root, filepath.FromSlash(pkg))
	cmd.Env = append(os.Environ(), "AW_LONG=", "AW_SEED=1")
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return out, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// only is the argument for these tests and no others.
func only(tests ...*trial) string {
	var names []string
	for _, c := range tests {
		names = append(names, c.name)
	}
	return "-test.run=^(" + strings.Join(names, "|") + ")$"
}

// parallel calls f for the numbers below n, on all processors.
func parallel(n int, f func(int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// outcome is what became of some mutants.
type outcome struct {
	killed   map[*mutant]string // with the test that fails
	survived []*mutant          // in the order of the list
}

// try makes the mutants of list one at a time and runs the tests of the packages. It calls
// survives, from several goroutines, with each that no test notices, and the number of
// tests that get to it.
func try(ctx context.Context, root, dir string, list []*mutant, survives func(m *mutant, tests int), skip string, pkgs ...string) (*outcome, error) {
	t, err := prepare(ctx, root, dir, list, skip, pkgs...)
	if err != nil {
		return nil, err
	}
	by := make([]string, len(list))
	parallel(len(list), func(i int) {
		by[i] = t.kill(ctx, i+1, list[i])
		if by[i] == "" {
			survives(list[i], len(t.meet[i+1]))
		}
	})
	o := &outcome{killed: map[*mutant]string{}}
	for i, m := range list {
		if by[i] != "" {
			o.killed[m] = by[i]
		} else {
			o.survived = append(o.survived, m)
		}
	}
	return o, ctx.Err()
}

// readArgued reads a file that has the name of a mutant in a line, and below it, after a
// tab, why no test notices it. Lines that begin with # are comments.
func readArgued(file string) (argued map[string]string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	argued, name := map[string]string{}, ""
	for line := range strings.Lines(string(data)) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "", line[0] == '#':
		case line[0] != '\t':
			name, argued[line] = line, ""
		default:
			argued[name] += line
		}
	}
	return argued, nil
}

// faults returns what is wrong with the outcome: mutants that survived and are not argued,
// and argued ones that a test kills.
func (o *outcome) faults(argued map[string]string) (faults []string) {
	for _, m := range o.survived {
		if strings.TrimSpace(argued[m.String()]) == "" {
			faults = append(faults, "no test notices, and nobody argues: "+m.String())
		}
	}
	for m, test := range o.killed {
		if _, ok := argued[m.String()]; ok {
			faults = append(faults, fmt.Sprintf("is argued, but %s notices it: %s", test, m))
		}
	}
	return faults
}

func head(out []byte) string { return string(out[:min(len(out), 4<<10)]) }
