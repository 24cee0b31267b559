package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// approvalRoutes are the routes of approvals. Package internal/serve/server/client uses them.
func approvalRoutes() []route {
	conflict := []int{http.StatusNotFound, http.StatusConflict}
	return []route{
		{method: "GET", path: "/api/approvals", access: agents | people, about: "list questions, ordered by their last change; an agent sees only its own",
			query: []param{
				{"status", "one or more, separated by commas: pending, approved, denied, expired, cancelled, superseded, abandoned, consumed"},
				{"project", "the workspace"}, {"session", "of the agent"}, {"after", "only changes after this seq"},
				{"limit", "the largest number to return (default and maximum 1000)"}, {"wait", "if there are none, how many seconds to wait for a change (maximum 55)"},
			}, action: to((*Server).listApprovals)},
		{method: "POST", path: "/api/approvals", access: agents, about: "submit a question; the same id and digest are submitted only once", action: to((*Server).submit), errors: conflict},
		{method: "GET", path: "/api/approvals/{id}", access: agents | people, about: "get one question and its answer; polling this path keeps the question from being abandoned",
			query: []param{{"wait", "if it is pending, how many seconds to wait for the answer (maximum 55)"}}, action: to((*Server).getApproval), errors: conflict[:1]},
		{method: "POST", path: "/api/approvals/{id}/answer", access: people, about: "answer a question; digest must be that of the question that was shown", action: to((*Server).answer), errors: conflict},
		{method: "POST", path: "/api/approvals/{id}/withdraw", access: agents | people, about: "withdraw a question", action: to((*Server).withdraw), errors: conflict},
		{method: "POST", path: "/api/approvals/{id}/consume", access: agents, about: "consume an approval, which can be done once", action: to((*Server).consume), errors: conflict},
	}
}

// maxList is how many entries a list has.
const maxList = 1000

// listApprovals lists approvals, or waits for one.
func (s *Server) listApprovals(c *call, _ *none) (api.List, error) {
	f, wait, err := filterOf(c)
	if err != nil {
		return api.List{}, err
	}
	limit := f.Limit
	ctx, cancel := context.WithTimeout(c.Context(), wait)
	defer cancel()
	for {
		newest, err := s.changes.newest(c.Context(), f.After)
		if err != nil {
			return api.List{}, err
		}
		all, more, err := s.approvals(c, f, limit)
		if err != nil {
			return api.List{}, err
		}
		list := api.List{Approvals: all, Seq: max(newest, f.After)}
		if n := len(all); n > 0 {
			list.Seq = max(list.Seq, all[n-1].Seq)
			if more {
				list.Seq = all[n-1].Seq
			}
		}
		if len(all) > 0 || wait == 0 || !s.changes.wait(ctx, newest) {
			return list, ended(c.Context())
		}
	}
}

// approvals returns the entries of a filter that the credential may see, at most so
// many; more says that there may be others.
func (s *Server) approvals(c *call, f approval.Filter, limit int) (all []api.Approval, more bool, err error) {
	all = []api.Approval{}
	for {
		f.Limit = limit
		entries, err := s.options.Store.List(c.Context(), f)
		if err != nil {
			return nil, false, err
		}
		for _, e := range entries {
			f.After = e.Seq
			if !c.sees(&e) {
				continue
			}
			if all = append(all, formFor(c.person(), e)); len(all) == limit {
				return all, true, nil
			}
		}
		if len(entries) < limit {
			return all, false, nil
		}
	}
}

// sees reports whether the owner of the credential may see an entry.
func (c *call) sees(e *approval.Entry) bool { return c.person() || e.Asker == c.principal() }

// formFor returns the form of an entry for a person, or for its asker. What a question of
// POST /api/decisions shows has the text of the file that would be changed, by which the
// server's user could be made to read any file to the agent.
func formFor(person bool, e approval.Entry) api.Approval {
	if !person {
		e.Question = unshown(e.Question)
	}
	return api.FromEntry(e)
}

// unshown returns a question without what it shows, if the server has made it. What an
// agent has put itself it knows.
func unshown(question json.RawMessage) json.RawMessage {
	var q map[string]json.RawMessage
	if err := json.Unmarshal(question, &q); err != nil || q["resumption"] == nil {
		return question
	}
	delete(q, "blocks")
	text, err := json.Marshal(q)
	if err != nil {
		return nil
	}
	return text
}

