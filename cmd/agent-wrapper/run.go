package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// runFlags are the flags of run.
type runFlags struct {
	policyFlags
	prompt, model, session, system string
	agentCommand                   string
	mcp, dirs                      []string
	limit                          limitFlags
	schema, failOn                 string
	output, log, approvals         string
	audit                          auditFlags
	count                          countFlags
	noInput, bypass, managed, bare bool
	talk                           talkFlags
	further                        []string // options for the agent CLI, behind --
	exit                           exitFlags
}

// The values of --fail-on.
const (
	failOnDeny = "deny"
	failOnAsk  = "ask"
)

func (a *app) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] [-- OPTION of the agent CLI...]",
		Short: "Run the agent; your policy decides every tool use",
		Example: `  agent-wrapper run --prompt "fix the failing test" --policy agent-wrapper.toml
  agent-wrapper run --prompt "tidy up" --mode acceptEdits --allow Bash \
      --ask "Bash(git push:*)"
  agent-wrapper run --prompt "review it" --output json --max-turns 20 \
      --timeout 10m -- --effort high | jq -r .text
  agent-wrapper run --mode acceptEdits        # at a terminal: a conversation
  agent-wrapper run --continue`,
		DisableFlagsInUseLine: true,
		Args:                  beforeDash(noTask),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().NFlag() == 0 && len(args) == 0 && !a.atTerminal() {
				return cmd.Help()
			}
			f.further = args
			return a.runAgent(cmd.Context(), f)
		},
	}
	f.policyFlags.add(cmd)
	f.addSandbox(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.prompt, "prompt", "", "the agent's `task`; - reads it from standard input (without it, at a terminal: a conversation)")
	flags.StringVar(&f.model, "model", "", "the agent's `model`")
	flags.StringVar(&f.session, "session", "", "`id` of the session to continue")
	flags.StringVar(&f.system, "append-system-prompt", "", "`text` to add to the agent's system prompt")
	flags.BoolVar(&f.bare, "bare", false, "tell the agent nothing of CLAUDE.md, custom agents and skills, and take the prompt literally")
	flags.Var((*list)(&f.mcp), "mcp-config", "`file` or JSON text with the MCP servers to use, and no others; repeatable")
	flags.Var((*list)(&f.dirs), "add-dir", "a further `directory` for the agent's file tools; repeatable")
	flags.StringVar(&f.agentCommand, "agent-command", "", "`command` that starts the agent CLI (default: claude)")
	flags.BoolVar(&f.managed, "accept-managed", false, "continue even if managed settings of this machine could decide before agent-wrapper does")
	flags.StringVar(&f.advice, "advice", "", "before you are asked, tell the agent how to write a command that can be judged: `on|off` (default: on)")
	complete(cmd, "advice", "on", "off")
	flags.StringVar(&f.approvals, "approvals", "", "who may answer besides this terminal, `local|URL|stdio|exit`: any terminal of yours (agent-wrapper approvals), people at a service (docs/server.md), or the calling program (docs/reference/protocol.md)")
	offer(cmd, "approvals", approvalsLocal, approvalsStdio, approvalsExit)
	f.exit.add(flags)
	f.talk.add(cmd)
	flags.BoolVar(&f.noInput, "no-input", false, "ask nobody: deny what would be asked")
	flags.BoolVar(&f.bypass, "dangerously-skip-permissions", false, "required with --mode bypassPermissions")
	flags.StringVar(&f.output, "output", "", "`text|jsonl|json`: events as text or JSON lines, or one JSON object at the end (default: text on a terminal, else jsonl)")
	complete(cmd, "output", outputText, outputJSONL, outputJSON)
	addJSONOutput(cmd, &f.output)
	f.limit.add(flags)
	flags.StringVar(&f.schema, "json-schema", "", "JSON Schema of the agent's answer: a `file` or the schema itself")
	flags.StringVar(&f.failOn, "fail-on", "", "exit with 3 if a tool use was denied, or (ask) would need a person: `deny|ask`")
	complete(cmd, "fail-on", failOnDeny, failOnAsk)
	flags.StringVar(&f.log, "log", "", "write every line of the agent protocol to this `file`, with secrets masked")
	f.audit.add(flags)
	f.count.add(flags)
	return cmd
}

// noTask rejects arguments: what people write there is the task.
func noTask(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("%s is not a flag: give the agent's task with --prompt", quoted(args[0]))
}

