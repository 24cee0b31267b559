package claude

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// line handles one line from the agent.
func (r *run) line(line []byte) error {
	r.log.line("< ", line)
	m, err := decode(line)
	switch {
	case errors.Is(err, errNoMessage):
		if !r.noise {
			emit(r.o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: "the agent CLI wrote lines that are not its protocol; they are ignored"})
		}
		r.noise = true
		return nil
	case err != nil:
		return fmt.Errorf("the agent CLI broke the protocol: %w", err)
	case m.request != nil && r.requests[m.request.ID]:
		return fmt.Errorf("the agent CLI broke the protocol: two requests have the id %.60q, and an answer could not say which it is for", m.request.ID)
	case m.request != nil:
		r.requests[m.request.ID] = true
		return r.request(m.request)
	case m.response != nil:
		return r.response(m.response)
	case m.cancel != "":
		r.withdraw(m.cancel)
	case m.system != nil:
		return r.system(m.system)
	case m.turn != nil:
		return r.turn(m.turn)
	case m.result != nil:
		return r.result(m.result)
	case m.delta != "":
		r.writes()
		emit(r.o.Events, wrapper.Event{Type: wrapper.DeltaEvent, Text: m.delta})
	}
	return nil
}

// request answers a request of the CLI. A request that is malformed is denied.
func (r *run) request(q *request) error {
	switch {
	case q.can != nil && q.Broken != "":
		r.uses.get(q.can.ID).refuse()
		return r.turnAway(q.ID, q.can, unreadable+q.Broken)
	case q.hook != nil && q.Broken != "":
		in := &q.hook.Input
		r.recordDenial(in.ID, &entry{tool: in.Tool, input: in.Input, agent: in.Agent, dir: in.Dir}, errors.New(unreadable+q.Broken))
		return r.writer.send(answering(q.ID, hookDenies(unreadable+q.Broken)))
	case q.can != nil:
		return r.canUseTool(q.ID, q.can)
	case q.hook != nil:
		return r.hook(q.ID, q.hook)
	}
	return r.writer.send(refusing(q.ID, "agent-wrapper does not do this"))
}

// unreadable is the prefix of the message that denies a malformed tool use.
const unreadable = "agent-wrapper cannot read this tool use: "

// hook records the directory of a tool use and has the Decider answer it. Until then
// the hook is not answered: no other hook can allow the tool use meanwhile.
func (r *run) hook(id string, h *hookCallback) error {
	in := &h.Input
	if h.Callback == tellID && in.Event == tellEvent && r.o.told.Instructions != "" {
		return r.writer.send(answering(id, tellAnswer{tellOutput{tellEvent, r.o.instructions(in.Kind)}}))
	}
	if h.Callback != hookID || in.Event != hookEvent || in.ID == "" {
		return r.writer.send(refusing(id, "agent-wrapper did not register this hook"))
	}
	e := r.uses.get(in.ID)
	r.uses.told(e, in.Dir)
	e.tool, e.input, e.agent = in.Tool, in.Input, in.Agent
	if e.stand == unasked {
		e.stand = hooked
	}
	deny := func(why error) error {
		words := r.recordDenial(in.ID, e, why)
		e.refuse()
		return r.writer.send(answering(id, hookDenies(words)))
	}
	switch {
	case r.phase != working || r.stopping:
		return deny(errNotNow)
	case r.o.paused():
		return deny(errPaused)
	case r.out.Stopped != "":
		return deny(errStopped)
	case e.stand != hooked || e.deciding || e.held != nil:
		return r.writer.send(answering(id, hookAsks())) // a second call: can_use_tool decides
	case len(r.pending) >= maxPending:
		return deny(errTooMany)
	}
	e.deciding = true
	e.moves = in.Agent == "" && mayMove(in.Tool, in.Input, r.o.Dialect)
	r.begin(id, &question{hook: true, use: permission.ToolUse{ID: in.ID, Tool: in.Tool, Input: in.Input, Agent: in.Agent}})
	r.start(id, r.pending[id])
	return nil
}

