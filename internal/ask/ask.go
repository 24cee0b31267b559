// Package ask puts questions to a person at a terminal: [New] returns a
// permission.Approver that asks about one tool use at a time what the policies
// leave to a person. It formats the question and reads the answer; package
// permission decides what the answer means.
//
// A key counts only if it is pressed alone, a moment after the question has
// appeared, so that text which was typed ahead or pasted cannot answer. An answer
// is bound to what was shown, and is void if that has changed.
package ask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Approver asks a person at a terminal. It implements permission.Approver and is
// safe for concurrent use: questions are asked one after the other.
type Approver struct {
	turn    chan struct{} // holds one token; its holder may ask
	asked   int           // number of questions so far; belongs to the holder of the token
	given   given
	queue   queue
	board   Board
	screen  *Screen
	options Options
}

// Options say what a question offers. In the zero value it offers to allow and to
// deny, for this tool use or for the session.
type Options struct {
	// Explain returns how a tool use is decided, layer by layer, for the choice
	// "why"; nil does not offer it.
	Explain func(use permission.ToolUse) string
	// File returns the current file that a tool use would edit, so that the edit
	// is shown as a diff; nil if it edits none. See desk.EditedFile.
	File func(use *permission.ToolUse) *display.File
	// Editor is the person's editor, for the choice "edit"; nil does not offer
	// it.
	Editor *Editor
	// Keep writes a rule to a policy and returns its place, for the choice
	// "always", as engine.Rules.Keep does; nil does not offer it.
	Keep func(rule string) (patterns.Source, error)
	// Into returns the name of the file that Keep would write a rule to, as
	// engine.Rules.KeepsIn does; nil: it is not told.
	Into func(rule string) string
	// Session is the session that the evaluator decides with, for answers that last a
	// while or are about one tool use, and for the choice to look at lasting answers and
	// revoke them; nil offers none of these.
	Session *permission.Session
	// Interrupt is called for ^C, which the terminal does not turn into a signal
	// while a question is open. It should cancel the contexts of pending calls;
	// with nil, ^C only denies.
	Interrupt func()
	// Colour: use colours.
	Colour bool
}

// New returns an approver that reads keys from a board and writes to a screen.
func New(b Board, s *Screen, o Options) *Approver {
	a := &Approver{turn: make(chan struct{}, 1), queue: queue{news: make(chan struct{}, 1)}, board: b, screen: s, options: o}
	a.turn <- struct{}{}
	return a
}

// Approve asks the person. What the person has allowed for the session while the
// question waited for others allows it too, if it is about all of it. The error is that
// of ctx, or says why nobody can be asked.
func (a *Approver) Approve(ctx context.Context, ask permission.Request) (permission.Answer, error) {
	return a.Ask(ctx, ask, func(permission.Answer) error { return nil })
}

// Ask is Approve for a question that is also asked elsewhere. It calls claim with an
// answer before that has any effect, and with an error of claim, which it returns, the
// answer does not count. If ctx was cancelled with an *approval.Settled as its cause,
// the terminal tells who has answered.
func (a *Approver) Ask(ctx context.Context, ask permission.Request, claim func(permission.Answer) error) (permission.Answer, error) {
	before, at := a.given.count(), usual
	w := &waiter{ctx: ctx, ask: ask, out: make(chan outcome, 1)}
	a.queue.come(w)
	select {
	case out := <-w.out:
		return out.claimed(ctx, claim)
	case <-ctx.Done():
		a.queue.leave(w)
		return permission.Answer{}, ctx.Err()
	case <-a.turn:
		defer func() { a.turn <- struct{}{} }()
	}
	if !a.queue.leave(w) {
		out := <-w.out
		return out.claimed(ctx, claim)
	}
	if rules := a.given.since(before); len(rules) > 0 && !ask.Decision.Question && ask.Answers(rules...) {
		return (&outcome{answer: desk.Says(desk.Once, display.Rung{})}).claimed(ctx, claim)
	}
	if shared, ok := a.board.(Shared); ok {
		asked, err := shared.Take(ctx, &ask)
		if err != nil {
			return permission.Answer{}, err
		}
		defer shared.Give()
		if !asked {
			at = unexpected
		}
	}
	a.screen.hold()
	defer a.screen.release()
	if err := a.board.Open(); err != nil {
		return permission.Answer{}, err
	}
	defer a.board.Close()
	a.asked++
	q := &question{Approver: a, ask: ask, keys: keyboard{board: a.board, pace: at}, id: fmt.Sprintf("%s/%d", ask.Use.ID, a.asked), claim: claim}
	answer, err := q.settle(ctx)
	if err != nil {
		q.withdraw(elsewhere(ctx, err))
		return permission.Answer{}, err
	}
	a.given.add(answer)
	return answer, nil
}

