package briefing

import (
	"strings"
	"testing"
	"unicode"
)

func TestMentions(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		"@a":                                    "a",
		"see @a/b.go, and\n\t@c.":               "a/b.go,|c.",
		"x@a (@b) \"@c\" a.@d":                  "",
		"@a @a @b":                              "a|b",
		`@"a b" @a\ b @"open`:                   "a b",
		"@~/x @/y @../z":                        "~/x|/y|../z",
		"`@a` @b ``@c`` @d":                     "b|d",
		"` @a":                                  "a",
		"```\n@a\n```\n@b":                      "b",
		"  ```go\n@a\n  ```\n@b":                "b",
		"~~~\n@a\n```\n@b\n~~~\n@c":             "c",
		"```a``` @b\n@c":                        "b|c",
		"````\n```\n@a\n````\n@b":               "b",
		"```\n@never closed":                    "",
		"@":                                     "",
		"@ a":                                   "",
		"@@a":                                   "@a",
		"@é\u00a0@x":                            "é|x",
		"@a\x00b":                               "a",
		"@" + strings.Repeat("x", maxMention+1): "",
		"- @a\n* @b\n> @c":                      "a|b|c",
	} {
		if got := strings.Join(mentions(text), "|"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzMentions: a mention stands in the text behind an @, is no longer than the limit and
// holds no control character; what is in code is none.
func FuzzMentions(f *testing.F) {
	for _, seed := range []string{"@a", "`@a` @b", "```\n@a\n```", `@"a b" @a\ b`, "~~~\n@a", "@a\x00", "\xff@\xff", "@\\ "} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		seen := map[string]bool{}
		for _, path := range mentions(text) {
			if path == "" || len(path) > maxMention || seen[path] || strings.ContainsAny(path, "\r\n\x00") && !strings.Contains(text, `"`) {
				t.Errorf("%q in %q", path, text)
			}
			seen[path] = true
			plain := strings.ToValidUTF8(text, "\ufffd")
			if plain == text && !strings.Contains(text, "@"+path) && !strings.Contains(text, `@"`+path) && !strings.Contains(text, "@"+strings.ReplaceAll(path, " ", `\ `)) && !strings.Contains(path, " ") {
				t.Errorf("%q is not in %q", path, text)
			}
			for _, s := range spellings(path) {
				if s == "" || len(s) > len(path) {
					t.Errorf("%q of %q", s, path)
				}
			}
		}
		indented := "```\n" + strings.ReplaceAll(text, "`", "") + "\n```\n"
		if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && unicode.IsControl(r) }) < 0 && len(mentions(indented)) > 0 {
			t.Errorf("%q has mentions in code", indented)
		}
	})
}
