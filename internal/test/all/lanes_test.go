package main

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newPlan(out *strings.Builder) *plan {
	return &plan{console: out, runner: runner{ctx: context.Background(), Tally: Tally{CI: true}}}
}

// TestLanes: what a lane promises of its steps, whatever the others do.
func TestLanes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var running, most [waits + 1]int
		together := map[[2]lane]bool{} // lanes of which one was seen in the middle of a step of the other
		count := func(l lane, by int) {
			mu.Lock()
			defer mu.Unlock()
			running[l] += by
			most[l] = max(most[l], running[l])
		}
		look := func(l lane) {
			mu.Lock()
			defer mu.Unlock()
			for other := range running {
				if lane(other) != l && running[other] > 0 {
					together[[2]lane{l, lane(other)}] = true
				}
			}
		}
		busy := func(l lane, took time.Duration) func(*runner) {
			return func(r *runner) {
				count(l, 1)
				r.printf("the first half, ")
				time.Sleep(took / 2)
				look(l)
				time.Sleep(took / 2)
				r.printf("the second half\n")
				count(l, -1)
				r.Pass()
			}
		}
		var out strings.Builder
		p := newPlan(&out)
		p.inLanes([]step{
			{"w1", waits, busy(waits, 3*time.Second)}, {"c1", computes, busy(computes, time.Second)}, {"first", alone, busy(alone, time.Second)},
			{"c2", computes, busy(computes, 2*time.Second)}, {"w2", waits, busy(waits, time.Second)}, {"w3", waits, busy(waits, time.Second)},
		})
		if most != [...]int{alone: 1, computes: 1, waits: 2} {
			t.Errorf("at most %v at the same time", most)
		}
		for pair, want := range map[[2]lane]bool{{computes, waits}: true, {waits, computes}: true, {alone, computes}: false, {computes, alone}: false, {alone, waits}: false, {waits, alone}: false} {
			if together[pair] != want {
				t.Errorf("lanes %v at the same time: %v", pair, !want)
			}
		}
		if n := strings.Count(out.String(), "the first half, the second half\n"); n != 6 {
			t.Errorf("%d outputs are whole:\n%s", n, out.String())
		}
		if p.total.Passed != 6 || p.summary(time.Now()) != 0 {
			t.Errorf("%+v", p.total)
		}
	})
}

// TestFailureInALane: what fails or is skipped beside others is in the summary, whichever
// lane it was in, and what one step is given no other has.
func TestFailureInALane(t *testing.T) {
	for _, l := range []lane{alone, computes, waits} {
		var out strings.Builder
		p := newPlan(&out)
		p.inLanes([]step{
			{"good", computes, func(r *runner) { r.Pass(); r.Verbose = true; r.env = append(r.env, "A=B") }},
			{"bad", l, func(r *runner) { r.Fail("x"); r.Skip("y", "z") }},
			{"clean", l, func(r *runner) {
				if r.Failed > 0 || r.Verbose || len(r.env) > 0 {
					t.Errorf("%+v", r)
				}
			}},
		})
		want := []string{"x", "y: skipped, and CI=true: z"}
		if d := cmp.Diff(want, p.total.Failures); d != "" || p.total.Passed != 1 || p.summary(time.Now()) != 1 || !strings.Contains(out.String(), "FAILED x\n") {
			t.Errorf("lane %v: %s\n%s", l, d, out.String())
		}
	}
}

// TestInterrupted: a step that did not begin has failed, in each lane.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out strings.Builder
	p := &plan{console: &out, runner: runner{ctx: ctx}}
	never := func(*runner) { t.Error("it began") }
	p.inLanes([]step{{"a", alone, never}, {"b", computes, never}, {"c", waits, never}})
	if p.total.Failed != 3 {
		t.Errorf("%+v", p.total)
	}
}

// TestEachStepHasALane: install is what all others need.
func TestEachStepHasALane(t *testing.T) {
	for _, s := range steps {
		if (s.lane == alone) != (s.name == "install") {
			t.Errorf("%s is in lane %d", s.name, s.lane)
		}
	}
}
