package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/build"
	"github.com/agent-wrapper/agent-wrapper/internal/lastdir"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// codeRefused is the exit code of within for a command that did not run, as a shell's for
// a program that cannot be executed.
const codeRefused = 126

func (a *app) withinCommand() *cobra.Command {
	var left, own bool
	cmd := &cobra.Command{
		Use:   "within ID",
		Short: "Run a command line that was decided to run inside the sandbox, once",
		Long: `within is what the hook of an agent answers in place of a command line that
was decided to run inside the sandbox. The agent's shell starts it, and it runs
the line that was decided, once, inside the sandbox, in the directory in which
it was decided. A line that nobody has allowed, or that has run already, ends
with exit code 126. Every other exit code is the command's own. See
docs/sandbox.md.`,
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && !own {
				return &coded{codeRefused, errors.New("this did not run: within takes the name of what was allowed, and nothing else")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case own:
				_, err := fmt.Fprintln(a.out, build.Name())
				return err
			case left:
				return a.tellLeft(args[0])
			}
			return a.runWithin(cmd.Context(), args[0])
		},
	}
	cmd.Flags().BoolVar(&own, "build", false, "print the build of this program, for Go programs")
	cmd.Flags().BoolVar(&left, "directory", false, "print the directory in which the shell was at the end")
	return cmd
}

// didNotRun is the error of a command that did not run.
func didNotRun(why error) error { return &coded{codeRefused, fmt.Errorf("this did not run: %w", why)} }

// runWithin runs what a permit allows.
func (a *app) runWithin(ctx context.Context, id string) (err error) {
	dirs := userDirs()
	at, err := os.Getwd()
	if err != nil {
		return didNotRun(err)
	}
	p, err := dirs.TakePermit(id, at)
	if err != nil {
		return didNotRun(err)
	}
	e, err := p.Open(dirs)
	if err != nil {
		a.warn("no host is reached: " + err.Error())
	}
	if e != nil {
		defer closing(e, &err)
	} else {
		p.Plan.Hosts = nil // nobody would decide about them
	}
	c := &process.Command{Env: claude.ForCommands(os.Environ()), Stdin: a.in, Stdout: a.out, Stderr: a.err}
	remove, err := a.shellOf(p, c)
	if err != nil {
		return didNotRun(err)
	}
	defer remove()
	var refused sandbox.Refusals
	heard := hear(c)
	res, err := runInside(ctx, p.Plan, func(ctx context.Context, host, port string) error {
		return refused.Note(host, port, e.Reaches(ctx, p.Session, host, port))
	}, c, a.say)
	err = heard.passed(err)
	switch not := new(process.NotStarted); {
	case kernel.IsMissing(err):
		return didNotRun(errors.Join(err, fails(ctx, p, err)))
	case errors.As(err, &not):
		return didNotRun(err)
	case err != nil:
		return err
	}
	if err := p.Stood(); err != nil {
		a.warn("cannot note that the sandbox works here: " + err.Error())
	}
	if res.TimedOut {
		a.say("ended after %v: the time limit (%s)", c.Limit, sandbox.TimeLimit)
	} else if res.Exit != 0 {
		a.tellMet(p, &sandbox.End{Dir: at, Output: heard.read(), Unread: heard.blind, Refused: refused.All()})
	}
	return exit(res.Exit)
}

// tellMet keeps what the sandbox refused a line, and tells the agent.
func (a *app) tellMet(p *engine.Permit, end *sandbox.End) {
	advice, err := p.Meets(end)
	if err != nil {
		a.warn("cannot record what the sandbox refused: " + err.Error())
	}
	if advice != "" {
		a.say("%s", advice)
	}
}

// fails notes that there is no sandbox here, unless a sandbox around nothing can be built: then
// the reason is what was planned for this line, which is no reason for others to run without
// one. Nor is it a reason that none can be built at the moment.
func fails(ctx context.Context, p *engine.Permit, why error) error {
	switch err := kernel.Probe(ctx); {
	case err == nil:
		return p.Stood()
	case kernel.IsMissing(err):
		return p.Fails(why)
	}
	return nil
}

// shellOf sets the program that runs the line of a permit. remove must be called at the end.
func (a *app) shellOf(p *engine.Permit, c *process.Command) (remove func(), err error) {
	name := "bash"
	for _, other := range slices.Sorted(maps.Keys(shells)) {
		if shells[name].dialect != p.Dialect && shells[other].dialect == p.Dialect {
			name = other
		}
	}
	c.Args = slices.Concat([]string{name}, shells[name].options, []string{"-c", "--", p.Line})
	if !p.Moves || p.Dialect != shell.Bash {
		return func() {}, nil
	}
	dir, err := os.MkdirTemp("", "agent-wrapper-within-")
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir) // whatever a command inside does to the way there
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	const told, startup = "directory", "startup"
	rc := filepath.Join(dir, startup)
	if err := root.WriteFile(startup, []byte(tellsDirectory(c.Env, filepath.Join(dir, told))), 0o600); err != nil {
		return nil, errors.Join(err, root.Close(), os.RemoveAll(dir))
	}
	c.Env = append(slices.DeleteFunc(c.Env, func(item string) bool { return strings.HasPrefix(item, bashEnv+"=") }), bashEnv+"="+rc)
	p.Plan.Writable = append(p.Plan.Writable, sandbox.Path{Path: dir, Why: "where the shell tells its directory"})
	return func() {
		if left, err := lastdir.Read(root, told); err == nil {
			_ = p.Left(left) // without it the agent's shell stays
		}
		_ = errors.Join(root.Close(), os.RemoveAll(dir)) // it is not in the way
	}, nil
}

// bashEnv is the variable with the file that bash reads before a line.
const bashEnv = "BASH_ENV"

// tellsDirectory is what bash reads before the line, so that it writes its directory to a
// file at its end: what it would have read anyway, and a trap.
func tellsDirectory(env []string, file string) string {
	text := "unset " + bashEnv + "\n"
	for _, item := range env {
		if own, is := strings.CutPrefix(item, bashEnv+"="); is {
			text = fmt.Sprintf("%s=%s\n. \"$%[1]s\"\n", bashEnv, shellword.Quote(own))
		}
	}
	return text + "trap " + shellword.Quote("builtin pwd -P 2>/dev/null >|"+shellword.Quote(file)) + " EXIT\n"
}

// tellLeft prints where the shell of a permit was at the end of its line, or where we are.
func (a *app) tellLeft(id string) error {
	dir, err := userDirs().LeftBy(id)
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || !info.IsDir() || !filepath.IsAbs(dir) {
		if dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(a.out, dir)
	return err
}
