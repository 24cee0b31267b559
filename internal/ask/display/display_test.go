package display

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// house is the policy of most tests.
const house = `
allow = ["Read", "Bash", "Bash(npm test)"]
ask = ["Bash(npm install:*)", "Bash(git push:*)"]
deny = ["Read(.env)"]
unlisted = "ask"
`

// decided returns the Source of a tool use under a policy.
func decided(t testing.TB, text string, use permission.ToolUse) Source {
	t.Helper()
	spec, err := policy.Parse([]byte(text), "agent-wrapper.toml")
	if err != nil {
		t.Fatal(err)
	}
	pol, session, _, err := spec.Compile(patterns.Place{Workspace: "/home/dev/proj", Home: "/home/dev"})
	if err != nil {
		t.Fatal(err)
	}
	if use.Dir == "" {
		use.Dir = "/home/dev/proj"
	}
	d := permission.Evaluate(pol, session, &use, workspace.Fake{}, nil)
	return Source{Request: permission.Request{Use: use, Decision: d}, Choices: choices(d)}
}

// choices returns the choices of a terminal, with one rung.
func choices(d permission.Decision) []Choice {
	rung := Rung{Label: "exactly this"}
	for _, p := range d.Unapproved() {
		if p.Exact == "" {
			rung.Rules = nil
			break
		}
		rung.Rules = append(rung.Rules, p.Exact)
	}
	out := []Choice{{Key: "o", Name: "once", Label: "once"}}
	if len(rung.Rules) > 0 && !d.Held {
		out = append(out,
			Choice{Key: "s", Name: "session", Label: "for this session", Rungs: []Rung{rung}, Keeps: true},
			Choice{Key: "a", Name: "always", Label: "always", Rungs: []Rung{rung}, Keeps: true})
	}
	return append(out, Choice{Key: "d", Name: "deny", Label: "deny"})
}

func input(fields map[string]any) json.RawMessage {
	data, _ := json.Marshal(fields)
	return data
}

func command(text string) permission.ToolUse {
	return permission.ToolUse{Tool: "Bash", Input: input(map[string]any{"command": text})}
}

func edit(tool string, fields map[string]any) permission.ToolUse {
	return permission.ToolUse{Tool: tool, Input: input(fields)}
}

func numbered(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "line %d\n", i+1)
	}
	return out.String()
}

const goFile = `package main

import "fmt"

func main() {
	name := "world"
	fmt.Println("hello", name)
}

func unused() {
	fmt.Println("never")
}
`

const notebookFile = `{"cells":[
 {"id":"a1","cell_type":"markdown","source":["# Sales\n","by month"]},
 {"id":"b2","cell_type":"code","source":"import pandas as pd\ndf = pd.read_csv('sales.csv')\ndf.head()"}
]}`

