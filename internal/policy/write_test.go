package policy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// TestAddRuleForms checks that the rule takes the form of the list. "|" marks
// the ends of the new text.
func TestAddRuleForms(t *testing.T) {
	tests := []struct{ name, want string }{
		{"one line", `allow = ["Read"|, "Bash(x)"|]`},
		{"one line, comma at the end", `allow = ["Read",| "Bash(x)",|]`},
		{"one line, comma and blank", `allow = ["Read",| "Bash(x)",| ] # why`},
		{"a long line", "allow = ['Bash(a program with many words)', 'Bash(another program with more words)'|,\n  \"Bash(x)\"|]"},
		{"blanks inside", `allow = [ "Read"|, "Bash(x)"| ]`},
		{"empty", `allow = [|"Bash(x)"|]`},
		{"empty with a blank", `allow = [ |"Bash(x)" |]`},
		{"lines", "allow = [\n\t\"Read\",\n|\t\"Bash(x)\",\n|]"},
		{"lines without a comma at the end", "allow = [\n    'Read'|,|\n|    \"Bash(x)\"\n|]\n"},
		{"lines with comments", "allow = [ # a\n  # b\n  'Read', # c ] ,\n\n  # \"Edit\",\n|  \"Bash(x)\",\n|] # d"},
		{"a comment before the comma", "allow = [\n  'Read' # c ,\n  , # d\n|  \"Bash(x)\",\n|]"},
		{"a comment and no comma", "allow = [\n  'Read'|,| # c ,\n|  \"Bash(x)\"\n|]"},
		{"comma first", "allow = [ 'Read'\n        , 'Edit'|,|\n|  \"Bash(x)\"\n|]"},
		{"bracket behind the last", "allow = [\n  'Read',\n  'Edit'|,\n  \"Bash(x)\"|]"},
		{"bracket behind the last and its comma", "allow = [\n  'Read',\n  'Edit',|\n  \"Bash(x)\",| ]"},
		{"first on the line of the bracket", "allow = ['Read',\n  'Edit'|,|\n|  \"Bash(x)\"\n|]"},
		{"empty lines", "allow = [\n|  \"Bash(x)\",\n|]"},
		{"empty with a comment", "  allow = [ # none\n|    \"Bash(x)\",\n|  ]"},
		{"carriage returns", "mode='plan'\r\nallow = [\r\n  'Read',\r\n|  \"Bash(x)\",\r\n|]\r\n"},
		{"no file", "|allow = [\n  \"Bash(x)\",\n]\n|"},
		{"only a comment", "# about\n|\nallow = [\n  \"Bash(x)\",\n]\n|"},
		{"a comment without its line end", "# about|\n\nallow = [\n  \"Bash(x)\",\n]\n|"},
		{"absent", "mode = 'plan' # c\ndeny = [] # d\n|\nallow = [\n  \"Bash(x)\",\n]\n\n|# e\n"},
		{"absent, carriage returns", "mode = 'plan'\r\n|\r\nallow = [\r\n  \"Bash(x)\",\r\n]\r\n|"},
		{"absent, no line end", "mode = 'plan'|\n\nallow = [\n  \"Bash(x)\",\n]\n|"},
		{"before a table", "mode = 'plan'\n|\nallow = [\n  \"Bash(x)\",\n]\n\n|# rm\n[[rules]]\ntools=['Bash']\naction='deny'"},
		{"tables only", "# about all\n\n|allow = [\n  \"Bash(x)\",\n]\n\n|# rm\n# is bad\n[[rules]]\ntools=['Bash']\naction='deny'"},
		{"a table and its comment", "# about all\n|\nallow = [\n  \"Bash(x)\",\n]\n\n|[[rules]]\ntools=['Bash']\naction='deny'"},
		{"a table", "|allow = [\n  \"Bash(x)\",\n]\n\n|[[rules]]\ntools=['Bash']\naction='deny'"},
		{"a mark and a table", "\ufeff|allow = [\n  \"Bash(x)\",\n]\n\n|[[rules]]\ntools=['Bash']\naction='deny'"},
		{"a list after it", "allow = ['Read'|, \"Bash(x)\"|]\ndeny = ['Edit']\n"},
		{"protect after it", "allow = [\n  'Read',\n|  \"Bash(x)\",\n|]\nprotect = ['Makefile']\n"},
		{"overrides after it", "allow = [\n  'Read',\n|  \"Bash(x)\",\n|]\nwhitelist = 'w.json'\n[[risk_overrides]]\npattern = 'x'\nrisk = 'high'\n[escalation]\ncommand = ['x']\n"},
		{"a quoted key", "\"allow\" = ['Read'|, \"Bash(x)\"|]"},
		{"block strings", "allow = ['''Read'''|, \"Bash(x)\"|]\nmode = \"\"\"plan\"\"\""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "|", "")
			old := ""
			for i, part := range strings.Split(tt.want, "|") {
				if i%2 == 0 {
					old += part
				}
			}
			got, at, err := withRule([]byte(old), "p", "allow", rule(t, "Bash(x)", patterns.Allow))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(got)); diff != "" {
				t.Error(diff)
			}
			if line := strings.Split(string(got), "\n")[at.Line-1]; !strings.HasPrefix(line[at.Col-1:], "Bash(x)\"") {
				t.Errorf("the rule does not stand at %v", at)
			}
		})
	}
}

