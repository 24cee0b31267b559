package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/execution"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// execFlags are the flags of exec.
type execFlags struct {
	policyFlags
	audit                      auditFlags
	shell, kubeconfig, session string
	approvals                  string
	limit, patience, ttl       time.Duration
	keepEnv                    []string
	temp, noInput              bool
}

func (a *app) execCommand() *cobra.Command {
	f := &execFlags{}
	cmd := &cobra.Command{
		Use:   "exec [flags] -- COMMAND...",
		Short: "Run one command if your policy, or you, allow it",
		Long: `exec decides a command line and runs it if it is allowed: tier 1 at once, tier 2
after you approve it at the terminal, tier 3 (destructive) not at all. A single
argument after -- is a line for the shell; several arguments are words, which
exec quotes. What was decided is what runs, byte for byte.

Tier 3 runs, or is asked about, only if a rule of the policy names the command:
allow or ask "Bash(rm -rf build)", not "Bash", in a file or with --allow or
--ask. Rules of a session and rules that you said "always" to never count here,
nor does "approved" in a policy.

The decision is recorded before the command starts, and the outcome afterwards;
if it cannot be recorded, nothing runs. A question without an answer in time, or
without a terminal, is denied. At the time limit the command and all that it
started get SIGTERM, and SIGKILL after 5 seconds.

With --sandbox the command runs in a sandbox (Linux): it can write only in the
workspace, in caches of tools and to temporary files that end with it. It cannot
read secrets, or what a rule with a path asks about or denies, and it reaches
only hosts that a rule allows. Everything that it starts ends with it. What can
do no harm there is not asked about. If the sandbox cannot be built here,
nothing runs. See agent-wrapper policy sandbox.

The command runs in the workspace (--cwd), or with --temp-dir in an empty
directory that is removed afterwards. Cloud credentials (AWS_*, AZURE_*,
GOOGLE_APPLICATION_CREDENTIALS and the like) are withheld; --keep-env passes
them.

The exit code is the command's own, or 128 plus the number of the signal that
ended it, or exec's: 3 if it was refused, 2 if the command line is wrong, 1 if
it could not be run or recorded. A message on standard error says which.`,
		Example: `  agent-wrapper exec -- kubectl get pods
  agent-wrapper exec --kubeconfig prod.yaml -- 'kubectl get pods | grep nginx'
  agent-wrapper exec history --since 24h`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || cmd.ArgsLenAtDash() != 0 {
				return errors.New("exec takes the command after --: write agent-wrapper exec -- ls -l")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.exec(cmd.Context(), f, commandLine(args)) },
	}
	f.add(cmd)
	cmd.AddCommand(a.execHistoryCommand(), a.execSessionCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// add defines the flags.
func (f *execFlags) add(cmd *cobra.Command) {
	f.policyFlags.add(cmd)
	f.addSandbox(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.shell, "shell", "bash", "the shell `program` that runs the command: bash, sh, dash or zsh")
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "give the command a private copy of this `file` as KUBECONFIG")
	flags.DurationVar(&f.limit, "timeout", 30*time.Second, "how `long` the command may run; 0 for no limit")
	flags.DurationVar(&f.patience, "ask-timeout", time.Minute, "how `long` to wait for your answer before denying; 0 for no limit")
	flags.StringVar(&f.session, "session", "", "`name` of the session whose rules apply (default: this terminal's)")
	flags.DurationVar(&f.ttl, "session-ttl", time.Hour, "how `long` to keep a rule that you allow for the session")
	flags.Var((*list)(&f.keepEnv), "keep-env", "`name` of a cloud credential to pass to the command; repeatable")
	flags.BoolVar(&f.temp, "temp-dir", false, "run in an empty temporary directory")
	flags.BoolVar(&f.noInput, "no-input", false, "ask nobody: deny what would be asked")
	flags.StringVar(&f.approvals, "approvals", "", "who may answer besides this terminal, `local|URL`: any terminal of yours (agent-wrapper approvals), or people at a service (docs/server.md)")
	offer(cmd, "approvals", approvalsLocal)
	f.audit.add(flags)
}

// shells are the values of --shell, with the options that keep each shell from
// reading start-up files, and its dialect.
var shells = map[string]struct {
	dialect shell.Dialect
	options []string
}{
	"bash": {shell.Bash, []string{"--norc"}},
	"zsh":  {shell.Zsh, []string{"-f"}},
	"sh":   {shell.Sh, nil},
	"dash": {shell.Sh, nil},
}

// job is one run of exec.
type job struct {
	inside *enclosed // nil: it runs outside the sandbox
	*app
	flags    *execFlags
	engine   *engine.Engine
	place    *execution.Place
	kube     *execution.Kubeconfig // nil if none was given
	env      []string
	left     []string // names of variables that are withheld
	use      permission.ToolUse
	scope    execution.Scope
	sessions *execution.Sessions
	keep     []execution.Rule // rules that the person wants to keep

	limitedBy string // who says how long the command may run; "" is --timeout
}

// exec decides a command line and runs it.
func (a *app) exec(ctx context.Context, f *execFlags, line string) (err error) {
	if err := f.check(line); err != nil {
		return err
	}
	var later later
	e, err := f.engine(ctx, later.add)
	if err != nil {
		return err
	}
	defer later.tell(a)
	defer closing(e, &err)
	j := &job{app: a, flags: f, engine: e}
	if err := j.prepare(line); err != nil {
		return err
	}
	defer j.leave()
	return j.do(ctx)
}

// engine returns the engine for exec. It has no whitelists, which are for agents:
// here a person gives the command.
func (f *execFlags) engine(ctx context.Context, warn func(string)) (*engine.Engine, error) {
	f.unbound = true
	o, err := f.options()
	if err != nil {
		return nil, err
	}
	if err := f.audit.into(o); err != nil {
		return nil, err
	}
	o.Uncounted, o.NoAdvice, o.Warn = true, true, warn
	r, err := load(o)
	if err != nil {
		return nil, err
	}
	r.Policy.NoRemoval = true // tier 3 is not run here, whatever a person answers
	if r.Policy.Mode == modes.BypassPermissions {
		return nil, usage("mode bypassPermissions is only for run: give another --mode")
	}
	if err := enclose(ctx, r, f.sandbox != "", warn); err != nil {
		return nil, err
	}
	return open(r)
}

// later are warnings that are told when no question is open any more. It is safe for
// concurrent use.
type later struct {
	mu  sync.Mutex
	all []string
}

func (l *later) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
}