func (o *launch) paused() bool { return o.Paused != nil && o.Paused() != "" }

// begin records an open question.
func (r *run) begin(id string, q *question) {
	q.use.Session, q.use.Dialect, q.use.OwnShell = r.out.Session, r.o.Dialect, true
	q.ctx, q.cancel = context.WithCancelCause(r.deciding)
	r.pending[id] = q
}

// Why a tool use that will not run is passed to the Decider.
var (
	errPaused  = errors.New("the agent is paused")
	errNotNow  = errors.New("the agent is not to run tools now")
	errForeign = errors.New("denied by the agent CLI itself")
	errUnasked = errors.New("the agent CLI never asked about it")
	errStopped = errors.New("the turn was ended")
	errTooMany = errors.New("too many tool uses wait for an answer")
)

// recordDenial passes a tool use that will not run to the Decider with a
// cancelled context, so that the denial is recorded and nobody is asked. It
// returns the message of the denial.
func (r *run) recordDenial(id string, e *entry, why error) string {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(r.deciding)) // otherwise the cause would be the end of the run
	cancel(why)
	use := permission.ToolUse{
		ID: id, Tool: e.tool, Input: e.input, Dir: e.dir, Agent: e.agent,
		Session: r.out.Session, Dialect: r.o.Dialect, OwnShell: true,
	}
	a := decide(ctx, r.o.Decider, use)
	if a.result.Reason == "" {
		a.result.Reason = why.Error()
	}
	r.tell(use, &a)
	return a.message()
}

// canUseTool starts a question, which the Decider answers concurrently.
func (r *run) canUseTool(id string, c *canUseTool) error {
	deny := func(why string) error {
		return r.turnAway(id, c, why)
	}
	if r.phase != working || r.stopping {
		r.uses.get(c.ID).refuse()
		return deny(errNotNow.Error())
	}
	e := r.uses.get(c.ID)
	switch {
	case c.ID == "" || c.Tool == "":
		return deny("agent-wrapper cannot tell which tool use this is")
	case e.stand == pending || e.stand == approved || e.deciding:
		return deny("agent-wrapper was asked twice about this tool use")
	case len(r.pending) >= maxPending:
		e.stand = refused
		return deny(errTooMany.Error())
	}
	e.ask(c, r.o.Dialect)
	q := &question{use: permission.ToolUse{ID: c.ID, Tool: c.Tool, Input: c.Input, Agent: c.Agent}}
	r.begin(id, q)
	if e.moves && r.counted() {
		r.kept = append(r.kept, id)
		return nil
	}
	r.start(id, q)
	return nil
}

// start has the Decider answer a question, unless it has answered the very same in
// the hook.
func (r *run) start(id string, q *question) {
	q.started = true
	if q.use.Dir = r.where(q); q.use.Dir != "" {
		q.at, _ = os.Stat(q.use.Dir) // where there is none nothing runs
	}
	use := q.use
	given := r.given(q)
	if given != nil {
		q.at = given.at
	}
	r.asking.Go(func() {
		var a answer
		if given != nil && q.ctx.Err() == nil {
			a = given.answer
		} else {
			a = decide(q.ctx, r.o.Decider, use)
		}
		a.id = id
		r.answers <- a
	})
}

// answered sends the Decider's answer. An approval is recorded in r.uses before
// it is sent, so that the tool's result cannot precede it.
func (r *run) answered(a answer) error {
	defer r.startKept()
	q := r.pending[a.id]
	delete(r.pending, a.id)
	q.cancel(nil)
	if q.hook {
		return r.held(q, &a)
	}
	if a.allowed && q.over {
		a.result.Message = wrapper.ErrInterrupted.Error()
	}
	if q.withdrawn || q.over {
		a.deny()
	}
	r.tell(q.use, &a)
	if q.withdrawn {
		return nil
	}
	if a.allowed && r.deciding.Err() != nil { // the approval cannot be sent any more
		a.deny()
		a.result.Message = context.Cause(r.deciding).Error()
	}
	r.uses.decided(r.uses.get(q.use.ID), a.allowed)
	if a.allowed {
		r.shells.allow(&q.use, q.at, &a.result)
	}
	if !a.allowed && a.result.Interrupt {
		r.out.Stopped = a.message()
	}
	return r.writer.send(answering(a.id, a.words()))
}

