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

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

// Status is what became of a gate.
type Status string

// What becomes of gates. A blocked one did not run, and is not tried again.
const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Blocked Status = "blocked"
	Skipped Status = "skipped"
)

// Failure is why a gate did not pass.
type Failure string

// The failures: of a blocked gate the first three, of one that failed the next
// three, of one that was skipped the others.
const (
	Hallucination      Failure = "hallucination" // the whitelist is against it
	Denied             Failure = "denied"        // the policy is, or a person
	Paused             Failure = "paused"        // the agent is
	TimedOut           Failure = "timeout"
	Exited             Failure = "exit" // with another code than 0
	NotStarted         Failure = "not_started"
	Dependency         Failure = "dependency" // an item that it depends on did not pass
	UnsupportedRuntime Failure = "unsupported_runtime"
	Interrupted        Failure = "interrupted" // the run ended before it
)

// Result is what became of one gate.
type Result struct {
	Item      string     `json:"item"`
	Gate      string     `json:"gate"`
	Command   string     `json:"command"` // the line that ran, or would have
	Status    Status     `json:"status"`
	Failure   Failure    `json:"failure_type,omitempty"`
	Reason    string     `json:"reason,omitempty"`
	Exit      *int       `json:"exit_code,omitempty"` // nil: it did not run, or that is not known
	Took      int64      `json:"duration_ms"`
	Artifacts []Artifact `json:"artifacts,omitempty"` // of a gate that passed
}

// Artifact is a file that a gate should leave.
type Artifact struct {
	Path    string `json:"path"`
	Present bool   `json:"present"`
}

// Decider decides tool uses: a *permission.Evaluator.
type Decider interface {
	CanUseTool(context.Context, permission.ToolUse) (permission.Result, error)
	Explain(permission.ToolUse, *permission.Trace) permission.Decision
}

// Recorder records what became of a gate that was allowed.
type Recorder interface {
	GateEnded(use permission.ToolUse, failed bool, exit *int) error
}

// Watcher is told of each gate as it runs.
type Watcher interface {
	Begins(item, gate string) // right before it starts
	Ends(*Result)
}

// Runner runs the gates of a plan, one after the other.
type Runner struct {
	Decider        Decider
	Recorder       Recorder
	Watcher        Watcher
	Workspace      string        // that plans run in, absolute and without links
	Options        shell.Options // how lines are read; Dir is the gate's
	Agent, Session string        // of the tool uses
	// Command is what a line runs without a shell. Where it needs one the error
	// is ErrShell; Shell says whether it then gets bash.
	Command func(line string, facts *shell.Facts) (argv, env []string, err error)
	Shell   bool
	Env     []string      // of the programs, before what a gate sets
	Limit   time.Duration // of each gate
	// Output is where a gate's output goes.
	Output func(item, gate string) io.Writer

	run func(context.Context, *process.Command) (process.Result, error) // nil: really
}

// ErrShell is that a line runs more than one program, or another one than its
// words say.
var ErrShell = errors.New("it needs a shell, and the whitelist does not allow shell operators")

// Environment is the environment that gates get of a program's own: all but the
// variable that lifts the whitelist, and of PATH the absolute directories, so
// that nothing is found in the directory that a gate runs in.
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
		dirs = []string{"/nonexistent"} // an empty PATH is the current directory
	}
	return append(env, "PATH="+strings.Join(dirs, string(filepath.ListSeparator)))
}

// Run runs all gates of a plan and returns what became of each, in the order of
// the plan. An error is one of the record; the results are complete all the
// same, and what could not be recorded did not run.
func (r *Runner) Run(ctx context.Context, p *Plan) ([]Result, error) {
	s := &state{Runner: r, failed: map[string]bool{}}
	for i := range p.Items {
		s.item(ctx, &p.Items[i])
	}
	return s.results, errors.Join(s.errs...)
}

// state is one run.
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

