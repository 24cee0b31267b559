package permission

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// person is an approver with a list of answers.
type person struct {
	mu      sync.Mutex
	answers []Answer
	err     error
	asked   []Request
	before  func()
}

func (p *person) Approve(_ context.Context, r Request) (Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	if p.before != nil {
		p.before()
	}
	if p.err != nil {
		return Answer{}, p.err
	}
	if len(p.answers) == 0 {
		return Answer{}, errors.New("nobody is there")
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	return a, nil
}

type book struct {
	mu      sync.Mutex
	records []Record
	err     error
	ctxErr  error
}

func (b *book) Record(ctx context.Context, r Record) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.records = append(b.records, r)
	b.ctxErr = ctx.Err()
	return b.err
}

func evaluator(t testing.TB, s spec, p Approver) (*Evaluator, *book) {
	b := &book{}
	return &Evaluator{Policy: s.policy(t), Session: s.session(t), Env: fakeFS{}, Approver: p, Recorder: b}, b
}

func can(t *testing.T, v *Evaluator, use ToolUse) Result {
	t.Helper()
	use.Dir = workspace
	res, err := v.CanUseTool(context.Background(), use)
	if err != nil {
		t.Fatalf("%s: %v", use.Input, err)
	}
	return res
}

func TestCanUseToolByRule(t *testing.T) {
	v, b := evaluator(t, spec{allow: "Bash(ls:*)", deny: "Bash(rm:*)"}, nil)
	res := can(t, v, using("Bash", "ls"))
	if res.Behavior != Allow || res.By != "rule" || string(res.UpdatedInput) != `{"command":"ls"}` {
		t.Errorf("%+v", res)
	}
	res = can(t, v, using("Bash", "rm x"))
	if res.Behavior != Deny || res.UpdatedInput != nil || res.Layer != LayerDenyList {
		t.Errorf("%+v", res)
	}
	if len(b.records) != 2 || b.records[0].Result.Behavior != Allow || b.records[1].Result.Behavior != Deny {
		t.Errorf("%+v", b.records)
	}
}

// "An ask with nobody to ask is a deny that says so."
func TestNobodyToAsk(t *testing.T) {
	for _, p := range []Approver{nil, &person{}, &person{err: context.Canceled}} {
		v, b := evaluator(t, spec{allow: "Read"}, p)
		res := can(t, v, using("Bash", "npm i"))
		if res.Behavior != Deny || res.By != "rule" || !strings.Contains(res.Message, "Not in allow list") {
			t.Errorf("%+v", res)
		}
		if p == nil && !strings.Contains(res.Message, "there is nobody to ask") {
			t.Error(res.Message)
		}
		if len(b.records) != 1 {
			t.Errorf("%d records", len(b.records))
		}
	}
}

func TestTimeout(t *testing.T) {
	v, _ := evaluator(t, spec{}, &person{err: context.DeadlineExceeded})
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Deny || res.By != "timeout" {
		t.Errorf("%+v", res)
	}
}

// An answer after the cancellation of the question does not count.
func TestCancelledWhileAsking(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &person{answers: []Answer{{Behavior: Allow}}, before: cancel}
	v, b := evaluator(t, spec{}, p)
	res, err := v.CanUseTool(ctx, using("Bash", "npm i"))
	if err != nil || res.Behavior != Deny {
		t.Errorf("%+v %v", res, err)
	}
	if len(b.records) != 1 || b.ctxErr != nil {
		t.Errorf("the record of a cancelled use: %v, context %v", b.records, b.ctxErr)
	}
}

// A decision for which nobody waits any longer is recorded as a deny.
func TestCancelledIsNotAllowed(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the question was withdrawn"))
	v, b := evaluator(t, spec{allow: "Bash(ls:*)"}, nil)
	res, err := v.CanUseTool(ctx, using("Bash", "ls"))
	if err != nil || res.Behavior != Deny || res.UpdatedInput != nil || res.Reason != "the question was withdrawn" {
		t.Errorf("%+v %v", res, err)
	}
	if len(b.records) != 1 || b.records[0].Result.Behavior != Deny {
		t.Errorf("%+v", b.records)
	}
}

func TestPersonAllows(t *testing.T) {
	p := &person{answers: []Answer{{Behavior: Allow}}}
	v, b := evaluator(t, spec{allow: "Read"}, p)
	res := can(t, v, using("Bash", "npm i"))
	if res.Behavior != Allow || res.By != "person" || string(res.UpdatedInput) != `{"command":"npm i"}` || res.Message != "" {
		t.Errorf("%+v", res)
	}
	if len(p.asked) != 1 || p.asked[0].Decision.Behavior != Ask || b.records[0].Result.By != "person" {
		t.Errorf("%+v", p.asked)
	}
	// An answer without a scope applies once.
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Deny {
		t.Errorf("%+v", res)
	}
}

