package hook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Options say how a hook is answered. Host, Env and Dir are needed.
type Options struct {
	Host *Host
	Env  func(name string) string
	Dir  string // in which the host has started the hook
	// Engine are the options of the engine but for Dir, Frozen, Base and Approver.
	Engine engine.Options
	// Ask returns who asks a person elsewhere, of an engine that was opened. Nil: nobody
	// is there, and an ask is a denial where the host does not ask.
	Ask func(e *engine.Engine) (Asker, error)
	// Whole gives a payload to the program that reads policies and asks people elsewhere;
	// it returns only if that is not possible. Nil: this program does so itself.
	Whole func(payload []byte) error
	// Plugin says that the hook stands in a plugin of the host: no settings file has to
	// name it.
	Plugin bool
	// Sandbox returns why there is no sandbox on this machine for commands under the rules of a
	// session, "" if there is one; it is called once in a session. The error says why there is
	// none at the moment: then nothing runs. With a nil Sandbox no command runs inside one.
	// Engine.Within is what starts one there.
	Sandbox func(ctx context.Context, rules *engine.Rules) (missing string, err error)
	// Limit replaces that of the host, for tests; 0: the host's.
	Limit time.Duration
}

// Asker puts questions to people and does not wait for them: see broker.Approver.
type Asker interface {
	// Park puts a question, or comes back to the one with an id. With
	// permission.ErrParked it waits, and id is that of the question.
	Park(ctx context.Context, ask permission.Request, id string) (ans permission.Answer, now string, err error)
	// Wait waits until a question has ended, and reports whether somebody has answered it.
	Wait(ctx context.Context, id string) (answered bool)
	// Withdraw takes back a question of another process of this session.
	Withdraw(ctx context.Context, id, why string) error
	Close() error
}

// run is one hook.
type run struct {
	host    *Host
	env     func(string) string
	dir     string
	state   string
	now     func() time.Time
	options engine.Options
	plugin  bool
	ask     func(e *engine.Engine) (Asker, error)
	sandbox func(context.Context, *engine.Rules) (string, error)
	// light: the policies are those that were compiled when the session began, and nobody
	// is asked elsewhere: what needs more is errWhole, before anything was recorded or kept.
	light bool
}

// errWhole is the error of what a light run cannot do.
var errWhole = errors.New("it takes the policies, or a person elsewhere")

// Main answers the hook whose payload is on in. It returns the exit code, and never
// later than the host waits: what takes longer is denied.
func Main(ctx context.Context, o Options, in io.Reader, out, errs io.Writer) int {
	limit := o.Limit
	if limit == 0 {
		limit = o.Host.Limit - guardMargin - margin
	}
	ctx, cancel := context.WithTimeout(ctx, limit-min(margin, limit/4)) // a wait has time to say that it got no answer
	defer cancel()
	done := make(chan Output, 1)
	go func() { done <- respond(ctx, o, in) }()
	late := time.NewTimer(limit)
	defer late.Stop()
	var answer Output
	select {
	case answer = <-done:
	case <-late.C:
		answer = Block("agent-wrapper: there was no decision in time, so nothing was run")
	}
	return answer.write(out, errs)
}

// write prints an answer. One that cannot be printed is a denial.
func (o Output) write(out, errs io.Writer) int {
	if len(o.Stdout) > 0 {
		if _, err := out.Write(o.Stdout); err != nil {
			o = Block("agent-wrapper: the answer cannot be written: " + err.Error())
		}
	}
	if len(o.Stderr) > 0 {
		_, _ = errs.Write(o.Stderr)
	}
	return o.Code
}

// respond reads a payload and returns the answer to it. A panic is a denial.
func respond(ctx context.Context, o Options, in io.Reader) (answer Output) {
	defer func() {
		if r := recover(); r != nil {
			answer = Block(fmt.Sprintf("agent-wrapper: internal error, so nothing was run: %v", r))
		}
	}()
	r := &run{host: o.Host, env: o.Env, dir: o.Dir, options: o.Engine, ask: o.Ask, plugin: o.Plugin, sandbox: o.Sandbox, now: time.Now}
	r.state = r.options.StateDir()
	data, err := io.ReadAll(io.LimitReader(in, maxPayload+1))
	if err != nil {
		return failed(err)
	}
	e, err := r.read(data)
	if err != nil {
		return failed(err)
	}
	return r.answer(ctx, e, data, o.Whole)
}

