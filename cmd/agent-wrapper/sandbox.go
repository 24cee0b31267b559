package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/outputs"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) policySandboxCommand() *cobra.Command {
	var rules policyFlags
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Show what a command can do inside the sandbox, by your policy",
		Long: `sandbox lists what a command can do inside the sandbox (exec --sandbox): what
it can write, what it cannot read, which hosts it can reach, and which parts of
the policy the sandbox does not enforce. It lists the files that are there now.

The last lines say whether the sandbox can be built on this machine. With --json
that is "missing": empty, or why not.`,
		Example: `  agent-wrapper policy sandbox
  agent-wrapper policy sandbox --deny 'Read(secrets/**)' --json`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.policySandbox(cmd.Context(), &rules, form) },
	}
	rules.add(cmd)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// sandboxJSON is what policy sandbox --json prints.
type sandboxJSON struct {
	envelope
	*sandbox.Plan
	Missing string `json:"missing"`
}

// sandboxJSONOf has a list for each that is empty.
func sandboxJSONOf(p *sandbox.Plan, missing string) *sandboxJSON {
	for _, list := range []*[]sandbox.Path{&p.Writable, &p.Temp, &p.Shown, &p.Services, &p.ReadOnly, &p.Denied, &p.Empty, &p.Absent, &p.Gaps} {
		*list = append([]sandbox.Path{}, *list...)
	}
	p.Hosts, p.Held = append([]string{}, p.Hosts...), append([]string{}, p.Held...)
	return &sandboxJSON{Plan: p, Missing: missing}
}

func (a *app) policySandbox(ctx context.Context, rules *policyFlags, form *jsonForm) error {
	r, err := rules.load()
	if err != nil {
		return err
	}
	plan, err := r.Sandbox("")
	if err != nil {
		return err
	}
	missing := ""
	if err := probe(ctx, r); err != nil {
		missing = err.Error()
	}
	if form.on {
		return form.put(sandboxJSONOf(plan, missing))
	}
	a.showSandbox(plan, missing)
	return nil
}

// showSandbox prints a plan for people.
func (a *app) showSandbox(p *sandbox.Plan, missing string) {
	var out strings.Builder
	for _, part := range []struct {
		title, none string
		paths       []sandbox.Path
	}{
		{"can be written", "", p.Writable},
		{"is empty at first, and gone at the end", "", p.Temp},
		{"can be read all the same, and not be written", "", p.Shown},
		{"is empty", "", p.Services},
		{"stays as it is, in the middle of that", "", p.ReadOnly},
		{"cannot be read", "nothing is withheld", p.Denied},
		{"looks empty", "", p.Empty},
		{"is not there, and is looked for afterwards", "", abridged(p.Absent, p.Workspace)},
		{"is not held", "", p.Gaps},
	} {
		writePaths(&out, part.title, part.none, part.paths)
	}
	fmt.Fprintln(&out, "network")
	if len(p.Hosts) == 0 {
		fmt.Fprintln(&out, "  loopback only: no rule allows a host")
	}
	for _, rule := range p.Hosts {
		fmt.Fprintf(&out, "  through a proxy: %s\n", visible.Line(rule))
	}
	writeLimits(&out, &p.Limits)
	fmt.Fprintln(&out, "everything else can be read, and not be written")
	if missing == "" {
		fmt.Fprintln(&out, "this machine can build this sandbox")
	} else {
		fmt.Fprintf(&out, "this machine cannot build a sandbox: %s\n", visible.Line(missing))
	}
	_, _ = io.WriteString(a.out, out.String()) // as all that is printed
}

