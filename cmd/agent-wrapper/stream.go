package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// stream writes the events of a run, as JSON lines or as text for a person. It is
// safe for concurrent use.
type stream struct {
	mu     sync.Mutex
	out    io.Writer
	json   bool
	colour bool
	base   string // the workspace; in text, paths in it are relative
	home   string // at a terminal, places in it begin with ~
	// columns returns the width of the terminal; nil: out is none.
	columns func() int
	err     error // the first write error
	// decided are the tool uses that were told of, denied the reasons of those that were
	// denied. In text, a result that repeats one is left out, and so are the words that the
	// agent CLI has for the model in its place.
	decided map[string]bool
	denied  map[string]string
	// quiet has nothing written: the result is all (--output json).
	quiet bool
	tally tally
	live  *live // nil: what runs is not shown
	// said is what the agent has written of a text that is not complete, of which partial
	// is not shown for good; height returns the rows of the terminal.
	said, partial string
	height        func() int
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
		return nil, among("--output", output, outputText, outputJSONL, outputJSON)
	}
	return s, nil
}

// newStream returns the stream for --output; "" selects text if out is a
// terminal.
func newStream(out io.Writer, output string) (*stream, error) {
	tty := isTerminal(out)
	s := &stream{out: out, json: !tty}
	switch output {
	case "":
	case outputJSONL:
		s.json = true
	case outputText:
		s.json = false
	default:
		return nil, among("--output", output, outputText, outputJSONL)
	}
	if tty && !s.json {
		s.colour, s.columns = colours(), func() int { return columns(written(out)) }
		s.home, _ = os.UserHomeDir() // without one, places are whole
		if screen, ok := out.(*ask.Screen); ok && os.Getenv("TERM") != "dumb" {
			s.live = &live{screen: screen, width: s.columns}
		}
	}
	return s, nil
}

func colours() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }

