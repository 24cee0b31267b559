package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// board is a terminal that a test types on.
type board struct {
	mu            sync.Mutex
	open          bool
	keys          chan []byte
	notices       chan tty.Notice
	columns, rows int
	dumb          bool
	stops         int
}

func (b *board) Open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		panic("opened twice")
	}
	b.open = true
	return nil
}

func (b *board) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
}

func (b *board) Keys() <-chan []byte        { return b.keys }
func (b *board) Notices() <-chan tty.Notice { return b.notices }
func (b *board) Size() (columns, lines int) { return b.columns, b.rows }
func (b *board) Dumb() bool                 { return b.dumb }
func (b *board) ASCII() bool                { return b.dumb }
func (b *board) Retake()                    {}
func (b *board) Stop() error                { b.stops++; return nil }

// person is somebody in a conversation with an agent that does what the test says.
type person struct {
	t      *testing.T
	board  *board
	screen *screen.Terminal
	out    *ask.Screen
	chat   *Chat
	heard  []string
	goes   chan error // ends the turn that runs
	served chan error
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// converses begins a conversation; it must be called in a bubble.
func converses(t *testing.T, columns, rows int, o Options, b *board) *person {
	t.Helper()
	if b == nil {
		b = &board{}
	}
	b.keys, b.notices, b.columns, b.rows = make(chan []byte), make(chan tty.Notice), columns, rows
	p := &person{t: t, board: b, screen: screen.New(columns, rows), goes: make(chan error), served: make(chan error, 1)}
	p.out = ask.NewScreen(p.screen, nil)
	o.Turn = func(ctx context.Context, prompt string) error {
		p.heard = append(p.heard, prompt)
		select {
		case err := <-p.goes:
			return err
		case <-ctx.Done():
			return fmt.Errorf("stopped: %w", context.Cause(ctx))
		}
	}
	if o.Prompt == nil {
		o.Prompt = func(typed string) (string, error) { return typed, Unknown(typed, o.Commands) }
	}
	p.chat = New(b, p.out, o)
	ctx, cancel := context.WithCancelCause(t.Context())
	p.ctx, p.cancel = ctx, cancel
	go func() { p.served <- p.chat.Serve(ctx, "") }()
	synctest.Wait()
	return p
}

// types types each text at once, with time between them.
func (p *person) types(all ...string) {
	p.t.Helper()
	for _, text := range all {
		select {
		case p.board.keys <- []byte(text):
		case <-time.After(time.Hour):
			p.t.Fatalf("nobody reads %q:\n%s", text, p.sees())
		}
		time.Sleep(100 * time.Millisecond)
	}
	synctest.Wait()
}

func (p *person) sees() string {
	synctest.Wait()
	return screen.Text(p.screen.Shown())
}

// over ends the conversation and returns how it ended.
func (p *person) over() error {
	p.t.Helper()
	p.types("/quit", "\r")
	select {
	case err := <-p.served:
		return err
	case <-time.After(time.Hour):
		p.t.Fatal("the conversation does not end")
		return nil
	}
}

// in runs a test in a bubble, and checks that the terminal was given back.
func in(t *testing.T, columns, rows int, o Options, test func(p *person)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := converses(t, columns, rows, o, nil)
		test(p)
		p.cancel(errors.New("the test is over"))
		synctest.Wait()
		if p.board.open {
			t.Error("the terminal was not given back")
		}
		if got := p.screen.Unknown(); len(got) > 0 {
			t.Errorf("unknown control functions: %q", got)
		}
	})
}

func (p *person) hears(want ...string) {
	p.t.Helper()
	synctest.Wait()
	if got := strings.Join(p.heard, "|"); got != strings.Join(want, "|") {
		p.t.Errorf("the agent heard %q, want %q", got, strings.Join(want, "|"))
	}
}

// request is a question about a command.
func request(command string) permission.Request {
	return permission.Request{
		Use:      permission.ToolUse{ID: "toolu_1", Tool: "Bash", Dir: "/w", Input: []byte(fmt.Sprintf(`{"command":%q}`, command))},
		Decision: permission.Decision{Behavior: permission.Ask, Layer: permission.LayerAskList, Reason: "a test asks"},
	}
}

// asked asks, and returns what is answered so far.
func (p *person) asks(ctx context.Context, command string) func() (permission.Answer, error, bool) {
	var mu sync.Mutex
	var answer permission.Answer
	var err error
	done := false
	asker := ask.New(p.chat.Board(), p.out, ask.Options{Interrupt: func() { p.chat.Interrupt() }})
	go func() {
		a, e := asker.Approve(ctx, request(command))
		mu.Lock()
		defer mu.Unlock()
		answer, err, done = a, e, true
	}()
	synctest.Wait()
	return func() (permission.Answer, error, bool) {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return answer, err, done
	}
}

