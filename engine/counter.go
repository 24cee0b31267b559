package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

// counter counts hallucinated commands and pauses the agent at the threshold.
type counter struct {
	*whitelist.Tracker
	escalation whitelist.Escalation
	record     *record
	dryRun     bool
	warn       func(string)
}

// PlanID names a plan in the journal: the absolute path of its file, or of the
// workspace that an agent works in without one.
func PlanID(plan string) string { return absolute(plan) }

// Tracker says whether an agent is paused, and counts nothing.
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
		escalation: whitelist.Escalation{Command: e.Command, Webhook: e.Webhook, Run: runProgram},
		record:     record, dryRun: r.dryRun() && len(r.gates) > 0, warn: warn,
	}
	c.Warn = func(err error) { warn(err.Error()) }
	c.Notice, c.Escalate = c.notice, c.escalate
	return c, c.Remind()
}

// recorder counts, and tells what a dry run comes to, before the record.
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

// dryRunLine is what a dry run says of a command, "" of another tool use.
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

// escalate tells of a pause: whoever watches, the record, and whom the policy
// names.
func (c *counter) escalate(a whitelist.Alert) {
	c.warn("AGENT PAUSED: " + a.Message)
	c.note("paused", a.Message)
	c.escalation.Tell(a, func(how string, err error) {
		words := how + ": a person was told"
		if err != nil {
			words = how + ": " + err.Error()
			c.warn("nobody was told of the pause yet by " + words)
		}
		c.note("escalation", words)
		if err := c.Escalated(how, err); err != nil {
			c.warn(err.Error())
		}
	})
}

func (c *counter) note(name, words string) {
	if err := c.record.Note(name, words); err != nil {
		c.warn(err.Error())
	}
}

// close waits until a person was told, for a minute at most.
func (c *counter) close() { c.escalation.Wait() }

// programLimit is how long a program that tells a person may take.
const programLimit = 10 * time.Second

// runProgram runs the program of an escalation.
func runProgram(ctx context.Context, argv []string, stdin []byte) error {
	c := &process.Command{Args: argv, Env: os.Environ(), Stdin: bytes.NewReader(stdin), Limit: programLimit}
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
