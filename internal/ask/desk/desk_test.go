package desk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// evaluator returns an evaluator under a policy that asks about some commands.
func evaluator() *permission.Evaluator {
	spec, err := policy.Parse([]byte(`
allow = ["Bash", "Read"]
ask = ["Bash(npm install:*)", "Bash(git push:*)", "Bash(rm:*)", "Edit"]
`), "agent-wrapper.toml")
	if err != nil {
		panic(err)
	}
	pol, session, _, err := spec.Compile(patterns.Place{Workspace: "/proj", Home: "/home/dev"})
	if err != nil {
		panic(err)
	}
	session.Now = time.Now
	return &permission.Evaluator{Policy: pol, Session: session, Env: workspace.Fake{}}
}

// about returns the question about a tool use.
func about(tool, id, input string) permission.Request {
	return evaluator().Request(permission.ToolUse{ID: id, Tool: tool, Input: json.RawMessage(input), Dir: "/proj", Session: "s"})
}

// program is a program with a desk.
type program struct {
	*desk.Desk
	mu        sync.Mutex
	asked     []desk.Question
	withdrawn []string
}

func newProgram(o desk.Options) *program {
	p := &program{}
	o.Asked = func(q desk.Question) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = append(p.asked, q)
	}
	o.Withdrawn = func(id, reason string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.withdrawn = append(p.withdrawn, id+": "+reason)
	}
	p.Desk = desk.New(o)
	return p
}

// asks asks in another goroutine, and returns a function that waits for the answer.
func (p *program) asks(ctx context.Context, r permission.Request) func() (permission.Answer, error) {
	var answer permission.Answer
	var err error
	done := make(chan bool)
	go func() {
		answer, err = p.Approve(ctx, r)
		close(done)
	}()
	synctest.Wait()
	return func() (permission.Answer, error) {
		<-done
		return answer, err
	}
}

const install = `{"command":"npm install left-pad"}`

// kept is a policy that rules are written to.
func kept(rule string) (patterns.Source, error) { return patterns.Source{Name: rule, Line: 1}, nil }

var full = desk.Menu{Keep: kept, Session: permission.NewSession(patterns.Place{}), Edit: true}

