package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// decisionRoutes are the routes of decisions without a terminal.
func decisionRoutes() []route {
	return []route{
		{method: "POST", path: "/api/decisions", access: agents, about: "decide a tool use: allow, deny, or ask with the id of the question", action: to((*Server).decide), errors: []int{429}},
		{method: "GET", path: "/api/decisions/{id}", access: agents, about: "get the decision on a question: allow, deny, or still ask",
			query: []param{{"wait", "how many seconds to wait for the decision (maximum 55)"}}, action: to((*Server).decided), errors: []int{404, 410, 503}},
	}
}

// use is the body of POST /api/decisions.
type use struct {
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
	// Cwd is the directory of the agent's shell, absolute; absent means the workspace, ""
	// that it is not known.
	Cwd       *string `json:"cwd,omitempty"`
	Session   string  `json:"session,omitempty"`
	Agent     string  `json:"agent,omitempty"` // the subagent
	ToolUseID string  `json:"tool_use_id,omitempty"`
	AgentRole string  `json:"agent_role,omitempty"` // a lesser one than that of the credential
	// OwnShell says that each command line runs in a shell that ends with it.
	OwnShell bool `json:"own_shell,omitempty"`
	// ForceApproval has a person asked even about what would be allowed.
	ForceApproval bool `json:"force_approval,omitempty"`
}

// decision is the answer to a tool use.
type decision struct {
	Behavior     string              `json:"behavior"` // allow, deny, ask
	UpdatedInput json.RawMessage     `json:"updated_input,omitempty"`
	Message      string              `json:"message,omitempty"`
	Interrupt    bool                `json:"interrupt,omitempty"`
	ApprovalID   string              `json:"approval_id,omitempty"` // of a question
	Expires      *time.Time          `json:"expires,omitempty"`     // when it does
	Layer        string              `json:"layer,omitempty"`
	Rule         string              `json:"rule,omitempty"`
	Source       string              `json:"source,omitempty"`
	Reason       string              `json:"reason,omitempty"`
	By           string              `json:"by,omitempty"`
	Tier         int                 `json:"tier,omitempty"`
	Risk         string              `json:"risk,omitempty"`
	Advice       []permission.Advice `json:"advice,omitempty"`
}

func newDecision(res *permission.Result) decision {
	d := &res.Decision
	out := decision{
		Behavior: d.Behavior.String(), UpdatedInput: res.UpdatedInput, Message: d.Message, Interrupt: d.Interrupt, Layer: d.Layer.String(),
		Rule: d.Rule, Source: d.RuleSource.String(), Reason: d.Reason, By: res.By, Tier: d.Tier, Advice: d.Advice,
	}
	if d.Tier != 0 {
		out.Risk = d.Risk.String()
	}
	return out
}

// maxText is the length of the longest name that a body has in bytes.
const maxText = 200

// check returns what is wrong with a tool use.
func (u *use) check() error {
	switch {
	case u.Tool == "" || len(u.Tool) > maxText:
		return fail(http.StatusBadRequest, "bad_request", "the body: tool: use 1 to %d bytes", maxText)
	case u.Cwd != nil && *u.Cwd != "" && !filepath.IsAbs(*u.Cwd):
		return fail(http.StatusBadRequest, "bad_request", "the body: cwd: give an absolute path")
	case len(u.Session) > maxText || len(u.Agent) > maxText || len(u.ToolUseID) > maxText:
		return fail(http.StatusBadRequest, "bad_request", "the body: session, agent and tool_use_id: use at most %d bytes each", maxText)
	}
	return nil
}

// toolUse returns the tool use as it is decided in a workspace.
func (u *use) toolUse(workspace string) permission.ToolUse {
	dir := workspace
	if u.Cwd != nil {
		dir = *u.Cwd
	}
	return permission.ToolUse{
		ID: u.ToolUseID, Tool: u.Tool, Input: u.Input, Dir: dir, Agent: u.Agent, Session: u.Session, ForceAsk: u.ForceApproval,
		OwnShell: u.OwnShell,
	}
}

// waiting is a tool use that is being decided, or waits for the answer to a question.
// Nothing runs for one that waits: see Server.park.
type waiting struct {
	owner   string // name of the agent
	decider *decider
	ctx     context.Context // ends with the credential
	release func()          // of ctx and decider
	resume  resumption
	found   string // the ID of the question with which a restart went on; "" for none
	asking  asking

	mu      sync.Mutex
	ids     []string // of all questions; of the last one:
	expires time.Time
	parked  *permission.Parked // goes on with it; nil while it is being decided
	stop    func() bool        // ctx does not end it any more
	done    chan struct{}      // closed at the end, if there was a question
	ended   bool
	result  decision
	failed  error
}