// abridged returns the paths that are not there, with a line for all that are missing in a
// directory of the workspace for the same reason, but for git's.
func abridged(paths []sandbox.Path, roots []string) []sandbox.Path {
	const most = 4 // on a line
	type key struct{ root, why string }
	var out []sandbox.Path
	at, names := map[key]int{}, map[key]int{}
	for _, p := range paths {
		root := inside(p.Path, roots)
		k := key{root, p.Why}
		if root == "" || strings.HasPrefix(p.Path, root+"/.git/") {
			out = append(out, p)
			continue
		}
		switch names[k]++; {
		case names[k] == 1:
			at[k] = len(out)
			out = append(out, p)
		case names[k] <= most:
			out[at[k]].Path += ", " + strings.TrimPrefix(p.Path, root+"/")
		}
	}
	for k, i := range at {
		if more := names[k] - most; more > 0 {
			out[i].Path += fmt.Sprintf(" and %d more", more)
		}
	}
	return out
}

// inside returns the first of the roots that a path is below, "" if there is none.
func inside(name string, roots []string) string {
	for _, root := range roots {
		if _, below := subpath.Below(name, root); below {
			return root
		}
	}
	return ""
}

func writePaths(out io.Writer, title, none string, paths []sandbox.Path) {
	if len(paths) == 0 && none == "" {
		return
	}
	fmt.Fprintln(out, title)
	for _, p := range paths {
		fmt.Fprintf(out, "  %s  (%s)\n", visible.Line(p.Path), visible.Line(p.Why))
	}
	if len(paths) == 0 {
		fmt.Fprintf(out, "  %s\n", none)
	}
}

// enclose has rules decide with a sandbox around the commands, if the policy has one and it can
// be built here. If not, warn is told why, or it is an error if the sandbox is required. It is
// always an error if the sandbox cannot be built at the moment, or cannot be planned because
// of what lies in the workspace: another command could have brought that about. With only,
// nothing runs outside.
func enclose(ctx context.Context, r *engine.Rules, only bool, warn func(string)) error {
	if !r.Sandboxed() {
		return nil
	}
	switch err := probe(ctx, r); {
	case err == nil:
		return encloseNow(r, only)
	case !kernel.IsMissing(err):
		return fmt.Errorf("there is no sandbox at the moment, so nothing runs: %w: try again; --sandbox=off runs commands without one, and asks about more", err)
	case r.Spec.Sandbox == "require":
		return fmt.Errorf("%w: the sandbox is required (sandbox = \"require\" or --sandbox), so nothing runs; --sandbox=on runs commands without one, and asks about more", err)
	default:
		warn(err.Error() + ": commands run without one, and more is asked about")
		return nil
	}
}

// probe returns why there is no sandbox for commands under rules.
func probe(ctx context.Context, r *engine.Rules) error {
	if err := kernel.Ours(r.Written()); err != nil {
		return err
	}
	return kernel.Probe(ctx)
}

// encloseNow has rules decide with a sandbox around the commands.
func encloseNow(r *engine.Rules, only bool) error {
	with := r.Within
	if only {
		with = r.OnlyWithin
	}
	if err := with(); err != nil {
		return fmt.Errorf("%w, so there is no sandbox and nothing runs; --sandbox=off runs commands without one, and asks about more", err)
	}
	return nil
}

// writeLimits prints the limits of a command, if there are any.
func writeLimits(out io.Writer, l *sandbox.Limits) {
	if *l == (sandbox.Limits{}) {
		return
	}
	fmt.Fprintln(out, "limits")
	if l.Memory > 0 {
		fmt.Fprintf(out, "  %d MiB of data in each process\n", l.Memory>>20)
	}
	if l.Processes > 0 {
		fmt.Fprintf(out, "  %d processes and threads at the same time; the kernel does not hold root to it\n", l.Processes)
	}
	if l.Seconds > 0 {
		fmt.Fprintf(out, "  %v, then it is ended with all that it has started\n", l.Time(0))
	}
}

// heard is what a command writes, as far as it can be read again.
type heard struct {
	files outputs.Files
	kept  *outputs.Kept // nil: the errors of the command go where they are not kept
	blind bool          // they go to the terminal
}

