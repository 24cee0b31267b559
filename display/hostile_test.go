package display

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// whole is all that a person may see of an ask, in every form.
func whole(t *testing.T, s Source) string {
	t.Helper()
	a := New(s)
	data, err := a.JSON()
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

// Why a file cannot be shown holds its name, which the agent chose.
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
		if text := whole(t, s); strings.ContainsAny(text, "\x1b\u202e\r") || strings.Contains(text, "\n  [o] once") || !strings.Contains(text, "<U+001B>") {
			t.Errorf("%s:\n%q", tool, text)
		}
	}
}
