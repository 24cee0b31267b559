// Package chat is the conversation of a person at a terminal with an agent: a line of
// several rows to type in, below what the agent does, the prompts that wait for their
// turn, and commands of our own that begin with a slash.
//
// It decides nothing. Questions are asked by package ask, on the [Board] of the
// conversation: a key that is typed into a prompt never answers one. A question waits
// while there is text in the line or a key was pressed a moment ago, and the person is
// told so.
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// Options say what a conversation is led with.
type Options struct {
	// Turn has the agent take a turn, and returns when it is over. It ends with ctx,
	// whose cause is then wrapper.ErrInterrupted.
	Turn func(ctx context.Context, prompt string) error
	// Prompt returns the prompt that is sent for what a person has typed, which is no
	// Command. Its error is shown, and the text is in the line again.
	Prompt func(typed string) (string, error)
	// Idle interrupts what the agent does between turns; nil: it does nothing then.
	Idle func()
	// Commands are the commands besides /help and /quit.
	Commands []Command
	// Texts returns the names of the commands that Prompt knows besides; nil: it takes what
	// is typed literally.
	Texts func() []string
	// Folder keeps the prompts; the zero value keeps none.
	Folder Folder
	// Mode returns the permission mode, for the status.
	Mode func() string
	// Doing returns what the agent does in at most width cells, "" if that is unknown.
	Doing  func(width int) string
	Colour bool
}

// Command is a command that begins with a slash.
type Command struct {
	Name, Args, Help string
	// Run returns what is to be shown. args are trimmed.
	Run func(args string) (string, error)
}

// Chat is a conversation. Serve leads it; the other methods may be called at any time.
type Chat struct {
	options Options
	board   ask.Board
	screen  *ask.Screen
	wants   chan *wanted
	over    chan struct{}

	mu   sync.Mutex
	stop context.CancelCauseFunc // ends the turn that runs; nil: none does
}

// New returns a conversation on a terminal.
func New(b ask.Board, s *ask.Screen, o Options) *Chat {
	return &Chat{options: o, board: b, screen: s, wants: make(chan *wanted), over: make(chan struct{})}
}

// Interrupt ends the turn that runs. It reports whether one did.
func (c *Chat) Interrupt() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop(wrapper.ErrInterrupted)
	}
	return c.stop != nil
}

func (c *Chat) setStop(stop context.CancelCauseFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = stop
}

// The times of a conversation.
const (
	// calm is how long a person has not typed when a question may appear by itself.
	calm = time.Second
	// brief is how long a hint is shown, and within what ^C has to be pressed twice.
	brief = 3 * time.Second
	// together is the time within which bytes of one key arrive, slowly that within which
	// those of a pasted text do.
	together = 60 * time.Millisecond
	slowly   = 3 * time.Second
	// behind is the time after pasted text within which nobody presses Enter: it is a part
	// of the text, which holds a mark of its own end.
	behind = 100 * time.Millisecond
)

// said is what a person has typed, with the prompt that it stands for.
type said struct {
	typed, prompt string
	waited        bool // behind a turn
}

// loop is a conversation that is led. It belongs to one goroutine.
type loop struct {
	*Chat
	ctx     context.Context
	edit    edit
	history *history
	search  *search // nil: earlier prompts are not searched
	queue   []said
	now     said // what the turn that runs is about
	keys    tty.Decoder
	pressed time.Time // when the last key was
	pasted  time.Time // when the last text was pasted
	begun   time.Time // when the turn that runs was
	ended   chan error
	waiting []*wanted // questions
	hint    string    // below the line, until a key is pressed or it is old
	hinted  time.Time // when that is
	leaving bool      // ^C was pressed, and ends the conversation if it is pressed again
	stopped bool      // the turn that runs was interrupted
	quit    bool
	shown   ask.Foot
	failed  error // with which the conversation ends
}

// Serve leads the conversation until the person ends it, or ctx ends. first, if it is not
// "", is the first thing that is said. The error is that of a terminal which cannot be
// used, or a *wrapper.Breach, after which there is no further turn.
func (c *Chat) Serve(ctx context.Context, first string) error {
	defer close(c.over)
	l := &loop{Chat: c, ctx: ctx, ended: make(chan error, 1)}
	var err error
	if l.history, err = openHistory(c.options.Folder); err != nil {
		l.say("warning: earlier prompts cannot be read: " + visible.Line(err.Error()) + "\n")
	}
	c.screen.Raw()
	if err := c.board.Open(); err != nil {
		return err
	}
	defer c.board.Close()
	defer c.screen.Foot(ask.Foot{})
	if first != "" {
		l.edit.set(first)
		l.enter()
	}
	return l.lead()
}

// lead takes what happens until the end.
func (l *loop) lead() error {
	for !l.quit || l.begun != (time.Time{}) {
		if len(l.queue) > 0 && l.begun.IsZero() {
			l.begin()
		}
		l.draw()
		if err := l.next(); err != nil {
			l.leave()
			l.quit, l.failed = true, err
		}
	}
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return l.failed
}

