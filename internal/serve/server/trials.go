package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The limits of a trial: of the decisions that are judged anew, of the time for that, and
// of the examples of each kind that are shown.
const (
	maxTried    = 2000
	triedTime   = 2 * time.Second
	triedBytes  = 64 << 20
	maxExamples = 20
	maxRule     = 4 << 10
)

// triedRole is the role of agents whose decisions a trial makes anew: the least. The
// record does not say with which one a decision was made.
const triedRole = "chat"

// ruleAsked is the body of POST /api/rules/try.
type ruleAsked struct {
	Rule string `json:"rule"`
	As   string `json:"as"` // allow, ask, deny
}

// ruleTried is the answer: what a rule would have changed.
type ruleTried struct {
	Rule    string        `json:"rule"`
	As      string        `json:"as"`
	Problem string        `json:"problem,omitempty"` // why a policy would not load with it; then there is nothing else
	Line    string        `json:"line,omitempty"`    // for a policy file
	Lint    []lintFinding `json:"lint"`

	Looked    int        `json:"looked"`           // decisions of the audit log, the newest first
	Most      int        `json:"most"`             // that are looked at
	Done      bool       `json:"done"`             // false: the time was over before
	Oldest    string     `json:"oldest,omitempty"` // the time of the oldest of them
	Same      int        `json:"same"`             // decided the same with it
	Masked    int        `json:"masked"`           // not judged: the audit log hides a part of what was asked for
	Elsewhere int        `json:"elsewhere"`        // not judged: of other workspaces, or of an unknown directory
	Spared    ruleChange `json:"spared"`           // asked about, and with the rule allowed
	Asked     ruleChange `json:"asked"`            // allowed, and with the rule asked about
	Denied    ruleChange `json:"denied"`           // allowed or asked about, and with the rule denied
	Loosened  ruleChange `json:"loosened"`         // denied, and with the rule not

	Remember *ruleOffer `json:"remember,omitempty"` // of a rule that allows
}

// lintFinding is a finding about a rule.
type lintFinding struct {
	Check   string   `json:"check"`
	Level   string   `json:"level"`
	Why     string   `json:"why"`
	Fix     string   `json:"fix"`
	Instead []string `json:"instead,omitempty"` // lines for a policy file
}

// ruleChange is one kind of change.
type ruleChange struct {
	Count    int           `json:"count"`
	Examples []ruleExample `json:"examples"` // the newest
}

// ruleExample is a decision that would be another one.
type ruleExample struct {
	Seq  uint64 `json:"seq"`
	Time string `json:"time"`
	Tool string `json:"tool"`
	Text string `json:"text"` // what was asked for, hidden characters spelled out
	Was  string `json:"was"`  // what was decided then
	Risk string `json:"risk"`
	From string `json:"from"` // what would be decided without the rule, and with it
	To   string `json:"to"`
	Why  string `json:"why"`
}

// ruleOffer says whether a rule may be remembered.
type ruleOffer struct {
	Risk  string `json:"risk,omitempty"` // the highest that it would answer for
	Count int    `json:"count"`          // questions of the audit log that have offered it
	Why   string `json:"why,omitempty"`  // why it may not be
}

func (g *ruleChange) add(e ruleExample) {
	if g.Count++; len(g.Examples) < maxExamples {
		g.Examples = append(g.Examples, e)
	}
}