func TestReplies(t *testing.T) {
	one, wide := []string{"Bash(npm install left-pad)"}, []string{"Bash(npm install:*)"}
	question := `{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]},{"question":"Why?"}]}`
	edit := `{"file_path":"src/a.go","old_string":"a","new_string":"b"}`
	push, pushes, moderate := `{"command":"git push origin main"}`, []string{"Bash(git push:*)"}, risk.GradeOf(risk.Moderate, false)
	at := func(i int) *int { return &i }
	allow, deny, session := permission.Allow, permission.Deny, permission.ScopeSession
	for _, c := range []struct {
		tool, input string
		menu        desk.Menu
		reply       desk.Reply
		want        permission.Answer
		refused     string
	}{
		{reply: desk.Reply{Choice: "once"}, want: permission.Answer{Behavior: allow}},
		{reply: desk.Reply{Choice: "session"}, want: permission.Answer{Behavior: allow, Scope: session, Rules: one}},
		{reply: desk.Reply{Choice: "session", Rung: at(1)}, want: permission.Answer{Behavior: allow, Scope: session, Rules: wide}},
		{reply: desk.Reply{Choice: "session", Rung: at(2)}, refused: "rung 2: the choice has 2, the first is 0"},
		{reply: desk.Reply{Choice: "session", Rung: at(-1)}, refused: "rung -1"},
		{reply: desk.Reply{Choice: "session", Rules: wide}, want: permission.Answer{Behavior: allow, Scope: session, Rules: wide}},
		{reply: desk.Reply{Choice: "session", Rules: []string{"Bash(git push)"}}, refused: "rules: Bash(git push) cannot be kept: it covers nothing that is asked about"},
		{reply: desk.Reply{Choice: "session", Rules: []string{}}, refused: "rules: the list is empty"},
		{reply: desk.Reply{Choice: "session", Rules: wide, Rung: at(0)}, refused: "rung and rules"},
		{menu: full, input: push, reply: desk.Reply{Choice: "session", Rung: at(1)}, want: permission.Answer{Behavior: allow, Scope: session, Rules: pushes, UpTo: moderate}},
		{menu: full, input: push, reply: desk.Reply{Choice: "session", Rung: at(2)}, want: permission.Answer{Behavior: allow, Scope: session, Rules: pushes}},
		{menu: full, input: push, reply: desk.Reply{Choice: "while", Rung: at(1), Times: 2}, want: permission.Answer{Behavior: allow, Scope: session, Rules: pushes, UpTo: moderate, Times: 2}},
		{menu: full, input: push, reply: desk.Reply{Choice: "always", Rung: at(1)}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeAlways, Rules: pushes}},
		{menu: full, input: push, reply: desk.Reply{Choice: "always", Rung: at(2)}, refused: "rung 2: the choice has 2"},
		{input: push, reply: desk.Reply{Choice: "session", Rung: at(2)}, refused: "rung 2: the choice has 2"},
		{input: push, reply: desk.Reply{Choice: "session", Rules: pushes, UpTo: "moderate"}, want: permission.Answer{Behavior: allow, Scope: session, Rules: pushes, UpTo: moderate}},
		{input: push, reply: desk.Reply{Choice: "session", Rules: pushes, UpTo: "safe"}, refused: "it would not answer for run git push origin main"},
		{input: push, reply: desk.Reply{Choice: "session", Rules: pushes, UpTo: "some"}, refused: `up_to: "some" is no risk`},
		{menu: full, input: push, reply: desk.Reply{Choice: "session", Rung: at(2), UpTo: "moderate"}, refused: "up_to goes with rules"},
		{menu: full, input: push, reply: desk.Reply{Choice: "always", Rules: pushes, UpTo: "moderate"}, refused: "up_to does not go with choice always"},
		{menu: full, tool: "Edit", input: edit, reply: desk.Reply{Choice: "accept-edits"}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeEdits}},
		{menu: full, tool: "Edit", input: edit, reply: desk.Reply{Choice: "accept-edits", Rung: at(0)}, refused: "rung does not go with choice accept-edits"},
		{tool: "Edit", input: edit, reply: desk.Reply{Choice: "accept-edits"}, refused: "not offered"},
		{menu: full, input: push, reply: desk.Reply{Choice: "accept-edits"}, refused: "not offered"},
		{menu: full, reply: desk.Reply{Choice: "while"}, want: permission.Answer{Behavior: allow, Scope: session, Rules: one, For: 30 * time.Minute}},
		{menu: full, reply: desk.Reply{Choice: "while", For: 60, Times: 2}, want: permission.Answer{Behavior: allow, Scope: session, Rules: one, For: time.Minute, Times: 2}},
		{menu: full, reply: desk.Reply{Choice: "while", Times: 1}, refused: "times: 1: it must be at least 2"},
		{menu: full, reply: desk.Reply{Choice: "while", For: -1}, refused: "for: -1"},
		{menu: full, reply: desk.Reply{Choice: "while", For: 1 << 62}, refused: "is not a valid number of seconds"},
		{menu: full, reply: desk.Reply{Choice: "always", Rung: at(1)}, want: permission.Answer{Behavior: allow, Scope: permission.ScopeAlways, Rules: wide}},
		{menu: full, reply: desk.Reply{Choice: "edit", Input: json.RawMessage(`{"command":"ls"}`)}, want: permission.Answer{Behavior: allow, Input: json.RawMessage(`{"command":"ls"}`)}},
		{menu: full, reply: desk.Reply{Choice: "edit", Input: json.RawMessage(`{ "command": "npm install left-pad" }`)}, refused: "nothing was edited"},
		{menu: full, reply: desk.Reply{Choice: "edit", Input: json.RawMessage(`[]`)}, refused: "object"},
		{menu: full, reply: desk.Reply{Choice: "edit"}, refused: "input: it is what"},
		{reply: desk.Reply{Choice: "edit", Input: json.RawMessage(`{"command":"ls"}`)}, refused: `choice "edit" is not offered: use one of once, session, deny, words, never`},
		{reply: desk.Reply{Choice: "deny"}, want: permission.Answer{Behavior: deny}},
		{reply: desk.Reply{Choice: "deny", Message: "no"}, want: permission.Answer{Behavior: deny, Message: "no"}},
		{reply: desk.Reply{Choice: "words", Message: "use pnpm"}, want: permission.Answer{Behavior: deny, Message: "use pnpm"}},
		{reply: desk.Reply{Choice: "words", Message: " "}, refused: "message: it is what choice words tells the agent"},
		{reply: desk.Reply{Choice: "never", Rung: at(1)}, want: permission.Answer{Behavior: deny, Scope: session, Rules: wide}},
		{reply: desk.Reply{Choice: "once", Message: "fine"}, refused: "message does not go with choice once, only with deny, words"},
		{reply: desk.Reply{Choice: "once", Rules: wide}, refused: "rules does not go with choice once"},
		{reply: desk.Reply{Choice: "Once"}, refused: `choice "Once" is not offered`},
		{reply: desk.Reply{}, refused: `choice "" is not offered`},
		{input: `{"command":"rm -rf /proj/x"}`, menu: full, reply: desk.Reply{Choice: "session"}, refused: "is not offered"}, // tier 3
		{input: `{"command":"npm install a","description":"` + strings.Repeat("x", 1<<18) + `"}`, menu: full, reply: desk.Reply{Choice: "session"}, refused: "since not everything is shown"},
		{
			tool: "AskUserQuestion", input: question, reply: desk.Reply{Choice: "answers", Answers: map[string]string{"Which?": "a", "Why?": "so"}},
			want: permission.Answer{Behavior: allow, Input: json.RawMessage(`{"answers":{"Which?":"a","Why?":"so"},` + question[1:])},
		},
		{tool: "AskUserQuestion", input: question, reply: desk.Reply{Choice: "answers", Answers: map[string]string{"Which?": "a"}}, refused: `answers: there is no answer to "Why?"`},
		{tool: "AskUserQuestion", input: question, reply: desk.Reply{Choice: "answers", Answers: map[string]string{"Which?": "a", "Why?": "b", "What?": "c"}}, refused: `the agent did not ask "What?"`},
		{tool: "AskUserQuestion", input: question, reply: desk.Reply{Choice: "once"}, refused: "use one of answers, deny, words"},
		{tool: "AskUserQuestion", input: question, reply: desk.Reply{Choice: "deny"}, want: permission.Answer{Behavior: deny}},
	} {
		if c.tool == "" {
			c.tool = "Bash"
		}
		if c.input == "" {
			c.input = install
		}
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(desk.Options{Menu: c.menu})
			wait := p.asks(t.Context(), about(c.tool, "u", c.input))
			c.reply.ID, c.reply.Digest = p.asked[0].ID, p.asked[0].Digest
			_, err := p.Answer(c.reply)
			if c.refused != "" {
				if err == nil || !strings.Contains(err.Error(), c.refused) || len(p.Waiting()) != 1 {
					t.Errorf("%+v: got %v, %d waiting; want an error with %q", c.reply, err, len(p.Waiting()), c.refused)
				}
			}
			p.Close("over")
			got, gone := wait()
			if c.refused == "" && (err != nil || gone != nil || cmp.Diff(c.want, got) != "") {
				t.Errorf("%+v: %v, %v\n%s", c.reply, err, gone, cmp.Diff(c.want, got))
			}
		})
	}
}

func TestOneAnswerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(desk.Options{Prefix: "7-"})
		a, b := p.asks(t.Context(), about("Bash", "u", install)), p.asks(t.Context(), about("Bash", "v", `{"command":"git push"}`))
		first, second := p.asked[0], p.asked[1]
		for _, c := range []struct {
			reply desk.Reply
			want  error
		}{
			{desk.Reply{ID: "7-9", Digest: first.Digest, Choice: "once"}, nil},
			{desk.Reply{ID: first.ID, Digest: second.Digest, Choice: "once"}, approval.ErrOther},
			{desk.Reply{ID: first.ID, Choice: "once"}, approval.ErrOther},
		} {
			if _, err := p.Answer(c.reply); err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("%+v: %v", c.reply, err)
			}
		}
		if _, err := p.Answer(desk.Reply{ID: second.ID, Digest: second.Digest, Choice: "deny", By: "phone"}); err != nil {
			t.Error(err)
		}
		_, err := p.Answer(desk.Reply{ID: second.ID, Digest: second.Digest, Choice: "once"})
		if settled := new(approval.Settled); !errors.As(err, &settled) || settled.By.Name != "phone" || settled.Status != approval.Denied {
			t.Errorf("a second answer: %v", err)
		}
		if got, err := b(); err != nil || got.Behavior != permission.Deny {
			t.Errorf("%+v, %v", got, err)
		}
		p.Close("the client has gone away")
		if _, err := a(); err == nil || err.Error() != "the client has gone away" {
			t.Errorf("closed: %v", err)
		}
		if _, err := p.Approve(t.Context(), about("Bash", "w", install)); err == nil || err.Error() != "the client has gone away" {
			t.Errorf("asked later: %v", err)
		}
		if diff := cmp.Diff([]string{"7-1: the client has gone away"}, p.withdrawn); diff != "" {
			t.Error(diff)
		}
	})
}

