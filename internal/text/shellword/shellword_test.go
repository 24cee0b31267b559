package shellword

import (
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"": "''", "a": "a", "/usr/bin/A_b-1.2+x@y:z,50%": "/usr/bin/A_b-1.2+x@y:z,50%", "--a=b": "--a=b", "a=b": "'a=b'", "=ls": "'=ls'",
		"a b": "'a b'", "it's": `'it'\''s'`, "'": `''\'''`, "~": "'~'", "*": "'*'", "$x": "'$x'", "a\nb": "'a\nb'", "é": "'é'", "^a": "'^a'",
		"{a,b}": "'{a,b}'", "#": "'#'", "!": "'!'", "\\": `'\'`, "\xff": "'\xff'",
	} {
		if got := Quote(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
	if got := Single("a"); got != "'a'" {
		t.Error(got)
	}
	if got := Join([]string{"a", "b c", ""}); got != "a 'b c' ''" || Join(nil) != "" {
		t.Error(got)
	}
}

// FuzzQuote: a shell reads the words back, each as one word.
func FuzzQuote(f *testing.F) {
	for _, word := range []string{"", "a", "a=b", "-a=b", "it's", "$(x)", "a\nb", "~", "if", "'\\''"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if slices.Contains([]byte(word), 0) || slices.Contains([]byte(word), '\r') {
			return // no shell has it in a word
		}
		var words []*syntax.Word
		for _, text := range []string{Quote(word), Single(word)} {
			for w, err := range syntax.NewParser().WordsSeq(strings.NewReader(text)) {
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				words = append(words, w)
			}
		}
		fields, err := expand.Fields(&expand.Config{}, words...)
		if err != nil || !slices.Equal(fields, []string{word, word}) {
			t.Errorf("%q: read as %q, %v", word, fields, err)
		}
	})
}
