//go:build linux

package effectbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/process"
	"github.com/agent-wrapper/agent-wrapper/walls"
	"github.com/agent-wrapper/agent-wrapper/walls/kernel"
)

// agentEnv marks the process in the box that decides lines and runs them.
const agentEnv = "AGENT_WRAPPER_EFFECT_AGENT"

// Agent is who decides lines in the box, and plans the walls around them. It is made when
// the tree is there, and used by the user that runs the lines.
type Agent interface {
	Decide(line string) (Verdict, error)
	Plan() (*walls.Plan, error)
}

// Verdict is the decision on a line.
type Verdict struct{ Behavior, Walls, Rule, Reason string }

// The parts that a session can be without, to show that what it checks can fail.
const (
	NoWalls     = "walls"
	NoMasks     = "masks"     // what is denied can be read
	NoProtected = "protected" // what is read-only in the workspace can be written
	NoTree      = "tree"      // the whole tree of files can be written
)

// errand is what the agent is told: to decide lines, or to run some.
type errand struct {
	Decide, Run []string
	Without     string
	Dir         string
	Timeout     time.Duration
}

// report is what it answers.
type report struct {
	Verdicts []Verdict
	Output   []byte
	Exits    []int // of the lines that have ended
	Plan     *walls.Plan
	Err      string
}

func serveAgent(new func() (Agent, error), stdin io.Reader, stdout io.Writer) error {
	in, out := json.NewDecoder(stdin), json.NewEncoder(stdout)
	var agent Agent
	for {
		var e errand
		if err := in.Decode(&e); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var err error
		if agent == nil {
			agent, err = new()
		}
		var r report
		if err == nil {
			err = r.do(agent, &e)
		}
		if err != nil {
			r.Err = err.Error()
		}
		if err := out.Encode(&r); err != nil {
			return err
		}
	}
}

func (r *report) do(agent Agent, e *errand) (err error) {
	for _, line := range e.Decide {
		v, err := agent.Decide(line)
		if err != nil {
			return fmt.Errorf("line %q: %w", line, err)
		}
		r.Verdicts = append(r.Verdicts, v)
	}
	if len(e.Run) == 0 {
		return nil
	}
	if r.Plan, err = agent.Plan(); err != nil {
		return err
	}
	out := &output{}
	c := &process.Command{
		Args: append([]string{"/usr/bin/bash", "-c", each, "lines", fmt.Sprint(e.Timeout.Seconds())}, e.Run...), Dir: e.Dir,
		Env: os.Environ(), Stdout: out, Stderr: out, Limit: e.Timeout*time.Duration(len(e.Run)) + time.Minute, Grace: time.Millisecond,
	}
	run := c.Run
	if e.Without != NoWalls {
		plan := without(*r.Plan, e.Without)
		run = func(ctx context.Context) (process.Result, error) { return (&kernel.Held{Plan: &plan}).Run(ctx, c) }
	}
	_, err = run(context.Background())
	r.Output = out.take()
	r.Exits = exits(r.Output)
	return err
}

// each runs lines, one after the other.
const each = `limit=$1; shift; for line; do timeout -k 1 "$limit" /usr/bin/bash -c "$line"; printf '\n\001exit %d\001\n' $?; done`

func exits(out []byte) (codes []int) {
	for {
		_, rest, found := bytes.Cut(out, []byte("\n\001exit "))
		if !found {
			return codes
		}
		code := 0
		if _, err := fmt.Sscanf(string(rest[:min(len(rest), 8)]), "%d\001", &code); err == nil {
			codes = append(codes, code)
		}
		out = rest
	}
}

// without returns a plan without one of its parts.
func without(p walls.Plan, part string) walls.Plan {
	switch part {
	case NoMasks:
		p.Denied, p.Empty = nil, nil
	case NoProtected:
		p.ReadOnly = nil
	case NoTree:
		p.Writable = append(slices.Clone(p.Writable), walls.Path{Path: "/home"}, walls.Path{Path: "/etc"}, walls.Path{Path: "/outside"})
	}
	return p
}

// output keeps the beginning of what is written, and the last of it.
type output struct {
	mu   sync.Mutex
	data []byte
}

const maxOutput = 1 << 20

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.data)+len(p) < maxOutput || len(p) < 32 {
		o.data = append(o.data, p...)
	}
	return len(p), nil
}

func (o *output) take() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.data)
}

// agentEnd is the box's end of the agent.
type agentEnd struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startAgent(c *Config) (*agentEnd, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{agentEnv + "=1", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + c.Home, "LC_ALL=C.UTF-8", "TMPDIR=/tmp"}
	cmd.Dir, cmd.Stderr = c.Dir, os.Stderr
	id := uint32(c.user())
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: &syscall.Credential{Uid: id, Gid: id}}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &agentEnd{cmd, in, json.NewDecoder(out)}, cmd.Start()
}

func (a *agentEnd) do(e errand) (r report, err error) {
	if err = json.NewEncoder(a.in).Encode(&e); err == nil {
		err = a.out.Decode(&r)
	}
	if err == nil && r.Err != "" {
		err = errors.New(r.Err)
	}
	return r, err
}
