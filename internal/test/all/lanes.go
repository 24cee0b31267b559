package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// A lane says what a step runs beside.
type lane int

const (
	alone    lane = iota // before all others: they need what it makes
	computes             // one after the other: each takes all processors, as far as what waits leaves them
	waits                // two at a time, beside what computes: they take as long as other programs or the clock
)

// width is how many steps of a lane run at the same time.
var width = map[lane]int{alone: 1, computes: 1, waits: 2}

// A plan runs steps, each with a runner of its own, and adds up what they count.
type plan struct {
	runner // what each step's is a copy of

	mu      sync.Mutex // guards total and console
	total   Tally
	console io.Writer
}

// inOrder runs one step after the other, and shows their output as it comes.
func (p *plan) inOrder(steps []step) {
	for _, s := range steps {
		r := p.runner
		r.out = p.console
		r.step(s)
		p.total.Add(r.Tally)
	}
}

// inLanes runs the lanes beside each other. The output of a step is shown whole, when it
// ends.
func (p *plan) inLanes(steps []step) {
	queues := map[lane]chan step{}
	for l := range width {
		queues[l] = make(chan step, len(steps))
	}
	for _, s := range steps {
		queues[s.lane] <- s
	}
	for _, q := range queues {
		close(q)
	}
	p.drain(queues[alone])
	var all sync.WaitGroup
	for _, l := range []lane{computes, waits} {
		for range width[l] {
			all.Go(func() { p.drain(queues[l]) })
		}
	}
	all.Wait()
}

// drain runs the steps of a queue one after the other.
func (p *plan) drain(queue <-chan step) {
	for s := range queue {
		var out bytes.Buffer
		r := p.runner
		r.out, r.yields = &out, s.lane == computes
		p.say("   %s begins\n", s.name)
		r.step(s)
		p.mu.Lock()
		p.total.Add(r.Tally)
		p.console.Write(out.Bytes())
		p.mu.Unlock()
	}
}

func (p *plan) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.console, format, args...)
}

// summary writes the end of the output and returns the exit code.
func (p *plan) summary(began time.Time) int {
	fmt.Fprintf(p.console, "\nthe whole took %s\n", time.Since(began).Round(time.Second))
	p.total.Print(p.console)
	if !p.total.OK() {
		return 1
	}
	return 0
}
