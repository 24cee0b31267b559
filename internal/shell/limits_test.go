package shell

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNothingIsReadForever checks lines whose parts nest or refer to one another:
// each part may be read only a few times.
func TestNothingIsReadForever(t *testing.T) {
	nested := func(n int, before, inner, after string) string {
		return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
	}
	chain := "x0=1"
	for i := range 200 {
		chain += fmt.Sprintf("; x%d=$((x%d+x%d))", i+1, i, i)
	}
	for name, line := range map[string]string{
		"substitutions":      nested(300, "ls $(", "ls", ")"),
		"pipes":              nested(300, "ls $(", "ls", " | sort)"),
		"names":              nested(300, "cat \"$(git ls-files $(", "ls", "))\""),
		"declarations":       nested(300, "export x=$(", "ls", ")"),
		"defaults":           nested(150, `echo "${x:-$(`, "ls", `)}"`),
		"arithmetic inside":  nested(300, "$((", "1", "+1))"),
		"sums of variables":  chain + "; echo $((x200))",
		"tests":              nested(200, "[[ -v $(", "ls", ") ]]"),
		"numbers in tests":   nested(200, "[[ 1 -eq $(", "ls", ") ]]"),
		"process":            nested(300, "ls <(", "ls", " | sort)"),
		"assigned in itself": nested(300, "x=$(", "ls", "); echo $((x))"),
	} {
		if f := analyze(line); f.Failed != nil || len(f.Actions) == 0 {
			t.Errorf("%s: %d actions, failed: %+v", name, len(f.Actions), f.Failed)
		}
	}
}

// TestStepsAreLimited checks the limit for lines that repeat their parts all the
// same.
func TestStepsAreLimited(t *testing.T) {
	w := newWalker(Options{}, "")
	defer func() {
		if recover() == nil {
			t.Error("there is no limit")
		}
	}()
	for range maxSteps + 1 {
		w.step()
	}
}

// TestTextIsReadOnlySoOften checks that long text that is run as text repeatedly
// becomes opaque.
func TestTextIsReadOnlySoOften(t *testing.T) {
	long := " " + strings.Repeat("a", 60000)
	for evals, want := range map[int]bool{2: false, 6: true} {
		f := Analyze(strings.Repeat("eval ", evals)+"ls"+long, Options{Dir: "/w", Workspace: "/w"})
		if hasOpaque(f, MayRun) != want {
			t.Errorf("%d evals of 60 KB: opaque is %v, want %v", evals, !want, want)
		}
	}
}

// TestHonestLinesAreFarFromLimits checks that no line of the recorded sessions comes near
// a limit beyond which a line is not read.
func TestHonestLinesAreFarFromLimits(t *testing.T) {
	opt := Options{Dir: "/home/dev/src/acme/app", Home: "/home/dev", Workspace: "/home/dev/src/acme/app"}
	parts, steps, possible, lines := 0, 0, 0, 0
	for _, name := range []string{"everyday", "sessions", "real-sessions"} {
		for _, line := range corpusLines(t, "../../testdata/cases/"+name+".jsonl") {
			lines++
			w := newWalker(opt, line)
			w.quick, w.recurse = true, w
			_, _, _ = w.run(line, opt.Dialect, &w.home, -1)
			parts, steps = max(parts, w.parts), max(steps, w.steps)
			w.free()
			f, n, most := Analyze(line, opt), 0, 0
			for i := range f.Actions {
				if !f.Actions[i].mayDoMore() {
					continue
				}
				size := 0
				for _, a := range f.Actions[i].PossibleCommands(opt) {
					size += a.size()
				}
				n, most = n+1, max(most, size)
			}
			possible = max(possible, n*most) // each command has the same share
		}
	}
	t.Logf("%d lines: at most %d parts, %d steps, %d possible parts", lines, parts, steps, possible)
	if lines < 4000 || parts*8 > maxParts || steps*100 > maxSteps || possible*5 > maxPossibleParts {
		t.Errorf("%d lines: %d of %d parts, %d of %d steps, %d of %d possible parts", lines, parts, maxParts, steps, maxSteps, possible, maxPossibleParts)
	}
}

// corpusLines returns the command lines of a corpus.
func corpusLines(t *testing.T, name string) (lines []string) {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<22)
	for sc.Scan() {
		var row struct {
			Command string
			Input   struct{ Command string }
		}
		if err := json.Unmarshal(sc.Bytes(), &row); err == nil && row.Command+row.Input.Command != "" {
			lines = append(lines, row.Command+row.Input.Command)
		}
	}
	if err := sc.Err(); err != nil {
		t.Fatal(err)
	}
	return lines
}

// checkBounds checks that what was read of a line is within the limits.
func checkBounds(t *testing.T, f *Facts, opt Options) {
	parts, possible := 0, 0
	for i := range f.Actions {
		parts += f.Actions[i].size()
		for _, a := range f.Actions[i].PossibleCommands(opt) {
			possible += a.size()
		}
	}
	// The command at which reading ended keeps some words, of any length.
	if cut := maxCut*maxDirs + (maxDirs+2)*MaxLine/partBytes; parts > maxParts+cut {
		t.Fatalf("%d parts", parts)
	}
	if spots := 4 * len(f.Actions); possible > maxPossibleParts+spots {
		t.Fatalf("%d parts of possible commands", possible)
	}
}
