package desk

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Reply is the answer to a question, in the form in which the protocols have it.
type Reply struct {
	ID     string `json:"id"`
	Digest string `json:"digest"`
	Choice string `json:"choice"` // the name of one that the question offers
	// Rung is the index of one of the choice's rungs; without it and Rules, the first
	// counts, which is the narrowest. Rules are others, in place of a rung.
	Rung  *int     `json:"rung,omitempty"`
	Rules []string `json:"rules,omitempty"`
	// UpTo lets Rules answer up to a risk only, as a rung has it.
	UpTo string `json:"up_to,omitempty"`
	// For, in seconds, and Times, at least 2 with this one, limit what is kept by While.
	// Without them the first of Limits counts.
	For   int `json:"for,omitempty"`
	Times int `json:"times,omitempty"`
	// Message is for the agent, of Deny and Words, which needs one.
	Message string `json:"message,omitempty"`
	// Input is the edited input, of Edit. Answers has an answer to each of the agent's
	// questions, of Answers.
	Input   json.RawMessage   `json:"input,omitempty"`
	Answers map[string]string `json:"answers,omitempty"`
	By      string            `json:"by,omitempty"` // who answers, for those who come too late
}

// Event returns the event of an approval for a reply to a question that another process
// asks. The error says that the reply is for another question, or is none to this one;
// what only the process that asks can know, such as whether a rule may be kept, its Desk
// checks.
func (r *Reply) Event(q *Question, by approval.Principal) (approval.Event, error) {
	if r.ID != q.ID || r.Digest != q.Digest {
		return approval.Event{}, approval.ErrOther
	}
	shown := waiting{Question: *q, choices: q.Choices}
	said, err := shown.reads(r)
	if err != nil {
		return approval.Event{}, err
	}
	return shown.event(said, by), nil
}

// reads returns what a reply says, as far as the question itself tells what may be said.
func (q *waiting) reads(r *Reply) (permission.Answer, error) {
	if err := q.offers(r); err != nil {
		return permission.Answer{}, err
	}
	rung, err := q.rung(r)
	if err != nil {
		return permission.Answer{}, err
	}
	said := Says(r.Choice, rung)
	said.Message = r.Message
	switch r.Choice {
	case While:
		said.For, said.Times, err = r.limit()
	case Edit:
		if said.Input = r.Input; r.Input == nil {
			err = errors.New("input: it is what choice edit has decided in place of the tool use")
		}
	case Answers:
		said.Input, err = answered(q.Input, r.Answers)
	}
	return said, err
}

// offers checks that a question has the choice of a reply, which has nothing else.
func (q *waiting) offers(r *Reply) error {
	if !slices.ContainsFunc(q.Choices, func(c display.Choice) bool { return c.Name == r.Choice }) {
		return q.notOffered(r.Choice)
	}
	return r.fits()
}

// Kind returns the kind of the event for a choice: Approve, Deny or Edit.
func Kind(choice string) approval.Kind {
	switch {
	case choice == Edit || choice == Answers:
		return approval.Edit
	case allows(Says(choice, display.Rung{})):
		return approval.Approve
	}
	return approval.Deny
}

// says returns what a reply says to the evaluator. The error is about the reply.
func (q *waiting) says(r *Reply) (permission.Answer, error) {
	said, err := q.reads(r)
	if err != nil {
		return permission.Answer{}, err
	}
	for _, rule := range r.Rules {
		err := q.ask.CanKeep(list(said), rule)
		if said.UpTo != 0 {
			err = q.ask.CanKeepUpTo(rule, said.UpTo)
		}
		if err != nil {
			return permission.Answer{}, fmt.Errorf("rules: %s cannot be kept: %w", rule, err)
		}
	}
	if r.Choice == Edit {
		err = q.edited(r.Input)
	}
	return said, err
}

// notOffered is the error for a choice that a question does not have.
func (q *waiting) notOffered(name string) error {
	var names []string
	for _, c := range q.Choices {
		names = append(names, c.Name)
	}
	why := ""
	if slices.Contains(q.Withheld, name) {
		why = ", since not everything is shown"
	}
	return fmt.Errorf("choice %q is not offered%s: use one of %s", name, why, strings.Join(names, ", "))
}