func TestPersonDenies(t *testing.T) {
	for _, a := range []Answer{{Behavior: Deny}, {Behavior: Ask}, {}, {Behavior: 77}} {
		v, _ := evaluator(t, spec{}, &person{answers: []Answer{a}})
		res := can(t, v, using("Bash", "npm i"))
		if res.Behavior != Deny || res.By != "person" || !strings.Contains(res.Message, "Denied by the person") {
			t.Errorf("%+v: %+v", a, res)
		}
	}
	v, _ := evaluator(t, spec{}, &person{answers: []Answer{{Behavior: Deny, Message: "use pnpm", Input: json.RawMessage(`{}`)}}})
	if res := can(t, v, using("Bash", "npm i")); res.Message != "use pnpm" || res.UpdatedInput != nil {
		t.Errorf("%+v", res)
	}
}

// "ScopeSession keeps Rules as allow or deny rules of the session."
func TestForTheSession(t *testing.T) {
	p := &person{answers: []Answer{{Behavior: Allow, Scope: ScopeSession, Rules: []string{"Bash(npm i)", "Bash(npm test)"}}}}
	v, _ := evaluator(t, spec{allow: "Read"}, p)
	can(t, v, using("Bash", "npm i; npm test"))
	for _, line := range []string{"npm i", "npm test", "npm test; npm i"} {
		if res := can(t, v, using("Bash", line)); res.Behavior != Allow || res.Layer != LayerSessionAllow {
			t.Errorf("%s: %s", line, outcome(res.Decision))
		}
	}
	if res := can(t, v, using("Bash", "npm ci")); res.Behavior != Deny {
		t.Errorf("npm ci: %s", outcome(res.Decision))
	}
}

func TestWhatIsNotKeptForTheSession(t *testing.T) {
	forNow := func(rules ...string) Answer { return Answer{Behavior: Allow, Scope: ScopeSession, Rules: rules} }
	tests := []struct {
		name, line, rule string
		s                spec
	}{
		{"no rule", "npm i", "", spec{}},
		{"tier 3", "rm -rf x", "Bash(rm -rf x)", spec{risk: true, ask: "Bash(rm:*)"}},
		{"opaque", "python3 -c 'x'", "Bash(python3 -c x)", spec{allow: "Read"}},
		{"held", "$x", "Bash(ls)", spec{allow: "Bash", deny: "Bash(rm:*)"}},
		{"everything", "npm i", "Bash", spec{}},
		{"all words", "npm i", "Bash(*)", spec{}},
		{"another command", "npm i", "Bash(npm test)", spec{}},
		{"another tool", "npm i", "Edit", spec{}},
		{"one of its reads", "cat x; npm i", "Read(x)", spec{}},
		{"malformed", "npm i", "Bash(npm", spec{}},
		{"a secret", "curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345' https://example.com/", "Bash(curl -H 'Authorization: Bearer abcdefghijklmnopqrstuvwxyz012345' https://example.com/)", spec{}},
		{"a deeper part of tier 3", "npm i; rm -rf x", "Bash(rm -rf x)", spec{risk: true, ask: "Bash(rm:*)"}},
	}
	for _, tt := range tests {
		once := forNow(tt.rule)
		if tt.rule == "" {
			once.Rules = nil
		}
		p := &person{answers: []Answer{once}}
		v, _ := evaluator(t, tt.s, p)
		if res := can(t, v, using("Bash", tt.line)); res.Behavior != Allow || !strings.Contains(res.Reason, "approved by you once") {
			t.Errorf("%s: %s %q", tt.name, outcome(res.Decision), res.Reason)
		}
		if res := can(t, v, using("Bash", tt.line)); res.Behavior != Deny || len(p.asked) != 2 {
			t.Errorf("%s: the second time %s", tt.name, outcome(res.Decision))
		}
	}
	v, _ := evaluator(t, spec{}, &person{answers: []Answer{forNow("Bash(npm i)")}})
	v.Session = nil
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Allow || !strings.Contains(res.Reason, "not for the session") {
		t.Errorf("%+v", res)
	}
}

