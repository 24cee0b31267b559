// Command all runs every check of the project. It continues after a failure and
// ends with the line "N passed, N failed, N skipped".
//
//	go run ./internal/test/all [-long] [-fuzztime D] [-seed N] [step ...]
//
// Without arguments it runs all steps, those that mostly wait beside those that
// compute; the output of a step is shown when it ends. Named steps, and all of
// the long form, run one after the other and show their output as it comes. A check that cannot run in this
// environment is skipped with a reason; with CI=true in the environment a skip
// is a failure. With -long it runs the long forms (AW_LONG=1 for the tests) and
// keeps the raw output, with commit and seed, under docs/proof/. The exit code
// is 1 if anything failed.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out io.Writer) int {
	flags := flag.NewFlagSet("testall", flag.ExitOnError)
	long := flags.Bool("long", false, "run the long forms and keep their output under docs/proof/")
	seed := flags.Int64("seed", 0, "seed of generated tests, for a run that can be repeated (default: with CI=true one of the commit, else of the clock)")
	fuzz := flags.Duration("fuzztime", 0, "time for each fuzz target (default 3s, with -long 60s)")
	flags.Parse(args)

	chosen, err := choose(flags.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "testall:", err)
		return 2
	}
	ci := os.Getenv("CI") == "true"
	if *seed == 0 {
		*seed = newSeed(ctx, ci)
	}
	began := time.Now()
	p := &plan{console: out, runner: runner{ctx: ctx, program: &program{}, seed: *seed, long: *long, fuzztime: fuzzTime(*fuzz, *long), Tally: Tally{CI: ci, Verbose: *long}}}
	fmt.Fprintf(out, "seed %d\n", *seed)
	if *long || len(flags.Args()) > 0 {
		p.inOrder(chosen)
	} else {
		p.inLanes(chosen)
	}
	p.runner.program.remove()
	return p.summary(began)
}

// newSeed returns a seed. In CI it comes from the commit, so that a commit that has passed
// passes again, and the next one tries something else.
func newSeed(ctx context.Context, ci bool) int64 {
	if ci {
		head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=7", "HEAD").Output()
		if n, wrong := strconv.ParseInt(strings.TrimSpace(string(head)), 16, 64); err == nil && wrong == nil && n > 0 {
			return n
		}
	}
	return time.Now().UnixNano() % 1_000_000_007
}

func fuzzTime(given time.Duration, long bool) time.Duration {
	switch {
	case given > 0:
		return given
	case long:
		return time.Minute
	}
	return 3 * time.Second
}

// choose returns the named steps in the order of the table, or all steps if
// there are no names.
func choose(names []string) ([]step, error) {
	if len(names) == 0 {
		return steps, nil
	}
	var chosen []step
	for _, s := range steps {
		for i, name := range names {
			if name == s.name {
				chosen = append(chosen, s)
				names = append(names[:i:i], names[i+1:]...)
				break
			}
		}
	}
	if len(names) > 0 {
		return nil, fmt.Errorf("no step %s (there are %s)", strings.Join(names, ", "), stepNames())
	}
	return chosen, nil
}

func stepNames() string {
	var names []string
	for _, s := range steps {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}
