package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Tally counts the results of checks. The zero value is an empty count.
type Tally struct {
	CI                      bool // treat a skip as a failure
	Verbose                 bool // show the output of passing tests
	Passed, Failed, Skipped int
	Failures, Skips         []string // where, and why
}

// Pass counts a check that passed.
func (t *Tally) Pass() { t.Passed++ }

// Fail counts a check that failed.
func (t *Tally) Fail(where string) {
	t.Failed++
	t.Failures = append(t.Failures, where)
}

// Skip counts a check that did not run.
func (t *Tally) Skip(where, why string) {
	if t.CI {
		t.Fail(where + ": skipped, and CI=true: " + why)
		return
	}
	t.Skipped++
	t.Skips = append(t.Skips, where+": "+why)
}

// Add adds what another tally counted.
func (t *Tally) Add(other Tally) {
	t.Passed += other.Passed
	t.Failed += other.Failed
	t.Skipped += other.Skipped
	t.Failures = append(t.Failures, other.Failures...)
	t.Skips = append(t.Skips, other.Skips...)
}

// OK reports whether nothing failed and something ran.
func (t *Tally) OK() bool { return t.Failed == 0 && t.Passed > 0 }

// Print writes the failures, the skips and the summary line.
func (t *Tally) Print(out io.Writer) {
	for _, s := range t.Skips {
		fmt.Fprintln(out, "skipped", s)
	}
	for _, f := range t.Failures {
		fmt.Fprintln(out, "FAILED", f)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build-output lines
}

// reading is the state of one go test -json stream.
type reading struct {
	tally  *Tally
	out    io.Writer
	output map[string][]string // of the tests that are still running
	failed map[string]int      // tests that failed, by package
	passed map[string]int
}

// Read counts the tests of a go test -json stream. It writes a line for each
// package and the output of every test that failed.
func (t *Tally) Read(stream io.Reader, out io.Writer) error {
	r := &reading{t, out, map[string][]string{}, map[string]int{}, map[string]int{}}
	in := bufio.NewReader(stream)
	for {
		line, err := in.ReadString('\n')
		if line != "" {
			r.line(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// line processes one line. Lines that are not events are passed through.
func (r *reading) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil {
		io.WriteString(r.out, line)
		return
	}
	switch {
	case e.Action == "build-output":
		io.WriteString(r.out, e.Output)
	case e.Test == "":
		r.pkg(e)
	default:
		r.test(e)
	}
}

// test processes an event of one test. A parent does not count beside its
// subtests' failures twice: every test that ran counts once.
func (r *reading) test(e event) {
	key := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[key] = append(r.output[key], e.Output)
		if r.tally.Verbose {
			io.WriteString(r.out, e.Output)
		}
	case "pass":
		r.tally.Pass()
		r.passed[e.Package]++
		delete(r.output, key)
	case "skip":
		r.tally.Skip(key, reason(r.output[key]))
		delete(r.output, key)
	case "fail":
		r.tally.Fail(key + said(r.output[key]))
		r.failed[e.Package]++
		r.show(key)
	}
}

// pkg processes an event of a package. A package that failed without a failed
// test (it does not build, or ended early) counts by itself.
func (r *reading) pkg(e event) {
	switch e.Action {
	case "output":
		if loud(e.Output) {
			io.WriteString(r.out, e.Output)
		}
	case "pass":
		fmt.Fprintf(r.out, "ok   %s (%d passed)\n", e.Package, r.passed[e.Package])
	case "fail":
		if r.failed[e.Package] == 0 {
			r.tally.Fail(e.Package)
			for key := range r.output {
				if strings.HasPrefix(key, e.Package+" ") {
					r.show(key)
				}
			}
		}
		fmt.Fprintf(r.out, "FAIL %s (%d passed, %d failed)\n", e.Package, r.passed[e.Package], r.failed[e.Package])
	}
}

func (r *reading) show(key string) {
	if !r.tally.Verbose {
		io.WriteString(r.out, strings.Join(r.output[key], ""))
	}
	delete(r.output, key)
}

// loud reports whether output of a package is worth showing: lines such as
// "ok", "PASS" and "no test files" of the go command are not.
func loud(text string) bool {
	for _, quiet := range []string{"ok  \t", "PASS", "?   \t", "FAIL", "\t", "exit status", "coverage:"} {
		if strings.HasPrefix(text, quiet) {
			return false
		}
	}
	return strings.TrimSpace(text) != ""
}

// said returns what a failed test said, for the end of the whole output, of which others may
// see no more: lines that go test has not made itself, cut, and those in the middle left out.
func said(output []string) string {
	const ends, long = 12, 400
	var lines []string
	for line := range strings.Lines(strings.Join(output, "")) {
		line = strings.TrimRight(line, "\n")
		switch text := strings.TrimSpace(line); {
		case text == "" || strings.HasPrefix(text, "=== ") || strings.HasPrefix(text, "--- "):
		case len(line) > long:
			lines = append(lines, strings.ToValidUTF8(line[:long], "")+" ...")
		default:
			lines = append(lines, line)
		}
	}
	if left := len(lines) - 2*ends; left > 0 {
		lines = slices.Replace(lines, ends, ends+left, fmt.Sprintf("    ... %d lines", left))
	}
	return strings.Join(append([]string{""}, lines...), "\n")
}

// reason returns the message of a skipped test.
func reason(output []string) string {
	for _, text := range output {
		text = strings.TrimSpace(text)
		if text != "" && !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			return text
		}
	}
	return "no reason given"
}
