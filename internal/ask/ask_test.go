package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// pretendBoard is a terminal for the tests. Like a real one, it drops what is
// typed while it is not open.
type pretendBoard struct {
	mu            sync.Mutex
	keys          chan []byte
	notices       chan tty.Notice
	open          bool
	columns, rows int
	opens, stops  int
	retakes       int
}

func (b *pretendBoard) Open() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
	b.opens++
	return nil
}

func (b *pretendBoard) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = false
}

func (b *pretendBoard) Keys() <-chan []byte        { return b.keys }
func (b *pretendBoard) Notices() <-chan tty.Notice { return b.notices }
func (b *pretendBoard) Size() (int, int)           { return b.columns, b.rows }
func (b *pretendBoard) Dumb() bool                 { return false }
func (b *pretendBoard) ASCII() bool                { return false }
func (b *pretendBoard) Retake()                    { b.retakes++ }
func (b *pretendBoard) Stop() error                { b.stops++; return nil }

// paper is the output of a terminal.
type paper struct {
	mu   sync.Mutex
	text strings.Builder
}

func (p *paper) Write(data []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(data)
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// person is somebody at a terminal.
type person struct {
	screen paper
	board  *pretendBoard
	asker  *Approver
}

func newPerson(d Options) *person {
	p := &person{board: &pretendBoard{keys: make(chan []byte), notices: make(chan tty.Notice), columns: 80, rows: 500}}
	p.asker = New(p.board, NewScreen(&p.screen, nil), d)
	return p
}

// types types bytes that arrive at once.
func (p *person) types(text string) {
	p.board.mu.Lock()
	open := p.board.open
	p.board.mu.Unlock()
	if !open {
		return
	}
	select {
	case p.board.keys <- []byte(text):
	case <-time.After(time.Hour): // nobody reads it
	}
}

// sees returns what is on the screen now.
func (p *person) sees() string {
	synctest.Wait()
	return strings.ReplaceAll(p.screen.String(), "\r\n", "\n")
}

// asked is the state of a question.
type asked struct {
	answer permission.Answer
	err    error
	done   bool
}

// approve asks in another goroutine and returns a function for the state so far.
func (p *person) approve(ctx context.Context, request permission.Request) func() asked {
	var mu sync.Mutex
	var a asked
	go func() {
		answer, err := p.asker.Approve(ctx, request)
		mu.Lock()
		defer mu.Unlock()
		a = asked{answer, err, true}
	}()
	synctest.Wait()
	return func() asked {
		mu.Lock()
		defer mu.Unlock()
		return a
	}
}

// npm is a tool use that the policy of ask asks about.
var npm = permission.ToolUse{ID: "toolu_1", Tool: "Bash", Input: json.RawMessage(`{"command":"npm install left-pad"}`), Dir: "/proj"}

// ask returns the question about a tool use under a policy that allows commands
// and asks about some.
func ask(use permission.ToolUse) permission.Request {
	r := evaluatorOf("").Request(use)
	if r.Decision.Behavior != permission.Ask {
		panic(fmt.Sprintf("%s is %s: %s", use.Input, r.Decision.Behavior, r.Decision.Reason))
	}
	return r
}

// evaluatorOf returns an evaluator with such a policy and further settings.
func evaluatorOf(more string) *permission.Evaluator {
	spec, err := policy.Parse([]byte(`
allow = ["Bash", "Read"]
ask = ["Bash(npm install:*)", "Bash(git push:*)", "Bash(rm:*)"]
unlisted = "ask"
`+more), "agent-wrapper.toml")
	if err != nil {
		panic(err)
	}
	pol, session, _, err := spec.Compile(patterns.Place{Workspace: "/proj", Home: "/home/dev"})
	if err != nil {
		panic(err)
	}
	pol.Guarded = []string{"/proj/agent-wrapper.toml"}
	return &permission.Evaluator{Policy: pol, Session: session, Env: workspace.Fake{}}
}

// command returns the question about a command.
func command(text string) permission.Request {
	use := npm
	use.Input, _ = json.Marshal(map[string]string{"command": text})
	return ask(use)
}

// typed runs one question to its end while the keys are typed one by one, each
// after the time of grace.
func typed(t *testing.T, d Options, request permission.Request, keys ...string) (answer permission.Answer, screen string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(d)
		a := p.approve(t.Context(), request)
		for _, key := range keys {
			time.Sleep(grace + settle)
			p.types(key)
		}
		time.Sleep(grace)
		synctest.Wait()
		if !a().done {
			close(p.board.keys)
			synctest.Wait()
		}
		answer, err, screen = a().answer, a().err, p.sees()
		if p.board.open {
			t.Error("the terminal was not given back")
		}
	})
	return answer, screen, err
}

