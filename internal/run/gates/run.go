package gates

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Status is the status of a gate.
type Status string

// The statuses. A blocked gate did not run and is not retried.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Blocked Status = "blocked"
	Skipped Status = "skipped"
)

// Failure is the reason why a gate did not pass.
type Failure string

// The failures: the first three are those of a blocked gate, the next three of
// a failed one, the others of a skipped one.
const (
	Hallucination      Failure = "hallucination" // denied by the whitelist
	Denied             Failure = "denied"        // denied by the policy or a person
	Paused             Failure = "paused"        // the agent is paused
	TimedOut           Failure = "timeout"
	Exited             Failure = "exit" // the exit code is not 0
	NotStarted         Failure = "not_started"
	Dependency         Failure = "dependency" // an item that it depends on did not pass
	UnsupportedRuntime Failure = "unsupported_runtime"
	Interrupted        Failure = "interrupted" // the run ended before its turn
)

// Result is the result of one gate.
type Result struct {
	Item      string     `json:"item"`
	Gate      string     `json:"gate"`
	Command   string     `json:"command"` // the line that ran, or would have run
	Status    Status     `json:"status"`
	Failure   Failure    `json:"failure_type,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Sandbox   string     `json:"sandbox,omitempty"`   // inside or outside, "" if there is no sandbox, or the gate did not get that far
	Met       []string   `json:"met,omitempty"`       // what the sandbox refused a gate that failed inside, as in the record
	Exit      *int       `json:"exit_code,omitempty"` // nil if it did not run, or is unknown
	Took      int64      `json:"duration_ms"`
	Artifacts []Artifact `json:"artifacts,omitempty"` // of a gate that passed
}

// Artifact is a file that a gate should produce.
type Artifact struct {
	Path    string `json:"path"`
	Present bool   `json:"present"`
}

// Decider decides tool uses, as *permission.Evaluator does.
type Decider interface {
	CanUseTool(context.Context, permission.ToolUse) (permission.Result, error)
	Explain(permission.ToolUse, *permission.Trace) permission.Decision
}

// Recorder records the outcome of a gate that was allowed, and what the sandbox refused it.
type Recorder interface {
	GateEnded(use permission.ToolUse, failed bool, exit *int, met []string) error
}

// Watcher is notified of each gate as it runs.
type Watcher interface {
	Begins(item, gate string)     // right before it starts
	Says(item, gate, text string) // something that a person should know of it
	Ends(*Result)
}

// Runner runs the gates of a plan one by one.
type Runner struct {
	Decider        Decider
	Recorder       Recorder
	Watcher        Watcher
	Workspace      string        // where plans run, absolute and without links
	Options        shell.Options // how lines are parsed, except Dir, which is the gate's
	Agent, Session string        // of the tool uses
	// Command returns how a line runs without a shell. If it needs one, the
	// error is ErrShell, and Shell says whether bash may run it.
	Command func(line string, facts *shell.Facts) (argv, env []string, err error)
	Shell   bool
	Env     []string      // of the programs; what a gate sets comes after it
	Limit   time.Duration // of each gate
	// Output returns the writer for a gate's output.
	Output func(item, gate string) io.Writer
	// Inside runs the command of an allowed gate inside the sandbox, and returns what the sandbox
	// refused it if it has failed, the clearest first; nil: there is no sandbox, and what was
	// decided to run inside does not run.
	Inside func(context.Context, *Allowed, *process.Command) (process.Result, []sandbox.Met, error)

	run func(context.Context, *process.Command) (process.Result, error) // for tests; nil runs the command
}

// Allowed is what was allowed of a gate.
type Allowed struct {
	Use     *permission.ToolUse
	Line    string                           // which a person may have edited
	Outward string                           // as permission.Decision.SandboxWhy
	Say     func(format string, args ...any) // tells a person
}

// ErrShell is the error for a line that runs more than one program, or another
// one than its words say.
var ErrShell = errors.New("it needs a shell, and the whitelist does not allow shell operators")

// Environment returns the environment of gates, given that of this program:
// without the variable that lifts the whitelist, and with only the absolute
// directories of PATH, so that no program is looked up relative to a gate's
// directory.
func Environment(own []string) []string {
	env := slices.DeleteFunc(slices.Clone(own), func(item string) bool {
		name, _, _ := strings.Cut(item, "=")
		return name == Bypass
	})
	var dirs []string
	for _, item := range env {
		if list, ok := strings.CutPrefix(item, "PATH="); ok {
			dirs = slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
		}
	}
	if len(dirs) == 0 {
		dirs = []string{"/nonexistent"} // an empty PATH means the current directory
	}
	return append(env, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
}

// Run runs all gates of a plan and returns their results, in the order of the
// plan. An error is one of the recorder; the results are complete nevertheless,
// and a gate whose decision could not be recorded did not run.
func (r *Runner) Run(ctx context.Context, p *Plan) ([]Result, error) {
	s := &state{Runner: r, failed: map[string]bool{}}
	for i := range p.Items {
		s.item(ctx, &p.Items[i])
	}
	return s.results, errors.Join(s.errs...)
}

// state is the state of one run.
type state struct {
	*Runner
	failed  map[string]bool // items that did not pass
	results []Result
	errs    []error
}

func (s *state) item(ctx context.Context, item *Item) {
	waits := slices.IndexFunc(item.Deps, func(dep string) bool { return s.failed[dep] })
	s.failed[item.Name] = waits >= 0
	for i := range item.Gates {
		g := &item.Gates[i]
		res := Result{Item: item.Name, Gate: g.Name, Command: g.Run, Status: Skipped}
		switch {
		case waits >= 0:
			res.Failure, res.Reason = Dependency, fmt.Sprintf("item %s did not pass", item.Deps[waits])
		case ctx.Err() != nil:
			res.Failure, res.Reason = Interrupted, context.Cause(ctx).Error()
		case g.unsupported():
			res.Failure, res.Reason = UnsupportedRuntime, "runtime "+g.Runtime+" is not supported: only local gates run here"
		default:
			s.gate(ctx, g, &res)
		}
		if res.Status != Pass {
			s.failed[item.Name] = true
		}
		s.Watcher.Ends(&res)
		s.results = append(s.results, res)
	}
}

func (g *Gate) unsupported() bool { return g.Runtime != "" && g.Runtime != local }

// gate has a gate decided, and runs it if it is allowed.
func (s *state) gate(ctx context.Context, g *Gate, res *Result) {
	dir, err := g.start(s.Workspace)
	if err != nil {
		res.fail(NotStarted, err.Error())
		return
	}
	use := s.use(res.Item, g, dir)
	decided, err := s.Decider.CanUseTool(ctx, use)
	if err != nil || decided.Behavior != permission.Allow {
		res.blocked(&decided)
		return
	}
	if line, err := lineOf(decided.UpdatedInput); err != nil {
		res.fail(NotStarted, err.Error())
	} else {
		res.Command, res.Sandbox = line, sandboxed(decided.Sandbox) // a person may have edited it
		s.start(ctx, g, &Allowed{&use, line, decided.SandboxWhy, func(format string, args ...any) {
			s.Watcher.Says(res.Item, res.Gate, fmt.Sprintf(format, args...))
		}}, res)
	}
	if err := s.Recorder.GateEnded(use, res.Status != Pass, res.Exit, res.Met); err != nil {
		s.errs = append(s.errs, err)
	}
}

// use returns the tool use of a gate.
func (r *Runner) use(item string, g *Gate, dir string) permission.ToolUse {
	input, _ := json.Marshal(map[string]string{"command": g.Run}) // cannot fail: strings only
	return permission.ToolUse{ID: item + "/" + g.Name, Tool: "Bash", Input: input, Dir: dir, Agent: r.Agent, Session: r.Session, OwnShell: true}
}

func lineOf(input json.RawMessage) (string, error) {
	var in struct {
		Command string `json:"command"`
	}
	err := json.Unmarshal(input, &in)
	if err == nil && in.Command == "" {
		err = errors.New("it contains no command")
	}
	if err != nil {
		return "", fmt.Errorf("the input that was allowed: %w", err)
	}
	return in.Command, nil
}

// hallucinated are the kinds of refusals that count as hallucinated commands.
var hallucinated = []string{string(whitelist.TooLong), string(whitelist.ShellOperators), string(whitelist.NotWhitelisted), string(whitelist.DangerousArgs)}

// blocked records why a gate was not allowed.
func (res *Result) blocked(decided *permission.Result) {
	res.Status, res.Failure, res.Reason = Blocked, Denied, decided.Reason
	switch o := decided.Refusal; {
	case decided.Interrupt:
		res.Failure = Paused
	case o.Behavior != 0 && slices.Contains(hallucinated, o.Kind):
		res.Failure, res.Reason = Hallucination, o.Kind+": "+o.Reason
	}
}

func (res *Result) fail(why Failure, reason string) {
	res.Status, res.Failure, res.Reason = Fail, why, reason
}

// Where a gate runs, if there is a sandbox.
const (
	inside  = "inside"
	outside = "outside"
)

// sandboxed returns where a gate runs.
func sandboxed(decided permission.Sandboxed) string {
	switch {
	case decided == 0:
		return ""
	case decided.Held():
		return inside
	}
	return outside
}

// errNoSandbox is the error for a gate that was decided to run inside the sandbox that nobody builds.
var errNoSandbox = errors.New("it was decided to run inside the sandbox, and there is none")

// runs runs the command of a gate where it was decided to run.
func (s *state) runs(ctx context.Context, allowed *Allowed, c *process.Command, where string) (ended process.Result, met []sandbox.Met, err error) {
	switch {
	case where == inside && s.Inside == nil:
		err = &process.NotStarted{Program: c.Args[0], Err: errNoSandbox}
	case where == inside:
		return s.Inside(ctx, allowed, c)
	case s.run != nil:
		ended, err = s.run(ctx, c)
	default:
		ended, err = c.Run(ctx)
	}
	return ended, nil, err
}

// start runs an allowed line.
func (s *state) start(ctx context.Context, g *Gate, allowed *Allowed, res *Result) {
	dir := allowed.Use.Dir
	cmd, err := s.command(res.Command, g, dir)
	if err != nil {
		res.fail(NotStarted, err.Error())
		return
	}
	cmd.Stdout = s.Output(res.Item, g.Name)
	cmd.Stderr = cmd.Stdout
	s.Watcher.Begins(res.Item, g.Name)
	ended, met, err := s.runs(ctx, allowed, cmd, res.Sandbox)
	res.ended(ctx, &ended, err, s.limitOf(cmd))
	res.meets(met)
	if res.Status == Pass {
		res.Artifacts = g.left(dir)
	}
}

// command returns what an allowed line runs: the program itself or, if the line
// needs a shell and may have one, bash with exactly that line.
func (r *Runner) command(line string, g *Gate, dir string) (*process.Command, error) {
	options := r.Options
	options.Dir = dir
	argv, assigned, err := r.Command(line, shell.Analyze(line, options))
	switch {
	case errors.Is(err, ErrShell) && r.Shell:
		argv, assigned = []string{"bash", "-c", line}, nil
	case err != nil:
		return nil, err
	}
	process.DefaultSignals()
	env := append(slices.Clip(r.Env), "PWD="+dir)
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		env = append(env, name+"="+g.Env[name])
	}
	return &process.Command{Args: argv, Dir: dir, Env: append(env, assigned...), Limit: r.Limit}, nil
}

// limitOf returns the time limit of a command that has run, and whose it is if that is not
// the runner's.
func (r *Runner) limitOf(c *process.Command) string {
	if c.Limit == r.Limit {
		return c.Limit.String()
	}
	return fmt.Sprintf("%v (%s)", c.Limit, sandbox.TimeLimit)
}

// ended translates how a program ended into a result.
func (res *Result) ended(ctx context.Context, ended *process.Result, err error, limit string) {
	res.Took = ended.Took.Milliseconds()
	var none *process.NotStarted
	if errors.As(err, &none) {
		res.fail(NotStarted, err.Error())
		return
	}
	if ended.Exit >= 0 {
		res.Exit = &ended.Exit
	}
	switch {
	case ended.TimedOut:
		res.fail(TimedOut, "it was stopped after "+limit)
	case ended.Cancelled:
		res.fail(Interrupted, context.Cause(ctx).Error())
	case ended.Exit != 0:
		res.fail(Exited, fmt.Sprintf("exit code %d", ended.Exit))
	case err != nil:
		res.fail(Exited, err.Error())
	default:
		res.Status = Pass
	}
}

// meets notes what the sandbox refused a gate that has failed, and what to do about the first.
func (res *Result) meets(met []sandbox.Met) {
	if res.Failure == Exited && len(met) > 0 {
		res.Met = sandbox.Names(met)
		res.Reason += "; " + met[0].Advice(true).String()
	}
}

// left reports for each artifact of a gate whether it exists.
func (g *Gate) left(dir string) (list []Artifact) {
	for _, a := range g.Artifacts {
		_, err := os.Stat(filepath.Join(dir, a))
		list = append(list, Artifact{a, err == nil})
	}
	return list
}

// Preview is the decision that a gate would get now.
type Preview struct {
	Item    string `json:"item"`
	Gate    string `json:"gate"`
	Command string `json:"command"`
	// Would is run, ask (a person), block or skip.
	Would   string  `json:"would"`
	Failure Failure `json:"failure_type,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Runs is the argument list of the program that would run. The sandbox says where, as in a
	// result.
	Runs    []string `json:"runs,omitempty"`
	Sandbox string   `json:"sandbox,omitempty"`
}

