package whitelist

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// LogFile is the log of hallucinated commands, relative to the workspace.
const LogFile = ".smartergpt/logs/hallucinations.jsonl"

// errAgentPaused matches every *pausedError.
var errAgentPaused = errors.New("the agent is paused")

// pausedError reports that an agent is paused. It wraps the refusal that paused
// it, if any.
type pausedError struct {
	Count  int    // hallucinated commands
	Resume string // the command line that ends the pause
	Cause  *CommandValidationError
}

func (e *pausedError) Error() string {
	return fmt.Sprintf("Agent paused after %d hallucinated commands. Human review required. Resume with: %s", e.Count, e.Resume)
}

// Is reports whether target is errAgentPaused.
func (e *pausedError) Is(target error) bool { return target == errAgentPaused }

// Unwrap returns the refusal, or nil.
func (e *pausedError) Unwrap() error {
	if e.Cause == nil {
		return nil
	}
	return e.Cause
}

// Tracker counts the hallucinated commands of one agent on one plan, across all
// processes that drive it, and pauses the agent at the threshold. It implements
// permission.Pauser.
type Tracker struct {
	Journal   *Journal
	Key       Key
	Threshold int // of hallucinated commands; at least 1
	// Workspace is the directory whose LogFile gets a copy of each event, ""
	// for none. Only the journal counts; the copy is for reading.
	Workspace string
	// Escalate is called once for each pause; it may be nil.
	Escalate func(Alert)
	// Notice is called with each event and the count that includes it; it may
	// be nil.
	Notice func(e Event, count int)
	// Warn is called with errors that do not affect the count; it may be nil.
	Warn func(error)
}

// Paused returns why the agent is paused, or "" if it is not.
func (t *Tracker) Paused() (string, error) {
	s, err := t.Journal.standing(t.Key)
	if err != nil || !s.paused {
		return "", err
	}
	return t.paused(s.led, nil).Error(), nil
}

func (t *Tracker) paused(count int, cause *CommandValidationError) *pausedError {
	return &pausedError{Count: count, Resume: resumeCommand(t.Key), Cause: cause}
}

// resumeCommand returns the command line that ends a pause.
func resumeCommand(k Key) string { return "agent-wrapper resume --plan " + shellword.Quote(k.Plan) }

// hallucinated counts a command that was denied. It returns nil as long as the
// agent may go on, a *pausedError from the threshold on, and any other error if
// the event could not be stored and was not counted.
func (t *Tracker) hallucinated(denied *CommandValidationError) error {
	e := &entry{Kind: kindHallucination, Event: t.event(denied)}
	begins, led := false, 0
	err := t.Journal.add(func(state map[Key]standing) []*entry {
		now := state[t.Key]
		e.Count = now.count + 1
		e.Paused = now.paused || e.Count >= t.Threshold
		begins, led = e.Paused && !now.paused, now.led+1
		return []*entry{e}
	})
	if err != nil {
		return fmt.Errorf("the hallucinated command cannot be counted: %w", err)
	}
	t.copy(e.Event)
	if t.Notice != nil {
		t.Notice(e.Event, e.Count)
	}
	if begins {
		t.alert(led)
	}
	if e.Paused {
		return t.paused(led, denied)
	}
	return nil
}

// wouldRefuse stores a command that a dry run would have refused. It does not
// count.
func (t *Tracker) wouldRefuse(denied *CommandValidationError) error {
	e := &entry{Kind: kindDryRun, Event: t.event(denied)}
	e.DryRun = true
	if err := t.Journal.add(func(map[Key]standing) []*entry { return []*entry{e} }); err != nil {
		return fmt.Errorf("what the dry run would have refused cannot be recorded: %w", err)
	}
	t.copy(e.Event)
	return nil
}

// event returns the event of a refusal, without its time.
func (t *Tracker) event(denied *CommandValidationError) Event {
	command, _ := mask.Command(denied.Command)
	return Event{Command: shortened(command), Reason: denied.Reason, AgentID: t.Key.Agent, PlanID: t.Key.Plan}
}

// maxCommand is how many bytes of a command are stored.
const maxCommand = 4 << 10