func TestAnswers(t *testing.T) {
	install := ask(npm)
	held := command("echo x > agent-wrapper.toml")
	tier3 := command("rm -rf x")
	allow, deny := permission.Allow, permission.Deny
	exact := []string{"Bash(npm install left-pad)"}
	tests := []struct {
		name    string
		request permission.Request
		keys    []string
		want    permission.Answer
		gone    bool // no key was an answer
	}{
		{name: "once", request: install, keys: []string{"o"}, want: permission.Answer{Behavior: allow}},
		{name: "session", request: install, keys: []string{"s"}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeSession, Rules: exact}},
		{name: "deny", request: install, keys: []string{"d"}, want: permission.Answer{Behavior: deny}},
		{name: "a wider rule", request: install, keys: []string{"0", "9", "1", "x", "\r", "2"}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeSession, Rules: []string{"Bash(npm install:*)"}}},
		{name: "rules left", request: install, keys: []string{"n", "\x1b", "1", "o"}, want: permission.Answer{Behavior: allow}},
		{name: "no such rung", request: install, keys: []string{"3", "9", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "held has no rung", request: held, keys: []string{"2", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "tier 3 has no rung", request: tier3, keys: []string{"2", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "deny for the session", request: install, keys: []string{"n", "1"}, want: permission.Answer{Behavior: deny, Scope: permission.ScopeSession, Rules: exact}},
		{name: "words", request: install, keys: []string{"w", "use ", "pnpm", "\r"}, want: permission.Answer{Behavior: deny, Message: "use pnpm"}},
		{name: "words corrected", request: install, keys: []string{"w", "no, use nmp", "\x17", "pmpn", "\x7f", "\x7f", "\x7f", "n", "pm", "\r"}, want: permission.Answer{Behavior: deny, Message: "no, use pnpm"}},
		{name: "words erased", request: install, keys: []string{"w", "xyz", "\x15", "why", "\r"}, want: permission.Answer{Behavior: deny, Message: "why"}},
		{name: "words left", request: install, keys: []string{"w", "use pnpm", "\x1b", "o"}, want: permission.Answer{Behavior: allow}},
		{name: "no words", request: install, keys: []string{"w", "\r", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "no answers", request: install, keys: []string{"\r", "\n", "y", "Y", "O", "S", "A", "D", "1", " ", "\t", "\x04", "\x1b", "ο", "ｏ", "p"}, gone: true},
		{name: "not offered", request: install, keys: []string{"a", "e", "v", "?"}, gone: true},
		{name: "held has no session", request: held, keys: []string{"s", "a", "n", "o"}, want: permission.Answer{Behavior: allow}},
		{name: "tier 3 has no session", request: tier3, keys: []string{"s", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "closed terminal", request: install, gone: true},
		{name: "closed at words", request: install, keys: []string{"w", "no"}, gone: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, screen, err := typed(t, Options{}, tt.request, tt.keys...)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s\nscreen:\n%s", d, screen)
			}
			if errors.Is(err, tty.ErrGone) != tt.gone {
				t.Errorf("error %v", err)
			}
		})
	}
}

// A key counts 350 ms after the question appeared and after the previous key, and
// no earlier.
func TestGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		for _, pause := range []time.Duration{0, 100 * time.Millisecond, grace - 1, grace - 1, grace - 1} {
			time.Sleep(pause)
			p.types("o")
			synctest.Wait()
		}
		if strings.Contains(p.sees(), Prompt) {
			t.Errorf("the screen says that a key counts:\n%s", p.sees())
		}
		time.Sleep(grace - 1)
		if a().done || strings.Contains(p.sees(), Prompt) {
			t.Fatalf("answered %+v by a key that does not count", a().answer)
		}
		time.Sleep(time.Nanosecond)
		if !strings.HasSuffix(p.sees(), Prompt) {
			t.Errorf("the screen does not say that a key counts:\n%s", p.sees())
		}
		p.types("o")
		time.Sleep(settle)
		synctest.Wait()
		if !a().done || a().answer.Behavior != permission.Allow {
			t.Errorf("%+v", a())
		}
	})
}