// Ring writes text to the terminal that neither shows nor moves anything there, such as
// its bell, beside the open question.
func (a *Approver) Ring(text string) { a.screen.ring(text) }

// question is one question on the terminal.
type question struct {
	*Approver
	ask permission.Request
	id  string // ID of the approval
	// digest is that of what is shown, and state that of the approval.
	digest string
	state  approval.State
	keys   keyboard
	all    bool         // leave nothing out
	shown  *display.Ask // what is on the screen
	// choices are the choices on the screen, with the exact text of their rules.
	choices []display.Choice
	text    string // shown, as it was written, without what stands below it
	whole   string // all of it, to see whether it has changed
	waits   string // how many others wait, as it was written
	hinted  int    // width of the words behind the prompt; 0 without
	rows    int    // number of rows that it takes; -1 if unknown
	wide    int    // width of the terminal at that time
	paint   func() // shows the question again
	// claim is called with the answer before it has any effect, once; see Ask.
	claim   func(permission.Answer) error
	claimed bool
}

// The principals of an approval at a terminal.
var (
	thePerson = approval.Principal{Role: approval.Person, Name: "terminal"}
	theAgent  = approval.Principal{Role: approval.Agent, Name: "agent"}
)

// settle asks, and passes the answer through package approval: it counts once,
// for what was shown, and not if the question was withdrawn meanwhile.
func (q *question) settle(ctx context.Context) (permission.Answer, error) {
	if err := q.begin(); err != nil {
		return permission.Answer{}, err
	}
	answer, err := q.put(ctx)
	if err == nil {
		err = ctx.Err() // withdrawn while it was answered
	}
	if err == nil {
		err = q.counts(answer)
	}
	if err != nil {
		return permission.Answer{}, err
	}
	return q.finish(answer)
}

// counts claims that an answer counts, if that is not done yet.
func (q *question) counts(answer permission.Answer) error {
	if q.claimed {
		return nil
	}
	q.claimed = true
	return q.claim(answer)
}

// begin begins the approval.
func (q *question) begin() error {
	digest, err := approval.Digest(&q.ask)
	if err != nil {
		return err
	}
	q.digest = digest
	q.state, err = approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: time.Now(), Terms: approval.Terms{
		ID: q.id, Digest: digest, Asker: theAgent, Version: q.ask.Version,
	}})
	return err
}