// hear has the end of what a command writes to files, and as errors to what is no terminal,
// kept. What goes to a pipe goes to one now too.
func hear(c *process.Command) *heard {
	h := &heard{blind: isTerminal(c.Stderr)}
	out, _ := c.Stdout.(*os.File)
	errs, _ := c.Stderr.(*os.File)
	h.files = outputs.Of(out, errs)
	if h.blind || errs != nil && len(outputs.Of(errs)) > 0 {
		return h
	}
	h.kept = &outputs.Kept{To: c.Stderr}
	if c.Stdout == c.Stderr || sameFile(out, errs) {
		c.Stdout = h.kept
	}
	c.Stderr = h.kept
	pipesFail()
	return h
}

// sameFile reports whether two files are one, which may be open twice.
func sameFile(a, b *os.File) bool {
	first, err := a.Stat()
	second, errSecond := b.Stat()
	return err == nil && errSecond == nil && os.SameFile(first, second)
}

// read returns the end of what was written.
func (h *heard) read() []byte {
	all := h.files.Read()
	if h.kept != nil {
		all = append(all, h.kept.Read()...)
	}
	return all
}

// passed returns an error of running the command without that of a reader who has gone,
// which the command has seen too.
func (h *heard) passed(err error) error {
	if h.kept != nil && errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// advise tells a person what the sandbox refused the command. Where its errors went to the
// terminal, the person has read what we have not.
func (j *job) advise() {
	switch {
	case len(j.inside.met) > 0:
		j.say("%v", j.inside.met[0].Advice(true))
	case j.inside.blind:
		j.say(insideHint)
	}
}

// enclosed is the command of an allowed tool use that runs inside the sandbox.
type enclosed struct {
	engine  *engine.Engine
	use     *permission.ToolUse
	line    string                           // that was allowed
	outward string                           // as permission.Decision.SandboxWhy
	say     func(format string, args ...any) // is told of what is protected and was not there before
	shown   []sandbox.Path                   // directories of ours that the command uses
	met     []sandbox.Met                    // by the command, if it has failed
	blind   bool                             // what it met cannot be told: its errors went to the terminal
}

// run runs the command, and notes what the sandbox refused it. Without a sandbox it does not run.
// Its limit is the policy's from then on, if that is shorter.
func (e *enclosed) run(ctx context.Context, c *process.Command) (process.Result, error) {
	plan, err := e.engine.Sandbox(e.use.Dir)
	if err != nil {
		return process.Result{}, &process.NotStarted{Program: c.Args[0], Err: fmt.Errorf("the sandbox cannot be planned: %w", err)}
	}
	plan.Writable = append(plan.Writable, e.shown...)
	var refused sandbox.Refusals
	heard := hear(c)
	res, err := runInside(ctx, plan, func(ctx context.Context, host, port string) error {
		return refused.Note(host, port, e.engine.Reaches(ctx, e.use.Session, host, port))
	}, c, e.say)
	err = heard.passed(err)
	if err == nil && res.Exit != 0 && !res.TimedOut && !res.Cancelled {
		e.met = e.engine.Meets(plan, &sandbox.End{Dir: e.use.Dir, Line: e.line, Output: heard.read(), Unread: heard.blind, Outward: e.outward, Refused: refused.All()})
		e.blind = heard.blind && res.Exit != interrupted
	}
	return res, err
}

// interrupted is the exit code of a command that a person has interrupted at the terminal.
const interrupted = 128 + int(syscall.SIGINT)

// insideHint is said of a command that failed inside the sandbox.
const insideHint = "it ran inside the sandbox: agent-wrapper policy sandbox shows what it could do there"

// runInside runs a command inside the sandbox of a plan. Its limit is the plan's from then on,
// if that is shorter. reaches decides which hosts can be reached. say is told of what is
// protected and was not there before.
func runInside(ctx context.Context, plan *sandbox.Plan, reaches func(ctx context.Context, host, port string) error, c *process.Command, say func(format string, args ...any)) (process.Result, error) {
	c.Limit = plan.Limits.Time(c.Limit)
	held, done := kernel.Around(plan, reaches)
	defer done()
	res, err := held.Run(ctx, c)
	for _, p := range workspace.Made(plan.Absent, new(workspace.Memory)) {
		say("%s", p.Made())
	}
	return res, err
}
