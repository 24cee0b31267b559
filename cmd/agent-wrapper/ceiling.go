package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
	"github.com/agent-wrapper/agent-wrapper/workspace"
)

// bindWhitelists reads the whitelists that bind commands: those that the policy
// names, and usual if it is there, "" for none. One that cannot be read lets no
// command pass, and is among the errors.
func (c *compiled) bindWhitelists(usual string) (unusable []error) {
	for _, file := range c.whitelistFiles(usual) {
		c.policy.Guarded = append(c.policy.Guarded, file)
		list, err := whitelist.Read(file)
		if err != nil {
			c.ceiling = append(c.ceiling, whitelist.Unusable{Err: err})
			unusable = append(unusable, fmt.Errorf("no command may run, since its whitelist cannot be used: %w%s", err, c.namedIn(file)))
			continue
		}
		c.lists = append(c.lists, list)
		c.ceiling = append(c.ceiling, c.validator(list, false))
	}
	return unusable
}

// validator holds commands against a list; argv says that they run without a
// shell.
func (c *compiled) validator(list *whitelist.List, argv bool) *whitelist.Validator {
	return &whitelist.Validator{List: list, Argv: argv, Look: c.look}
}

// whitelistFiles are the files of the whitelists that bind, absolute: those that
// the policy names, and usual if something is there.
func (c *compiled) whitelistFiles(usual string) []string {
	var files []string
	for _, item := range c.spec.Whitelists {
		if file := besidePolicy(item); !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if usual == "" || slices.Contains(files, usual) {
		return files
	}
	if _, err := os.Lstat(usual); !errors.Is(err, fs.ErrNotExist) {
		files = append(files, usual)
	}
	return files
}

// namedIn says which policy names a whitelist, if one does.
func (c *compiled) namedIn(file string) string {
	for _, item := range c.spec.Whitelists {
		if besidePolicy(item) == file {
			return ", which is named in " + display.Place(item.Source)
		}
	}
	return ""
}

// usualWhitelist is where a whitelist lies that no policy names, "" if none such
// counts.
func (p *policyFlags) usualWhitelist(place patterns.Place) string {
	if p.isolated {
		return ""
	}
	return filepath.Join(place.Workspace, whitelist.FileName)
}

// besidePolicy is the file that an item of a policy names: relative to the
// policy's own.
func besidePolicy(item policy.Item) string {
	if filepath.IsAbs(item.Text) {
		return filepath.Clean(item.Text)
	}
	return absolute(filepath.Join(filepath.Dir(item.Source.Name), item.Text))
}

// evaluator decides by the policy and its whitelists, and asks nobody.
func (c *compiled) evaluator() *permission.Evaluator {
	v := &permission.Evaluator{Policy: c.policy, Session: c.session, Env: workspace.Env{Place: c.place}}
	if len(c.ceiling) > 0 {
		v.Ceiling = c.ceiling
	}
	return v
}

// guardFlags say whose commands are counted.
type guardFlags struct{ agent, plan string }

func (f *guardFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.agent, "agent", "agent", "`name` that the agent's made-up commands are counted under")
	flags.StringVar(&f.plan, "plan", "", "`file` of the plan that the agent works on, for the same (default: the workspace)")
}

// guard counts made-up commands and pauses the agent at the threshold.
type guard struct {
	*whitelist.Tracker
	escalation whitelist.Escalation
	record     *record
	tell       func(string)
}

// guard makes the guard of a run; tell is told what a person should know at
// once.
func (c *compiled) guard(f guardFlags, r *record, tell func(string)) (*guard, error) {
	j, err := journal()
	if err != nil {
		return nil, err
	}
	plan := f.plan
	if plan == "" {
		plan = c.place.Workspace
	}
	e := c.spec.Escalation
	g := &guard{
		Tracker: &whitelist.Tracker{
			Journal: j, Key: whitelist.Key{Agent: f.agent, Plan: planID(plan)}, Threshold: c.threshold(), Workspace: c.place.Workspace,
			Warn: func(err error) { tell(err.Error()) },
		},
		escalation: whitelist.Escalation{Command: e.Command, Webhook: e.Webhook, Run: runProgram},
		record:     r, tell: tell,
	}
	g.Notice, g.Escalate = g.notice, g.escalate
	return g, g.Remind()
}

// recorder counts, and tells what a dry run comes to, before the record.
func (g *guard) recorder(dry bool) permission.Recorder {
	next := g.Recorder(g.record)
	if !dry {
		return next
	}
	return recordFunc(func(ctx context.Context, r permission.Record) error {
		if line := rehearsed(r); line != "" {
			g.tell(line)
		}
		return next.Record(ctx, r)
	})
}

type recordFunc func(context.Context, permission.Record) error

func (f recordFunc) Record(ctx context.Context, r permission.Record) error { return f(ctx, r) }

// rehearsed is what a dry run says of a command, "" of another tool use.
func rehearsed(r permission.Record) string {
	command := summary(&r.Use)
	switch o := r.Result.Objection; {
	case r.Use.Tool != "Bash" && r.Use.Tool != "Monitor":
		return ""
	case o.Kind == "":
		return "[DRY RUN] Command validated: " + command
	default:
		return fmt.Sprintf("[DRY RUN] Command would be blocked: %s (%s)", command, o.Reason)
	}
}

// rehearses reports whether one of the whitelists is a dry run.
func (c *compiled) rehearses() bool {
	return slices.ContainsFunc(c.lists, func(l *whitelist.List) bool { return l.Policy().DryRunMode })
}

// threshold is the lowest of those that the whitelists have.
func (c *compiled) threshold() int {
	lowest := math.MaxInt
	for _, list := range c.lists {
		lowest = min(lowest, list.Policy().HallucinationThreshold)
	}
	return lowest
}

func (g *guard) notice(e whitelist.Event, count int) {
	g.tell(fmt.Sprintf("command hallucination detected: %s (%s), %d of %d", e.Command, e.Reason, count, g.Threshold))
}

// escalate tells of a pause: whoever watches, the record, and whom the policy
// names.
func (g *guard) escalate(a whitelist.Alert) {
	g.tell("AGENT PAUSED: " + a.Message)
	g.note("paused", a.Message)
	g.escalation.Tell(a, func(how string, err error) {
		words := how + ": a person was told"
		if err != nil {
			words = how + ": " + err.Error()
			g.tell("nobody was told of the pause yet by " + words)
		}
		g.note("escalation", words)
		if err := g.Escalated(how, err); err != nil {
			g.tell(err.Error())
		}
	})
}

func (g *guard) note(name, words string) {
	if err := g.record.Note(name, words); err != nil {
		g.tell(err.Error())
	}
}

// close waits until a person was told, for a minute at most.
func (g *guard) close() { g.escalation.Wait() }

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
