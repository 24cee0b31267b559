package shell

import (
	"os"
	"path"
	"sort"
	"strings"
	"testing"
)

// TestLines reads testdata/lines.txt: for each program, lines that a rule for
// the program alone covers (+) and lines that it must not cover (-).
func TestLines(t *testing.T) {
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	passing, refused := map[string]int{}, map[string]int{}
	program := ""
	for i, line := range strings.Split(string(data), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		switch {
		case line == "" || sign == "#":
		case sign != "+" && sign != "-":
			program = line
			if builtin(program) == nil {
				t.Errorf("line %d: the catalogue has no program %q", i+1, program)
			}
		default:
			why := uncovered(Analyze(text, Options{Dir: "/home/dev/proj", Home: "/home/dev"}))
			if sign == "+" && why != "" {
				t.Errorf("line %d: %s\n\tis not covered: %s", i+1, text, why)
			}
			if sign == "-" && why == "" {
				t.Errorf("line %d: %s\n\tis covered", i+1, text)
			}
			if sign == "+" {
				passing[program]++
			} else {
				refused[program]++
			}
		}
	}
	checkCounts(t, passing, refused)
}

// checkCounts wants three lines of both kinds for each program; one with
// nothing to refuse is Safe.
func checkCounts(t *testing.T, passing, refused map[string]int) {
	t.Helper()
	var names []string
	for name := range passing {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		p := builtin(name)
		if passing[name] < 3 || refused[name] < 3 && p != nil && !p.Safe {
			t.Errorf("%s has %d passing and %d refused lines, want 3 of each", name, passing[name], refused[name])
		}
	}
}

// uncovered returns why a rule for the first command of a line, and nothing
// else, does not cover the line.
func uncovered(f *Facts) string {
	commands := 0
	for i := range f.Actions {
		a := &f.Actions[i]
		switch a.Kind {
		case Opaque:
			return "opaque: " + a.Reason
		case Command:
			if a.Unproven != "" {
				return a.Unproven
			}
			if a.Reach > 0 {
				return "a rule must name the subcommand"
			}
			if a.Need != NeedNone {
				commands++
			}
		case Read, Write:
			if a.Need == NeedCover || a.Need == NeedOutside && !insideProject(&a.Path) {
				return a.Reason + ": " + show(&a.Path)
			}
		}
		if commands > 1 {
			return "runs " + show(&a.Words[0])
		}
	}
	return ""
}

func insideProject(w *Word) bool {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:w.Holes[0].At]
	}
	return strings.HasPrefix(path.Clean(text)+"/", "/home/dev/proj/")
}