// TestTypedKeysAnswerNothing: whatever is typed into a prompt while a question comes, at
// whatever pace, answers nothing.
func TestTypedKeysAnswerNothing(t *testing.T) {
	for _, pause := range []time.Duration{0, 50 * time.Millisecond, 120 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second, time.Minute} {
		t.Run(pause.String(), func(t *testing.T) {
			in(t, 80, 24, Options{}, func(p *person) {
				p.types("go", "\r")
				p.types("f") // a prompt has begun
				answered := p.asks(p.ctx, "rm -rf x")
				for _, key := range "ix so that 2 do: s, a, o once n" {
					time.Sleep(pause)
					p.types(string(key))
					if a, err, done := answered(); done {
						t.Fatalf("answered %+v, %v by typing", a, err)
					}
				}
				if !strings.Contains(p.sees(), "> fix so that 2 do: s, a, o once n") || !strings.Contains(p.sees(), "a question waits") {
					t.Errorf("the screen:\n%s", p.sees())
				}
				p.types("\r") // sent: now the question may come
				time.Sleep(2 * time.Second)
				if !strings.Contains(p.sees(), "rm -rf x") {
					t.Errorf("the question is not there:\n%s", p.sees())
				}
				time.Sleep(time.Second)
				p.types("d")
				time.Sleep(time.Second)
				if a, err, done := answered(); !done || err != nil || a.Behavior != permission.Deny {
					t.Errorf("answered %+v, %v, %v", a, err, done)
				}
			})
		})
	}
}

// TestBeginsToTypeAtAQuestion: a question appears by itself, and just then the person
// begins to type a prompt.
func TestBeginsToTypeAtAQuestion(t *testing.T) {
	for _, wait := range []time.Duration{0, 500 * time.Millisecond, 900 * time.Millisecond, 1500 * time.Millisecond, time.Minute} {
		for _, pause := range []time.Duration{0, 80 * time.Millisecond, 250 * time.Millisecond} {
			in(t, 80, 24, Options{}, func(p *person) {
				p.types("go", "\r")
				time.Sleep(time.Minute)
				answered := p.asks(p.ctx, "rm -rf x")
				time.Sleep(wait)
				for _, key := range "open it soon" {
					select {
					case p.board.keys <- []byte(string(key)):
					case <-time.After(time.Hour):
						t.Fatal("nobody reads")
					}
					time.Sleep(pause)
				}
				if a, err, done := answered(); done {
					t.Errorf("answered %+v, %v by a word typed after %v with %v between", a, err, wait, pause)
				}
			})
		}
	}
}

// TestTabShowsAQuestion: the person may go to a question that waits, and finds what was
// typed afterwards.
func TestTabShowsAQuestion(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("go", "\r", "and then")
		answered := p.asks(p.ctx, "make x")
		p.types("\t")
		time.Sleep(time.Second)
		p.types("o")
		time.Sleep(time.Second)
		if a, err, done := answered(); !done || err != nil || a.Behavior != permission.Allow {
			t.Errorf("answered %+v, %v, %v\n%s", a, err, done, p.sees())
		}
		if !strings.Contains(p.sees(), "> and then") {
			t.Errorf("the text is gone:\n%s", p.sees())
		}
	})
}

// TestWithdrawnWhileTyping: a question that the agent does not want any more leaves.
func TestWithdrawnWhileTyping(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		ctx, cancel := context.WithCancel(p.ctx)
		p.types("go", "\r", "and")
		answered := p.asks(ctx, "make x")
		cancel()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		if _, err, done := answered(); !done || !errors.Is(err, context.Canceled) || strings.Contains(p.sees(), "waits") {
			t.Errorf("%v, %v\n%s", done, err, p.sees())
		}
		p.types(" so on")
		if !strings.Contains(p.sees(), "> and so on") {
			t.Errorf("the line:\n%s", p.sees())
		}
	})
}

// TestQueue: what is typed while the agent works waits for its turn, and can be taken back.
func TestQueue(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("one", "\r", "two", "\r", "three", "\r")
		p.hears("one")
		if !strings.Contains(p.sees(), "waits: two  +1") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\x1b[A") // three is taken back
		p.types("!", "\r")
		p.goes <- nil
		p.hears("one", "two")
		p.goes <- nil
		p.hears("one", "two", "three!")
		p.goes <- nil
		if err := p.over(); err != nil {
			t.Error(err)
		}
	})
}

