package frontmatter

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

// byLibrary returns the head as the library decodes it, without our guards.
func byLibrary(t interface{ Fatal(...any) }, text []byte) map[string]any {
	var all map[string]any
	if err := yaml.Load(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// sameAsLibrary fails unless an accepted head has the values that the library
// decodes.
func sameAsLibrary(t interface {
	Fatal(...any)
	Fatalf(string, ...any)
}, data []byte, head Head) {
	fence, text, err := cut(data, "f")
	if err != nil || fence != "---" || empty(text) {
		return
	}
	all := byLibrary(t, text)
	for key, got := range map[string][]Value{keyAllow: head.Allow, keyAsk: head.Ask, keyDeny: head.Deny} {
		var want []string
		list, _ := all[key].([]any)
		for _, item := range list {
			text, _ := item.(string)
			want = append(want, text)
		}
		if !slices.Equal(texts(got), want) || all[key] != nil && list == nil {
			t.Fatalf("%s: read %q, the library reads %q (%T)", key, texts(got), want, all[key])
		}
	}
	mode, ok := all[keyMode]
	if !ok {
		mode, ok = all[keyModes]
	}
	if said, _ := mode.(string); ok != (head.Mode.Line > 0) || said != head.Mode.Text {
		t.Fatalf("read mode %q, the library reads %v", head.Mode.Text, mode)
	}
	for key := range all {
		if strings.HasPrefix(key, "permission") && !slices.Contains([]string{keyMode, keyModes, keyAllow, keyAsk, keyDeny}, key) {
			t.Fatalf("key %q was passed over", key)
		}
	}
}

func texts(values []Value) []string {
	var list []string
	for _, v := range values {
		list = append(list, v.Text)
	}
	return list
}

// FuzzLibrary: an accepted head has exactly the values that the library
// decodes.
func FuzzLibrary(f *testing.F) {
	for _, s := range []string{
		"permission_mode: plan\npermissions_deny: [Bash, \"Read(x)\"]\n", "permissions_ask:\n  - Bash(git push:*) # x\nmodel: x\n",
		"permissions_allow: [Bash(a,b)]\n", "permissions_allow:\n- >-\n  Bash(a\n  b)\n- 'it''s'\n", "{permissions_deny: [~]}\n",
		"permissions_deny: [yes, 1, .5, 0x1, 2001-01-01, 1:20]\n", "\"permissions\\x5fdeny\": [Bash]\n", "a: 1\n...\n", "? permissions_deny\n: [Bash]\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		data := slices.Concat([]byte("---\n"), text, []byte("\n---\n"))
		if head, err := parse(data, "f"); err == nil {
			sameAsLibrary(t, data, head)
		}
	})
}

// TestWrittenByLibrary: rules that the library encodes, in any of its styles,
// are read unchanged.
func TestWrittenByLibrary(t *testing.T) {
	rule := rapid.StringMatching(`[ -~é]{1,30}|(Bash|Read)\([ -~]{0,20}\)|yes|no|~|null|[0-9.:-]{1,8}|[*&!|>%@#'"-].{0,5}`).Filter(func(s string) bool {
		return !strings.ContainsAny(s, breaks+"\x00\ufeff") && strings.IndexFunc(s, unseen) != 0
	})
	rapid.Check(t, func(t *rapid.T) {
		said := map[string][]string{}
		for _, key := range []string{keyAllow, keyAsk, keyDeny} {
			said[key] = rapid.SliceOfN(rule, 0, 4).Draw(t, key)
		}
		text, err := yaml.Dump(said)
		if err != nil {
			t.Fatal(err)
		}
		data := slices.Concat([]byte("---\n"), text, []byte("---\n# chat\n"))
		head, err := parse(data, "f")
		if err != nil {
			t.Fatalf("%v in\n%s", err, data)
		}
		for key, got := range map[string][]Value{keyAllow: head.Allow, keyAsk: head.Ask, keyDeny: head.Deny} {
			if len(got)+len(said[key]) > 0 && !slices.Equal(texts(got), said[key]) {
				t.Fatalf("%s: %q, want %q in\n%s", key, texts(got), said[key], data)
			}
		}
		sameAsLibrary(t, data, head)
	})
}

// TestVibing: rows of vibing.nvim's tests. Rows about writing a head show the
// forms that a head can have, and these are read.
func TestVibing(t *testing.T) {
	heads := map[string]string{ // by the row's name, as its test writes it
		"UT-FM-002 lists parsed":                     "permission_mode: acceptEdits\npermissions_allow:\n  - Read\n  - Edit\n  - Write\npermissions_deny:\n  - Bash\n",
		"UT-FM-002 empty list keys parse":            "permissions_allow:\npermissions_deny:\n",
		"legacy permissions_mode -> permission_mode": "permissions_mode: plan\n",
		"singular wins over plural":                  "permissions_mode: plan\npermission_mode: acceptEdits\n",
		"update never writes plural":                 "permission_mode: plan\n",
		"key order: permission_mode before lists":    "session_id: x\npermission_mode: default\npermissions_allow:\n  - Read\nlanguage: en\n",
		"both spellings present -> one remains":      "permissions_mode: plan\npermission_mode: acceptEdits\nsession_id: abc\n",
		"plural line rewritten in place":             "permission_mode: plan\n",
		"fork inherits permissions_ask":              "permissions_allow:\n  - Read\npermissions_ask:\n  - Bash\n",
		"subagent chat inherits parent permissions":  "permission_mode: bypassPermissions\npermissions_allow:\n  - Read\n  - Edit\npermissions_deny:\n  - Bash\n",
	}
	want := map[string]string{
		"UT-FM-002 empty list keys parse":         "",
		"update never writes plural":              "mode plan",
		"key order: permission_mode before lists": "mode default; allow Read",
		"both spellings present -> one remains":   "mode acceptEdits",
		"plural line rewritten in place":          "mode plan",
		"fork inherits permissions_ask":           "allow Read; ask Bash",
	}
	file, err := os.Open("testdata/vibing.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows := 0
	for scan := bufio.NewScanner(file); scan.Scan(); rows++ {
		var row struct {
			Test     string
			Expected any
		}
		if err := json.Unmarshal(scan.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		text, ok := heads[row.Test]
		if !ok {
			t.Errorf("no head for row %q", row.Test)
			continue
		}
		expected, ok := want[row.Test]
		if !ok {
			expected = expectation(row.Expected)
		}
		head, err := parse([]byte("---\n"+text+"---\n"), "f")
		if got := plainly(head); err != nil || got != expected {
			t.Errorf("%s: %s, want %s: %v", row.Test, got, expected, err)
		}
	}
	if rows != 10 {
		t.Errorf("%d rows", rows)
	}
}

// plainly formats a head without positions.
func plainly(h Head) string {
	var out []string
	if h.Mode.Line > 0 {
		out = append(out, "mode "+h.Mode.Text)
	}
	for _, l := range []struct {
		key    string
		values []Value
	}{{"allow", h.Allow}, {"ask", h.Ask}, {"deny", h.Deny}} {
		if len(l.values) > 0 {
			out = append(out, l.key+" "+strings.Join(texts(l.values), " "))
		}
	}
	return strings.Join(out, "; ")
}

// expectation returns what a row expects, in the form of plainly.
func expectation(row any) string {
	var out []string
	said, _ := row.(map[string]any)
	if mode, ok := said[keyMode].(string); ok {
		out = append(out, "mode "+mode)
	}
	for _, key := range []string{keyAllow, keyAsk, keyDeny} {
		var list bytes.Buffer
		rules, _ := said[key].([]any)
		for _, rule := range rules {
			list.WriteString(" " + rule.(string))
		}
		if list.Len() > 0 {
			out = append(out, strings.TrimPrefix(key, "permissions_")+list.String())
		}
	}
	return strings.Join(out, "; ")
}
