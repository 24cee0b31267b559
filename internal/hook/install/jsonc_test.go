package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// writer draws JSON as people write it: with comments, trailing commas and blanks of all
// kinds.
type writer struct {
	*rapid.T
	dialect
	n int
}

// gap draws blanks and comments; where must says so, no line comment.
func (w *writer) gap(label string) string {
	kinds := []string{"", "", " ", "\n", "\n  ", "\n\t\t", "\r\n "}
	if w.comments {
		w.n++
		kinds = append(kinds, fmt.Sprintf(" /* c%d {[\"// */ ", w.n), fmt.Sprintf(" // c%d ]}\", /*\n", w.n), fmt.Sprintf("\n  // c%d\n  ", w.n))
	}
	return rapid.SampledFrom(kinds).Draw(w.T, label)
}

// scalar draws a text, a number or a word.
func (w *writer) scalar() string {
	return rapid.SampledFrom([]string{`"a // b"`, `"/* \" */"`, `1.50e+3`, `true`, `null`, `"\u00e9 ü"`, `""`, `-0`}).Draw(w.T, "scalar")
}

// value draws a value of at most some depth.
func (w *writer) value(depth int) string {
	switch rapid.IntRange(0, 3).Draw(w.T, "kind") {
	case 0:
		if depth > 0 {
			return w.list("{", "}", func(i int) string { return fmt.Sprintf(`"k%d"%s:%s%s`, i, w.gap("a"), w.gap("b"), w.value(depth-1)) })
		}
	case 1:
		if depth > 0 {
			return w.list("[", "]", func(int) string { return w.value(depth - 1) })
		}
	}
	return w.scalar()
}

// list draws an object or array.
func (w *writer) list(open, end string, item func(i int) string) string {
	var items []string
	for i := range rapid.IntRange(0, 3).Draw(w.T, "items") {
		items = append(items, w.gap("before")+item(i)+w.gap("after"))
	}
	return w.join(open, end, items)
}

func (w *writer) join(open, end string, items []string) string {
	if len(items) == 0 {
		return open + end
	}
	last := ""
	if w.trailingCommas && rapid.Bool().Draw(w.T, "comma") {
		last = "," + w.gap("last")
	}
	return open + strings.Join(items, ",") + last + end
}

// handler draws a hook of somebody else.
func (w *writer) handler() string {
	return fmt.Sprintf(`{%s"type":"command",%s"command":%s"/opt/other hook %d"}`, w.gap("h"), w.gap("i"), w.gap("j"), w.n)
}

// config draws a configuration, with hooks of others for events with names.
func (w *writer) config(events ...string) string {
	var items []string
	add := func(name, value string) {
		items = append(items, w.gap("g")+`"`+name+`"`+w.gap("n")+":"+w.gap("v")+value+w.gap("e"))
	}
	for i := range rapid.IntRange(0, 2).Draw(w.T, "before") {
		add(fmt.Sprintf("b%d", i), w.value(2))
	}
	if rapid.Bool().Draw(w.T, "hooks") {
		add("hooks", w.hooks(events))
	}
	if rapid.Bool().Draw(w.T, "config") {
		add("hooksConfig", `{`+w.gap("x")+`"enabled":`+rapid.SampledFrom([]string{"true", "false"}).Draw(w.T, "enabled")+w.gap("y")+`}`)
	}
	for i := range rapid.IntRange(0, 2).Draw(w.T, "behind") {
		add(fmt.Sprintf("z%d", i), w.value(2))
	}
	return w.gap("head") + w.join("{", "}", items) + w.gap("tail")
}

func (w *writer) hooks(events []string) string {
	var items []string
	for _, name := range events {
		if !rapid.Bool().Draw(w.T, name) {
			continue
		}
		groups := w.list("[", "]", func(int) string {
			return `{` + w.gap("m") + `"matcher":"*",` + w.gap("k") + `"hooks":` + w.list("[", "]", func(int) string { return w.handler() }) + w.gap("l") + `}`
		})
		items = append(items, w.gap("o")+`"`+name+`":`+groups+w.gap("p"))
	}
	return w.join("{", "}", items)
}