// leave ends the conversation: what waits is dropped, and the turn that runs ends.
func (l *loop) leave() {
	l.quit, l.queue = true, nil
	l.Interrupt()
}

// next waits for something to happen, and takes it.
func (l *loop) next() error {
	var keys <-chan []byte
	var notices <-chan tty.Notice
	cancelled := l.ctx.Done()
	if l.quit { // the turn is ending
		cancelled = nil
	} else {
		keys, notices = l.board.Keys(), l.board.Notices()
	}
	timer := time.NewTimer(l.patience())
	defer timer.Stop()
	select {
	case data, open := <-keys:
		if !open {
			return tty.ErrGone
		}
		l.typed(l.keys.Feed(data))
	case n := <-notices:
		l.noticed(n)
	case err := <-l.ended:
		return l.turned(err)
	case w := <-l.wants:
		l.waiting = append(l.waiting, w)
	case <-timer.C:
		return l.late()
	case <-cancelled:
		return context.Cause(l.ctx)
	}
	return nil
}

// patience returns how long to wait for something to happen.
func (l *loop) patience() time.Duration {
	if l.keys.Pasting() {
		return max(slowly-time.Since(l.pressed), 0)
	}
	if l.keys.Pending() {
		return together
	}
	wait := time.Hour
	if !l.begun.IsZero() {
		wait = time.Second - time.Since(l.begun)%time.Second
	}
	if l.hint != "" {
		wait = min(wait, max(time.Until(l.hinted), 0))
	}
	if len(l.waiting) > 0 && !l.typing() {
		wait = min(wait, max(calm-time.Since(l.pressed), 0))
	}
	return wait
}

// late does what was waited for.
func (l *loop) late() error {
	if key, ok := l.keys.Flush(); ok {
		l.key(key)
		return nil
	}
	if l.hint != "" && !time.Now().Before(l.hinted) {
		l.hint, l.leaving = "", false
	}
	if len(l.waiting) > 0 && !l.typing() && time.Since(l.pressed) >= calm {
		return l.lend(false)
	}
	return nil
}

// typing reports whether the line is in use, so that a question has to wait.
func (l *loop) typing() bool { return len(l.edit.text) > 0 || l.search != nil }

// begin begins a turn with the text that has waited longest.
func (l *loop) begin() {
	ctx, stop := context.WithCancelCause(l.ctx)
	now := l.queue[0]
	l.now, l.queue = now, l.queue[1:]
	if now.waited || !l.board.Dumb() { // where it is not what the person has just typed
		l.say(l.echo(now.typed))
	}
	l.begun, l.stopped = time.Now(), false
	l.setStop(stop)
	go func() {
		err := l.options.Turn(ctx, now.prompt)
		stop(nil)
		l.ended <- err
	}()
}

// turned takes the end of a turn. After one that failed nothing is said by itself: what
// it was about is in the line again, before what waits.
func (l *loop) turned(err error) error {
	l.setStop(nil)
	l.begun = time.Time{}
	var breach *wrapper.Breach
	switch {
	case errors.As(err, &breach):
		return breach
	case l.quit:
	case errors.Is(err, wrapper.ErrInterrupted):
		l.say("\n(interrupted)\n")
		l.takeBack("what waited is in the line again")
	case err != nil:
		l.message(err.Error())
		l.queue = append([]said{l.now}, l.queue...)
		l.takeBack("your prompt is in the line again")
	}
	return nil
}

// takeBack puts what waits into the line, and tells so.
func (l *loop) takeBack(hint string) {
	if len(l.queue) == 0 {
		return
	}
	var all []string
	for _, s := range l.queue {
		all = append(all, s.typed)
	}
	if len(l.edit.text) > 0 {
		all = append(all, l.edit.String())
	}
	l.queue = nil
	l.edit.set(strings.Join(all, "\n"))
	l.leaving = false // a further ^C is about that
	l.tell(hint)
}

// say writes text above the line.
func (l *loop) say(text string) { l.screen.Write([]byte(text)) }

// message says something about the conversation, broken at blanks.
func (l *loop) message(text string) {
	columns, _ := l.board.Size()
	p := paper{room: max(columns-1, 1)}
	for line := range strings.SplitSeq(visible.Text(text), "\n") {
		p.line(display.Chars(line), -1)
	}
	for _, row := range append([]string{""}, p.rows...) {
		l.say(strings.TrimRight(row, " ") + "\n")
	}
}

// noticed takes a notice of the terminal.
func (l *loop) noticed(n tty.Notice) {
	l.shown = ask.Foot{}
	if n == tty.Resumed {
		l.board.Retake()
	}
}