// finish sets the end.
func (w *waiting) finish(d decision, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.result, w.failed, w.ended = d, err, true
	if w.done != nil {
		close(w.done)
	}
}

// told returns how it stands.
func (w *waiting) told() (decision, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return w.result, w.failed
	}
	return decision{Behavior: "ask", ApprovalID: w.ids[len(w.ids)-1], Expires: when(w.expires)}, nil
}

// take returns what goes on with a tool use, once; nil if it does not wait.
func (w *waiting) take() *permission.Parked {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.parked
	w.parked = nil
	if p != nil {
		w.stop()
	}
	return p
}

// decisions are the tool uses about which somebody was asked, by the IDs of the
// questions.
type decisions struct {
	mu      sync.Mutex
	byID    map[string]*waiting
	waiting map[string]int // by agent
}

// The limits of what waits: of one agent, and how long an end is kept.
const (
	maxWaiting = 5000
	keepEnd    = 10 * time.Minute
)

var errWaiting = fail(http.StatusTooManyRequests, "too_many_waiting", "%d tool uses are already waiting for an answer: wait until some are answered", maxWaiting)

// add notes a question about a tool use.
func (d *decisions) add(w *waiting, e approval.Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	if d.byID[e.ID] == w {
		return
	}
	if len(w.ids) == 0 {
		d.waiting[w.owner]++
		w.done = make(chan struct{})
	}
	d.byID[e.ID] = w
	w.ids, w.expires = append(w.ids, e.ID), e.Expires
}

// end forgets a tool use that was decided, after a while.
func (d *decisions) end(w *waiting) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(w.ids) == 0 {
		return
	}
	d.waiting[w.owner]--
	time.AfterFunc(keepEnd, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		for _, id := range w.ids {
			delete(d.byID, id)
		}
	})
}

// all returns those that are not forgotten.
func (d *decisions) all() []*waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.byID))
}

// full reports whether an agent has as many as it may.
func (d *decisions) full(owner string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.waiting[owner] >= maxWaiting
}

func (d *decisions) of(id string) *waiting {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.byID[id]
}

// decide decides a tool use. If a person is asked, it answers at once; the decision
// goes on.
func (s *Server) decide(c *call, u *use) (decision, error) {
	if err := u.check(); err != nil {
		return decision{}, err
	}
	role, ok := lowered(c.who.AgentRole, u.AgentRole)
	if !ok {
		return decision{}, fail(http.StatusForbidden, "insufficient_permissions", "agent_role: this credential has the role %s", c.who.AgentRole)
	}
	if s.decisions.full(c.who.Name) {
		return decision{}, errWaiting
	}
	d, release, err := s.deciders.use(deciderKey{c.who.ID, u.Session, role}, c.who.Name)
	if err != nil {
		return decision{}, err
	}
	w := s.newWaiting(d, release, &resumption{Server: s.options.Name, Credential: c.who.ID, Role: role, Use: *u}, c.who.Name)
	if !s.works.do(func() { s.run(w, nil) }) {
		return decision{}, errEnds
	}
	out, err := w.told()
	if err == nil {
		s.metrics.decisions.add(out.Behavior)
	}
	return out, err
}

// newWaiting returns a tool use that is to be decided as long as its credential counts,
// also if its client has gone, or the server ends meanwhile.
func (s *Server) newWaiting(d *decider, release func(), r *resumption, owner string) *waiting {
	ctx, let := s.credentials.hold(context.Background(), r.Credential)
	w := &waiting{owner: owner, decider: d, ctx: ctx, release: func() { let(); release() }, resume: *r}
	w.asking = asking{mark: w.resume.mark, asked: func(e approval.Entry) { s.decisions.add(w, e) }}
	return w
}

// run decides a tool use, or goes on with one that has waited.
func (s *Server) run(w *waiting, p *permission.Parked) {
	ctx := context.WithValue(w.ctx, askingKey{}, &w.asking)
	w.decider.recall(s)
	var res permission.Result
	var err error
	if p == nil {
		res, err = w.decider.CanUseTool(ctx, w.resume.Use.toolUse(w.decider.Place.Workspace))
	} else {
		res, err = p.Resume(ctx)
	}
	if errors.As(err, &p) {
		s.park(w, p)
		return
	}
	if err != nil {
		s.log.Error("a tool use could not be decided", "agent", w.owner, "error", err.Error())
	}
	s.settle(w, newDecision(&res), nil)
	if w.found == "" {
		return
	}
	by := approval.Principal{Role: approval.Agent, Name: w.owner}
	if _, err := (&link{s.options.Store, s}).Withdraw(context.WithoutCancel(ctx), w.found, by, "it was decided differently after the server restarted"); err == nil {
		s.log.Info("a question is not asked any more", "approval", w.found)
	}
}

