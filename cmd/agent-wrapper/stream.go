package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/term"

	"github.com/agent-wrapper/agent-wrapper/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// stream writes the events of a run, as JSON lines or as text for a person. It is
// safe for concurrent use.
type stream struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	colour bool
	base   string // the workspace; in text, paths in it are relative
	err    error  // the first write error
	// denied are the reasons of the tool uses that were denied. In text, a result
	// that repeats one is left out.
	denied map[string]string
	// quiet has nothing written: the result is all (--output json).
	quiet bool
	tally tally
}

// The values of --output.
const (
	outputText  = "text"
	outputJSONL = "jsonl"
	outputJSON  = "json" // the result of a run
)

// newEvents returns the stream for --output of a run, which may also be json.
func newEvents(out io.Writer, output string) (*stream, error) {
	if output == outputJSON {
		return &stream{out: out, json: true, quiet: true}, nil
	}
	s, err := newStream(out, output)
	if err != nil {
		return nil, usage("--output %q: it is text, jsonl or json", output)
	}
	return s, nil
}

// newStream returns the stream for --output; "" selects text if out is a
// terminal.
func newStream(out io.Writer, output string) (*stream, error) {
	tty := isTerminal(out)
	switch output {
	case "":
		return &stream{out: out, json: !tty, colour: tty && colours()}, nil
	case outputJSONL:
		return &stream{out: out, json: true}, nil
	case outputText:
		return &stream{out: out, colour: tty && colours()}, nil
	}
	return nil, usage("--output %q: it is text or jsonl", output)
}

func colours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(v any) bool {
	if s, ok := v.(*ask.Screen); ok {
		v = s.Out()
	}
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of a terminal in cells; of what is none $COLUMNS, or 80.
func columns(out io.Writer) int {
	if f, ok := out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		return width
	}
	return 80
}

// event writes one event.
func (s *stream) event(e wrapper.Event) {
	s.tally.add(e)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet {
		return
	}
	if s.json {
		s.line(e)
		return
	}
	if text := s.text(e); text != "" {
		if _, err := io.WriteString(s.out, text); err != nil {
			s.fail(err)
		}
	}
}

// line writes an event as a line of JSON, in one Write.
func (s *stream) line(e wrapper.Event) {
	var line bytes.Buffer
	err := writeJSON(&line, e)
	if err == nil {
		_, err = s.out.Write(line.Bytes())
	}
	if err != nil {
		s.fail(err)
	}
}

func (s *stream) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// failed returns the first write error.
func (s *stream) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stream) warn(text string) {
	s.event(wrapper.Event{Type: wrapper.WarningEvent, Message: text})
}

// note writes text that is not an event, for a person only.
func (s *stream) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.json {
		return
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		s.fail(err)
	}
}

// maxResult is how many lines of a tool's result are shown in text.
const maxResult = 4

// text returns an event as text for a person, "" if there is nothing to show.
func (s *stream) text(e wrapper.Event) string {
	switch e.Type {
	case wrapper.SessionEvent:
		return "session " + visible.Line(e.SessionID) + "\n"
	case wrapper.ChunkEvent:
		return "\n" + ended(visible.Text(e.Text))
	case wrapper.DecisionEvent:
		return s.decision(e)
	case wrapper.ToolResultEvent:
		if why := s.denied[e.ToolUseID]; why != "" && strings.Contains(e.Text, why) {
			return ""
		}
		return result(e)
	case wrapper.WarningEvent:
		return "warning: " + visible.Line(e.Message) + "\n"
	case wrapper.ErrorEvent:
		if e.ToolUseID == "" {
			return "" // it ends the run, and is reported then
		}
		return "error: " + visible.Line(e.Message) + "\n"
	case wrapper.SessionCorruptedEvent:
		return "the session " + visible.Line(e.OldSessionID) + " cannot be resumed (" + visible.Line(e.Reason) + ")\n"
	}
	return ""
}

func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// decision returns two lines: the decision and its reason.
func (s *stream) decision(e wrapper.Event) string {
	if e.Behavior == "deny" {
		s.deny(e.ToolUseID, e.Reason)
	}
	word := fmt.Sprintf("%-5s", strings.ToUpper(e.Behavior))
	agent := ""
	if e.Agent != "" {
		agent = " (subagent " + visible.Line(e.Agent) + ")"
	}
	why := visible.Line(e.Layer)
	if e.By != "" && e.By != "rule" {
		why += ", " + visible.Line(e.By)
	}
	if e.Reason != "" {
		why += ": " + visible.Line(e.Reason)
	}
	if rule := ruleAndSource(e); rule != "" {
		why += "  [" + visible.Line(rule) + "]"
	}
	about := strings.TrimPrefix(e.InputSummary, s.base+"/")
	if s.base != "" {
		why = strings.ReplaceAll(why, " "+s.base+"/", " ")
	}
	return fmt.Sprintf("%s  %s  %s%s\n       %s\n", s.paint(e.Behavior, word), visible.Line(e.Tool), visible.Line(about), agent, why)
}

// ruleAndSource returns the deciding rule and its place, without a rule that the
// reason contains.
func ruleAndSource(e wrapper.Event) string {
	if strings.Contains(e.Reason, e.Rule) {
		return e.Source
	}
	return strings.TrimSpace(e.Rule + " " + e.Source)
}

func (s *stream) deny(id, reason string) {
	if s.denied == nil {
		s.denied = map[string]string{}
	}
	s.denied[id] = reason
}

// paint colours a word for a behavior.
func (s *stream) paint(behavior, word string) string {
	code := map[string]string{"allow": "32", "ask": "33", "deny": "31"}[behavior]
	if !s.colour || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// result returns the beginning of a tool's result.
func result(e wrapper.Event) string {
	text := strings.TrimRight(e.Text, "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	more := len(lines) - maxResult
	if more > 0 {
		lines = lines[:maxResult]
	}
	out := ""
	for _, line := range lines {
		out += "       | " + visible.Line(strings.ReplaceAll(line, "\t", "    ")) + "\n"
	}
	if more > 0 {
		out += fmt.Sprintf("       | (%d more lines)\n", more)
	}
	return out
}

// writeJSON writes a value as a line of JSON.
func writeJSON(out io.Writer, v any) error { return newEncoder(out).Encode(v) }

// newEncoder returns a JSON encoder that does not escape &, < and >.
func newEncoder(out io.Writer) *json.Encoder {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return e
}

// screen returns the screen of a run on standard output, and a context that ends
// when it cannot be written: nobody can see what the agent does any more, so it
// is stopped. A closed pipe is such an error too; it does not kill the program,
// which first ends the agent and closes the record.
func (a *app) screen(ctx context.Context) (context.Context, *ask.Screen) {
	pipesFail()
	ctx, lost := context.WithCancelCause(ctx)
	return ctx, ask.NewScreen(a.out, lost)
}

// pipesFail makes an error of writing to a closed pipe, which otherwise kills the
// program: before its record is closed, and with an exit code that is not ours.
func pipesFail() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