// typed takes keys that arrived at once.
func (l *loop) typed(keys []tty.Key) {
	l.pressed = time.Now()
	for i, key := range keys {
		if key.Kind == tty.Enter && (burst(keys, i) || time.Since(l.pasted) < behind) {
			key.Kind = tty.NewLine // a paste that the terminal has not marked
		}
		if key.Kind == tty.Paste {
			l.pasted = l.pressed
		}
		l.key(key)
	}
}

// burst reports whether an Enter stands among keys that nobody types at once.
func burst(keys []tty.Key, at int) bool {
	for i, key := range keys {
		if i != at && (key.Kind == tty.Enter || i > at) {
			return true
		}
	}
	return false
}

// key takes a key.
func (l *loop) key(key tty.Key) {
	leaving := l.leaving
	l.leaving, l.hint = false, ""
	if l.search != nil && l.searched(key) {
		return
	}
	switch key.Kind {
	case tty.Enter:
		l.enter()
	case tty.Interrupt:
		l.interrupted(leaving)
	case tty.EndInput:
		l.ends()
	case tty.Suspend:
		l.suspend()
	case tty.Tab:
		if len(l.waiting) > 0 {
			l.failed = l.lend(true)
			l.quit = l.failed != nil
		}
	case tty.Redraw:
		if !l.board.Dumb() {
			l.screen.Foot(ask.Foot{})
			l.say("\x1b[H\x1b[2J")
		}
		l.shown = ask.Foot{}
	case tty.Search:
		l.beginSearch()
	case tty.Up:
		l.up()
	case tty.Down:
		if !l.edit.down() {
			l.history.newer(&l.edit)
		}
	default:
		l.edit.take(key)
	}
}

// up moves up in the text, and from its first line to what waits and to earlier prompts.
func (l *loop) up() {
	if l.edit.up() {
		return
	}
	if n := len(l.queue); n > 0 && len(l.edit.text) == 0 {
		l.edit.set(l.queue[n-1].typed)
		l.queue = l.queue[:n-1]
		return
	}
	l.history.older(&l.edit)
}

// tell shows a hint for a moment.
func (l *loop) tell(hint string) { l.hint, l.hinted = hint, time.Now().Add(brief) }

// interrupted takes ^C.
func (l *loop) interrupted(again bool) {
	switch {
	case again || l.stopped && !l.begun.IsZero():
		l.leave()
	case !l.begun.IsZero():
		l.stopped = l.Interrupt()
		l.tell("^C again ends the conversation")
		l.leaving = true
	case len(l.edit.text) > 0:
		l.edit.cuts(0, len(l.edit.text))
		l.history.at = len(l.history.all)
		l.tell("^Y puts it back")
	default:
		if l.options.Idle != nil {
			l.options.Idle()
		}
		l.leaving = true
		l.tell("^C again ends the conversation")
	}
}

// ends takes ^D.
func (l *loop) ends() {
	switch {
	case len(l.edit.text) > 0:
		l.edit.take(tty.Key{Kind: tty.Delete})
	case !l.begun.IsZero():
		l.tell("the agent works: ^C interrupts it, /quit ends the conversation")
	default:
		l.leave()
	}
}

// suspend stops the program, as ^Z does.
func (l *loop) suspend() {
	l.screen.Foot(ask.Foot{})
	l.shown = ask.Foot{}
	if err := l.board.Stop(); err != nil {
		l.tell(visible.Line(err.Error()))
	}
}

// enter takes a text that is complete.
func (l *loop) enter() {
	typed := l.edit.String()
	if rest, more := strings.CutSuffix(typed, `\`); more && l.edit.at == len(l.edit.text) { // the row goes on
		l.edit.set(rest + "\n")
		return
	}
	if strings.TrimSpace(typed) == "" {
		return
	}
	prompt, shown, err := l.means(typed)
	if err != nil {
		l.message(err.Error())
		return
	}
	if err := l.history.add(typed); err != nil {
		l.say("warning: the prompt is not kept: " + visible.Line(err.Error()) + "\n")
		l.history.file = Folder{}
	}
	l.edit.set("")
	if prompt != "" {
		l.queue = append(l.queue, said{typed, prompt, !l.begun.IsZero()})
		return
	}
	if !l.board.Dumb() {
		l.say(l.echo(typed))
	}
	l.say(shown)
}

// The rows of a long prompt that stay above, and more than how many make it long.
const (
	keptRows = 8
	longRows = 12
)

// echo returns what was typed, as it stays above: of a long text the beginning.
func (l *loop) echo(typed string) string {
	e := edit{}
	e.set(strings.TrimSpace(typed))
	columns, _ := l.board.Size()
	rows, _, _ := e.rows(columns, len(e.text)+1)
	if more := len(rows) - keptRows; len(rows) > longRows {
		rows = append(rows[:keptRows], fmt.Sprintf("%s(%d more rows)", next, more))
	}
	return "\n" + strings.Join(rows, "\n") + "\n"
}
