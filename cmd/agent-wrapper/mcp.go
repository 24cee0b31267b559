package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/mcp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
)

// mcpFlags are the flags of mcp.
type mcpFlags struct {
	policyFlags
	audit auditFlags
	count countFlags
}

func (a *app) mcpCommand() *cobra.Command {
	f := &mcpFlags{}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Answer the agent CLI's permission prompts, as an MCP server",
		Long: `mcp is an MCP server on standard input and output with one tool, approve, for
the agent CLI's --permission-prompt-tool. It sees only what the CLI asks about,
not what the CLI runs without asking, and it does not know the directory of a
command; agent-wrapper run sees everything. What the policy would ask you about
is denied.`,
		Example: `  claude -p "fix the failing test" --strict-mcp-config \
    --permission-prompt-tool mcp__agent-wrapper__approve \
    --mcp-config '{"mcpServers":{"agent-wrapper":
        {"command":"agent-wrapper","args":["mcp"]}}}'`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.mcp(cmd.Context(), f) },
	}
	f.policyFlags.add(cmd)
	f.audit.add(cmd.Flags())
	f.count.add(cmd.Flags())
	return cmd
}

// mcp serves the permission prompts of the agent CLI.
func (a *app) mcp(ctx context.Context, f *mcpFlags) error {
	o, err := f.options()
	if err != nil {
		return err
	}
	if err := f.audit.into(o); err != nil {
		return err
	}
	o.Agent, o.Plan = f.count.agent, f.count.plan
	o.Warn = a.warn
	e, err := engine.Open(*o)
	if err != nil {
		return opening(err)
	}
	for _, w := range e.Warnings {
		a.warn(w)
	}
	pipesFail()
	err = mcp.Serve(ctx, a.in, a.out, mcp.Options{
		Decider: e, Version: buildVersion(), Warn: func(err error) { a.warn(plain.Text(err)) },
	})
	return errors.Join(err, e.Close())
}
