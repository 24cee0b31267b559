// Package ask puts what the policy leaves to a person before one at a terminal,
// one question at a time. It shows and asks; what an answer means is decided by
// package permission.
//
// A key counts only where it was pressed alone, after a time of grace: what was
// typed ahead or pasted answers nothing. The answer is bound to what was shown,
// and is refused where that has changed meanwhile.
package ask

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Approver asks a person at a terminal. It is a permission.Approver, safe for
// concurrent use.
type Approver struct {
	turn    chan struct{} // holds one token: whose turn it is to ask
	asked   int           // how many questions there were; whoever has the turn counts
	board   Board
	screen  *Screen
	options Options
}

// Options are what a question may offer. Each may be nil.
type Options struct {
	// Explain says how a tool use is decided, layer by layer.
	Explain func(use permission.ToolUse) string
	// File is the file that a tool use would edit, as it is; nil if it edits none.
	File func(use *permission.ToolUse) *display.File
	// Editor is the person's editor.
	Editor *Editor
	// Keep writes a rule for good and returns where it stands.
	Keep func(rule string) (patterns.Source, error)
	// Interrupt ends the run.
	Interrupt func()
	// Colour: the terminal shows colours.
	Colour bool
}

// New returns an approver that reads keys from a terminal and writes to a screen.
func New(b Board, s *Screen, o Options) *Approver {
	a := &Approver{turn: make(chan struct{}, 1), board: b, screen: s, options: o}
	a.turn <- struct{}{}
	return a
}

// Approve asks the person.
func (a *Approver) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	select {
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	case <-ctx.Done():
		return permission.Answer{}, ctx.Err()
	}
	a.screen.hold()
	defer a.screen.release()
	if err := a.board.Open(); err != nil {
		return permission.Answer{}, err
	}
	defer a.board.Close()
	a.asked++
	q := &question{Approver: a, ask: ask, keys: keyboard{board: a.board}, id: fmt.Sprintf("%s/%d", ask.Use.ID, a.asked)}
	answer, err := q.settle(ctx)
	if err != nil {
		q.withdraw(err)
		return permission.Answer{}, err
	}
	return answer, nil
}

// question is one question on the terminal.
type question struct {
	*Approver
	ask permission.Request
	id  string // of the approval
	// digest is of what is shown.
	digest string
	keys   keyboard
	all    bool         // nothing is to be cut
	shown  *display.Ask // what stands on the screen
	// choices are the choices that stand there, with their rules as they are.
	choices []display.Choice
	text    string // the same, as it was written
	rows    int    // how many rows it takes; -1: not known
	wide    int    // how wide the terminal was then
	paint   func() // shows the question anew
}

// The persons and programs of an approval on a terminal.
var (
	thePerson = approval.Principal{Role: approval.Person, Name: "terminal"}
	theAgent  = approval.Principal{Role: approval.Agent, Name: "agent"}
)

// settle asks, and takes the answer through the life of an approval: it counts
// for what was shown, once, and not when it was withdrawn meanwhile.
func (q *question) settle(ctx context.Context) (permission.Answer, error) {
	digest, err := approval.Digest(&q.ask)
	if err != nil {
		return permission.Answer{}, err
	}
	state, err := approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: time.Now(), Terms: approval.Terms{
		ID: q.id, Digest: digest, Asker: theAgent, Version: q.ask.Version,
	}})
	if err != nil {
		return permission.Answer{}, err
	}
	q.digest = digest
	answer, err := q.put(ctx)
	if err == nil {
		err = ctx.Err() // it was withdrawn while it was answered
	}
	if err != nil {
		return permission.Answer{}, err
	}
	if state, err = approval.Step(state, q.said(answer)); err != nil {
		return permission.Answer{}, err
	}
	if answer, err = state.Answer(); err != nil || state.Status != approval.Approved {
		return answer, err
	}
	now, err := approval.Digest(&q.ask)
	if err == nil {
		_, err = approval.Step(state, approval.Event{Kind: approval.Consume, At: time.Now(), ID: q.id, Digest: now})
	}
	return answer, err
}

// said is the event of an answer, bound to what was shown.
func (q *question) said(answer permission.Answer) approval.Event {
	e := approval.Event{
		Kind: approval.Deny, At: time.Now(), ID: q.id, Digest: q.digest, By: thePerson,
		Scope: answer.Scope, Rules: answer.Rules, Message: answer.Message,
	}
	switch {
	case answer.Input != nil:
		e.Kind, e.Input = approval.Edit, answer.Input
	case allows(answer):
		e.Kind = approval.Approve
	}
	return e
}

// put asks until there is an answer.
func (q *question) put(ctx context.Context) (permission.Answer, error) {
	if q.ask.Decision.Question {
		return q.answers(ctx)
	}
	q.paint = q.draw
	q.paint()
	for {
		p, err := q.keys.decision(ctx, q.armed)
		if err != nil {
			return permission.Answer{}, err
		}
		answer, done, err := q.pressed(ctx, p)
		if done || err != nil {
			return answer, err
		}
	}
}