func shortened(command string) string {
	if len(command) <= maxCommand {
		return command
	}
	return strings.ToValidUTF8(command[:maxCommand], "") + "…"
}

// copy appends an event to the log in the workspace. The agent can write to
// that file, so it must not lead out of the workspace, and the count does not
// depend on it.
func (t *Tracker) copy(e Event) {
	if t.Workspace == "" {
		return
	}
	if err := appendInside(t.Workspace, LogFile, e); err != nil {
		t.warn(fmt.Errorf("%s did not get its copy of a hallucinated command: %w", LogFile, err))
	}
}

func (t *Tracker) warn(err error) {
	if t.Warn != nil {
		t.Warn(err)
	}
}

// appendInside appends a line to a file that no symbolic link may lead out of
// dir.
func appendInside(dir, name string, e Event) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(f)
	enc.SetEscapeHTML(false)
	return errors.Join(enc.Encode(e), f.Close())
}

// alert escalates a pause that has not been escalated.
func (t *Tracker) alert(count int) {
	if t.Escalate == nil {
		return
	}
	recent, err := t.Journal.Events(count, func(e *Event) bool {
		return !e.DryRun && e.AgentID == t.Key.Agent && e.PlanID == t.Key.Plan
	})
	if err != nil {
		t.warn(err)
	}
	t.Escalate(Alert{
		Message: t.paused(count, nil).Error(), Resume: resumeCommand(t.Key),
		AgentID: t.Key.Agent, PlanID: t.Key.Plan, Count: count, Threshold: t.Threshold, Events: recent,
	})
}

// Remind escalates a pause that a process left without escalation, because it
// ended before it could.
func (t *Tracker) Remind() error {
	s, err := t.Journal.standing(t.Key)
	if err == nil && s.paused && !s.escalated {
		t.alert(s.led)
	}
	return err
}

// Escalated records the result of an escalation; failure is nil if it
// succeeded.
func (t *Tracker) Escalated(how string, failure error) error {
	e := &entry{Kind: kindEscalated, How: how, Event: Event{AgentID: t.Key.Agent, PlanID: t.Key.Plan}}
	if failure != nil {
		e.Error = failure.Error()
	}
	return t.Journal.add(func(map[Key]standing) []*entry { return []*entry{e} })
}

// Recorder returns a recorder that counts the denials of the whitelist, stores
// what a dry run would have refused, and passes every record on to next. It does
// not count what a paused agent asks for, nor denials for other reasons.
func (t *Tracker) Recorder(next permission.Recorder) permission.Recorder {
	return &counting{t, next}
}

type counting struct {
	tracker *Tracker
	next    permission.Recorder
}

// Record counts, then records: an event that cannot be stored is an error,
// which becomes a deny. A pause is not an error; the next decision takes it
// into account.
func (c *counting) Record(ctx context.Context, r permission.Record) error {
	err := c.count(r)
	return errors.Join(err, c.next.Record(ctx, r))
}

// count counts the agent's own command, not one that a person edited, nor one that
// only looks where the list is permissive, nor one that the agent was told to say
// otherwise.
func (c *counting) count(r permission.Record) error {
	d, o := r.Result.Decision, r.Result.Refusal
	if r.Edited != nil || texts[Reason(o.Kind)] == "" || r.Result.By == permission.ByAdvice || d.Interrupt || o.Lenient && d.Tier == 1 {
		return nil
	}
	refused := &CommandValidationError{Command: commandOf(r.Use), Reason: Reason(o.Kind), Detail: o.Reason}
	switch {
	case o.Behavior == 0:
		return c.tracker.wouldRefuse(refused)
	case d.Behavior == permission.Allow:
		return nil
	}
	err := c.tracker.hallucinated(refused)
	if errors.Is(err, errAgentPaused) {
		return nil
	}
	return err
}

// commandOf returns the command line of a tool use.
func commandOf(use permission.ToolUse) string {
	var input struct {
		Command string `json:"command"`
	}
	if json.Unmarshal(use.Input, &input) != nil || input.Command == "" {
		return use.Tool + " " + string(use.Input)
	}
	return input.Command
}

func sortStandings(all []Standing) {
	slices.SortFunc(all, func(a, b Standing) int { return cmp.Or(cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.Agent, b.Agent)) })
}