// answer returns the answer to an event. One that comes with every tool use is first tried
// lightly; the others may record more than one decision, so that they cannot begin again.
func (r *run) answer(ctx context.Context, e *Event, data []byte, whole func([]byte) error) Output {
	began := time.Now()
	if r.light = e.light(); r.light {
		tried := *e
		if answer, err := r.handle(ctx, &tried); !errors.Is(err, errWhole) {
			return r.answered(e, answer, err)
		}
		r.light = false
	}
	switch {
	case whole == nil:
		answer, err := r.handle(ctx, e)
		return r.answered(e, answer, err)
	case time.Since(began) > margin/2: // the other program does not know how long the host has waited
		return r.broken(e, errors.New("the session was busy for too long: try again"))
	}
	return r.broken(e, whole(data))
}

// light reports whether an event is one of those that come with every tool use, which are
// mostly answered without policies and people.
func (e *Event) light() bool {
	switch e.Kind {
	case Use, Ran, Failed, Refused:
		return true
	}
	return false
}

// answered returns an answer, or that to an error.
func (r *run) answered(e *Event, answer Output, err error) Output {
	if err != nil {
		return r.broken(e, err)
	}
	return answer
}

// failed is the answer to what cannot be decided.
func failed(err error) Output {
	return Block("agent-wrapper: nothing was run: " + err.Error())
}

// broken is the answer to an event that could not be handled. What has happened already
// cannot be denied any more.
func (r *run) broken(e *Event, err error) Output {
	switch e.Kind {
	case About, Ran, Failed, Refused, Turn, End:
		return Output{Stderr: []byte("agent-wrapper: " + capped(err.Error()) + "\n")}
	}
	return failed(err)
}

// read reads a payload as one of the host.
func (r *run) read(data []byte) (*Event, error) {
	p, err := readPayload(data)
	if err != nil {
		return nil, err
	}
	sender, err := p.sender()
	if err != nil {
		return nil, err
	}
	if sender != r.host.Name {
		return nil, fmt.Errorf("this is the hook for %s, and what it was given is from %s: agent-wrapper install writes a hook for each agent", r.host.Title, sender)
	}
	e, err := r.host.Read(p, r.env)
	if err != nil {
		return nil, err
	}
	e.Plugin, e.Use.OwnShell = r.plugin, r.host.OwnShell
	if e.Kind == 0 {
		e.Kind = r.host.Events[e.Name]
	}
	if e.Kind == 0 {
		return nil, fmt.Errorf("%s has an unknown event: %s", r.host.Title, printable(e.Name))
	}
	if !filepath.IsAbs(e.Use.Dir) || strings.Contains(e.Use.Dir, "..") {
		e.Use.Dir = ""
	}
	switch e.Kind {
	case Use, Dialog, Ran, Failed, Refused:
		return e, e.translate(r.host, p.Tool, p.Input)
	}
	return e, nil
}

// handle returns the answer to an event.
func (r *run) handle(ctx context.Context, e *Event) (Output, error) {
	if e.Kind == About {
		return r.host.Answer(e, left), nil
	}
	s, err := r.open(ctx, e)
	if err != nil {
		return Output{}, err
	}
	defer s.close()
	var v Verdict
	switch e.Kind {
	case Use:
		v, err = s.use(ctx, e)
	case Dialog:
		v, err = s.dialog(ctx, e)
	case Ran, Failed, Refused:
		return Output{}, s.outcome(ctx, e)
	case Settings:
		v = s.settings(e)
	case Expansion:
		v, err = s.expansion(ctx, e)
	case Turn:
		return Output{}, s.turn(ctx)
	case End:
		return Output{}, errors.Join(s.withdraw(ctx, "", "the session has ended"), s.permits().Close())
	}
	if err != nil {
		return Output{}, err
	}
	return r.host.Answer(e, v), nil
}

// session is an open session.
type session struct {
	*run
	*engine.Engine
	fixed *fixed
	id    string // for the engine
	asker Asker  // nil: nobody was asked elsewhere yet

	sandboxed bool   // the command may run inside the sandbox
	noSandbox string // why it may not, although the policy has a sandbox; "" if it has none
}

