package server

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// ruleRoutes are the routes of remembered approvals.
func ruleRoutes() []route {
	return []route{
		{method: "GET", path: "/api/rules", access: people, about: "list remembered approvals (auto_approve_future): your own, or all if you are an administrator", action: to((*Server).rules)},
		{method: "POST", path: "/api/rules", access: people, about: "remember a rule that a recorded question offered, as auto_approve_future does", action: to((*Server).createRule), errors: []int{409, 503}},
		{method: "GET", path: "/api/rules/proposals", access: people, about: "suggest rules for what this person approves repeatedly", action: to((*Server).proposals)},
		{method: "POST", path: "/api/rules/try", access: people, about: "show what a rule would have changed in the latest recorded decisions, with lint findings", action: to((*Server).tryRule), errors: []int{503}},
		{method: "POST", path: "/api/rules/{id}/revoke", access: people, about: "revoke a remembered approval, for all later decisions", action: to((*Server).revokeRule), errors: []int{404}},
	}
}

// grants are the remembered approvals for the workspace, as the store had them
// at the last look.
type grants struct {
	mu      sync.Mutex
	all     []approval.Grant
	version int // changes with all
}

// lookAtGrants asks the store for the grants of people whose credentials count.
func (s *Server) lookAtGrants(ctx context.Context) error {
	kept, err := s.options.Store.Grants(ctx, "", s.options.Workspace)
	var all []approval.Grant
	now := time.Now()
	for i := range kept {
		g := approval.Grant(kept[i])
		if s.credentials.person(g.Person) && g.Counts(g.Person, s.options.Workspace, now) {
			all = append(all, g)
		}
	}
	if err != nil {
		all = nil // what may be revoked by now answers for nothing
	}
	s.grants.mu.Lock()
	defer s.grants.mu.Unlock()
	if !slices.Equal(all, s.grants.all) {
		s.grants.all = all
		s.grants.version++
	}
	return err
}

// everybody stands for all people in grants.
const everybody = "*"

// person reports whether somebody of a name has a credential that counts.
func (c *credentials) person(name string) bool {
	known := c.known.Load()
	if known == nil || time.Since(known.at) > maxAge {
		return false
	}
	for _, t := range known.tokens {
		if t.Name == name && t.Role != RoleAgent && kindOf(t.ID) != kindCode && c.valid(t, time.Now()) {
			return true
		}
	}
	return false
}

// recall has the decider heed what is remembered now of those who may answer by its
// policy. Where several have to approve, nothing is: it would be the answer of one.
func (d *decider) recall(s *Server) {
	all, version := s.grants.now()
	d.recalling.Lock()
	defer d.recalling.Unlock()
	if version == d.recalled {
		return
	}
	d.recalled = version
	if err := d.Recall(everybody, heeded(all, d.Demands())); err != nil {
		s.log.Warn("what is remembered", "error", err.Error())
	}
}

// now returns the grants, and their version.
func (g *grants) now() ([]approval.Grant, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.all, g.version
}

// heeded returns the grants of those who may answer, as those of everybody: Recall takes
// those of one person.
func heeded(all []approval.Grant, demands approval.Demands) (count []approval.Grant) {
	for _, g := range all {
		if unheeded(demands, g.Person) == nil {
			g.Person = everybody
			count = append(count, g)
		}
	}
	return count
}

// unheeded returns why nothing that a person has remembered counts, nil if it does.
func unheeded(demands approval.Demands, person string) error {
	switch {
	case len(demands.Quorum) > 0:
		return errors.New("the policy requires several approvers: one person cannot approve future uses for all of them")
	case demands.People != nil && !slices.Contains(demands.People, person):
		return errors.New("the policy does not allow you to answer")
	}
	return nil
}

// remember returns what "and from now on" keeps of the question about a command that an
// answer is for, and has the answer name it: another one may wait by the time it counts.
// The error says why there is nothing.
func (s *Server) remember(session string, v *verdict, person string) ([]approval.Grant, error) {
	ask := s.shells.asked(session)
	if ask == nil {
		return nil, fail(http.StatusConflict, "conflict", "no command is waiting for approval")
	}
	digest, err := approval.Digest(ask)
	switch {
	case err != nil:
		return nil, err
	case v.ApprovalID != "" && v.ApprovalID != questionID(ask):
		return nil, fail(http.StatusConflict, "conflict", "the answer is for a different question from the one that is pending")
	case v.Digest != "" && v.Digest != digest:
		return nil, fail(http.StatusConflict, "conflict", "%v", approval.ErrOther)
	}
	v.Digest = digest
	all, err := approval.Remember(ask, nil, person, s.options.Workspace, time.Now())
	if err != nil {
		return nil, fail(http.StatusBadRequest, "not_offered", "auto_approve_future: %v", err)
	}
	return all, nil
}

// keep keeps grants, for the decisions after this one, and gives them IDs.
func (s *Server) keep(ctx context.Context, all []approval.Grant) error {
	for i := range all {
		g := &all[i]
		g.ID = "g" + random(10)
		if err := s.options.Store.CreateGrant(ctx, store.Grant(*g)); err != nil {
			return err
		}
		s.log.Info("an approval is remembered", "rule", g.ID, "by", g.Person)
	}
	return s.lookAtGrants(ctx)
}

// asked returns the question about the command that waits in a session, nil for none.
func (t *shells) asked(session string) *permission.Request {
	t.mu.Lock()
	d := t.open[session]
	t.mu.Unlock()
	if d == nil {
		return nil
	}
	return d.ask.Load()
}

// ruleInfo is an approval that is remembered.
type ruleInfo struct {
	ID      string     `json:"id"`
	Person  string     `json:"person"`
	Project string     `json:"project"`
	Rule    string     `json:"rule"`
	Risk    string     `json:"risk"` // the highest that it answers for
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

// ruleList is the answer of GET /api/rules.
type ruleList struct {
	Rules []ruleInfo `json:"rules"`
}

// grantsOf returns the grants that the credential may see.
func (s *Server) grantsOf(c *call) ([]store.Grant, error) {
	person := c.who.Name
	if c.who.Role == RoleAdmin {
		person = ""
	}
	return s.options.Store.Grants(c.Context(), person, "")
}

// rules lists what is remembered.
func (s *Server) rules(c *call, _ *none) (ruleList, error) {
	all, err := s.grantsOf(c)
	out := ruleList{[]ruleInfo{}}
	for i := range all {
		out.Rules = append(out.Rules, newRuleInfo(&all[i]))
	}
	return out, err
}

func newRuleInfo(g *store.Grant) ruleInfo {
	return ruleInfo{g.ID, g.Person, g.Project, g.Rule, g.Risk, g.Created.UTC(), when(g.Expires), when(g.Revoked)}
}

// revokeRule ends what is remembered.
func (s *Server) revokeRule(c *call, _ *none) (ruleInfo, error) {
	all, err := s.grantsOf(c)
	if err != nil {
		return ruleInfo{}, err
	}
	at := slices.IndexFunc(all, func(g store.Grant) bool { return g.ID == c.PathValue("id") })
	if at < 0 {
		return ruleInfo{}, fail(http.StatusNotFound, "not_found", "no such rule exists, or it belongs to someone else")
	}
	now := time.Now()
	if err := s.options.Store.RevokeGrant(c.Context(), all[at].ID, now); err != nil {
		return ruleInfo{}, err
	}
	s.log.Info("what was remembered was revoked", "rule", all[at].ID, "by", c.who.Name)
	if all[at].Revoked.IsZero() {
		all[at].Revoked = now
	}
	return newRuleInfo(&all[at]), s.lookAtGrants(c.Context())
}