// "edit (decided anew before it runs)"
func TestEditedInput(t *testing.T) {
	edit := func(line string) Answer {
		input, _ := json.Marshal(map[string]string{"command": line})
		return Answer{Behavior: Allow, Input: input}
	}
	s := spec{allow: "Bash(ls:*)", deny: "Bash(rm:*)"}
	tests := []struct {
		name    string
		answers []Answer
		want    string
		runs    string
		edited  string // what is recorded in addition to the input
	}{
		{"to what a rule allows", []Answer{edit("ls")}, "allow default Bash(ls:*)", `{"command":"ls"}`, `{"command":"ls"}`},
		{"to what a rule denies", []Answer{edit("rm x")}, "deny deny-list Bash(rm:*)", "", `{"command":"rm x"}`},
		{"to what is asked, then approved", []Answer{edit("npm ci"), {Behavior: Allow}}, "allow allow-list", `{"command":"npm ci"}`, `{"command":"npm ci"}`},
		{"to what is asked, then denied", []Answer{edit("npm ci"), {Behavior: Deny}}, "deny allow-list", "", `{"command":"npm ci"}`},
		{"to the same", []Answer{edit("npm i")}, "allow allow-list", `{"command":"npm i"}`, ""},
		{"to the same in other spelling", []Answer{{Behavior: Allow, Input: json.RawMessage(` {"command" : "npm\u0020i"}`)}}, "allow allow-list", `{"command":"npm i"}`, ""},
		{"to what is malformed", []Answer{{Behavior: Allow, Input: json.RawMessage(`{"command":"ls"`)}}, "deny guard", "", `{"command":"ls"`},
	}
	for _, tt := range tests {
		v, b := evaluator(t, s, &person{answers: tt.answers})
		res := can(t, v, using("Bash", "npm i"))
		if got := outcome(res.Decision); got != tt.want || string(res.UpdatedInput) != tt.runs || res.By != "person" {
			t.Errorf("%s: %s %s by %s", tt.name, got, res.UpdatedInput, res.By)
		}
		if r := b.records[0]; string(r.Use.Input) != `{"command":"npm i"}` || string(r.Edited) != tt.edited {
			t.Errorf("%s: the record keeps %s and %s", tt.name, r.Use.Input, r.Edited)
		}
	}
}

func TestEndlessEdits(t *testing.T) {
	p := &person{}
	for i := range maxAsks + 1 {
		input, _ := json.Marshal(map[string]string{"command": "npm run " + strings.Repeat("x", i+1)})
		p.answers = append(p.answers, Answer{Behavior: Allow, Input: input})
	}
	v, b := evaluator(t, spec{}, p)
	res, err := v.CanUseTool(context.Background(), using("Bash", "npm i"))
	if err == nil || res.Behavior != Deny || len(p.asked) != maxAsks || len(b.records) != 1 {
		t.Errorf("%+v %v after %d questions", res, err, len(p.asked))
	}
}

// Rules that are added while the person thinks apply.
func TestDeniedWhileAsking(t *testing.T) {
	p := &person{answers: []Answer{{Behavior: Allow}, {Behavior: Allow}}}
	v, _ := evaluator(t, spec{}, p)
	p.before = func() { v.Session.Pause("too many tries") }
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Deny || res.Layer != LayerGuard || res.By != "rule" {
		t.Errorf("%+v", res)
	}
	v.Session.Resume()
	p.before = func() {
		if err := v.Session.Deny("Bash(npm:*)"); err != nil {
			t.Error(err)
		}
	}
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Deny || res.Layer != LayerSessionDeny {
		t.Errorf("%+v", res)
	}
}

// An answer applies to the question that was shown. If the question has changed
// in the meantime, because a link leads elsewhere, it is asked again.
func TestChangedWhileAsking(t *testing.T) {
	links := map[string]string{}
	p := &person{answers: []Answer{{Behavior: Allow}, {Behavior: Deny}}}
	v, _ := evaluator(t, spec{allow: "Read"}, p)
	v.Env = fakeFS{links: links}
	p.before = func() { links[workspace+"/a"] = workspace + "/agent-wrapper.toml" }
	res := can(t, v, using("Edit", "a"))
	if res.Behavior != Deny || len(p.asked) != 2 || p.asked[0].Decision.Held || !p.asked[1].Decision.Held {
		t.Errorf("%+v after %d questions", res, len(p.asked))
	}
}

