package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// counter counts hallucinated commands and pauses the agent at the threshold.
type counter struct {
	*whitelist.Tracker
	escalation whitelist.Escalation
	record     *record
	dryRun     bool
	warn       func(string)
}

// PlanID returns the name of a plan in the journal: the absolute path of its
// file, or of the workspace for an agent that works without a plan.
func PlanID(plan string) string { return absolute(plan) }

// Tracker returns a tracker that tells whether the agent of the options is
// paused. It counts nothing.
func (r *Rules) Tracker() (*whitelist.Tracker, error) {
	journal, err := r.options.dirs().Journal()
	if err != nil {
		return nil, err
	}
	agent, plan := r.options.Agent, r.options.Plan
	if agent == "" {
		agent = "agent"
	}
	if plan == "" {
		plan = r.Place.Workspace
	}
	return &whitelist.Tracker{
		Journal: journal, Key: whitelist.Key{Agent: agent, Plan: PlanID(plan)},
		Threshold: r.threshold(), Workspace: r.Place.Workspace,
	}, nil
}

func (r *Rules) newCounter(record *record) (*counter, error) {
	tracker, err := r.Tracker()
	if err != nil {
		return nil, err
	}
	warn := r.options.Warn
	if warn == nil {
		warn = func(string) {}
	}
	e := r.Spec.Escalation
	c := &counter{
		Tracker:    tracker,
		escalation: whitelist.Escalation{Command: e.Command, Webhook: e.Webhook, Run: r.runProgram},
		record:     record, dryRun: r.dryRun() && len(r.gates) > 0, warn: warn,
	}
	c.Warn = func(err error) { warn(err.Error()) }
	c.Notice, c.Escalate = c.notice, c.escalate
	return c, c.Remind()
}

// recorder counts a decision, and announces its result in a dry run, before it is
// recorded.
func (c *counter) recorder() permission.Recorder {
	next := c.Recorder(c.record)
	if !c.dryRun {
		return next
	}
	return recordFunc(func(ctx context.Context, r permission.Record) error {
		if line := dryRunLine(r); line != "" {
			c.warn(line)
		}
		return next.Record(ctx, r)
	})
}

type recordFunc func(context.Context, permission.Record) error

func (f recordFunc) Record(ctx context.Context, r permission.Record) error { return f(ctx, r) }

// dryRunLine returns the message of a dry run about a command, "" for other
// tools.
func dryRunLine(r permission.Record) string {
	command := display.Summary(&r.Use)
	switch o := r.Result.Refusal; {
	case r.Use.Tool != "Bash" && r.Use.Tool != "Monitor":
		return ""
	case o.Kind == "":
		return "[DRY RUN] Command validated: " + command
	default:
		return fmt.Sprintf("[DRY RUN] Command would be blocked: %s (%s)", command, o.Reason)
	}
}

func (c *counter) notice(e whitelist.Event, count int) {
	c.warn(fmt.Sprintf("command hallucination detected: %s (%s), %d of %d", e.Command, e.Reason, count, c.Threshold))
}

// escalate announces a pause through Warn, the record and the policy's
// escalation.
func (c *counter) escalate(a whitelist.Alert) {
	c.warn("AGENT PAUSED: " + a.Message)
	c.note("paused", a.Message)
	c.escalation.Tell(a, func(how string, err error) {
		words := how + ": a person was told"
		if err != nil {
			words = how + ": " + err.Error()
			c.warn("the pause has not been announced yet by " + words)
		}
		c.note("escalation", words)
		if err := c.Escalated(how, err); err != nil {
			c.warn(err.Error())
		}
	})
}

func (c *counter) note(name, words string) {
	if err := c.record.Note("", name, words); err != nil {
		c.warn(err.Error())
	}
}

// close waits for escalations that are under way, for at most a minute.
func (c *counter) close() { c.escalation.Wait() }

// programLimit is the time limit of the program of an escalation.
const programLimit = 10 * time.Second

// runProgram runs the program of an escalation with the alert as its input.
func (r *Rules) runProgram(ctx context.Context, argv []string, stdin []byte) error {
	c := &process.Command{Args: argv, Env: append(os.Environ(), "PATH="+r.OwnPath()), Stdin: bytes.NewReader(stdin), Limit: programLimit}
	res, err := c.Run(ctx)
	switch {
	case err != nil:
		return err
	case res.TimedOut || res.Cancelled:
		return fmt.Errorf("%s took too long", argv[0])
	case res.Exit != 0:
		return fmt.Errorf("%s: exit code %d", argv[0], res.Exit)
	}
	return nil
}