// A key without a meaning restarts the time of grace.
func TestGraceAfterOtherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		time.Sleep(grace)
		p.types("x")
		time.Sleep(settle)
		p.types("o")
		time.Sleep(10 * grace)
		synctest.Wait()
		if a().done {
			t.Errorf("answered %+v", a().answer)
		}
		close(p.board.keys)
	})
}

// A burst of keys was pasted, even if its first key comes alone.
func TestBurst(t *testing.T) {
	for _, burst := range [][]string{{"oo"}, {"okay"}, {"o\r"}, {"o", "k"}, {"o", "\r"}, {"\x1b[200~o\x1b[201~"}, {"\x1b[200~", "o", "\x1b[201~"}, {"d", "o"}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(Options{})
			a := p.approve(t.Context(), ask(npm))
			time.Sleep(grace)
			for _, piece := range burst {
				p.types(piece)
				time.Sleep(settle - 1)
			}
			time.Sleep(10 * grace)
			synctest.Wait()
			if a().done {
				t.Errorf("%q answered %+v", burst, a().answer)
			}
			close(p.board.keys)
		})
	}
}

// Input that is not a key has no effect: focus, mouse, arrows, reports of the
// terminal, keys with Alt or Control; whole and in pieces.
func TestSequences(t *testing.T) {
	for _, sequence := range []string{
		"\x1b[I", "\x1b[O", "\x1b[Mooo", "\x1b[M o!", "\x1b[<0;10;5M", "\x1b[<0;10;5m", "\x1b[<35;1;1M",
		"\x1b[A", "\x1bOA", "\x1bOo", "\x1bNo", "\x1bo", "\x1bs", "\x1b[Z", "\x1b[3~", "\x1b[[A", "\x1b[111u", "\x1b[27;5;111~",
		"\x1b]10;rgb:o/o/o\a", "\x1b]52;c;o\x1b\\", "\x1bPo\x1b\\", "\x1b[?1;2c", "\x1b[12;40R", "\x1b\x1b", "\x0f", "\x00", "\x13", "\xff", "\xc3",
	} {
		for cut := range len(sequence) {
			synctest.Test(t, func(t *testing.T) {
				p := newPerson(Options{})
				a := p.approve(t.Context(), ask(npm))
				time.Sleep(grace)
				if cut > 0 {
					p.types(sequence[:cut])
					time.Sleep(settle - 1)
				}
				p.types(sequence[cut:])
				time.Sleep(10 * grace)
				synctest.Wait()
				if a().done {
					t.Errorf("%q answered %+v", sequence, a().answer)
				}
				close(p.board.keys)
			})
		}
	}
}

// Keys in a text field only affect the field, and so does a pasted Enter.
func TestFieldDecidesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		time.Sleep(grace)
		synctest.Wait() // the question takes keys by now
		p.types("w")
		time.Sleep(grace)
		for _, key := range []string{"o", "s", "\x1b[Z", "\t", "\x1b[I", "yes\ryes", "\x1b[200~a\rb\x1b[201~", "\x1bo"} {
			p.types(key)
			time.Sleep(settle)
		}
		synctest.Wait()
		if a().done {
			t.Fatalf("answered %+v", a().answer)
		}
		p.types("\r")
		synctest.Wait()
		if want := (permission.Answer{Behavior: permission.Deny, Message: "osyes yesa b"}); !cmp.Equal(a().answer, want) {
			t.Errorf("%+v", a().answer)
		}
	})
}

// ^C denies and interrupts, at any time.
func TestInterrupt(t *testing.T) {
	for _, keys := range [][]string{{"\x03"}, {"o\x03"}, {"w", "no\x03"}, {"\x03o"}} {
		interrupted := 0
		answer, screen, err := typed(t, Options{Interrupt: func() { interrupted++ }}, ask(npm), keys...)
		if !errors.Is(err, errInterrupted) || answer.Behavior != 0 || interrupted != 1 || !strings.Contains(screen, "no longer asked about Bash: interrupted") {
			t.Errorf("%q: %+v, %v, interrupted %d times\n%s", keys, answer, err, interrupted, screen)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		p.types("\x03")
		synctest.Wait()
		if !errors.Is(a().err, errInterrupted) {
			t.Errorf("^C in the time of grace: %+v", a())
		}
	})
}

