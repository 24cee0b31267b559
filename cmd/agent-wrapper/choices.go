package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
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

// choices puts the agent's questions to the person; the answers go back with
// the questions.
func (a *asker) choices(ctx context.Context, use permission.ToolUse) (permission.Answer, error) {
	var input struct {
		Questions []choice `json:"questions"`
	}
	if err := json.Unmarshal(use.Input, &input); err != nil || len(input.Questions) == 0 {
		return permission.Answer{}, errors.New("the agent asked nothing that can be shown")
	}
	answers := map[string]string{}
	for i := range input.Questions {
		q := &input.Questions[i]
		text, err := a.choose(ctx, q)
		if err != nil {
			return permission.Answer{}, err
		}
		if text == "" {
			return permission.Answer{Behavior: permission.Deny, Message: "The person did not want to answer."}, nil
		}
		answers[q.Question] = text
	}
	answered, err := withAnswers(use.Input, answers)
	return permission.Answer{Behavior: permission.Allow, Input: answered}, err
}

// choose asks one question; "" is no answer.
func (a *asker) choose(ctx context.Context, q *choice) (string, error) {
	shown := q.text()
	for {
		text, err := a.read(ctx, shown+q.help()+"  > ")
		if err != nil {
			return "", err
		}
		switch label, ok := q.pick(text); {
		case text == "d" || text == "deny":
			return "", nil
		case ok:
			return label, nil
		}
		shown = ""
	}
}

// text is the question with its numbered options.
func (q *choice) text() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n? %s\n", visible.Indent(q.Question, "  "))
	for i, o := range q.Options {
		fmt.Fprintf(&out, "  %d. %s", i+1, visible.Line(o.Label))
		if o.Description != "" {
			fmt.Fprintf(&out, " - %s", visible.Line(o.Description))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (q *choice) help() string {
	if q.MultiSelect {
		return "  numbers with commas between, = and your own words, or [d]eny\n"
	}
	return "  a number, = and your own words, or [d]eny\n"
}

// pick reads the person's line: a number, several where that is allowed, or
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

// withAnswers returns the input with the answers added, all else as it was.
func withAnswers(input json.RawMessage, answers map[string]string) (json.RawMessage, error) {
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
