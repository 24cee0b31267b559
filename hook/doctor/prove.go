package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/process"
)

// Proof has hosts attempt canaries, against a model of our own.
type Proof struct {
	Machine
	Hosts []string // none: all that are installed
	// Isolated says that nothing but loopback is to be reached from here. Elsewhere the
	// hosts are given proxies that are closed.
	Isolated bool
	Limit    time.Duration // for one canary; 0 means a minute
	Tell     func(string)  // is told of each canary as it ends; nil for nobody

	patience time.Duration // for a hook that hangs; 0 means patience
	only     []string      // the canaries; nil for all
}

// patience is how long a hook that hangs may take. Guards count in whole seconds.
const patience = 2 * time.Second

// trials is how the canaries of a host are tried.
type trials struct {
	dialect
	files func(*Machine) files
	// canary returns the call of a canary, false if the host has no tool for it.
	canary func(b *box, name string) (call, bool)
	spawn  func(b *box) call // starts a subagent that begins with subKey
	lay    func(b *box) error
	start  func(b *box, url, prompt string) (args, env []string)
	// open says for which states of the hook the host is known to let tools run.
	open map[state]string
}

// The canaries.
const (
	byShell      = "shell"
	byWrite      = "write"
	byMCP        = "mcp"
	bySubagent   = "subagent"
	inBackground = "background"
)

func canaries() []string { return []string{byShell, byWrite, byMCP, bySubagent, inBackground} }

// Run tries the canaries of each host, a few at a time. The error is about the proof
// itself; what came of a canary is a result.
func (p *Proof) Run(ctx context.Context) ([]Result, error) {
	list, err := chosen(p.Hosts)
	if err != nil {
		return nil, err
	}
	all := []Result{}
	for _, a := range list {
		path := p.find(a.program)
		switch {
		case path == "":
		case a.proof == nil:
			all = append(all, p.result(a, "all", answering, NotRun, Warn, "there is no proof for this host"))
		default:
			found, err := p.host(ctx, a, path)
			if err != nil {
				return all, fmt.Errorf("%s: %w", a.name, err)
			}
			all = append(all, found...)
		}
	}
	return all, ctx.Err()
}

// atOnce is how many canaries of a host are tried at a time.
const atOnce = 2

// host tries the canaries of a host.
func (p *Proof) host(ctx context.Context, a agent, path string) ([]Result, error) {
	names := p.only
	if names == nil {
		names = canaries()
	}
	found, errs := make([][]Result, len(names)), make([]error, len(names))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			free <- struct{}{}
			defer func() { <-free }()
			found[i], errs[i] = p.canary(ctx, a, path, name)
		})
	}
	all.Wait()
	var results []Result
	for _, list := range found {
		results = append(results, list...)
	}
	return results, errors.Join(errs...)
}

// canary tries one canary with each state of the hook.
func (p *Proof) canary(ctx context.Context, a agent, path, name string) (list []Result, err error) {
	f := a.proof.files(&p.Machine)
	managed := len(ours(f.event, f.managed...)) > 0
	installed := managed || len(ours(f.event, append(f.user, f.project...)...)) > 0
	var control evidence
	for _, s := range states() {
		if why := untried(s, managed, installed); why != "" {
			list = append(list, p.result(a, name, s, NotRun, Warn, why))
			continue
		}
		t := &trial{proof: p, trials: a.proof, path: path, name: name}
		began := time.Now()
		e, err := t.run(ctx, s)
		if err != nil || t.absent || ctx.Err() != nil {
			return list, err
		}
		if s == allowing {
			control = e
		}
		outcome, mark, why := judge(s, e, control, a.proof.open[s])
		list = append(list, p.result(a, name, s, outcome, mark, why))
		p.tell("%s: %s with a hook that %s: %s (%.1f s)", a.name, name, s, outcome, time.Since(began).Seconds())
	}
	return list, nil
}

// untried says why a state of the hook is not tried, "" if it is.
func untried(s state, managed, installed bool) string {
	switch {
	case !installed && s != answering:
		return "the hook of agent-wrapper is not installed"
	case managed && s != answering && s != allowing:
		return "the hook is installed for the machine, which a proof leaves alone"
	}
	return ""
}

func (p *Proof) result(a agent, canary string, s state, o Outcome, m Mark, why string) Result {
	return Result{Host: a.name, Canary: canary, Hook: string(s), Outcome: o, Mark: m, Why: why}
}

