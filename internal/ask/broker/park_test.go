package broker

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// park puts a question again, or with id "" for the first time.
func (s *scene) park(ctx context.Context, ask permission.Request, id string) result {
	a, err := s.Park(ctx, ask, id)
	return result{a, err}
}

// waits checks that a question waits, and returns it.
func (s *scene) waits(r result) approval.Entry {
	s.Helper()
	if !errors.Is(r.err, permission.ErrParked) {
		s.Fatalf("%+v", r)
	}
	all := s.pending()
	return all[len(all)-1]
}

func TestPark(t *testing.T) {
	play(t, "approved", Options{}, func(s *scene) {
		ask := about(t, "Bash", install)
		e := s.waits(s.park(s.Context(), ask, ""))
		s.waits(s.park(s.Context(), ask, e.ID)) // nothing has changed
		if len(s.pending()) != 1 {
			s.Fatal("it is asked twice")
		}
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.allowed(s.park(s.Context(), ask, e.ID), "anna")
		s.ended(e.ID, approval.Consumed, "anna")
		s.denied(s.park(s.Context(), ask, e.ID), "") // an approval is used once
	})
	play(t, "by another process", Options{}, func(s *scene) {
		e := s.waits(s.park(s.Context(), about(t, "Bash", install), ""))
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Deny, Message: "no"}); err != nil {
			s.Fatal(err)
		}
		s.Approver = New(Options{Broker: s.broker})
		s.denied(s.park(s.Context(), about(t, "Bash", install), e.ID), "no")
	})
	play(t, "another question has no answer by its id", Options{}, func(s *scene) {
		e := s.waits(s.park(s.Context(), about(t, "Bash", install), ""))
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.denied(s.park(s.Context(), about(t, "Bash", `{"command":"npm install other"}`), e.ID), "nobody can be asked")
	})
	play(t, "ended", Options{}, func(s *scene) {
		ask := about(t, "Bash", install)
		e := s.waits(s.park(s.Context(), ask, ""))
		ctx, cancel := context.WithCancelCause(s.Context())
		cancel(errors.New("revoked"))
		s.denied(s.park(ctx, ask, e.ID), "revoked")
		if got := s.ended(e.ID, approval.Cancelled, "agent"); got.Reason != "revoked" {
			s.Errorf("%q", got.Reason)
		}
	})
	two := func(*permission.Request) approval.Terms { return approval.Terms{Quorum: 2} }
	play(t, "approved by two", Options{Terms: two}, func(s *scene) {
		ask := about(t, "Bash", install)
		e := s.waits(s.park(s.Context(), ask, ""))
		for i, by := range []approval.Principal{anna, ben} {
			if err := s.answers(e, by, desk.Reply{Choice: desk.Once}); err != nil {
				s.Fatal(err)
			}
			r := s.park(s.Context(), ask, e.ID)
			if i == 0 {
				s.waits(r)
			} else if r.err != nil {
				s.Error(r.err)
			}
		}
	})
}

// TestParkedTogether: an answer that keeps rules is also that of what waits and that the
// rules allow, and of nothing else.
func TestParkedTogether(t *testing.T) {
	play(t, "together", Options{}, func(s *scene) {
		one, two := about(t, "Bash", install), about(t, "Bash", `{"command":"npm install left-pad","description":"again"}`)
		other := about(t, "Bash", `{"command":"npm install other"}`)
		first := s.waits(s.park(s.Context(), one, ""))
		second := s.waits(s.park(s.Context(), two, ""))
		third := s.waits(s.park(s.Context(), other, ""))
		if err := s.answers(first, anna, desk.Reply{Choice: desk.Session}); err != nil {
			s.Fatal(err)
		}
		s.allowed(s.park(s.Context(), one, first.ID), "anna")
		if e := s.ended(second.ID, approval.Cancelled, "agent"); e.Reason != "answered together with "+first.ID {
			s.Errorf("%q", e.Reason)
		}
		s.allowed(s.park(s.Context(), two, second.ID), "")
		s.waits(s.park(s.Context(), other, third.ID))
	})
}

// TestParkedOutdated: an approval is of what was shown. If the file has changed since,
// it is asked anew.
func TestParkedOutdated(t *testing.T) {
	now := "old"
	file := func(*permission.ToolUse) *display.File { return &display.File{Exists: true, Text: now} }
	play(t, "outdated", Options{File: file}, func(s *scene) {
		ask := about(t, "Edit", `{"file_path":"/proj/a","old_string":"old","new_string":"new"}`)
		e := s.waits(s.park(s.Context(), ask, ""))
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		now = "other\nold\n"
		next := s.waits(s.park(s.Context(), ask, e.ID))
		s.ended(e.ID, approval.Cancelled, "agent")
		if next.ID == e.ID {
			s.Fatal("it is not asked anew")
		}
		if err := s.answers(next, ben, desk.Reply{Choice: desk.Once}); err != nil {
			s.Fatal(err)
		}
		s.allowed(s.park(s.Context(), ask, next.ID), "ben")
	})
	now = "old"
	play(t, "an edit of what is outdated", Options{File: file, Menu: desk.Menu{Edit: true}}, func(s *scene) {
		ask := about(t, "Edit", `{"file_path":"/proj/a","old_string":"old","new_string":"new"}`)
		e := s.waits(s.park(s.Context(), ask, ""))
		edited := json.RawMessage(`{"file_path":"/proj/a","old_string":"old","new_string":"newer"}`)
		if err := s.answers(e, anna, desk.Reply{Choice: desk.Edit, Input: edited}); err != nil {
			s.Fatal(err)
		}
		now = "other\nold\n"
		if r := s.park(s.Context(), ask, e.ID); r.err != nil || string(r.answer.Input) != string(edited) {
			s.Errorf("%+v", r) // what it would do is decided, and shown, anew
		}
	})
}
