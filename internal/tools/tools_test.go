package tools

import "testing"

func TestName(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		tool  string
		input map[string]any
		want  string
	}{
		{"Skill", map[string]any{"skill": "x"}, "x"},
		{"Skill", map[string]any{"command": "x"}, "x"},
		{"Skill", map[string]any{"skill": 7}, ""},
		{"Task", map[string]any{"subagent_type": "a", "prompt": "b"}, "a"},
		{"TodoWrite", map[string]any{"todos": "x"}, ""},
		{"Unheard", map[string]any{"name": "x"}, ""},
	} {
		if got := Name(test.tool, test.input); got != test.want {
			t.Errorf("Name(%s, %v) = %q, want %q", test.tool, test.input, got, test.want)
		}
	}
}

// TestAsked checks that Asked returns what the tool reads, and no other field.
func TestAsked(t *testing.T) {
	t.Parallel()
	all := map[string]any{
		"command": "c", "file_path": "f", "notebook_path": "n", "path": "p", "pattern": "g", "url": "u", "query": "q", "skill": "s", "subagent_type": "a", "": "x",
	}
	for tool, want := range map[string]string{
		"Bash": "c", "Monitor": "c", "Read": "f", "Write": "f", "Edit": "f", "MultiEdit": "f", "NotebookEdit": "n", "NotebookRead": "n", "LS": "p", "Grep": "g", "Glob": "g",
		"WebFetch": "u", "WebSearch": "q", "Skill": "s", "Task": "a", "mcp__a__b": "", "TodoWrite": "", "": "",
	} {
		if got := Asked(tool, all); got != want {
			t.Errorf("%s is asked for %q, want %q", tool, got, want)
		}
		if got := Asked(tool, map[string]any{"command": 7, "file_path": nil}); got != "" {
			t.Errorf("%s is asked for %q by no text", tool, got)
		}
	}
	if Builtin("Bash") == nil || Builtin("bash") != nil || Builtin("mcp__a__b") != nil {
		t.Error("the tools of the agent CLI are told by name")
	}
}