// tryRule says what a rule would have changed.
func (s *Server) tryRule(c *call, in *ruleAsked) (ruleTried, error) {
	if len(in.Rule) > maxRule || !slices.Contains([]string{"allow", "ask", "deny"}, in.As) {
		return ruleTried{}, fail(http.StatusBadRequest, "bad_request", "the body: rule must have at most %d bytes, and as must be allow, ask or deny", maxRule)
	}
	done, err := s.turn(c.Context())
	if err != nil {
		return ruleTried{}, err
	}
	defer done()
	t, err := s.trial(in.As, in.Rule)
	var wrong *wrongRule
	if errors.As(err, &wrong) {
		return ruleTried{Rule: in.Rule, As: in.As, Problem: wrong.Error(), Lint: []lintFinding{}}, nil
	}
	if err != nil {
		return ruleTried{}, err
	}
	out := ruleTried{Rule: t.Rule, As: in.As, Line: line(in.As, t.Rule), Lint: lintOf(t), Most: maxTried}
	for _, g := range []*ruleChange{&out.Spared, &out.Asked, &out.Denied, &out.Loosened} {
		g.Examples = []ruleExample{}
	}
	var o *offer
	if in.As == "allow" {
		o = s.offer(t, c.who.Name)
	}
	if err := s.replay(c.Context(), t, &out, o); err != nil {
		return ruleTried{}, err
	}
	if o != nil {
		out.Remember = o.told()
	}
	return out, nil
}