// TestInterrupts: ^C interrupts a turn, and what waits is in the line again; twice ends.
func TestInterrupts(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("one", "\r", "two", "\r", "\x03")
		if !strings.Contains(p.sees(), "(interrupted)") || !strings.Contains(p.sees(), "> two") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.hears("one")
		p.types("\x03") // clears the line
		if strings.Contains(p.sees(), "> two") {
			t.Errorf("the line is not empty:\n%s", p.sees())
		}
		p.types("\x19") // and back
		p.types("\x03", "\x03")
		if !strings.Contains(p.sees(), "^C again ends") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("x", "\x7f", "\x03") // another key in between: not twice
		select {
		case <-p.served:
			t.Fatal("the conversation ended")
		default:
		}
		p.types("\x03")
		synctest.Wait()
		select {
		case err := <-p.served:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the conversation goes on")
		}
	})
}

// TestFailedTurn: after a turn that failed, nothing that waits is said by itself.
func TestFailedTurn(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("one", "\r", "two", "\r")
		p.goes <- errors.New("the model\x1b[2J is gone")
		p.hears("one")
		if !strings.Contains(p.sees(), "the model<U+001B>[2J is gone") || !strings.Contains(p.sees(), "\n> one\n  two\n") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\r")
		p.hears("one", "one\ntwo")
	})
}

// TestBreach: after a breach there is no further turn.
func TestBreach(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("one", "\r", "two", "\r")
		p.goes <- &wrapper.Breach{Tool: "Bash"}
		var breach *wrapper.Breach
		if err := <-p.served; !errors.As(err, &breach) {
			t.Errorf("ended with %v", err)
		}
		p.hears("one")
	})
}

// TestPasted: pasted text is typed and not sent, and shows what a terminal would obey.
func TestPasted(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("\x1b[200~one\rtwo \x1b]0;title\a\x1b[2J\u202Edone\u200B\x1b[201~")
		p.hears()
		seen := p.sees()
		for _, want := range []string{"> one\n", "  two <U+001B>]0;title<U+0007><U+001B>[2J<U+202E>done<U+200B>"} {
			if !strings.Contains(seen, want) {
				t.Errorf("no %q:\n%s", want, seen)
			}
		}
		p.types("\x03", "a\rb\rc\r") // without marks
		p.hears()
		p.types("\r")
		p.hears("a\nb\nc\n")
	})
}

// TestLines: several lines, and earlier prompts.
func TestLines(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("first", "\r")
		p.goes <- nil
		p.types("one\\", "\r", "two", "\x1b\r", "three", "\n", "four", "\x1b[A", "\x01", "2", "\r")
		p.hears("first", "one\ntwo\n2three\nfour")
		p.goes <- nil
		p.types("new", "\x1b[A", "\x1b[A", "\x1b[A", "\x1b[A", "\x1b[A")
		if !strings.Contains(p.sees(), "> first") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\x1b[B", "\x1b[B")
		if !strings.HasSuffix(strings.TrimSpace(strings.Split(p.sees(), "/help")[0]), "> new") {
			t.Errorf("the screen:\n%s", p.sees())
		}
	})
}

// TestCommands: a command is ours, also while the agent works; an unknown one is not sent.
func TestCommands(t *testing.T) {
	ran := ""
	o := Options{Commands: []Command{{Name: "why", Args: "[N]", Help: "tells", Run: func(args string) (string, error) {
		ran += "(" + args + ")"
		if args == "bad" {
			return "", errors.New("no such thing")
		}
		return "because\n", nil
	}}}}
	in(t, 80, 24, o, func(p *person) {
		p.types("go", "\r", "/why  2 ", "\r")
		p.hears("go")
		if ran != "(2)" || !strings.Contains(p.sees(), "because") {
			t.Errorf("ran %q\n%s", ran, p.sees())
		}
		p.types("/wyh", "\r")
		if !strings.Contains(p.sees(), "there is no command /wyh: did you mean /why?") || !strings.Contains(p.sees(), "> /wyh") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\x15", "/why bad", "\r")
		if !strings.Contains(p.sees(), "no such thing") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\x15", "/etc/hosts is odd", "\r", " /wyh", "\r", "/help", "\r")
		if !strings.Contains(p.sees(), "/why [N]") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.goes <- nil
		p.goes <- nil
		p.hears("go", "/etc/hosts is odd", " /wyh")
	})
}

// TestGone: a terminal that closes ends the conversation and the turn.
func TestGone(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("one", "\r")
		close(p.board.keys)
		if err := <-p.served; !errors.Is(err, tty.ErrGone) {
			t.Errorf("ended with %v", err)
		}
	})
}