func rule(t *testing.T, text string, list patterns.List) *patterns.Rule {
	t.Helper()
	r, _, err := patterns.Parse(text, list, patterns.Source{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAddRule follows a file from its creation.
func TestAddRule(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", FileName)
	steps := []struct {
		key, rule string
		line, col int
	}{
		{"allow", "Bash(npm  test)", 5, 4},
		{"deny", `Bash(echo "a")`, 9, 4},
		{"ask", "WebFetch", 13, 4},
		{"deny", "Read(.env)", 10, 4},
		{"deny", ` Bash( echo "a") `, 9, 4}, // is in the list already
		{"allow", "Bash(npm test)", 6, 4},
	}
	for _, s := range steps {
		at, err := AddRule(path, s.key, s.rule)
		want := patterns.Source{Name: path, Line: s.line, Col: s.col}
		if err != nil || at != want {
			t.Errorf("%s %s: %v, %v, want %v", s.key, s.rule, at, err, want)
		}
	}
	want := newFile + `
allow = [
  "Bash(npm  test)",
  "Bash(npm test)",
]

deny = [
  'Bash(echo "a")',
  "Read(.env)",
]

ask = [
  "WebFetch",
]
`
	if diff := cmp.Diff(want, readText(t, path)); diff != "" {
		t.Error(diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	alone(t, filepath.Dir(path), FileName)
}

// alone fails the test if a directory contains anything but one file.
func alone(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the directory holds %v, %v", entries, err)
	}
}

func TestAddRuleFollowsLinks(t *testing.T) {
	dir := write(t, "real/p.toml", "allow = []\n")
	os.Chmod(filepath.Join(dir, "real/p.toml"), 0o640)
	link := filepath.Join(dir, FileName)
	os.Symlink("real/next", link)
	os.Symlink("p.toml", filepath.Join(dir, "real/next"))
	at, err := AddRule(link, "allow", "Read")
	if err != nil || at.Name != link {
		t.Fatal(at, err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	info, err = os.Stat(link)
	if got := readText(t, dir, "real/p.toml"); got != "allow = [\"Read\"]\n" || err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, %v", got, info.Mode(), err)
	}
}

// TestAddRuleRefuses checks that an impossible change leaves the file as it
// was.
func TestAddRuleRefuses(t *testing.T) {
	tests := []struct{ name, text, key, rule, want string }{
		{"no such list", "", "mode", "Bash(x)", "no list of rules"},
		{"a rule that cannot be read", "", "allow", "Bash(x", "is not closed"},
		{"a rule that never matches", "", "allow", "Bash(done)", "never match"},
		{"not TOML", "allow = [", "allow", "Bash(x)", "p.toml:1:10: the file ends"},
		{"an unknown key", "alow = []", "allow", "Bash(x)", "p.toml:1:1: unknown key alow"},
		{"a key that stands twice", "allow = []\nallow = []", "allow", "Bash(x)", "stands twice"},
		{"no room", "#" + strings.Repeat("x", stricttoml.MaxSize-2), "allow", "Bash(x)", "by hand"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, "p.toml", tt.text)
			_, err := AddRule(filepath.Join(dir, "p.toml"), tt.key, tt.rule)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
			if readText(t, dir, "p.toml") != tt.text {
				t.Error("the file has changed")
			}
			alone(t, dir, "p.toml")
		})
	}
	if _, err := AddRule(t.TempDir(), "allow", "Read"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := AddRule(filepath.Join(write(t, "x", ""), "x", FileName), "allow", "Read"); err == nil {
		t.Error("below a file")
	}
	if _, err := AddRule("/dev/null", "allow", "Read"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a device: %v", err)
	}
}

// TestAddRuleTogether checks that concurrent writers lose nothing.
func TestAddRuleTogether(t *testing.T) {
	path := filepath.Join(write(t, FileName, "# mine\n"), FileName)
	const writers, rules = 8, 10
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for r := range rules {
				if _, err := AddRule(path, "deny", "Bash("+strings.Repeat("a", w+1)+" "+strings.Repeat("b", r+1)+")"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	spec, err := ReadFile(path)
	if err != nil || len(spec.Deny) != writers*rules {
		t.Errorf("%d rules, %v", len(spec.Deny), err)
	}
}

// TestEveryList checks that AddRule knows all lists of a file, since it would
// leave another one out of its comparison.
func TestEveryList(t *testing.T) {
	lists := 0
	for i := range reflect.TypeFor[table]().NumField() {
		f := reflect.TypeFor[table]().Field(i)
		if f.Type != reflect.TypeFor[[]string]() || f.Tag.Get("toml") == "protect" { // paths rather than rules
			continue
		}
		lists++
		if listKeys[f.Tag.Get("toml")] == 0 {
			t.Errorf("%s is no key of listKeys", f.Name)
		}
	}
	if lists != len(listKeys) {
		t.Errorf("%d lists, %d in listKeys", lists, len(listKeys))
	}
	for key, list := range listKeys {
		for other := range listKeys {
			var s Spec
			*s.listed(key) = []Item{{Text: "x"}}
			if got := len(*s.listed(other)); (got > 0) != (key == other) {
				t.Errorf("%s holds what was put into %s", other, key)
			}
		}
		if list == 0 {
			t.Errorf("%s has no list", key)
		}
	}
}

// added checks the change that withRule made to a text.
func added(t interface{ Fatalf(string, ...any) }, old []byte, key string, r *patterns.Rule) {
	before, err := Parse(old, "p")
	if err != nil {
		if _, _, err := withRule(old, "p", key, r); err == nil {
			t.Fatalf("a text that is no policy is changed: %q", old)
		}
		return
	}
	next, at, err := withRule(old, "p", key, r)
	if err != nil {
		if len(old) < stricttoml.MaxSize/2 {
			t.Fatalf("%v in %q", err, old)
		}
		return
	}
	after, err := Parse(next, "p")
	if err != nil {
		t.Fatalf("%v: wrote %q", err, next)
	}
	item, found := after.find(key, r)
	if !found || item.Source != at {
		t.Fatalf("the rule stands at %v, not at %v, in %q", item.Source, at, next)
	}
	if bytes.Equal(old, next) {
		return
	}
	if !after.is(before, key, r.String()) {
		t.Fatalf("%q does not say what %q does", next, old)
	}
	if insertions(old, next) > 2 {
		t.Fatalf("%q is not %q with something put in", next, old)
	}
}

// insertions counts the places at which text was inserted into old to get next.
func insertions(old, next []byte) int {
	n := 0
	for len(next) > 0 {
		same := 0
		for same < len(old) && same < len(next) && old[same] == next[same] {
			same++
		}
		old, next = old[same:], next[same:]
		if len(next) == 0 {
			break
		}
		n++
		if bytes.HasSuffix(next, old) { // the inserted text may contain the rest of old as well
			return n
		}
		at := 1 // if there are several places, the first is a comma
		next = next[at:]
	}
	if len(old) > 0 {
		return len(old) + 2
	}
	return n
}

// FuzzAddRule checks that any policy keeps its meaning, with the rule added.
func FuzzAddRule(f *testing.F) {
	f.Add(full, uint8(0), "Bash(x y:*)")
	f.Add("\ufeff# x\r\nallow = [ 'a',\r\n\t'b' # c\r\n , # d\r\n ]\r\n[[rules]]", uint8(0), `Bash(echo "a" 'b')`)
	f.Add("deny = [\"\"\"a\nb\"\"\", '''c''', ]\nrules = [{tools=['x'],}]", uint8(1), "Bash(a\nb)")
	f.Add("'ask'=[ # ]\n]\n\"m\\u006fde\" = '''plan'''", uint8(2), "Read(ä/**)")
	f.Fuzz(func(t *testing.T, old string, list uint8, text string) {
		key := []string{"allow", "ask", "deny"}[list%3]
		r, err := new(Spec).usableRule(text, listKeys[key])
		if err != nil {
			t.Skip()
		}
		added(t, []byte(old), key, r)
	})
}

// TestAddRuleProperty is FuzzAddRule for texts that mostly are policies.
func TestAddRuleProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := someFile(t)
		key := rapid.SampledFrom([]string{"allow", "ask", "deny"}).Draw(t, "key")
		if _, err := Parse([]byte(old), "p"); err != nil {
			t.Fatalf("the generator makes what is no policy: %v in %q", err, old)
		}
		text := rapid.SampledFrom([]string{"Bash(a 'b' \"c\" \\d)", "Read", "Edit(ä [x]/**)", "Bash(x\n\ty)"}).Draw(t, "rule")
		usable, err := new(Spec).usableRule(text, listKeys[key])
		if err != nil {
			t.Fatal(err)
		}
		added(t, []byte(old), key, usable)
	})
}

// someFile draws a policy file.
func someFile(t *rapid.T) string {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	note := func() string { return pick("note", "", "", " # c", "# ], \"x\"", "\t#'''") }
	line := func() string { return pick("line", "\n", "\n", "\n\n", "\n# c\n", "\n  # [[x]]\n") }
	var b strings.Builder
	b.WriteString(pick("head", "", "", "# head\n", "\ufeff", "\ufeff# head\n\n", "\n\n"))
	for _, key := range rapid.Permutation([]string{"allow", "ask", "deny", "mode", "risk"}).Draw(t, "keys")[:rapid.IntRange(0, 5).Draw(t, "n")] {
		switch key {
		case "mode", "risk":
			b.WriteString(key + " = " + pick("value", `"plan"`, "'on'", "\"\"\"\nx # y\n\"\"\"") + note() + line())
			continue
		}
		b.WriteString(pick("key", key, `"`+key+`"`, "  "+key) + "=[" + pick("open", "", " ", "\n", note()+"\n"))
		n := rapid.IntRange(0, 3).Draw(t, "elements")
		for i := range n {
			b.WriteString(pick("indent", "", "  ", "\t") + pick("rule", `"Edit"`, `'Bash(a, b]#)'`, `"""Write"""`, "'''Grep'''"))
			b.WriteString(pick("before comma", "", "", " ", "\n", " # d,\n"))
			if i < n-1 || rapid.Bool().Draw(t, "comma") {
				b.WriteString("," + pick("behind comma", "", " ", "\n", " # e\n", "\n# f\n\n"))
			}
		}
		b.WriteString(pick("close", "", " ", "\n", "# g\n", "\n  ") + "]" + note() + line())
	}
	for range rapid.IntRange(0, 2).Draw(t, "tables") {
		b.WriteString(pick("table", "[[rules]]", "# about\n[[rules]]", "\n[[ rules ]] # x") + "\ntools = ['Bash']" + pick("end", "", "\n", "\n# z\n") + "\n")
	}
	text := strings.TrimRight(b.String(), "\n") + pick("last", "", "\n", "\n\n")
	if rapid.Bool().Draw(t, "carriage returns") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// TestAddRuleCannotWrite checks that a failed write is reported and leaves
// nothing behind. (A directory without write permission stops everybody but
// root; a file in place of a directory stops root as well.)
func TestAddRuleCannotWrite(t *testing.T) {
	dir := write(t, "p.toml", "allow = []\n")
	if _, err := AddRule(filepath.Join(dir, "p.toml", "deep", "q.toml"), "allow", "Read"); !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
	if names, err := os.ReadDir(dir); err != nil || len(names) != 1 {
		t.Error(names, err)
	}
	if os.Getuid() == 0 {
		return
	}
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	if _, err := AddRule(filepath.Join(dir, "p.toml"), "allow", "Read"); !errors.Is(err, fs.ErrPermission) {
		t.Error(err)
	}
}