// filterOf reads the query of a list.
func filterOf(c *call) (f approval.Filter, wait time.Duration, err error) {
	q := c.URL.Query()
	f.Project, f.Session = q.Get("project"), q.Get("session")
	if f.Status, err = api.ParseStatuses(q.Get("status")); err != nil {
		return f, 0, fail(http.StatusBadRequest, "bad_request", "the query: %v", err)
	}
	limit, err := number(c, "limit", 1, maxList, maxList)
	if err != nil {
		return f, 0, err
	}
	f.Limit = int(limit)
	if f.After, err = number(c, "after", 0, 1<<62, 0); err != nil {
		return f, 0, err
	}
	wait, err = waitOf(c)
	return f, wait, err
}

// waitOf reads how long a request waits for a change.
func waitOf(c *call) (time.Duration, error) {
	seconds, err := number(c, "wait", 0, int64(maxWait/time.Second), 0)
	return time.Duration(seconds) * time.Second, err
}

// number reads a number in the query.
func number(c *call, name string, least, most, usual int64) (int64, error) {
	text := c.URL.Query().Get(name)
	if text == "" {
		return usual, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, fail(http.StatusBadRequest, "bad_request", "the query: %s must be a number from %d to %d", name, least, most)
	}
	return n, nil
}

// submit puts a question. What is asked by another under the same id is not told.
func (s *Server) submit(c *call, sub *api.Submission) (api.Approval, error) {
	e, err := sub.Entry(c.principal())
	if err != nil {
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: %v", err)
	}
	var q struct {
		desk.Question
		Resumption json.RawMessage `json:"resumption"`
	}
	switch err := strictjson.Decode(e.Question, &q, strictjson.IgnoreUnknown, strictjson.MaxSize(maxBody)); {
	case err != nil:
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: question: %v", err)
	case q.Resumption != nil: // by it a restart goes on with a tool use, in a role of the server's choice
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: question: remove resumption, which only the server may set")
	case q.ID != e.ID || q.Digest != e.Digest:
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: id or digest does not match the question")
	case !validID(e.ID):
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: id: use 1 to 200 letters, digits and . _ -")
	}
	got, err := s.options.Store.Submit(c.Context(), e) // another asker's is ErrBegun, and not told
	return s.outcome(c, got, err)
}

// validID reports whether an id is one that stands as it is in a path and in a log.
func validID(id string) bool {
	ok := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' || r == '-'
	}
	return id != "" && id != "." && id != ".." && len(id) <= 200 && !slices.ContainsFunc([]rune(id), func(r rune) bool { return !ok(r) })
}

// getApproval returns an approval, or waits for its answer.
func (s *Server) getApproval(c *call, _ *none) (api.Approval, error) {
	wait, err := waitOf(c)
	if err != nil {
		return api.Approval{}, err
	}
	ctx, cancel := context.WithTimeout(c.Context(), wait)
	defer cancel()
	w := s.changes.watch(c.PathValue("id"))
	defer s.changes.forget(w)
	e, err := s.entry(c)
	if err == nil && e.Asker == c.principal() {
		defer s.leases.here(&e)()
	}
	for err == nil && e.Status == approval.Pending {
		if _, over := w.wait(ctx, e.Seq); over != nil {
			err = ended(c.Context())
			break
		}
		e, err = s.entry(c)
	}
	return s.outcome(c, e, err)
}

// entry returns the approval that a path names, if the credential may see it.
func (s *Server) entry(c *call) (approval.Entry, error) {
	e, err := s.options.Store.Get(c.Context(), c.PathValue("id"))
	if err == nil && !c.sees(&e) {
		return approval.Entry{}, approval.ErrUnknown
	}
	return e, err
}

