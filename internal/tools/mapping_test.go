package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	table, err := NewTable(map[string]Mapping{
		"x":         {Command: some("cmd", "all[].cmd"), Read: some("a.b", "both"), Write: some("both"), URL: some("u"), Directory: "cwd", Name: "n", Text: some("t"), Remote: some("r"), Dialect: "sh"},
		"mcp__s__x": {Read: some("p"), Directory: "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool, input string
		want        Uses
	}{
		{"x", `{}`, Uses{}},
		{"x", `{"cmd":"ls","cwd":"/d","n":"name"}`, Uses{List: []Use{{Does: Command, Field: "cmd", Text: "ls"}}, Dir: "/d", Name: "name"}},
		{"x", `{"all":[{"cmd":"a"},{"cmd":"b","c":1}]}`, Uses{List: []Use{{Does: Command, Field: "all[0].cmd", Text: "a"}, {Field: "all[1].c"}, {Does: Command, Field: "all[1].cmd", Text: "b"}}}},
		{"x", `{"a":{"b":"p"}}`, Uses{List: []Use{{Does: Read, Field: "a.b", Text: "p"}}}},
		{"x", `{"a.b":"p"}`, Uses{List: []Use{{Field: "a.b"}}}},
		{"x", `{"a":"p"}`, Uses{List: []Use{{Field: "a"}}}},
		{"x", `{"a":{"b":["p"]}}`, Uses{List: []Use{{Field: "a.b"}}}},
		{"x", `{"both":"p"}`, Uses{List: []Use{{Does: Read, Field: "both", Text: "p"}, {Does: Write, Field: "both", Text: "p"}}}},
		{"x", `{"u":"https://a"}`, Uses{List: []Use{{Does: Fetch, Field: "u", Text: "https://a"}}}},
		{"x", `{"u":"a.example"}`, Uses{List: []Use{{Field: "u"}}}},
		{"x", `{"t":{"cmd":"x"},"r":["/x"]}`, Uses{}},
		{"x", `{"T":"x"}`, Uses{List: []Use{{Field: "T"}}}},
		{"x", `{"cwd":5}`, Uses{List: []Use{{Field: "cwd"}}}},
		{"mcp__s__x", `{"p":"a","d":""}`, Uses{List: []Use{{Does: Read, Field: "p", Text: "a"}}, Unplaced: true}},
		{"mcp__s__x", `{"p":"a","d":"src"}`, Uses{List: []Use{{Does: Read, Field: "p", Text: "a"}}, Dir: "src", Unplaced: true}},
		{"mcp__s__x", `{"p":"a","d":"/w"}`, Uses{List: []Use{{Does: Read, Field: "p", Text: "a"}}, Dir: "/w"}},
		{"mcp__s__x", `{"p":"a"}`, Uses{List: []Use{{Does: Read, Field: "p", Text: "a"}}, Unplaced: true}},
	} {
		var input map[string]any
		if err := json.Unmarshal([]byte(test.input), &input); err != nil {
			t.Fatal(err)
		}
		if test.tool == "x" {
			test.want.Dialect = "sh"
		}
		if got, ok := table.Read(test.tool, input); !ok || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s %s: %+v, want %+v", test.tool, test.input, got, test.want)
		}
	}
	if _, ok := table.Read("y", nil); ok || table.Has("y") || !table.Has("x") || (*Table)(nil).Has("x") {
		t.Error("tools without a mapping are not read")
	}
}

// TestServers checks that the ready tables are valid, whatever the server's
// name.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, name := range Servers() {
		m, ok := Server(name)
		if _, err := NewTable(m); err != nil || !ok || len(m) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead checks that no value of an input is overlooked: each is used, or
// below a field that is declared to mean nothing.
func FuzzRead(f *testing.F) {
	for _, input := range []string{`{"cmd":"ls"}`, `{"a":{"b":["c",{"d":null}]},"t":{"x":1}}`, `{"":[],"a.b":{}}`, `{"cmd":[["x"]]}`} {
		f.Add(input)
	}
	table, err := NewTable(map[string]Mapping{"x": {Command: some("cmd", "a[].b"), Read: some("a.b"), Text: some("t", "a.c")}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var input map[string]any
		if json.Unmarshal([]byte(text), &input) != nil {
			return
		}
		uses, _ := table.Read("x", input)
		for _, leaf := range leaves(input, "") {
			if !uses.TooMany && !slices.ContainsFunc(uses.List, func(u Use) bool { return strings.HasPrefix(leaf, u.Field) }) {
				t.Errorf("%s: %s is overlooked: %+v", text, leaf, uses.List)
			}
		}
	})
}

// leaves returns the places of the values other than objects and lists, except
// for those below t and a.c.
func leaves(value any, at string) []string {
	var list []string
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			if next := strings.TrimPrefix(at+"."+key, "."); next != "t" && next != "a.c" {
				list = append(list, leaves(below, next)...)
			}
		}
	case []any:
		for i, below := range v {
			list = append(list, leaves(below, fmt.Sprintf("%s[%d]", at, i))...)
		}
	default:
		return []string{at}
	}
	return list
}
