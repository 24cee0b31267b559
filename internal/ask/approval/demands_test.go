package approval

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var askedAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// termsOf returns the terms for a request of a class.
func termsOf(t *testing.T, d Demands, class risk.Class, asker Principal) Terms {
	t.Helper()
	r := shown()
	r.Decision = permission.Decision{Risk: class}
	got, err := d.Terms(&r, "1", asker, askedAt)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestDemandsExcludeTheAsker: a person who asks is nobody who may answer, and does not
// count for a quorum.
func TestDemandsExcludeTheAsker(t *testing.T) {
	asker := Principal{Person, "anna"}
	terms := termsOf(t, Demands{Quorum: map[risk.Class]int{risk.High: 2}, People: []string{"anna", "ben"}}, risk.High, asker)
	if _, err := Step(State{}, Event{Kind: Ask, At: askedAt, Terms: terms}); !errors.Is(err, ErrTerms) {
		t.Errorf("two of one may approve: %+v, %v", terms, err)
	}
	alone := termsOf(t, Demands{People: []string{"anna"}}, risk.High, asker)
	if _, err := Step(State{}, Event{Kind: Ask, At: askedAt, Terms: alone}); !errors.Is(err, ErrTerms) {
		t.Errorf("nobody may answer: %+v, %v", alone, err)
	}
	if open := termsOf(t, Demands{}, risk.High, asker); open.Voters != nil {
		t.Errorf("%+v", open.Voters)
	}
}

// TestVotersAreOthers: the asker is not named among those who are asked.
func TestVotersAreOthers(t *testing.T) {
	terms := termsOf(t, Demands{People: []string{"anna", "ben"}}, risk.High, Principal{Person, "anna"})
	if diff := cmp.Diff([]Principal{{Person, "ben"}}, terms.Voters); diff != "" {
		t.Error(diff)
	}
}

func TestTerms(t *testing.T) {
	agent := Principal{Agent, "main"}
	d := Demands{Within: time.Minute, Quorum: map[risk.Class]int{risk.Moderate: 2, risk.Forbidden: 3}, People: []string{"anna", "ben", "cy"}}
	for class, quorum := range map[risk.Class]int{risk.Safe: 0, risk.Moderate: 2, risk.High: 2, risk.Forbidden: 3} {
		want := Terms{
			ID: "1", Digest: digest(t, shown()), Asker: agent, Expires: askedAt.Add(time.Minute), Quorum: quorum, Version: "v",
			Voters: []Principal{{Person, "anna"}, {Person, "ben"}, {Person, "cy"}},
		}
		if diff := cmp.Diff(want, termsOf(t, d, class, agent)); diff != "" {
			t.Errorf("%v:\n%s", class, diff)
		}
	}
	r := shown()
	r.Decision = permission.Decision{Risk: risk.Forbidden, Question: true}
	if got, err := d.Terms(&r, "1", agent, askedAt); err != nil || got.Quorum != 0 {
		t.Errorf("a question needs one answer: %+v, %v", got, err)
	}
	r.Use.Input = []byte("[]")
	if _, err := d.Terms(&r, "1", agent, askedAt); err == nil {
		t.Error("terms without a digest")
	}
}

// A higher risk never needs fewer people, and more demands never make it easier.
func TestLawDemands(t *testing.T) {
	classes := []risk.Class{risk.Safe, risk.Moderate, risk.High, risk.Forbidden}
	rapid.Check(t, func(rt *rapid.T) {
		d := Demands{Quorum: map[risk.Class]int{}}
		for _, class := range rapid.SliceOf(rapid.SampledFrom(classes)).Draw(rt, "classes") {
			d.Quorum[class] = rapid.IntRange(1, 9).Draw(rt, "people")
		}
		needed := 0
		for _, class := range classes {
			now := termsOf(t, d, class, Principal{Agent, "a"}).Quorum
			if now < needed || now < d.Quorum[class] {
				rt.Fatalf("%v: %v needs %d, a lower one %d", d.Quorum, class, now, needed)
			}
			needed = now
		}
	})
}
