package whitelist

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"", "", true}, {"*", "", true}, {"*", "x y", true}, {"a*", "a", true}, {"a*", "ba", false}, {"*a", "ba", true}, {"*a", "ab", false},
		{"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "axbyc", true}, {"a*b*c", "acb", false}, {"a**c", "abc", true}, {"*b*", "abc", true}, {"*b*", "ac", false}, {"a*b*b", "ab", false}, {"*ab*ab", "xabab", true}, {"*ab*ab", "xab", false},
		{"--experimental-*", "--experimental-", true}, {"--experimental-*", "--experimental", false}, {"?", "a", false}, {"[a]", "a", false},
	} {
		if got := glob(tt.pattern, tt.text); got != tt.want {
			t.Errorf("glob(%q, %q) = %v", tt.pattern, tt.text, got)
		}
	}
}

// TestGlobLaws: a pattern matches every replacement of its stars, and no text
// that lacks one of its parts.
func TestGlobLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[ab]{0,3}`), 1, 4).Draw(t, "parts")
		var text strings.Builder
		for i, p := range parts {
			if i > 0 {
				text.WriteString(rapid.StringMatching(`[abc]{0,3}`).Draw(t, "star"))
			}
			text.WriteString(p)
		}
		if pattern := strings.Join(parts, "*"); !glob(pattern, text.String()) {
			t.Fatalf("%q does not meet %q", pattern, text.String())
		}
		if pattern := strings.Join(append(parts, "d"), "*"); glob(pattern, text.String()) {
			t.Fatalf("%q meets %q", pattern, text.String())
		}
	})
}

// TestDenies: an entry of deny_args and the words that it forbids.
func TestDenies(t *testing.T) {
	for _, tt := range []struct {
		entry, words string
		want         bool
	}{
		{"-x", "-x", true}, {"-x", "-ax", true}, {"-x", "--x", false}, {"-x", "-y", false}, {"-x", "x", false}, {"-x", "-x=1", true}, {"-x", "-", false}, {"-x", "-=x", false},
		{"--force", "--force", true}, {"--force", "-force", true}, {"--force", "---force", true}, {"--force", "--force=1", true}, {"--force", "--forc", true}, {"--force", "--f", true}, {"--force", "-f", false}, {"--force", "--forced", false}, {"--force", "force", false}, {"--force", "--", false},
		{"--force", "--fo", true}, {"--force", "--for", false}, {"--f*e", "--f", false}, {"--force*", "--force-with-lease", true}, {"--force*", "--fo", true},
		{"x", "x", true}, {"x", "xx", false}, {"x*", "xx", true}, {"*x*", "axb", true}, {"*x*", "--a=bxb", true}, {"/etc/*", "/etc/x", true}, {"/etc/*", "--out=/etc/x", true}, {"/etc/*", "-o/etc/x", true}, {"/etc/*", "-o", false}, {"/etc/*", "--o/etc/x", false},
		{"--out /etc/*", "--out /etc/x", true}, {"--out /etc/*", "--out=/etc/x", true}, {"--out /etc/*", "--out /x", false}, {"--out /etc/*", "--out", false}, {"--out /etc/*", "/etc/x", false}, {"--out /etc/*", "-out /etc/x", true}, {"-o /etc/*", "-o/etc/x", true}, {"-o /etc/*", "-ao /etc/x", true}, {"-o /etc/*", "-o/x", false},
	} {
		arg, why := newArgument(tt.entry)
		if why != "" {
			t.Fatal(tt.entry, why)
		}
		allowed := func(option string) bool { return option == "--for" }
		if got := arg.denies(strings.Fields(tt.words), true, allowed); got != tt.want {
			t.Errorf("%s against %q: %v", tt.entry, tt.words, got)
		}
	}
	arg, _ := newArgument("-x")
	if arg.denies([]string{"-ax"}, false, func(string) bool { return false }) {
		t.Error("-ax is a cluster for a program without them")
	}
}