// TestWithdrawn: the end of a context withdraws the question, with its cause.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(desk.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		limited, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		a, b := p.asks(ctx, about("Bash", "u", install)), p.asks(limited, about("Bash", "v", install))
		cancel(errors.New("the agent has ended"))
		if _, err := a(); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if _, err := b(); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		_, err := p.Answer(desk.Reply{ID: p.asked[0].ID, Digest: p.asked[0].Digest, Choice: "once"})
		if err == nil || err.Error() != "the approval is already cancelled, by agent" {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"1: the agent has ended", "2: not answered in time"}, p.withdrawn); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAskedAnew: what was shown of an edit must still be so when it is allowed. The
// question comes again with another ID, so that an answer to the old one cannot
// count for it.
func TestAskedAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := display.File{Exists: true, Text: "old\n"}
		p := newProgram(desk.Options{File: func(*permission.ToolUse) *display.File { f := file; return &f }})
		a := p.asks(t.Context(), about("Edit", "u", `{"file_path":"/proj/x","old_string":"old","new_string":"new"}`))
		first := p.asked[0]
		file.Text = "an old\n"
		if _, err := p.Answer(desk.Reply{ID: first.ID, Digest: first.Digest, Choice: "once"}); err == nil {
			t.Error("an answer to what was shown before counted")
		}
		synctest.Wait()
		if len(p.asked) != 2 {
			t.Fatalf("asked %d times", len(p.asked))
		}
		second := p.asked[1]
		if _, err := p.Answer(desk.Reply{ID: first.ID, Digest: second.Digest, Choice: "once"}); err == nil {
			t.Error("an answer to the first question counted for the second")
		}
		if _, err := p.Answer(desk.Reply{ID: second.ID, Digest: second.Digest, Choice: "once"}); err != nil {
			t.Error(err)
		}
		if got, err := a(); err != nil || got.Behavior != permission.Allow {
			t.Errorf("%+v, %v", got, err)
		}
		file.Text = "new\n"
		b := p.asks(t.Context(), about("Edit", "v", `{"file_path":"/proj/x","old_string":"old","new_string":"new"}`))
		file.Text = "newer\n"
		if _, err := p.Answer(desk.Reply{ID: p.asked[2].ID, Digest: p.asked[2].Digest, Choice: "deny"}); err != nil {
			t.Errorf("a denial of what has changed: %v", err)
		}
		b()
	})
}

// TestTogether: rules that are kept for the session answer what waits and is all
// covered by them.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply desk.Reply
		want  []string
	}{
		{"wide", desk.Reply{Choice: "session", Rules: []string{"Bash(npm install:*)"}}, []string{"2: answered together with 1"}},
		{"once", desk.Reply{Choice: "once"}, nil},
		{"counted", desk.Reply{Choice: "while", Rules: []string{"Bash(npm install:*)"}, Times: 5}, nil},
		{"up to a risk", desk.Reply{Choice: "session", Rules: []string{"Bash(npm install:*)"}, UpTo: "moderate"}, nil},
		{"never", desk.Reply{Choice: "never", Rules: []string{"Bash(npm install:*)"}}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newProgram(desk.Options{Menu: full})
			p.asks(t.Context(), about("Bash", "a", install))
			other := p.asks(t.Context(), about("Bash", "b", `{"command":"npm install express"}`))
			p.asks(t.Context(), about("Bash", "c", `{"command":"npm install express && git push"}`))
			p.asks(t.Context(), about("AskUserQuestion", "d", `{"questions":[{"question":"Which?"}]}`))
			c.reply.ID, c.reply.Digest = p.asked[0].ID, p.asked[0].Digest
			if _, err := p.Answer(c.reply); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if diff := cmp.Diff(c.want, p.withdrawn); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
			if c.want != nil {
				if got, err := other(); err != nil || cmp.Diff(permission.Answer{Behavior: permission.Allow}, got) != "" {
					t.Errorf("%+v, %v", got, err)
				}
			}
			p.Close("over")
		})
	}
}

// TestAlwaysNotKept: a rule that cannot be written leaves the question open, so that
// the person can choose something else.
func TestAlwaysNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		menu := full
		menu.Keep = func(string) (patterns.Source, error) { return patterns.Source{}, errors.New("the disk is full") }
		p := newProgram(desk.Options{Menu: menu})
		a := p.asks(t.Context(), about("Bash", "u", install))
		r := desk.Reply{ID: p.asked[0].ID, Digest: p.asked[0].Digest, Choice: "always"}
		if _, err := p.Answer(r); err == nil || len(p.Waiting()) != 1 {
			t.Errorf("%v, %d waiting", err, len(p.Waiting()))
		}
		p.Close("over")
		if _, err := a(); err == nil {
			t.Error("allowed")
		}
		p = newProgram(desk.Options{Menu: full})
		p.asks(t.Context(), about("Bash", "u", install))
		if places, err := p.Answer(r); err != nil || fmt.Sprint(places) != "[Bash(npm install left-pad):1]" {
			t.Errorf("%v, %v", places, err)
		}
	})
}

