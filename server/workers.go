package server

import (
	"sync"
	"time"
)

// workers run functions in goroutines that are used again: a new one would grow its
// stack anew for each decision, which costs more than reading a short line.
type workers struct {
	jobs chan func()
	all  sync.WaitGroup
}

// idle is how long a goroutine waits for another function.
const idle = time.Second

func newWorkers() *workers { return &workers{jobs: make(chan func())} }

// run runs a function.
func (w *workers) run(job func()) {
	select {
	case w.jobs <- job:
	default:
		w.all.Go(func() { w.work(job) })
	}
}

func (w *workers) work(job func()) {
	timer := time.NewTimer(idle)
	defer timer.Stop()
	for {
		job()
		timer.Reset(idle)
		select {
		case job = <-w.jobs:
		case <-timer.C:
			return
		}
	}
}