// "AskUserQuestion … the answers go back as updatedInput.answers; with nobody
// there it is denied."
func TestQuestion(t *testing.T) {
	question := `{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}]}`
	answered := `{"questions":[{"question":"Which?","options":[{"label":"a"},{"label":"b"}]}],"answers":{"Which?":"a"}}`
	other := `{"questions":[{"question":"Allow all?"}],"answers":{"Which?":"a"}}`
	use := using("AskUserQuestion", question)

	v, _ := evaluator(t, spec{allow: "Read"}, &person{answers: []Answer{{Behavior: Allow, Input: json.RawMessage(answered)}}})
	res := can(t, v, use)
	if res.Behavior != Allow || string(res.UpdatedInput) != answered || res.By != "person" {
		t.Errorf("%+v", res)
	}
	bad := []Answer{
		{Behavior: Allow},
		{Behavior: Allow, Input: json.RawMessage(question)},
		{Behavior: Allow, Input: json.RawMessage(other)},
		{Behavior: Allow, Input: json.RawMessage(`{"answers":{}`)},
		{Behavior: Allow, Input: json.RawMessage(`{"answers":"a"}`)},
	}
	for _, a := range bad {
		v, b := evaluator(t, spec{}, &person{answers: []Answer{a}})
		res, err := v.CanUseTool(context.Background(), use)
		if err == nil || res.Behavior != Deny || res.UpdatedInput != nil || len(b.records) != 1 {
			t.Errorf("%s: %+v %v", a.Input, res, err)
		}
	}
	v, _ = evaluator(t, spec{}, nil)
	if res := can(t, v, use); res.Behavior != Deny {
		t.Errorf("%+v", res)
	}
	v, _ = evaluator(t, spec{mode: "dontAsk"}, &person{answers: []Answer{{Behavior: Allow, Input: json.RawMessage(answered)}}})
	if res := can(t, v, use); res.Behavior != Deny {
		t.Errorf("%+v", res)
	}
	if err := answers(json.RawMessage(`{`), json.RawMessage(`{"answers":{}}`)); err == nil {
		t.Error("a malformed question is answered")
	}
}

// "A decision that cannot be recorded is a deny."
func TestUnrecordable(t *testing.T) {
	full := errors.New("disk full")
	for name, rec := range map[string]Recorder{"error": &book{err: full}, "none": nil, "panic": recorderFunc(func() { panic("x") })} {
		v, _ := evaluator(t, spec{allow: "Bash"}, nil)
		v.Recorder = rec
		res, err := v.CanUseTool(context.Background(), using("Bash", "ls"))
		if err == nil || res.Behavior != Deny || res.UpdatedInput != nil || res.Layer != LayerGuard {
			t.Errorf("%s: %+v %v", name, res, err)
		}
		if name == "error" && !errors.Is(err, full) {
			t.Error(err)
		}
		if !strings.Contains(res.Message, "cannot be recorded") {
			t.Errorf("%s: message %q", name, res.Message)
		}
	}
}

type recorderFunc func()

func (f recorderFunc) Record(context.Context, Record) error { f(); return nil }

// A decision is recorded before it is returned.
func TestRecordedBeforeAnswered(t *testing.T) {
	v, _ := evaluator(t, spec{allow: "Bash"}, nil)
	answered := make(chan Result, 1)
	entered, finish := make(chan struct{}), make(chan struct{})
	v.Recorder = recorderFunc(func() {
		close(entered)
		<-finish
	})
	go func() {
		res, _ := v.CanUseTool(context.Background(), using("Bash", "ls"))
		answered <- res
	}()
	<-entered
	select {
	case <-answered:
		t.Fatal("answered before the record was written")
	default:
	}
	close(finish)
	if res := <-answered; res.Behavior != Allow {
		t.Errorf("%+v", res)
	}
}

type approverFunc func() (Answer, error)

func (f approverFunc) Approve(context.Context, Request) (Answer, error) { return f() }

type badFS struct{ fakeFS }

func (badFS) Resolve(string) (string, bool) { panic("loop") }

type gateFunc func(line string, facts *shell.Facts) Refusal

func (f gateFunc) Forbid(line string, facts *shell.Facts) Refusal { return f(line, facts) }

// "a caught panic" never allows.
func TestPanics(t *testing.T) {
	v, _ := evaluator(t, spec{}, approverFunc(func() (Answer, error) { panic("x") }))
	if res := can(t, v, using("Bash", "npm i")); res.Behavior != Deny || !strings.Contains(res.Message, "the approver failed: x") {
		t.Errorf("%+v", res)
	}
	v, b := evaluator(t, spec{allow: "Read"}, nil)
	v.Env = badFS{}
	if res := can(t, v, using("Read", "a")); res.Behavior != Deny || res.Layer != LayerGuard || len(b.records) != 1 {
		t.Errorf("%+v", res)
	}
	v, _ = evaluator(t, spec{allow: "Bash"}, nil)
	v.CommandGate = gateFunc(func(string, *shell.Facts) Refusal { panic("x") })
	if res := can(t, v, using("Bash", "ls")); res.Behavior != Deny {
		t.Errorf("%+v", res)
	}
}

