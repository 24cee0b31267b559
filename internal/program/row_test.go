package program

import (
	"reflect"
	"strings"
	"sync"
	"testing"
)

// TestTableDecodes checks that every row decodes, that each decodes to the same again, and
// that no words of the catalogue are lost on the way.
func TestTableDecodes(t *testing.T) {
	n := 0
	var walk func(rows, beside []row)
	walk = func(rows, beside []row) {
		for i := range rows {
			n++
			p := rows[i].decoded(beside)
			if again := rows[i].decode(beside); !reflect.DeepEqual(p, again) {
				t.Errorf("%s decodes to %v and to %v", rows[i].name, p, again)
			}
			for o := range p.All {
				if len(o.Names) == 0 {
					t.Errorf("%s: an option has no name", p.Name)
				}
			}
			walk(rows[i].subs, rows[i].subs)
		}
	}
	for _, rows := range &programs {
		walk(rows, nil)
	}
	if n < 5000 {
		t.Errorf("only %d rows", n)
	}
}

// TestRowForms checks that a text with a line for each field decodes like one with tabs.
func TestRowForms(t *testing.T) {
	text := "use grep-options\tstyle exact\toperands reads\tskip 2\trisk get a/b;+0;high;drops data;-q\trisk ;;safe;read-only;" +
		"\tsecret user;;-u --user;0;:\tsetting set up;-x;;;valued\talso a b;-c;. d;part\tequal a b;c\tis fetcher;editor" +
		"\tharmless x y;z\tinherit\tspecial sed\t\t-o --output = write Pattern Ends\t: ?"
	text = strings.Replace(text, "use grep-options", "use "+groups[0].name, 1)
	p := (&row{name: "x", text: text}).decode(nil)
	lines := (&row{name: "x", text: "\n" + strings.ReplaceAll(text, "\t", "\n")}).decode(nil)
	if !reflect.DeepEqual(p, lines) {
		t.Errorf("with tabs %v\nwith lines %v", p, lines)
	}
	want := &Program{
		Name: "x", Style: Exact, Operands: Reads, Skip: 2, Shared: [][]Option{shared(groups[0].name)}, Inherit: true, Special: "sed",
		Risk:    []Row{{Subs: "get a/b", With: "+0", Class: High, Cause: "drops data", Free: "-q"}, {Class: Safe, Cause: "read-only"}},
		Secrets: []Secret{{Form: User, Names: []string{"-u", "--user"}, Sign: ":"}}, Settings: []Setting{{Subs: []string{"set", "up"}, Option: "-x", Valued: true}},
		Also: []Alias{{From: []string{"a", "b"}, With: []string{"-c"}, To: []string{".", "d"}, Part: true}}, Equal: [][]string{{"a b", "c"}},
		Facts: Fetcher | Editor, Harmless: []string{"x y", "z"},
		Options: []Option{{Names: []string{"-o", "--output"}, Value: Required, Effect: EffWrite, Pattern: true, Ends: true}, {Names: []string{":"}, Value: Optional}},
	}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("%v\nwant %v", p, want)
	}
}

// TestLookupAllocates checks that a program that has been looked up needs no memory again.
func TestLookupAllocates(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { Lookup("git").Subcommand("log").Option("--oneline"); Lookup("frobnicate") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// TestLookupAtOnce checks that all who look up a program at once get the same one.
func TestLookupAtOnce(t *testing.T) {
	r := &row{name: "x", text: "safe"}
	var all [8]*Program
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { all[i] = r.decoded(nil) })
	}
	wait.Wait()
	for _, p := range all {
		if p != all[0] || !p.Safe {
			t.Fatal("a program was decoded to two")
		}
	}
}