// answer settles an approval by the answer of a person: the owner of the credential.
func (s *Server) answer(c *call, a *api.Answer) (api.Approval, error) {
	event, err := a.Event(c.PathValue("id"), c.principal(), time.Now())
	if err != nil {
		return api.Approval{}, fail(http.StatusBadRequest, "bad_request", "the body: %v", err)
	}
	r, err := ownReply(a, &event)
	if err != nil {
		return s.outcome(c, approval.Entry{}, err)
	}
	e, err := s.entry(c)
	if err == nil && e.Status == approval.Pending { // else it says who was first
		event, err = replied(&e, r, a, event)
	}
	if err != nil {
		return s.outcome(c, approval.Entry{}, err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		return api.Approval{}, err
	}
	event.Credential = c.who.ID
	if e, err = s.options.Store.Answer(c.Context(), event, text); err == nil {
		s.log.Info("a question was answered", "approval", e.ID, "answer", a.Kind, "by", c.who.Name, "credential", c.who.ID)
	}
	return s.outcome(c, e, err)
}

// ownReply returns the reply of an answer, with the name of who gives it. It is about the
// approval that the event is for.
func ownReply(a *api.Answer, e *approval.Event) (*desk.Reply, error) {
	r := new(desk.Reply)
	if err := strictjson.Decode(a.Reply, r, strictjson.NullAbsent, strictjson.MaxSize(maxBody)); err != nil {
		return nil, badReply(err)
	}
	switch {
	case r.ID == "" || r.Digest == "":
		return nil, badReply(errors.New("id and digest are required: those of the question that was shown"))
	case r.ID != e.ID || r.Digest != e.Digest:
		return nil, approval.ErrOther
	}
	if string(r.Input) == "null" { // absent: the asker takes it for an edit
		r.Input = nil
	}
	r.By = e.By.Name
	return r, nil
}

// replied returns the event of a reply to the question of an entry. The asker applies
// the reply after the same check, so that an answer which it would not take is refused
// here, where the person is told. What else the answer has must say the same; its message
// may be a comment to an approval.
func replied(e *approval.Entry, r *desk.Reply, a *api.Answer, answer approval.Event) (approval.Event, error) {
	var q desk.Question
	if err := json.Unmarshal(e.Question, &q); err != nil { // it was checked when it was put
		return answer, fmt.Errorf("the question of %s: %w", e.ID, err)
	}
	event, err := r.Event(&q, answer.By)
	switch {
	case errors.Is(err, approval.ErrOther):
		return answer, err
	case err != nil:
		return answer, badReply(err)
	case event.Kind != answer.Kind:
		return answer, badReply(fmt.Errorf("choice %q does not match kind", r.Choice))
	case a.Scope != "" && !sameScope(answer.Scope, event.Scope), answer.Rules != nil && !slices.Equal(answer.Rules, event.Rules),
		answer.For != 0 && answer.For != event.For, answer.Times != 0 && answer.Times != event.Times:
		return answer, badReply(errors.New("scope, rules, for or times contradict it"))
	}
	event.At, event.Message = answer.At, cmp.Or(event.Message, answer.Message)
	return event, nil
}

// sameScope reports whether the scope beside a reply is that of the reply. "session" is also
// that of one that keeps its rules for longer.
func sameScope(beside, replied permission.Scope) bool {
	return beside == replied || beside == permission.ScopeSession && replied == permission.ScopeAlways
}

// badReply is the error of a reply that is none to its question.
func badReply(err error) error {
	return fail(http.StatusBadRequest, "bad_request", "the body: reply: %v", err)
}

// withdraw ends a question. An agent withdraws its own.
func (s *Server) withdraw(c *call, w *api.Withdrawal) (api.Approval, error) {
	e, err := s.entry(c)
	if err == nil {
		e, err = s.options.Store.Withdraw(c.Context(), e.ID, c.principal(), w.Reason)
	}
	return s.outcome(c, e, err)
}

// consume uses an approval up.
func (s *Server) consume(c *call, u *api.Use) (api.Approval, error) {
	e, err := s.entry(c)
	if err == nil {
		e, err = s.options.Store.Consume(c.Context(), e.ID, u.Digest)
	}
	return s.outcome(c, e, err)
}

// outcome returns what is told of a call of the store. With an error, the approval that
// is there goes with it, if the credential may see it.
func (s *Server) outcome(c *call, e approval.Entry, err error) (api.Approval, error) {
	if err == nil {
		return formFor(c.person(), e), nil
	}
	f := *told(err)
	if e.ID != "" && c.sees(&e) && f.status < http.StatusInternalServerError {
		a := formFor(c.person(), e)
		f.approval = &a
	}
	if f.status >= http.StatusInternalServerError {
		return api.Approval{}, err
	}
	if e.Status == approval.Expired && f.status == http.StatusConflict {
		f.status = http.StatusGone
	}
	return api.Approval{}, &f
}