func (l *later) tell(a *app) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range l.all {
		a.say("warning: %s", text)
	}
}

// leave removes the private files.
func (j *job) leave() {
	if err := j.place.Remove(); err != nil {
		j.say("the private files of this run are still there: %v", err)
	}
}

// sessionName is the form of the name of a session.
var sessionName = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)

// check rejects flags and lines that are unusable.
func (f *execFlags) check(line string) error {
	_, known := shells[filepath.Base(f.shell)]
	switch {
	case f.approvals != "" && f.noInput:
		return usage("--no-input and --approvals do not go together: --no-input asks nobody; leave one of them out")
	case !known:
		return among("--shell", f.shell, slices.Sorted(maps.Keys(shells))...)
	case f.limit < 0:
		return usage("--timeout %v: write a time of 0 (no limit) or more", f.limit)
	case f.patience < 0:
		return usage("--ask-timeout %v: write a time of 0 (no limit) or more", f.patience)
	case f.ttl <= 0:
		return usage("--session-ttl %v: write a time above 0", f.ttl)
	case f.session != "" && !sessionName.MatchString(f.session):
		return usage("--session %q: use up to 64 letters, digits, dots, dashes and underscores", f.session)
	case !utf8.ValidString(line):
		return usage("the command is not valid UTF-8, so it cannot be shown and recorded as it is: write it in UTF-8")
	}
	return nil
}