// "A whitelist is a further gate for command actions only": it can only
// forbid.
func TestCommandGate(t *testing.T) {
	v, _ := evaluator(t, spec{allow: "Bash; Read", sessionAllow: "Bash", mode: "bypassPermissions", deny: "Bash(rm:*)"}, nil)
	v.CommandGate = refusing(Deny)
	for line, want := range map[string]string{
		"npm i": "deny allow-list", "ls": "allow session-allow Bash", "rm x": "deny deny-list Bash(rm:*)",
	} {
		if res := can(t, v, using("Bash", line)); outcome(res.Decision) != want {
			t.Errorf("%s: %s", line, outcome(res.Decision))
		}
	}
	if res := can(t, v, using("Read", "npm")); res.Behavior != Allow {
		t.Errorf("%+v", res)
	}
	if d := Evaluate(v.Policy, v.Session, &ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"npm i"}`)}, nil, nil); d.Behavior != Allow {
		t.Errorf("Evaluate has no gate: %+v", d)
	}
	var tr Trace
	if d := v.Explain(using("Bash", "npm i"), &tr); outcome(d) != "deny allow-list" || tr.Decision.Layer != LayerAllowList {
		t.Errorf("Explain: %+v", d)
	}
}

// refusing is a gate that refuses every line that begins with npm.
func refusing(b Behavior) CommandGate {
	return gateFunc(func(line string, f *shell.Facts) Refusal {
		if len(f.Actions) == 0 || strings.HasPrefix(line, "npm") {
			return Refusal{Behavior: b, Kind: "not_whitelisted", Reason: "npm is not whitelisted"}
		}
		return Refusal{}
	})
}

// An invalid behavior counts as a deny. An ask replaces an allow by lists and
// tiers, and nothing else. Zero has no effect.
func TestRefusals(t *testing.T) {
	for _, tt := range []struct {
		about string
		spec  spec
		b     Behavior
		line  string
		want  string
	}{
		{"no behavior", spec{allow: "Bash"}, Deny + 1, "npm i", "deny allow-list"},
		{"a deny, mode plan", spec{allow: "Bash", mode: "plan", risk: true}, Deny, "npm ls", "deny allow-list"},
		{"a deny and an earlier one", spec{allow: "Bash", deny: "Bash(npm:*)"}, Deny, "npm i", "deny deny-list Bash(npm:*)"},
		{"an ask of an allowed line", spec{allow: "Bash"}, Ask, "npm i", "ask allow-list"},
		{"an ask of a harmless one", spec{risk: true}, Ask, "npm ls", "ask allow-list"},
		{"an ask of a granular allow", spec{rules: []patterns.GranularSpec{{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: patterns.Allow}}}, Ask, "npm i", "ask allow-list"},
		{"an ask and a session rule", spec{allow: "Bash", sessionAllow: "Bash(npm i)"}, Ask, "npm i", "allow session-allow Bash(npm i)"},
		{"an ask and a session rule for a part", spec{allow: "Bash", sessionAllow: "Bash(npm i)"}, Ask, "npm i; npm x", "ask allow-list"},
		{"an ask and tier 3", spec{risk: true, allow: "Bash"}, Ask, "npm i; rm -rf x", "deny default"},
		{"an ask and a deny", spec{allow: "Bash", deny: "Bash(rm:*)"}, Ask, "npm i; rm x", "deny deny-list Bash(rm:*)"},
		{"an ask and another", spec{allow: "Bash", ask: "Bash(npm:*)"}, Ask, "npm i", "ask ask-list Bash(npm:*)"},
		{"nothing comes of it", spec{allow: "Bash"}, 0, "npm i", "allow default Bash"},
		{"another line", spec{allow: "Bash"}, Deny, "ls", "allow default Bash"},
	} {
		v, _ := evaluator(t, tt.spec, nil)
		v.CommandGate = refusing(tt.b)
		use := using("Bash", tt.line)
		use.Dir = place.Workspace
		d := v.Request(use).Decision
		if outcome(d) != tt.want {
			t.Errorf("%s: %s, want %s (%s)", tt.about, outcome(d), tt.want, d.Reason)
		}
		if refused := strings.HasPrefix(tt.line, "npm"); refused != (d.Refusal.Kind == "not_whitelisted") {
			t.Errorf("%s: the decision tells of %+v", tt.about, d.Refusal)
		}
		var tr Trace
		if v.Explain(use, &tr); tr.Decision.Behavior != d.Behavior || tr.Decision.Layer != d.Layer {
			t.Errorf("%s: explained as %s", tt.about, outcome(tr.Decision))
		}
	}
}

// The strictest of several gates counts, in any order.
func TestCommandGates(t *testing.T) {
	saying := func(b Behavior, kind string) CommandGate {
		return gateFunc(func(string, *shell.Facts) Refusal { return Refusal{Behavior: b, Kind: kind} })
	}
	none, dry, ask, deny, bad := saying(0, ""), saying(0, "dry"), saying(Ask, "ask"), saying(Deny, "deny"), saying(Deny+1, "bad")
	for _, tt := range []struct {
		of   CommandGates
		want string
	}{
		{nil, ""}, {CommandGates{none, none}, ""}, {CommandGates{none, dry}, "dry"}, {CommandGates{dry, none}, "dry"}, {CommandGates{dry, ask}, "ask"},
		{CommandGates{ask, dry, none}, "ask"}, {CommandGates{deny, ask, dry}, "deny"}, {CommandGates{none, ask, deny}, "deny"}, {CommandGates{deny, bad}, "bad"},
		{CommandGates{dry, saying(0, "later")}, "dry"}, {CommandGates{deny, saying(Deny, "later")}, "deny"},
	} {
		if got := tt.of.Forbid("x", nil).Kind; got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

type pauserFunc func() (string, error)

func (f pauserFunc) Paused() (string, error) { return f() }

// A pause that outlasts the session denies everything and ends the turn. So
// does an error of the Pauser.
func TestPauser(t *testing.T) {
	why, broken := "", error(nil)
	v, b := evaluator(t, spec{allow: "Bash; Read", mode: "bypassPermissions"}, approverFunc(func() (Answer, error) {
		why = "3 hallucinated commands"
		return Answer{Behavior: Allow}, nil
	}))
	v.Pauser = pauserFunc(func() (string, error) { return why, broken })
	uses := []ToolUse{using("Bash", "ls"), using("Read", "a"), using("TodoWrite", "")}
	for _, use := range uses {
		if res := can(t, v, use); res.Behavior != Allow {
			t.Errorf("not paused: %+v", res)
		}
	}
	why = "3 hallucinated commands"
	for _, use := range uses {
		if res := can(t, v, use); res.Behavior != Deny || res.Layer != LayerGuard || !res.Interrupt || !strings.Contains(res.Message, why) {
			t.Errorf("paused: %+v", res)
		}
	}
	why, broken = "", errors.New("the journal is torn")
	for _, use := range uses {
		if res := can(t, v, use); res.Behavior != Deny || !res.Interrupt || !strings.Contains(res.Message, "the journal is torn") {
			t.Errorf("nobody knows: %+v", res)
		}
	}
	broken = nil
	v.Session.Pause("by hand")
	if res := can(t, v, uses[0]); res.Behavior != Deny || !strings.Contains(res.Message, "by hand") {
		t.Errorf("the session's own pause: %+v", res)
	}
	v.Session.Resume()
	asks, _ := evaluator(t, spec{ask: "Bash"}, v.Approver)
	asks.Pauser = v.Pauser
	if res := can(t, asks, uses[0]); res.Behavior != Deny || !res.Interrupt {
		t.Errorf("paused while it was asked: %+v", res)
	}
	if len(b.records) == 0 {
		t.Error("nothing was recorded")
	}
}

func TestSession(t *testing.T) {
	s := NewSession(place)
	for _, bad := range []string{"", "Bash(", "bash", "*"} {
		if err := s.Allow(bad); err == nil {
			t.Errorf("Allow(%q) is no error", bad)
		}
	}
	if err := s.Deny("Bash()"); err == nil || !strings.Contains(err.Error(), `session rule "Bash()"`) {
		t.Error(err)
	}
	ask := parseRules(t, patterns.Ask, "Bash", "x")
	if err := s.Add(ask...); err == nil {
		t.Error("an ask rule was added")
	}
	if n := s.standing().allow.Len() + s.standing().deny.Len(); n != 0 {
		t.Errorf("%d rules after errors", n)
	}
	var zero Session
	if err := zero.Allow("Bash(ls:*)"); err != nil || zero.standing().allow.Len() != 1 {
		t.Error(err)
	}
	var none *Session
	if none.standing().allow.Len() != 0 || none.standing().paused {
		t.Error("a nil session is not empty")
	}
}

// A decision uses one state of the session while rules are added and it is
// paused concurrently. For the race detector.
func TestSessionIsConcurrent(t *testing.T) {
	v, b := evaluator(t, spec{allow: "Read"}, nil)
	const n = 20
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(2)
		go func() {
			defer wg.Done()
			for i := range n {
				if err := v.Session.Allow("Bash(npm run " + strings.Repeat("x", i+1) + ")"); err != nil {
					t.Error(err)
				}
				v.Session.Pause("for a moment")
				v.Session.Resume()
			}
		}()
		go func() {
			defer wg.Done()
			for range n {
				res, err := v.CanUseTool(context.Background(), using("Bash", "npm run x"))
				if err != nil || res.Behavior != Allow && res.Behavior != Deny {
					t.Errorf("%+v %v", res, err)
				}
			}
		}()
	}
	wg.Wait()
	if len(b.records) != 4*n || v.Session.standing().allow.Len() != 4*n {
		t.Errorf("%d records, %d rules", len(b.records), v.Session.standing().allow.Len())
	}
	if res := can(t, v, using("Bash", "npm run x")); res.Layer != LayerSessionAllow {
		t.Errorf("%+v", res)
	}
}

// Seed 3, use case 1: "Git commands, npm commands, etc. execute freely.
// Dangerous commands require approval."
func TestSeedUseCase1(t *testing.T) {
	for _, riskOn := range []bool{true, false} {
		check(t, spec{allow: "Bash", ask: "Bash(rm:*); Bash(sudo:*); Bash(dd:*)", risk: riskOn},
			row{"Bash: git status", "allow default Bash"},
			row{"Bash: npm install", "allow default Bash"},
			row{"Bash: git push origin main", "allow default Bash"},
			row{"Bash: rm ~/.pm/secret_key_backup.txt", "ask ask-list Bash(rm:*)"},
			row{"Bash: rm -rf build", "ask ask-list Bash(rm:*)"},
			row{"Bash: sudo apt install x", "ask ask-list Bash(sudo:*)"},
			row{"Bash: dd if=a of=b", "ask ask-list Bash(dd:*)"},
			row{"Bash: git status && rm x", "ask ask-list Bash(rm:*)"},
			row{"Read: a", "ask allow-list"},
		)
	}
}

// Seed 3, use case 2: "Fast development workflow, but critical operations
// require confirmation."
func TestSeedUseCase2(t *testing.T) {
	check(t, spec{
		mode: "acceptEdits", allow: "Read; Glob; Grep; Bash",
		ask: "Bash(npm install:*); Bash(git push:*)",
	},
		row{"Edit: src/a.go", "allow mode"},
		row{"Write: src/new.go", "allow mode"},
		row{"Read: src/a.go", "allow default Read"},
		row{"Grep: src", "allow default Read"},
		row{"Bash: npm test", "allow default Bash"},
		row{"Bash: npm install left-pad", "ask ask-list Bash(npm install:*)"},
		row{"Bash: git push", "ask ask-list Bash(git push:*)"},
		row{"Bash: git -C sub push --force", "ask ask-list Bash(git push:*)"},
		row{"WebFetch: https://example.com/", "deny allow-list"},
	)
}

// The record has what was read for the decision, with the knowledge used; for
// an edited tool use it is that of the edit.
func TestRecordHasWhatWasRead(t *testing.T) {
	v, b := evaluator(t, spec{}, &person{answers: []Answer{
		{Behavior: Allow, Input: json.RawMessage(`{"command":"deploy --hook x"}`)}, {Behavior: Allow},
	}})
	v.Policy.Catalog = claims(t)
	can(t, v, using("Bash", "npm i"))
	can(t, v, using("Edit", "a"))
	read, know := b.records[0].Facts, v.Policy.knowledge()
	if read == nil || read.Source != "deploy --hook x" || read.Actions[0].Program == nil || !know.equal(&b.records[0].Knowledge) {
		t.Errorf("%+v", b.records[0])
	}
	if b.records[1].Facts != nil {
		t.Errorf("%+v", b.records[1].Facts)
	}
}

// TestApprovalIsRecorded: who answered elsewhere is in the record of an allow, of a
// denial and of an edit, and of nothing else.
func TestApprovalIsRecorded(t *testing.T) {
	by := &Approval{ID: "ap_1", People: []Answerer{{Name: "anna", Credential: "c1"}}}
	edit := Answer{Behavior: Allow, Input: json.RawMessage(`{"command":"ls"}`), Approval: by}
	v, _, b := lastingEvaluator(t, spec{allow: "Bash(ls:*)"}, Answer{Behavior: Allow, Approval: by}, Answer{Behavior: Deny, Approval: by}, edit)
	for _, line := range []string{"npm i", "npm i", "npm i", "ls"} {
		can(t, v, using("Bash", line))
	}
	for i, want := range []*Approval{by, by, by, nil} {
		if got := b.records[i].Result.Approval; got != want {
			t.Errorf("record %d: %+v", i, got)
		}
	}
}

// TestReasonOfAnApproval checks that what a person has allowed says so first, then what
// it was asked by, and nothing that sounds like a denial.
func TestReasonOfAnApproval(t *testing.T) {
	gated := spec{allow: "Bash(ls:*)", ask: "Bash(git push:*)"}
	for _, tt := range []struct {
		s      spec
		line   string
		answer Answer
		want   string
	}{
		{gated, "git push origin", Answer{Behavior: Allow}, "approved by you; asked by Bash(git push:*)"},
		{gated, "ls; git push origin", allowing("Bash(git push:*)"), "approved by you for this session; asked by Bash(git push:*)"},
		{gated, "git push origin", Answer{Behavior: Allow, Scope: ScopeAlways, Rules: []string{"Bash(git push:*)"}}, "approved by you, always; asked by Bash(git push:*)"},
		{gated, "git push origin", Answer{Behavior: Allow, Scope: ScopeSession, Rules: []string{"Bash(git push:*)"}, Times: 3}, "approved by you for a while; asked by Bash(git push:*)"},
		{gated, "git push origin", Answer{Behavior: Allow, Scope: ScopeUse}, "approved by you for this session, for exactly this tool use; asked by Bash(git push:*)"},
		{gated, "git push origin", allowing("Bash(ls)"), "approved by you once, rule Bash(ls) was not kept: it covers nothing that is asked about; asked by Bash(git push:*)"},
		{gated, "npm i", Answer{Behavior: Allow}, "approved by you; not in the allow list"},
		{gated, "npm i $x", Answer{Behavior: Allow}, "approved by you; not in the allow list"},
		{spec{risk: true}, "npm i", Answer{Behavior: Allow}, "approved by you; asked: tier 2: installs a package"},
		{spec{deny: "Read(.env)", risk: true}, "cat $x", Answer{Behavior: Allow}, "approved by you; asked: it may match deny rule Read(.env): "},
		{gated, "npm i", Answer{Behavior: Allow, Approval: &Approval{ID: "1", People: []Answerer{{Name: "anna"}, {Name: "bo"}}}}, "approved by anna and bo; not in the allow list"},
	} {
		v, book := evaluator(t, tt.s, &person{answers: []Answer{tt.answer}})
		v.Session.Now = time.Now
		res := can(t, v, using("Bash", tt.line))
		if res.Behavior != Allow || !strings.HasPrefix(res.Reason, tt.want) || strings.Contains(res.Reason, "Not in allow list") {
			t.Errorf("%s: %s %q, want %q", tt.line, outcome(res.Decision), res.Reason, tt.want)
		}
		if last := book.records[len(book.records)-1]; last.Result.Reason != res.Reason {
			t.Errorf("%s: recorded %q", tt.line, last.Result.Reason)
		}
	}
}

// TestReasonOfAKeptRule checks that a rule of a file is not called one of this session.
func TestReasonOfAKeptRule(t *testing.T) {
	always := Answer{Behavior: Allow, Scope: ScopeAlways, Rules: []string{"Bash(git push:*)"}}
	v, _ := evaluator(t, spec{}, &person{answers: []Answer{always, allowing("Bash(npm i)")}})
	for _, tt := range []struct{ line, want string }{
		{"git push", "always allowed by Bash(git push:*): run git push"},
		{"npm i", "allowed for this session by Bash(npm i): run npm i"},
	} {
		can(t, v, using("Bash", tt.line))
		if res := can(t, v, using("Bash", tt.line)); res.Behavior != Allow || res.Layer != LayerSessionAllow || res.Reason != tt.want {
			t.Errorf("%s: %s %q", tt.line, outcome(res.Decision), res.Reason)
		}
	}
	if all := v.Session.Grants(); len(all) != 2 || all[0].Always == all[1].Always {
		t.Errorf("%+v", all)
	}
	rule, _, err := patterns.Parse("Bash(go vet)", patterns.Allow, patterns.Source{Name: "agent-wrapper.local.toml", Line: 3})
	if err != nil || v.Session.Add(rule) != nil {
		t.Fatal(err)
	}
	if res := can(t, v, using("Bash", "go vet")); res.Reason != "always allowed by Bash(go vet): run go vet" {
		t.Error(res.Reason)
	}
}

// allowing returns an answer that keeps an allow rule for the session.
func allowing(rule string) Answer {
	return Answer{Behavior: Allow, Scope: ScopeSession, Rules: []string{rule}}
}
