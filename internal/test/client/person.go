package client

import "encoding/json"

// Choice is one of the answers that a question offers.
type Choice struct {
	Name  string            `json:"name"`
	Rungs []json.RawMessage `json:"rungs"`
}

// Choices returns the answers that a question offers, by name.
func Choices(question json.RawMessage) map[string]Choice {
	var q struct {
		Choices []Choice `json:"choices"`
	}
	if json.Unmarshal(question, &q) != nil {
		return nil
	}
	offered := map[string]Choice{}
	for _, c := range q.Choices {
		offered[c.Name] = c
	}
	return offered
}

// Answer is an answer to a question.
type Answer struct {
	Choice  string `json:"choice"`
	Rung    *int   `json:"rung,omitempty"`
	Message string `json:"message,omitempty"`
}

// Remember answers as a person who wants to be asked once: for the session, with the
// second rung of the ladder if there is one, and else for once. What is refused is denied.
func Remember(question json.RawMessage, refused bool) any {
	if refused {
		return Answer{Choice: "deny", Message: "no"}
	}
	session, offered := Choices(question)["session"]
	if !offered {
		return Answer{Choice: "once"}
	}
	return session.At(1)
}

// At answers with a choice, at one of its rungs or the last before it.
func (c Choice) At(rung int) Answer {
	a := Answer{Choice: c.Name}
	if len(c.Rungs) > 0 {
		rung = min(rung, len(c.Rungs)-1)
		a.Rung = &rung
	}
	return a
}