// ^Z stops the program. When it continues, the question is shown again and the
// time of grace restarts.
func TestStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		time.Sleep(grace)
		p.types("\x1a")
		time.Sleep(settle)
		synctest.Wait()
		if p.board.stops != 1 || strings.Count(p.sees(), "┌ Bash") != 2 {
			t.Errorf("stopped %d times\n%s", p.board.stops, p.sees())
		}
		p.types("o")
		time.Sleep(grace)
		p.board.notices <- tty.Resumed
		synctest.Wait()
		p.types("o")
		time.Sleep(grace)
		synctest.Wait()
		if a().done || p.board.retakes != 1 || strings.Count(p.sees(), "┌ Bash") != 3 {
			t.Errorf("%+v, taken again %d times\n%s", a(), p.board.retakes, p.sees())
		}
		p.types("d")
		time.Sleep(settle)
		synctest.Wait()
		if a().answer.Behavior != permission.Deny {
			t.Errorf("%+v", a())
		}
	})
}

// When the width of the window changes, the question is written again.
func TestResized(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), ask(npm))
		time.Sleep(grace)
		p.board.notices <- tty.Resized
		synctest.Wait()
		if strings.Count(p.sees(), "┌ Bash") != 1 {
			t.Errorf("written anew for the same width:\n%s", p.sees())
		}
		p.board.columns = 31
		p.board.notices <- tty.Resized
		p.types("o")
		time.Sleep(grace)
		if shown := p.sees(); a().done || !strings.Contains(shown, "│ moderate: installs a package\n│ │ npm install left-pad\n") {
			t.Errorf("%+v\n%s", a(), shown)
		}
		close(p.board.keys)
	})
}

// The complete prompt.
func TestPromptText(t *testing.T) {
	t.Parallel()
	use := npm
	use.Agent, use.Session = "a1", "5f0e"
	request := ask(use)
	d := Options{Explain: func(permission.ToolUse) string { return "" }, Keep: func(string) (patterns.Source, error) { return patterns.Source{}, nil }, Into: func(string) string { return "agent-wrapper.local.toml" }, Editor: &Editor{}}
	_, screen, _ := typed(t, d, request, "o")
	want := `┌ Bash (subagent a1)                                moderate: installs a package
│ │ npm install left-pad
│   ^^^^^^^^^^^^^^^^^^^^
│ asked by Bash(npm install:*)  agent-wrapper.toml:3
│
│ o  once   d  deny   w  deny, say why   n  never this session   ?  why
│ s  this session  Bash(npm install left-pad)  exactly this
│ 2                Bash(npm install:*)         any ` + "`npm install`" + ` command
│ a  always, in agent-wrapper.local.toml   e  edit
└ > once
`
	if d := cmp.Diff(want, strings.ReplaceAll(screen, "\r", "")); d != "" {
		t.Error(d)
	}
}

// Nothing can be kept while something is left out; once everything is shown, it
// can.
func TestLongInput(t *testing.T) {
	use := npm
	use.Input, _ = json.Marshal(map[string]string{"command": "npm install left-pad", "notes": strings.Repeat("echo\n", 100)})
	request := ask(use)
	got, screen, _ := typed(t, Options{}, request, "s", "a", "o")
	if got.Scope != permission.ScopeOnce || !strings.Contains(screen, "│ … 281 bytes in 57 lines (v shows all)") || !strings.Contains(screen, "│ after v: session (not everything is shown)") {
		t.Errorf("%+v\n%s", got, screen)
	}
	got, screen, _ = typed(t, Options{}, request, "v", "s", "1")
	if got.Scope != permission.ScopeSession || strings.Count(screen, "│ │ echo\n") < 100 {
		t.Errorf("%+v\n%s", got, screen)
	}
}

