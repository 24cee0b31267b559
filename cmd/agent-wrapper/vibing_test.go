package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// vibing is a row of what the tests of the original plugin expect, of its command line,
// its answers, its summaries and the events that it reads.
type vibing struct {
	Source, Test, Layer string
	Config              struct {
		Action  string
		Actions []string
		Rules   []object
	}
	Tool     any
	Input    json.RawMessage
	Expected any
}

// meant are the rows, by layer and the beginning of the test, that come out otherwise
// here or are about nothing here. docs/reference/protocol.md has the reasons.
var meant = []string{
	"approval_parser: generated response",
	"session_ui: duplicates", "session_ui: invalid", "session_ui: nil tool", "session_ui: empty tool", "session_ui: non-string", "session_ui: allow list getter", "session_ui: deny list getter", "session_ui: external", "session_ui: approval response is never",
	"argv: pre-approved", "argv: --allowedTools", "argv: subagent-bound", "argv: ordinary chat", "argv: no duplicates",
	"argv: lightweight", "argv: utility call", "argv: --setting-sources", "argv_codex: ", "argv_grok: ", "argv_copilot: ",
}

// TestVibingRows holds the program to the rows, or the page to the reason.
func TestVibingRows(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	text, err := os.ReadFile("../../testdata/cases/vibing.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	reasons := page(t, "docs/reference/protocol.md")
	met, left := 0, map[string]int{}
	for line := range strings.Lines(string(text)) {
		var row vibing
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		name := row.Layer + ": " + row.Test
		if at := slices.IndexFunc(meant, func(m string) bool { return strings.HasPrefix(name, m) }); at >= 0 {
			left[meant[at]]++
			continue
		}
		met++
		t.Run(name, func(t *testing.T) { row.holds(t) })
	}
	for _, m := range meant {
		if left[m] == 0 || !strings.Contains(reasons, "`"+strings.TrimSuffix(m, ": ")+"`") {
			t.Errorf("%s: %d rows, or docs/reference/protocol.md has no reason", m, left[m])
		}
	}
	if met < 41 {
		t.Errorf("only %d rows are held", met)
	}
}

// holds checks a row.
func (row *vibing) holds(t *testing.T) {
	var got any
	switch row.Layer {
	case "approval_parser":
		got = row.parsed()
	case "approval_summary":
		got = row.summary(t)
	case "session_ui":
		got = row.lists(t)
	case "argv", "argv_v2":
		row.started(t)
		return
	case "wrapper", "e2e":
		row.events(t)
		return
	}
	want, _ := json.Marshal(row.Expected)
	if text, _ := json.Marshal(got); string(text) != string(want) {
		t.Errorf("%s, want %s", text, want)
	}
}

// labelOf is the label of an option in a message.
var labelOf = regexp.MustCompile(`[a-z_]+ - .*`)

// parsed reads a message as the original does, in which each of our options stands as it
// is shown.
func (row *vibing) parsed() any {
	var in struct{ Message any }
	_ = json.Unmarshal(row.Input, &in)
	text, _ := in.Message.(string)
	for _, o := range wrapper.Choices {
		shown := labelOf.FindString(text)
		if strings.HasPrefix(shown, o.Value+" -") {
			text = strings.Replace(text, shown, o.Label, 1)
			break
		}
	}
	value := chosen(text)
	switch {
	case strings.HasPrefix(row.Test, "is_"):
		return value != ""
	case value == "":
		return nil
	}
	return value
}

// summary returns what the original says of a tool use in our event.
func (row *vibing) summary(t *testing.T) any {
	e := wrapper.Asked(permission.Request{Use: permission.ToolUse{ID: "u", Tool: row.Tool.(string), Input: row.Input}}, 1)
	var input map[string]any
	if err := json.Unmarshal(e.Input, &input); err != nil || e.Tool != row.Tool {
		t.Fatal(err, e.Tool)
	}
	for _, f := range [][2]string{{"command", "command"}, {"file_path", "file"}, {"pattern", "pattern"}, {"query", "query"}, {"url", "url"}} {
		if text, ok := input[f[0]].(string); ok {
			return " (" + f[1] + ": " + text + ")"
		}
	}
	return ""
}

// lists returns what the original does with our options.
func (row *vibing) lists(t *testing.T) any {
	p := &plugin{t: t}
	for _, action := range row.Config.Actions {
		p.pending = &wrapper.Event{Tool: row.Tool.(string), Options: wrapper.Choices, Input: json.RawMessage(`{}`)}
		p.answers(action)
	}
	out := object{}
	for key := range row.Expected.(map[string]any) {
		out[key] = append([]string{}, map[string][]string{"session_allow": p.sessAllow, "session_deny": p.sessDeny}[key]...)
	}
	return out
}

// started starts the program with the command line of the row.
func (row *vibing) started(t *testing.T) {
	p := newPlugin(t)
	p.rules = row.Config.Rules
	p.session, p.fork = sessionID, strings.Contains(row.Test, "when forking")
	if strings.Contains(row.Test, "without") {
		p.session = ""
	}
	args := p.build("x")
	p.turn("x", "")
	if slices.Contains(args, "--rules") != (len(p.rules) > 0) || slices.Contains(args, "--fork-session") != strings.Contains(row.Test, "when forking") || p.code != 0 {
		t.Errorf("%q: %d, %+v", args, p.code, p.events)
	}
	if forked := p.session != sessionID; forked != strings.Contains(row.Test, "when forking") {
		t.Error("the session is", p.session)
	}
}

// events has a turn, and looks for the events.
func (row *vibing) events(t *testing.T) {
	p := newPlugin(t)
	if row.Layer == "e2e" {
		ask := wants(`{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"h","options":[{"label":"a"}]}]}}`)
		p.turn("ask me", ask)
		shown := p.count(wrapper.InsertChoicesEvent)
		p.turn("the answer is a", "")
		if shown += p.count(wrapper.InsertChoicesEvent); float64(shown) != row.Expected {
			t.Errorf("shown %d times", shown)
		}
		return
	}
	p.turn("Say hello", "")
	for _, kind := range row.Expected.(map[string]any)["events_include"].([]any) {
		if p.count(kind.(string)) == 0 {
			t.Errorf("no %s in %+v", kind, p.events)
		}
	}
}