// tell counts a decision and emits its event.
func (r *run) tell(use permission.ToolUse, a *answer) {
	switch {
	case a.allowed:
		r.out.Allowed++
	case a.result.By != permission.ByAdvice:
		r.out.Denied++
	}
	emit(r.o.Events, wrapper.Decided(use, a.result))
	if a.err != nil {
		emit(r.o.Events, wrapper.Event{Type: wrapper.ErrorEvent, ToolUseID: use.ID, Message: a.err.Error()})
	}
}

// withdraw cancels a question that the CLI has withdrawn.
func (r *run) withdraw(id string) {
	q := r.pending[id]
	if q == nil {
		return // already answered
	}
	q.withdrawn = true
	q.cancel(errWithdrawn)
	r.uses.get(q.use.ID).stand = refused
	r.startKept() // this one may be among them, and nothing else would start it
}

// response handles the answer to a request of ours. Only those of the preflight and
// to the interrupt of a turn matter.
func (r *run) response(a *response) error {
	if a.ID == r.interrupting {
		r.interrupting = ""
		r.next()
	}
	switch {
	case r.phase == starting && a.ID == "initialize":
		return r.initialized(a)
	case r.phase == checking && r.awaited[a.ID] != "":
		return r.checked(a)
	}
	return nil
}

// initialized starts the preflight.
func (r *run) initialized(a *response) error {
	if a.Kind != "success" {
		return fmt.Errorf("the agent CLI did not start a session: %.200s", a.Error)
	}
	var in initialized
	if err := decodeLoose(a.Content, &in); err != nil {
		return distrusted("the agent CLI's answer to initialize cannot be read: %w", err)
	}
	v, err := r.versionOf(in.Version)
	if err != nil {
		return distrusted("the agent CLI does not tell its version: %w", err)
	}
	if err := r.flight.begin(in, v); err != nil {
		return err
	}
	r.phase = checking
	for _, what := range []string{askSettings, askRules, askHooks} {
		id := "preflight-" + what
		r.awaited[id] = what
		r.writer.send(controlling(id, subtype{what}))
	}
	return nil
}

// versionOf reads the version from the answer to initialize. Older CLIs leave it
// out and are run with --version instead.
func (r *run) versionOf(text string) (version, error) {
	if text != "" {
		return parseVersion(text)
	}
	return r.version()
}

// checked handles one answer of the preflight, and sends the prompt after the
// last one.
func (r *run) checked(a *response) error {
	what := r.awaited[a.ID]
	delete(r.awaited, a.ID)
	if err := r.flight.take(what, a); err != nil {
		return err
	}
	r.shells.accept(r.flight.hooked)
	if len(r.awaited) > 0 {
		return nil
	}
	r.phase, r.prompted, r.asked = working, true, true
	r.writer.send(prompting(r.o.told.prompt, r.flight.version))
	r.waiting = nothing
	r.timer.Stop()
	if r.o.Session != "" {
		r.arm(toResume, resumeLimit)
	}
	return nil
}

// system handles a line about the session or about tasks in the background.
func (r *run) system(s *system) error {
	switch s.Kind {
	case "init":
		return r.begun(s)
	case "session_state_changed":
		r.tasks.state(s.State)
	case "task_started":
		r.tasks.begin(s.Task, s.Kinds)
	case "task_updated":
		r.tasks.update(s.Task, s.Patch.Status)
	case "task_notification":
		r.tasks.end(s.Task)
	case "permission_denied":
		r.foreign(denied{Tool: s.Tool, ID: s.ToolUseID}, errForeign)
	case "api_retry":
		r.retries(s.retry)
	}
	return nil
}