// fits checks that a reply has nothing that its choice does not use, since it would
// be lost.
func (r *Reply) fits() error {
	for _, f := range []struct {
		field string
		given bool
		for_  []string
	}{
		{"rung", r.Rung != nil, []string{Session, While, Always, Never}},
		{"rules", r.Rules != nil, []string{Session, While, Always, Never}},
		{"up_to", r.UpTo != "", []string{Session, While}},
		{"for", r.For != 0, []string{While}},
		{"times", r.Times != 0, []string{While}},
		{"message", r.Message != "", []string{Deny, Words}},
		{"input", r.Input != nil, []string{Edit}},
		{"answers", r.Answers != nil, []string{Answers}},
	} {
		if f.given && !slices.Contains(f.for_, r.Choice) {
			return fmt.Errorf("%s does not go with choice %s, only with %s", f.field, r.Choice, strings.Join(f.for_, ", "))
		}
	}
	switch {
	case r.Rung != nil && r.Rules != nil:
		return errors.New("rung and rules: give only one of them")
	case r.UpTo != "" && r.Rules == nil:
		return errors.New("up_to goes with rules: a rung has its own")
	case r.UpTo != "" && new(risk.Grade).UnmarshalText([]byte(r.UpTo)) != nil:
		return fmt.Errorf("up_to: %q is no risk", r.UpTo)
	case r.Choice == Words && strings.TrimSpace(r.Message) == "":
		return errors.New("message: it is what choice words tells the agent")
	}
	return nil
}

// rung returns what a reply keeps.
func (q *waiting) rung(r *Reply) (display.Rung, error) {
	at := slices.IndexFunc(q.choices, func(c display.Choice) bool { return c.Name == r.Choice })
	rungs := q.choices[at].Rungs
	switch {
	case len(rungs) == 0:
		return display.Rung{}, nil
	case r.Rules != nil && len(r.Rules) == 0:
		return display.Rung{}, errors.New("rules: the list is empty")
	case r.Rules != nil:
		return display.Rung{Rules: r.Rules, UpTo: r.UpTo}, nil
	case r.Rung == nil:
		return rungs[0], nil
	case *r.Rung < 0 || *r.Rung >= len(rungs):
		return display.Rung{}, fmt.Errorf("rung %d: the choice has %d, the first is 0", *r.Rung, len(rungs))
	}
	return rungs[*r.Rung], nil
}

// limit returns how long and how often a reply allows.
func (r *Reply) limit() (time.Duration, int, error) {
	switch {
	case r.For < 0 || int64(r.For) > int64(math.MaxInt64/time.Second):
		return 0, 0, fmt.Errorf("for: %d is not a valid number of seconds", r.For)
	case r.Times < 0 || r.Times == 1:
		return 0, 0, fmt.Errorf("times: %d: it must be at least 2, including this one", r.Times)
	case r.For == 0 && r.Times == 0:
		first := Limits()[0]
		return first.For, first.Times, nil
	}
	return time.Duration(r.For) * time.Second, r.Times, nil
}

// edited checks that the input of an edit can be decided, and is another one.
func (q *waiting) edited(input json.RawMessage) error {
	edited := q.ask
	edited.Use.Input = input
	digest, err := approval.Digest(&edited)
	if err == nil && digest == q.Digest {
		err = errors.New("input: nothing was edited: choose once to allow the tool use as it is")
	}
	return err
}

// asked is the part of an AskUserQuestion input that an answer is about.
type asked struct {
	Questions []struct {
		Question string `json:"question"`
	} `json:"questions"`
}

// has reports whether a question is among them.
func (a *asked) has(question string) bool {
	for _, one := range a.Questions {
		if one.Question == question {
			return true
		}
	}
	return false
}

// answered returns an input with the answers to the agent's questions.
func answered(input json.RawMessage, answers map[string]string) (json.RawMessage, error) {
	var a asked
	if err := strictjson.Decode(input, &a, strictjson.IgnoreUnknown, strictjson.MaxSize(maxInput)); err != nil {
		return nil, err
	}
	for _, one := range a.Questions {
		if strings.TrimSpace(answers[one.Question]) == "" {
			return nil, fmt.Errorf("answers: there is no answer to %q", one.Question)
		}
	}
	for question := range answers {
		if !a.has(question) {
			return nil, fmt.Errorf("answers: the agent did not ask %q", question)
		}
	}
	return WithAnswers(input, answers)
}

// maxInput is the size of the longest input in bytes; the evaluator denies any that
// is longer.
const maxInput = 16 << 20

// WithAnswers returns the input of AskUserQuestion with a person's answers, by
// question, and everything else unchanged.
func WithAnswers(input json.RawMessage, answers map[string]string) (json.RawMessage, error) {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(input, &values); err != nil {
		return nil, err
	}
	text, err := json.Marshal(answers)
	if err != nil {
		return nil, err
	}
	values["answers"] = text
	return json.Marshal(values)
}
