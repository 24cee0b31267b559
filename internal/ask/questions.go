package ask

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// choice is one question of AskUserQuestion.
type choice struct {
	Question    string `json:"question"`
	Header      string `json:"header"`
	MultiSelect bool   `json:"multiSelect"`
	Options     []struct {
		Label       string `json:"label"`
		Description string `json:"description"`
	} `json:"options"`
}

// answers asks the person the agent's questions and adds the answers to the
// input.
func (q *question) answers(ctx context.Context) (permission.Answer, error) {
	asked, err := choices(q.ask.Use.Input)
	if err != nil {
		return permission.Answer{}, err
	}
	answers := map[string]string{}
	for i := range asked {
		text, err := q.choose(ctx, &asked[i])
		if err != nil {
			return permission.Answer{}, err
		}
		if text == "" {
			return permission.Answer{Behavior: permission.Deny, Message: "The person did not want to answer."}, nil
		}
		answers[asked[i].Question] = text
	}
	answered, err := desk.WithAnswers(q.ask.Use.Input, answers)
	return permission.Answer{Behavior: permission.Allow, Input: answered}, err
}

// choices decodes the questions of an input.
func choices(input json.RawMessage) ([]choice, error) {
	var asked struct {
		Questions []choice `json:"questions"`
	}
	if err := json.Unmarshal(input, &asked); err != nil || len(asked.Questions) == 0 {
		return nil, errors.New("the agent asked nothing that can be shown")
	}
	return asked.Questions, nil
}

// choose asks one question; "" means no answer.
func (q *question) choose(ctx context.Context, c *choice) (string, error) {
	q.paint = func() { q.say(c.text(q.style()) + c.help(q.style())) }
	q.paint()
	if err := q.seen(ctx); err != nil {
		return "", err
	}
	for {
		text, ok, err := q.line(ctx, &lineEdit{head: q.prompt()})
		if err != nil {
			return "", err
		}
		switch label, chosen := c.pick(text); {
		case !ok, text == "d", text == "deny":
			return "", nil
		case chosen:
			return label, nil
		}
		q.say(c.help(q.style()))
	}
}

// seen waits until the person has had time to read the question.
func (q *question) seen(ctx context.Context) error {
	for {
		p, err := q.keys.quiet(ctx)
		switch {
		case err != nil || p == nil:
			return err
		case p.Kind != 0:
			err = q.stopped(p.Kind)
		default:
			err = q.noticed(p.notice)
		}
		if err != nil {
			return err
		}
	}
}

// text returns the question with its numbered options.
func (q *choice) text(o display.TextOptions) string {
	options := display.Choice{}
	for _, one := range q.Options {
		options.Rungs = append(options.Rungs, display.Rung{Rules: []string{visible.Line(one.Label)}, Label: visible.Line(one.Description)})
	}
	return o.Field("The agent asks", q.Question) + o.Row("") + options.Ladder(o)
}

func (q *choice) help(o display.TextOptions) string {
	if q.MultiSelect {
		return o.Row("numbers with commas between, = and your own words, or d to deny")
	}
	return o.Row("a number, = and your own words, or d to deny")
}

// pick interprets the person's line: a number, several if that is allowed, or
// words of their own after "=".
func (q *choice) pick(text string) (string, bool) {
	if words, ok := strings.CutPrefix(text, "="); ok {
		words = strings.TrimSpace(words)
		return words, words != ""
	}
	parts := strings.Split(text, ",")
	if len(parts) > 1 && !q.MultiSelect {
		return "", false
	}
	var labels []string
	for _, part := range parts {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(q.Options) {
			return "", false
		}
		labels = append(labels, q.Options[n-1].Label)
	}
	return strings.Join(labels, ", "), true
}
