package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// progress reports on gates while they run: their start, their output, on a
// terminal the elapsed time, and how they ended.
type progress struct {
	out   io.Writer     // receives whole lines
	every time.Duration // interval of reports of the elapsed time; 0 for none
	ends  func()        // stops the reports about the running gate
	lines *prefixed     // the running gate's output
}

// shortReason is the length in bytes of a reason that is told when a gate ends. The results,
// which come next, have longer ones.
const shortReason = 60

// elapsed is the interval of reports of the elapsed time on a terminal.
const elapsed = 5 * time.Second

// Begins reports that a gate starts.
func (p *progress) Begins(item, gate string) {
	name := gateName(item, gate)
	fmt.Fprintf(p.out, "%s: started\n", name)
	if p.every == 0 {
		return
	}
	stop := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { p.tell(name, stop) })
	p.ends = func() { close(stop); told.Wait() }
}

func (p *progress) tell(name string, stop <-chan struct{}) {
	begun := time.Now()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			fmt.Fprintf(p.out, "%s: still running after %v\n", name, time.Since(begun).Round(time.Second))
		}
	}
}

// Ends reports the result of a gate.
func (p *progress) Ends(r *gates.Result) {
	if p.ends != nil {
		p.ends()
		p.ends = nil
	}
	if p.lines != nil {
		p.lines.flush()
		p.lines = nil
	}
	text := string(r.Status)
	if r.Took > 0 {
		text += fmt.Sprintf(" after %v", time.Duration(r.Took)*time.Millisecond)
	}
	if r.Failure != "" {
		why := string(r.Failure)
		if len(r.Reason) <= shortReason {
			why += ": " + r.Reason
		}
		text += " (" + why + ")"
	}
	fmt.Fprintf(p.out, "%s: %s\n", gateName(r.Item, r.Gate), visible.Line(text))
	for _, a := range r.Artifacts {
		if !a.Present {
			fmt.Fprintf(p.out, "%s: it left no %s\n", gateName(r.Item, r.Gate), visible.Line(a.Path))
		}
	}
}

// Says reports what a person should know of a gate.
func (p *progress) Says(item, gate, text string) {
	fmt.Fprintf(p.out, "%s: %s\n", gateName(item, gate), visible.Line(text))
}

// output returns the writer for the output of a gate.
func (p *progress) output(item, gate string) io.Writer {
	p.lines = &prefixed{out: p.out, prefix: gateName(item, gate) + " | "}
	return p.lines
}

func gateName(item, gate string) string { return visible.Line(item + "/" + gate) }

// prefixed writes whole lines with a prefix and without control characters.
type prefixed struct {
	mu     sync.Mutex
	out    io.Writer
	prefix string
	rest   []byte
}

// longLine is the length at which a line is broken, in bytes.
const longLine = 16 << 10

// Write writes the lines that p completes.
func (w *prefixed) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rest = append(w.rest, p...)
	for {
		n := bytes.IndexByte(w.rest, '\n')
		if n < 0 && len(w.rest) < longLine {
			return len(p), nil
		}
		if n < 0 || n > longLine {
			n = longLine
		}
		if err := w.line(w.rest[:n]); err != nil {
			return 0, err
		}
		w.rest = bytes.TrimPrefix(w.rest[n:], []byte("\n"))
	}
}

func (w *prefixed) line(text []byte) error {
	text = bytes.ReplaceAll(bytes.TrimSuffix(text, []byte("\r")), []byte("\t"), []byte("    "))
	_, err := fmt.Fprintf(w.out, "%s%s\n", w.prefix, visible.Line(string(text)))
	return err
}

// flush writes an incomplete last line.
func (w *prefixed) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) > 0 {
		_ = w.line(w.rest) // the gate is over, and its end is reported anyway
		w.rest = nil
	}
}