// runAgent runs the agent CLI once.
func (a *app) runAgent(ctx context.Context, f *runFlags) (err error) {
	if f.byEditor() {
		return a.runForEditor(ctx, f)
	}
	if f.approvals != "" && f.noInput {
		return usage("--no-input and --approvals do not go together: --no-input asks nobody; leave one of them out")
	}
	if err := f.talk.choose(f, a.atTerminal()); err != nil {
		return err
	}
	if f.talk.input == inputJSONL {
		return a.runForProgram(ctx, f)
	}
	out := a.result(f.output)
	ctx, r, err := f.start(ctx, a, f.output, out)
	if err != nil {
		return err
	}
	defer closing(r, &err)
	if f.talk.typed {
		return a.talks(ctx, f, r, out)
	}
	here := a.approver(f.noInput, r.events, r.screen, r.engine.Rules, keeping(r.engine.Rules))
	rings := ringing(here)
	if f.approvals != "" {
		p, failed := a.asksAt(f.approvals, os.Getpid())
		if failed != nil {
			return failed
		}
		defer closing(p, &err)
		here = p.approver(here, r.engine, menuOf(r.engine), r.events.warn)
	}
	r.engine.SetApprover(r.engine.Notifying(here, rings))
	ctx, stop := f.limit.within(ctx)
	defer stop()
	outcome, err := drive(ctx, r.engine, r.agent, r.task, r.events)
	out.outcome = outcome
	r.events.ends(outcome.Spent, time.Since(a.began))
	if lost := r.screen.Failed(); lost != nil {
		return lost
	}
	if err == nil {
		err = r.events.failed()
	}
	var none *claude.NoAgent
	if f.agentCommand != "" && errors.As(err, &none) {
		return &coded{codeUsage, err} // named on the command line
	}
	if err := runEnd(ctx, outcome, err); err != nil {
		return err
	}
	if why := r.events.tally.exceeds(f.failOn); why != "" {
		return ending(reasonFailOn, codeDenied, errors.New(why))
	}
	return gaveUp(outcome)
}

// driven is a run whose agent is about to be driven.
type driven struct {
	agent  *claude.Agent
	task   *wrapper.Task
	screen *ask.Screen
	events *stream
	engine *engine.Engine
	log    *os.File // nil for none
}

// start reads the flags, and opens what a run writes. What is told is counted in out,
// which may be nil. The context ends with the output.
func (f *runFlags) start(ctx context.Context, a *app, output string, out *report) (_ context.Context, r *driven, err error) {
	r = &driven{}
	if r.agent, r.task, err = f.agent(a.input(ctx)); err != nil {
		return ctx, nil, err
	}
	ctx, r.screen = a.screen(ctx)
	if r.events, err = newEvents(r.screen, output); err != nil {
		return ctx, nil, err
	}
	if out != nil {
		out.tally = &r.events.tally
	}
	if r.engine, err = f.engine(ctx, r.events); err != nil {
		return ctx, nil, err
	}
	if r.log, err = openLog(f.log); err != nil {
		return ctx, nil, errors.Join(err, r.engine.Close())
	}
	if r.log != nil {
		r.agent.Log = r.log
	}
	if err := f.talk.goOn(r); err != nil {
		return ctx, nil, errors.Join(err, r.Close())
	}
	return ctx, r, nil
}

// Close closes what was opened.
func (r *driven) Close() error {
	var err error
	if r.log != nil {
		err = r.log.Close()
	}
	return errors.Join(err, r.engine.Close())
}

// byEditor reports whether the program that started us answers the questions.
func (f *runFlags) byEditor() bool {
	return f.approvals != "" && f.approvals != approvalsLocal && !isServer(f.approvals)
}

// result returns what the result of a run is gathered in. It is written when the
// program ends, if it is what is to be put out.
func (a *app) result(output string) *report {
	r := &report{}
	if output == outputJSON {
		a.outcome = r
	}
	return r
}

