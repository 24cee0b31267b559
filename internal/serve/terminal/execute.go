package terminal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/lastdir"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	lang "github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Request is a command that an agent hands in.
type Request struct {
	Command     string `json:"command"`
	Description string `json:"description"` // by the agent, for a person
	// ForceApproval has a person asked even about a command that would run without.
	ForceApproval bool `json:"force_approval"`
	// Credential is what the agent hands it in with, see Options.Counts; "" is the owner
	// of the session.
	Credential string `json:"-"`
}

// The values of Result.Status.
const (
	statusExecuted  = "executed"
	statusRequired  = "approval_required"
	statusForbidden = "forbidden"
	statusDenied    = "denied"
	statusApproved  = "approved"
	statusCancelled = "cancelled"
	statusError     = "error"
)

// Result is what became of a command, or of an answer to a question about one.
type Result struct {
	Status    string   `json:"status"`
	Command   string   `json:"command"`
	CommandID string   `json:"command_id"`
	SessionID string   `json:"session_id"`
	Risk      string   `json:"risk,omitempty"`
	Reasons   []string `json:"reasons,omitempty"`
	Warning   string   `json:"warning,omitempty"` // of a command of high risk
	// NeedsInput is why it may wait for a person to take over and type.
	NeedsInput []string `json:"needs_input,omitempty"`
	Message    string   `json:"message,omitempty"`
	Error      string   `json:"error,omitempty"`
	// Of a question: what an answer quotes.
	ApprovalID string `json:"approval_id,omitempty"`
	Digest     string `json:"digest,omitempty"`
	// Executed says of an answer whether the command runs because of it.
	Executed bool `json:"executed,omitempty"`
}

// command is a command that is at hand.
type command struct {
	rec        store.Command
	credential string // that handed it in
	restored   bool   // from before a restart: it runs only after a question
	input      []string
	ctx        context.Context
	cancel     context.CancelCauseFunc

	// With the lock of the session:
	digest  string        // of the question
	asks    int           // how often a question was put
	asked   time.Time     // when it was last
	by      answerers     // who has given an answer to Approve
	news    chan struct{} // closed at the next change of digest, or when it is over
	result  Result        // what the agent is told
	over    bool          // it runs, or never will
	inside  bool          // inside the sandbox
	scratch string        // its directory for files of ours, if it runs there
	files   *os.Root      // the open directory with files of ours, nil before it runs
	console *console      // nil before it runs
	ended   chan struct{} // closed when it has ended and that is stored
}