// "Always" writes the rule and shows where; if it cannot be written, it allows
// once.
func TestAlways(t *testing.T) {
	var kept []string
	d := Options{Keep: func(rule string) (patterns.Source, error) {
		kept = append(kept, rule)
		return patterns.Source{Name: "agent-wrapper.local.toml", Line: 3, Col: 2}, nil
	}}
	got, screen, err := typed(t, d, ask(npm), "a", "1")
	want := permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeAlways, Rules: []string{"Bash(npm install left-pad)"}}
	if err != nil || !cmp.Equal(got, want) || !cmp.Equal(kept, want.Rules) || !strings.Contains(screen, "kept Bash(npm install left-pad) in agent-wrapper.local.toml:3:2\n") {
		t.Errorf("%+v, %v, kept %q\n%s", got, err, kept, screen)
	}
	d.Keep = func(string) (patterns.Source, error) { return patterns.Source{}, errors.New("no space left\x1b[2J") }
	got, screen, err = typed(t, d, ask(npm), "a", "1")
	if err != nil || !cmp.Equal(got, permission.Answer{Behavior: permission.Allow}) || !strings.Contains(screen, "is not kept, and this is approved once: no space left<U+001B>[2J\n") {
		t.Errorf("%+v, %v\n%s", got, err, screen)
	}
}

// A file that changes while its diff is read is shown again before anything is
// allowed.
func TestFileChanges(t *testing.T) {
	use := npm
	use.Tool, use.Input = "Write", json.RawMessage(`{"file_path":"/proj/a","content":"new\n"}`)
	request := ask(use)
	looks := 0
	d := Options{File: func(*permission.ToolUse) *display.File {
		looks++
		return &display.File{Exists: true, Text: fmt.Sprintf("old %d\n", min(looks/2, 1))}
	}}
	got, screen, _ := typed(t, d, request, "o")
	if got.Behavior != 0 || !strings.Contains(screen, "The file has changed meanwhile:") || !strings.Contains(screen, "│ - old 1\n") {
		t.Errorf("%+v\n%s", got, screen)
	}
	looks = 0
	if got, screen, _ = typed(t, d, request, "o", "o"); got.Behavior != permission.Allow {
		t.Errorf("%+v\n%s", got, screen)
	}
}

// "Why" shows the trace and leaves the question open.
func TestWhy(t *testing.T) {
	d := Options{Explain: func(permission.ToolUse) string { return "1. run npm\n" }}
	got, screen, _ := typed(t, d, ask(npm), "?", "d")
	if got.Behavior != permission.Deny || !strings.Contains(screen, "└ > why\n\n1. run npm\n\n│\n│ o  once") {
		t.Errorf("%+v\n%s", got, screen)
	}
}

// A panic restores the terminal.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{Explain: func(permission.ToolUse) string { panic("broken") }})
		caught := make(chan any)
		go func() {
			defer func() { caught <- recover() }()
			p.asker.Approve(t.Context(), ask(npm))
		}()
		time.Sleep(grace)
		p.types("?")
		if <-caught == nil || p.board.open {
			t.Error("the terminal was not given back")
		}
	})
}

// What was typed before the question appeared, or between two questions, answers
// neither.
func TestTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		p.types("o") // no question is open yet
		first, cancel := context.WithCancel(t.Context())
		a := p.approve(first, ask(npm))
		time.Sleep(grace)
		cancel()
		synctest.Wait()
		if !errors.Is(a().err, context.Canceled) {
			t.Errorf("%+v", a())
		}
		p.types("o") // no question is open now
		b := p.approve(t.Context(), ask(npm))
		time.Sleep(10 * grace)
		synctest.Wait()
		if b().done {
			t.Errorf("answered by what was typed before: %+v", b().answer)
		}
		p.types("d")
		time.Sleep(settle)
		synctest.Wait()
		if b().answer.Behavior != permission.Deny {
			t.Errorf("got %+v", b().answer)
		}
	})
}

// A person who was too slow is told so, not the name of an error.
func TestNotAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		a := p.approve(ctx, command("git push"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if shown := p.sees(); a().err == nil || !strings.Contains(shown, "(no longer asked about Bash: not answered in time)\n") {
			t.Errorf("%+v, screen:\n%q", a(), shown)
		}
	})
}

