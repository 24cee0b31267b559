package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
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
	guard                          guardFlags
	noInput, bypass, managed       bool
}

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the agent; every tool use is decided by your rules",
		Example: `  agent-wrapper run --prompt "fix the failing test" --policy agent-wrapper.toml
  agent-wrapper run --prompt "tidy up" --mode acceptEdits --allow Bash --ask "Bash(git push:*)"`,
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
	flags.StringArrayVar(&f.mcp, "mcp-config", nil, "`file` or JSON text with MCP servers; no others are used; repeatable")
	flags.StringArrayVar(&f.dirs, "add-dir", nil, "a further `directory` for the agent's file tools; repeatable")
	flags.StringVar(&f.agentCommand, "agent-command", "", "the agent CLI, a `command` with its first arguments (default: claude)")
	flags.BoolVar(&f.managed, "accept-managed", false, "go on although managed settings of this machine could answer before us")
	flags.BoolVar(&f.noInput, "no-input", false, "ask nobody: what would be asked is denied")
	flags.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "needed beside --mode bypassPermissions")
	flags.StringVar(&f.output, "output", "", "form of the event stream: `text|jsonl` (default: text on a terminal, else jsonl)")
	flags.StringVar(&f.log, "log", "", "`file` that gets every line of the agent protocol, secrets masked")
	f.audit.add(flags)
	f.guard.add(flags)
	return cmd
}

// runAgent is one run of the agent CLI.
func (a *app) runAgent(ctx context.Context, f *runFlags) (err error) {
	options, err := f.options(a.in)
	if err != nil {
		return err
	}
	c, err := f.compile()
	if err != nil {
		return err
	}
	if err := f.checkBypass(c.policy.Mode); err != nil {
		return err
	}
	ctx, screen := a.screen(ctx)
	events, err := newStream(screen, f.output)
	if err != nil {
		return err
	}
	record, err := f.audit.open()
	if err != nil {
		return err
	}
	defer closing(record, &err)
	log, err := openLog(f.log)
	if err != nil {
		return err
	}
	if log != nil {
		defer closing(log, &err)
		options.Log = log
		c.policy.Guarded = append(c.policy.Guarded, absolute(f.log))
	}
	for _, file := range f.mcpFiles() {
		c.policy.Protect = append(c.policy.Protect, permission.ProtectedFile(file))
	}
	d := c.desk()
	d.keep = f.keeper(c)
	g, err := c.guard(f.guard, record, events.warn)
	if err != nil && len(c.ceiling) > 0 {
		return err // without a whitelist there is nothing to count
	}
	outcome, err := c.run(ctx, options, record, g, events, a.approver(f.noInput, events, screen, d))
	if lost := screen.failed(); lost != nil {
		return lost
	}
	if err == nil {
		err = events.failed()
	}
	var none *claude.NoAgent
	if f.agentCommand != "" && errors.As(err, &none) {
		return &coded{codeUsage, err} // it was named on the command line
	}
	return runEnd(outcome, err)
}

// run runs an agent under the policy; every decision is recorded. g, which
// counts made-up commands, and person may be nil.
func (c *compiled) run(ctx context.Context, o *claude.Options, r *record, g *guard, events *stream, person permission.Approver) (claude.Outcome, error) {
	c.policy.Guarded = append(c.policy.Guarded, r.files...)
	events.base = c.place.Workspace
	for _, w := range c.warnings {
		events.warn(w)
	}
	o.Dir = c.place.Workspace
	o.Disallowed = texts(c.spec.Deny)
	o.Events, o.Paused = events.event, c.session.Paused
	o.Outcome = r.outcome
	v := c.evaluator()
	v.Recorder, v.Approver = r, claude.Announce(events.event, person)
	if g != nil {
		defer g.close()
		v.Recorder, v.Pauser = g.recorder(c.rehearses()), g
	}
	o.Decider = v
	return claude.Run(ctx, *o)
}

// openLog opens the file of --log; "" is none.
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

// options are the options of the wrapper that come straight from flags.
func (f *runFlags) options(stdin io.Reader) (*claude.Options, error) {
	prompt, err := f.task(stdin)
	if err != nil {
		return nil, err
	}
	command, err := commandWords(f.agentCommand)
	if err != nil {
		return nil, usage("--agent-command: %w", err)
	}
	if err := f.handed(); err != nil {
		return nil, err
	}
	return &claude.Options{
		Prompt: prompt, Command: command, Model: f.model, Session: f.session,
		MCPConfig: f.mcp, AddDirs: f.dirs, AppendSystemPrompt: f.system, AcceptManaged: f.managed,
	}, nil
}

// handed checks the files and directories that are handed to the agent CLI.
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

// mcpFiles are the files with MCP servers: who changes one has the agent CLI
// start another program the next time.
func (f *runFlags) mcpFiles() []string {
	var files []string
	for _, config := range f.mcp {
		if !isText(config) {
			files = append(files, absolute(config))
		}
	}
	return files
}

// task is the prompt.
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

// checkBypass wants the dangerous mode and its flag together.
func (f *runFlags) checkBypass(mode modes.Mode) error {
	switch {
	case mode == modes.BypassPermissions && !f.bypass:
		return usage("mode bypassPermissions allows whatever no deny or ask rule names: add --dangerously-skip-permissions if that is meant")
	case mode != modes.BypassPermissions && f.bypass:
		return usage("--dangerously-skip-permissions does nothing by itself: add --mode bypassPermissions, or leave it out")
	}
	return nil
}

// closing closes a file that was written; an error that it reports counts if
// there was none before.
func closing(file io.Closer, err *error) {
	if closeErr := file.Close(); *err == nil && closeErr != nil {
		*err = closeErr
	}
}

func texts(items []policy.Item) []string {
	var out []string
	for _, item := range items {
		out = append(out, item.Text)
	}
	return out
}

// runEnd is what the end of a run means for the exit code.
func runEnd(outcome claude.Outcome, err error) error {
	var breach *claude.Breach
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
