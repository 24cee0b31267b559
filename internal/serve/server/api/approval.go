// Package api has the forms in which package server and its clients exchange
// approvals, as JSON. The paths, below /api/approvals:
//
//	GET  /                ?status=pending,approved&project=&session=&after=&limit=&wait=  List
//	POST /                Submission  →  Approval
//	GET  /{id}         ?wait=         →  Approval
//	POST /{id}/answer     Answer      →  Approval
//	POST /{id}/withdraw   Withdrawal  →  Approval
//	POST /{id}/consume    Use         →  Approval
//
// An answer with another status than 200 is a [Failure]. Who asks, answers or
// withdraws is the owner of the credential: none of the forms that are sent names one.
package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Approval is an approval.Entry.
type Approval struct {
	ID        string          `json:"id"`
	Digest    string          `json:"digest"`
	Status    string          `json:"status"` // approval.Status.String
	Seq       int64           `json:"seq"`    // of its last change
	Project   string          `json:"project"`
	Session   string          `json:"session"`
	Question  json.RawMessage `json:"question"`         // a desk.Question
	Reply     json.RawMessage `json:"reply,omitempty"`  // the desk.Reply that settled it
	Reason    string          `json:"reason,omitempty"` // why it was withdrawn
	Asker     Principal       `json:"asker"`
	By        *Principal      `json:"by,omitempty"` // who settled it
	Votes     []Vote          `json:"votes,omitempty"`
	Message   string          `json:"message,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"` // of an edit
	Asked     time.Time       `json:"asked"`
	Changed   time.Time       `json:"changed"`
	ExpiresAt *time.Time      `json:"expires,omitempty"` // absent: never
	Quorum    int             `json:"quorum,omitempty"`
	Voters    []Principal     `json:"voters,omitzero"` // absent: anyone but the asker
	Version   string          `json:"version,omitempty"`
	Lease     int             `json:"lease,omitempty"` // as in Submission
	Heard     *time.Time      `json:"heard,omitempty"` // when the asker was last heard of, if there is a lease
}

// Principal is an approval.Principal.
type Principal struct {
	Role string `json:"role"` // person, agent
	Name string `json:"name"`
}

// Vote is an approval.Vote.
type Vote struct {
	By Principal `json:"by"`
	// Credential is the id of the credential by which By was known.
	Credential string   `json:"credential,omitempty"`
	Scope      string   `json:"scope"` // once, session, use, always, edits
	Rules      []string `json:"rules,omitempty"`
	For        string   `json:"for,omitempty"` // "30m0s"
	Times      int      `json:"times,omitempty"`
	// UpTo is the highest risk for which the rules answer: "moderate", "high+destructive".
	UpTo risk.Grade `json:"up_to,omitzero"`
}

// List is a part of the approvals, by Seq. Seq is the newest change of all that the
// credential may see, also of what is not listed: the next After.
type List struct {
	Approvals []Approval `json:"approvals"`
	Seq       int64      `json:"seq"`
}

// Submission is a question.
type Submission struct {
	ID        string          `json:"id"`
	Digest    string          `json:"digest"`
	Project   string          `json:"project"`
	Session   string          `json:"session"`
	Question  json.RawMessage `json:"question"`
	ExpiresAt *time.Time      `json:"expires,omitempty"`
	Quorum    int             `json:"quorum,omitempty"`
	Voters    []Principal     `json:"voters,omitzero"`
	Version   string          `json:"version,omitempty"`
	// Lease is how many seconds the asker may be silent until the question is abandoned;
	// 0 means for ever. A GET of the approval by its asker, with wait, is what is heard.
	Lease int `json:"lease,omitempty"`
}

