package audit

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// readEntry parses a line of any version.
func readEntry(line []byte) (*Entry, error) {
	var e Entry
	if err := json.Unmarshal(line, &e); err != nil {
		return nil, err
	}
	if e.V == 1 && e.Kind == "" {
		e.Kind = kindDecision
	}
	return &e, nil
}

// Filter selects records. A zero field selects all.
type Filter struct {
	Tool, Session, Agent, Use, Kind, By string // equal
	// Behavior is allow or deny, as it was decided; ask, if a person was asked, whatever
	// the answer; or advice, if the agent was told a plainer form instead.
	Behavior     string
	Sandbox      string // where a command line runs; or met, of the outcome of one that the sandbox stopped
	Rule         string // a substring of the rule
	Text         string // a substring of the line, case ignored
	Since, Until time.Time
}

// matches reports whether a record is selected. An outcome is matched by its
// own fields.
func (f *Filter) matches(e *Entry, line []byte) bool {
	for _, want := range [][2]string{
		{f.Tool, e.Tool}, {f.Session, e.Session}, {f.Agent, e.Agent}, {f.Use, e.Use}, {f.Kind, e.Kind}, {f.By, e.By},
	} {
		if want[0] != "" && want[0] != want[1] {
			return false
		}
	}
	if !f.behaves(e) || !f.encloses(e) || !strings.Contains(e.Rule, f.Rule) || !f.covers(e.Time) {
		return false
	}
	return f.Text == "" || strings.Contains(strings.ToLower(e.searched(line)), strings.ToLower(f.Text))
}

// behaves reports whether the decision of a record is selected.
func (f *Filter) behaves(e *Entry) bool {
	switch f.Behavior {
	case "":
		return true
	case "ask":
		return e.Behavior == "ask" || slices.Contains(permission.Asking(), e.By)
	case permission.ByAdvice:
		return e.By == permission.ByAdvice
	}
	return e.Behavior == f.Behavior
}

// encloses reports whether what a record says of the sandbox is selected.
func (f *Filter) encloses(e *Entry) bool {
	if f.Sandbox == MetRefusal {
		return len(e.Met) > 0
	}
	return f.Sandbox == "" || f.Sandbox == e.Sandbox
}

// MetRefusal is the value of Filter.Sandbox that selects the outcomes of commands that the
// sandbox stopped.
const MetRefusal = "met"

// covers reports whether a time is selected.
func (f *Filter) covers(text string) bool {
	if f.Since.IsZero() && f.Until.IsZero() {
		return true
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	return err == nil && !at.Before(f.Since) && (f.Until.IsZero() || at.Before(f.Until))
}

// searched returns the text of a record that is searched: the line, and its
// input as a person would write it.
func (e *Entry) searched(line []byte) string {
	return string(line) + "\n" + inputText(e.Tool, e.Input) + "\n" + strings.Join(e.Actions, "\n")
}

// Scan reads records from r up to the last whole line and calls each with those
// that f selects and their lines, without line feed. line is valid until each
// returns. Lines that are not records are skipped.
func Scan(r io.Reader, f *Filter, each func(e *Entry, line []byte) error) error {
	_, err := lines(r, func(line []byte) error {
		line = line[:len(line)-1]
		e, err := readEntry(line)
		if err != nil || !f.matches(e, line) {
			return nil
		}
		return each(e, line)
	})
	return err
}

// Asked returns what the tool was asked for, as a person would write it. It may have
// characters that a terminal would interpret.
func (e *Entry) Asked() string { return inputText(e.Tool, e.Input) }

// AsSent reports whether the input and the directory of a decision are what was decided
// about: not if a secret in them is masked, or if they were too long to be kept.
func (e *Entry) AsSent() bool {
	return e.Cut == 0 && (e.Masked == 0 || !strings.Contains(string(e.Input)+e.Dir, mask.Mark))
}

// inputText returns an input for a person: what the tool is asked for if one
// member says so, else the JSON.
func inputText(tool string, input json.RawMessage) string {
	members, err := strictjson.Object(input)
	if text := tools.Asked(tool, members); err == nil && text != "" {
		return text
	}
	return string(input)
}

// String returns the record on one line for a person, without characters that a
// terminal would interpret.
func (e *Entry) String() string {
	at := e.Time
	if t, err := time.Parse(time.RFC3339Nano, e.Time); err == nil {
		at = t.Format("2006-01-02 15:04:05")
	}
	return visible.Line(fmt.Sprintf("%6d %s  %s", e.Seq, at, e.words()))
}

// maxInputText is how many bytes of an input String shows.
const maxInputText = 160

func (e *Entry) words() string {
	switch e.Kind {
	case kindBegin:
		return "begin"
	case kindTorn:
		return fmt.Sprintf("torn   %d bytes left by a crash", e.Torn.size())
	case kindNote:
		return fmt.Sprintf("note   %s: %s", e.Note, e.Reason)
	case kindOutcome:
		words := fmt.Sprintf("%-6s %s", e.Outcome, e.Tool)
		if e.Exit != nil {
			words += fmt.Sprintf(", exit code %d", *e.Exit)
		}
		if e.TookMS != nil {
			words += fmt.Sprintf(", %d ms", *e.TookMS)
		}
		if e.Of > 0 {
			words += fmt.Sprintf(" (of %d)", e.Of)
		}
		if len(e.Met) > 0 {
			words += ", was stopped by the sandbox: " + strings.Join(e.Met, ", ")
		}
		if e.Reason != "" {
			words += ": " + e.Reason
		}
		return words
	}
	input := inShort(inputText(e.Tool, e.Input))
	if len(e.Updated) > 0 {
		input += ", changed to " + inShort(inputText(e.Tool, e.Updated))
	}
	why := e.Layer
	if e.Rule != "" {
		why += " " + e.Rule
	}
	return fmt.Sprintf("%-6s %s: %s (%s; by %s)", e.Behavior, e.Tool, input, why, e.By)
}

// inShort truncates a long text and says so.
func inShort(text string) string {
	if len(text) <= maxInputText {
		return text
	}
	return strings.ToValidUTF8(text[:maxInputText], "") + fmt.Sprintf("… (%d bytes)", len(text))
}

func (f *fragment) size() int64 {
	if f == nil {
		return 0
	}
	return f.Bytes
}
