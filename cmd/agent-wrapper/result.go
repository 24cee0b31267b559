package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// resultVersion is the version of the form of runResult. It grows when a field is
// removed or means something else; a new field does not change it.
const resultVersion = 1

// runResult is a run in one object (--output json), by the schema
// schemas/run-result.schema.json.
type runResult struct {
	SchemaVersion    int             `json:"schema_version"`
	ExitCode         int             `json:"exit_code"`
	ExitReason       string          `json:"exit_reason"`
	Error            string          `json:"error,omitempty"` // as on standard error
	Text             string          `json:"text"`            // the agent's last message
	StructuredOutput json.RawMessage `json:"structured_output,omitempty"`
	SessionID        string          `json:"session_id,omitempty"`
	// Turns, CostUSD and Usage are what the agent says; nil if it does not.
	Turns      *int      `json:"turns,omitempty"`
	CostUSD    *float64  `json:"cost_usd,omitempty"`
	Usage      *tokens   `json:"usage,omitempty"`
	Decisions  decisions `json:"decisions"`
	Denials    []denial  `json:"denials"`
	Warnings   []string  `json:"warnings"`
	DurationMS int64     `json:"duration_ms"` // of the whole program
}

// tokens is how many tokens a run took, of all models and subagents.
type tokens struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens"`
}

// decisions counts tool uses. Allow, Deny and Advice are all that were decided;
// Ask are those of them that a person had to decide.
type decisions struct {
	Allow  int `json:"allow"`
	Ask    int `json:"ask"`
	Deny   int `json:"deny"`
	Advice int `json:"advice"` // denied once, with a plainer form
}

// denial is a tool use that was denied, with the fields of its decision event.
type denial struct {
	Tool      string `json:"tool"`
	ToolUseID string `json:"tool_use_id"`
	Agent     string `json:"agent,omitempty"`
	Summary   string `json:"summary"`
	Layer     string `json:"layer"`
	Rule      string `json:"rule,omitempty"`
	Source    string `json:"source,omitempty"`
	Reason    string `json:"reason"`
	By        string `json:"by"`
}

// The values of runResult.ExitReason beside the names of limits in wrapper.Outcome.
const (
	reasonDone        = "done"
	reasonUsage       = "usage"
	reasonFailed      = "failed"
	reasonDenied      = "denied"  // the run ended on a denial
	reasonFailOn      = "fail_on" // it came to its end, and --fail-on counts
	reasonBreach      = "breach"
	reasonTimeout     = "timeout"
	reasonInterrupted = "interrupted"
)

// runError is the error of a run that did not end well.
type runError struct {
	reason string
	error
}

func (e *runError) Unwrap() error { return e.error }

// ending returns the error of a run that did not end well.
func ending(reason string, code int, err error) error {
	return &runError{reason, &coded{code, err}}
}

// tally gathers from the events of a run what is not in its outcome. It is safe for
// concurrent use.
type tally struct {
	mu       sync.Mutex
	count    decisions
	asked    map[string]bool // by tool use
	approved int             // of those asked about
	refused  int
	denials  []denial
	warnings []string
	said     string // the last text
	session  string
	// over is set when the run has failed, and counts are the denials before: what is
	// denied then is denied because nothing is to run any more.
	over   bool
	counts int
}

func (t *tally) add(e wrapper.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case wrapper.SessionEvent:
		t.session = e.SessionID
	case wrapper.ChunkEvent:
		t.said = e.Text
	case wrapper.WarningEvent:
		t.warnings = append(t.warnings, e.Message)
	case wrapper.StatusEvent:
		t.over = t.over && e.State != "tool_use" // the agent goes on after all
	case wrapper.ErrorEvent:
		t.over = t.over || e.ToolUseID == ""
	case wrapper.ApprovalRequiredEvent, wrapper.InsertChoicesEvent:
		t.ask(e.ToolUseID)
	case wrapper.DecisionEvent:
		t.decided(e)
	}
}

// ask counts a tool use that a person has to decide, once: one that is edited is
// asked about again.
func (t *tally) ask(id string) {
	if t.asked[id] {
		return
	}
	if t.asked == nil {
		t.asked = map[string]bool{}
	}
	t.asked[id] = true
	t.count.Ask++
}

func (t *tally) decided(e wrapper.Event) {
	if t.asked[e.ToolUseID] && e.By == "person" {
		if e.Behavior == "allow" {
			t.approved++
		} else {
			t.refused++
		}
	}
	switch {
	case e.Behavior == "allow":
		t.count.Allow++
		return
	case e.By == permission.ByAdvice:
		t.count.Advice++
		return
	}
	t.count.Deny++
	if !t.over {
		t.counts++
	}
	t.denials = append(t.denials, denial{
		Tool: e.Tool, ToolUseID: e.ToolUseID, Agent: e.Agent, Summary: e.InputSummary,
		Layer: e.Layer, Rule: e.Rule, Source: e.Source, Reason: e.Reason, By: e.By,
	})
}

// exceeds returns why --fail-on counts, "" if it does not. Advice never does.
func (t *tally) exceeds(failOn string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	asked := func(d denial) bool { return t.asked[d.ToolUseID] }
	switch {
	case failOn == failOnAsk && t.count.Ask > 0:
		return "--fail-on ask: a person would have had to be asked about " + uses(t.count.Ask) + t.first(asked)
	case failOn != "" && t.counts > 0:
		return "--fail-on " + failOn + ": denied: " + uses(t.counts) + t.first(func(denial) bool { return true })
	}
	return ""
}