// open opens the session of an event.
func (r *run) open(ctx context.Context, e *Event) (*session, error) {
	f, err := r.fix(ctx, e)
	if err != nil {
		return nil, err
	}
	s := &session{run: r, fixed: f, id: sessionID(f.Host, f.Session)}
	rules, err := r.load(f)
	if err != nil {
		return nil, err
	}
	if e.Plan {
		rules.Planning()
	}
	e.Use.Session = s.id
	if err := s.mayEnclose(e, rules); err != nil {
		return nil, err
	}
	s.Engine, err = rules.Open()
	return s, err
}

// elsewhere returns who asks a person elsewhere. It is opened when it is needed.
func (s *session) elsewhere() (Asker, error) {
	if s.light {
		return nil, errWhole
	}
	if s.asker == nil && s.ask != nil {
		asker, err := s.ask(s.Engine)
		if err != nil {
			return nil, err
		}
		s.asker = asker
	}
	if s.asker == nil {
		return nil, errors.New("there is nobody to ask: " + s.host.Title + " cannot show the question here")
	}
	return s.asker, nil
}

func (s *session) close() {
	if s.asker != nil {
		_ = s.asker.Close()
	}
	_ = s.Engine.Close()
}

// allow returns an allow of the input with which a tool is to run.
func (s *session) allow(e *Event, input json.RawMessage) (v Verdict, err error) {
	v = passes
	edited := string(input) != string(e.Use.Input)
	switch {
	case edited && s.host.NoInput:
		return v, errors.New(s.host.Title + " cannot run what a person has edited: ask the person to tell the agent")
	case edited:
		e.Use.Input = input
		if v.Input, err = e.back(input); err != nil {
			return v, err
		}
	}
	if s.host.Rewrite != nil {
		if more := s.host.Rewrite(e); more != nil {
			v.Input, err = e.back(more)
		}
	}
	return v, err
}

// question returns what a person is told of an ask by the host: what asks, and where it
// stands.
func (s *session) question(d *permission.Decision) string {
	text := d.Reason
	if d.RuleSource.Name != "" {
		text += " (" + s.named(d.RuleSource.String()) + ")"
	}
	return "agent-wrapper: " + strings.Join(append([]string{text}, s.besides()...), "; ")
}

// besides returns what a person is told with every question: that a policy has changed,
// whether the host asks or the question waits elsewhere.
func (s *session) besides() (texts []string) {
	for _, file := range s.fixed.changed() {
		texts = append(texts, s.named(file)+" has changed since the session began, which goes on as it was")
	}
	if s.noSandbox != "" {
		texts = append(texts, "commands run without a sandbox: "+s.noSandbox)
	}
	return texts
}

// named returns a path, or a place in a file, as a person would name it.
func (s *session) named(path string) string {
	if name, ok := strings.CutPrefix(path, s.fixed.Workspace+string(filepath.Separator)); ok {
		return name
	}
	if name, ok := strings.CutPrefix(path, s.Place.Home+string(filepath.Separator)); ok && s.Place.Home != "" {
		return "~/" + name
	}
	return path
}

// turn begins a turn of the agent.
func (s *session) turn(ctx context.Context) error {
	err := s.withdraw(ctx, "", "a new turn has begun")
	if errors.Is(err, errWhole) {
		return err
	}
	if err := s.Enter(ctx, s.id); err != nil {
		return err
	}
	s.BeginTurn()
	return errors.Join(err, s.Exit())
}

// outcome records what has become of a tool use.
func (s *session) outcome(ctx context.Context, e *Event) error {
	err := s.withdraw(ctx, e.key(), "it was answered in the window of "+s.host.Title)
	if errors.Is(err, errWhole) {
		return err
	}
	met, failed := s.sandboxMet(e)
	err = errors.Join(err, failed)
	if e.Kind == Refused {
		return errors.Join(err, s.Note(s.id, "refused", e.Use.Tool+" was refused in the window of "+s.host.Title))
	}
	return errors.Join(err, s.Outcome(audit.Outcome{Session: s.id, Agent: e.Use.Agent, Use: e.Use.ID, Tool: e.Use.Tool, Failed: e.Kind == Failed, Met: met}))
}

// capped returns a reason of a length that every host takes, on valid UTF-8.
func capped(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > mostReason {
		text = strings.ToValidUTF8(text[:mostReason], "") + "…"
	}
	if strings.TrimSpace(text) == "" {
		return "denied"
	}
	return text
}

// Reason returns a reason of a length that every host takes.
func Reason(text string) string { return capped(text) }