// finish passes the answer through package approval.
func (q *question) finish(answer permission.Answer) (permission.Answer, error) {
	state, err := approval.Step(q.state, q.said(answer))
	if err != nil {
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

// said returns the event for an answer, bound to what was shown.
func (q *question) said(answer permission.Answer) approval.Event {
	e := approval.Event{
		Kind: approval.Deny, At: time.Now(), ID: q.id, Digest: q.digest, By: thePerson,
		Scope: answer.Scope, Rules: answer.Rules, For: answer.For, Times: answer.Times, UpTo: answer.UpTo, Message: answer.Message,
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
		q.keys.news = q.queue.news
		p, err := q.keys.decision(ctx, q.armed)
		q.keys.news = nil
		if err != nil {
			return permission.Answer{}, err
		}
		answer, done, err := q.pressed(ctx, p)
		if done || err != nil {
			return answer, err
		}
	}
}

// pressed handles a key or a notice; done says that there is an answer.
func (q *question) pressed(ctx context.Context, p press) (answer permission.Answer, done bool, err error) {
	switch p.Kind {
	case 0:
		return answer, false, q.noticed(p.notice)
	case tty.Interrupt, tty.Suspend:
		return answer, false, q.stopped(p.Kind)
	case tty.Rune:
		if c := q.offered(string(p.Rune)); c != nil {
			q.keys.pace = usual // the person is at the question
			return q.chosen(ctx, c)
		}
		if c := q.shown.Rung(p.Rune); c != nil {
			return q.keeps(c, int(p.Rune-'1'))
		}
		if p.Rune == keyTogether && len(q.alike()) > 0 {
			return q.together(ctx)
		}
	}
	q.hint(q.keysHint())
	return answer, false, nil
}

// offered returns the choice on the screen for a key, nil if there is none.
func (q *question) offered(key string) *display.Choice {
	for i := range q.shown.Choices {
		if c := &q.shown.Choices[i]; c.Key == key {
			return c
		}
	}
	return nil
}

// noticed handles a notice of the terminal: the question is shown again.
func (q *question) noticed(n tty.Notice) error {
	switch n {
	case 0:
		return nil
	case othersWait:
		q.told()
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

// stopped handles ^C, which denies and interrupts, and ^Z.
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

// make returns what is to be shown, and all of the question as text, made from one look
// at the file that would be edited.
func (q *question) make() (shown *display.Ask, whole string) {
	s := q.source(q.ask, q.choices, q.style())
	s.All = q.all
	shown = fitting(s)
	s.All = true
	return shown, display.New(s).Text(display.TextOptions{})
}

// source returns what a question on a terminal is made from.
func (a *Approver) source(ask permission.Request, offers []display.Choice, o display.TextOptions) display.Source {
	s := display.Source{Request: ask, Choices: offers, Screen: o}
	if a.options.File != nil {
		s.File = a.options.File(&ask.Use)
	}
	return s
}

// fitting returns a question for a terminal, with the choice to see all of it if there
// is more than it shows.
func fitting(s display.Source) *display.Ask {
	out := display.New(s)
	if !s.All && out.More() {
		out.Choices = append(out.Choices, view)
	}
	return out
}

// Prompt is the text where a person types. Where a single key answers, it is
// shown only while a key counts.
const Prompt = "└ > "

// prompt returns Prompt for the terminal.
func (q *question) prompt() string {
	if q.board.ASCII() {
		return "+ > "
	}
	return Prompt
}

// armed shows whether a key counts.
func (q *question) armed(counts bool) {
	if counts {
		q.say("\r" + q.prompt())
	} else {
		q.say("\r    \r")
	}
}

// hint shows words behind the prompt, in place of those that were there: a key that
// means nothing moves nothing.
func (q *question) hint(text string) {
	pad := max(q.hinted-utf8.RuneCountInString(text), 0)
	q.hinted = utf8.RuneCountInString(text)
	q.say("\r    " + text + strings.Repeat(" ", pad) + "\r")
}

// keysHint returns the words that tell the keys, or the keys alone if there is no room.
func (q *question) keysHint() string {
	var words, keys []string
	for _, c := range q.shown.Choices {
		keys = append(keys, c.Key)
		if slices.Contains([]string{desk.Once, desk.Session, desk.Deny, why.Name, view.Name}, c.Name) {
			words = append(words, c.Key+" "+c.Name)
		}
	}
	room := q.width() - utf8.RuneCountInString(Prompt) - 1
	if text := "keys: " + strings.Join(words, ", "); len(text) <= room {
		return text
	}
	text := strings.Join(keys, " ")
	return text[:min(len(text), max(room, 0))]
}

// replies writes what a key stands for behind the prompt.
func (q *question) replies(text string) {
	if q.hinted > 0 {
		q.hint("")
		q.say(q.prompt())
	}
	q.say(text + "\n")
}

// clear removes the words behind the prompt.
func (q *question) clear() {
	if q.hinted > 0 {
		q.hint("")
	}
}

// draw shows the question, in place of the previous version if the terminal can
// do that.
func (q *question) draw() {
	if !q.erase() && q.shown != nil {
		q.say("\n")
	}
	q.choices = q.Approver.choices(&q.ask)
	q.shown, q.whole = q.make()
	q.wide = q.width()
	q.text = q.shown.Text(q.style())
	q.rows = 0
	q.say(q.text)
	q.ends(q.shown.Menu(q.style()))
}

// ends writes what stands below the question and, if its beginning has scrolled away,
// what it is about.
func (q *question) ends(text string) {
	waiting := q.waiting()
	_, lines := q.board.Size()
	if q.rows < 0 || q.rows+strings.Count(text+waiting, "\n") >= lines {
		text += q.shown.Brief(q.style())
	}
	q.say(text + waiting)
}

// below shows text in place of the choices, or below all if these cannot be replaced.
func (q *question) below(text string) {
	q.hinted = 0
	if q.erase() {
		q.say(q.text)
	} else {
		q.say("\n")
		q.rows = -1
	}
	q.ends(text)
}

// menu shows the choices again.
func (q *question) menu() { q.below(q.shown.Menu(q.style())) }

func (q *question) style() display.TextOptions {
	columns, lines := q.board.Size()
	return display.TextOptions{Width: columns, Height: lines, Colour: q.options.Colour, ASCII: q.board.ASCII(), Parts: q.all}
}

func (q *question) width() int {
	columns, _ := q.board.Size()
	return columns
}

// say writes text of the question. A raw terminal needs a carriage return before
// each line feed.
func (q *question) say(text string) {
	if q.rows >= 0 {
		q.rows += strings.Count(text, "\n")
	}
	q.screen.Ask(strings.ReplaceAll(text, "\n", "\r\n"))
}

// erase removes the question from the screen and reports whether it could: the
// question must still be visible, in its original width.
func (q *question) erase() bool {
	_, lines := q.board.Size()
	if q.shown == nil || q.rows < 0 || q.rows >= lines || q.board.Dumb() || q.width() != q.wide {
		return false
	}
	q.hinted = 0
	if q.rows > 0 {
		q.screen.Ask(fmt.Sprintf("\x1b[%dA", q.rows))
	}
	q.screen.Ask("\r\x1b[J")
	q.rows = 0
	return true
}

// withdraw ends a question without an answer and removes it from the screen.
func (q *question) withdraw(err error) {
	about := ""
	if q.shown != nil {
		about = " about " + q.shown.Tool
	}
	text := "(no longer asked" + about + ": " + whyWithdrawn(err) + ")\n"
	if !q.erase() {
		text = "\n  " + text
	}
	q.say(text)
}

// elsewhere returns the error of a question that has ended, or who answered it
// elsewhere, if that is why.
func elsewhere(ctx context.Context, err error) error {
	var settled *approval.Settled
	if ctx.Err() != nil && errors.As(context.Cause(ctx), &settled) {
		return settled
	}
	return err
}

// whyWithdrawn returns the error that ended a question in words for a person.
func whyWithdrawn(err error) string {
	var settled *approval.Settled
	switch {
	case errors.As(err, &settled) && settled.By.Name != "":
		return settled.Status.String() + " by " + visible.Line(settled.By.Name)
	case errors.As(err, &settled):
		return settled.Status.String()
	case errors.Is(err, context.DeadlineExceeded):
		return "not answered in time"
	case errors.Is(err, context.Canceled):
		return "the answer is no longer needed"
	}
	return err.Error()
}

// fresh reports whether the question on the screen is still correct. If the file
// that would be edited has changed, it is shown again.
func (q *question) fresh() bool {
	if !q.changed() {
		return true
	}
	q.say("\n  The file has changed meanwhile:\n")
	q.rows = -1
	q.draw()
	return false
}

// Preview returns the question as a person would see it, in a terminal of the
// given width and a usual height.
func (a *Approver) Preview(ask *permission.Request, width int) (string, error) {
	o := display.TextOptions{Width: width, Height: 24}
	if !ask.Decision.Question {
		shown := fitting(a.source(*ask, a.choices(ask), o))
		return shown.Text(o) + shown.Menu(o), nil
	}
	asked, err := choices(ask.Use.Input)
	if err != nil {
		return "", err
	}
	return asked[0].text(o) + asked[0].help(o), nil
}