// TestForeignIsKept: whatever a configuration looks like, the hook is in it after add,
// add changes nothing the second time, and strip gives back every byte.
func TestForeignIsKept(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		host := rapid.SampledFrom([]string{"claude", "gemini", "qwen", "crush"}).Draw(r, "host")
		m := &Machine{Home: "/h", Binary: testBinary, Getenv: func(string) string { return "" }}
		f := editorOf(m, host)
		if rapid.Bool().Draw(r, "lenient") {
			f.dialect = dialect{true, true}
		}
		w := &writer{T: r, dialect: f.dialect}
		before := w.config("PreToolUse", "BeforeTool", "Stop")
		once, notes, err := f.add("f", []byte(before))
		if err != nil {
			r.Fatalf("%v\n%s", err, before)
		}
		if found, err := f.binaries("f", once); err != nil || len(found) != len(f.events) || found[0] != testBinary {
			r.Fatalf("the hook is there %d times, %v:\n%s", len(found), err, once)
		}
		if twice, _, err := f.add("f", once); err != nil || string(twice) != string(once) {
			r.Fatalf("the second time: %v\n%s", err, cmp.Diff(string(once), string(twice)))
		}
		keeps(r, f, before, string(once))
		after, err := f.strip("f", once, notes)
		if err != nil || string(after) != before {
			r.Fatalf("%v: before\n%q\nwith\n%s\nafter\n%q", err, before, once, after)
		}
	})
}

// editorOf returns the editor of a host's first file.
func editorOf(m *Machine, name string) *jsonHooks {
	for _, h := range hosts() {
		if h.name == name {
			return h.files(m, User, Options{})[0].editor.(*jsonHooks)
		}
	}
	return nil
}

// keeps tests that all of a text stands in another in its order, but for a value that
// switches hooks off.
func keeps(r *rapid.T, f *jsonHooks, before, after string) {
	if f.host == "gemini" {
		before = strings.Replace(before, `"enabled":false`, `"enabled":`, 1)
	}
	at := 0
	for i := range len(before) {
		n := strings.IndexByte(after[at:], before[i])
		if n < 0 {
			r.Fatalf("%q is lost from\n%s\nin\n%s", before[i:], before, after)
		}
		at += n + 1
	}
}

// TestRemoveKeepsComments: a comment that ends with its line takes in nothing.
func TestRemoveKeepsComments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		before string
		n      int
		want   string
	}{
		{"[1, // one\n 2]", 1, "[1 // one\n]"},
		{"[ // none\n 2 ]", 0, "[ // none\n]"},
		{"[1, /* x */ 2, 3]", 1, "[1, /* x */ 3]"},
		{"[1, 2, // two\n]", 1, "[1, // two\n]"},
		{"[1]", 0, "[]"},
		{"[ 1, 2 ]", 0, "[ 2 ]"},
		{"[ 1, 2 ]", 1, "[ 1 ]"},
		{"[1 /* x */]", 0, "[ /* x */]"},
	} {
		d := &document{name: "f", text: []byte(tt.before)}
		if err := d.parse(); err != nil {
			t.Fatal(err)
		}
		if err := d.remove(&d.root, tt.n); err != nil || string(d.text) != tt.want {
			t.Errorf("%s: %q, %v, want %q", tt.before, d.text, err, tt.want)
		}
	}
}

// FuzzAdd: no text makes the editor panic, and what it takes it gives back.
func FuzzAdd(f *testing.F) {
	for _, s := range samples(f) {
		f.Add(s.text)
	}
	m := &Machine{Home: "/h", Binary: testBinary, Getenv: func(string) string { return "" }}
	e := editorOf(m, "gemini")
	e.dialect = dialect{true, true}
	f.Fuzz(func(t *testing.T, text string) {
		once, notes, err := e.add("f", []byte(text))
		if err != nil {
			return
		}
		if again, _, err := e.add("f", once); err != nil || string(again) != string(once) {
			t.Fatalf("%v\n%s\n%s", err, once, again)
		}
		if _, err := e.strip("f", once, notes); err != nil {
			t.Fatal(err)
		}
	})
}
