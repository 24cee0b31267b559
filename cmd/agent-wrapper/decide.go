package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/decide"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decideFlags are the flags of decide.
type decideFlags struct {
	policyFlags
	audit     auditFlags
	count     countFlags
	stdio     bool
	applies   bool // the program runs updatedInput
	approvals string
}

func (a *app) decideCommand() *cobra.Command {
	f := &decideFlags{}
	cmd := &cobra.Command{
		Use:   "decide --stdio",
		Short: "Decide tool uses for another program, over JSON-RPC",
		Long: `decide decides tool uses for a program that runs an agent itself: one JSON-RPC
object per line on standard input, answers on standard output in any order. If
the policy asks, the question goes to the program (--approvals stdio), to any
terminal of yours (--approvals local, see approvals) or to people at a service
(--approvals URL); otherwise the tool use is denied. decide ends when its input
ends. See docs/reference/protocol.md.`,
		Example: `  echo '{"jsonrpc":"2.0","id":1,"method":"canUseTool","params":
    {"tool":"Bash","input":{"command":"git status"}}}' | tr -d '\n' |
    agent-wrapper decide --stdio`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.decide(cmd.Context(), f) },
	}
	f.policyFlags.add(cmd)
	f.addSandbox(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.applies, "applies-input", false, "the program has its shell run updatedInput in place of the input, which commands inside the sandbox need")
	flags.BoolVar(&f.stdio, "stdio", false, "required: use standard input and output")
	flags.StringVar(&f.approvals, "approvals", "none", "who answers when a policy asks, `stdio|local|URL|none`: the calling program, any terminal of yours, people at a service, or nobody")
	offer(cmd, "approvals", "stdio", approvalsLocal, "none")
	flags.StringVar(&f.advice, "advice", "", "before you are asked, tell the agent how to write a command that can be judged: `on|off` (default: on)")
	complete(cmd, "advice", "on", "off")
	f.audit.add(flags)
	f.count.add(flags)
	return cmd
}

// engine opens an engine of a session.
func (f *decideFlags) engine(ctx context.Context, o *engine.Options) (*engine.Engine, error) {
	if !f.applies {
		e, err := engine.Open(*o)
		return e, opening(err)
	}
	var err error
	if o.Within, err = os.Executable(); err != nil {
		return nil, err
	}
	r, err := load(o)
	if err != nil {
		return nil, err
	}
	if err := enclose(ctx, r, false, o.Warn); err != nil {
		return nil, err
	}
	return open(r)
}

// decide serves decisions to a program.
func (a *app) decide(ctx context.Context, f *decideFlags) (err error) {
	switch {
	case !f.stdio:
		return usage("decide speaks JSON-RPC on standard input and output: add --stdio")
	case f.sandbox != "" && !f.applies:
		return usage("--sandbox does nothing without --applies-input: add it if the program runs updatedInput")
	case f.approvals != "stdio" && f.approvals != approvalsLocal && !isServer(f.approvals) && f.approvals != "none":
		return among("--approvals", f.approvals, approvalsStdio, approvalsLocal, "the URL of a server", "none")
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
			return f.engine(ctx, &mine)
		},
	}
	if f.approvals == approvalsLocal || isServer(f.approvals) {
		p, failed := a.asksAt(f.approvals, os.Getppid()) // the agent is the program, or what it starts
		if failed != nil {
			return failed
		}
		defer closing(p, &err)
		serve.Elsewhere = func(e *engine.Engine, menu desk.Menu, warn func(string)) permission.Approver {
			return e.Notifying(p.approver(nil, e, menu, warn), nil)
		}
	}
	return decide.Serve(ctx, a.in, a.out, serve)
}
