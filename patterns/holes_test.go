package patterns

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// dig replaces a part of a word by a hole.
func dig(t *rapid.T, w shell.Word) shell.Word {
	from := rapid.IntRange(0, len(w.Text)).Draw(t, "from")
	to := rapid.IntRange(from, len(w.Text)).Draw(t, "to")
	hole := shell.Hole{At: from}
	lost := w.Text[from:to]
	switch {
	case lost != "" && strings.Trim(lost, "0123456789") == "" && rapid.Bool().Draw(t, "digits"):
		hole.Kind = shell.Digits
	case lost != "" && !strings.Contains(lost, "/") && !strings.Contains(lost, ".") && rapid.Bool().Draw(t, "glob"):
		hole.Kind = shell.Glob
	}
	split := (hole.Kind == shell.AnyText || hole.Kind == shell.Glob) && rapid.Bool().Draw(t, "splits")
	return shell.Word{Text: w.Text[:from] + w.Text[to:], Holes: []shell.Hole{hole}, Split: split}
}

func drawKnown(t *rapid.T) []shell.Word {
	words := make([]shell.Word, rapid.IntRange(1, 5).Draw(t, "length"))
	for i := range words {
		words[i].Text = rapid.SampledFrom(someWords).Draw(t, "word")
	}
	return words
}

func commandOf(words []shell.Word) *Subject {
	a := &shell.Action{Kind: shell.Command, Words: words}
	if words[0].Known() {
		a.Program = program.Lookup(lastSegment(words[0].Text))
	}
	return &Subject{Kind: RunCommand, Tool: "Bash", Command: a, Line: "v=x; unlike any rule"}
}

// TestUnknownCommandsStayPossible checks that ask and deny rules that match a
// known command still may match when a part of it is unknown, and that an allow
// that holds with a part unknown holds for every command that this may be.
func TestUnknownCommandsStayPossible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		r := drawRuleOf(t, list, func(r *Rule) bool { return r.family == ofLines })
		words := drawKnown(t)
		vague := slices.Clone(words)
		at := rapid.IntRange(0, len(words)-1).Draw(t, "at")
		if rapid.IntRange(0, 3).Draw(t, "many") == 0 {
			to := rapid.IntRange(at, len(words)).Draw(t, "up to")
			if at > 0 || to > at {
				vague = slices.Replace(vague, at, to, shell.Word{Holes: []shell.Hole{{}}, Split: true})
			}
		} else {
			vague[at] = dig(t, vague[at])
		}
		if entry := program.Lookup(lastSegment(words[0].Text)); !vague[0].Known() && entry != nil && len(entry.Also) > 0 {
			return // what an unknown program is also called is not looked up: r? may be rm, which a file r? must be for
		}
		_, known := NewSet(here, r).Match(commandOf(words), Query{})
		_, unknown := NewSet(here, r).Match(commandOf(vague), Query{})
		compareHoles(t, r, list, known, unknown, words, vague)
	})
}

func compareHoles(t *rapid.T, r *Rule, list List, known, unknown Match, a, b any) {
	t.Helper()
	if list == Allow && unknown == Yes && known != Yes {
		t.Fatalf("allow %s proves %+v but not %+v", r, b, a)
	}
	// Only known words are tried as commands of an unknown program.
	if list != Allow && known == Yes && unknown == No {
		t.Fatalf("%v %s is about %+v (%v) but not about %+v", list, r, a, known, b)
	}
}

func TestUnknownPathsStayPossible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		r, _, err := Parse("Read("+rapid.SampledFrom(someGlobs).Draw(t, "glob")+")", list, Source{})
		if err != nil {
			t.Fatal(err)
		}
		place := here
		place.Fold = rapid.Bool().Draw(t, "fold")
		name := rapid.SampledFrom([]string{".env", "src/a.go", "src/b/c.md", "/etc/passwd", "/home/dev/.ssh/id", "../x", "a/b9.go", "a/../b", "x", "src/x7/a.go", "/"}).Draw(t, "name")
		whole := shell.Word{Text: name}
		vague := dig(t, whole)
		match := func(w shell.Word) Match {
			_, m := NewSet(place, r).Match(&Subject{Kind: ReadPath, Tool: "Read", Path: NewPath(w, place.Workspace, place, same)}, Query{})
			return m
		}
		compareHoles(t, r, list, match(whole), match(vague), whole, vague)
	})
}

func TestUnknownURLsStayPossible(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		r, _, err := Parse("WebFetch("+rapid.SampledFrom([]string{"", "*."}).Draw(t, "how")+rapid.SampledFrom(someHosts[:5]).Draw(t, "host")+")", list, Source{})
		if err != nil {
			t.Fatal(err)
		}
		whole := shell.Word{Text: rapid.SampledFrom([]string{"https://", "http://x@", "//", "", "ftp://"}).Draw(t, "scheme") + rapid.SampledFrom(someHosts[:6]).Draw(t, "at") + rapid.SampledFrom([]string{"", "/a", ":80/a", "#x"}).Draw(t, "rest")}
		vague := dig(t, whole)
		match := func(w shell.Word) Match {
			_, m := NewSet(here, r).Match(&Subject{Kind: FetchURL, Tool: "WebFetch", URL: NewURL(w)}, Query{})
			return m
		}
		compareHoles(t, r, list, match(whole), match(vague), whole, vague)
	})
}
