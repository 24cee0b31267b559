package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/nearby"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Sandbox returns the plan of the sandbox for a command that begins in a directory, by the
// policy and the present rules of the session. The error says why there can be no plan.
func (r *Rules) Sandbox(dir string) (*sandbox.Plan, error) {
	tree := workspace.NewGlance(workspace.Tree{Env: workspace.Env{Place: r.Place}}, &r.seen)
	machine := workspace.Machine(r.Place, dir != "")
	if state := r.options.StateDir(); state != "" {
		machine.State = []string{absolute(state)}
	}
	plan, err := r.planner.Make(r.Policy, r.Session, machine, tree)
	if err != nil {
		return nil, err
	}
	most := &r.Spec.Limits.Sandbox
	plan.Limits = sandbox.Limits{Memory: uint64(most.MemoryMB.Most) << 20, Processes: uint64(most.Processes.Most), Seconds: uint64(most.TimeoutSeconds.Most)}
	return plan, nil
}

// Written returns the directories in which commands inside the sandbox may write.
func (r *Rules) Written() []string { return workspace.Written(r.Place) }

// Meets returns what the sandbox of a plan refused a command that has failed.
func (r *Rules) Meets(plan *sandbox.Plan, end *sandbox.End) []sandbox.Met {
	end.Home = r.Place.Home
	return sandbox.Meets(plan, end, workspace.Tree{Env: workspace.Env{Place: r.Place}})
}

// Made returns what a command inside the sandbox of a plan has made that is protected and was
// not there.
func (r *Rules) Made(plan *sandbox.Plan) []sandbox.Path { return workspace.Made(plan.Absent, &r.seen) }

// Supposed is Within if the policy has a sandbox, for programs that only explain decisions.
func (r *Rules) Supposed() error {
	if !r.Sandboxed() {
		return nil
	}
	return r.Within()
}

// Sandboxed reports whether the policy has a sandbox around commands.
func (r *Rules) Sandboxed() bool { return r.Spec.Sandbox == "on" || r.Spec.Sandbox == "require" }

// Within has the command lines of the session run inside the sandbox from now on: whoever runs
// them does as Decision.Sandbox says. The error says why there can be no sandbox.
func (r *Rules) Within() error { return r.decideBy(r.planNow, false) }

// OnlyWithin is Within, with every command line inside: what needs more than the sandbox lets it do
// is asked about or allowed as without it, and fails.
func (r *Rules) OnlyWithin() error { return r.decideBy(r.planNow, true) }

func (r *Rules) planNow() (*sandbox.Plan, error) { return r.Sandbox("") }

// WithinOnce is Within for a process that decides about one command, in a directory: it
// looks at the files once.
func (r *Rules) WithinOnce(dir string) error {
	plan, err := r.Sandbox(dir)
	if err != nil {
		return err
	}
	r.plan = plan
	return r.decideBy(func() (*sandbox.Plan, error) { return plan, nil }, false)
}

func (r *Rules) decideBy(plan func() (*sandbox.Plan, error), only bool) error {
	first, err := plan()
	if err != nil {
		return err
	}
	r.within = true
	writable := sandbox.Paths(slices.Concat(first.Writable, first.Temp))
	r.onPath = r.programs(slices.Concat([]string{r.Place.Workspace}, r.Place.Roots, writable))
	r.Session.Sandbox(&permission.Sandbox{
		Writable: writable,
		Planted:  r.onPath.Planted,
		Held: func() ([]string, error) {
			now, err := plan()
			if err != nil {
				return nil, err
			}
			return now.Held, nil
		},
		Only: only,
	})
	return nil
}

// Without undoes Within, before the next decision.
func (r *Rules) Without() {
	r.within, r.plan = false, nil
	r.Session.Sandbox(nil)
}

// Planning has the policies deny whatever is more than looking, as a host that plans does
// not act either. The mode of a policy counts as well: the agent chooses when it plans, and
// dontAsk may deny what plan lets pass. It must be called before the first decision.
func (r *Rules) Planning() {
	more := *r.Policy
	more.Mode, more.Further = modes.Plan, nil
	r.Policy.Further = append(r.Policy.Further, &more)
	r.planning = true
}

// httpsPort is the port to which the proxy connects if no rule names another.
const httpsPort = "443"

// names reports whether an allow rule of the policy names a host, and not all of them.
func (r *Rules) names(host string) bool {
	return r.namesAt(host, httpsPort, (*patterns.Rule).NamesHost)
}

// namesAt reports whether an allow rule of the policy names a host or its port.
func (r *Rules) namesAt(host, port string, in func(*patterns.Rule, *patterns.URL) bool) bool {
	u := patterns.NewURL(shell.Word{Text: "https://" + net.JoinHostPort(host, port) + "/"})
	by := func(r *patterns.Rule) bool { return in(r, u) }
	return slices.ContainsFunc(r.Policy.Allow.Rules(), by) ||
		slices.ContainsFunc(r.Policy.Rules, func(g *patterns.Granular) bool { return g.Action() == patterns.Allow && g.Names(by) })
}

// inRule returns how a rule names a host and a port.
func inRule(host, port string) string {
	if with := net.JoinHostPort(host, port); port != httpsPort {
		return with
	}
	return strings.TrimSuffix(net.JoinHostPort(host, ""), ":")
}

// Reaches decides whether a command inside the sandbox reaches a host, as if the agent had
// asked to fetch from it, and records that. Nobody is asked: the error says why not.
func (e *Engine) Reaches(ctx context.Context, session, host, port string) error {
	switch {
	case port == sandbox.Plain:
		return errors.New("only https goes out of the sandbox")
	case port != httpsPort && !e.namesAt(host, port, (*patterns.Rule).NamesPort):
		return fmt.Errorf("only port %s is reached from inside the sandbox, unless an allow rule names another: WebFetch(domain:%s)", httpsPort, net.JoinHostPort(host, port))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		if plain, near := nearby.Is(ip); near && !e.namesAt(plain.String(), port, (*patterns.Rule).NamesHost) {
			return fmt.Errorf("%s is this machine or a private network: an allow rule has to name the address, WebFetch(%s)", ip, inRule(plain.String(), port))
		}
	}
	input, err := json.Marshal(map[string]string{"url": "https://" + net.JoinHostPort(host, port) + "/"})
	if err != nil {
		return err
	}
	v := e.Evaluator()
	v.Recorder = e.evaluator.Recorder
	res, err := v.CanUseTool(ctx, permission.ToolUse{ID: "sandbox-" + rand.Text()[:12], Tool: "WebFetch", Input: input, Dir: e.Place.Workspace, Session: session})
	if err != nil {
		return err
	}
	if res.Behavior != permission.Allow {
		return errors.New(res.Reason)
	}
	return nil
}
