package main

import (
	"fmt"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

func (a *app) execSessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "List and clear the rules kept for sessions of exec",
		Long: `What you allow or deny "for this session" applies to later calls of exec in the
same terminal, workspace and kubeconfig, until it expires (--session-ttl). It
never lets a command of tier 3 (destructive) run.`,
		Example: `  agent-wrapper exec session list
  agent-wrapper exec session clear`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.execSessionListCommand(), a.execSessionClearCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// execSessions returns the user's sessions.
func execSessions() (*execution.Sessions, error) {
	dir := userDirs().State
	if dir == "" {
		return nil, opening(engine.ErrNoState)
	}
	return execution.SessionsAt(filepath.Join(dir, sessionsDir)), nil
}

func (a *app) execSessionListCommand() *cobra.Command {
	var form *jsonForm
	cmd := &cobra.Command{
		Use: "list", Short: "List the rules of all sessions", Args: none(""),
		RunE: func(*cobra.Command, []string) error { return a.listSessions(form) },
	}
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// sessionsJSON is the output of exec session list --json.
type sessionsJSON struct {
	envelope
	Rules []execution.Rule `json:"rules"`
}

func (a *app) listSessions(form *jsonForm) error {
	s, err := execSessions()
	if err != nil {
		return err
	}
	rules, err := s.List(time.Now())
	if err != nil {
		return err
	}
	switch {
	case form.on:
		return form.put(&sessionsJSON{Rules: orNone(rules)})
	case len(rules) == 0:
		a.say("nothing is kept")
		return nil
	}
	table := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SESSION\tUNTIL\tLIST\tRULE\tDIRECTORY")
	for _, r := range rules {
		where := r.Dir
		if where == "" {
			where = "(--temp-dir)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", visible.Line(r.Session), r.Until.Local().Format("15:04:05"), r.List, visible.Line(r.Text), visible.Line(where))
	}
	return table.Flush()
}

func (a *app) execSessionClearCommand() *cobra.Command {
	var name string
	var all bool
	cmd := &cobra.Command{
		Use: "clear", Short: "Remove the rules of this session", Args: none(""),
		RunE: func(*cobra.Command, []string) error { return a.clearSession(name, all) },
	}
	cmd.Flags().StringVar(&name, "session", "", "`name` of another session, as list shows it")
	cmd.Flags().BoolVar(&all, "all", false, "of all sessions")
	return cmd
}

func (a *app) clearSession(name string, all bool) error {
	s, err := execSessions()
	switch {
	case err != nil:
		return err
	case all && name != "":
		return usage("--all and --session do not go together")
	case all:
		if err := s.ClearAll(); err != nil {
			return err
		}
		a.say("nothing is kept any more")
		return nil
	}
	if name == "" {
		var ok bool
		if name, ok = tty.Session(); !ok {
			return usage("there is no terminal: name a session with --session, or give --all")
		}
	}
	n, err := s.Clear(name, time.Now())
	if err != nil {
		return err
	}
	a.say("rules taken back: %d", n)
	return nil
}
