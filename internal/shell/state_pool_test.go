package shell

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestWorkspaceAboveDirectory checks that a line in a directory below the workspace may use
// all of the workspace.
func TestWorkspaceAboveDirectory(t *testing.T) {
	opt := Options{Dir: "/p/sub", Workspace: "/p"}
	if a := &Analyze("git -C .. status", opt).Actions[0]; a.Unproven() {
		t.Errorf("git in the workspace: %s", a.Why.String())
	}
	f := Analyze("git apply x.diff", opt)
	if last := &f.Actions[len(f.Actions)-1]; summary(last) != "write /p/…" {
		t.Errorf("git apply: %s", summary(last))
	}
}

// TestPooled checks that facts do not change while other lines are analyzed with the
// same pooled memory, and that lines analyzed concurrently get the facts that they
// get alone.
func TestPooled(t *testing.T) {
	lines := manyLines(t)
	kept, want := make([]*Facts, len(lines)), make([]string, len(lines))
	for i, line := range lines {
		kept[i] = analyze(line)
		want[i] = inFull(kept[i])
	}
	var all sync.WaitGroup
	for g := range 4 {
		all.Go(func() {
			for i := range lines {
				at := (i*(2*g+1) + g*len(lines)/4) % len(lines)
				if got := inFull(analyze(lines[at])); got != want[at] {
					t.Errorf("%q at the same time as others:\n%s\nalone:\n%s", lines[at], got, want[at])
					return
				}
			}
		})
	}
	all.Wait()
	for i, f := range kept {
		if got := inFull(f); got != want[i] {
			t.Fatalf("the facts of %q have become\n%s\nthey were\n%s", lines[i], got, want[i])
		}
	}
}

// manyLines returns the lines of the test data, and those whose facts need the most
// pooled memory.
func manyLines(t *testing.T) []string {
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if sign, text, _ := strings.Cut(strings.TrimSpace(line), " "); sign == "+" || sign == "-" {
			lines = append(lines, text)
		}
	}
	for _, b := range benchLines {
		lines = append(lines, b.line)
	}
	return lines
}

// inFull formats all of the facts except the contents of catalogue entries.
func inFull(f *Facts) string {
	var b strings.Builder
	for _, a := range f.Actions {
		prog := a.Program
		a.Program = nil
		fmt.Fprintf(&b, "%p %#v\n", prog, a)
	}
	return fmt.Sprintf("%q %v %+v\n%s", f.Source, f.Simple, f.Failed, b.String())
}
