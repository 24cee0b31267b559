package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// executeFlags are the flags of execute.
type executeFlags struct {
	planFlags
	audit           auditFlags
	limit           time.Duration
	dryRun, noInput bool
	json            *jsonForm
	agent, path     string
}

// gateLimit is the default time limit of a gate.
const gateLimit = 30 * time.Second

func (a *app) executeCommand() *cobra.Command {
	f := &executeFlags{}
	cmd := &cobra.Command{
		Use:   "execute PLAN",
		Short: "Run the gates of a plan that the whitelist and the policy allow",
		Long: `execute runs the gates of a plan in the order of its items' dependencies. Right
before a gate starts, the whitelist and the policies of the machine, the user
and the workspace decide it. A blocked gate is not run and not tried again; what
a whitelist blocks is counted, and at the threshold the agent is paused (see
agent-wrapper resume). With --sandbox each gate runs in a sandbox (Linux): see
agent-wrapper policy sandbox.

The exit code is 0 if all gates passed, 1 if one failed, and 3 if one was
blocked. Nothing runs, and it is 2, if the plan or the whitelist is wrong; and
3, if the sandbox is required and cannot be planned or built.`,
		Example: `  agent-wrapper execute plan.json --dry-run
  agent-wrapper execute plan.json --json --timeout 5m --no-input`,
		Args: exactly(1, "the file of a plan"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.path = args[0]
			return a.execute(cmd.Context(), f)
		},
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.Var((*list)(&f.ask), "ask", "ask `rules`, in addition to the policy's")
	flags.Var((*list)(&f.deny), "deny", "deny `rules`: 'Bash(rm:*)'; repeatable")
	flags.DurationVar(&f.limit, "timeout", gateLimit, "how long a gate may take, such as 90s or 5m")
	f.addSandbox(cmd)
	flags.BoolVar(&f.dryRun, "dry-run", false, "run nothing: show what would run")
	f.json = a.addJSON(cmd, jsonOnce)
	flags.BoolVar(&f.noInput, "no-input", false, "ask nobody: block what would be asked")
	flags.StringVar(&f.agent, "agent", "agent", "`name` of the agent that wrote the plan, for counting made-up commands")
	f.audit.add(flags)
	return cmd
}

func (a *app) execute(ctx context.Context, f *executeFlags) error {
	if f.limit <= 0 {
		return usage("--timeout %v: write a time above 0", f.limit)
	}
	s := ask.NewScreen(a.err, nil)
	o := &engine.Options{Agent: f.agent, Plan: f.path, Warn: func(text string) {
		fmt.Fprintf(s, "agent-wrapper: %s\n", visible.Line(text))
	}}
	if err := f.audit.into(o); err != nil {
		return err
	}
	p, err := f.plannedBy(o)
	if err != nil {
		return fmt.Errorf("nothing runs: %w", err)
	}
	if err := p.lift(a); err != nil {
		return err
	}
	plan, err := p.plan(f.path)
	if err != nil {
		return err
	}
	if err := enclose(ctx, p.Rules, f.sandbox != "", a.warn); err != nil {
		return &coded{codeDenied, err}
	}
	p.tellLists(a)
	if f.dryRun {
		return a.rehearse(f, p, plan)
	}
	return a.runGates(ctx, f, p, plan, s)
}

// lift removes the whitelists if a person asks for it in our environment and the
// administrator does not forbid it.
func (p *planned) lift(a *app) error {
	switch value := os.Getenv(gates.Bypass); {
	case value == "" || value == "0":
		return nil
	case value != "1":
		a.warn(fmt.Sprintf("%s=%s does nothing: set it to 1 to lift the whitelist", gates.Bypass, value))
		return nil
	case p.Spec.WhitelistBypass == "off":
		return &coded{codeDenied, fmt.Errorf("%s=1 is refused: the policy of this machine does not let you lift a whitelist", gates.Bypass)}
	}
	p.Lift()
	p.lifted, p.names = true, []string{"none: lifted by " + gates.Bypass}
	return nil
}

// runner returns the runner of a plan's gates, without what only a real run
// needs.
func (f *executeFlags) runner(p *planned) *gates.Runner {
	return &gates.Runner{
		Workspace: p.Place.Workspace, Options: p.options(), Agent: f.agent, Session: "execute-" + rand.Text()[:12],
		Command: p.command, Shell: p.shell(), Env: gates.Environment(os.Environ()), Limit: f.limit,
	}
}

// runGates runs a plan.
func (a *app) runGates(ctx context.Context, f *executeFlags, p *planned, plan *gates.Plan, s *ask.Screen) (err error) {
	e, err := open(p.Rules)
	if err != nil {
		return err
	}
	defer closing(e, &err)
	if err := p.recordLift(a, e, f.path); err != nil {
		return err
	}
	person := a.approver(f.noInput, &stream{out: s, json: true}, s, p.Rules, keeping(p.Rules))
	e.SetApprover(e.Notifying(person, ringing(person)))
	r := f.runner(p)
	watch := &progress{out: s}
	if isTerminal(a.err) {
		watch.every = elapsed
	}
	r.Decider, r.Recorder, r.Watcher, r.Output = e, e, watch, watch.output
	r.Inside = func(ctx context.Context, allowed *gates.Allowed, c *process.Command) (process.Result, []sandbox.Met, error) {
		in := enclosed{engine: e, use: allowed.Use, line: allowed.Line, outward: allowed.Outward, say: allowed.Say}
		res, err := in.run(ctx, c)
		return res, in.met, err
	}
	tellBlocked(s, foreseen(r, plan, person == nil))
	results, err := r.Run(ctx, plan)
	if err := errors.Join(a.writeResults(f, p, results), err); err != nil {
		return err
	}
	return exit(resultsCode(results))
}

// recordLift records that the whitelist is lifted, before anything runs.
func (p *planned) recordLift(a *app, record interface {
	Note(session, name, words string) error
}, path string) error {
	if !p.lifted {
		return nil
	}
	words := fmt.Sprintf("%s=1 in the environment: no whitelist applies to this run of %s", gates.Bypass, absolute(path))
	if err := record.Note("", "whitelist_bypass", words); err != nil {
		return fmt.Errorf("the whitelist is not lifted and nothing runs: %w", err)
	}
	const line = "!!! ------------------------------------------------------------"
	fmt.Fprintf(a.err, "%s\n!!! THE WHITELIST IS LIFTED for this run (%s=1).\n!!! Deny rules, tiers and the guard against catastrophes still apply.\n!!! The audit log notes it: agent-wrapper audit search --kind note\n%s\n", line, gates.Bypass, line)
	return nil
}

// foreseen returns what would happen to the gates now. With nobody to ask, what
// would be asked is blocked.
func foreseen(r *gates.Runner, plan *gates.Plan, nobody bool) []gates.Preview {
	list := r.Preview(plan)
	for i := range list {
		if nobody && list[i].Would == gates.WouldAsk {
			list[i].Would = gates.WouldBlock
		}
	}
	return list
}

// tellBlocked lists what is known to be blocked, before anything runs.
func tellBlocked(out io.Writer, list []gates.Preview) {
	for _, v := range list {
		if v.Would == gates.WouldBlock {
			fmt.Fprintf(out, "%s: will be blocked (%s: %s)\n", gateName(v.Item, v.Gate), v.Failure, visible.Line(v.Reason))
		}
	}
}

// resultsCode returns the exit code for results.
func resultsCode(results []gates.Result) int {
	code := codeDone
	for i := range results {
		switch results[i].Status {
		case gates.Blocked:
			code = codeDenied
		case gates.Pass:
		default:
			code = max(code, codeInternal)
		}
	}
	return code
}

// counts is the number of gates by status.
type counts struct {
	Pass    int `json:"pass"`
	Fail    int `json:"fail"`
	Blocked int `json:"blocked"`
	Skipped int `json:"skipped"`
}

func counted(results []gates.Result) (n counts) {
	for i := range results {
		switch results[i].Status {
		case gates.Pass:
			n.Pass++
		case gates.Fail:
			n.Fail++
		case gates.Blocked:
			n.Blocked++
		default:
			n.Skipped++
		}
	}
	return n
}

// executedJSON is the output of execute --json.
type executedJSON struct {
	envelope
	Plan       string         `json:"plan"`
	Agent      string         `json:"agent"`
	Whitelists []string       `json:"whitelists"`
	Summary    counts         `json:"summary"`
	Results    []gates.Result `json:"results"`
}

// rehearsedJSON is the output of execute --dry-run --json.
type rehearsedJSON struct {
	envelope
	Plan       string          `json:"plan"`
	Agent      string          `json:"agent"`
	Whitelists []string        `json:"whitelists"`
	DryRun     bool            `json:"dry_run"`
	Gates      []gates.Preview `json:"gates"`
}

func (a *app) writeResults(f *executeFlags, p *planned, results []gates.Result) error {
	n := counted(results)
	if f.json.on {
		return f.json.put(&executedJSON{
			Plan: absolute(f.path), Agent: f.agent, Whitelists: orNone(p.names), Summary: n, Results: orNone(results),
		})
	}
	t := newTable(a.out, "ITEM", "GATE", "RESULT", "TIME", "COMMAND")
	for _, r := range results {
		t.row(r.Item, r.Gate, string(r.Status), fmt.Sprint(time.Duration(r.Took)*time.Millisecond), r.Command)
		if r.Failure != "" {
			t.more(string(r.Failure) + ": " + r.Reason)
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(a.out, "%d passed, %d failed, %d blocked, %d skipped\n", n.Pass, n.Fail, n.Blocked, n.Skipped)
	return err
}

// rehearse shows what execute would do. Nothing is recorded or counted.
func (a *app) rehearse(f *executeFlags, p *planned, plan *gates.Plan) error {
	tracker, err := p.Tracker()
	if err != nil {
		return opening(err)
	}
	v := p.Evaluator()
	v.Pauser = tracker
	r := f.runner(p)
	r.Decider = v
	list := foreseen(r, plan, f.noInput)
	if f.json.on {
		err = f.json.put(&rehearsedJSON{Plan: absolute(f.path), Agent: f.agent, Whitelists: orNone(p.names), DryRun: true, Gates: orNone(list)})
	} else {
		err = writePreview(a.out, list)
	}
	if err != nil {
		return err
	}
	for i := range list {
		if list[i].Would == gates.WouldBlock {
			return exit(codeDenied)
		}
	}
	return nil
}

func writePreview(out io.Writer, list []gates.Preview) error {
	t := newTable(out, "ITEM", "GATE", "WOULD", "COMMAND")
	for _, v := range list {
		t.row(v.Item, v.Gate, v.Would, v.Command)
		switch {
		case v.Failure != "":
			t.more(string(v.Failure) + ": " + v.Reason)
		case v.Reason != "":
			t.more(v.Reason)
		case len(v.Runs) > 0:
			where := ""
			if v.Sandbox != "" {
				where = " " + v.Sandbox + " the sandbox"
			}
			t.more("runs " + strings.Join(quotedAll(v.Runs), " ") + where)
		}
	}
	return t.flush()
}

func quotedAll(words []string) []string {
	var list []string
	for _, w := range words {
		list = append(list, fmt.Sprintf("%q", w))
	}
	return list
}