// screens is what a person sees in the course of a conversation.
func screens(t *testing.T, columns, rows int) string {
	var out strings.Builder
	o := Options{Mode: func() string { return "acceptEdits" }}
	in(t, columns, rows, o, func(p *person) {
		shows := func(title string) {
			fmt.Fprintf(&out, "== %s\n%s\n", title, p.sees())
		}
		shows("it begins")
		p.types("\x1b[200~Fix the failing test in web/handler_test.go,\nand say in one sentence why it failed. Do not touch the other tests.\x1b[201~")
		shows("a prompt of two lines")
		p.types("\r")
		p.out.Write([]byte("\nLet me look at the test.\nALLOW  Read  web/handler_test.go\n       reading in the workspace\n"))
		p.types("then the changelog", "\r", "and the docs")
		time.Sleep(5 * time.Second)
		shows("a turn runs, one prompt waits, another is typed")
		answered := p.asks(p.ctx, "git push origin main")
		shows("a question comes while the person types")
		p.types("\t")
		time.Sleep(time.Second)
		shows("the question")
		p.types("d")
		time.Sleep(time.Second)
		answered()
		p.out.Tail([]string{"The test expects a status of", "200, but"})
		shows("the agent writes")
		p.out.Tail(nil)
		p.types("\x03")
		shows("interrupted")
	})
	return out.String()
}

func TestScreens(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {40, 12}, {20, 12}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			got := screens(t, size[0], size[1])
			golden.Check(t, fmt.Sprintf("testdata/%dx%d.txt", size[0], size[1]), got)
		})
	}
}

// TestDumb: a terminal that cannot move its cursor gets each row once.
func TestDumb(t *testing.T) {
	var got string
	synctest.Test(t, func(t *testing.T) {
		p := converses(t, 80, 24, Options{Mode: func() string { return "plan" }}, &board{dumb: true})
		p.types("f", "i", "xx", "\x7f", " it", "\r")
		p.out.Write([]byte("Let me look.\n"))
		p.types("n", "o")
		p.out.Write([]byte("It is fixed.\n"))
		p.types("w", "\r")
		p.goes <- nil
		p.out.Write([]byte("Yes.\n"))
		p.goes <- nil
		got = p.sees()
		p.cancel(nil)
		synctest.Wait()
	})
	golden.Check(t, "testdata/dumb.txt", got)
	if strings.Contains(got, "\x1b") {
		t.Errorf("control sequences: %q", got)
	}
}

// TestMessagesBreak: what the conversation says is broken at blanks.
func TestMessagesBreak(t *testing.T) {
	in(t, 30, 12, Options{}, func(p *person) {
		p.types("/hepl", "\r")
		if want := "\n\nthere is no command /hepl:\ndid you mean /help? A blank\nbefore it sends it to the\nagent\n> /hepl\n"; !strings.Contains("\n"+p.sees(), want) {
			t.Errorf("the screen:\n%s", p.sees())
		}
	})
}

// TestLongPrompt: of a long prompt the beginning stays above, and where the cursor is in it
// is told.
func TestLongPrompt(t *testing.T) {
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprint("line ", i+1))
	}
	text := strings.Join(lines, "\n")
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("\x1b[200~" + text + "\x1b[201~")
		if !strings.Contains(p.sees(), "line 200 of 200") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\x1b[A", "\x1b[A", "\x01")
		if !strings.Contains(p.sees(), "line 198 of 200") {
			t.Errorf("the screen:\n%s", p.sees())
		}
		p.types("\r")
		p.hears(text)
		if seen := p.sees(); !strings.Contains(seen, "  line 8\n  (192 more rows)\n>") {
			t.Errorf("the screen:\n%s", seen)
		}
	})
}

// TestSearch: ^R searches the earlier prompts, sends nothing, and leaves the line as it was.
func TestSearch(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		for _, prompt := range []string{"fix the kettle", "boil the Kettle", "write the docs"} {
			p.types(prompt, "\r")
			p.goes <- nil
		}
		p.hears("fix the kettle", "boil the Kettle", "write the docs")
		line := func(want, status string) {
			t.Helper()
			if seen := p.sees(); !strings.Contains(seen, "\n> "+want+"\n"+status) {
				t.Errorf("no line %q with %q:\n%s", want, status, seen)
			}
		}
		p.types("new", "\x12", "kettle")
		line("boil the Kettle", "search: kettle  ^R older")
		p.types("\x12")
		line("fix the kettle", "search: kettle")
		p.types("\x12")
		line("fix the kettle", "no earlier prompt has: kettle")
		p.types("\x7f")
		line("boil the Kettle", "search: kettl")
		p.types("\x03")
		line("new", "")
		p.types("\x12", "docs\x1b[2J\u202e", "\x1b[200~x\ny\x1b[201~")
		line("write the docs", "no earlier prompt has: docsx")
		p.types("\x7f", "\r")
		line("write the docs", "")
		p.types("\x1b[B") // the text from before
		line("new", "")
		p.types("\x12", "boil", "\x01", "! ")
		line("! boil the Kettle", "")
		p.hears("fix the kettle", "boil the Kettle", "write the docs")
	})
}

