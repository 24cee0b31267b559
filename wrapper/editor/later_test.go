package editor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// TestLaterAsksOnce: of several questions of a turn one is told, with its decision and
// once it is kept; all are denied.
func TestLaterAsksOnce(t *testing.T) {
	var noted []string
	var events []wrapper.Event
	l := &Later{Note: func(r *permission.Request) error {
		noted = append(noted, r.Use.ID)
		return nil
	}}
	tell := l.Events(func(e wrapper.Event) { events = append(events, e) })
	a := l.Announce(nil)
	use := func(id string) permission.Request {
		return permission.Request{Use: permission.ToolUse{ID: id, Tool: "Bash", Input: json.RawMessage(`{"command":"x"}`)}}
	}
	answer, err := a.Approve(t.Context(), use("a"))
	if err != nil || answer.Behavior == permission.Allow || !answer.Interrupt || answer.Message != waitForApproval {
		t.Errorf("%+v, %v", answer, err)
	}
	if answer, err := a.Approve(t.Context(), use("b")); err == nil {
		t.Errorf("a second question: %+v", answer)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := (&Later{}).Approve(ended, use("c")); err == nil {
		t.Error("a question that is over is put")
	}
	if len(events) != 0 {
		t.Errorf("told before the decision: %+v", events)
	}
	for _, id := range []string{"b", "a", "a"} {
		tell(wrapper.Event{Type: wrapper.DecisionEvent, ToolUseID: id, Behavior: "deny"})
	}
	var got []string
	for _, e := range events {
		got = append(got, e.Type+" "+e.ToolUseID)
	}
	if diff := cmp.Diff([]string{"decision b", "approval_required a", "decision a", "decision a"}, got); diff != "" {
		t.Error(diff)
	}
	if strings.Join(noted, "") != "a" {
		t.Error(noted)
	}
}

// TestToolLines: what stands in the text about tools, as the original has it.
func TestToolLines(t *testing.T) {
	begins := func(id, tool, summary, agent string) wrapper.Event {
		return wrapper.Event{Type: wrapper.StatusEvent, State: "tool_use", Tool: tool, ToolUseID: id, InputSummary: summary, Agent: agent}
	}
	ends := func(id, text string) wrapper.Event {
		return wrapper.Event{Type: wrapper.ToolResultEvent, ToolUseID: id, Text: text}
	}
	for _, tt := range []struct {
		name, display, markers string
		events                 []wrapper.Event
		want                   string
	}{
		{"usual", "", "", []wrapper.Event{begins("1", "Bash", "ls", ""), ends("1", "a\nb\n")}, "\n⏺ Bash(ls)\n  ⎿  a\n     b\n"},
		{"empty", "", "", []wrapper.Event{begins("1", "Bash", "true", ""), ends("1", " \n")}, "\n⏺ Bash(true)\n"},
		{"compact", DisplayCompact, "", []wrapper.Event{ends("1", strings.Repeat("é", 101))}, "  ⎿  " + strings.Repeat("é", 100) + "...\n"},
		{"full", DisplayFull, "", []wrapper.Event{ends("1", strings.Repeat("é", 101))}, "  ⎿  " + strings.Repeat("é", 101) + "\n"},
		{"none", DisplayNone, "", []wrapper.Event{begins("1", "Read", "x", ""), ends("1", "a")}, "\n⏺ Read(x)\n"},
		{"markers", "", `{"Bash":"$","default":"*","Task":" ","Read":{"a":1}}`, []wrapper.Event{begins("1", "Bash", "ls", ""), begins("2", "Read", "x", ""), begins("3", "Task", "Explore", "")}, "\n$ Bash(ls)\n\n* Read(x)\n\n▶ Task(Explore) ...\n"},
		{"a subagent", "", "", []wrapper.Event{begins("1", "Task", "Explore", ""), begins("2", "Read", "x", "1"), ends("2", ""), begins("3", "Grep", "y", "1"), ends("1", "done")}, "\n▶ Task(Explore) ...\n\n⏺ Read(x) by Task(Explore)\n\n⏺ Grep(y) by Task(Explore)\n✓ Task(Explore) (2 tools used)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			markers, err := ParseMarkers(tt.markers)
			if err != nil {
				t.Fatal(err)
			}
			text := ""
			tell := (&Later{Display: tt.display, Markers: markers}).Events(func(e wrapper.Event) {
				if e.Type == wrapper.ChunkEvent {
					text += e.Text
				}
			})
			for _, e := range tt.events {
				tell(e)
			}
			if text != tt.want {
				t.Errorf("%q, want %q", text, tt.want)
			}
		})
	}
	for _, text := range []string{"[]", "x", "null", `"a"`} {
		if _, err := ParseMarkers(text); err == nil {
			t.Error(text)
		}
	}
}
