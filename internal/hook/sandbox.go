package hook

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// A host starts its commands itself. Where it runs the input of an answer in place of its
// own, a command that is allowed inside the sandbox is answered with one that runs it there
// (Within of the options of package engine). A version of the host that ignores the input
// would run without a sandbox what nothing else allows. So in a session the sandbox allows
// nothing until the host has run a command as it was answered, one that may run without a
// sandbox too.

// permits returns the permits of the session.
func (s *session) permits() *engine.Permits { return s.options.Permits(s.id) }

// mayEnclose notes whether the command of an event may run inside the sandbox. It is an error
// if the policy requires a sandbox and there is none.
func (s *session) mayEnclose(e *Event, rules *engine.Rules) error {
	if e.Kind != Use || e.Use.Tool != tools.Bash || !s.fixed.Sandbox && s.fixed.NoSandbox == "" {
		return nil
	}
	if s.options.Within == "" {
		s.noSandbox = "no program is known that starts commands inside the sandbox"
		return required(rules, s.noSandbox)
	}
	if s.fixed.Sandbox && s.permits().Unused() {
		if err := s.permits().Stop(s.host.Title + " did not run a command as it was answered"); err != nil {
			return err
		}
	}
	why, stopped := s.permits().Stopped()
	if s.noSandbox = cmp.Or(why, s.fixed.NoSandbox); s.noSandbox == "" && !stopped {
		s.noSandbox = s.host.Ruled(s.fixed.Workspace, rules.Place.Home, s.env)
	}
	if s.sandboxed = s.fixed.Sandbox && !stopped && s.noSandbox == ""; s.sandboxed {
		return nil
	}
	return required(rules, s.noSandbox)
}

// required returns an error if the policy lets no command run without a sandbox.
func required(rules *engine.Rules, why string) error {
	if rules.Spec.Sandbox != "require" {
		return nil
	}
	return fmt.Errorf("the sandbox is required (sandbox = \"require\"), so nothing runs: %s", why)
}

// enclose has the rules decide about a command with a sandbox around it, if it is allowed to
// run there. What is asked about, and what needs more than the sandbox lets it do, is decided
// and runs as without one. If there is no plan, because of what lies in the workspace, nothing
// runs: a command could have brought that about so that the next one runs without a sandbox.
func (s *session) enclose(use permission.ToolUse) error {
	if !s.sandboxed {
		return nil
	}
	if err := s.WithinOnce(use.Dir); err != nil {
		return fmt.Errorf("it was to run inside the sandbox: %w", err)
	}
	if d := s.Explain(use, nil); !staysInside(&d, s.permits().Proven()) {
		s.Without()
	}
	return nil
}

// proven returns an error if nothing but the sandbox allows what was decided, and the host is
// not known to run what it is answered: enclose had found it allowed without a sandbox.
func (s *session) proven(res *permission.Result) error {
	if runsOnlyInside(res) && !s.permits().Proven() {
		return errors.New("it is allowed only inside the sandbox, and " + s.host.Title + " is not known yet to run what it is answered: try again")
	}
	return nil
}

// sandboxMet returns what the sandbox refused a command that has run. If the command did not run
// as the host was answered, the session has no sandbox any more.
func (s *session) sandboxMet(e *Event) ([]string, error) {
	if !s.fixed.Sandbox || e.Kind == Refused || e.Use.Tool != tools.Bash {
		return nil, nil
	}
	met, ignored := s.permits().Over(e.Use.ID)
	if !ignored {
		return met, nil
	}
	why := s.host.Title + " ran a command otherwise than it was answered, so without a sandbox"
	return nil, errors.Join(s.permits().Stop(why), s.Note(s.id, "sandbox", why))
}
