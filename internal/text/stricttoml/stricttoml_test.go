package stricttoml

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"
)

type rule struct {
	Tools []string `toml:"tools"`
	Match []string `toml:"match"`
	Sub   struct {
		X int `toml:"x"`
	} `toml:"sub"`
}

// level decodes itself from a string.
type level int

func (l *level) UnmarshalText(text []byte) error {
	if string(text) == "bad" {
		return errors.New("no such level")
	}
	*l = level(len(text))
	return nil
}

type common struct {
	Note string `toml:"note"`
}

type file struct {
	common
	Mode  string            `toml:"mode"`
	Deny  []string          `toml:"deny"`
	On    bool              `toml:"on"`
	Count int               `toml:"count"`
	Rules []rule            `toml:"rules"`
	Links map[string]string `toml:"links"`
	Input map[string]any    `toml:"input"`
	Level level             `toml:"level"`
	Zz    *int              `toml:"zZ"`
	//lint:ignore U1000 a field that is not exported is none
	other int      `toml:"other"`
	Not   []string `toml:"not_match"`
	Bare  int
	Skip  int `toml:"-"`
	Sub   struct {
		Deep struct {
			X int `toml:"x"`
		} `toml:"deep"`
	} `toml:"sub"`
}

const good = `# comment with "quote
mode = "plan" # x
deny = [ # y
  "a", 'b\', """
c ]""", '''d'''
]
on = true
count = 1_000
note = "n"
sub.deep.x = 0x10
links = { "a b" = "1", 'A.B' = "2", }

[input]
when = 1979-05-27 07:32:00
list = [[1, 2.5], [{ x = inf }]]
"\u0041" = ""

[[rules]]
tools = []
[[rules]]
match = ["m", "n"]
`

func TestDecode(t *testing.T) {
	var got file
	lines, err := Decode([]byte(good), "f.toml", &got)
	if err != nil {
		t.Fatal(err)
	}
	var want file
	if _, err := toml.Decode(good, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(file{})); diff != "" {
		t.Error(diff)
	}
	places := map[string]string{
		"": "", "mode": `"plan"`, "deny[0]": `"a"`, "deny[1]": `'b\'`, "deny[2]": "\"\"\"\nc ]\"\"\"", "deny[3]": `'''d'''`,
		"on": "true", "count": "1_000", "sub.deep.x": "0x10", `links."a b"`: `"1"`, `links."A.B"`: `"2"`,
		"input.when": "1979-05-27 07:32:00", "input.list[0][1]": "2.5", "input.list[1][0].x": "inf", "input.A": `""`,
		"rules[0]": "[[rules]]\ntools = []", "rules[1]": "[[rules]]\nmatch = [\"m\", \"n\"]", "rules[1].match[1]": `"n"`,
	}
	for path, text := range places {
		p, ok := lines[path]
		if !ok {
			t.Errorf("no place for %s", path)
		} else if got := good[p.Start:p.End]; path != "" && got != text {
			t.Errorf("%s stands at %q, want %q", path, got, text)
		}
	}
	if p := lines["rules[1].match[1]"]; p.Line != 21 || p.Col != 15 {
		t.Errorf("rules[1].match[1] is at %d:%d, want 21:15", p.Line, p.Col)
	}
}

