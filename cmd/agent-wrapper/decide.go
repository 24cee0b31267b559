package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/decide"
	"github.com/agent-wrapper/agent-wrapper/desk"
	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decideFlags are the flags of decide.
type decideFlags struct {
	policyFlags
	audit     auditFlags
	count     countFlags
	stdio     bool
	approvals string
}

func (a *app) decideCommand() *cobra.Command {
	f := &decideFlags{}
	cmd := &cobra.Command{
		Use:   "decide --stdio",
		Short: "Decide tool uses for a program, as JSON-RPC",
		Long: `decide decides the tool uses of a program that runs an agent itself: one
JSON-RPC object a line on standard input, the answers on standard output, in any
order. What the policies leave to a person is put to the program with
--approvals stdio, to any terminal of this user with --approvals local
(agent-wrapper approvals), and otherwise denied. It ends with its input. See
docs/protocol.md.`,
		Example: `  echo '{"jsonrpc":"2.0","id":1,"method":"canUseTool","params":
    {"tool":"Bash","input":{"command":"git status"}}}' | tr -d '\n' |
    agent-wrapper decide --stdio`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.decide(cmd.Context(), f) },
	}
	f.policyFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.stdio, "stdio", false, "needed: speak on standard input and output")
	flags.StringVar(&f.approvals, "approvals", "none", "who is asked what the policies leave to a person: `stdio|local|URL|none` (the program, any terminal of yours, those who answer at a service, or nobody)")
	complete(cmd, "approvals", "stdio", approvalsLocal, "none")
	flags.StringVar(&f.advice, "advice", "", "tell the agent how to say plainly what is not proven, before a person is asked: `on|off` (default: on)")
	complete(cmd, "advice", "on", "off")
	f.audit.add(flags)
	f.count.add(flags)
	return cmd
}

// decide serves decisions to a program.
func (a *app) decide(ctx context.Context, f *decideFlags) (err error) {
	switch {
	case !f.stdio:
		return usage("add --stdio: there is no other way to speak to decide yet")
	case f.approvals != "stdio" && f.approvals != approvalsLocal && !isServer(f.approvals) && f.approvals != "none":
		return usage("--approvals %q: it is stdio, local, the URL of a server or none", f.approvals)
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if err := f.audit.into(o); err != nil {
		return err
	}
	o.Agent, o.Plan = f.count.agent, f.count.plan
	pipesFail()
	serve := decide.Options{
		Ask: f.approvals == "stdio",
		Open: func(warn func(string)) (*engine.Engine, error) {
			mine := *o
			mine.Warn = warn
			e, err := engine.Open(mine)
			return e, opening(err)
		},
	}
	if f.approvals == approvalsLocal || isServer(f.approvals) {
		p, failed := a.asksAt(f.approvals, os.Getppid()) // the agent is the program, or what it starts
		if failed != nil {
			return failed
		}
		defer closing(p, &err)
		serve.Elsewhere = func(e *engine.Engine, menu desk.Menu, warn func(string)) permission.Approver {
			return p.approver(nil, e, menu, warn)
		}
	}
	return decide.Serve(ctx, a.in, a.out, serve)
}