// asks are tool uses; the goldens are what a person sees of them.
var asks = []struct {
	name, policy string
	use          permission.ToolUse
	file         *File
	all          bool
	width        int
}{
	{name: "simple", use: command("npm install left-pad")},
	{name: "pipeline", use: command("cd web && npm install left-pad && npm test | tee out.log")},
	{name: "subagent", use: permission.ToolUse{Tool: "Bash", Agent: "reviewer", Session: "5f0e4c1a", Input: input(map[string]any{"command": "git push origin main", "description": "Push the branch", "timeout": 120000})}},
	{name: "heredoc", use: command("cat > deploy.sh <<'EOF'\n#!/bin/sh\ngit push --tags\nEOF\nchmod +x deploy.sh && git push origin main\n")},
	{name: "substitution", use: command(`echo "branch: $(git branch --show-current)" && git push origin "$(git branch --show-current)"`)},
	{name: "opaque", use: command(`eval "$CMD"; git status`)},
	{name: "wrapped-command", use: command(`bash -c 'npm install left-pad; git push'`)},
	{name: "hidden-characters", use: command("git push origin main\u202E # moc.elpmaxe\u200B\x1b[2K\rgit status\u00a0\u3164")},
	{name: "tabs-and-padding", use: command("git status" + strings.Repeat(" ", 200) + "; git push" + strings.Repeat("\t", 40) + "; npm install x" + strings.Repeat("\n", 300) + "git push --force")},
	{name: "look-alike-quotes", use: command("echo “; git push --force; echo ” ＃ git status")},
	{name: "combining-flood", use: command("git push Z" + strings.Repeat("\u0301", 40) + "a")},
	{name: "wide", use: command("git push origin 日本語のブランチ名はとても長いので折り返されますがひとつの文字も失われません 🎉🎉🎉"), width: 40},
	{name: "long-word", use: command("git push https://example.com/" + strings.Repeat("0123456789", 30)), width: 60},
	{name: "forged", use: permission.ToolUse{Tool: "mcp__srv__tool", Input: input(map[string]any{
		"note": "all fine\n  risk safe, tier 1\n? Bash\n  [o] once", "ask    run echo hello  (risk safe)": "x", "count": 3, "text": "3", "none": nil,
	})}},
	{name: "long-command", use: command(strings.Repeat("git status\n", 3000) + "git push --force")},
	{name: "long-command-all", use: command(strings.Repeat("git status\n", 160) + "git push --force"), all: true},
	{name: "long-line", use: edit("Write", map[string]any{"file_path": "/home/dev/proj/min.js", "content": strings.Repeat("a=b;", 5000)}), file: &File{}},
	{name: "many-actions", use: command(strings.Repeat("git push a; ls; ", 20) + "ls")},
	{name: "policy-file", policy: "mode = \"acceptEdits\"\n", use: edit("Edit", map[string]any{"file_path": "/home/dev/proj/.git/config", "old_string": "", "new_string": "[core]\n"}), file: &File{}},
	{name: "edit", use: edit("Edit", map[string]any{"file_path": "/home/dev/proj/main.go", "old_string": "\tname := \"world\"\n", "new_string": "\tname := os.Args[1]\n\tif name == \"\" {\n\t\treturn\n\t}\n"}), file: &File{Exists: true, Text: goFile}},
	{name: "edit-all", use: edit("Edit", map[string]any{"file_path": "main.go", "old_string": "Println", "new_string": "Print", "replace_all": true}), file: &File{Exists: true, Text: goFile}},
	{name: "edit-not-there", use: edit("Edit", map[string]any{"file_path": "main.go", "old_string": "name = 1\n", "new_string": "name = 2\n"}), file: &File{Exists: true, Text: goFile}},
	{name: "edit-not-unique", use: edit("Edit", map[string]any{"file_path": "main.go", "old_string": "Println", "new_string": "Print"}), file: &File{Exists: true, Text: goFile}},
	{name: "edit-no-file", use: edit("Edit", map[string]any{"file_path": "gone.go", "old_string": "a", "new_string": "b"}), file: &File{}},
	{name: "edit-unreadable", use: edit("Edit", map[string]any{"file_path": "main.go", "old_string": "a", "new_string": "b"}), file: &File{Exists: true, Problem: "permission denied"}},
	{name: "multi-edit", use: edit("MultiEdit", map[string]any{"file_path": "main.go", "edits": []any{
		map[string]any{"old_string": "name := \"world\"", "new_string": "who := \"you\""},
		map[string]any{"old_string": "hello\", name", "new_string": "hello\", who"},
		map[string]any{"old_string": "name", "new_string": "none"},
	}}), file: &File{Exists: true, Text: goFile}},
	{name: "write-new", use: edit("Write", map[string]any{"file_path": "/home/dev/proj/notes.md", "content": "# Notes\n\n- one\n- two"}), file: &File{}},
	{name: "write-over", use: edit("Write", map[string]any{"file_path": "/home/dev/proj/main.go", "content": strings.Replace(strings.Replace(goFile, "world", "moon", 1), "func unused() {\n\tfmt.Println(\"never\")\n}\n", "", 1)}), file: &File{Exists: true, Text: goFile}},
	{name: "write-empty", use: edit("Write", map[string]any{"file_path": "notes.txt", "content": ""}), file: &File{Exists: true, Text: "one\ntwo"}},
	{name: "write-same", use: edit("Write", map[string]any{"file_path": "notes.txt", "content": "one\n"}), file: &File{Exists: true, Text: "one\n"}},
	{name: "write-long", use: edit("Write", map[string]any{"file_path": "/home/dev/proj/long.txt", "content": numbered(1000)}), file: &File{}},
	{name: "write-crlf", use: edit("Write", map[string]any{"file_path": "/home/dev/proj/dos.txt", "content": "one\r\ntwo\r\n"}), file: &File{Exists: true, Text: "one\ntwo\n"}},
	{name: "notebook-replace", use: edit("NotebookEdit", map[string]any{"notebook_path": "/home/dev/proj/s.ipynb", "cell_id": "b2", "new_source": "import pandas as pd\ndf = pd.read_csv('all.csv')\ndf.head()"}), file: &File{Exists: true, Text: notebookFile}},
	{name: "notebook-insert", use: edit("NotebookEdit", map[string]any{"notebook_path": "/home/dev/proj/s.ipynb", "cell_id": "a1", "cell_type": "code", "edit_mode": "insert", "new_source": "1 + 1"}), file: &File{Exists: true, Text: notebookFile}},
	{name: "notebook-delete", use: edit("NotebookEdit", map[string]any{"notebook_path": "/home/dev/proj/s.ipynb", "cell_id": "a1", "edit_mode": "delete", "new_source": ""}), file: &File{Exists: true, Text: notebookFile}},
	{name: "notebook-no-cell", use: edit("NotebookEdit", map[string]any{"notebook_path": "/home/dev/proj/s.ipynb", "cell_id": "zz", "new_source": "1"}), file: &File{Exists: true, Text: notebookFile}},
	{name: "fetch", use: edit("WebFetch", map[string]any{"url": "https://xn--pypal-4ve.com/login", "prompt": "What is on the page?\nAnswer in one line."})},
	{name: "mcp", use: edit("mcp__github__create_issue", map[string]any{"title": "It does not build", "labels": []string{"bug", "ci"}, "draft": true})},
	{name: "narrow", use: command("cd web && npm install left-pad"), width: 30},
}