// A question that is withdrawn is removed from the screen; a key that was meant
// for it does not answer the next one.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		a := p.approve(ctx, ask(npm))
		b := p.approve(t.Context(), command("git push"))
		time.Sleep(grace)
		if strings.Contains(p.sees(), "git push") {
			t.Errorf("two questions at a time:\n%s", p.sees())
		}
		cancel(errors.New("withdrawn"))
		p.types("o") // meant for the first
		time.Sleep(10 * grace)
		synctest.Wait()
		if a().err == nil || b().done {
			t.Errorf("first %+v, second %+v", a(), b())
		}
		shown := p.sees()
		if !strings.Contains(shown, "A\r\x1b[J(no longer asked about Bash: the answer is no longer needed)\n") || !strings.Contains(shown, "git push") {
			t.Errorf("screen:\n%q", shown)
		}
		p.types("d")
		time.Sleep(settle)
		synctest.Wait()
		if b().answer.Behavior != permission.Deny {
			t.Errorf("second %+v", b())
		}
	})
}

// A question that is withdrawn while a key settles is not answered by the key.
func TestCancelledWhileAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		a := p.approve(ctx, ask(npm))
		time.Sleep(grace)
		p.types("o")
		time.Sleep(settle - 1)
		cancel()
		time.Sleep(grace)
		synctest.Wait()
		if !errors.Is(a().err, context.Canceled) || a().answer.Behavior != 0 {
			t.Errorf("%+v", a())
		}
	})
}

// Nor is one that is withdrawn while its answer is carried out.
func TestCancelledWhileKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		p := newPerson(Options{Keep: func(string) (patterns.Source, error) {
			cancel()
			return patterns.Source{}, nil
		}})
		a := p.approve(ctx, ask(npm))
		for _, key := range []string{"a", "1"} {
			time.Sleep(grace + settle)
			p.types(key)
		}
		time.Sleep(settle)
		synctest.Wait()
		if !a().done || !errors.Is(a().err, context.Canceled) || a().answer.Behavior != 0 {
			t.Errorf("%+v", a())
		}
	})
}

