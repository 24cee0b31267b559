package main

import (
	"strings"
	"testing"
)

// TestRowsOf checks that a case is decided under its own policy and under the
// common ones, a generated row only under its own, and that other lines are
// left out.
func TestRowsOf(t *testing.T) {
	for line, want := range map[string]string{
		`{"id":"a","tool":"Bash","input":{"command":"ls"},"policy":{"allow":["Bash"]}}`: "own none bare narrow edits",
		`{"id":"a","command":"ls"}`: "none bare narrow edits",
		`{"id":"generated 7","tool":"Bash","input":{"command":"ls"},"policy":{"allow":["Bash"]}}`: "own",
		`{"id":"a","tool":"Bash","input":"ls"}`:                                                   "",
		`{"id":"a"}`:                                                                              "",
		`not JSON`:                                                                                "",
	} {
		var got []string
		for _, r := range rowsOf("f:1", []byte(line)) {
			got = append(got, strings.TrimPrefix(r.ID, "f:1 "))
			if string(r.Input) != `{"command":"ls"}` {
				t.Errorf("%s: input %s", line, r.Input)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// TestLooser checks that a row that allows more is counted, whatever else
// differs.
func TestLooser(t *testing.T) {
	answers := func(words ...string) (all []answer) {
		for _, w := range words {
			all = append(all, answer{Behavior: w, whole: w + "\n"})
		}
		return all
	}
	d := &difference{
		rows: make([]row, 6),
		old:  answers("allow", "ask", "deny", "deny", "ask", "allow"),
		now:  answers("allow", "allow", "ask", "allow", "deny", "ask"),
	}
	var out strings.Builder
	if n := d.write(&out, nil); n != 3 || strings.Count(out.String(), "LOOSER: ") != 3 || strings.Count(out.String(), "stricter: ") != 2 || !strings.Contains(out.String(), "deny -> allow  1") {
		t.Errorf("%d looser:\n%s", n, out.String())
	}
}
