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
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/walls"
	"github.com/agent-wrapper/agent-wrapper/internal/walls/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) policyWallsCommand() *cobra.Command {
	var rules policyFlags
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "walls",
		Short: "Show the walls that your policy makes around a command",
		Long: `walls lists what a command can do inside walls (exec --walls): what it writes,
what it cannot read, which hosts it can reach, and what the policy says that the
walls do not hold. The list is of the files that are there now.

The last lines say whether walls can be built on this machine. With --json that
is "missing": empty, or why not.`,
		Example: `  agent-wrapper policy walls
  agent-wrapper policy walls --deny 'Read(secrets/**)' --json`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.policyWalls(cmd.Context(), &rules, form) },
	}
	rules.add(cmd)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// wallsJSON is what policy walls --json prints.
type wallsJSON struct {
	envelope
	*walls.Plan
	Missing string `json:"missing"`
}

// wallsJSONOf has a list for each that is empty.
func wallsJSONOf(p *walls.Plan, missing string) *wallsJSON {
	for _, list := range []*[]walls.Path{&p.Writable, &p.Temp, &p.Shown, &p.Services, &p.ReadOnly, &p.Denied, &p.Empty, &p.Absent, &p.Gaps} {
		*list = append([]walls.Path{}, *list...)
	}
	p.Hosts, p.Held = append([]string{}, p.Hosts...), append([]string{}, p.Held...)
	return &wallsJSON{Plan: p, Missing: missing}
}

func (a *app) policyWalls(ctx context.Context, rules *policyFlags, form *jsonForm) error {
	r, err := rules.load()
	if err != nil {
		return err
	}
	plan, err := r.Walls("")
	if err != nil {
		return err
	}
	missing := ""
	if err := probe(ctx, r); err != nil {
		missing = err.Error()
	}
	if form.on {
		return form.put(wallsJSONOf(plan, missing))
	}
	a.showWalls(plan, missing)
	return nil
}

// showWalls prints a plan for people.
func (a *app) showWalls(p *walls.Plan, missing string) {
	var out strings.Builder
	for _, part := range []struct {
		title, none string
		paths       []walls.Path
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
		fmt.Fprintln(&out, "this machine can build these walls")
	} else {
		fmt.Fprintf(&out, "this machine cannot build walls: %s\n", visible.Line(missing))
	}
	_, _ = io.WriteString(a.out, out.String()) // as all that is printed
}

// abridged returns the paths that are not there, with a line for all that are missing in a
// directory of the workspace for the same reason, but for git's.
func abridged(paths []walls.Path, roots []string) []walls.Path {
	const most = 4 // on a line
	type key struct{ root, why string }
	var out []walls.Path
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
		if strings.HasPrefix(name, root+"/") {
			return root
		}
	}
	return ""
}

func writePaths(out io.Writer, title, none string, paths []walls.Path) {
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

// enclose has rules decide with walls around the commands, if the policy has walls and they
// can be built here. If not, warn is told why, or it is an error if they are required. What is
// an error always: that they cannot be built at the moment, and that there is no plan, because
// of what lies in the workspace. Another command could have brought that about. With only,
// nothing runs outside of them.
func enclose(ctx context.Context, r *engine.Rules, only bool, warn func(string)) error {
	if !r.Walled() {
		return nil
	}
	switch err := probe(ctx, r); {
	case err == nil:
		return encloseNow(r, only)
	case !kernel.IsMissing(err):
		return fmt.Errorf("there are no walls at the moment, so nothing runs: %w: try again, or --walls=off runs commands without, and asks more", err)
	case r.Spec.Walls == "require":
		return fmt.Errorf("%w: walls are required (walls = \"require\" or --walls), so nothing runs; --walls=on runs commands without, and asks more", err)
	default:
		warn(err.Error() + ": commands run without, and more is asked")
		return nil
	}
}

// probe returns why there are no walls for commands under rules.
func probe(ctx context.Context, r *engine.Rules) error {
	if err := kernel.Ours(r.Written()); err != nil {
		return err
	}
	return kernel.Probe(ctx)
}

// encloseNow has rules decide with walls around the commands.
func encloseNow(r *engine.Rules, only bool) error {
	with := r.Within
	if only {
		with = r.OnlyWithin
	}
	if err := with(); err != nil {
		return fmt.Errorf("%w, so there are no walls and nothing runs; --walls=off runs commands without, and asks more", err)
	}
	return nil
}

// writeLimits prints the limits of a command, if there are any.
func writeLimits(out io.Writer, l *walls.Limits) {
	if *l == (walls.Limits{}) {
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

// advise tells a person which wall the command has met. Where its errors went to the
// terminal, the person has read what we have not.
func (j *job) advise() {
	switch {
	case len(j.inside.met) > 0:
		j.say("%v", j.inside.met[0].Advice(true))
	case j.inside.blind:
		j.say(insideHint)
	}
}

// enclosed is the command of an allowed tool use that runs inside walls.
type enclosed struct {
	engine  *engine.Engine
	use     *permission.ToolUse
	line    string                           // that was allowed
	outward string                           // as permission.Decision.WallsWhy
	say     func(format string, args ...any) // is told of what is protected and was not there before
	shown   []walls.Path                     // directories of ours that the command uses
	met     []walls.Met                      // by the command, if it has failed
	blind   bool                             // what it met cannot be told: its errors went to the terminal
}

// run runs the command, and notes which walls it met. Where there are none, it does not run.
// Its limit is the policy's from then on, if that is shorter.
func (e *enclosed) run(ctx context.Context, c *process.Command) (process.Result, error) {
	plan, err := e.engine.Walls(e.use.Dir)
	if err != nil {
		return process.Result{}, &process.NotStarted{Program: c.Args[0], Err: fmt.Errorf("the walls cannot be planned: %w", err)}
	}
	plan.Writable = append(plan.Writable, e.shown...)
	var refused walls.Refusals
	heard := hear(c)
	res, err := runInside(ctx, plan, func(ctx context.Context, host, port string) error {
		return refused.Note(host, port, e.engine.Reaches(ctx, e.use.Session, host, port))
	}, c, e.say)
	err = heard.passed(err)
	if err == nil && res.Exit != 0 && !res.TimedOut && !res.Cancelled {
		e.met = e.engine.Meets(plan, &walls.End{Dir: e.use.Dir, Line: e.line, Output: heard.read(), Unread: heard.blind, Outward: e.outward, Refused: refused.All()})
		e.blind = heard.blind && res.Exit != interrupted
	}
	return res, err
}

// interrupted is the exit code of a command that a person has interrupted at the terminal.
const interrupted = 128 + int(syscall.SIGINT)

// insideHint is said of a command that failed inside walls.
const insideHint = "it ran inside walls: agent-wrapper policy walls shows what it could do there"

// runInside runs a command inside the walls of a plan. Its limit is the plan's from then on,
// if that is shorter. reaches decides which hosts are reached. say is told of what is
// protected and was not there before.
func runInside(ctx context.Context, plan *walls.Plan, reaches func(ctx context.Context, host, port string) error, c *process.Command, say func(format string, args ...any)) (process.Result, error) {
	c.Limit = plan.Limits.Time(c.Limit)
	held, done := kernel.Around(plan, reaches)
	defer done()
	res, err := held.Run(ctx, c)
	for _, p := range workspace.Made(plan.Absent, new(workspace.Memory)) {
		say("%s", p.Made())
	}
	return res, err
}
