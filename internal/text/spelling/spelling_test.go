package spelling

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	names := []string{"allow", "ask", "deny", "mode", "not_match", "programs", "risk_overrides", "rules", "tools", "x", ""}
	for word, want := range map[string]string{
		"alow": "allow", "Allow": "allow", "tool": "tools", "dney": "deny", "denny": "deny", "asks": "ask",
		"not-match": "not_match", "NOT_MATCH": "not_match", "progrmas": "programs", "porgrams": "programs",
		"risk_overide": "risk_overrides", "X": "x",
		"sk": "", "dny2": "", "programmatic": "", "gates": "", "": "", "y": "", strings.Repeat("x", 65): "",
	} {
		if got := Nearest(word, slices.Values(names)); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	for _, order := range [][]string{{"tesa", "tesb"}, {"tesb", "tesa"}} {
		if got := Nearest("tesx", slices.Values(order)); got != "tesa" {
			t.Errorf("of %q: %q, want the first in byte order", order, got)
		}
	}
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}} {
		if got := Edits(tt.a, tt.b); got != tt.want {
			t.Errorf("Edits(%q, %q) = %d", tt.a, tt.b, got)
		}
	}
}
