package main

import (
	"fmt"
	"os/user"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

// journal returns the user's journal of hallucinated commands.
func journal() (*whitelist.Journal, error) {
	j, err := userDirs().Journal()
	return j, opening(err)
}

// subject are the flags that select agents and plans.
type subject struct{ plan, agent string }

func (s *subject) add(cmd *cobra.Command, plan string) {
	cmd.Flags().StringVar(&s.plan, "plan", "", plan)
	cmd.Flags().StringVar(&s.agent, "agent", "", "only the agent with this `name`")
}

// is reports whether an agent on a plan is selected.
func (s *subject) is(agent, plan string) bool {
	return (s.plan == "" || plan == engine.PlanID(s.plan)) && (s.agent == "" || agent == s.agent)
}

const onlyPlan = "only those for the plan in this `file`, or for this workspace"

func (a *app) hallucinationsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hallucinations",
		Short: "List commands that agents made up, and reset the count",
		Long: `A command that the whitelist denies is counted for the agent and its plan. At
the threshold the agent is paused until you run agent-wrapper resume.`,
		Example: `  agent-wrapper hallucinations list --count 20
  agent-wrapper hallucinations list --dry-run
  agent-wrapper hallucinations count
  agent-wrapper hallucinations reset --plan plan.json`,
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.hallucinationsListCommand(), a.hallucinationsCountCommand(), a.hallucinationsResetCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

func (a *app) hallucinationsListCommand() *cobra.Command {
	var of subject
	var count int
	var dryRun bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use: "list", Short: "List the latest made-up commands", Args: none(""),
		RunE: func(*cobra.Command, []string) error {
			if count < 1 {
				return usage("--count %d: write 1 or more", count)
			}
			return a.listHallucinations(&of, count, form, dryRun)
		},
	}
	of.add(cmd, onlyPlan)
	cmd.Flags().IntVar(&count, "count", 10, "how many to show at most")
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "instead, list what a whitelist in dry_run_mode would have refused")
	return cmd
}

// inventedJSON is the output of hallucinations list --json.
type inventedJSON struct {
	envelope
	Commands []whitelist.Event `json:"commands"`
}

func (a *app) listHallucinations(of *subject, count int, form *jsonForm, dryRun bool) error {
	j, err := journal()
	if err != nil {
		return err
	}
	events, err := j.Events(count, func(e *whitelist.Event) bool { return e.DryRun == dryRun && of.is(e.AgentID, e.PlanID) })
	if err != nil {
		return err
	}
	if form.on {
		return form.put(&inventedJSON{Commands: orNone(events)})
	}
	if len(events) == 0 {
		said := "No made-up commands."
		if dryRun {
			said = "A dry run would have refused no commands."
		}
		fmt.Fprintln(a.err, said)
		return nil
	}
	for _, e := range events {
		_, err = fmt.Fprintf(a.out, "%s  %-15s  %s  %s\n    %s\n", e.Timestamp, e.Reason, visible.Line(e.AgentID), visible.Line(e.PlanID), visible.Line(e.Command))
		if err != nil {
			return err
		}
	}
	return nil
}

func (a *app) hallucinationsCountCommand() *cobra.Command {
	var of subject
	var form *jsonForm
	cmd := &cobra.Command{
		Use: "count", Short: "Count made-up commands, and show who is paused", Args: none(""),
		RunE: func(*cobra.Command, []string) error { return a.countHallucinations(&of, form) },
	}
	of.add(cmd, onlyPlan)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// countsJSON is the output of hallucinations count --json.
type countsJSON struct {
	envelope
	Counts []countRow `json:"counts"`
}

// countRow is an agent with its plan.
type countRow struct {
	AgentID string `json:"agent_id"`
	PlanID  string `json:"plan_id"`
	Count   int    `json:"count"`
	Paused  bool   `json:"paused"`
}

func (a *app) countHallucinations(of *subject, form *jsonForm) error {
	j, err := journal()
	if err != nil {
		return err
	}
	all, err := j.Standings()
	if err != nil {
		return err
	}
	rows := []countRow{}
	for _, s := range all {
		if of.is(s.Agent, s.Plan) {
			rows = append(rows, countRow{s.Agent, s.Plan, s.Count, s.Paused})
		}
	}
	if form.on {
		return form.put(&countsJSON{Counts: rows})
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COUNT\tPAUSED\tAGENT\tPLAN")
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t%v\t%s\t%s\n", r.Count, r.Paused, visible.Line(r.AgentID), visible.Line(r.PlanID))
	}
	return table.Flush()
}

func (a *app) hallucinationsResetCommand() *cobra.Command {
	var of subject
	var all, broken bool
	cmd := &cobra.Command{
		Use: "reset", Short: "Reset the count; pauses stay", Args: none(""),
		RunE: func(*cobra.Command, []string) error {
			j, err := journal()
			if err != nil {
				return err
			}
			switch {
			case broken:
				return a.setAside(j)
			case of.plan == "" && !all:
				return usage("--plan is missing: give a plan, or --all")
			}
			cleared, err := j.Reset(me(), func(s whitelist.Standing) bool { return of.is(s.Agent, s.Plan) })
			return a.cleared("count reset", "No counts to reset.", cleared, func(s whitelist.Standing) int { return s.Count }, err)
		},
	}
	of.add(cmd, onlyPlan)
	cmd.Flags().BoolVar(&all, "all", false, "for all plans")
	cmd.Flags().BoolVar(&broken, "broken", false, "set aside a journal that cannot be read; this ends all pauses")
	return cmd
}

func (a *app) setAside(j *whitelist.Journal) error {
	aside, err := j.SetAside()
	if err == nil {
		fmt.Fprintf(a.err, "The journal is now %s; a new one is empty.\n", aside)
	}
	return err
}

// cleared reports whose count was reset, and after how many hallucinated commands; none
// is what to say if there was nobody.
func (a *app) cleared(what, none string, those []whitelist.Standing, after func(whitelist.Standing) int, err error) error {
	if err != nil {
		return err
	}
	if len(those) == 0 {
		fmt.Fprintln(a.err, none)
	}
	for _, s := range those {
		fmt.Fprintf(a.out, "%s: agent %s on %s, after %d made-up commands\n", what, visible.Line(s.Agent), visible.Line(s.Plan), after(s))
	}
	return nil
}

// me returns the name of the user, for the journal.
func me() string {
	who, err := user.Current()
	if err != nil {
		return "unknown"
	}
	return who.Username
}
