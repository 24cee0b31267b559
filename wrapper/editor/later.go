package editor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Later is the approver for an editor that cannot answer while the agent works. It
// tells the editor of one question, denies the tool use and ends the turn; the answer
// comes with the editor's next start. It is for one turn.
type Later struct {
	// Note keeps what was asked about, before the editor is told.
	Note func(ask *permission.Request) error
	// Display says how the results of tools are shown in the text. "" means compact.
	Display string
	// Markers are the signs before tools in the text, by the name of the tool; "default"
	// is that of all others, "TaskComplete" that of a subagent that has finished.
	Markers map[string]string

	mu     sync.Mutex
	asked  bool
	events func(wrapper.Event)
	tools  tools
}

// The messages for the agent whose question is put to a person.
const (
	waitForApproval = "Please wait for user approval from the provided options."
	waitForChoices  = "Please wait for user to select from the provided options."
)

var errTurnEnds = errors.New("a person is asked about another tool use, and the turn ends")

// Announce returns the approver, which tells events of its question itself, once its
// decision is recorded.
func (l *Later) Announce(func(wrapper.Event)) permission.Approver { return l }

// Approve denies, and ends the turn.
func (l *Later) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	if err := ctx.Err(); err != nil {
		return permission.Answer{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked {
		return permission.Answer{}, errTurnEnds
	}
	l.asked = true
	if ask.Decision.Question {
		return l.ends(&ask, waitForChoices), nil
	}
	if err := l.Note(&ask); err != nil {
		l.events(wrapper.Event{Type: wrapper.WarningEvent, Message: fmt.Sprintf("an answer to this question will not count: %v", err)})
	}
	return l.ends(&ask, waitForApproval), nil
}

// ends returns the answer that ends the turn: without a behavior it denies. The editor is
// told with the decision.
func (l *Later) ends(ask *permission.Request, words string) permission.Answer {
	l.tools.tellWith(ask.Use.ID, wrapper.Asked(*ask, 1))
	return permission.Answer{Message: words, Interrupt: true}
}

// Events returns a function that passes the events of the turn on to events, in the
// form in which the editor reads them: tools and their results stand in the text too.
func (l *Later) Events(events func(wrapper.Event)) func(wrapper.Event) {
	l.events = events
	l.tools.display, l.tools.markers = l.Display, l.Markers
	return func(e wrapper.Event) {
		for _, one := range l.tools.with(e) {
			events(one)
		}
	}
}

// WithFiles returns a prompt with the names of files that the person gives with it. The
// agent reads them as it reads any other.
func WithFiles(prompt string, files []string) string {
	if len(files) == 0 {
		return prompt
	}
	return prompt + "\n\nThese files go with it:\n- " + strings.Join(files, "\n- ")
}