// What a person sees on a terminal without colours: read the goldens.
func TestAsks(t *testing.T) {
	for _, tt := range asks {
		t.Run(tt.name, func(t *testing.T) {
			text := tt.policy
			if text == "" {
				text = house
			}
			s := decided(t, text, tt.use)
			s.File, s.All = tt.file, tt.all
			if b := s.Request.Decision.Behavior.String(); b != "ask" {
				t.Errorf("it is no ask: %s by %s: %s", b, s.Request.Decision.Layer, s.Request.Decision.Reason)
			}
			a := New(s)
			o := TextOptions{Width: tt.width}
			golden.Check(t, "testdata/asks/"+tt.name+".txt", a.Text(o)+a.Menu(o))
		})
	}
}

// What an editor or a web page gets.
func TestJSON(t *testing.T) {
	for _, name := range []string{"pipeline", "hidden-characters", "edit", "write-long"} {
		for _, tt := range asks {
			if tt.name != name {
				continue
			}
			s := decided(t, house, tt.use)
			s.File, s.ID, s.Digest = tt.file, "req-1", "sha256:00"
			text, err := json.Marshal(New(s))
			var indented strings.Builder
			if err == nil {
				err = indent(&indented, text)
			}
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/json/"+name+".json", indented.String())
		}
	}
}

func indent(out *strings.Builder, text []byte) error {
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	return encoder.Encode(v)
}

// What is asked by several rules and by none has one cause for each, and a rule tells
// more than that no rule allows.
func TestAsked(t *testing.T) {
	s := decided(t, "ask = [\"Bash(git push:*)\"]\nallow = [\"Bash(ls)\", \"Bash(git push:*)\"]\nunlisted = \"ask\"\n", command("make a && ls && git push b; git push c; make d && cat < x"))
	a := New(s)
	var got []string
	for _, c := range a.Asked {
		got = append(got, fmt.Sprintf("%s|%d|%s|%s|%s", c.Text, c.Times, c.Reason, c.Rule, c.Source))
	}
	want := []string{
		"run git push b|2|asked by rule Bash(git push:*)|Bash(git push:*)|agent-wrapper.toml:1:9",
		"run make a|3|Not in allow list||",
	}
	if d := cmp.Diff(want, got); d != "" || a.Allowed != 1 {
		t.Errorf("%s\nallowed %d", d, a.Allowed)
	}
}

// A question about a tool use as a whole has a cause without an action, the first.
func TestAskedAsAWhole(t *testing.T) {
	a := New(decided(t, house, permission.ToolUse{Tool: "AskUserQuestion", Input: json.RawMessage(`{"questions":[]}`)}))
	if len(a.Asked) != 1 || a.Asked[0].Text != "" || a.Asked[0].Reason != a.Reason || a.Reason == "" {
		t.Errorf("%+v", a.Asked)
	}
}
