package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

// Proof has hosts attempt canaries, against a model of our own.
type Proof struct {
	Machine
	Hosts []string // none: all that are installed
	// Isolated says that nothing but loopback is to be reached from here. Elsewhere the
	// hosts are given proxies that are closed.
	Isolated bool
	Limit    time.Duration // for each canary; 0 means a minute
	Tell     func(string)  // is told of each run of a host; nil for nobody

	patience time.Duration // for a hook that hangs; 0 means patience
	only     []string      // the canaries; nil for all
}

// patience is how long a hook that hangs may take. Guards count in whole seconds.
const patience = 2 * time.Second

// trials is how the canaries of a host are tried.
type trials struct {
	dialect
	// installed reports whether our hook is in the configuration, and whether in that of
	// the machine.
	installed func(*Machine) (any, managed bool)
	// canary returns the call of a canary, false if the host has no tool for it.
	canary func(b *box, name string) (call, bool)
	spawn  func(b *box) call // starts a subagent that begins with subKey
	lay    func(b *box) error
	start  func(b *box, prompt string) (args, env []string)
	// open says for which states of the hook the host is known to let tools run.
	open map[state]string
}

// The canaries, in the order in which they are tried: what runs in the background has
// the time of those behind it.
const (
	byShell      = "shell"
	byWrite      = "write"
	byMCP        = "mcp"
	inBackground = "background"
	bySubagent   = "subagent"
)

func canaries() []string { return []string{byShell, byWrite, byMCP, inBackground, bySubagent} }

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

// atOnce is how many runs of a host there are at a time.
const atOnce = 2

// host tries the canaries of a host with each state of the hook, and judges them by the
// control, which is one of these.
func (p *Proof) host(ctx context.Context, a agent, path string) ([]Result, error) {
	names := p.only
	if names == nil {
		names = canaries()
	}
	why := p.untried(a)
	list := states()
	found, errs := make([]map[string]evidence, len(list)), make([]error, len(list))
	free := make(chan struct{}, atOnce)
	var all sync.WaitGroup
	for i, s := range list {
		if why(s) == "" {
			all.Go(func() {
				free <- struct{}{}
				defer func() { <-free }()
				found[i], errs[i] = p.state(ctx, a, path, s, names)
			})
		}
	}
	all.Wait()
	var results []Result
	for _, name := range names {
		for i, s := range list {
			e, tried := found[i][name]
			switch {
			case why(s) != "":
				results = append(results, p.result(a, name, s, NotRun, Warn, why(s)))
			case tried: // the host has a tool for it
				outcome, mark, why := judge(s, e, found[0][name], a.proof.open[s])
				results = append(results, p.result(a, name, s, outcome, mark, why))
			}
		}
	}
	return results, errors.Join(errs...)
}

// state tries the canaries with one state of the hook, all in one run of the host. Those
// that it did not come to have a run of their own.
func (p *Proof) state(ctx context.Context, a agent, path string, s state, names []string) (map[string]evidence, error) {
	t := &trial{proof: p, trials: a.proof, path: path, host: a.name}
	found, err := t.run(ctx, s, names)
	for _, name := range names {
		if e, ok := found[name]; ok && len(found) > 1 && !e.ran && !e.back && err == nil && ctx.Err() == nil {
			var alone map[string]evidence
			alone, err = t.run(ctx, s, []string{name})
			found[name] = alone[name]
		}
	}
	return found, err
}

// untried returns what says why a state of the hook is not tried, "" if it is.
func (p *Proof) untried(a agent) func(state) string {
	installed, managed := a.proof.installed(&p.Machine)
	return func(s state) string {
		switch {
		case !installed && s != answering:
			return "the hook of agent-wrapper is not installed"
		case managed && s != answering && s != allowing:
			return "the hook is installed for the machine, which a proof leaves alone"
		}
		return ""
	}
}

// inFiles returns what reports whether our hook is in the files of a host.
func inFiles(of func(*Machine) files) func(*Machine) (any, managed bool) {
	return func(m *Machine) (any, managed bool) {
		f := of(m)
		managed = len(ours(f.event, f.managed...)) > 0
		return managed || len(ours(f.event, append(f.user, f.project...)...)) > 0, managed
	}
}