// turn waits until no other rule is tried.
func (s *Server) turn(ctx context.Context) (done func(), err error) {
	select {
	case s.trying <- struct{}{}:
		return func() { <-s.trying }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// wrongRule is the error of a rule with which a policy would not load.
type wrongRule struct{ error }

// trial returns the trial of a rule, with what is remembered now on both sides.
func (s *Server) trial(list, rule string) (*trial, error) {
	if s.options.Rules == nil {
		return nil, fail(http.StatusServiceUnavailable, "unavailable", "this server cannot try rules")
	}
	rules, err := s.options.Rules(triedRole)
	if err != nil {
		return nil, err
	}
	demands := rules.Demands()
	all, _ := s.grants.now()
	if err := rules.Recall(everybody, heeded(all, demands)); err != nil {
		s.log.Warn("what is remembered", "error", err.Error())
	}
	t, err := rules.Try(list, rule)
	if err != nil {
		return nil, &wrongRule{err}
	}
	return &trial{t, demands}, nil
}

// trial is a trial, with what is demanded of answers.
type trial struct {
	*engine.Trial
	demands approval.Demands
}

// line returns a rule as a line of a policy file.
func line(list, rule string) string { return list + " = [" + strconv.Quote(rule) + "]" }

func lintOf(t *trial) []lintFinding {
	out := []lintFinding{}
	for i := range t.Findings {
		f := &t.Findings[i]
		one := lintFinding{Check: f.Check, Level: f.Level, Why: f.Why, Fix: f.Fix}
		for _, i := range f.Instead {
			one.Instead = append(one.Instead, line(i.List, i.Rule))
		}
		out = append(out, one)
	}
	return out
}

// judged is what a trial says of a tool use.
type judged struct {
	from, to, risk, why string
	offered             bool
}

// replay judges the newest decisions of the record again.
func (s *Server) replay(ctx context.Context, t *trial, out *ruleTried, o *offer) error {
	known := map[string]judged{}
	return s.newest(ctx, out, func(e *audit.Entry, use permission.ToolUse) {
		key := e.Tool + "\x00" + e.Dir + "\x00" + string(e.Input)
		j, again := known[key]
		if !again {
			j = t.judge(use, o)
			known[key] = j
		}
		out.note(e, j)
		if j.offered {
			o.count++
		}
	})
}

// judge judges a tool use, and looks whether its question offers the rule.
func (t *trial) judge(use permission.ToolUse, o *offer) judged {
	without, with := t.Decide(use)
	d := &without.Decision
	j := judged{from: d.Behavior.String(), to: with.Behavior.String(), risk: d.Risk.String(), why: with.Reason}
	if o != nil && j.from == "ask" {
		j.offered = o.look(&without)
	}
	return j
}

// note adds a decision to what was found.
func (out *ruleTried) note(e *audit.Entry, j judged) {
	x := ruleExample{
		Seq: e.Seq, Time: e.Time, Tool: visible.Line(e.Tool), Text: visible.Line(brief(e.Asked())), Was: e.Behavior,
		Risk: j.risk, From: j.from, To: j.to, Why: visible.Line(j.why),
	}
	switch {
	case j.from == j.to:
		out.Same++
	case j.from == "deny":
		out.Loosened.add(x)
	case j.to == "deny":
		out.Denied.add(x)
	case j.to == "ask":
		out.Asked.add(x)
	default:
		out.Spared.add(x)
	}
}

// maxBrief is how many bytes of a text an example shows.
const maxBrief = 400

func brief(text string) string {
	if len(text) <= maxBrief {
		return text
	}
	return text[:maxBrief] + "…"
}

// newest calls each with the newest decisions of the record that can be judged, until
// there are enough or the time is over, and counts them.
func (s *Server) newest(ctx context.Context, out *ruleTried, each func(e *audit.Entry, use permission.ToolUse)) error {
	file, err := os.Open(s.options.Record)
	if errors.Is(err, fs.ErrNotExist) {
		out.Done = true
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, triedTime)
	defer cancel()
	next, err := audit.ScanBack(file, info.Size(), 0, triedBytes, &audit.Filter{Kind: "decision"}, func(e *audit.Entry, _ []byte) error {
		if out.Looked == maxTried || ctx.Err() != nil {
			return errEnough
		}
		out.Looked, out.Oldest = out.Looked+1, e.Time
		switch {
		case !e.AsSent():
			out.Masked++
		case !subpath.Inside(e.Dir, s.options.Workspace):
			out.Elsewhere++
		default:
			each(e, permission.ToolUse{Tool: e.Tool, Input: e.Input, Dir: e.Dir, Agent: e.Agent, Session: e.Session})
		}
		return nil
	})
	out.Done = out.Looked == maxTried || next == 0 && err == nil
	if errors.Is(err, errEnough) {
		err = nil
	}
	return err
}

// offer looks in the record for questions that have offered a rule, so that it can be
// remembered with all that approval.Remember demands, for the risk of what it answered.
// Without such a question neither is known, and it is not remembered.
type offer struct {
	rule, person, project string
	now                   time.Time
	barred                error           // why nothing of this person is remembered
	grant                 *approval.Grant // of the highest risk
	class                 risk.Class
	count                 int   // of questions that have offered it
	why                   error // why a question that it would answer does not offer it
}

// offer returns one without any question yet.
func (s *Server) offer(t *trial, person string) *offer {
	o := &offer{
		rule: t.Rule, person: person, project: s.options.Workspace, now: time.Now(), barred: unheeded(t.demands, person),
	}
	all, _ := s.grants.now()
	for _, g := range all {
		if g.Rule == o.rule && g.Counts(person, o.project, o.now) {
			o.barred = fmt.Errorf("it is already remembered until %s", g.Expires.UTC().Format(time.DateOnly))
		}
	}
	return o
}

// look reports whether a question offers the rule to be remembered.
func (o *offer) look(r *permission.Request) bool {
	if o.barred != nil || r.CanKeep(patterns.Allow, o.rule) != nil {
		return false
	}
	rungs, err := approval.Ladder(r)
	for _, rung := range rungs {
		if !slices.Contains(rung.Rules, o.rule) {
			continue
		}
		all, err := approval.Remember(r, rung.Rules, o.person, o.project, o.now)
		if err != nil {
			o.why = cmp.Or(o.why, err)
			return false
		}
		g := &all[slices.IndexFunc(all, func(g approval.Grant) bool { return g.Rule == o.rule })]
		class, known := risk.ParseClass(g.Risk)
		if known && class > o.class {
			o.grant, o.class = g, class
		}
		return known
	}
	o.why = cmp.Or(o.why, err)
	return false
}

// refused returns why the rule is not remembered, nil if it may be.
func (o *offer) refused() error {
	switch {
	case o.barred != nil:
		return o.barred
	case o.grant != nil:
		return nil
	case o.why != nil:
		return o.why
	}
	return fmt.Errorf("none of the latest %d decisions is now a question that offers this rule, so its risk is unknown: if it is not already allowed, write it in a policy", maxTried)
}

// told says whether the rule may be remembered.
func (o *offer) told() *ruleOffer {
	if err := o.refused(); err != nil {
		return &ruleOffer{Why: err.Error()}
	}
	return &ruleOffer{Risk: o.grant.Risk, Count: o.count}
}

// ruleWanted is the body of POST /api/rules.
type ruleWanted struct {
	Rule    string `json:"rule"`
	Project string `json:"project,omitempty"` // the server's workspace; absent means that
	Days    int    `json:"days,omitempty"`    // 1 to 30; absent means 30
}

// maxDays is how many days an approval is remembered at most.
const maxDays = 30

// createRule remembers a rule.
func (s *Server) createRule(c *call, in *ruleWanted) (ruleInfo, error) {
	switch {
	case in.Rule == "" || len(in.Rule) > maxRule:
		return ruleInfo{}, fail(http.StatusBadRequest, "bad_request", "the body: rule: use 1 to %d bytes", maxRule)
	case in.Project != "" && in.Project != s.options.Workspace:
		return ruleInfo{}, fail(http.StatusBadRequest, "bad_request", "the body: project: this server decides only for %s", s.options.Workspace)
	case in.Days < 0 || in.Days > maxDays:
		return ruleInfo{}, fail(http.StatusBadRequest, "bad_request", "the body: days: use 1 to %d", maxDays)
	}
	done, err := s.turn(c.Context())
	if err != nil {
		return ruleInfo{}, err
	}
	defer done()
	g, err := s.wanted(c, in)
	if err != nil {
		return ruleInfo{}, err
	}
	all := []approval.Grant{*g}
	if err := s.keep(c.Context(), all); err != nil {
		return ruleInfo{}, err
	}
	kept := store.Grant(all[0])
	return newRuleInfo(&kept), nil
}

// wanted returns the grant of a rule that may be remembered.
func (s *Server) wanted(c *call, in *ruleWanted) (*approval.Grant, error) {
	t, err := s.trial("allow", in.Rule)
	var wrong *wrongRule
	if errors.As(err, &wrong) {
		return nil, fail(http.StatusBadRequest, "bad_request", "the body: rule: %v", err)
	}
	if err != nil {
		return nil, err
	}
	have, err := s.options.Store.Grants(c.Context(), c.who.Name, s.options.Workspace)
	if err != nil {
		return nil, err
	}
	o := s.offer(t, c.who.Name)
	for _, g := range have {
		if one := approval.Grant(g); g.Rule == t.Rule && one.Counts(c.who.Name, s.options.Workspace, o.now) {
			return nil, fail(http.StatusConflict, "conflict", "it is already remembered until %s", g.Expires.UTC().Format(time.DateOnly))
		}
	}
	if o.barred == nil {
		if err := s.replay(c.Context(), t, &ruleTried{}, o); err != nil {
			return nil, err
		}
	}
	if err := o.refused(); err != nil {
		return nil, fail(http.StatusBadRequest, "not_offered", "%v", err)
	}
	o.grant.Expires = o.now.Add(time.Duration(cmp.Or(in.Days, maxDays)) * 24 * time.Hour)
	return o.grant, nil
}

// proposalList is the answer of GET /api/rules/proposals.
type proposalList struct {
	Proposals []proposal `json:"proposals"`
}

// proposal is an approval.Proposal: rules that belong together.
type proposal struct {
	Rules []string `json:"rules"`
	Risk  string   `json:"risk"`
	Times int      `json:"times"` // that this person has approved what they would answer
}

// proposals lists rules that a person may want.
func (s *Server) proposals(c *call, _ *none) (proposalList, error) {
	out := proposalList{[]proposal{}}
	settled, err := s.options.Store.List(c.Context(), approval.Filter{
		Project: s.options.Workspace, Status: []approval.Status{approval.Approved, approval.Consumed, approval.Denied},
	})
	if err != nil {
		return out, err
	}
	have, err := s.options.Store.Grants(c.Context(), c.who.Name, s.options.Workspace)
	if err != nil {
		return out, err
	}
	var grants []approval.Grant
	for _, g := range have {
		grants = append(grants, approval.Grant(g))
	}
	for _, p := range approval.Propose(settled, c.who.Name, s.options.Workspace, grants, time.Now()) {
		out.Proposals = append(out.Proposals, proposal(p))
	}
	return out, nil
}