// Answer is the answer of a person. Reply is the desk.Reply, which settles the approval and
// which the asker applies. Digest and Kind belong to it; Message may be a comment to an
// approval; the other fields may be left out, and otherwise say what the reply says.
type Answer struct {
	Digest  string          `json:"digest"`
	Kind    string          `json:"kind"` // approve, deny, edit
	Scope   string          `json:"scope,omitempty"`
	Rules   []string        `json:"rules,omitempty"`
	For     string          `json:"for,omitempty"`
	Times   int             `json:"times,omitempty"`
	Message string          `json:"message,omitempty"`
	Input   json.RawMessage `json:"input,omitempty"`
	Reply   json.RawMessage `json:"reply,omitempty"`
}

// Withdrawal withdraws a question.
type Withdrawal struct {
	Reason string `json:"reason,omitempty"`
}

// Use uses an approval up.
type Use struct {
	Digest string `json:"digest"`
}

// FromEntry returns the form of an entry.
func FromEntry(e approval.Entry) Approval {
	a := Approval{
		ID: e.ID, Digest: e.Digest, Status: e.Status.String(), Seq: e.Seq, Project: e.Project, Session: e.Session,
		Question: e.Question, Reply: e.Reply, Reason: e.Reason, Asker: FromPrincipal(e.Asker), Message: e.Message, Input: e.Input,
		Asked: e.Asked, Changed: e.Changed, ExpiresAt: fromTime(e.Expires), Quorum: e.Quorum,
		Voters: fromPrincipals(e.Voters), Version: e.Version, Lease: int(e.Lease / time.Second),
	}
	if e.Lease > 0 {
		a.Heard = fromTime(e.Heard)
	}
	if e.By != (approval.Principal{}) {
		by := FromPrincipal(e.By)
		a.By = &by
	}
	for _, v := range e.Votes {
		a.Votes = append(a.Votes, Vote{FromPrincipal(v.By), v.Credential, fromScope(v.Scope), v.Rules, fromDuration(v.For), v.Times, v.UpTo})
	}
	return a
}

// Entry returns the entry that a form stands for.
func (a *Approval) Entry() (e approval.Entry, err error) {
	e.ID, e.Digest, e.Seq, e.Project, e.Session = a.ID, a.Digest, a.Seq, a.Project, a.Session
	e.Question, e.Reply, e.Reason, e.Message, e.Input = a.Question, a.Reply, a.Reason, a.Message, a.Input
	e.Asked, e.Changed, e.Quorum, e.Version = a.Asked, a.Changed, a.Quorum, a.Version
	e.Lease = time.Duration(a.Lease) * time.Second
	if a.ExpiresAt != nil {
		e.Expires = *a.ExpiresAt
	}
	if a.Heard != nil {
		e.Heard = *a.Heard
	}
	if err := e.Status.UnmarshalText([]byte(a.Status)); err != nil {
		return e, err
	}
	if e.Asker, err = a.Asker.Principal(); err != nil {
		return e, fmt.Errorf("asker: %w", err)
	}
	if a.By != nil {
		if e.By, err = a.By.Principal(); err != nil {
			return e, fmt.Errorf("by: %w", err)
		}
	}
	if e.Voters, err = principals(a.Voters); err != nil {
		return e, err
	}
	for _, v := range a.Votes {
		vote, err := v.vote()
		if err != nil {
			return e, fmt.Errorf("votes: %w", err)
		}
		e.Votes = append(e.Votes, vote)
	}
	return e, nil
}

func (v *Vote) vote() (vote approval.Vote, err error) {
	vote.Credential, vote.Rules, vote.Times, vote.UpTo = v.Credential, v.Rules, v.Times, v.UpTo
	if vote.By, err = v.By.Principal(); err != nil {
		return vote, err
	}
	if err := vote.Scope.UnmarshalText([]byte(v.Scope)); err != nil {
		return vote, err
	}
	vote.For, err = duration(v.For)
	return vote, err
}

// maxLease is the longest lease in seconds.
const maxLease = 24 * 60 * 60

// FromSubmission returns the form in which an entry is submitted.
func FromSubmission(e approval.Entry) Submission {
	return Submission{
		ID: e.ID, Digest: e.Digest, Project: e.Project, Session: e.Session, Question: e.Question,
		ExpiresAt: fromTime(e.Expires), Quorum: e.Quorum, Voters: fromPrincipals(e.Voters), Version: e.Version,
		Lease: int(e.Lease / time.Second),
	}
}

