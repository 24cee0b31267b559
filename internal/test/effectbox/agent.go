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
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

// agentEnv marks the process in the box that decides lines and runs them.
const agentEnv = "AGENT_WRAPPER_EFFECT_AGENT"

// Agent is who decides lines in the box, and plans the sandbox around them. The agent is made when
// the tree is there, and used by the user that runs the lines.
type Agent interface {
	// Decide decides lines, none of which has run.
	Decide(lines []string) ([]Verdict, error)
	Plan() (*sandbox.Plan, error)
}

// Verdict is the decision on a line.
type Verdict struct{ Behavior, Sandbox, Rule, Reason string }

// The parts that a session can be without, to show that what it checks can fail.
const (
	NoSandbox   = "sandbox"
	NoMasks     = "masks"     // what is denied can be read
	NoProtected = "protected" // what is read-only in the workspace can be written
	NoTree      = "tree"      // the whole tree of files can be written
	NoPins      = "pins"      // directories above what is withheld can be moved
)

// errand is what the agent is told: to decide lines, or to run some.
type errand struct {
	Decide, Run []string
	Without     string
	Room        bool // the sandbox is that of a driven agent's command
	Dir         string
	Keep        []string
	Timeout     time.Duration
}

// report is what it answers.
type report struct {
	Verdicts []Verdict
	Output   []byte // its beginning
	Shown    bool   // it has a secret in it
	Exits    []int  // of the lines that have ended
	Mended   int    // how often the tree was
	Plan     *sandbox.Plan
	CPU      map[string]time.Duration
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
		r.CPU = map[string]time.Duration{"agent": cpu(syscall.RUSAGE_SELF), "lines": cpu(syscall.RUSAGE_CHILDREN)}
		if err := out.Encode(&r); err != nil {
			return err
		}
	}
}

