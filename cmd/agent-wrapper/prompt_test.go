package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/risk"
)

// person is a terminal with somebody at it.
type person struct {
	screen strings.Builder
	typing *io.PipeWriter
	asker  *asker
}

func newPerson() *person {
	p := &person{}
	in, typing := io.Pipe()
	p.typing = typing
	p.asker = newAsker(newKeyboard(in), &screen{out: &p.screen})
	return p
}

func ask(d permission.Decision) permission.Request {
	d.Behavior, d.Risk, d.Tier = permission.Ask, risk.Moderate, 2
	return permission.Request{
		Use:      permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"npm install left-pad"}`), Dir: "/proj"},
		Decision: d,
	}
}

var install = permission.Decision{Parts: []permission.Part{
	{Behavior: permission.Ask, Action: "run npm install left-pad", Reason: "it is on the ask list", Exact: "Bash(npm install left-pad)"},
}}

// typed runs one question to its end with these lines typed one by one.
func typed(t *testing.T, request permission.Request, lines ...string) (answer permission.Answer, screen string, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		done := make(chan struct{})
		go func() {
			answer, err = p.asker.Approve(context.Background(), request)
			close(done)
		}()
		for _, line := range lines {
			synctest.Wait() // the question stands
			io.WriteString(p.typing, line+"\n")
		}
		synctest.Wait()
		p.typing.Close()
		<-done
		screen = p.screen.String()
	})
	return answer, screen, err
}

func TestAnswers(t *testing.T) {
	held := install
	held.Held = true
	opaque := permission.Decision{Parts: append([]permission.Part{{Behavior: permission.Ask, Action: "run eval $x", Reason: "not known"}}, install.Parts...)}
	allow, deny := permission.Allow, permission.Deny
	tests := []struct {
		name     string
		decision permission.Decision
		lines    []string
		want     permission.Answer
		gone     bool
	}{
		{name: "once", decision: install, lines: []string{"o"}, want: permission.Answer{Behavior: allow}},
		{name: "once in words", decision: install, lines: []string{"ONCE"}, want: permission.Answer{Behavior: allow}},
		{name: "session", decision: install, lines: []string{"s"}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeSession, Rules: []string{"Bash(npm install left-pad)"}}},
		{name: "deny", decision: install, lines: []string{"d"}, want: permission.Answer{Behavior: deny}},
		{name: "deny and words", decision: install, lines: []string{"d use pnpm  please"}, want: permission.Answer{Behavior: deny, Message: "use pnpm  please"}},
		{name: "words", decision: install, lines: []string{"w", "use pnpm"}, want: permission.Answer{Behavior: deny, Message: "use pnpm"}},
		{name: "words at once", decision: install, lines: []string{"w use pnpm"}, want: permission.Answer{Behavior: deny, Message: "use pnpm"}},
		{name: "empty is no answer", decision: install, lines: []string{"", "y", "yes", "s p", "o o", "1", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "held has no session", decision: held, lines: []string{"s", "o"}, want: permission.Answer{Behavior: allow}},
		{name: "a part without a rule has no session", decision: opaque, lines: []string{"session", "d"}, want: permission.Answer{Behavior: deny}},
		{name: "closed terminal", decision: install, gone: true},
		{name: "closed at words", decision: install, lines: []string{"w"}, want: permission.Answer{Behavior: deny}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, screen, err := typed(t, ask(tt.decision), tt.lines...)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("%s\nscreen:\n%s", d, screen)
			}
			if errors.Is(err, errGone) != tt.gone {
				t.Errorf("error %v", err)
			}
		})
	}
}

// "a plain prompt (once / session / deny / deny with words)": what it shows.
func TestPromptText(t *testing.T) {
	request := ask(install)
	request.Decision.Rule, request.Decision.RuleSource.Name = "Bash(npm install:*)", "--ask"
	request.Use.Agent = "a1"
	_, screen, _ := typed(t, request, "o")
	want := `
? Bash (subagent a1)
    command: npm install left-pad
  in /proj
  - run npm install left-pad: it is on the ask list
  rule Bash(npm install:*) (--ask)
  risk moderate, tier 2
  [o]nce  [s]ession (adds Bash(npm install left-pad))  [d]eny  deny with [w]ords
  > `
	if d := cmp.Diff(want, screen); d != "" {
		t.Error(d)
	}
}

// A line of the input cannot pass for a line of the question.
func TestPromptCannotBeForged(t *testing.T) {
	request := ask(install)
	request.Use.Input = json.RawMessage(`{"command":"rm -rf x\n  risk safe, tier 1\r\u001b[2A\u202Etxt","zz\u001b":1}`)
	_, screen, _ := typed(t, request, "d")
	for _, bad := range []string{"\r", "\x1b", "\u202E", "\n  risk safe"} {
		if strings.Contains(screen, bad) {
			t.Errorf("the screen holds %q:\n%s", bad, screen)
		}
	}
	if !strings.Contains(screen, "    command: rm -rf x\n    |   risk safe, tier 1<U+000D><U+001B>[2A<U+202E>txt\n    zz<U+001B>: 1\n") {
		t.Errorf("screen:\n%s", screen)
	}
}

// What is not shown whole cannot be approved for the session.
func TestLongInput(t *testing.T) {
	request := ask(install)
	input, _ := json.Marshal(map[string]string{"content": strings.Repeat("echo\n", 100)})
	request.Use.Input = input
	got, screen, _ := typed(t, request, "s", "o")
	if got.Scope != permission.ScopeOnce || !strings.Contains(screen, "(61 more lines are not shown)") {
		t.Errorf("%+v\n%s", got, screen)
	}
}

// A command is shown to its end, however long it is.
func TestLongCommand(t *testing.T) {
	request := ask(install)
	input, _ := json.Marshal(map[string]string{"command": strings.Repeat("echo\n", 3000) + "rm -rf x"})
	request.Use.Input = input
	if _, screen, _ := typed(t, request, "d"); !strings.Contains(screen, "    | rm -rf x\n") {
		t.Error("the end of the command is not shown")
	}
}

// What was typed before the question stood does not answer it.
func TestTypedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		io.WriteString(p.typing, "o\n") // nobody has asked yet
		first, cancel := context.WithCancel(context.Background())
		go p.asker.Approve(first, ask(install))
		synctest.Wait()
		if open := p.screen.String(); strings.Contains(open, "no longer asked") || !strings.HasSuffix(open, "> ") {
			t.Errorf("the question does not stand:\n%s", open)
		}
		cancel()
		synctest.Wait()
		io.WriteString(p.typing, "o\n") // nobody asks now
		synctest.Wait()
		var got permission.Answer
		go func() { got, _ = p.asker.Approve(context.Background(), ask(install)) }()
		synctest.Wait()
		if got.Behavior != 0 {
			t.Errorf("answered by what was typed before: %+v", got)
		}
		io.WriteString(p.typing, "d\n")
		synctest.Wait()
		if got.Behavior != permission.Deny {
			t.Errorf("got %+v", got)
		}
		p.typing.Close()
	})
}

// A question that is withdrawn ends, and another may be asked.
func TestCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson()
		ctx, cancel := context.WithCancel(context.Background())
		var err error
		go func() { _, err = p.asker.Approve(ctx, ask(install)) }()
		synctest.Wait()
		waiting, stop := context.WithCancel(context.Background())
		var second error
		go func() { _, second = p.asker.Approve(waiting, ask(install)) }()
		synctest.Wait()
		stop()
		synctest.Wait()
		if !errors.Is(second, context.Canceled) || err != nil {
			t.Errorf("the waiting one: %v; the open one: %v", second, err)
		}
		cancel()
		synctest.Wait()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		p.typing.Close()
	})
}

// Other events wait while a question is open.
func TestScreenWaits(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out}
	s.hold()
	io.WriteString(s, "event\n")
	s.ask("question? ")
	s.ask("answer\n")
	s.release()
	io.WriteString(s, "later\n")
	if got, want := out.String(), "question? answer\nevent\nlater\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

const questions = `{"questions":[
 {"question":"Which\u001b one?","header":"h","options":[{"label":"Red","description":"warm"},{"label":"Blue"}],"multiSelect":false},
 {"question":"Which ones?","options":[{"label":"A"},{"label":"B"},{"label":"C"}],"multiSelect":true}]}`

func TestChoices(t *testing.T) {
	request := ask(permission.Decision{Question: true})
	request.Use.Tool, request.Use.Input = "AskUserQuestion", json.RawMessage(questions)
	got, screen, err := typed(t, request, "3", "1,2", "two", "2", "1, 3")
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
	if !strings.Contains(screen, "? Which<U+001B> one?\n  1. Red - warm\n  2. Blue\n") {
		t.Error(screen)
	}
}

func TestChoicesInOwnWords(t *testing.T) {
	request := ask(permission.Decision{Question: true})
	request.Use.Input = json.RawMessage(questions)
	got, _, _ := typed(t, request, "= neither", "=", "= all of them")
	if !strings.Contains(string(got.Input), `"neither"`) || !strings.Contains(string(got.Input), `"all of them"`) {
		t.Errorf("%+v", got)
	}
}

func TestChoicesRefused(t *testing.T) {
	request := ask(permission.Decision{Question: true})
	request.Use.Input = json.RawMessage(questions)
	got, _, _ := typed(t, request, "1", "deny")
	if got.Behavior != permission.Deny || got.Input != nil {
		t.Errorf("%+v", got)
	}
	request.Use.Input = json.RawMessage(`{"questions":[]}`)
	if _, _, err := typed(t, request); err == nil {
		t.Error("nothing was asked, and there was no error")
	}
}

// Only the words of the menu allow.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{"o", "once", "s", "session", "d no", "w why", "", "y", "ſ", "ｏ", "o\u200b", "O "} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a := newAsker(newKeyboard(strings.NewReader("")), &screen{out: io.Discard})
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		got, ok := a.answer(ctx, strings.TrimSpace(text), []string{"Bash(ls)"})
		if !ok || got.Behavior != permission.Allow {
			return
		}
		switch strings.TrimSpace(text) {
		case "o", "O", "s", "S":
		default:
			if w := strings.ToLower(strings.TrimSpace(text)); w != "once" && w != "session" {
				t.Errorf("%q allows", text)
			}
		}
	})
}