// TestAlwaysTooLate: where a question ends while its rules are written, the answer is
// refused, and says what counts in spite of that.
func TestAlwaysTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p *program
		menu := full
		menu.Keep = func(rule string) (patterns.Source, error) {
			place, err := kept(rule)
			return place, errors.Join(err, p.Withdraw("1", "cancelled"))
		}
		p = newProgram(desk.Options{Menu: menu})
		a := p.asks(t.Context(), about("Bash", "u", install))
		_, err := p.Answer(desk.Reply{ID: "1", Digest: p.asked[0].Digest, Choice: "always"})
		var first *approval.Settled
		if !errors.As(err, &first) || !strings.Contains(err.Error(), "a rule was written anyway: Bash(npm install left-pad):1") {
			t.Error(err)
		}
		if answer, err := a(); err == nil {
			t.Errorf("%+v", answer)
		}
	})
}

func TestQuestionJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProgram(desk.Options{})
		p.asks(t.Context(), about("Bash", "u", install))
		line, err := json.Marshal(p.asked[0])
		var got map[string]any
		if err != nil || json.Unmarshal(line, &got) != nil {
			t.Fatalf("%s, %v", line, err)
		}
		for _, key := range []string{"id", "digest", "tool_use_id", "input", "choices", "blocks"} {
			if got[key] == nil {
				t.Errorf("no %s in %s", key, line)
			}
		}
		p.Close("over")
	})
}

// TestEvent: the event for a reply that another process gives, by what is shown.
func TestEvent(t *testing.T) {
	var shown desk.Question
	done, asked := make(chan struct{}), make(chan struct{})
	d := desk.New(desk.Options{Menu: full, Asked: func(q desk.Question) { shown = q; close(asked) }})
	go func() {
		defer close(done)
		_, _ = d.Approve(t.Context(), about("Bash", "toolu_1", install))
	}()
	<-asked
	defer func() { d.Close("the test ends"); <-done }()
	anna := approval.Principal{Role: approval.Person, Name: "anna"}
	one := 1
	for _, c := range []struct {
		reply   desk.Reply
		kind    approval.Kind
		rules   string
		refused string
	}{
		{reply: desk.Reply{Choice: desk.Once}, kind: approval.Approve},
		{reply: desk.Reply{Choice: desk.Session, Rung: &one}, kind: approval.Approve, rules: "Bash(npm install:*)"},
		{reply: desk.Reply{Choice: desk.While, Times: 3}, kind: approval.Approve, rules: "Bash(npm install left-pad)"},
		{reply: desk.Reply{Choice: desk.Deny}, kind: approval.Deny},
		{reply: desk.Reply{Choice: desk.Words, Message: "no"}, kind: approval.Deny},
		{reply: desk.Reply{Choice: desk.Edit, Input: json.RawMessage(`{"command":"ls"}`)}, kind: approval.Edit},
		{reply: desk.Reply{Choice: desk.Edit}, refused: "input: it is what choice edit"},
		{reply: desk.Reply{Choice: desk.Answers}, refused: `choice "answers" is not offered`},
		{reply: desk.Reply{Choice: desk.Words}, refused: "message: it is what choice words"},
		{reply: desk.Reply{Choice: desk.Once, Rung: &one}, refused: "rung does not go with choice once"},
		{reply: desk.Reply{Choice: desk.While, Times: 1}, refused: "times: 1"},
	} {
		r := c.reply
		r.ID, r.Digest = shown.ID, shown.Digest
		e, err := r.Event(&shown, anna)
		if c.refused != "" {
			if err == nil || !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%+v: %v", c.reply, err)
			}
			continue
		}
		if err != nil || e.Kind != c.kind || e.Kind != desk.Kind(r.Choice) || e.By != anna || e.ID != shown.ID || e.Digest != shown.Digest || strings.Join(e.Rules, " ") != c.rules {
			t.Errorf("%+v: %+v, %v", c.reply, e, err)
		}
		for _, other := range []desk.Reply{{ID: "other", Digest: shown.Digest}, {ID: shown.ID, Digest: "1:other"}} {
			other.Choice = desk.Once
			if _, err := other.Event(&shown, anna); !errors.Is(err, approval.ErrOther) {
				t.Error(err)
			}
		}
	}
}
