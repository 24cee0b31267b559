package main

import (
	"errors"
	"os"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// managedDir is the directory of the administrator's policy. Tests replace it.
var managedDir = engine.UserDirs().Managed

// userDirs returns the engine's directories.
func userDirs() engine.Dirs {
	d := engine.UserDirs()
	d.Managed = managedDir
	return d
}

// optionFlags maps the fields of engine.Options to flags.
var optionFlags = map[string]string{"Dir": "--cwd", "Roots": "--workspace", "Policy": "--policy", "FrontMatter": "--frontmatter", "Record": "--audit"}

// opening gives an error of package engine its exit code and names the flag that
// it is about.
func opening(err error) error {
	var option *engine.OptionError
	var damage *audit.Damage
	var state *engine.StateError
	var bad *engine.PolicyError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damage):
		return &coded{codeDenied, err}
	case errors.As(err, &state):
		return errors.New(state.Error() + "; the head of each audit log is there, also with --audit")
	case errors.Is(err, engine.ErrNoState):
		return usage("%w: set HOME or XDG_STATE_HOME", engine.ErrNoState)
	case errors.As(err, &bad):
		return usage("%w", err)
	case !errors.As(err, &option):
		return err
	case option.Option == "Record":
		return unwritable("--audit", option.Err)
	case option.Option == "Dir" || option.Option == "Roots":
		return usage("%s: %w", optionFlags[option.Option], option.Err)
	}
	return fileError(optionFlags[option.Option], option.Err)
}

// load loads the policies that the flags select.
func (p *policyFlags) load() (*engine.Rules, error) {
	o, err := p.options()
	if err != nil {
		return nil, err
	}
	return load(o)
}

func load(o *engine.Options) (*engine.Rules, error) {
	r, err := engine.Load(*o)
	return r, opening(err)
}

// open opens an engine.
func open(r *engine.Rules) (*engine.Engine, error) {
	e, err := r.Open()
	return e, opening(err)
}

// approver returns the person at the terminal, who is asked under rules; nil if there is none.
func (a *app) approver(noInput bool, events *stream, s *ask.Screen, r *engine.Rules, o ask.Options) permission.Approver {
	in, isFile := a.in.(*os.File)
	if noInput || !isFile || !isTerminal(in) {
		return nil
	}
	out := a.out
	if events.json || !isTerminal(out) {
		out, s = a.err, ask.NewScreen(a.err, nil)
	}
	if !isTerminal(out) {
		return nil
	}
	return terminalApprover(in, out.(*os.File), s, r, o) // a terminal is a file
}

// terminalApprover returns an approver that asks at a terminal.
func terminalApprover(in, out *os.File, s *ask.Screen, r *engine.Rules, o ask.Options) permission.Approver {
	o.Colour, o.Editor, o.Interrupt = colours(), ask.NewEditor(in, r.OwnPath()), interrupt
	return ask.New(ask.Terminal(in, out), s, o)
}

// ringing returns what rings at the terminal of an approver, nil if it has none.
func ringing(person permission.Approver) func(string) {
	if at, ok := person.(*ask.Approver); ok {
		return at.Ring
	}
	return nil
}

// interrupt ends the run as ^C does.
func interrupt() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Signal(os.Interrupt) // if this fails, the question is denied all the same
	}
}

// asking returns the options for questions under rules, without choices that keep
// a rule permanently.
func asking(r *engine.Rules) ask.Options {
	return ask.Options{
		Explain: func(use permission.ToolUse) string {
			var trace permission.Trace
			r.Explain(use, &trace)
			var out strings.Builder
			r.WriteTrace(&out, display.TextOptions{Width: columns(os.Stdout), Colour: colours()}, &use, &trace)
			return out.String()
		},
		File: desk.EditedFile,
	}
}

// keeping returns the options of asking with the choice to keep a rule
// permanently.
func keeping(r *engine.Rules) ask.Options {
	o := asking(r)
	o.Session = r.Session
	if r.Keeps() {
		o.Keep, o.Into = r.Keep, r.KeepsIn
	}
	return o
}