// prepare sets up everything that the decision and the command need.
func (j *job) prepare(line string) error {
	f := j.flags
	for _, w := range j.engine.Warnings {
		j.say("warning: %s", w)
	}
	if err := j.cleanEnvironment(); err != nil {
		return err
	}
	if f.kubeconfig != "" {
		var err error
		if j.kube, err = execution.ReadKubeconfig(f.kubeconfig); err != nil {
			return fileError("--kubeconfig", err)
		}
	}
	state := userDirs().State
	if state == "" {
		return opening(engine.ErrNoState)
	}
	var err error
	if j.place, err = execution.NewPlace(filepath.Join(state, "exec-runs")); err != nil {
		return err
	}
	if err = j.makeUse(line); err == nil {
		err = j.joinSession(execution.SessionsAt(filepath.Join(state, sessionsDir)))
	}
	if err != nil {
		j.leave()
	}
	return err
}

// sessionsDir is the directory of sessions in the state directory.
const sessionsDir = "exec-sessions"

func (j *job) cleanEnvironment() error {
	env, left, err := execution.Environ(os.Environ(), j.flags.keepEnv)
	if err != nil {
		return usage("--keep-env: %w", err)
	}
	j.env, j.left = env, left
	return nil
}

// bashInput is the input of the tool use that exec decides. It has the kubeconfig
// for the person who is asked and for the record.
type bashInput struct {
	Command    string `json:"command"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
}

// makeUse sets the tool use that is decided.
func (j *job) makeUse(line string) error {
	dir := j.engine.Place.Workspace
	if j.flags.temp {
		var err error
		if dir, err = j.place.Temp(); err != nil {
			return err
		}
	}
	in := bashInput{Command: line}
	if j.kube != nil {
		in.Kubeconfig = j.kube.Path
	}
	var input strings.Builder
	enc := json.NewEncoder(&input)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in); err != nil {
		return err
	}
	j.use = permission.ToolUse{
		ID: "exec-" + random(), Tool: "Bash", Input: json.RawMessage(strings.TrimSpace(input.String())), Dir: dir,
		Dialect: shells[filepath.Base(j.flags.shell)].dialect, OwnShell: true,
	}
	return nil
}

func random() string {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// execSession is the prefix of exec's sessions in the record.
const execSession = "exec:"

// joinSession adds the rules that were kept for the session. Without a terminal
// and without a name, the session is this run.
func (j *job) joinSession(s *execution.Sessions) error {
	id := j.flags.session
	if id == "" {
		var ok bool
		if id, ok = tty.Session(); !ok {
			j.use.Session = execSession + j.use.ID
			return nil
		}
	}
	j.sessions, j.use.Session = s, execSession+id
	j.scope = execution.Scope{Session: id, Dir: j.engine.Place.Workspace}
	if j.flags.temp {
		j.scope.Dir = "" // the session of a run belongs to nobody else
	}
	if j.kube != nil {
		j.scope.Kubeconfig = j.kube.Digest
	}
	rules, err := s.Rules(j.scope, time.Now())
	if err != nil {
		return err
	}
	for _, r := range rules {
		add := j.engine.Session.Deny
		if r.List == "allow" {
			add = j.engine.Session.Allow
		}
		if err := add(r.Text); err != nil {
			return fmt.Errorf("a rule of this session: %w", err)
		}
	}
	return nil
}

// do decides, runs and records.
func (j *job) do(ctx context.Context) error {
	person, end, err := j.approver()
	if err != nil {
		return err
	}
	j.engine.SetApprover(person)
	res, err := j.engine.CanUseTool(ctx, j.use)
	if err := errors.Join(err, end()); err != nil {
		return err
	}
	j.keepRules()
	if res.Behavior != permission.Allow {
		return &coded{codeDenied, fmt.Errorf("not run: %s", visible.Line(whyNot(&res)))}
	}
	var in bashInput
	if err := json.Unmarshal(res.UpdatedInput, &in); err != nil {
		return fmt.Errorf("the command that was approved: %w", err)
	}
	if res.Sandbox.Held() {
		j.inside = &enclosed{engine: j.engine, use: &j.use, line: in.Command, outward: res.SandboxWhy, say: j.say}
	}
	return j.run(ctx, in.Command)
}

// whyNot returns why a line is not run. If a person has denied it, the words of that
// person come first.
func whyNot(res *permission.Result) string {
	said := res.Message
	switch a := res.Approval; {
	case res.By != "person":
		return res.Reason
	case a != nil && len(a.People) > 0:
		said = "denied by " + a.People[len(a.People)-1].Name
		if a.Comment != "" {
			said += ": " + a.Comment
		}
	}
	return said + " (" + res.Reason + ")"
}

// run runs the line that was decided.
func (j *job) run(ctx context.Context, line string) error {
	env := append(j.env[:len(j.env):len(j.env)], "PWD="+j.use.Dir)
	if j.kube != nil {
		path, err := j.keepKube()
		if err != nil {
			return errors.Join(err, j.engine.Outcome(j.outcome(process.Result{}, err)))
		}
		env = append(env, "KUBECONFIG="+path)
	}
	res, err := j.start(ctx, line, env)
	if recErr := j.engine.Outcome(j.outcome(res, err)); recErr != nil {
		return errors.Join(err, fmt.Errorf("the command ran (exit code %d), and that cannot be recorded: %w", res.Exit, recErr))
	}
	if err != nil {
		return err
	}
	switch {
	case res.TimedOut:
		j.say("ended after %v: the time limit (%s)", j.flags.limit, cmp.Or(j.limitedBy, "--timeout"))
	case res.Exit != 0 && j.inside != nil:
		j.advise()
	case res.Exit != 0 && len(j.left) > 0:
		j.say("cloud credentials withheld: %s; use --keep-env to pass them", strings.Join(j.left, ", "))
	}
	return exit(res.Exit)
}

// keepKube writes the copy of the kubeconfig, where the command sees it.
func (j *job) keepKube() (path string, err error) {
	const name = "kubeconfig"
	if j.inside == nil {
		return j.place.Keep(name, j.kube.Data)
	}
	path, err = j.place.Show(name, j.kube.Data)
	j.inside.shown = append(j.inside.shown, sandbox.Path{Path: filepath.Dir(path), Why: "the copy of the kubeconfig"})
	return path, err
}

// start runs the line in the directory that was decided about: a link that has taken its
// place leads elsewhere.
func (j *job) start(ctx context.Context, line string, env []string) (process.Result, error) {
	dir, err := process.OpenDir(j.use.Dir)
	if err != nil {
		return process.Result{}, &process.NotStarted{Program: j.flags.shell, Err: err}
	}
	defer dir.Close()
	command := j.command(line, dir.Path(), env)
	if j.inside == nil {
		return command.Run(ctx)
	}
	res, err := j.inside.run(ctx, command)
	if command.Limit != j.flags.limit {
		j.flags.limit, j.limitedBy = command.Limit, sandbox.TimeLimit
	}
	return res, err
}

// command returns the shell's command for the line.
func (j *job) command(line, dir string, env []string) *process.Command {
	sh := shells[filepath.Base(j.flags.shell)]
	args := slices.Concat([]string{j.flags.shell}, sh.options, []string{"-c", "--", line})
	return &process.Command{Args: args, Dir: dir, Env: env, Stdin: j.in, Stdout: j.out, Stderr: j.err, Limit: j.flags.limit}
}

// outcome returns the record of a command that was started, or failed to start.
func (j *job) outcome(res process.Result, err error) audit.Outcome {
	o := audit.Outcome{Session: j.use.Session, Use: j.use.ID, Tool: j.use.Tool, Failed: err != nil || res.Exit != 0}
	switch not := new(process.NotStarted); {
	case errors.As(err, &not) || res.Took == 0:
		o.Note = "it was not started: " + plain.Text(err)
		return o
	case res.TimedOut:
		o.Note = "ended at the time limit of " + j.flags.limit.String()
	case res.Cancelled:
		o.Note = "ended by a signal to exec"
	case err != nil:
		o.Note = plain.Text(err)
	}
	o.Exit, o.Took = &res.Exit, res.Took
	if j.inside != nil {
		o.Met = sandbox.Names(j.inside.met)
	}
	return o
}

// say writes a message to standard error.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.err, "agent-wrapper: %s\n", visible.Line(fmt.Sprintf(format, args...)))
}

// commandLine returns the command line in the arguments: a single argument is a
// line, several are words.
func commandLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return shellword.Join(args)
}