func (p *Proof) tell(format string, args ...any) {
	if p.Tell != nil {
		p.Tell(fmt.Sprintf(format, args...))
	}
}

// trial is one canary with one state of the hook.
type trial struct {
	proof *Proof
	*trials
	path   string // of the host
	name   string
	absent bool // the host has no tool for the canary
}

// run has the host attempt the canary.
func (t *trial) run(ctx context.Context, s state) (e evidence, err error) {
	b, err := newBox(&t.proof.Machine, s, cmp.Or(t.proof.patience, patience))
	if b != nil {
		defer os.RemoveAll(b.dir)
	}
	if err != nil {
		return e, err
	}
	inner, ok := t.call(b)
	if !ok {
		t.absent = true
		return e, nil
	}
	if err := errors.Join(t.lay(b), b.settle()); err != nil {
		return e, err
	}
	m, err := startModel(t.dialect, t.script(b, inner))
	if err != nil {
		return e, err
	}
	e.ended = t.drive(ctx, b, m)
	e.ran = exists(b.marker())
	e.words = m.heard(b.words)
	e.made, e.back = m.made(inner), m.heard(inner.token)
	if t.name == bySubagent && !e.made && s != answering { // stopped when it was to start the subagent
		outer := t.spawn(b)
		e.made, e.back = m.made(outer), m.heard(outer.token)
	}
	return e, m.close()
}

// call returns the call of the canary itself.
func (t *trial) call(b *box) (call, bool) {
	if t.name == bySubagent {
		if t.spawn == nil {
			return call{}, false
		}
		return t.canary(b, byShell)
	}
	return t.canary(b, t.name)
}

// script returns what the model says.
func (t *trial) script(b *box, inner call) script {
	s := script{key: b.key, subKey: b.subKey, calls: []call{inner}}
	if t.name == bySubagent {
		s.calls, s.sub = []call{t.spawn(b)}, []call{inner}
	}
	if t.name == inBackground {
		s.settle = func() { await(b.marker(), b.patience) }
	}
	return s
}

// await waits for a file for a moment.
func await(path string, limit time.Duration) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(limit); !exists(path); {
		select {
		case <-tick.C:
		case <-over:
			return
		}
	}
}

// drive runs the host and says how it ended, "" if it ended well.
func (t *trial) drive(ctx context.Context, b *box, m *model) string {
	args, env := t.start(b, m.url, "This is a canary of agent-wrapper doctor: "+b.key)
	env = append(bare(b.person.variable("PATH"), b.home), env...)
	if !t.proof.Isolated {
		env = append(env, closed()...)
	}
	cmd := &exec.Cmd{Path: t.path, Args: append([]string{t.path}, args...), Dir: b.work, Env: env}
	return drive(ctx, cmd, cmp.Or(t.proof.Limit, time.Minute))
}

// closed returns variables that have a program reach nothing but loopback, if it heeds
// them: nothing listens on port 9.
func closed() (env []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		env = append(env, name+"=http://127.0.0.1:9", strings.ToLower(name)+"=http://127.0.0.1:9")
	}
	return append(env, "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost")
}

// drive runs a program for at most limit, and says how it ended, "" if it ended well.
func drive(ctx context.Context, cmd *exec.Cmd, limit time.Duration) string {
	s, err := process.StartSession(cmd)
	if err != nil {
		return err.Error()
	}
	s.Close()
	said := &tail{}
	var read sync.WaitGroup
	read.Go(func() { io.Copy(said, s) })
	read.Go(func() { io.Copy(said, s.Stderr()) })
	ended := make(chan error, 1)
	go func() { ended <- s.Wait() }()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	late := ""
	select {
	case err = <-ended:
	case <-timer.C:
		late = fmt.Sprintf("it took longer than %v", limit)
		s.Kill()
		<-ended
	case <-ctx.Done():
		late = "interrupted"
		s.Kill()
		<-ended
	}
	read.Wait()
	switch {
	case late != "":
		return late
	case err != nil:
		return fmt.Sprintf("%v: %s", err, said.last())
	}
	return ""
}

// tail keeps the end of what a program says.
type tail struct {
	mu   sync.Mutex
	text string
}

func (t *tail) Write(p []byte) (int, error) {
	const most = 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(p)
	if extra := len(t.text) - most; extra > 0 {
		t.text = t.text[extra:]
	}
	return len(p), nil
}

// last returns the last line, cut for a table.
func (t *tail) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(t.text)
	return clipped(text[strings.LastIndexByte(text, '\n')+1:])
}