// gate puts a gate to the evaluator, and runs it if that allows it.
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
		res.Command = line // a person may have edited it
		s.start(ctx, g, dir, res)
	}
	if err := s.Recorder.GateEnded(use, res.Status != Pass, res.Exit); err != nil {
		s.errs = append(s.errs, err)
	}
}

// use is the tool use that a gate is.
func (r *Runner) use(item string, g *Gate, dir string) permission.ToolUse {
	input, _ := json.Marshal(map[string]string{"command": g.Run}) // of strings there always is one
	return permission.ToolUse{ID: item + "/" + g.Name, Tool: "Bash", Input: input, Dir: dir, Agent: r.Agent, Session: r.Session}
}

func lineOf(input json.RawMessage) (string, error) {
	var in struct {
		Command string `json:"command"`
	}
	err := json.Unmarshal(input, &in)
	if err == nil && in.Command == "" {
		err = errors.New("there is no command in it")
	}
	if err != nil {
		return "", fmt.Errorf("the input that was allowed: %w", err)
	}
	return in.Command, nil
}

// hallucinated are the refusals that count as hallucinated.
var hallucinated = []string{string(whitelist.TooLong), string(whitelist.ShellOperators), string(whitelist.NotWhitelisted), string(whitelist.DangerousArgs)}

// blocked says why a gate was not allowed.
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

// start runs an allowed line.
func (s *state) start(ctx context.Context, g *Gate, dir string, res *Result) {
	cmd, err := s.command(res.Command, g, dir)
	if err != nil {
		res.fail(NotStarted, err.Error())
		return
	}
	cmd.Stdout = s.Output(res.Item, g.Name)
	cmd.Stderr = cmd.Stdout
	s.Watcher.Begins(res.Item, g.Name)
	run := s.run
	if run == nil {
		run = func(ctx context.Context, c *process.Command) (process.Result, error) { return c.Run(ctx) }
	}
	ended, err := run(ctx, cmd)
	res.ended(ctx, &ended, err, s.Limit)
	if res.Status == Pass {
		res.Artifacts = g.left(dir)
	}
}

// command is what an allowed line runs: the program itself, or bash with the
// very same line where it needs a shell and may have one.
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
	env := append(slices.Clip(r.Env), "PWD="+dir)
	for _, name := range slices.Sorted(maps.Keys(g.Env)) {
		env = append(env, name+"="+g.Env[name])
	}
	return &process.Command{Args: argv, Dir: dir, Env: append(env, assigned...), Limit: r.Limit}, nil
}

// ended says what a program's end means.
func (res *Result) ended(ctx context.Context, ended *process.Result, err error, limit time.Duration) {
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
		res.fail(TimedOut, fmt.Sprintf("it was ended after %v", limit))
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

// left looks which of its artifacts a gate left.
func (g *Gate) left(dir string) (list []Artifact) {
	for _, a := range g.Artifacts {
		_, err := os.Stat(filepath.Join(dir, a))
		list = append(list, Artifact{a, err == nil})
	}
	return list
}

// Preview is what would become of a gate now.
type Preview struct {
	Item    string `json:"item"`
	Gate    string `json:"gate"`
	Command string `json:"command"`
	// Would is run, ask (a person), block or skip.
	Would   string  `json:"would"`
	Failure Failure `json:"failure_type,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	// Runs are the words of the program that would run.
	Runs []string `json:"runs,omitempty"`
}

// The values of Preview.Would.
const (
	WouldRun   = "run"
	WouldAsk   = "ask"
	WouldBlock = "block"
	WouldSkip  = "skip"
)

// Preview asks about every gate what would be decided now. Nothing is run,
// recorded or counted, and nobody is asked.
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
	v.Runs = cmd.Args
	return v
}

// dryRun is what a whitelist would have said that only tells.
func dryRun(o permission.Refusal) string {
	if o.Kind == "" {
		return ""
	}
	return "the whitelist would block it: " + o.Kind + ": " + o.Reason
}