// engine returns the engine for a run.
func (f *runFlags) engine(ctx context.Context, events *stream) (*engine.Engine, error) {
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if f.approvals == approvalsExit {
		o.Base = []policy.Source{{Kind: policy.Named, Name: "--approvals exit", Spec: &policy.Spec{Mode: modes.AcceptEdits.String()}, Trusted: true}}
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
	if err := enclose(ctx, r, false, events.warn); err != nil {
		return nil, err
	}
	return open(r)
}

// drive runs an agent under the rules and shows its events.
func drive(ctx context.Context, e *engine.Engine, d wrapper.Driver, task *wrapper.Task, events *stream) (wrapper.Outcome, error) {
	events.base = e.Place.Workspace
	if task.Events == nil {
		task.Events = events.event
	}
	defer events.live.heed(wrapper.Event{Type: wrapper.DoneEvent}, "")
	return e.Drive(ctx, d, *task)
}

// countFlags are the names under which hallucinated commands are counted.
type countFlags struct{ agent, plan string }

func (f *countFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.agent, "agent", "agent", "`name` of the agent, for counting made-up commands")
	flags.StringVar(&f.plan, "plan", "", "`file` with the plan that the agent works on, for counting made-up commands (default: the workspace)")
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
	schema, err := outputSchema(f.schema)
	if err != nil {
		return nil, nil, err
	}
	return &claude.Agent{
		Command: command, Model: f.model, MCPConfig: f.mcp, AddDirs: slices.Concat(f.dirs, f.roots),
		AppendSystemPrompt: f.system, Briefed: !f.bare, AcceptManaged: f.managed,
		MaxTurns: int(f.limit.turns), MaxBudgetUSD: float64(f.limit.budget), OutputSchema: schema, Options: f.further,
	}, &wrapper.Task{Prompt: prompt, Typed: !f.bare && !f.byEditor(), Session: f.session, Fork: f.exit.fork}, nil
}

// handed checks the files and directories that are passed on to the agent CLI.
func (f *runFlags) handed() error {
	for _, config := range f.mcp {
		if isText(config) {
			if !json.Valid([]byte(config)) {
				return usage("--mcp-config %s is not valid JSON: write '{\"mcpServers\":{…}}', or name a file", quoted(config))
			}
			continue
		}
		if info, err := os.Stat(config); err != nil || info.IsDir() {
			return usage("--mcp-config: there is no file %s: name one, or give its JSON text", config)
		}
	}
	for _, dir := range f.dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usage("--add-dir: there is no directory %s: name one that exists", dir)
		}
	}
	if err := claude.CheckSession(f.session); err != nil {
		return usage("%w", err)
	}
	if err := ifGiven("--fail-on", f.failOn, failOnDeny, failOnAsk); err != nil {
		return err
	}
	if err := claude.CheckOptions(f.further); err != nil {
		return usage("after --: %w", err)
	}
	return nil
}

// maxSchema is the size of the longest JSON Schema, in bytes: the agent CLI takes it
// as an argument, of which Linux has no longer ones.
const maxSchema = 120 << 10

// outputSchema returns the JSON Schema that --json-schema names or is.
func outputSchema(given string) (string, error) {
	if given == "" {
		return "", nil
	}
	text, name := given, quoted(given)
	if !isText(given) {
		data, err := os.ReadFile(given)
		if err != nil {
			return "", usage("--json-schema: %s cannot be read: name a file that can, or give the schema as JSON text", given)
		}
		text, name = string(data), given
	}
	if _, err := strictjson.Object([]byte(text), strictjson.MaxSize(16<<20)); err != nil {
		return "", usage(`--json-schema %s is not a JSON object (%w): write '{"type":"object",…}', or name a file with it`, name, err)
	}
	var short bytes.Buffer
	if err := json.Compact(&short, []byte(text)); err != nil {
		return "", usage("--json-schema %s: %w", name, err)
	}
	if short.Len() > maxSchema {
		return "", usage("--json-schema %s has %d bytes, and the agent CLI takes %d at most: make it shorter", name, short.Len(), maxSchema)
	}
	return short.String(), nil
}

// isText reports whether a value of --mcp-config or --json-schema is the JSON text
// itself.
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
	if strings.TrimSpace(prompt) == "" && f.approvals != approvalsStdio && !f.talk.typed && f.talk.input != inputJSONL {
		return "", usage(`there is no task: give it with --prompt "fix the failing test", or --prompt - to read it from standard input; at a terminal, run without it is a conversation`)
	}
	return prompt, nil
}

// checkBypass requires the dangerous mode and its flag together.
func (f *runFlags) checkBypass(mode modes.Mode) error {
	switch {
	case mode == modes.BypassPermissions && !f.bypass:
		return usage("mode bypassPermissions allows everything but what a deny rule, a protected file or tier 3 (destructive) stops; ask rules no longer ask: add --dangerously-skip-permissions if you mean that")
	case mode != modes.BypassPermissions && f.bypass && f.approvals != approvalsStdio:
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
