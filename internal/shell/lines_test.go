package shell

import (
	"os"
	"path"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// wantPrograms is the minimum number of programs with lines.
const wantPrograms = 250

// TestLines checks testdata/lines.txt. For each program it lists lines that a rule
// for the program alone covers (+) and lines that such a rule must not cover (-).
// Three of the latter are refused because of the program's words or, if the program
// is Safe, so that none of its words is refused, because of what surrounds them.
func TestLines(t *testing.T) {
	data, err := os.ReadFile("testdata/lines.txt")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]*lineCount{}
	prog := ""
	for i, line := range strings.Split(string(data), "\n") {
		sign, text, _ := strings.Cut(line, " ")
		switch {
		case line == "" || sign == "#":
		case sign != "+" && sign != "-":
			prog = line
			if program.Lookup(prog) == nil {
				t.Errorf("line %d: the catalogue has no program %q", i+1, prog)
			}
		default:
			why, own := uncovered(Analyze(text, Options{Dir: "/home/dev/proj", Home: "/home/dev", Workspace: "/home/dev/proj"}), prog)
			if sign == "+" && why != "" {
				t.Errorf("line %d: %s\n\tis not covered: %s", i+1, text, why)
			}
			if sign == "-" && why == "" {
				t.Errorf("line %d: %s\n\tis covered", i+1, text)
			}
			if counts[prog] == nil {
				counts[prog] = &lineCount{}
			}
			counts[prog].note(sign, own)
		}
	}
	checkCounts(t, counts)
}

// lineCount counts the lines of a program.
type lineCount struct {
	passing, refused int
	own              int // refused for what the entry says
}

func (c *lineCount) note(sign string, own bool) {
	switch {
	case sign == "+":
		c.passing++
	case own:
		c.own++
		c.refused++
	default:
		c.refused++
	}
}

// checkCounts requires three lines of both kinds for each program, and enough
// programs. Programs that always run or write something unknown have no passing lines
// and do not count.
func checkCounts(t *testing.T, counts map[string]*lineCount) {
	t.Helper()
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	sort.Strings(names)
	full := 0
	for _, name := range names {
		c, p := counts[name], program.Lookup(name)
		if c.passing == 0 && slices.Contains([]string{"fc", "ftp", "javac", "sftp", "source"}, name) {
			continue
		}
		full++
		if c.passing < 3 || c.refused < 3 {
			t.Errorf("%s has %d passing and %d refused lines, want 3 of each", name, c.passing, c.refused)
		}
		if p != nil && !p.Safe && c.own < 3 {
			t.Errorf("%s has %d lines that its entry refuses, want 3", name, c.own)
		}
	}
	if full < wantPrograms {
		t.Errorf("%d programs have lines, want %d", full, wantPrograms)
	}
}

// uncovered returns why a rule for the first command of a line alone does not cover
// the line, and whether the words of the program are the reason.
func uncovered(f *Facts, prog string) (string, bool) {
	commands := 0
	for i := range f.Actions {
		a := &f.Actions[i]
		why := ""
		switch a.Kind {
		case Opaque:
			why = "opaque: " + a.Why.String()
		case Command:
			if a.Need != NeedNone {
				commands++
			}
			switch {
			case a.Unproven():
				why = a.Why.String()
			case a.Reach > 0:
				why = "a rule must name the subcommand"
			case commands > 1:
				why = "runs " + show(&a.Words[0])
			}
		case Read, Write:
			if a.Need == NeedCover || a.Need == NeedOutside && !insideProject(&a.Path) {
				why = a.Reason + ": " + show(&a.Path)
			}
		}
		if why != "" {
			return why, comesOf(f, i, prog)
		}
	}
	return "", false
}

// comesOf reports whether an action is a command of the program, or derived from its
// words.
func comesOf(f *Facts, i int, prog string) bool {
	for ; i >= 0; i = f.Actions[i].Parent {
		a := &f.Actions[i]
		if a.Substitution && a.Kind == Command {
			return false
		}
		if a.Kind == Command && len(a.Words) > 0 && program.Lookup(path.Base(a.Words[0].Text)) == program.Lookup(prog) {
			return true
		}
	}
	return false
}

func insideProject(w *Word) bool {
	text := w.Text
	if len(w.Holes) > 0 {
		text = text[:w.Holes[0].At]
	}
	return strings.HasPrefix(path.Clean(text)+"/", "/home/dev/proj/")
}