func (p *Proof) result(a agent, canary string, s state, o Outcome, m Mark, why string) Result {
	return Result{Host: a.name, Canary: canary, Hook: string(s), Outcome: o, Mark: m, Why: why}
}

// trial is how a host is run.
type trial struct {
	proof *Proof
	*trials
	host, path string
}

// run has the host attempt canaries, with one state of the hook. Those that the host has
// no tool for are left out.
func (t *trial) run(ctx context.Context, s state, names []string) (map[string]evidence, error) {
	began := time.Now()
	b, err := newBox(&t.proof.Machine, s, cmp.Or(t.proof.patience, patience))
	if b != nil {
		defer os.RemoveAll(b.dir)
	}
	if err != nil {
		return nil, err
	}
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := t.call(b, name); return !ok })
	m, err := startModel(t.dialect, t.script(b, names))
	if err != nil {
		return nil, err
	}
	b.url = m.url
	if err := errors.Join(t.lay(b), b.settle()); err != nil {
		return nil, errors.Join(err, m.close())
	}
	ended := t.drive(ctx, b, m, len(names))
	found, ran := t.evidence(b, m, names, ended)
	if t.proof.Tell != nil {
		t.proof.Tell(fmt.Sprintf("%s with a hook that %s: %d of %d canaries ran (%.1f s)", t.host, s, ran, len(names), time.Since(began).Seconds()))
	}
	return found, m.close()
}

// call returns the call of a canary itself, false if the host has no tool for it.
func (t *trial) call(b *box, name string) (call, bool) {
	if name == bySubagent && t.spawn == nil {
		return call{}, false
	}
	return t.canary(b, name)
}

// script returns what the model says.
func (t *trial) script(b *box, names []string) script {
	s := script{key: b.key, subKey: b.subKey}
	for _, name := range names {
		c, _ := t.call(b, name)
		if name == bySubagent {
			s.sub = append(s.sub, c)
			c = t.spawn(b)
		}
		s.calls = append(s.calls, c)
	}
	s.settle = func(m *model) {
		if slices.Contains(names, inBackground) {
			await(b.patience, func() bool { return exists(b.marker(inBackground)) })
		}
		for _, c := range s.sub { // a host may start a subagent and go on
			if await(b.patience, func() bool { return m.made(c) }) {
				await(5*b.patience, func() bool { return m.heard(c.token) })
			}
		}
	}
	return s
}

// evidence collects what a run left behind, and counts what ran.
func (t *trial) evidence(b *box, m *model, names []string, ended string) (found map[string]evidence, ran int) {
	found = map[string]evidence{}
	for i, name := range names {
		c, next := m.script.calls[i], ""
		if i+1 < len(names) {
			next = m.script.calls[i+1].token
		}
		if sub := m.script.sub; name == bySubagent && (b.state == answering || m.made(sub[0])) {
			c, next = sub[0], "" // else it was stopped when it was to start the subagent
		}
		e := evidence{ran: exists(b.marker(name)), made: m.made(c), back: m.heard(c.token), words: m.told(b.words, c, next), ended: ended}
		found[name] = e
		if e.ran {
			ran++
		}
	}
	return found, ran
}

// await waits until something holds that nothing tells of. It gives up at the limit.
func await(limit time.Duration, holds func() bool) bool {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for over := time.After(limit); !holds(); {
		select {
		case <-tick.C:
		case <-over:
			return holds()
		}
	}
	return true
}

// drive runs the host and says how it ended, "" if it ended well.
func (t *trial) drive(ctx context.Context, b *box, m *model, n int) string {
	args, env := t.start(b, "This is a canary of agent-wrapper doctor: "+b.key)
	env = append(bare(b.person.variable("PATH"), b.home), env...)
	if !t.proof.Isolated {
		env = append(env, closed()...)
	}
	cmd := &exec.Cmd{Path: t.path, Args: append([]string{t.path}, args...), Dir: b.work, Env: env}
	return drive(ctx, cmd, time.Duration(n)*cmp.Or(t.proof.Limit, time.Minute))
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