// retries tells once in a turn that the model does not answer: the CLI tries for minutes.
func (r *run) retries(t *retry) {
	if t == nil || t.Attempt < 2 || r.retried { // a first one is usual
		return
	}
	r.retried = true
	why := ""
	if t.Status != 0 {
		why = fmt.Sprintf(" HTTP %d", t.Status)
	}
	if t.Error != "" && t.Error != "unknown" {
		why += " " + t.Error
	}
	if why != "" {
		why = " (" + strings.TrimSpace(why) + ")"
	}
	emit(r.o.Events, wrapper.Event{Type: wrapper.WarningEvent, Message: fmt.Sprintf("the model does not answer%s: the agent CLI tries again, up to %d times", why, t.Most)})
}

// begun handles the first line of a turn.
func (r *run) begun(s *system) error {
	if r.phase < working {
		return errors.New("the agent CLI began to work before it was given the task: something else in the workspace, in the home or on this machine speaks to it; see with --log FILE what it says")
	}
	r.finished = false
	if r.started {
		if s.Mode != "default" && s.Mode != "plan" { // the agent may switch to plan mode
			return fmt.Errorf("the agent CLI went into permission mode %q", s.Mode)
		}
		return nil
	}
	v, err := parseVersion(s.Version)
	switch {
	case err != nil:
		return fmt.Errorf("the agent CLI does not tell its version: %w", err)
	case v != r.flight.version:
		return fmt.Errorf("the agent CLI says that it is version %s, and said %s before", v, r.flight.version)
	case s.Mode != "default":
		return fmt.Errorf("the agent CLI runs in permission mode %q, not default", s.Mode)
	}
	r.started = true
	r.out.Session = s.Session
	emit(r.o.Events, wrapper.Event{Type: wrapper.SessionEvent, SessionID: s.Session})
	emit(r.o.Events, wrapper.Event{Type: wrapper.StatusEvent, State: "thinking"})
	return nil
}

// foreign records a tool use that did not run and that we were not asked about:
// the CLI denied it, by the deny rules that we gave it or by managed ones, or the
// tool rejected its input. It is recorded as a denial with the reason why, unless it
// was decided in the hook.
func (r *run) foreign(d denied, why error) {
	e := r.uses.get(d.ID)
	h := r.settled(e)
	if e.stand > hooked {
		return
	}
	if h != nil {
		r.undone(h, e, why)
		e.stand = refused
		return
	}
	if e.tool == "" {
		e.tool, e.input = d.Tool, d.Input
	}
	r.recordDenial(d.ID, e, why)
	e.stand = refused
}

// notRun returns why a tool use that we were not asked about did not run. An
// input that the tool rejects is not a denial, but older CLIs do not distinguish
// the two.
func notRun(b *block, o outcome) error {
	if o.meta != nil && !slices.Contains([]string{"", "other"}, o.meta.Decision.Kind) {
		return errForeign
	}
	return fmt.Errorf("not run by the agent CLI, which says: %s", wrapper.OneLine(plain(b.Content)))
}

