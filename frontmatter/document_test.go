package frontmatter

import (
	"fmt"
	"strings"
	"testing"
)

// TestDocument: fields of any type, and the text below them.
func TestDocument(t *testing.T) {
	for _, tt := range []struct{ name, text, want, below string }{
		{"no head", "just text\n---\n", "", "just text\n---\n"},
		{"empty", "", "", ""},
		{"empty head", "---\n---\nx\n", "", "x\n"},
		{"fields", "---\nname: a\ntools: [Read, Grep]\nhooks:\n  PreToolUse: []\ndisable-model-invocation: true\nmax: 3\nnone:\n---\n\nbelow\n", "name=a tools=[Read Grep] hooks= disable-model-invocation=true max=3 none=", "\nbelow\n"},
		{"windows", "---\r\nname: a\r\n---\r\nbelow\r\n", "name=a", "below\r\n"},
		{"a mark", "\ufeff---\nname: a\n---\nx", "name=a", "x"},
		{"a colon", "---\nname: a\ndescription: Use it when: \"now\". user: 'x'\\n<example>\n---\nx", `name=a description=Use it when: "now". user: 'x'\n<example>`, "x"},
		{"a star", "---\ntools: *\n---\n", "tools=*", ""},
		{"a tag", "---\nallowed-tools: !Bash\n---\n", "allowed-tools=!Bash", ""},
		{"several lines", "---\ndescription: |\n  one: two\n  three\n---\nx", "description=one: two\nthree\n", "x"},
		{"TOML is text", "+++\nname = \"a\"\n+++\n", "", "+++\nname = \"a\"\n+++\n"},
		{"no end", "---\nname: a\n", "error", ""},
		{"twice", "---\nname: a\nname: b\n---\n", "error", ""},
		{"no mapping", "---\n- a\n---\n", "error", ""},
		{"a long head", "---\nx: " + strings.Repeat("y", maxHead) + "\n---\n", "error", ""},
		{"an alias below", "---\nx:\n  - &a b\n  - *a\n---\n", "error", ""},
	} {
		fields, below, err := Document([]byte(tt.text), "x.md")
		got := told(fields)
		if err != nil {
			got = "error"
			if !strings.HasPrefix(err.Error(), "x.md:") {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
		if got != tt.want || string(below) != tt.below {
			t.Errorf("%s: %q %q, want %q %q (%v)", tt.name, got, below, tt.want, tt.below, err)
		}
	}
}

func told(fields []Field) string {
	var all []string
	for _, f := range fields {
		value := f.Text
		if f.List != nil {
			value = fmt.Sprint(f.List)
		}
		all = append(all, f.Name+"="+value)
	}
	return strings.Join(all, " ")
}

// FuzzDocument: no text makes it panic, the text below is the end of the file, and a
// field has a line of the head.
func FuzzDocument(f *testing.F) {
	for _, seed := range []string{"", "---\n---\n", "---\na: b: c\n---\nx", "---\n\"a\": [1, {b: c}]\n---", "---\nx: *\ny: &a b\n---\n", "\ufeff---\r\na: b\r\n---\r\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fields, below, err := Document(data, "x")
		if err == nil && !strings.HasSuffix(string(data), string(below)) {
			t.Errorf("%q is not the end of %q", below, data)
		}
		for _, field := range fields {
			if field.Line < 2 || field.Line > 1+strings.Count(string(data), "\n") {
				t.Errorf("%+v in %q", field, data)
			}
		}
	})
}