// The values of Preview.Would.
const (
	WouldRun   = "run"
	WouldAsk   = "ask"
	WouldBlock = "block"
	WouldSkip  = "skip"
)

// Preview decides every gate without running, recording, counting or asking.
func (r *Runner) Preview(p *Plan) (list []Preview) {
	for i := range p.Items {
		for j := range p.Items[i].Gates {
			list = append(list, r.preview(p.Items[i].Name, &p.Items[i].Gates[j]))
		}
	}
	return list
}

func (r *Runner) preview(item string, g *Gate) Preview {
	v := Preview{Item: item, Gate: g.Name, Command: g.Run, Would: WouldSkip}
	if g.unsupported() {
		v.Failure, v.Reason = UnsupportedRuntime, "runtime "+g.Runtime+" is not supported"
		return v
	}
	dir, err := g.dir(r.Workspace)
	if err != nil {
		v.Would, v.Failure, v.Reason = WouldBlock, NotStarted, err.Error()
		return v
	}
	d := r.Decider.Explain(r.use(item, g, dir), nil)
	var res Result
	res.blocked(&permission.Result{Decision: d})
	v.Failure, v.Reason = res.Failure, res.Reason
	switch d.Behavior {
	case permission.Allow:
		v.Would, v.Failure, v.Reason = WouldRun, "", dryRun(d.Refusal)
	case permission.Ask:
		v.Would = WouldAsk
		return v
	default:
		v.Would = WouldBlock
		return v
	}
	cmd, err := r.command(g.Run, g, dir)
	if err != nil {
		v.Would, v.Failure, v.Reason = WouldBlock, NotStarted, err.Error()
		return v
	}
	v.Runs, v.Sandbox = cmd.Args, sandboxed(d.Sandbox)
	return v
}

// dryRun returns what a whitelist in a dry run would have refused.
func dryRun(o permission.Refusal) string {
	if o.Kind == "" {
		return ""
	}
	return "the whitelist would block it: " + o.Kind + ": " + o.Reason
}
