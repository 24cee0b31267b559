package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

func (a *app) resumeCommand() *cobra.Command {
	var of subject
	cmd := &cobra.Command{
		Use:   "resume [SESSION | --plan FILE]",
		Short: "Resume an agent that was paused",
		Long: `resume ends a pause. An agent in its own window is paused when its session
reaches a limit of the policy ([limits] with then = "pause"), an agent that
works on a plan when it has made up too many commands. Without a session and a
plan, resume lists what is paused.

SESSION is the name of a session, or its beginning, with or without the agent in
front. Its counts begin anew. --plan is for the agents of a plan; look at their
commands first: agent-wrapper hallucinations list --plan FILE

What an agent starts is refused.`,
		Example: `  agent-wrapper resume
  agent-wrapper resume claude:1f0c
  agent-wrapper resume --plan plan.json
  agent-wrapper resume --plan .          # an agent that worked without a plan`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 1:
				return fmt.Errorf("%s takes one session: run it once for each", cmd.CommandPath())
			case len(args) == 1 && of.plan != "":
				return fmt.Errorf("%s and --plan do not go together: leave one of them out", quoted(args[0]))
			case len(args) == 0 && of.plan == "" && of.agent != "":
				return fmt.Errorf("--agent names an agent of a plan: add --plan")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case of.plan != "":
				return a.resumePlan(&of)
			case len(args) == 1:
				return a.resumeSession(cmd.Context(), args[0])
			}
			return a.listPaused()
		},
	}
	of.add(cmd, "`file` with the plan, or the workspace of an agent without one")
	return cmd
}

// resumePlan ends the pause of the agents of a plan.
func (a *app) resumePlan(of *subject) error {
	if err := onlyPerson("end a pause"); err != nil {
		return err
	}
	j, err := journal()
	if err != nil {
		return err
	}
	resumed, err := j.Resume(engine.PlanID(of.plan), of.agent, me())
	return a.cleared("resumed", "No paused agents on this plan.", resumed, func(s whitelist.Standing) int { return s.Led }, err)
}

// resumeSession ends the pause of the session with a name, or with one that begins so.
func (a *app) resumeSession(ctx context.Context, name string) error {
	if err := onlyPerson("end a pause"); err != nil {
		return err
	}
	p, err := a.pausedSession(name)
	if err != nil {
		return err
	}
	dirs := userDirs()
	// The session has the policies with which it began, whatever those of now are.
	rules, err := engine.Load(engine.Options{Dir: p.Workspace, Dirs: &dirs, Frozen: []policy.Frozen{}})
	if err != nil {
		return err
	}
	e, err := rules.Open()
	if err != nil {
		return err
	}
	was, err := e.EndPause(ctx, p.Session, me())
	if err := errors.Join(err, e.Close()); err != nil {
		return err
	}
	if !was {
		fmt.Fprintf(a.err, "%s is not paused any more.\n", visible.Line(p.Session))
		return nil
	}
	fmt.Fprintf(a.out, "resumed: %s in %s; its counts begin anew. It was paused: %s\n", visible.Line(p.Session), visible.Line(p.Workspace), visible.Line(p.Why))
	return nil
}

// pausedSession returns the one paused session whose name begins so.
func (a *app) pausedSession(name string) (engine.PausedSession, error) {
	all, err := a.paused()
	if err != nil {
		return engine.PausedSession{}, err
	}
	var found []engine.PausedSession
	var names []string
	for _, p := range all {
		_, id, _ := strings.Cut(p.Session, ":")
		if p.Session == name {
			return p, nil
		}
		if name != "" && (strings.HasPrefix(p.Session, name) || strings.HasPrefix(id, name)) {
			found, names = append(found, p), append(names, visible.Line(p.Session))
		}
	}
	switch len(found) {
	case 0:
		return engine.PausedSession{}, usage("no paused session has a name that begins with %q: run agent-wrapper resume to list them", name)
	case 1:
		return found[0], nil
	}
	return engine.PausedSession{}, usage("%q fits several sessions: write more of the name (%s)", name, strings.Join(names, ", "))
}

// paused returns the sessions that are paused, and warns of those that cannot be read.
func (a *app) paused() ([]engine.PausedSession, error) {
	all, err := userDirs().PausedSessions()
	if errors.Is(err, engine.ErrNoState) {
		return nil, usage("%w: set HOME or XDG_STATE_HOME", err)
	}
	if err != nil {
		a.warn(err.Error())
	}
	return all, nil
}

// listPaused lists what is paused, with the command that ends it.
func (a *app) listPaused() error {
	sessions, err := a.paused()
	if err != nil {
		return err
	}
	j, err := journal()
	if err != nil {
		return err
	}
	plans, err := j.Standings()
	if err != nil {
		return err
	}
	none := true
	put := func(what, why, command string) {
		none = false
		fmt.Fprint(a.out, wrapped(visible.Line(what), "  ", columns(a.out)), wrapped("  "+visible.Line(why), "  ", columns(a.out)), "  to resume: "+visible.Line(command)+"\n")
	}
	for _, p := range sessions {
		put("session "+p.Session+" in "+p.Workspace, p.Why, "agent-wrapper resume "+p.Session)
	}
	for _, s := range plans {
		if s.Paused {
			put("agent "+s.Agent+" on "+s.Plan, fmt.Sprintf("%d made-up commands", s.Led), "agent-wrapper resume --plan "+shellword.Quote(s.Plan)+" --agent "+shellword.Quote(s.Agent))
		}
	}
	if none {
		fmt.Fprintln(a.err, "Nothing is paused.")
	}
	return nil
}
