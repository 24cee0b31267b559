package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// runFlags are the flags of run.
type runFlags struct {
	policyFlags
	prompt, model, session, system string
	agentCommand                   string
	mcp, dirs                      []string
	output, log                    string
	audit                          auditFlags
	count                          countFlags
	noInput, bypass, managed       bool
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the agent; every tool use is decided by your rules",
		Example: `  agent-wrapper run --prompt "fix the failing test" --policy agent-wrapper.toml
  agent-wrapper run --prompt "tidy up" --mode acceptEdits --allow Bash \
      --ask "Bash(git push:*)"`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().NFlag() == 0 {
				return cmd.Help()
			}
			return a.runAgent(cmd.Context(), f)
		},
	}
	f.policyFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.prompt, "prompt", "", "the agent's `task`; - reads it from standard input")
	flags.StringVar(&f.model, "model", "", "the agent's `model`")
	flags.StringVar(&f.session, "session", "", "`id` of the session to go on with")
	flags.StringVar(&f.system, "append-system-prompt", "", "`text` that is added to the agent's system prompt")
	flags.Var((*list)(&f.mcp), "mcp-config", "`file` or JSON text with MCP servers; no others are used; repeatable")
	flags.Var((*list)(&f.dirs), "add-dir", "a further `directory` for the agent's file tools; repeatable")
	flags.StringVar(&f.agentCommand, "agent-command", "", "the agent CLI, a `command` with its first arguments (default: claude)")
	flags.BoolVar(&f.managed, "accept-managed", false, "go on although managed settings of this machine could answer before us")
	flags.StringVar(&f.advice, "advice", "", "tell the agent how to say plainly what is not proven, before a person is asked: `on|off` (default: on)")
	complete(cmd, "advice", "on", "off")
	flags.BoolVar(&f.noInput, "no-input", false, "ask nobody: what would be asked is denied")
	flags.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "needed beside --mode bypassPermissions")
	flags.StringVar(&f.output, "output", "", "form of the event stream: `text|jsonl` (default: text on a terminal, else jsonl)")
	flags.StringVar(&f.log, "log", "", "`file` that gets every line of the agent protocol, secrets masked")
	f.audit.add(flags)
	f.count.add(flags)
	return cmd
}

// runAgent runs the agent CLI once.
func (a *app) runAgent(ctx context.Context, f *runFlags) (err error) {
	agent, task, err := f.agent(a.in)
	if err != nil {
		return err
	}
	ctx, screen := a.screen(ctx)
	events, err := newStream(screen, f.output)
	if err != nil {
		return err
	}
	e, err := f.engine(events)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	log, err := openLog(f.log)
	if err != nil {
		return err
	}
	if log != nil {
		defer closing(log, &err)
		agent.Log = log
	}
	e.SetApprover(a.approver(f.noInput, events, screen, keeping(e.Rules)))
	outcome, err := drive(ctx, e, agent, task, events)
	if lost := screen.Failed(); lost != nil {
		return lost
	}
	if err == nil {
		err = events.failed()
	}
	var none *claude.NoAgent
	if f.agentCommand != "" && errors.As(err, &none) {
		return &coded{codeUsage, err} // named on the command line
	}
	return runEnd(outcome, err)
}

// engine returns the engine for a run.
func (f *runFlags) engine(events *stream) (*engine.Engine, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if err := f.audit.into(o); err != nil {
		return nil, err
	}
	if f.log != "" {
		o.Guard = append(o.Guard, f.log)
	}
	o.Protect = f.mcpFiles()
	o.Agent, o.Plan, o.Warn = f.count.agent, f.count.plan, events.warn
	r, err := load(o)
	if err != nil {
		return nil, err
	}
	if err := f.checkBypass(r.Policy.Mode); err != nil {
		return nil, err
	}
	return open(r)
}

// drive runs an agent under the rules and shows its events.
func drive(ctx context.Context, e *engine.Engine, d wrapper.Driver, task *wrapper.Task, events *stream) (wrapper.Outcome, error) {
	events.base = e.Place.Workspace
	task.Events = events.event
	return e.Drive(ctx, d, *task)
}

