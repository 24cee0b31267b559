package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// asker puts what the policy leaves to a person before one at a terminal, one
// question at a time. It shows and asks; what an answer means is decided by
// permission.
type asker struct {
	turn   chan struct{} // holds one token: whose turn it is to ask
	asked  int           // how many questions there were; whoever has the turn counts
	board  board
	screen *screen
	desk   desk
}

// desk is what a question needs from the rest of the program. Each may be nil.
type desk struct {
	explain   func(use permission.ToolUse) string
	file      func(use *permission.ToolUse) *display.File
	editor    *editor
	keep      func(rule string) (patterns.Source, error) // writes a rule for good
	interrupt func()                                     // ends the run
	colour    bool
}

func newAsker(b board, s *screen, d desk) *asker {
	a := &asker{turn: make(chan struct{}, 1), board: b, screen: s, desk: d}
	a.turn <- struct{}{}
	return a
}

// Approve asks the person.
func (a *asker) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
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
	q := &question{asker: a, ask: ask, keys: keyboard{board: a.board}, id: fmt.Sprintf("%s/%d", ask.Use.ID, a.asked)}
	answer, err := q.settle(ctx)
	if err != nil {
		q.withdraw(err)
		return permission.Answer{}, err
	}
	return answer, nil
}

// question is one question on the terminal.
type question struct {
	*asker
	ask permission.Request
	id  string // of the approval
	// digest is of what is shown.
	digest string
	keys   keyboard
	all    bool         // nothing is to be cut
	shown  *display.Ask // what stands on the screen
	// offers are the choices that stand there, with their rules as they are.
	offers []display.Choice
	text   string // the same, as it was written
	rows   int    // how many rows it takes; -1: not known
	wide   int    // how wide the terminal was then
	paint  func() // shows the question anew
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
		if q.desk.interrupt != nil {
			q.desk.interrupt()
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
func (q *question) make() *display.Ask { return q.asker.shown(q.ask, q.all, q.offers) }

// shown is a question fit to be shown.
func (a *asker) shown(ask permission.Request, all bool, offers []display.Choice) *display.Ask {
	s := display.Source{Request: ask, All: all, Choices: offers}
	if a.desk.file != nil {
		s.File = a.desk.file(&ask.Use)
	}
	out := display.New(s)
	if !out.Whole {
		out.Choices = append(out.Choices, display.Choice{Key: keyView, Label: "view all"})
	}
	return out
}

// prompt stands where a person types. Where one key decides, it stands there
// only while a key counts.
const prompt = "  > "

// armed shows whether a key counts.
func (q *question) armed(counts bool) {
	if counts {
		q.say(prompt)
	} else {
		q.say("\r    \r")
	}
}

// draw shows the question, in the place of what was shown of it before where
// the terminal can do that.
func (q *question) draw() {
	q.erase()
	q.offers = q.asker.choices(&q.ask)
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
	return display.TextOptions{Width: q.width(), Colour: q.desk.colour}
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
	q.screen.ask(strings.ReplaceAll(text, "\n", "\r\n"))
}

// erase takes the question off the screen where that is possible: all of it is
// still there, and as wide as it was written.
func (q *question) erase() bool {
	_, lines := q.board.Size()
	if q.shown == nil || q.rows < 0 || q.rows >= lines || q.board.Dumb() || q.width() != q.wide {
		return false
	}
	if q.rows > 0 {
		q.screen.ask(fmt.Sprintf("\x1b[%dA", q.rows))
	}
	q.screen.ask("\r\x1b[J")
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
	if now.Text(display.TextOptions{Width: q.wide, Colour: q.desk.colour}) == q.text {
		return true
	}
	q.say("\n  The file has changed meanwhile:\n")
	q.rows = -1
	q.draw()
	return false
}

// from names the source of a rule: " (agent-wrapper.toml:4:8)".
func from(s patterns.Source) string {
	if s.Name == "" {
		return ""
	}
	return " (" + visible.Line(display.Place(s)) + ")"
}