// isTerminal reports whether a reader or writer is a terminal.
func isTerminal(v any) bool {
	if out, ok := v.(io.Writer); ok {
		v = written(out)
	}
	f, ok := v.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// written returns what a writer writes to in the end.
func written(out io.Writer) io.Writer {
	if s, ok := out.(*ask.Screen); ok {
		return s.Out()
	}
	return out
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
	s.live.heed(e, s.base)
	switch {
	case e.Type == wrapper.DeltaEvent:
		s.delta(e.Text)
		return
	case e.Type == wrapper.ChunkEvent && s.said == e.Text && e.Text != "":
		s.complete()
		return
	case e.Type != wrapper.StatusEvent && e.Type != wrapper.WarningEvent:
		s.complete()
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

// ends tells a person at a terminal what a run was, after it has ended. Nothing is told of
// one that did not get to a tool use.
func (s *stream) ends(cost *wrapper.Spent, took time.Duration) {
	if summary := s.tally.summary(); summary != "" && s.columns != nil {
		s.note("\n" + s.sentence(summary) + s.sentence(spent(cost, took)))
	}
}

// maxResult is how many lines of a tool's result are shown in text, as the terminal has
// them.
const maxResult = 4

// text returns an event as text for a person, "" if there is nothing to show.
func (s *stream) text(e wrapper.Event) string {
	switch e.Type {
	case wrapper.SessionEvent:
		return "session " + visible.Line(e.SessionID) + "\n"
	case wrapper.ChunkEvent:
		return "\n" + s.prose(visible.Text(e.Text))
	case wrapper.DecisionEvent:
		s.keep(e)
		return s.decision(e)
	case wrapper.ToolResultEvent:
		if why := s.denied[e.ToolUseID]; why != "" && (strings.Contains(e.Text, why) || claude.TurnedAway(e.Text)) {
			return "" // it stands above
		}
		return s.undecided(e) + s.result(e)
	case wrapper.WarningEvent:
		return s.sentence("warning: " + visible.Line(e.Message))
	case wrapper.ErrorEvent:
		if e.ToolUseID == "" {
			return "" // it ends the run, and is reported then
		}
		return s.sentence("error: " + visible.Line(e.Message))
	case wrapper.SessionCorruptedEvent:
		return s.sentence("the session " + visible.Line(e.OldSessionID) + " cannot be resumed (" + visible.Line(e.Reason) + ")")
	}
	return ""
}

// sentence returns a line about the run, broken to the width of the terminal.
func (s *stream) sentence(text string) string {
	return folded("", "  ", text, s.width())
}

// prose returns what the agent wrote. Lines that are indented or have columns stay as
// they are: it may be a table or code.
func (s *stream) prose(text string) string {
	if text == "" {
		return ""
	}
	width := s.width()
	out := ""
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, " ") || strings.ContainsAny(line, "\t|") {
			out += line + "\n"
			continue
		}
		out += folded("", "", line, width)
	}
	return out
}

// decision returns the decision in a line, and below it why; both are broken at blanks to
// the width of the terminal.
func (s *stream) decision(e wrapper.Event) string {
	word := fmt.Sprintf("%-5s", strings.ToUpper(e.Behavior))
	agent := ""
	if e.Agent != "" {
		agent = " (subagent " + visible.Line(e.Agent) + ")"
	}
	about := strings.TrimPrefix(e.InputSummary, s.base+"/")
	width := s.width()
	line := folded(word+"  ", s.indent(width), visible.Line(e.Tool)+"  "+visible.Line(about)+agent, width)
	line = s.paint(e.Behavior, word) + strings.TrimPrefix(line, word)
	return line + s.faint(folded(s.indent(width), s.indent(width), s.why(e, about), width))
}

// indent is what stands before the reason and before a line that goes on. A narrow
// terminal has no room for the column of the decisions.
func (s *stream) indent(width int) string {
	if width < narrowWidth {
		return "  "
	}
	return "       "
}

// narrowWidth is the width of a terminal, in cells, below which nothing is aligned.
const narrowWidth = 40

// why returns the reason of a decision, and the rule and its place if they are not in it.
// The layer is left out: the reason says it in words.
func (s *stream) why(e wrapper.Event, about string) string {
	why := e.Reason
	switch {
	case e.By == permission.ByAdvice:
		why = "told how to say it plainly; " + why
	case e.By == "person" && e.Behavior == "deny":
		why = "not approved; " + why
	}
	if s.base != "" {
		why = strings.ReplaceAll(why, " "+s.base+"/", " ")
	}
	if at := strings.LastIndex(why, ": "); at >= 0 {
		if _, of, _ := strings.Cut(why[at+2:], " "); unquoted.Replace(of) == unquoted.Replace(about) { // "run git status", which stands above
			why = why[:at]
		}
	}
	if !strings.Contains(e.Reason, e.Rule) {
		why += "  " + e.Rule
	}
	place := strings.TrimPrefix(e.Source, s.base+"/")
	if strings.HasPrefix(e.Layer, "session-") && strings.HasPrefix(place, "session") {
		place = "session" // without the number of the answer
	}
	if in, found := subpath.Below(place, s.home); found && s.home != "" {
		place = "~/" + in
	}
	if place != "" && !strings.Contains(e.Reason, place) {
		why += "  " + column.ReplaceAllString(place, "$1")
	}
	return visible.Line(strings.TrimSpace(why))
}

// unquoted takes quotes out of a command, which reasons show without.
var unquoted = strings.NewReplacer("'", "", `"`, "")

// column is the column behind the line of a place, which nobody counts.
var column = lazyregexp.New(`(:[0-9]+):[0-9]+$`)

// keep notes a tool use that is told of.
func (s *stream) keep(e wrapper.Event) {
	if s.decided == nil {
		s.decided, s.denied = map[string]bool{}, map[string]string{}
	}
	s.decided[e.ToolUseID] = true
	if e.Behavior == "deny" {
		s.denied[e.ToolUseID] = e.Reason
	}
}

// undecided returns the line above the result of a tool use that was not told of: the agent
// CLI has turned it away by itself.
func (s *stream) undecided(e wrapper.Event) string {
	told := s.decided[e.ToolUseID]
	delete(s.decided, e.ToolUseID)
	if told || !e.IsError {
		return ""
	}
	return visible.Line(e.Tool) + "  the agent CLI did not ask about it\n"
}

// paint colours a word for a behavior.
func (s *stream) paint(behavior, word string) string {
	code := map[string]string{"allow": "32", "ask": "33", "deny": "31"}[behavior]
	if !s.colour || code == "" {
		return word
	}
	return "\x1b[" + code + "m" + word + "\x1b[0m"
}

// faint paints what stands below a decision.
func (s *stream) faint(text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[2m" + strings.TrimSuffix(text, "\n") + "\x1b[0m\n"
}

// width returns the width of the terminal in cells. What is no terminal gets whole lines.
func (s *stream) width() int {
	if s.columns == nil {
		return math.MaxInt32
	}
	return s.columns()
}

// result returns the beginning of a tool's result.
func (s *stream) result(e wrapper.Event) string {
	text := strings.TrimRight(e.Text, "\n")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	width := s.width()
	bar := s.indent(width) + "| "
	out, shown := "", 0
	for room := maxResult; shown < len(lines) && room > 0; shown++ {
		line := visible.Line(strings.ReplaceAll(lines[shown], "\t", "    "))
		rows := slices.Collect(strings.Lines(folded(bar, bar, line, width)))
		rows = rows[:min(len(rows), room)]
		out += strings.Join(rows, "")
		room -= len(rows)
	}
	if more := len(lines) - shown; more > 0 {
		out += fmt.Sprintf("%s(%d more lines)\n", bar, more)
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
