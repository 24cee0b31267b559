package permission

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

// parked decides a tool use whose question has to wait.
func parked(t *testing.T, v *Evaluator, use ToolUse) *Parked {
	t.Helper()
	use.Dir = workspace
	res, err := v.CanUseTool(t.Context(), use)
	var p *Parked
	if !errors.As(err, &p) || !errors.Is(err, ErrParked) || res.Behavior != Deny {
		t.Fatalf("%+v, %v", res, err)
	}
	return p
}

// resumed goes on with it.
func resumed(t *testing.T, p *Parked) Result {
	t.Helper()
	res, err := p.Resume(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestParked: what waits is neither recorded nor counted as decided, and goes on with
// the question that was put.
func TestParked(t *testing.T) {
	v, p, b := bounded(t, spec{}, Limits{QuestionsAnHour: most(2), DenialsInARow: most(1), Then: EndAtLimit})
	p.err = ErrParked
	one := parked(t, v, using("Bash", "npm i"))
	two := parked(t, v, using("Bash", "npm ci"))
	again := error(nil)
	if _, again = one.Resume(t.Context()); !errors.As(again, &one) || len(b.records) != 0 {
		t.Fatalf("%v, %d records", again, len(b.records))
	}
	p.err, p.answers = nil, []Answer{{Behavior: Allow}}
	if res := resumed(t, one); res.Behavior != Allow || res.By != "person" || len(b.records) != 1 {
		t.Errorf("%+v, %d records", res, len(b.records))
	}
	if first, last := p.asked[0], p.asked[3]; first.Use.Input == nil || string(first.Use.Input) != string(last.Use.Input) || last.Decision.Behavior != Ask {
		t.Errorf("%+v, then %+v", first, last)
	}
	p.answers = []Answer{{Behavior: Deny, Message: "no"}}
	if res := resumed(t, two); res.Behavior != Deny || res.Message != "no" || len(b.records) != 2 {
		t.Errorf("%+v, %d records", res, len(b.records))
	}
	if res := can(t, v, using("Bash", "npm i")); !res.Interrupt || !strings.Contains(res.Message, "2 questions in the last hour") {
		t.Errorf("two questions count as two: %+v", res)
	}
}

// TestParkedRule: a rule that is kept while a question waits does not answer it: its own
// answer counts.
func TestParkedRule(t *testing.T) {
	for _, says := range []Answer{{Behavior: Deny}, {Behavior: Allow}} {
		v, p, _ := lastingEvaluator(t, spec{})
		p.err = ErrParked
		one := parked(t, v, using("Bash", "npm i"))
		if err := v.Session.Allow("Bash(npm:*)"); err != nil {
			t.Fatal(err)
		}
		p.err, p.answers = nil, []Answer{says}
		if res := resumed(t, one); res.Behavior != says.Behavior || res.By != "person" {
			t.Errorf("%+v", res)
		}
	}
}

// TestParkedDenied: what is denied by now is not allowed by an answer to what was asked.
func TestParkedDenied(t *testing.T) {
	v, p, _ := lastingEvaluator(t, spec{})
	p.err = ErrParked
	one := parked(t, v, using("Bash", "npm i"))
	if err := v.Session.Deny("Bash(npm:*)"); err != nil {
		t.Fatal(err)
	}
	p.err, p.answers = nil, []Answer{{Behavior: Allow}}
	if res := resumed(t, one); res.Behavior != Deny || res.By != "rule" {
		t.Errorf("%+v", res)
	}
}

// TestParkedEdit: an edit that has to be asked about waits too, and the record has it.
func TestParkedEdit(t *testing.T) {
	v, p, b := lastingEvaluator(t, spec{})
	p.err = ErrParked
	one := parked(t, v, using("Bash", "npm i"))
	p.err, p.answers = nil, []Answer{{Behavior: Allow, Input: json.RawMessage(`{"command":"npm ci"}`)}}
	p.before = func() {
		if len(p.asked) == 3 {
			p.err = ErrParked
		}
	}
	var two *Parked
	if _, err := one.Resume(t.Context()); !errors.As(err, &two) || len(b.records) != 0 {
		t.Fatalf("%v, %d records", err, len(b.records))
	}
	p.err, p.before, p.answers = nil, nil, []Answer{{Behavior: Allow}}
	res := resumed(t, two)
	if res.Behavior != Allow || string(res.UpdatedInput) != `{"command":"npm ci"}` || string(b.records[0].Edited) != `{"command":"npm ci"}` {
		t.Errorf("%+v", res)
	}
}

// TestParkedEnded: once the context has ended, what waits is denied, and the cause said.
func TestParkedEnded(t *testing.T) {
	v, p, b := lastingEvaluator(t, spec{})
	p.err = ErrParked
	one := parked(t, v, using("Bash", "npm i"))
	p.err, p.answers = nil, []Answer{{Behavior: Allow}}
	ctx, cancel := context.WithTimeoutCause(t.Context(), -time.Second, errors.New("revoked"))
	defer cancel()
	if res, _ := one.Resume(ctx); res.Behavior != Deny || len(b.records) != 1 {
		t.Errorf("%+v", res)
	}
}

// TestHanded: a question that the agent's own program asks is recorded as one, and counts
// neither as a denial nor as an allow. Nothing else than a question is handed over.
func TestHanded(t *testing.T) {
	v, p, b := bounded(t, spec{deny: "Bash(rm:*)", allow: "Bash(ls)"}, Limits{DenialsInARow: most(2), Then: EndAtLimit})
	p.err = ErrHanded
	for range 3 {
		res := can(t, v, using("Bash", "npm i"))
		if res.Behavior != Ask || res.By != ByHost || res.UpdatedInput != nil || res.Message == "" {
			t.Errorf("%+v", res)
		}
	}
	if last := b.records[len(b.records)-1].Result; len(b.records) != 3 || last.Behavior != Ask || last.By != ByHost {
		t.Errorf("%d records, the last %+v", len(b.records), last)
	}
	if res := can(t, v, using("Bash", "rm x")); res.Behavior != Deny || res.By != byRule {
		t.Errorf("what is denied: %+v", res)
	}
	if res := can(t, v, using("Bash", "ls")); res.Behavior != Allow || res.By != byRule {
		t.Errorf("what is allowed: %+v", res)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	use := using("Bash", "npm i")
	use.Dir = workspace
	if res, _ := v.CanUseTool(ctx, use); res.Behavior != Deny {
		t.Errorf("after the end of the context: %+v", res)
	}
}

// TestCounts: counts go on in another session that they were given to, with the pause.
func TestCounts(t *testing.T) {
	v, _, _ := bounded(t, spec{deny: "Bash(rm:*)", allow: "Bash(ls)"}, Limits{DenialsInARow: most(2), Then: PauseAtLimit})
	can(t, v, using("Bash", "rm x"))
	w, _, _ := bounded(t, spec{deny: "Bash(rm:*)", allow: "Bash(ls)"}, Limits{DenialsInARow: most(2), Then: PauseAtLimit})
	w.Session.SetCounts(v.Session.Counts())
	can(t, w, using("Bash", "rm x"))
	if res := can(t, w, using("Bash", "ls")); res.Behavior != Deny || w.Session.Counts().Paused == "" {
		t.Errorf("%+v, %+v", res, w.Session.Counts())
	}
	v.Session.SetCounts(w.Session.Counts())
	if res := can(t, v, using("Bash", "ls")); res.Behavior != Deny {
		t.Errorf("a pause does not go on: %+v", res)
	}
	v.Session.SetCounts(Counts{})
	if res := can(t, v, using("Bash", "ls")); res.Behavior != Allow {
		t.Errorf("counts that are empty: %+v", res)
	}
}