// TestForms: after forms that are hard to scan, the following keys have the
// right position.
func TestForms(t *testing.T) {
	for _, form := range []string{
		"\ufeff", "#\n", "# x = 1 [", "input.a = 1234567890 # 1", "input.a = -123456789", "input.a = 1979-05-27", "input.a = 1979-05-27 # x",
		"input.a = [1979-05-27 07:32:00, 1234567890]", "input.a = 07:32:00", "input.a = 1979-05-27 9:00:00",
		`input.a = """a\""" b"""`, `input.a = """\\"""`, `input.a = '''\\\\'''`, `input.a = """a"""""`, "input.a = '''a'''''",
		`input."a.b=#[\"" = 1`, `input."\e\u00e9\t" = 1`, `input.'a"\' = 1`, `input."" = 1`, "input.a={}", "input.a={b={},}", "input.a=[[],[],]",
		"zZ = 9", "count = 1234567890", "input.A-9_z = 1", "level = 'abc'", "sub.deep.x = 0", "input.a = +1.5e3", "input.a = nan", "\r\n\t \r", "input . a = 1", "[ input . a ]\nb=1\n[sub]",
		"[[rules]]\n[rules.sub]\nx=1\n[[rules]]\nsub.x=2\n[sub]",
	} {
		in := form + "\n[links]\n z = 'END'"
		var v file
		lines, err := Decode([]byte(in), "f", &v)
		if strings.Contains(form, " 9:") {
			if err == nil {
				t.Errorf("%q is accepted", form)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", form, err)
			continue
		}
		if p := lines["links.z"]; p.Line != strings.Count(in, "\n")+1 || p.Col != 6 || in[p.Start:p.End] != "'END'" {
			t.Errorf("%q: links.z is at %+v", form, p)
		}
	}
}

func TestLongestKey(t *testing.T) {
	var v file
	if _, err := Decode([]byte("[links]\n"+strings.Repeat("k", maxKey-len("links.")-1)+"=''"), "f", &v); err != nil {
		t.Error(err)
	}
	if _, err := Decode([]byte("#"+strings.Repeat("x", MaxSize-1)), "f", &v); err != nil {
		t.Error(err)
	}
}

func TestSubtables(t *testing.T) {
	var v file
	lines, err := Decode([]byte("[[rules]]\n[rules.sub]\nx=1\n[[rules]]\n[rules.sub]\nx=2\n"), "f", &v)
	if err != nil || v.Rules[0].Sub.X != 1 || v.Rules[1].Sub.X != 2 || lines["rules[0].sub.x"].Line != 3 || lines["rules[1].sub.x"].Line != 6 {
		t.Error(err, v.Rules, lines)
	}
}

func TestTarget(t *testing.T) {
	n := 0
	for _, v := range []any{nil, file{}, &n} {
		if _, err := Decode([]byte("mode='x'"), "f", v); err == nil {
			t.Errorf("Decode into %T", v)
		}
	}
}

// TestCover: a key that only the library finds is rejected.
func TestCover(t *testing.T) {
	var v file
	md, err := toml.Decode("mode='x'\n[sub.deep]\nx=1", &v)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]bool{"mode": true, "sub": true, "sub\x00deep": true, "sub\x00deep\x00x": true}
	if err := cover("f", &md, all); err != nil {
		t.Error(err)
	}
	delete(all, "sub\x00deep\x00x")
	if err := cover("f", &md, all); err == nil {
		t.Error("a key that was not checked passes")
	}
}