func newCommand(credential string, rec store.Command) *command {
	c := &command{rec: rec, credential: credential, input: needsInput(rec.Command, rec.Dir), by: answerers{}, news: make(chan struct{}), ended: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	return c
}

func (c *command) changed() {
	close(c.news)
	c.news = make(chan struct{})
}

// finish sets what became of the command. The first time counts.
func (c *command) finish(r Result) {
	if c.over {
		return
	}
	c.over, c.result = true, r
	c.changed()
}

// told returns what the agent is told.
func (c *command) told() Result {
	r := c.result
	r.Command, r.CommandID, r.SessionID = c.rec.Command, c.rec.ID, c.rec.SessionID
	r.Risk, r.Reasons, r.NeedsInput = c.rec.Risk, c.rec.Reasons, c.input
	return r
}

// maxLine is the length in bytes from which a line is no argument of a program on
// Linux (MAX_ARG_STRLEN, execve(2)).
const maxLine = 128<<10 - 1

// check returns why a line cannot be run as it is.
func (r *Request) check() error {
	switch {
	case strings.ContainsRune(r.Command, 0):
		return errors.New("the command contains a NUL byte")
	case !utf8.ValidString(r.Command):
		return errors.New("the command is not UTF-8")
	case len(r.Command) >= maxLine:
		return fmt.Errorf("the command is longer than %d bytes", maxLine-1)
	}
	return nil
}

// Execute decides a command of the agent and runs it if that is allowed. It returns
// when the command runs, when it is known that it will not, or when a person is
// asked; what becomes of it then is in the store. An *Error or that of ctx says
// that it returns earlier.
func (m *Manager) Execute(ctx context.Context, id string, r Request) (Result, error) {
	s, err := m.session(id)
	if err != nil {
		return Result{}, err
	}
	if err := r.check(); err != nil {
		return Result{}, failure(Invalid, err)
	}
	c, err := s.accept(ctx, r)
	if err != nil {
		return Result{}, err
	}
	go s.decide(c)
	for {
		s.mu.Lock()
		result, known, news := c.told(), c.over || c.asks > 0, c.news
		s.mu.Unlock()
		if known {
			return result, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}

// accept makes a command the one at hand, durably.
func (s *session) accept(ctx context.Context, r Request) (*command, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	id := "command-" + random()
	next, err := s.machine.step(execute, id)
	if err != nil {
		return nil, refusal(err)
	}
	now := time.Now()
	c := newCommand(cmp.Or(r.Credential, s.owner), store.Command{
		ID: id, SessionID: s.id, ConversationID: s.rec.ConversationID, Command: r.Command, Description: r.Description, Dir: existing(s.rec.Dir),
		By: "agent", Force: r.ForceApproval, State: store.CommandPending, Created: now, Changed: now,
	})
	err = s.options.Store.CreateCommand(ctx, c.rec)
	if errors.Is(err, store.ErrBusy) {
		return nil, refusal(errBusy)
	}
	if err != nil {
		return nil, err
	}
	s.machine, s.at, s.rec.Active = next, c, now
	s.options.Changed(s.rec, &c.rec)
	return c, nil
}

// existing returns a directory without links, or if it was removed the nearest one
// above it.
func existing(dir string) string {
	real, err := filepath.EvalSymlinks(dir)
	if info, statErr := os.Stat(real); err == nil && statErr == nil && info.IsDir() {
		return real
	}
	if dir == filepath.Dir(dir) {
		return dir
	}
	return existing(filepath.Dir(dir))
}

// bashInput is the input of the tool use that is decided.
type bashInput struct {
	Command     string `json:"command"`
	Description string `json:"description,omitempty"`
}

// use returns the tool use that a command is.
func (s *session) use(c *command) (permission.ToolUse, error) {
	var input strings.Builder
	enc := json.NewEncoder(&input)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(bashInput{c.rec.Command, c.rec.Description}); err != nil {
		return permission.ToolUse{}, err
	}
	return permission.ToolUse{
		ID: c.rec.ID, Tool: "Bash", Input: json.RawMessage(strings.TrimSpace(input.String())), Dir: c.rec.Dir,
		Session: s.id, Dialect: lang.Bash, OwnShell: true, ForceAsk: c.rec.Force,
	}, nil
}

// decide has a command decided, and does what was decided.
func (s *session) decide(c *command) {
	res, err := s.decision(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.at != c {
		return // taken over, or the server stops: then it is decided again
	}
	switch {
	case err != nil:
		s.refuse(c, store.CommandFailed, Result{Status: statusError, Error: err.Error()})
	case res.Behavior == permission.Allow:
		s.allowed(c, &res)
	default:
		s.refused(c, &res)
	}
}

// decision asks the decider.
func (s *session) decision(c *command) (permission.Result, error) {
	d, err := s.opened()
	if err != nil {
		return permission.Result{}, err
	}
	use, err := s.use(c)
	if err != nil {
		return permission.Result{}, err
	}
	return d.CanUseTool(c.ctx, use)
}

// opened returns the session's decider.
func (s *session) opened() (Decider, error) {
	if err := s.lock(); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.decider == nil {
		d, err := s.options.Decider(s.rec, asker{s})
		if err != nil {
			return nil, err
		}
		s.decider = d
	}
	return s.decider, nil
}

// asker asks about the commands of a session.
type asker struct{ *session }

// Approve asks about the command at hand.
func (s asker) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	s.mu.Lock()
	c, rec := s.at, s.rec
	s.mu.Unlock()
	if c == nil || c.rec.ID != ask.Use.ID {
		return permission.Answer{}, context.Canceled
	}
	why := noted{ask.Decision.Risk.String(), reasons(&ask.Decision)}
	answer, err := s.options.Approver(rec, questions{s.options.Store, s.session, c, why}).Approve(ctx, ask)
	if err != nil && errors.Is(context.Cause(ctx), errStopped) {
		return permission.Answer{}, permission.ErrParked // the next start decides it
	}
	return answer, err
}

// noted is why a person is asked.
type noted struct {
	risk    string
	reasons []string
}

// questions is the broker for the questions about one command. When the command does
// not wait any more, because a person has taken over or the server stops, an approval
// is not used up, and a question that shall outlast the server is not withdrawn.
type questions struct {
	approval.Broker
	session *session
	command *command
	why     noted
}

// Submit begins an approval.
func (q questions) Submit(ctx context.Context, e approval.Entry) (approval.Entry, error) {
	e, err := q.Broker.Submit(ctx, e)
	if err == nil {
		q.session.asked(q.command, q.why, e)
	}
	return e, err
}

// Withdraw cancels an approval.
func (q questions) Withdraw(ctx context.Context, id string, by approval.Principal, reason string) (approval.Entry, error) {
	if !q.waits() {
		return q.Get(ctx, id)
	}
	return q.Broker.Withdraw(ctx, id, by, reason)
}

// Consume uses up an approval.
func (q questions) Consume(ctx context.Context, id, digest string) (approval.Entry, error) {
	if !q.waits() {
		return approval.Entry{}, errNothing
	}
	return q.Broker.Consume(ctx, id, digest)
}

func (q questions) waits() bool {
	q.session.mu.Lock()
	defer q.session.mu.Unlock()
	return !q.session.gone && q.session.at == q.command
}

// asked notes the question about a command.
func (s *session) asked(c *command, why noted, e approval.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.at != c {
		return
	}
	next, err := s.machine.step(ask, c.rec.ID)
	if err != nil {
		return
	}
	s.machine = next
	if c.asks > 0 {
		s.settled(c)
	}
	s.recorder.mark(fmt.Sprintf("asked %s %s: %s", e.ID, why.risk, inShort(visible.Command(c.rec.Command))))
	c.digest, c.asks, c.asked = e.Digest, c.asks+1, time.Now()
	c.rec.Risk, c.rec.Reasons, c.rec.ApprovalID = why.risk, why.reasons, e.ID
	s.warn(s.update(c.rec.State, &c.rec))
	c.result = Result{Status: statusRequired, ApprovalID: e.ID, Digest: e.Digest, Warning: warning(why.risk)}
	c.changed()
}

// warning returns what a person is warned of beside the reasons.
func warning(class string) string {
	if class == "high" {
		return "This command is of high risk."
	}
	return ""
}

// reasons returns why a decision is what it is.
func reasons(d *permission.Decision) []string {
	var all []string
	for _, p := range d.Unapproved() {
		all = append(all, p.Why, p.Reason)
	}
	if len(all) == 0 {
		all = append(all, d.Reason)
	}
	all = slices.DeleteFunc(all, func(r string) bool { return r == "" })
	slices.Sort(all)
	return slices.Compact(all)
}

// refuse ends a command that will not run.
func (s *session) refuse(c *command, state store.CommandState, r Result) {
	next, err := s.machine.step(refuse, c.rec.ID)
	if err != nil {
		return
	}
	s.machine, s.at = next, nil
	s.passed(c)
	s.decided(c, state)
	from := c.rec.State
	c.rec.State = state
	c.rec.Comment = cmp.Or(r.Error, r.Message)
	s.warn(s.update(from, &c.rec))
	c.finish(r)
	c.cancel(nil)
}

// refused ends a command that was denied: forbidden, if no person could be asked.
func (s *session) refused(c *command, res *permission.Result) {
	if c.asks > 0 {
		s.refuse(c, store.CommandDenied, Result{Status: statusDenied, Message: res.Message})
		return
	}
	c.rec.Risk, c.rec.Reasons = res.Risk.String(), reasons(&res.Decision)
	s.options.Warn("SECURITY: Blocked forbidden command: " + visible.Line(c.rec.Command))
	s.refuse(c, store.CommandForbidden, Result{Status: statusForbidden, Message: "Command is forbidden and cannot be executed"})
}

// allowed runs a command that was allowed, if it still is what was asked about.
func (s *session) allowed(c *command, res *permission.Result) {
	var in bashInput
	if err := json.Unmarshal(res.UpdatedInput, &in); err != nil {
		s.refuse(c, store.CommandFailed, Result{Status: statusError, Error: "the command that was approved: " + err.Error()})
		return
	}
	if c.restored && c.asks == 0 {
		s.refuse(c, store.CommandCancelled, Result{Status: statusCancelled, Message: "the server was restarted while it was pending"})
		return
	}
	if c.asks == 0 {
		c.rec.Risk, c.rec.Reasons = res.Risk.String(), reasons(&res.Decision)
	}
	c.rec.Command, c.inside = in.Command, res.Sandbox.Held()
	if c.asks > 0 {
		from := c.rec.State
		c.rec.State = store.CommandApproved
		s.warn(s.update(from, &c.rec))
	}
	if err := s.begin(c); err != nil {
		s.refuse(c, store.CommandFailed, Result{Status: statusError, Error: err.Error()})
	}
}

// begin starts a command. That it runs is stored before: after a restart it is not
// started again.
func (s *session) begin(c *command) error {
	next, err := s.machine.step(start, c.rec.ID)
	if err != nil {
		return err
	}
	if !s.options.Counts(c.credential) {
		return errRevoked
	}
	// A link that has taken its place leads to where nobody has decided about it.
	dir, err := process.OpenDir(c.rec.Dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	from := c.rec.State
	c.rec.State = store.CommandExecuting
	if err := s.update(from, &c.rec); err != nil {
		c.rec.State = from
		return err
	}
	s.machine = next
	s.passed(c)
	s.decided(c, c.rec.State)
	s.tell("$ " + line(c.rec.Command))
	began := time.Now()
	c.console, err = s.run(c, dir)
	if err != nil {
		s.notStarted(c, err)
		c.finish(Result{Status: statusError, Error: err.Error()})
		close(c.ended)
		return nil
	}
	c.finish(Result{Status: statusExecuted})
	go s.await(c, began)
	return nil
}

// notStarted stores why a command was not started.
func (s *session) notStarted(c *command, why error) {
	s.over(c, store.CommandFailed, nil, audit.Outcome{Failed: true, Note: "it was not started: " + why.Error()})
}

// line returns a command line as a terminal shows it.
func line(command string) string {
	return strings.ReplaceAll(visible.Command(command), "\n", "\r\n> ")
}

// answerers are people, each with the credential that they answer with.
type answerers map[[2]string]bool

func answerer(e *approval.Event) [2]string { return [2]string{e.By.Name, e.Credential} }

// passed notes the end of a question, and who has answered it.
func (s *session) passed(c *command) {
	if c.asks > 0 {
		s.before = c.by
	}
}

// deliberate is how long a question has to be there before an answer without its ID
// counts for it. A double click is faster: the second one was meant for the question
// before.
const deliberate = time.Second

// plain reports whether an answer without an ID is certainly for the question about the
// command at hand. Who has not answered the question before may look at that one still:
// it was withdrawn, has expired, or somebody else has answered it.
func (s *session) plain(c *command, e *approval.Event) bool {
	switch {
	case c.asks > 1:
		return false
	case s.before == nil:
		return true
	}
	return s.before[answerer(e)] && time.Since(c.asked) >= deliberate
}

// run starts the line of a command in a shell of its own, in the directory at. The line is
// an argument, so that what was decided is what runs; the shell reads one file of ours,
// which has it tell the directory at its end.
func (s *session) run(c *command, at *process.Dir) (*console, error) {
	enclose, err := s.enclose(c)
	if err != nil {
		return nil, err
	}
	told, rc := s.ours(c, directory), s.ours(c, startup)
	if c.files, err = os.OpenRoot(filepath.Dir(told)); err != nil {
		return nil, err
	}
	if err := c.files.Remove(filepath.Base(told)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	tell := fmt.Sprintf("unset BASH_ENV\ntrap %s EXIT\n", shellword.Single("builtin pwd -P 2>/dev/null >|"+shellword.Single(told)))
	if err := c.files.WriteFile(filepath.Base(rc), []byte(tell), 0o600); err != nil {
		return nil, err
	}
	env := append(slices.Clone(s.env), pagers...)
	env = append(env, "PWD="+c.rec.Dir, "BASH_ENV="+rc)
	return openIn(enclose, []string{"bash", "--norc", "-c", "--", c.rec.Command}, at.Path(), env, s.size, s.output)
}

// ours returns the path of a file of ours for a command. One that runs inside the sandbox has a
// directory for such files, since the others are withheld there.
func (s *session) ours(c *command, name string) string {
	if c.scratch != "" {
		return filepath.Join(c.scratch, name)
	}
	return s.private(name)
}

// enclose returns what has a command run inside the sandbox, nil if it runs without.
func (s *session) enclose(c *command) (preparer, error) {
	if !c.inside {
		return nil, nil
	}
	e, ok := s.decider.(encloser)
	if !ok {
		return nil, errors.New("it was decided to run inside the sandbox, and there is none")
	}
	use, err := s.use(c)
	if err != nil {
		return nil, err
	}
	if c.scratch, err = os.MkdirTemp("", "agent-wrapper-terminal-"); err != nil {
		return nil, err
	}
	return func(cmd *exec.Cmd) (func() ([]string, error), error) { return e.Enclose(&use, cmd, c.scratch) }, nil
}

// pagers has programs that page their output on a terminal (git, man, systemctl) write
// it all: nobody is there to turn the pages.
var pagers = []string{"PAGER=cat", "GIT_PAGER=cat", "MANPAGER=cat", "SYSTEMD_PAGER=cat"}

// await waits for the end of a command.
func (s *session) await(c *command, began time.Time) {
	exit := c.console.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(c.ended)
	if dir, err := lastdir.Read(c.files, filepath.Base(s.ours(c, directory))); err == nil {
		s.rec.Dir = dir // without it the next one begins where this one has
	}
	if err := c.console.err; err != nil {
		s.tell("agent-wrapper: it did not run: " + err.Error())
		s.notStarted(c, err)
		return
	}
	for _, line := range c.console.says {
		s.tell("agent-wrapper: " + line)
	}
	state := store.CommandCompleted
	if exit > 128 {
		state = store.CommandFailed // a signal ended it
	}
	s.over(c, state, &exit, audit.Outcome{Failed: exit != 0, Exit: &exit, Took: time.Since(began)})
}

// over stores how a command has ended.
func (s *session) over(c *command, state store.CommandState, exit *int, o audit.Outcome) {
	next, err := s.machine.step(end, c.rec.ID)
	if err != nil {
		s.warn(fmt.Errorf("command %s ended: %w", c.rec.ID, err))
		return
	}
	s.machine, s.at = next, nil
	if c.files != nil {
		s.warn(c.files.Close())
	}
	if c.scratch != "" {
		s.warn(os.RemoveAll(c.scratch))
	}
	c.rec.State, c.rec.Exit = state, exit
	o.Session, o.Use, o.Tool = s.id, c.rec.ID, "Bash"
	s.warn(s.decider.Outcome(o))
	s.warn(s.update(store.CommandExecuting, &c.rec))
	s.warn(s.save(context.Background()))
	c.cancel(nil)
	s.chat.flush()
	if s.machine.state == userControl && !s.gone {
		s.warn(s.startShell())
	}
}

// Approve answers the question about the command that waits: e is an approval.Approve,
// Deny or Edit, By a person. Without an ID it counts only if it is certainly for that
// question: the first of the session, or one that is there for a second while the person
// has answered the one before, with the same Credential. reply is what the
// asker is told, a desk.Reply; nil makes one for a plain answer. It returns when the
// command runs or will not.
func (m *Manager) Approve(ctx context.Context, id string, e approval.Event, reply json.RawMessage) (Result, error) {
	s, err := m.session(id)
	if err != nil {
		return Result{}, err
	}
	c, asks, err := s.question(&e)
	if err != nil {
		return Result{}, err
	}
	if reply == nil {
		if reply, err = plainReply(&e); err != nil {
			return Result{}, err
		}
	}
	entry, err := s.options.Store.Answer(ctx, e, reply)
	if err != nil {
		return Result{}, err
	}
	if entry.Status == approval.Pending { // others have to approve, too
		s.mu.Lock()
		defer s.mu.Unlock()
		r := c.told()
		r.Status = statusRequired
		r.Message = fmt.Sprintf("%d of %d people have approved it", len(entry.Votes), entry.Quorum)
		return r, nil
	}
	return s.answered(ctx, c, asks, &e)
}

// question returns the command that an answer is about, and completes the answer.
func (s *session) question(e *approval.Event) (*command, int, error) {
	if err := s.lock(); err != nil {
		return nil, 0, err
	}
	defer s.mu.Unlock()
	if _, err := s.machine.step(answer, s.machine.command); err != nil {
		return nil, 0, refusal(err)
	}
	c := s.at
	switch {
	case e.ID == "" && !s.plain(c, e):
		return nil, 0, failure(Conflict, errors.New("the answer may be for the question before: quote the approval_id of this one"))
	case e.ID != "" && e.ID != c.rec.ApprovalID:
		return nil, 0, failure(Conflict, errors.New("the answer is for a different question from the one that is pending"))
	case e.Digest != "" && e.Digest != c.digest:
		return nil, 0, failure(Conflict, approval.ErrOther)
	}
	c.by[answerer(e)] = true
	e.ID, e.Digest = c.rec.ApprovalID, c.digest
	s.rec.Active = time.Now()
	return c, c.asks, nil
}

// plainReply returns what the asker is told of an answer that keeps nothing.
func plainReply(e *approval.Event) (json.RawMessage, error) {
	r := desk.Reply{ID: e.ID, Digest: e.Digest, Choice: desk.Once, By: e.By.Name}
	switch {
	case e.Kind == approval.Edit:
		r.Choice, r.Input = desk.Edit, e.Input
	case e.Kind == approval.Deny && e.Message != "":
		r.Choice, r.Message = desk.Words, e.Message
	case e.Kind == approval.Deny:
		r.Choice = desk.Deny
	}
	return json.Marshal(r)
}

// answered waits until an answer has had its effect.
func (s *session) answered(ctx context.Context, c *command, asks int, e *approval.Event) (Result, error) {
	for {
		s.mu.Lock()
		r, over, news, again := c.told(), c.over, c.news, c.asks > asks
		s.mu.Unlock()
		switch {
		case over && r.Status == statusExecuted:
			r.Status, r.Executed = statusApproved, true
			return r, nil
		case over:
			return r, nil
		case again && e.Kind != approval.Edit:
			return Result{}, failure(Conflict, errors.New("the question has changed since the answer, and is asked again"))
		case again:
			return r, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return Result{}, ctx.Err()
		}
	}
}