// turn handles a message of the agent, or tool results.
func (r *run) turn(t *turn) error {
	if r.waiting == toResume {
		r.waiting = nothing
		r.timer.Stop()
	}
	for i := range t.blocks {
		b := &t.blocks[i]
		switch {
		case b.Kind == "text" && t.Message.Role == "assistant" && t.Parent == "":
			r.emitText(b.Text)
		case b.Kind == "tool_use" && t.Message.Role == "assistant":
			r.wants(b, cmp.Or(t.Agent, t.Parent))
		case b.Kind == "tool_result":
			if err := r.gave(b, t); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) emitText(text string) {
	if text == "" {
		return
	}
	r.writes()
	emit(r.o.Events, wrapper.Event{Type: wrapper.ChunkEvent, Text: text})
}

// writes tells, once in a turn, that the agent writes.
func (r *run) writes() {
	if !r.spoke {
		emit(r.o.Events, wrapper.Event{Type: wrapper.StatusEvent, State: "responding"})
	}
	r.spoke = true
}

// wants emits the events for a tool use, once.
func (r *run) wants(b *block, agent string) {
	e := r.uses.get(b.ID)
	if e.shown {
		return
	}
	e.shown = true
	if e.tool == "" {
		e.tool, e.input, e.agent = b.Name, b.Input, agent
	}
	for _, event := range wrapper.Wanted(b.ID, b.Name, agent, b.Input) {
		emit(r.o.Events, event)
	}
}

// gave compares a tool result with what was approved.
func (r *run) gave(b *block, t *turn) error {
	o := outcome{id: b.ToolUseID, good: !b.Error, meta: t.account(b.ToolUseID)}
	e := r.uses.get(o.id)
	was := e.stand
	o.reached = r.shells.reached(e)
	switch verdict, why := r.uses.settle(o); verdict {
	case breached:
		r.tellOutcome(o.id, e, b, why)
		return &wrapper.Breach{ToolUseID: o.id, Tool: e.tool, Reason: why}
	case foreignDeny:
		r.foreign(denied{ID: o.id}, notRun(b, o))
	}
	r.settled(e)
	r.shells.over(o.id)
	if was == approved {
		r.tellOutcome(o.id, e, b, "")
	}
	e.input = nil // no longer needed
	text := plain(b.Content)
	if r.stopping && b.Error {
		text = stoppedText
	}
	emit(r.o.Events, wrapper.Event{
		Type: wrapper.ToolResultEvent, Tool: e.tool, ToolUseID: o.id, Agent: e.agent,
		Text: text, IsError: b.Error,
	})
	return nil
}

// TurnedAway reports whether a result is what the CLI writes for the model in place of one,
// when the turn has ended with a denial.
func TurnedAway(result string) bool { return strings.HasPrefix(result, "The user doesn't want to ") }

// stoppedText stands for what the CLI writes for the model about a tool that ran when the turn
// was interrupted.
const stoppedText = "stopped: the turn was interrupted"

// result handles the end of a turn.
func (r *run) result(t *result) error {
	failed := ""
	if t.Error || t.Kind != "success" {
		failed = strings.Join(append(t.Errors, t.Text), "; ")
		failed = strings.Trim(failed, "; ")
		if failed == "" {
			failed = t.Kind
		}
	}
	if r.o.Session != "" && strings.Contains(failed, "No conversation found") {
		r.corrupt("sdk_session_not_found")
		if r.o.Talk != nil {
			return fmt.Errorf("the agent CLI has no session %s: the next prompt begins a new one", r.o.Session)
		}
		return fmt.Errorf("the agent CLI has no session %s: leave --session out to start a new one", r.o.Session)
	}
	if r.phase < working {
		return fmt.Errorf("the agent CLI gave up before the prompt was sent: %s", failed)
	}
	for _, d := range t.Denials {
		r.foreign(d, errForeign)
	}
	r.results++
	r.finished = true
	r.spend(t.bill)
	if len(t.Structured) > 0 && string(t.Structured) != "null" {
		r.out.Structured = t.Structured
	}
	r.out.Text, r.out.Failed, r.out.Limit = t.Text, failed, limits[t.Kind]
	if failed == "" && r.o.OutputSchema != "" && r.out.Structured == nil {
		r.out.Failed, r.out.Limit = "it gave no answer of the form that the JSON Schema describes", "structured_output"
	}
	if r.out.Stopped != "" || r.stopping {
		r.out.Failed, r.out.Limit = "", ""
	}
	if r.out.Failed != "" {
		emit(r.o.Events, wrapper.Event{Type: wrapper.ErrorEvent, Message: "the agent gave up: " + r.out.Failed})
	}
	r.turned()
	return nil
}