func TestRefused(t *testing.T) {
	long := strings.Repeat("k", maxKey)
	tests := []struct{ name, in, want string }{
		{"unknown key", "\nmodee = 1", `f:2:1: unknown key modee (did you mean mode?)`},
		{"unknown key in array of tables", "[[rules]]\n[[rules]]\nnn = 1", `f:3:1: rules[1]: unknown key nn (the keys are match, sub, tools)`},
		{"unknown table", "[other]\nx=1", `f:1:1: unknown key other (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)`},
		{"all unknown keys", "a = 1\nb = 2", "f:1:1: unknown key a (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)\nf:2:1: unknown key b (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)"},
		{"other case", "MODE = 'x'", `f:1:1: unknown key MODE (did you mean mode?)`},
		{"case twin", "mode = 'x'\nMODE = 'y'", `f:2:1: unknown key MODE (did you mean mode?)`},
		{"case twin of a table", "[[RULES]]", `f:1:1: unknown key RULES (did you mean rules?)`},
		{"Kelvin sign", "lin\u212as = {}", `f:1:4: '\u212a' where = after a key is expected`},
		{"Kelvin sign in quotes", "\"lin\u212as\" = {}", `f:1:1: unknown key "lin\u212as" (did you mean links?)`},
		{"duplicate", "mode = 'x'\nmode = 'y'", `f:2:1: key mode stands twice: remove one`},
		{"duplicates and what else is wrong", "mode = 'x'\nmode = 'y'\nmode = 1\n  nn = 2", "f:2:1: key mode stands twice: remove one\nf:3:1: key mode stands twice: remove one\nf:4:3: unknown key nn (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)"},
		{"duplicate before what cannot be read", "mode = 'x'\nmode = 'y'\n= 1", "f:2:1: key mode stands twice: remove one\nf:3:1: '=' where a key is expected"},
		{"duplicate table", "[links]\n[links]", `f:2:2: Key 'links' has already been defined.`},
		{"value then table", "mode = 'x'\n[mode]", `f:2:1: key mode is a string already`},
		{"value then list", "mode = 'x'\n[[mode]]", `f:2:1: key mode is a string already`},
		{"string for array", "deny = 'x'", `f:1:8: deny: must be an array, not a string (write it in [ ])`},
		{"number for string", "deny = ['x', 1]", `f:1:14: deny[1]: must be a string, not a number`},
		{"string for boolean", "on = 'true'", `f:1:6: on: must be a boolean, not a string`},
		{"date for string", "mode = 1979-05-27", `f:1:8: mode: must be a string, not a date or time`},
		{"table for list", "[rules]", `f:1:1: rules: must be an array, not a table (write [[rules]])`},
		{"list for table", "[[sub]]", `f:1:1: sub: must be a table, not an array (write [sub])`},
		{"list for table of names", "[[input]]", `f:1:1: input: must be a table, not an array (write [input.NAME])`},
		{"no quotes", "mode = plan", `f:1:8: plan is not a value: write text in quotes`},
		{"no quotes in a list", "deny = [Bash(ls)]", `f:1:9: Bash is not a value: write text in quotes`},
		{"boolean of another language", "on = True", `f:1:6: True is not a value: write text in quotes`},
		{"no value", "mode =", `f:1:7: the file ends where a value is expected`},
		{"no equals", "mode 'x'", `f:1:6: '\'' where = after a key is expected`},
		{"two on a line", "on = true on = true", `f:1:11: 'o' where the end of the line is expected`},
		{"open string", "mode = 'x\ny'", `f:1:8: a string without its closing quote: add it`},
		{"open block", "mode = '''x\ny'", `f:1:8: a string without its closing quotes: add them`},
		{"open array", "deny = ['x'", `f:1:12: the file ends where a comma or ] is expected`},
		{"open table", "links = {a='x'", `f:1:15: the file ends where a comma or } is expected`},
		{"open header", "[links", `f:1:7: the file ends where ] is expected`},
		{"half a list header", "[[rules]", `f:1:9: the file ends where ] is expected`},
		{"bad escape", `mode = "\q"`, `f:1:10: 'q' where an escape such as \n is expected (in '…' a backslash is itself)`},
		{"bad UTF-8", "mode = '\xff'", `f:1:9: not valid UTF-8: save the file as UTF-8`},
		{"range", "count = 99999999999999999999", `f:1:9: 99999999999999999999 is out of range for int64`},
		{"nested arrays", "input.x = " + strings.Repeat("[", 40), `f:1:42: nested deeper than 32`},
		{"nested tables", "input" + strings.Repeat(".x", 40) + "=1", `f:1:1: nested deeper than 32`},
		{"nested headers", "[input" + strings.Repeat(".x", 40) + "]", `f:1:2: nested deeper than 32`},
		{"nested inline tables", "input = " + strings.Repeat("{x=", 40), `f:1:103: nested deeper than 32`},
		{"long key", long + "=1", `f:1:1: a key longer than 512 bytes`},
		{"long header and key", "[links." + long[:300] + "]\n" + long[:300] + "=1", `f:2:1: a key longer than 512 bytes`},
		{"key at the limit", "[links]\n" + strings.Repeat("k", maxKey-len("links")-1) + "=''", `f:2:1: a key longer than 512 bytes`},
		{"bad first byte", "\xff", `f:1:1: not valid UTF-8: save the file as UTF-8`},
		{"no key", "= 1", `f:1:1: '=' where a key is expected`},
		{"bad escape in a key", `"a\q" = 1`, `f:1:4: 'q' where an escape such as \n is expected (in '…' a backslash is itself)`},
		{"quote escape in a key", `"a\'" = 1`, `f:1:4: '\'' where an escape such as \n is expected (in '…' a backslash is itself)`},
		{"octal escape in a key", `"a\101" = 1`, `f:1:4: '1' where an escape such as \n is expected (in '…' a backslash is itself)`},
		{"open key", `"a = 1`, `f:1:1: a string without its closing quote: add it`},
		{"duplicate by escape", "mode='a'\n\"m\\u006fde\"='b'", `f:2:1: key mode stands twice: remove one`},
		{"empty key", `"" = 1`, `f:1:1: unknown key "" (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)`},
		{"dash for underscore", "not-match=[]", `f:1:1: unknown key not-match (did you mean not_match?)`},
		{"case twin with an underscore", "Not_Match=[]", `f:1:1: unknown key Not_Match (did you mean not_match?)`},
		{"unexported field", "other=1", `f:1:1: unknown key other (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)`},
		{"field without a tag", "Bare=1", `f:1:1: unknown key Bare (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)`},
		{"field that is left out", "Skip=1", `f:1:1: unknown key Skip (the keys are count, deny, input, level, links, mode, not_match, note, on, rules, sub, zZ)`},
		{"number for text", "level = 3", `f:1:9: level: must be a string, not a number`},
		{"text that the type refuses", "level = 'bad'", `f:1:10: no such level`},
		{"time for number", "count = 07:32:00", `f:1:9: count: must be a number, not a date or time`},
		{"date for number", "count = 1979-05-27", `f:1:9: count: must be a number, not a date or time`},
		{"date and time for number", "count = 1979-05-27 07:32:00", `f:1:9: count: must be a number, not a date or time`},
		{"escape at the end", `mode = "\`, `f:1:8: a string without its closing quote: add it`},
		{"escape at the end of a block", `mode = """\`, `f:1:8: a string without its closing quotes: add them`},
		{"static array, then a table", "rules = []\n[[rules]]", `f:2:3: Key 'rules' was already created and cannot be used as an array.`},
		{"bare carriage return", "on = true\ron = true", `f:1:10: '\r' where the end of the line is expected`},
		{"empty array, then a key in it", "rules = []\n[rules.sub]", `f:2:1: key rules is an array already`},
		{"size", "mode = 'x'\n" + strings.Repeat("#", MaxSize), `f:2:262134: the file is longer than 262144 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var v file
			_, err := Decode([]byte(tt.in), "f", &v)
			if err == nil {
				t.Fatalf("accepted as %+v", v)
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Error(diff)
			}
			var placed *Error
			if !errors.As(err, &placed) {
				t.Errorf("%T is no *Error", err)
			}
		})
	}
}

// TestCaseTwins tests the guard against keys that differ only in case many
// times, since the library's choice between them is random.
func TestCaseTwins(t *testing.T) {
	for i := range 200 {
		for _, in := range []string{"mode='a'\nMODE='d'", "MODE='a'\nmode='d'", "Mode='d'", "[[rules]]\nTools=['x']"} {
			var v file
			if _, err := Decode([]byte(in), "f", &v); err == nil {
				t.Fatalf("run %d: %q accepted as %+v", i, in, v)
			}
		}
	}
}

// TestBounded: texts of the maximum size that are hard on the scanner or the
// library are rejected or decoded in time.
func TestBounded(t *testing.T) {
	fill := func(piece string) string { return strings.Repeat(piece, MaxSize/len(piece)) }
	inputs := map[string]string{
		"arrays":        "input = {x = " + fill("[")[:MaxSize-20],
		"dotted":        fill("a."),
		"headers":       fill("[[rules]]\n"),
		"deep headers":  fill("[input.a.b.c.d.e.f.g.h.i.j.k.l.m.n]\n"),
		"many keys":     "[input." + strings.Repeat("k", 490) + "]\n" + manyKeys(20000),
		"inline tables": "input.x = [" + fill("{},")[:MaxSize-20],
		"elements":      "deny = [" + fill("'',")[:MaxSize-20] + "]",
		"quotes":        fill(`"`),
		"lines":         fill("\n"),
	}
	for name, in := range inputs {
		var v file
		start := time.Now()
		Decode([]byte(in), "f", &v)
		if d := time.Since(start); d > 20*time.Second { // a hang, also on a busy machine
			t.Errorf("%s: %v", name, d)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d=1\n", i)
	}
	return b.String()
}

// FuzzDecode: what is accepted, the library decodes to the same value; all its
// keys have a position, and none differ only in case.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		good, "mode='a'\nMODE='b'", "a.b.c=1", "[[rules]]\n[rules.x]", "deny=['''a''''']", `"a\x41" = "\e"`,
		"input={a.b=1,c={}}", "input=[1,]", "\ufeffmode=''\r\n", "[links]\r\na=''", "input.a = 1979-05-27T07:32:00Z",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var ours, theirs file
		_, err := Decode([]byte(in), "f", &ours)
		if err != nil {
			if strings.Contains(err.Error(), "cannot say where") {
				t.Fatal(err)
			}
			return
		}
		md, err := toml.Decode(in, &theirs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(ours, theirs, cmp.AllowUnexported(file{}), cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); diff != "" {
			t.Fatal(diff)
		}
		for _, key := range md.Keys() {
			if top := key[0]; top != strings.ToLower(top) {
				t.Fatalf("key %s accepted", key)
			}
		}
	})
}

// TestQuote: the library reads what Quote writes.
func TestQuote(t *testing.T) {
	for _, text := range []string{``, `plain é`, `C:\x`, `a "b"`, `it's`, `"a" 'b' \`, "\x01\n\t'\"\x7f"} {
		var v struct{ X string }
		if err := toml.Unmarshal([]byte("X = "+Quote(text)), &v); err != nil || v.X != text {
			t.Errorf("%q is written %s and read %q, %v", text, Quote(text), v.X, err)
		}
	}
}