// pressed handles a key or a notice; done is an answer.
func (q *question) pressed(ctx context.Context, p press) (answer permission.Answer, done bool, err error) {
	switch p.Kind {
	case 0:
		return answer, false, q.noticed(p.notice)
	case tty.Interrupt, tty.Suspend:
		return answer, false, q.stopped(p.Kind)
	case tty.Rune:
		if c := q.offered(string(p.Rune)); c != nil {
			return q.chosen(ctx, c)
		}
	}
	q.armed(false) // it says nothing here
	return answer, false, nil
}

// offered is the choice that stands on the screen for a key, nil if none does.
func (q *question) offered(key string) *display.Choice {
	for i := range q.shown.Choices {
		if c := &q.shown.Choices[i]; c.Key == key {
			return c
		}
	}
	return nil
}

// noticed handles news of the terminal: what is shown is shown anew.
func (q *question) noticed(n tty.Notice) error {
	switch n {
	case 0:
		return nil
	case tty.Resumed:
		q.board.Retake()
	case tty.Resized:
		if q.width() == q.wide {
			return nil
		}
	}
	q.rows = -1
	q.paint()
	return nil
}

// stopped handles ^C, which denies and ends the run, and ^Z.
func (q *question) stopped(kind tty.Kind) error {
	if kind == tty.Interrupt {
		if q.options.Interrupt != nil {
			q.options.Interrupt()
		}
		return errInterrupted
	}
	q.say("^Z\n")
	if err := q.board.Stop(); err != nil {
		return err
	}
	q.rows = -1
	q.paint()
	return nil
}

// make makes what is shown.
func (q *question) make() *display.Ask { return q.Approver.shown(q.ask, q.all, q.choices) }

// shown is a question fit to be shown.
func (a *Approver) shown(ask permission.Request, all bool, offers []display.Choice) *display.Ask {
	s := display.Source{Request: ask, All: all, Choices: offers}
	if a.options.File != nil {
		s.File = a.options.File(&ask.Use)
	}
	out := display.New(s)
	if !out.Whole {
		out.Choices = append(out.Choices, display.Choice{Key: keyView, Label: "view all"})
	}
	return out
}

// Prompt stands where a person types. Where one key decides, it stands there
// only while a key counts.
const Prompt = "  > "

// armed shows whether a key counts.
func (q *question) armed(counts bool) {
	if counts {
		q.say(Prompt)
	} else {
		q.say("\r    \r")
	}
}

// draw shows the question, in the place of what was shown of it before where
// the terminal can do that.
func (q *question) draw() {
	q.erase()
	q.choices = q.Approver.choices(&q.ask)
	q.shown = q.make()
	o := q.style()
	q.wide = q.width()
	q.text = q.shown.Text(o)
	q.rows = 0
	q.say(q.text + q.shown.Menu(o))
}

// menu shows the choices again, below something else.
func (q *question) menu() {
	q.say("\n" + q.shown.Menu(q.style()))
}

func (q *question) style() display.TextOptions {
	return display.TextOptions{Width: q.width(), Colour: q.options.Colour}
}

func (q *question) width() int {
	columns, _ := q.board.Size()
	return columns
}

// say writes text of the question. On a raw terminal a line feed needs a
// carriage return.
func (q *question) say(text string) {
	if q.rows >= 0 {
		q.rows += strings.Count(text, "\n")
	}
	q.screen.Ask(strings.ReplaceAll(text, "\n", "\r\n"))
}

// erase takes the question off the screen where that is possible: all of it is
// still there, and as wide as it was written.
func (q *question) erase() bool {
	_, lines := q.board.Size()
	if q.shown == nil || q.rows < 0 || q.rows >= lines || q.board.Dumb() || q.width() != q.wide {
		return false
	}
	if q.rows > 0 {
		q.screen.Ask(fmt.Sprintf("\x1b[%dA", q.rows))
	}
	q.screen.Ask("\r\x1b[J")
	q.rows = 0
	return true
}

// withdraw ends a question that nobody has answered: it goes off the screen.
func (q *question) withdraw(err error) {
	about := ""
	if q.shown != nil {
		about = " about " + q.shown.Tool
	}
	text := "(no longer asked" + about + ": " + err.Error() + ")\n"
	if !q.erase() {
		text = "\n  " + text
	}
	q.say(text)
}

// fresh reports whether what stands on the screen is still so: a file that
// would be edited may have changed. If not, it is shown anew.
func (q *question) fresh() bool {
	now := q.make()
	if now.Text(display.TextOptions{Width: q.wide, Colour: q.options.Colour}) == q.text {
		return true
	}
	q.say("\n  The file has changed meanwhile:\n")
	q.rows = -1
	q.draw()
	return false
}

// Preview is what a person would see of a question.
func (a *Approver) Preview(ask *permission.Request, width int) (string, error) {
	if !ask.Decision.Question {
		shown, o := a.shown(*ask, false, a.choices(ask)), display.TextOptions{Width: width}
		return shown.Text(o) + shown.Menu(o), nil
	}
	asked, err := choices(ask.Use.Input)
	if err != nil {
		return "", err
	}
	return asked[0].text() + asked[0].help(), nil
}
