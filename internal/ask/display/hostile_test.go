package display

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// whole returns everything that a person may see of an Ask, in every form.
func whole(t *testing.T, s Source) string {
	t.Helper()
	a := New(s)
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var v struct{ Blocks []Block }
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	var notes []string
	for _, b := range v.Blocks {
		notes = append(notes, b.Notes...)
	}
	return a.Text(TextOptions{}) + strings.Join(notes, "\n")
}

// The reason why a file cannot be shown contains its name, which the agent chose.
func TestProblemIsVisible(t *testing.T) {
	path := filepath.Join(os.DevNull, "a\x1b[2J\u202e\r\n  [o] once")
	_, err := os.Stat(path)
	if err == nil {
		t.Skip("a device has files here")
	}
	for tool, input := range map[string]map[string]any{
		"Write":        {"file_path": path, "content": "x"},
		"Edit":         {"file_path": path, "old_string": "a", "new_string": "b"},
		"MultiEdit":    {"file_path": path, "edits": []any{map[string]any{"old_string": "a", "new_string": "b"}}},
		"NotebookEdit": {"notebook_path": path, "cell_id": "a", "new_source": "b"},
	} {
		s := decided(t, house, edit(tool, input))
		s.File = &File{Exists: true, Problem: err.Error()}
		if text := whole(t, s); strings.ContainsAny(text, "\x1b\u202e\r") || strings.Contains(text, "\n  [o] once") || strings.Contains(text, "\n│ o  once") || !strings.Contains(text, "<U+001B>") {
			t.Errorf("%s:\n%q", tool, text)
		}
	}
}

// All members of an edit are shown, including those that no tool is known to
// read.
func TestEveryMemberOfAnEdit(t *testing.T) {
	for _, edits := range []string{
		`[{"old_string":"a","new_string":"b","insert":"hidden"}]`,
		`[{"old_string":"a","new_string":"b","replace_all":true,"insert":"hidden"}]`,
		`[{"old_string":"a","new_string":"b"},{"old_string":"b","new_string":"c","New_string":"hidden"}]`,
	} {
		use := edit("MultiEdit", nil)
		use.Input = json.RawMessage(`{"file_path":"/home/dev/proj/x","edits":` + edits + `}`)
		s := decided(t, house, use)
		s.File = &File{Exists: true, Text: "a\n"}
		if text := whole(t, s); !strings.Contains(text, "hidden") {
			t.Errorf("%s:\n%s", edits, text)
		}
	}
}

// An edit whose result would be too large is shown as it is and not computed.
func TestEditsThatGrow(t *testing.T) {
	grow := map[string]any{"old_string": "a", "new_string": strings.Repeat("a", 64), "replace_all": true}
	var steps []any
	for range 12 {
		steps = append(steps, grow)
	}
	for tool, input := range map[string]map[string]any{
		"MultiEdit": {"file_path": "x", "edits": steps},
		"Edit":      {"file_path": "x", "old_string": "a", "new_string": strings.Repeat("b", 1<<20), "replace_all": true},
	} {
		s := decided(t, house, edit(tool, input))
		s.File = &File{Exists: true, Text: strings.Repeat("a", 4<<10)}
		if text := whole(t, s); !strings.Contains(text, "too large to be shown") && !strings.Contains(text, "more edits than can be followed") {
			t.Errorf("%s: %.2000s", tool, text)
		}
	}
}

// The agent chooses how much there is to show, but not how much work that is.
func TestManyEdits(t *testing.T) {
	slow.Test(t)
	file := numbered(100_000)
	var steps []any
	for i := range 20_000 {
		old, now := "line 1\n", "line one\n"
		if i%2 == 1 {
			old, now = now, old
		}
		steps = append(steps, map[string]any{"old_string": old, "new_string": now})
	}
	s := decided(t, house, edit("MultiEdit", map[string]any{"file_path": "x", "edits": steps}))
	s.File = &File{Exists: true, Text: file}
	a := New(s)
	if text := a.Text(TextOptions{}); len(text) > 1<<20 || a.Whole {
		t.Errorf("%d bytes are shown, whole %v", len(text), a.Whole)
	}
	s.All = true
	if text := New(s).Text(TextOptions{}); !strings.Contains(text, "edit 20000 of 20000") {
		t.Error("not all edits are shown where all is asked for")
	}
}

// Members that no tool reads do not push those that count out of sight.
func TestManyMembers(t *testing.T) {
	input := map[string]any{"command": "npm install"}
	for i := range 20_000 {
		input[fmt.Sprintf("note%05d", i)] = "nothing"
	}
	s := decided(t, house, edit("Bash", input))
	a := New(s)
	if text := a.Text(TextOptions{}); strings.Count(text, "\n") > 200 || a.Whole || !strings.Contains(text, "│ │ npm install\n") || !strings.Contains(text, "more") {
		t.Errorf("%d lines, whole %v", strings.Count(text, "\n"), a.Whole)
	}
	s.All = true
	if a = New(s); !a.Whole || !strings.Contains(a.Text(TextOptions{}), "note19999") {
		t.Error("not all members are shown where all is asked for")
	}
}

// TestNewlyWide checks that no row is too long on a terminal that shows characters in two
// cells which newer versions of Unicode or older terminals have wide: the terminal would
// go on in the next row, where there is no gutter.
func TestNewlyWide(t *testing.T) {
	for _, r := range "\u2630\u268A\u3248\u4DC0\u4DFF\U0001D300\U0001D356\U0001D360" {
		command := "npm install # " + strings.Repeat(string(r), 60) + "┌ Bash safe"
		text := New(decided(t, house, edit("Bash", map[string]any{"command": command}))).Text(TextOptions{})
		for row := range strings.SplitSeq(text, "\n") {
			if n := utf8.RuneCountInString(row) + strings.Count(row, string(r)); n > 80 {
				t.Errorf("%U: %d cells: %s", r, n, row)
			}
		}
	}
}