// countFlags are the names under which hallucinated commands are counted.
type countFlags struct{ agent, plan string }

func (f *countFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.agent, "agent", "agent", "`name` that the agent's made-up commands are counted under")
	flags.StringVar(&f.plan, "plan", "", "`file` of the plan that the agent works on, for the same (default: the workspace)")
}

// openLog opens the file of --log, nil for "".
func openLog(path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	log, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, unwritable("--log", err)
	}
	return log, nil
}

// agent returns the agent CLI and its task.
func (f *runFlags) agent(stdin io.Reader) (*claude.Agent, *wrapper.Task, error) {
	prompt, err := f.task(stdin)
	if err != nil {
		return nil, nil, err
	}
	command, err := process.Words(f.agentCommand)
	if err != nil {
		return nil, nil, usage("--agent-command: %w", err)
	}
	if err := f.handed(); err != nil {
		return nil, nil, err
	}
	return &claude.Agent{
		Command: command, Model: f.model, MCPConfig: f.mcp, AddDirs: slices.Concat(f.dirs, f.roots),
		AppendSystemPrompt: f.system, AcceptManaged: f.managed,
	}, &wrapper.Task{Prompt: prompt, Session: f.session}, nil
}

// handed checks the files and directories that are passed on to the agent CLI.
func (f *runFlags) handed() error {
	for _, config := range f.mcp {
		if isText(config) {
			if !json.Valid([]byte(config)) {
				return usage("--mcp-config %s: it is no JSON: write '{\"mcpServers\":{…}}', or name a file", quoted(config))
			}
			continue
		}
		if info, err := os.Stat(config); err != nil || info.IsDir() {
			return usage("--mcp-config: there is no file %s: name one, or give its JSON text", config)
		}
	}
	for _, dir := range f.dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usage("--add-dir: there is no directory %s", dir)
		}
	}
	return nil
}

// isText reports whether a value of --mcp-config is the configuration itself.
func isText(config string) bool { return strings.HasPrefix(strings.TrimSpace(config), "{") }

// mcpFiles returns the files that define MCP servers. By changing one, the agent
// would choose a program for the next run.
func (f *runFlags) mcpFiles() []string {
	var files []string
	for _, config := range f.mcp {
		if !isText(config) {
			files = append(files, absolute(config))
		}
	}
	return files
}

// task returns the prompt.
func (f *runFlags) task(stdin io.Reader) (string, error) {
	prompt := f.prompt
	if prompt == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return "", err
		}
		prompt = string(data)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", usage("there is nothing to do: give the agent's task with --prompt TEXT (or --prompt - and standard input)")
	}
	return prompt, nil
}

// checkBypass requires the dangerous mode and its flag together.
func (f *runFlags) checkBypass(mode modes.Mode) error {
	switch {
	case mode == modes.BypassPermissions && !f.bypass:
		return usage("mode bypassPermissions allows what no deny rule, protected file or tier 3 stands against, also what an ask rule names: add --dangerously-skip-permissions if that is meant")
	case mode != modes.BypassPermissions && f.bypass:
		return usage("--dangerously-skip-permissions does nothing by itself: add --mode bypassPermissions, or leave it out")
	}
	return nil
}

// closing closes a file that was written. Its error counts if there was none
// before.
func closing(file io.Closer, err *error) {
	if closeErr := file.Close(); *err == nil && closeErr != nil {
		*err = closeErr
	}
}

// runEnd returns the error, with its exit code, for the end of a run.
func runEnd(outcome wrapper.Outcome, err error) error {
	var breach *wrapper.Breach
	switch {
	case errors.As(err, &breach):
		return &coded{codeDenied, err}
	case err != nil:
		return err
	case outcome.Stopped != "":
		return &coded{codeDenied, errors.New("the run ended on a denial: " + outcome.Stopped)}
	case outcome.Failed != "":
		return errors.New("the agent gave up: " + outcome.Failed)
	}
	return nil
}