// settle ends a tool use, with a decision or a failure. For a while its end is kept, and
// nothing else: an agent can withdraw what it asks, and ask again, without end.
func (s *Server) settle(w *waiting, d decision, err error) {
	s.changes.forget(w.asking.watch)
	if answered := w.asking.answered; answered != nil {
		answered() // the server ends before anybody has
	}
	w.finish(d, err)
	s.decisions.end(w)
	w.release()
	w.decider, w.ctx, w.release, w.resume, w.asking = nil, nil, nil, resumption{}, asking{}
}

// park has a tool use wait until its question changes, or its credential ends. Only
// what goes on with it is kept: no goroutine waits.
func (s *Server) park(w *waiting, p *permission.Parked) {
	wake := func() {
		s.works.later(func() {
			if p := w.take(); p != nil {
				s.run(w, p)
			}
		})
	}
	watch, seq := w.asking.watch, w.asking.seq
	w.mu.Lock()
	w.parked, w.stop = p, context.AfterFunc(w.ctx, wake)
	w.mu.Unlock()
	watch.then(seq, wake)
	if s.ctx.Err() != nil {
		s.leave(w)
	}
}

// leave leaves a tool use that waits to the next start of the server.
func (s *Server) leave(w *waiting) {
	if w.take() != nil {
		s.settle(w, decision{}, errEnds)
	}
}

// errEnds is the error of what waits when the server ends.
var errEnds = fail(http.StatusServiceUnavailable, "server_ends", "the server is stopping: the question waits until it starts again")

// decided tells what became of a tool use about which somebody was asked.
func (s *Server) decided(c *call, _ *none) (decision, error) {
	wait, err := waitOf(c)
	if err != nil {
		return decision{}, err
	}
	w := s.decisions.of(c.PathValue("id"))
	if w == nil || w.owner != c.who.Name {
		return decision{}, s.lost(c)
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-w.done:
		case <-timer.C:
		case <-c.Context().Done(): // as the server ends, or before
			if s.ctx.Err() != nil {
				return decision{}, errEnds
			}
			return decision{}, context.Cause(c.Context())
		}
	}
	return w.told()
}

// lost returns why a decision is not known any more.
func (s *Server) lost(c *call) error {
	e, err := s.entry(c)
	switch {
	case err != nil:
		return err
	case e.Final():
		return fail(http.StatusGone, "decision_gone", "the question is %s, and its decision is no longer kept: submit the tool use again", e.Status)
	}
	return fail(http.StatusNotFound, "not_found", "this question was not created by POST /api/decisions on this server")
}

// resumption is what a restart needs to go on with a tool use about which somebody was
// asked. It is part of the question in the store.
type resumption struct {
	Server     string `json:"server"`
	Credential string `json:"credential"`
	Role       string `json:"role"`
	Use        use    `json:"use"`
}

// mark adds the resumption to a question.
func (r *resumption) mark(question []byte) ([]byte, error) {
	mine, err := json.Marshal(r)
	if err != nil || len(question) < 2 || question[len(question)-1] != '}' {
		return nil, errInternal
	}
	return append(append(append(question[:len(question)-1:len(question)-1], `,"resumption":`...), mine...), '}'), nil
}

// resume goes on with the tool uses that the server decided when it ended. Each is
// decided anew; the question is the same one, unless another decision is made now.
func (s *Server) resume(ctx context.Context) error {
	all, err := s.options.Store.List(ctx, approval.Filter{Status: []approval.Status{approval.Pending, approval.Approved}})
	if err != nil {
		return err
	}
	for i := range all {
		var q struct {
			Resumption *resumption `json:"resumption"`
		}
		err := strictjson.Decode(all[i].Question, &q, strictjson.IgnoreUnknown, strictjson.MaxSize(4*maxBody))
		if err != nil || q.Resumption == nil || q.Resumption.Server != s.options.Name {
			continue
		}
		if err := s.again(&all[i], q.Resumption); err != nil {
			s.log.Error("a question cannot be gone on with", "approval", all[i].ID, "error", err.Error())
		}
	}
	return nil
}

// again decides a tool use anew whose question is in the store. It waits there again, in
// the session that it belongs to.
func (s *Server) again(e *approval.Entry, r *resumption) error {
	d, release, err := s.deciders.use(deciderKey{r.Credential, r.Use.Session, r.Role}, e.Asker.Name)
	if err != nil {
		return err
	}
	w := s.newWaiting(d, release, r, e.Asker.Name)
	w.found, w.asking.id = e.ID, e.ID
	s.decisions.add(w, *e)
	s.works.later(func() { s.run(w, nil) })
	return nil
}