// Other output waits while a question is open.
func TestScreenWaits(t *testing.T) {
	var out strings.Builder
	s := NewScreen(&out, nil)
	s.hold()
	io.WriteString(s, "event\n")
	s.Ask("question? ")
	s.Ask("answer\n")
	s.release()
	io.WriteString(s, "later\n")
	if got, want := out.String(), "question? answer\nevent\nlater\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const questions = `{"questions":[
 {"question":"Which\u001b one?","header":"h","options":[{"label":"Red","description":"warm"},{"label":"Blue"}],"multiSelect":false},
 {"question":"Which ones?","options":[{"label":"A"},{"label":"B"},{"label":"C"}],"multiSelect":true}]}`

func questioned() permission.Request {
	return ask(permission.ToolUse{Tool: "AskUserQuestion", Input: json.RawMessage(questions)})
}

func TestChoices(t *testing.T) {
	got, screen, err := typed(t, Options{}, questioned(), "3", "\r", "1,2", "\r", "two", "\r", "2", "\r", "1, 3", "\r")
	var input struct {
		Questions json.RawMessage
		Answers   map[string]string
	}
	if err != nil || got.Behavior != permission.Allow || json.Unmarshal(got.Input, &input) != nil {
		t.Fatalf("%+v, %v\n%s", got, err, screen)
	}
	if d := cmp.Diff(map[string]string{"Which\x1b one?": "Blue", "Which ones?": "A, C"}, input.Answers); d != "" {
		t.Error(d)
	}
	if len(input.Questions) == 0 {
		t.Error("the questions are gone from the input")
	}
	if !strings.Contains(screen, "┌ The agent asks\n│ │ Which<U+001B> one?\n│\n│ 1  Red   warm\n│ 2  Blue\n│ a number") {
		t.Error(screen)
	}
}

func TestChoicesInOwnWords(t *testing.T) {
	got, _, _ := typed(t, Options{}, questioned(), "= neither", "\r", "=", "\r", "= all of them", "\r")
	if !strings.Contains(string(got.Input), `"neither"`) || !strings.Contains(string(got.Input), `"= all of them"`) && !strings.Contains(string(got.Input), `"all of them"`) {
		t.Errorf("%+v", got)
	}
}

func TestChoicesRefused(t *testing.T) {
	for _, keys := range [][]string{{"1", "\r", "deny", "\r"}, {"d", "\r"}, {"\x1b"}} {
		if got, _, _ := typed(t, Options{}, questioned(), keys...); got.Behavior != permission.Deny || got.Input != nil {
			t.Errorf("%q: %+v", keys, got)
		}
	}
	request := questioned()
	request.Use.Input = json.RawMessage(`{"questions":[]}`)
	if _, _, err := typed(t, Options{}, request); err == nil {
		t.Error("nothing was asked, and there was no error")
	}
}

// A question of the agent is not answered by what was typed before it appeared,
// nor by Enter alone.
func TestChoicesTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		a := p.approve(t.Context(), questioned())
		for _, key := range []string{"2", "\r", "1", "\r"} {
			p.types(key)
			time.Sleep(grace - 1)
		}
		time.Sleep(grace)
		p.types("\r")
		time.Sleep(grace)
		synctest.Wait()
		if a().done || strings.Contains(p.sees(), "Which ones?") {
			t.Errorf("%+v\n%s", a(), p.sees())
		}
		close(p.board.keys)
	})
}

// Only a key of the menu that is pressed alone allows.
func FuzzKeys(f *testing.F) {
	for _, data := range []string{"o", "s", "\x1b|o", "x||||o", "o|o", "||||||||o||||||||", "\x1b[M|oo|o", "w|o\r", "||||||||w|||||||||a|||o\r"} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data string) {
		const tick = 50 * time.Millisecond
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(Options{})
			a := p.approve(t.Context(), ask(npm))
			pause, alone := time.Duration(0), false
			for _, piece := range strings.Split(data, "|") {
				if piece != "" && !a().done {
					alone = alone || pause >= grace && (piece == "o" || piece == "s")
					p.types(piece)
					pause = 0
				}
				time.Sleep(tick)
				synctest.Wait()
				pause += tick
			}
			time.Sleep(grace)
			synctest.Wait()
			if a().done && a().answer.Behavior == permission.Allow && !alone {
				t.Errorf("%q allows", data)
			}
			close(p.board.keys)
		})
	})
}

// The edited input is decided again.
func TestEdited(t *testing.T) {
	bash := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"rm -rf build","timeout":5}`)}
	write := permission.ToolUse{Tool: "Write", Input: json.RawMessage(`{"file_path":"a","content":"b"}`)}
	tests := []struct {
		use     permission.ToolUse
		text    string // "" means unchanged
		want    string
		problem string
	}{
		{use: bash},
		{use: bash, text: "rm -r build\n", want: `{"command":"rm -r build","timeout":5}`},
		{use: bash, text: "echo a\r\necho b\n\n", want: `{"command":"echo a\necho b\n","timeout":5}`},
		{use: bash, text: " \n", problem: "nothing is left"},
		{use: write},
		{use: write, text: "{\"file_path\":\"a\",\n\"content\":\"c\"}\n", want: "{\"file_path\":\"a\",\n\"content\":\"c\"}"},
		{use: write, text: "{\"file_path\"", problem: "no JSON object"},
		{use: write, text: "[]", problem: "no JSON object"},
	}
	for _, tt := range tests {
		name, before := editable(&tt.use)
		if tt.text == "" {
			tt.text = before
		}
		got, err := edited(&tt.use, name, before, tt.text)
		if string(got) != tt.want || (err == nil) != (tt.problem == "") || err != nil && !strings.Contains(err.Error(), tt.problem) {
			t.Errorf("%s edited to %q: %s, %v", tt.use.Input, tt.text, got, err)
		}
	}
}

// The editor's command is split without a shell.
func TestEditorWords(t *testing.T) {
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "vi -u NONE $(x)")
	if e := NewEditor(os.Stdin, ""); e == nil || !cmp.Equal(e.words, []string{"vi", "-u", "NONE", "$(x)"}) {
		t.Errorf("%+v", e)
	}
	t.Setenv("VISUAL", "code --wait")
	if e := NewEditor(os.Stdin, ""); e == nil || e.words[0] != "code" {
		t.Errorf("%+v", e)
	}
	t.Setenv("VISUAL", `"a b"`)
	t.Setenv("EDITOR", " ")
	if e := NewEditor(os.Stdin, t.TempDir()); e.words != nil || e.named {
		t.Errorf("%+v", e)
	}
	vi := filepath.Join(t.TempDir(), "vi")
	if err := os.WriteFile(vi, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if e := NewEditor(os.Stdin, filepath.Dir(vi)); !cmp.Equal(e.words, []string{vi}) || e.named {
		t.Errorf("%+v", e)
	}
}
