package main

import (
	"context"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

// hookFlags are the flags of hook.
type hookFlags struct {
	audit     auditFlags
	approvals string
	plugin    bool // it stands in a plugin
}

func (a *app) hookCommand() *cobra.Command {
	f := &hookFlags{}
	var names []string
	for _, h := range hosts.All() {
		names = append(names, h.Name)
	}
	cmd := &cobra.Command{
		Use:   "hook " + strings.Join(names, "|"),
		Short: "Answer a hook of an agent that runs in its own window",
		Long: `hook is what agent-wrapper install puts into the configuration of an agent. It
reads on standard input what the agent is about to do, decides it by the
policies of the project, and answers as that agent expects. The agent shows what
the policy asks, where it can; elsewhere the question waits for your answer: see
agent-wrapper approvals. Whatever cannot be read, decided or recorded is denied.`,
		Example:   `  agent-wrapper hook claude < payload.json`,
		ValidArgs: names,
		Args:      func(_ *cobra.Command, args []string) error { return hostArg(args, names) },
		RunE:      func(cmd *cobra.Command, args []string) error { return a.hook(cmd.Context(), args[0], f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.approvals, "approvals", approvalsLocal, "who answers what the agent does not ask itself, `local|URL|none`: any terminal of yours, people at a service, or nobody")
	offer(cmd, "approvals", approvalsLocal, "none")
	flags.BoolVar(&f.plugin, entry.InPlugin, false, "")
	flags.MarkHidden(entry.InPlugin)
	f.audit.add(flags)
	return cmd
}

func hostArg(args, names []string) error {
	if len(args) != 1 {
		return usage("agent-wrapper hook takes the name of an agent: write agent-wrapper hook %s", names[0])
	}
	if hosts.Named(args[0]) == nil {
		return among("hook", args[0], names...)
	}
	return nil
}

// hook answers one payload. Every way out but an answer is a denial: the exit code is
// never 1, which lets tools run.
func (a *app) hook(ctx context.Context, name string, f *hookFlags) error {
	o, err := f.options()
	if err == nil {
		o.Host = hosts.Named(name)
		if f.approvals != "none" {
			o.Ask = func(e *engine.Engine) (hook.Asker, error) { return a.hookAsker(f.approvals, e) }
		}
		return exit(hook.Main(ctx, *o, a.in, a.out, a.err))
	}
	return &coded{codeUsage, err} // which is exit code 2, with words
}

func (f *hookFlags) options() (*hook.Options, error) {
	o := &hook.Options{Env: os.Getenv, Plugin: f.plugin}
	if f.approvals != approvalsLocal && f.approvals != "none" && !isServer(f.approvals) {
		return nil, among("--approvals", f.approvals, approvalsLocal, "the URL of a server", "none")
	}
	if err := f.audit.into(&o.Engine); err != nil {
		return nil, err
	}
	dirs := userDirs()
	o.Engine.Dirs, o.Sandbox = &dirs, noSandbox
	var err error
	if o.Engine.Within, err = os.Executable(); err != nil {
		return nil, err
	}
	o.Dir, err = os.Getwd()
	return o, err
}

// noSandbox returns why there is no sandbox on this machine for commands under rules, "" if there
// is one. The error says why there is none at the moment.
func noSandbox(ctx context.Context, r *engine.Rules) (string, error) {
	err := probe(ctx, r)
	if kernel.IsMissing(err) {
		return err.Error(), nil
	}
	return "", err
}

// guards are the programs that may stand between an agent and its hook.
var guards = []string{"sh", "bash", "dash", "zsh", "timeout", "gtimeout", "env"}

// hookAsker returns who asks elsewhere, for a process that does not wait while it has
// its session.
func (a *app) hookAsker(where string, e *engine.Engine) (hook.Asker, error) {
	p, err := a.asksAt(where, process.Starter(guards...))
	if err != nil {
		return nil, err
	}
	return hook.At(p.Broker, func(b approval.Broker) *broker.Approver {
		asks := *p
		asks.Broker = b
		return broker.New(asks.questions(e, menuOf(e), func(string) {})) // nobody sees what a hook prints besides
	}, p.Close), nil
}
