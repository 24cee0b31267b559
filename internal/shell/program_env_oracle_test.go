//go:build oracle && linux

package shell

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

var shownLines = flag.Int("shown", 1500, "command lines that may show variables, for each shell")

// TestShellsShowNothingUnseen checks that a line is marked, or cannot be read, if a
// builtin of a real shell, env or printenv prints the value of an unlisted variable.
// The lines only print.
func TestShellsShowNothingUnseen(t *testing.T) {
	for _, o := range []oracle{
		{[]string{"/bin/bash", "--norc", "-c"}, Bash}, {[]string{"/bin/dash", "-c"}, Sh}, {[]string{"/bin/zsh", "-f", "-c"}, Zsh},
	} {
		t.Run(o.argv[0], func(t *testing.T) {
			if *seed == 0 {
				*seed = uint64(time.Now().UnixNano())
			}
			g, shown, unread := newGenerator(*seed, o.dialect, nil, nil), 0, 0
			dir, lines := t.TempDir(), 0
			// How many lines print anything is chance: it goes on until enough of them do.
			for ; lines < *shownLines || shown < *shownLines/20 && lines < 10**shownLines; lines++ {
				line := showingLine(g)
				if !o.shows(t, dir, line) {
					continue
				}
				facts := o.analyze(line)
				switch {
				case marked(facts):
					shown++
				case mayRunAnything(facts):
					unread++
				default:
					t.Errorf("seed %d: %q shows a variable, and is not marked", *seed, line)
				}
			}
			t.Logf("seed %d: of %d lines %d show a variable and are marked, %d cannot be read", *seed, lines, shown, unread)
			if shown < *shownLines/20 {
				t.Error("too few lines show a variable: the test shows nothing")
			}
		})
	}
}

func marked(f *Facts) bool {
	for i := range f.Actions {
		if f.Actions[i].Environment {
			return true
		}
	}
	return false
}

// showingLine returns a line with a command that may print variables, and random
// context.
func showingLine(g *generator) string {
	showing := []string{"env", "printenv", "export", "readonly", "set", "local"}
	if g.dialect != Sh { // which has no others
		showing = append(showing, "declare", "typeset", "integer", "float", "compgen")
	}
	line := g.pick(showing...)
	for range g.r.IntN(3) {
		line += " " + g.pick("-p", "-x", "-f", "-F", "-g", "-i", "-a", "-A", "-r", "-n", "-t", "-u", "-l", "-I", "-m", "-e", "-v", "-o", "-0", "+x", "+p", "+i", "+", "-", "--", "-px", "-xr", "-pa", "-xi", "+px")
	}
	for range g.r.IntN(3) {
		line += " " + g.pick("T", "HOME", "T=1", "A=1", "$NONE", `"$NONE"`, "T*", "A")
	}
	around := g.pick("%s", "%s", "%s", "command %s", "builtin %s", "(%s)", "f() { %s; }; f", "%s | cat", "true && %s", "eval '%s'", "env %s", "echo $(%s)", "if %s; then :; fi")
	if strings.Contains(around, "'") && strings.Contains(line, "'") {
		around = "%s"
	}
	return fmt.Sprintf(around, line)
}

// secretValue is a value that no line contains.
const secretValue = "vAlUe-oF-a-sEcReT"

// shows runs a line in which two variables have a recognizable value, and reports
// whether it is printed.
func (o oracle) shows(t *testing.T, dir, line string) bool {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	c := exec.CommandContext(ctx, o.argv[0], append(o.argv[1:len(o.argv):len(o.argv)], line)...)
	c.Dir, c.Env = dir, []string{"T=" + secretValue, "HOME=/nowhere", "PATH=/usr/bin:/bin"}
	out, _ := c.CombinedOutput() // that it fails is no matter
	return bytes.Contains(out, []byte(secretValue))
}
