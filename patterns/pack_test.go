package patterns

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// unpacked returns a set after it was written and read.
func unpacked(t interface{ Fatal(...any) }, s *Set, place Place, list List) *Set {
	got, err := Unpack(s.Pack(), place, list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestPackedSetIsTheSet checks that a packed set answers as the set that was packed: the
// same rule with the same match, whatever else was looked up before.
func TestPackedSetIsTheSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		place := here
		place.Fold = rapid.Bool().Draw(t, "fold")
		list := rapid.SampledFrom([]List{Allow, Ask, Deny}).Draw(t, "list")
		var rules []*Rule
		for i := range rapid.IntRange(0, 4*unindexed).Draw(t, "rules") {
			r := *drawRule(t, list)
			r.source = Source{Name: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "file"), Line: i, Col: 1, Dir: rapid.SampledFrom([]string{"", "/home/u"}).Draw(t, "dir")}
			rules = append(rules, &r)
		}
		set := NewSet(place, rules...)
		read := unpacked(t, set, place, list)
		if read.Len() != set.Len() || read.Reads() != set.Reads() || read.Edits() != set.Edits() || read.Specific() != set.Specific() || read.bounds != set.bounds {
			t.Fatalf("%+v, packed %+v", set, read)
		}
		for range 3 {
			sub := drawSubject(t, place)
			q := Query{Specific: rapid.Bool().Draw(t, "specific"), Reach: rapid.IntRange(0, 2).Draw(t, "reach")}
			fresh := *sub
			want, m := set.Match(sub, q)
			got, n := read.Match(&fresh, q)
			if m != n || (got == nil) != (want == nil) || got != nil && (got.String() != want.String() || got.Source() != want.Source() || got.order != want.order) {
				t.Fatalf("%v by %v, packed %v by %v", m, want, n, got)
			}
			if sub.Kind == ReadPath {
				if a, b := set.Near(sub.Path), read.Near(sub.Path); !slices.EqualFunc(a, b, func(x, y *Rule) bool { return x.String() == y.String() && x.order == y.order }) {
					t.Fatalf("near: %v, packed %v", a, b)
				}
			}
		}
		if fmt.Sprint(read.Rules()) != fmt.Sprint(set.Rules()) {
			t.Fatalf("%v, packed %v", set.Rules(), read.Rules())
		}
	})
}

// TestPackReadsWhatItLooksUp checks that a lookup reads the rules that it may need, of ten
// thousand.
func TestPackReadsWhatItLooksUp(t *testing.T) {
	var rules []*Rule
	for i := range 10_000 {
		r, _, err := Parse(fmt.Sprintf("Bash(t%d:*)", i), Deny, Source{Name: "f", Line: i + 1})
		if err != nil {
			t.Fatal(err)
		}
		rules = append(rules, r)
	}
	read := unpacked(t, NewSet(here, rules...), here, Deny)
	sub := commands("t77 x")[0]
	if r, m := read.Match(sub, Query{}); m != Yes || r.String() != "Bash(t77:*)" || r.Source().Line != 78 {
		t.Errorf("%v by %v", m, r)
	}
	count := 0
	for _, r := range read.rules {
		if r != nil {
			count++
		}
	}
	if count == 0 || count > 3 {
		t.Errorf("%d rules were read", count)
	}
}

// FuzzUnpack checks that damaged packed rules are an error or a panic of ours, which is a
// denial, and that no rule is lost in silence: what opens and answers has the rules that
// were written.
func FuzzUnpack(f *testing.F) {
	var rules []*Rule
	for _, text := range []string{"Bash(rm:*)", "Bash(git push)", "Read(src/**)", "Edit(*.go)", "WebFetch(domain:x.org)", "mcp__a__*", "Bash"} {
		r, _, err := Parse(text, Deny, Source{Name: "f", Line: 1, Col: 2})
		if err != nil {
			f.Fatal(err)
		}
		rules = append(rules, r)
	}
	f.Add(NewSet(here, rules...).Pack())
	f.Add(NewSet(here).Pack())
	f.Add([]byte(packForm))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Unpack(data, here, Deny, nil)
		if err != nil {
			return
		}
		defer func() {
			if r := recover(); r != nil {
				if err, ok := r.(error); !ok || !errors.Is(err, errPacked) {
					panic(r)
				}
			}
		}()
		set.Match(commands("rm -r x")[0], Query{})
		set.Near(NewPath(word("/home/u/x"), here.Workspace, here, same))
		if len(set.Rules()) != set.Len() {
			t.Fatal("rules are missing")
		}
	})
}
