package api_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	anna  = approval.Principal{Role: approval.Person, Name: "anna"}
	ben   = approval.Principal{Role: approval.Person, Name: "ben"}
	agent = approval.Principal{Role: approval.Agent, Name: "ci"}
	noon  = time.Date(2026, 1, 2, 12, 0, 0, 7, time.UTC)
)

func entry() approval.Entry {
	return approval.Entry{
		State: approval.State{
			Terms: approval.Terms{
				ID: "k7", Digest: "1:ab", Asker: agent, Expires: noon, Quorum: 2, Voters: []approval.Principal{anna, ben}, Version: "v",
				Lease: time.Minute,
			},
			Status: approval.Denied, By: anna, Message: "no", Input: json.RawMessage(`{"a":1}`),
			Votes: []approval.Vote{
				{By: anna, Credential: "c1", Scope: permission.ScopeSession, Rules: []string{"Bash(ls)"}, For: 90 * time.Minute, Times: 3},
				{By: ben, Scope: permission.ScopeUse},
			},
		},
		Question: json.RawMessage(`{"q":1}`), Reply: json.RawMessage(`{"r":1}`), Reason: "gone", Project: "/w", Session: "s",
		Asked: noon, Changed: noon, Heard: noon, Seq: 9,
	}
}

// An entry comes back as it was sent.
func TestEntries(t *testing.T) {
	bare := approval.Entry{State: approval.State{Terms: approval.Terms{ID: "1", Digest: "d", Asker: agent}, Status: approval.Pending}, Question: json.RawMessage(`{}`), Seq: 1}
	closed := bare
	closed.Voters = []approval.Principal{} // nobody, who is not anybody
	for _, want := range []approval.Entry{entry(), bare, closed} {
		text, err := json.Marshal(api.FromEntry(want))
		if err != nil {
			t.Fatal(err)
		}
		var a api.Approval
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		got, err := a.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

// A form with a name that is none is no entry.
func TestNoEntries(t *testing.T) {
	for name, change := range map[string]func(*api.Approval){
		"status": func(a *api.Approval) { a.Status = "done" },
		"none":   func(a *api.Approval) { a.Status = "none" },
		"asker":  func(a *api.Approval) { a.Asker.Role = "" },
		"by":     func(a *api.Approval) { a.By.Role = "admin" },
		"voters": func(a *api.Approval) { a.Voters[0].Role = "Person" },
		"vote":   func(a *api.Approval) { a.Votes[0].By.Role = "x" },
		"scope":  func(a *api.Approval) { a.Votes[0].Scope = "forever" },
		"for":    func(a *api.Approval) { a.Votes[0].For = "-1s" },
	} {
		a := api.FromEntry(entry())
		change(&a)
		if e, err := a.Entry(); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Who asks is not in what is submitted.
func TestSubmissions(t *testing.T) {
	s := api.FromSubmission(entry())
	got, err := s.Entry(agent)
	if err != nil {
		t.Fatal(err)
	}
	e := entry()
	closed := api.FromSubmission(approval.Entry{State: approval.State{Terms: approval.Terms{Voters: []approval.Principal{}}}})
	if text, err := json.Marshal(closed); err != nil || !strings.Contains(string(text), `"voters":[]`) {
		t.Errorf("%s, %v", text, err)
	}
	want := approval.Entry{State: approval.State{Terms: e.Terms}, Question: e.Question, Project: e.Project, Session: e.Session}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnswers(t *testing.T) {
	for _, want := range []approval.Event{
		{Kind: approval.Approve, ID: "k7", Digest: "d", By: anna, At: noon, Scope: permission.ScopeSession, Rules: []string{"Bash(ls)"}, For: time.Hour, Times: 2},
		{Kind: approval.Deny, ID: "k7", Digest: "d", By: anna, At: noon, Message: "no"},
		{Kind: approval.Edit, ID: "k7", Digest: "d", By: anna, At: noon, Input: json.RawMessage(`{}`)},
	} {
		a, err := api.FromEvent(want, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Event("k7", anna, noon)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Error(err, diff)
		}
	}
	if _, err := api.FromEvent(approval.Event{Kind: approval.Consume}, nil); err == nil {
		t.Error("consume is an answer")
	}
	for _, a := range []api.Answer{{}, {Kind: "consume"}, {Kind: "Approve"}, {Kind: "deny", Scope: "ever"}, {Kind: "deny", For: "soon"}} {
		if e, err := a.Event("k7", anna, noon); err == nil {
			t.Errorf("%+v", e)
		}
	}
}

// The errors of a broker come back as they are, with their status.
func TestFaults(t *testing.T) {
	for _, want := range []error{
		approval.ErrUnknown, approval.ErrOther, approval.ErrNoSay, approval.ErrTwice, approval.ErrPending, approval.ErrBegun,
		approval.ErrNotBegun, approval.ErrDecide, approval.ErrTerms, approval.ErrEvent,
	} {
		f, status, ok := api.FromError(fmt.Errorf("store: %w", want))
		if !ok || status < 400 || status >= 500 || !errors.Is(f.Err(), want) {
			t.Errorf("%v: %+v, %d, %v", want, f, status, f.Err())
		}
	}
	for _, want := range []*approval.Settled{{Status: approval.Denied, By: anna}, {Status: approval.Expired}} {
		f, status, _ := api.FromError(want)
		var got *approval.Settled
		if !errors.As(f.Err(), &got) || *got != *want || status != http.StatusConflict {
			t.Errorf("%v: %+v, %d", want, f, status)
		}
	}
	if _, status, ok := api.FromError(errors.New("/secret/path")); ok || status != http.StatusInternalServerError {
		t.Error("any error is told")
	}
	for _, f := range []api.Fault{{Code: "settled"}, {Code: "settled", Status: "denied", By: &api.Principal{}}, {}} {
		var s *approval.Settled
		if err := f.Err(); err == nil || errors.As(err, &s) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestStatuses(t *testing.T) {
	got, err := api.ParseStatuses("pending,consumed")
	if err != nil || !cmp.Equal(got, []approval.Status{approval.Pending, approval.Consumed}) {
		t.Error(got, err)
	}
	if got, err := api.ParseStatuses(""); got != nil || err != nil {
		t.Error(got, err)
	}
	for _, list := range []string{",", "none", "pending,", "Pending"} {
		if got, err := api.ParseStatuses(list); err == nil {
			t.Errorf("%q: %v", list, got)
		}
	}
}
