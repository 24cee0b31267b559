package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

var events = []wrapper.Event{
	{Type: "session", SessionID: "s-1"},
	{Type: "status", State: "thinking"},
	{Type: "chunk", Text: "I look\x1b]0;title\a first."},
	{Type: "status", State: "tool_use", Tool: "Bash", InputSummary: "ls"},
	{Type: "tool_use", Tool: "Bash", Command: "ls"},
	{Type: "decision", Tool: "Bash", InputSummary: "ls \u202E-la", Behavior: "allow", Layer: "default", Reason: "it is on the allow list", Rule: "Bash(ls:*)", Source: "p.toml:3:5", By: "rule", Tier: 1, Risk: "safe"},
	{Type: "tool_result", Tool: "Bash", Text: "a\nb\tc\n\x1b[31md\ne\nf\ng\n"},
	{Type: "approval_required", Tool: "Bash", Reason: "asked"},
	{Type: "decision", Tool: "Bash", Agent: "a7", InputSummary: "rm x", Behavior: "deny", Layer: "ask-list", Reason: "asked", By: "person"},
	{Type: "warning", Message: "rule 3 is\nnever used"},
	{Type: "something new"},
	{Type: "error", ToolUseID: "t1", Message: "it broke"},
	{Type: "error", Message: "the run failed"},
	{Type: "done"},
}

func TestStreamText(t *testing.T) {
	var out strings.Builder
	s, err := newStream(&out, "text")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		s.event(e)
	}
	want := `session s-1

I look<U+001B>]0;title<U+0007> first.
ALLOW  Bash  ls <U+202E>-la
       default: it is on the allow list  [Bash(ls:*) p.toml:3:5]
       | a
       | b    c
       | <U+001B>[31md
       | e
       | (2 more lines)
DENY   Bash  rm x (subagent a7)
       ask-list, person: asked
warning: rule 3 is<U+000A>never used
error: it broke
`
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// One JSON object a line for every event; ASCII control characters are escaped.
func TestStreamJSONL(t *testing.T) {
	var out strings.Builder
	s, err := newStream(&out, "") // not a terminal
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		s.event(e)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if len(lines) != len(events) {
		t.Fatalf("%d lines for %d events", len(lines), len(events))
	}
	for i, line := range lines {
		var got wrapper.Event
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(events[i], got); d != "" {
			t.Error(d)
		}
		if strings.ContainsAny(line, "\x1b\a") {
			t.Errorf("line %d holds a control character", i)
		}
	}
}

func TestStreamOutputFlag(t *testing.T) {
	if _, err := newStream(&strings.Builder{}, "json"); err == nil {
		t.Error("--output json was taken")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space") }

// A run whose stream cannot be written fails.
func TestStreamFails(t *testing.T) {
	s, _ := newStream(full{}, "jsonl")
	s.event(events[0])
	if s.failed() == nil {
		t.Error("the error is lost")
	}
}

// Paths in the workspace are shown relative to it, others unchanged.
func TestStreamBase(t *testing.T) {
	var out strings.Builder
	s := &stream{out: &out, base: "/w"}
	s.event(wrapper.Event{Type: "decision", Tool: "Read", InputSummary: "/w/a/b", Behavior: "allow", Layer: "default", Reason: "read /w/a/b"})
	s.event(wrapper.Event{Type: "decision", Tool: "Read", InputSummary: "/w2/a", Behavior: "allow", Layer: "default", Reason: "read /w2/a"})
	if d := cmp.Diff("ALLOW  Read  a/b\n       default: read a/b\nALLOW  Read  /w2/a\n       default: read /w2/a\n", out.String()); d != "" {
		t.Error(d)
	}
}

func TestPaint(t *testing.T) {
	s := &stream{colour: true}
	for behavior, want := range map[string]string{"allow": "\x1b[32mX\x1b[0m", "deny": "\x1b[31mX\x1b[0m", "new": "X"} {
		if got := s.paint(behavior, "X"); got != want {
			t.Errorf("%s: %q", behavior, got)
		}
	}
}