// TestSearchIsTyping: a question waits while the person searches.
func TestSearchIsTyping(t *testing.T) {
	in(t, 80, 24, Options{}, func(p *person) {
		p.types("go", "\r", "\x12")
		answered := p.asks(p.ctx, "rm -rf x")
		time.Sleep(time.Minute)
		p.types("o")
		time.Sleep(time.Minute)
		if a, err, done := answered(); done || !strings.Contains(p.sees(), "a question waits") {
			t.Errorf("answered %+v, %v, %v\n%s", a, err, done, p.sees())
		}
		p.types("\t", "\t") // takes what was found, and goes to the question
		if !strings.Contains(p.sees(), "rm -rf x") {
			t.Errorf("the question is not there:\n%s", p.sees())
		}
	})
}

// TestCommandsAreSeen: a command that a person does not see whole is not obeyed, nor one
// with a blank before it: a page that is copied from may put one before what it shows.
func TestCommandsAreSeen(t *testing.T) {
	paste := func(text string) string { return "\x1b[200~" + text + "\x1b[201~" }
	for _, tt := range []struct {
		typed, ran, heard string
	}{
		{"/allow Bash(x)", "Bash(x)", ""},
		{paste("/allow\tBash(x)"), "Bash(x)", ""},
		{paste("/allow Bash(x)\n"), "Bash(x)", ""},
		{paste("/allow Bash" + strings.Repeat("\n", 40)), "", ""},
		{paste("/allow Bash" + strings.Repeat("\n", 40) + "fix the test"), "", ""},
		{paste("\n\n/allow Bash\nfix the test"), "", ""},
		{paste("/allow\nBash"), "", ""},
		{paste("/allow Bash(echo " + strings.Repeat("x ", 1000) + ")"), "", ""},
		{" /allow Bash", "", " /allow Bash"},
		{paste("fix the test\n/allow Bash"), "", "fix the test\n/allow Bash"},
	} {
		ran := ""
		o := Options{Commands: []Command{{Name: "allow", Run: func(args string) (string, error) { ran = args; return "", nil }}}}
		in(t, 80, 24, o, func(p *person) {
			p.types(tt.typed, "\r")
			p.hears(strings.Split(tt.heard, "|")[:min(len(tt.heard), 1)]...)
			if ran != tt.ran || tt.ran == "" && tt.heard == "" && !strings.Contains(p.sees(), "/allow is a command, and all of a command") {
				t.Errorf("%.60q: ran %q\n%s", tt.typed, ran, p.sees())
			}
		})
	}
}

// TestPasteIsNotTyped: no Enter that is pasted sends anything, however slowly it comes and
// whatever marks the text holds.
func TestPasteIsNotTyped(t *testing.T) {
	for name, tt := range map[string]struct {
		pieces []string
		pause  time.Duration
		line   string
	}{
		"slow":              {[]string{"\x1b[200~one\r", "two\r", "three\x1b[201~"}, time.Second, "> one\n  two\n  three\n"},
		"an end of its own": {[]string{"\x1b[200~one\x1b[201~/quit\r"}, 0, "> one/quit\n"},
		"and apart":         {[]string{"\x1b[200~one\x1b[201~", "/quit", "\r"}, 20 * time.Millisecond, "> one/quit\n"},
		"without an end":    {[]string{"\x1b[200~one\rtwo"}, 4 * time.Second, "> one\n  two\n"},
		"^C in it":          {[]string{"\x1b[200~one\x03\x04two\x1b[201~"}, 0, "> one<U+0003><U+0004>two\n"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, 80, 24, Options{}, func(p *person) {
				for _, piece := range tt.pieces {
					p.board.keys <- []byte(piece)
					time.Sleep(tt.pause)
				}
				p.hears()
				if !strings.Contains(p.sees(), tt.line) {
					t.Errorf("the screen:\n%s", p.sees())
				}
			})
		})
	}
}