// cpu returns the time that this process has used, or its children that have ended.
func cpu(who int) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(who, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (r *report) do(agent Agent, e *errand) (err error) {
	if len(e.Decide) > 0 {
		if r.Verdicts, err = agent.Decide(e.Decide); err != nil {
			return fmt.Errorf("decide %q: %w", e.Decide, err)
		}
	}
	if len(e.Run) == 0 {
		return nil
	}
	if r.Plan, err = agent.Plan(); err != nil {
		return err
	}
	out := &output{}
	c := &process.Command{
		Args: append([]string{"/usr/bin/perl", "-e", each, fmt.Sprint(e.Timeout.Seconds()), e.Dir, strings.Join(e.Keep, " ")}, e.Run...), Dir: e.Dir,
		Env: os.Environ(), Stdout: out, Stderr: out, Limit: e.Timeout*time.Duration(len(e.Run)) + time.Minute, Grace: time.Millisecond,
	}
	run := c.Run
	if e.Without != NoSandbox {
		plan := without(*r.Plan, e.Without)
		run = func(ctx context.Context) (process.Result, error) { return (&kernel.Held{Plan: &plan}).Run(ctx, c) }
		if e.Room {
			run = func(context.Context) (process.Result, error) { return inRoom(&plan, c) }
		}
	}
	if _, err = run(context.Background()); kernel.IsMade(err) {
		err = nil // it has ended the session, with what it made
	}
	out.report(r)
	return err
}

// inRoom runs a command in a room, as a driven agent does: its sandbox is built before it is
// known.
func inRoom(plan *sandbox.Plan, c *process.Command) (process.Result, error) {
	room, err := kernel.OpenRoom(func(context.Context, string, string) error { return errors.New("no host is listed") })
	if err != nil {
		return process.Result{}, err
	}
	defer room.Close()
	p, err := room.Prepare(plan)
	if err != nil {
		return process.Result{}, err
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return process.Result{}, err
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return process.Result{}, err
	}
	defer out.Close()
	err = p.Start(&exec.Cmd{Path: c.Args[0], Args: c.Args, Dir: c.Dir, Env: c.Env}, [3]*os.File{null, in, in})
	in.Close()
	if err != nil {
		return process.Result{}, err
	}
	defer time.AfterFunc(c.Limit, func() { p.Signal(syscall.SIGKILL) }).Stop()
	_, errCopy := io.Copy(c.Stdout, out)
	code, err := p.Wait()
	return process.Result{Exit: code}, errors.Join(err, errCopy)
}

// each runs lines, one after the other, each in a group of processes of its own. Where a
// line has taken away what later ones are about, that is made anew, and at the end the
// directory can be entered: else nothing could be decided anew. It is Perl, which starts
// nothing but bash for a line.
const each = `use Time::HiRes 'alarm';
my ($limit, $dir, $keep, @lines) = @ARGV;
my ($pid, $late);
$| = 1;
$SIG{ALRM} = sub { kill $late++ ? 'KILL' : 'TERM', -$pid; alarm 0.5 };
for my $line (@lines) {
	for (split ' ', $keep) {
		next if !-l $_ && -s $_ && -r _;
		my ($top) = m{^([^/]+)/};
		my @dirs = grep { -d && !-l } <$dir/*>; # no link leads out
		chmod 0755, $dir, @dirs, grep { -d && !-l } map { <$_/*> } @dirs;
		system 'rm -rf ' . "$dir/$top 2>/dev/null" if $top && $top ne '.git';
		system 'tar -xf ' . '` + pristine + `' . " -C $dir 2>/dev/null";
		print "\n\001exit -1\001\n";
		last;
	}
	$late = 0;
	$pid = fork // die;
	if (!$pid) { setpgrp; exec '/usr/bin/bash', '-c', $line or die }
	alarm $limit;
	1 while waitpid($pid, 0) != $pid;
	my $code = $late ? 124 : $? & 127 ? 128 + ($? & 127) : $? >> 8;
	alarm 0;
	print "\n\001exit $code\001\n";
}
chmod 0755, $dir;`

// pristine is an archive of Config.Keep.
const pristine = "/usr/local/share/pristine.tar"

// without returns a plan without one of its parts.
func without(p sandbox.Plan, part string) sandbox.Plan {
	switch part {
	case NoMasks:
		p.Denied, p.Empty = nil, nil
	case NoProtected:
		p.ReadOnly = nil
	case NoPins:
		p.Writable = slices.DeleteFunc(slices.Clone(p.Writable), func(w sandbox.Path) bool {
			above := func(root string) bool { return strings.HasPrefix(w.Path, root+"/") }
			return slices.ContainsFunc(p.Workspace, above) && path.Base(w.Path) != ".git"
		})
	case NoTree:
		p.Writable = append(slices.Clone(p.Writable), sandbox.Path{Path: "/home"}, sandbox.Path{Path: "/etc"}, sandbox.Path{Path: "/outside"})
	}
	return p
}

// output looks for secrets and for the ends of lines in what is written, and keeps the
// beginning.
type output struct {
	mu     sync.Mutex
	begun  []byte
	last   []byte // of what is written, which may be part of something
	shown  bool
	exits  []int
	mended int
}

// The most that is kept of what is written: at the beginning, and at the end.
const maxOutput, maxLast = 4 << 10, 64

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.begun = append(o.begun, p[:min(len(p), maxOutput-len(o.begun))]...)
	text := append(o.last, p...)
	o.shown = o.shown || shows(text)
	for {
		_, rest, found := bytes.Cut(text, []byte("\n\001exit "))
		end := bytes.Index(rest, []byte("\001\n"))
		if !found || end < 0 {
			break
		}
		if code, err := strconv.Atoi(string(rest[:end])); err == nil && code >= 0 {
			o.exits = append(o.exits, code)
		} else if err == nil {
			o.mended++
		}
		text = rest[end+1:]
	}
	o.last = bytes.Clone(text[max(0, len(text)-maxLast):])
	return len(p), nil
}

func (o *output) report(r *report) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r.Output, r.Shown, r.Exits, r.Mended = bytes.Clone(o.begun), o.shown, o.exits, o.mended
}

// agentEnd is the box's end of the agent.
type agentEnd struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startAgent(c *Config) (*agentEnd, error) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{agentEnv + "=1", "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + c.Home, "LC_ALL=C.UTF-8", "TMPDIR=/tmp", "GOGC=400"}
	cmd.Env = append(cmd.Env, c.Env...)
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