// uses returns a number of tool uses in words.
func uses(n int) string {
	if n == 1 {
		return "one tool use"
	}
	return fmt.Sprintf("%d tool uses", n)
}

// first returns the first denial of a kind in words.
func (t *tally) first(is func(denial) bool) string {
	at := slices.IndexFunc(t.denials, is)
	if at < 0 {
		return ""
	}
	d := t.denials[at]
	return fmt.Sprintf(": %s %s: %s", d.Tool, d.Summary, d.Reason)
}

// summary says how many tool uses there were and what became of them, "" for none.
func (t *tally) summary() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.count
	all := n.Allow + n.Deny + n.Advice
	if all == 0 {
		return ""
	}
	out := strings.TrimPrefix(uses(all), "one ")
	if all == 1 {
		out = "1 " + out
	}
	out += ": " + numbers(number{n.Allow, "allowed"}, number{n.Deny, "denied"}, number{n.Advice, "advised"})
	if n.Ask > 0 {
		rest := max(n.Ask-t.approved-t.refused, 0)
		out += fmt.Sprintf("; %d asked: %s", n.Ask, numbers(number{t.approved, "approved"}, number{t.refused, "denied"}, number{rest, "not answered"}))
	}
	return out
}

// number is how many tool uses something became of.
type number struct {
	n    int
	word string
}

// numbers lists the numbers that are not 0.
func numbers(all ...number) string {
	var list []string
	for _, c := range all {
		if c.n > 0 {
			list = append(list, fmt.Sprintf("%d %s", c.n, c.word))
		}
	}
	return strings.Join(list, ", ")
}

// spent says how long a run took, and what else of it the agent tells.
func spent(s *wrapper.Spent, took time.Duration) string {
	if s == nil {
		return lasted(took)
	}
	turns := "1 turn"
	if s.Turns != 1 {
		turns = fmt.Sprintf("%d turns", s.Turns)
	}
	return fmt.Sprintf("%s, $%.2f, %s", turns, s.CostUSD, lasted(took))
}

// report is what a run leaves for its result.
type report struct {
	outcome wrapper.Outcome
	tally   *tally
}

// result returns the result of a run that ended with err.
func (r *report) result(err error, took time.Duration) *runResult {
	t := r.tally
	if t == nil {
		t = &tally{}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	code, reason := ends(err)
	out := &runResult{
		SchemaVersion: resultVersion, ExitCode: code, ExitReason: reason,
		Text: r.outcome.Text, StructuredOutput: r.outcome.Structured, SessionID: t.session,
		Decisions: t.count, Denials: append([]denial{}, t.denials...), Warnings: append([]string{}, t.warnings...),
		DurationMS: took.Milliseconds(),
	}
	if err != nil {
		out.Error = plain.Text(err)
	}
	if out.Text == "" {
		out.Text = t.said // it did not come to its last message
	}
	if s := r.outcome.Spent; s != nil {
		out.Turns, out.CostUSD = &s.Turns, &s.CostUSD
		out.Usage = &tokens{s.InputTokens, s.OutputTokens, s.CacheReadTokens, s.CacheWriteTokens}
	}
	return out
}

// ends returns the exit code for an error, and the reason.
func ends(err error) (code int, reason string) {
	var end *runError
	code = exitCode(err)
	switch {
	case err == nil:
		return code, reasonDone
	case errors.As(err, &end):
		return code, end.reason
	case code == codeUsage:
		return code, reasonUsage
	}
	return code, reasonFailed
}

// wantsResult reports whether a command line asks for a result. It is for one that
// cannot be read otherwise: whoever reads the result is to have one all the same.
func wantsResult(cmd *cobra.Command, args []string) bool {
	if !runs(cmd) && cmd.Name() != "demo" {
		return false
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	at := slices.Index(args, "--output")
	return wantsJSON(args) || slices.Contains(args, "--output="+outputJSON) || at >= 0 && at+1 < len(args) && args[at+1] == outputJSON
}

// writeResult writes the result of a command that ended with err, if one is wanted,
// and returns err, or that of writing.
func (a *app) writeResult(cmd *cobra.Command, args []string, err error) error {
	if a.outcome == nil && err != nil && wantsResult(cmd, args) {
		a.outcome = &report{}
	}
	if a.outcome == nil {
		return err
	}
	pipesFail()
	lost := writeJSON(a.out, a.outcome.result(err, time.Since(a.began)))
	if lost != nil && err == nil {
		return fmt.Errorf("standard output cannot be written, so the result is lost: %w", lost)
	}
	return err
}

// runEnd returns the error for the end of a run under ctx.
func runEnd(ctx context.Context, outcome wrapper.Outcome, err error) error {
	var breach *wrapper.Breach
	var by *signalled
	var late *overtime
	cause := context.Cause(ctx)
	switch {
	case errors.As(err, &breach):
		return ending(reasonBreach, codeDenied, err)
	case err != nil && errors.As(cause, &by):
		return ending(reasonInterrupted, codeSignal+int(by.Signal), err)
	case err != nil && errors.As(cause, &late):
		return ending(reasonTimeout, codeTimeout, err)
	case err != nil:
		return err
	case outcome.Stopped != "":
		return ending(reasonDenied, codeDenied, errors.New("the run ended on a denial: "+outcome.Stopped))
	}
	return nil
}

// gaveUp returns the error of an agent that came to no good end by itself.
func gaveUp(outcome wrapper.Outcome) error {
	switch {
	case outcome.Failed == "":
		return nil
	case outcome.Limit != "":
		return ending(outcome.Limit, codeInternal, errors.New("the agent gave up: "+outcome.Failed))
	}
	return errors.New("the agent gave up: " + outcome.Failed)
}