// Entry returns the entry that a submission of an asker asks for.
func (s *Submission) Entry(asker approval.Principal) (e approval.Entry, err error) {
	e.ID, e.Digest, e.Asker, e.Quorum, e.Version = s.ID, s.Digest, asker, s.Quorum, s.Version
	e.Project, e.Session, e.Question = s.Project, s.Session, s.Question
	if s.Lease < 0 || s.Lease > maxLease {
		return e, fmt.Errorf("lease: use at most %d seconds", maxLease)
	}
	e.Lease = time.Duration(s.Lease) * time.Second
	if s.ExpiresAt != nil {
		e.Expires = *s.ExpiresAt
	}
	e.Voters, err = principals(s.Voters)
	return e, err
}

// answerKinds are the events of a person, by name.
var answerKinds = map[string]approval.Kind{"approve": approval.Approve, "deny": approval.Deny, "edit": approval.Edit}

// FromEvent returns the form of an answer; the error says that the event is none.
func FromEvent(e approval.Event, reply json.RawMessage) (Answer, error) {
	for name, kind := range answerKinds {
		if kind == e.Kind {
			return Answer{
				Digest: e.Digest, Kind: name, Scope: fromScope(e.Scope), Rules: e.Rules, For: fromDuration(e.For),
				Times: e.Times, Message: e.Message, Input: e.Input, Reply: reply,
			}, nil
		}
	}
	return Answer{}, approval.ErrEvent
}

// Event returns the event of an answer by a person to the approval with an id.
func (a *Answer) Event(id string, by approval.Principal, at time.Time) (e approval.Event, err error) {
	kind, known := answerKinds[a.Kind]
	if !known {
		return e, fmt.Errorf("kind %q: use approve, deny or edit", a.Kind)
	}
	e = approval.Event{
		Kind: kind, At: at, ID: id, Digest: a.Digest, By: by, Rules: a.Rules, Times: a.Times, Message: a.Message, Input: a.Input,
	}
	if a.Scope != "" {
		if err := e.Scope.UnmarshalText([]byte(a.Scope)); err != nil {
			return e, err
		}
	}
	e.For, err = duration(a.For)
	return e, err
}

func fromScope(s permission.Scope) string {
	name, _ := s.MarshalText() // "" for what is none, which no broker stores
	return string(name)
}

func fromDuration(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = fmt.Errorf("%q is below zero", text)
	}
	if err != nil {
		return 0, fmt.Errorf("for: %w", err)
	}
	return d, nil
}

// fromTime returns a time, nil for the zero one.
func fromTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// FromPrincipal returns the form of a principal.
func FromPrincipal(p approval.Principal) Principal {
	role, _ := p.Role.MarshalText() // has no error
	return Principal{string(role), p.Name}
}

// Principal returns the principal that a form stands for.
func (p *Principal) Principal() (approval.Principal, error) {
	all := approval.Principal{Name: p.Name}
	err := all.Role.UnmarshalText([]byte(p.Role))
	return all, err
}

// fromPrincipals keeps nil apart from an empty list: anyone, and nobody.
func fromPrincipals(all []approval.Principal) []Principal {
	if all == nil {
		return nil
	}
	forms := []Principal{}
	for _, p := range all {
		forms = append(forms, FromPrincipal(p))
	}
	return forms
}

func principals(forms []Principal) ([]approval.Principal, error) {
	if forms == nil {
		return nil, nil
	}
	all := []approval.Principal{}
	for _, f := range forms {
		p, err := f.Principal()
		if err != nil {
			return nil, fmt.Errorf("voters: %w", err)
		}
		all = append(all, p)
	}
	return all, nil
}

// ParseStatuses returns the statuses of a list such as "pending,approved"; none for "".
func ParseStatuses(list string) (all []approval.Status, err error) {
	if list == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		var s approval.Status
		if err := s.UnmarshalText([]byte(name)); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
