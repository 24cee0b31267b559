package ask

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// A key that answers nothing decides nothing, and the question says which keys there are.
// What is pasted is one mistake, however many keys are in it. The answers to other
// mistakes are in cmd/agent-wrapper/testdata/mistakes.txt.
func TestMistakenKeys(t *testing.T) {
	var doc strings.Builder
	for _, m := range []struct{ about, keys string }{
		{"A letter that is no key.", "x"},
		{"Enter.", "\r"},
		{"y, as in yes.", "y"},
		{"A blank.", " "},
		{"The arrow up.", "\x1b[A"},
		{"Escape.", "\x1b"},
		{"Tab.", "\t"},
		{"A rung that there is not.", "9"},
		{"A command line, pasted.", "\x1b[200~git push origin main\x1b[201~"},
	} {
		var said string
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(Options{})
			a := p.approve(t.Context(), command("git push origin main"))
			time.Sleep(grace + settle)
			synctest.Wait()
			before := p.sees()
			p.types(m.keys)
			time.Sleep(10 * grace)
			synctest.Wait()
			if a().done {
				t.Errorf("%q answered %+v", m.keys, a().answer)
			}
			said = shown(strings.TrimPrefix(p.sees(), before))
			close(p.board.keys)
		})
		if !strings.Contains(said, "keys") {
			t.Errorf("%q: it does not say which keys there are: %q", m.keys, said)
		}
		fmt.Fprintf(&doc, "%s\n  typed %q\n%s\n", m.about, m.keys, said)
	}
	golden.Check(t, "testdata/mistakes.txt", doc.String())
}

// shown returns the lines of a screen to which text was written: a carriage return begins
// the line anew.
func shown(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		var row []rune
		at := 0
		for _, r := range strings.TrimSuffix(line, "\n") {
			if r == '\r' {
				at = 0
				continue
			}
			if at < len(row) {
				row[at] = r
			} else {
				row = append(row, r)
			}
			at++
		}
		lines = append(lines, strings.TrimRight("  "+string(row), " "))
	}
	return strings.Join(lines, "\n")
}
