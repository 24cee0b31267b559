package permission

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// most returns a limit that is set in line n of p.toml.
func most(n int) Limit {
	return Limit{Most: n, Source: patterns.Source{Name: "p.toml", Line: n, Col: 1}}
}

func bounded(t *testing.T, s spec, l Limits, answers ...Answer) (*Evaluator, *person, *book) {
	v, p, b := lastingEvaluator(t, s, answers...)
	v.Session.Limits = l
	return v, p, b
}

var (
	yesOnce = Answer{Behavior: Allow}
	no      = Answer{Behavior: Deny}
)

// TestLimitOfUses: a person is asked about the tool use behind the last one, whatever
// allows it, and an approval begins the count anew.
func TestLimitOfUses(t *testing.T) {
	for _, s := range []spec{{allow: "Bash"}, {mode: "bypassPermissions"}, {sessionAllow: "Bash(ls:*)"}} {
		v, p, b := bounded(t, s, Limits{ToolUses: most(2), Then: AskAtLimit}, yesOnce, no, yesOnce)
		got := outcomes(t, v, "ls", "ls", "ls", "ls", "ls", "ls", "ls", "ls")
		if want := "[rule allow rule allow person allow rule allow person deny person allow rule allow rule deny]"; fmt.Sprint(got) != want {
			t.Errorf("%+v: %v", s, got)
		}
		asked := p.asked[0].Decision
		const words = "2 tool uses in this session; the limit is 2 [p.toml:2:1]"
		if asked.Reason != words || asked.Layer != LayerGuard || !asked.Held || len(asked.Advice) > 0 {
			t.Errorf("%+v", asked)
		}
		if last := b.records[7].Result; !strings.Contains(last.Message, words) || last.Interrupt {
			t.Errorf("nobody answers: %+v", last)
		}
	}
}

// TestLimitKeepsNothing: an answer about a limit is for one tool use, and no rule that
// a person keeps meanwhile answers it.
func TestLimitKeepsNothing(t *testing.T) {
	v, p, _ := bounded(t, spec{}, Limits{ToolUses: most(1), Then: AskAtLimit},
		Answer{Behavior: Allow}, Answer{Behavior: Allow, Scope: ScopeUse}, no)
	outcomes(t, v, "npm i", "npm i", "npm i")
	r := p.asked[1]
	if r.Answers("Bash(npm i)") || r.CanKeep(patterns.Allow, "Bash(npm i)") == nil || r.CanComeAgain() == nil || len(v.Session.Grants()) != 0 {
		t.Errorf("kept: %v", v.Session.Grants())
	}
}

// TestLimitBesideDenials: what is denied is not asked about, at whatever limit.
func TestLimitBesideDenials(t *testing.T) {
	v, p, _ := bounded(t, spec{allow: "Bash", deny: "Bash(rm:*)"}, Limits{ToolUses: most(1), Then: AskAtLimit})
	got := outcomes(t, v, "ls", "rm x", "rm -rf /")
	if want := "[rule allow rule deny rule deny]"; fmt.Sprint(got) != want || len(p.asked) != 0 {
		t.Error(got, len(p.asked))
	}
	silent, p, _ := bounded(t, spec{allow: "Bash", mode: "dontAsk"}, Limits{ToolUses: most(1), Then: AskAtLimit}, yesOnce)
	got = outcomes(t, silent, "ls", "ls")
	if want := "[rule allow rule deny]"; fmt.Sprint(got) != want || len(p.asked) != 0 {
		t.Error("mode dontAsk:", got, len(p.asked))
	}
}

// TestLimitOfDenials: denials count from the last allow. Those with advice, of a limit
// and of a cancelled question do not, and housekeeping neither counts nor begins anew.
func TestLimitOfDenials(t *testing.T) {
	v, p, b := bounded(t, spec{allow: "Bash(ls:*); Agent", deny: "Bash(rm:*)"}, Limits{DenialsInARow: most(2), Then: AskAtLimit}, no, yesOnce)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	for range 5 {
		if res, _ := v.CanUseTool(over, using("Bash", "rm x")); res.Behavior != Deny {
			t.Fatal("it was cancelled")
		}
	}
	got := outcomes(t, v, "rm x", "ls", "rm x")
	can(t, v, using("TodoWrite", ""))
	got = append(got, outcomes(t, v, "rm x", "ls", "ls", "rm x", "ls")...)
	want := "[rule deny rule allow rule deny rule deny person deny person allow rule deny rule allow]"
	if fmt.Sprint(got) != want || len(p.asked) != 2 {
		t.Errorf("%v, asked %d times", got, len(p.asked))
	}
	if r := b.records[10].Result; r.Layer != LayerGuard || !strings.HasPrefix(r.Reason, "2 denials in a row; the limit is 2 [p.toml:2:1]") {
		t.Errorf("%+v", r)
	}
}

type alwaysAdvise struct{}

func (alwaysAdvise) Advise(ToolUse, []Advice) bool { return true }

// TestLimitsAndAdvice: a denial with advice is neither a denial nor a tool use, and at
// a limit there is none.
func TestLimitsAndAdvice(t *testing.T) {
	v, p, b := bounded(t, spec{allow: "Bash(cat:*)", deny: "Read(.env)"}, Limits{DenialsInARow: most(2), ToolUses: most(2), Then: AskAtLimit}, no)
	v.Adviser = alwaysAdvise{}
	const vague = `[[ $n -lt 5 ]]`
	outcomes(t, v, vague, vague, vague, "cat a", "cat a", vague)
	var by []string
	for _, r := range b.records {
		by = append(by, r.Result.By+" "+r.Result.Behavior.String())
	}
	if want := "[advice deny advice deny advice deny rule allow rule allow person deny]"; fmt.Sprint(by) != want {
		t.Error(by)
	}
	if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0].Decision.Reason, "2 tool uses") {
		t.Errorf("%+v", p.asked)
	}
}

// TestLimitOfQuestions: questions of the last hour count, to the moment; the question
// about the limit is none.
func TestLimitOfQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v, p, _ := bounded(t, spec{ask: "Bash(npm:*)", allow: "Bash"}, Limits{QuestionsAnHour: most(2), Then: AskAtLimit},
			yesOnce, yesOnce, no, no, yesOnce, yesOnce)
		got := outcomes(t, v, "npm i")
		time.Sleep(time.Minute)
		got = append(got, outcomes(t, v, "npm i", "ls")...)
		time.Sleep(time.Hour - time.Minute - time.Nanosecond)
		got = append(got, outcomes(t, v, "ls")...)
		time.Sleep(time.Nanosecond)
		got = append(got, outcomes(t, v, "ls", "npm i", "ls")...)
		want := "[person allow person allow person deny person deny rule allow person allow person allow]"
		if fmt.Sprint(got) != want {
			t.Error(got)
		}
		if r := p.asked[5].Decision.Reason; r != "2 questions in the last hour; the limit is 2 [p.toml:2:1]" {
			t.Error(r)
		}
	})
	v, p, _ := bounded(t, spec{}, Limits{QuestionsAnHour: most(1), Then: EndAtLimit})
	v.Session.Now = nil
	p.err = errors.New("there is nobody")
	outcomes(t, v, "npm i", "npm i", "npm i") // nobody was asked
	if p.err = nil; len(p.asked) != 3 {
		t.Error("a question for nobody counts")
	}
	p.answers = []Answer{yesOnce, yesOnce}
	if got := outcomes(t, v, "npm i", "npm i"); fmt.Sprint(got) != "[person allow rule deny]" {
		t.Error("without a clock:", got)
	}
}

// TestLimitPauses: at a limit the session is paused, as by Session.Pause, until it is
// resumed, which begins the count anew.
func TestLimitPauses(t *testing.T) {
	v, p, _ := bounded(t, spec{allow: "Bash"}, Limits{ToolUses: most(2), Then: PauseAtLimit}, yesOnce)
	outcomes(t, v, "ls", "ls")
	const words = "2 tool uses in this session; the limit is 2 [p.toml:2:1]"
	for _, use := range []ToolUse{using("Bash", "ls"), using("TodoWrite", ""), using("Bash", "ls")} {
		if res := can(t, v, use); res.Behavior != Deny || !res.Interrupt || res.Layer != LayerGuard || res.Reason != "the agent is paused: "+words {
			t.Errorf("%+v", res)
		}
	}
	if v.Session.Paused() != words || len(p.asked) != 0 {
		t.Errorf("paused: %q, asked %d times", v.Session.Paused(), len(p.asked))
	}
	v.Session.Resume()
	if got := outcomes(t, v, "ls", "ls", "ls"); fmt.Sprint(got) != "[rule allow rule allow rule deny]" {
		t.Error(got)
	}
}

// TestLimitEnds: at a limit everything is denied, and the agent's turn ends. A value
// that is none ends it as well.
func TestLimitEnds(t *testing.T) {
	for _, then := range []AtLimit{EndAtLimit, 0, 9} {
		v, p, _ := bounded(t, spec{mode: "bypassPermissions"}, Limits{ToolUses: most(1), Then: then}, yesOnce)
		outcomes(t, v, "ls")
		for _, use := range []ToolUse{using("Bash", "ls"), using("TodoWrite", ""), using("AskUserQuestion", `{"questions":[]}`)} {
			res := can(t, v, use)
			if res.Behavior != Deny || !res.Interrupt || !strings.Contains(res.Message, "1 tool use in this session; the limit is 1 [p.toml:1:1]") {
				t.Errorf("%d: %+v", then, res)
			}
		}
		if len(p.asked) != 0 || v.Session.Paused() != "" {
			t.Errorf("%d: asked %d times", then, len(p.asked))
		}
	}
}

// TestExemptFromLimits: housekeeping and questions for a person are no tool uses, and
// nobody is asked about them at a limit; housekeeping that is more than that is one.
func TestExemptFromLimits(t *testing.T) {
	v, p, _ := bounded(t, spec{allow: "Bash; Agent"}, Limits{ToolUses: most(2), Then: AskAtLimit}, no, no)
	for range 3 {
		can(t, v, using("TodoWrite", ""))
	}
	outcomes(t, v, "ls")
	more := using("Agent", "")
	more.Input = []byte(`{"description":"x","prompt":"y","isolation":"remote"}`)
	can(t, v, more)
	if res := can(t, v, using("TodoWrite", "")); res.Behavior != Allow || len(p.asked) != 0 {
		t.Errorf("%+v, asked %d times", res, len(p.asked))
	}
	if outcomes(t, v, "ls"); len(p.asked) != 1 {
		t.Errorf("asked %d times", len(p.asked))
	}
	v.Session.Limits.QuestionsAnHour = most(1)
	question := using("AskUserQuestion", `{"questions":[]}`)
	for range 3 {
		p.answers = []Answer{{Behavior: Allow, Input: []byte(`{"questions":[],"answers":{}}`)}}
		if res := can(t, v, question); res.Behavior != Allow || res.By != "person" {
			t.Errorf("%+v", res)
		}
	}
	v.Session.Limits.Then = EndAtLimit
	if res := can(t, v, question); res.Behavior != Deny || !res.Interrupt {
		t.Errorf("%+v", res)
	}
}

// meeting is an adviser that lets tool uses go on when all of them have been decided.
type meeting struct {
	mu   sync.Mutex
	left int
	all  chan struct{}
}

func (m *meeting) Advise(ToolUse, []Advice) bool {
	m.mu.Lock()
	if m.left--; m.left == 0 {
		close(m.all)
	}
	m.mu.Unlock()
	<-m.all
	return false
}

// TestLimitsTogether: uses at the same time are counted once each, and no more pass
// than the limit, also where all of them were decided before the first was counted.
func TestLimitsTogether(t *testing.T) {
	for _, l := range []Limits{
		{ToolUses: most(25), Then: AskAtLimit}, {ToolUses: most(25), Then: PauseAtLimit}, {ToolUses: most(25), Then: EndAtLimit},
		{QuestionsAnHour: most(25), Then: EndAtLimit}, {QuestionsAnHour: most(25), Then: PauseAtLimit},
	} {
		const uses = 80
		answers := make([]Answer, 25)
		for i := range answers {
			answers[i] = yesOnce
		}
		v, p, _ := bounded(t, spec{allow: "Bash(cat:*)", deny: "Read(.env)"}, l, answers...)
		v.Adviser = &meeting{left: uses, all: make(chan struct{})}
		var all sync.WaitGroup
		var mu sync.Mutex
		allowed := 0
		for range uses {
			all.Go(func() {
				use := using("Bash", `cat "$f"`)
				use.Dir = workspace
				res, err := v.CanUseTool(context.Background(), use)
				mu.Lock()
				defer mu.Unlock()
				if err == nil && res.Behavior == Allow {
					allowed++
				}
			})
		}
		all.Wait()
		paused := l.Then == PauseAtLimit && allowed < 25 // one that waited for its answer
		again := max(0, len(p.asked)-uses)               // approvals of uses that met the limit after an approval
		if allowed > 25 || allowed+again < 25 && !paused || len(p.asked) > 25 && l.Then != AskAtLimit {
			t.Errorf("%+v: %d allowed, asked %d times", l, allowed, len(p.asked))
		}
	}
}

// TestApprovalsTogether: several approvals at a limit begin the count anew once, and
// each tool use counts in it.
func TestApprovalsTogether(t *testing.T) {
	v, p, _ := bounded(t, spec{allow: "Bash"}, Limits{ToolUses: most(10), Then: AskAtLimit})
	for range 10 {
		outcomes(t, v, "ls")
	}
	p.answers = []Answer{yesOnce, yesOnce, yesOnce, yesOnce, yesOnce, yesOnce}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			use := using("Bash", "ls")
			use.Dir = workspace
			if res, err := v.CanUseTool(context.Background(), use); err != nil || res.Behavior != Allow {
				t.Errorf("%+v %v", res, err)
			}
		})
	}
	all.Wait()
	p.answers = nil
	if got := outcomes(t, v, "ls", "ls", "ls", "ls", "ls"); fmt.Sprint(got) != "[rule allow rule allow rule allow rule allow rule deny]" {
		t.Error(got)
	}
}

// TestSeveralLimits: one question names all limits that are reached, and an approval
// is about these alone.
func TestSeveralLimits(t *testing.T) {
	v, p, _ := bounded(t, spec{allow: "Bash", deny: "Bash(rm:*)"}, Limits{DenialsInARow: most(2), ToolUses: most(3), Then: AskAtLimit}, yesOnce, no)
	got := outcomes(t, v, "ls", "rm x", "rm x", "ls", "ls", "ls", "ls")
	if want := "[rule allow rule deny rule deny person allow rule allow rule allow person deny]"; fmt.Sprint(got) != want {
		t.Error(got)
	}
	const words = "2 denials in a row; the limit is 2 [p.toml:2:1], and 3 tool uses in this session; the limit is 3 [p.toml:3:1]"
	if r := p.asked[0].Decision.Reason; r != words {
		t.Error(r)
	}
}

// TestLimitOfMappedTool: the limits hold for tools that are described by the policy,
// and count one use of them as one.
func TestLimitOfMappedTool(t *testing.T) {
	v, p, _ := bounded(t, spec{mode: "bypassPermissions"}, Limits{ToolUses: most(1), Then: AskAtLimit}, no)
	v.Policy.Tools = mappings(t)
	v.Session.Tools = v.Policy.Tools
	use := ToolUse{Tool: "run_shell", Input: []byte(`{"cmd":"ls"}`)}
	first, second := can(t, v, use), can(t, v, use)
	if first.Behavior != Allow || second.Behavior != Deny || len(p.asked) != 1 || !p.asked[0].Decision.Held {
		t.Errorf("%+v\n%+v", first, second)
	}
}

// TestQuestionsTogether: a question that was decided on before the last one was put is
// not put.
func TestQuestionsTogether(t *testing.T) {
	s := NewSession(place)
	s.Limits = Limits{QuestionsAnHour: most(1), Then: AskAtLimit}
	a, b, question := &seat{}, &seat{}, &seat{exempt: true}
	if !s.enter(a) || !s.enter(b) || !s.enter(question) || !s.putTo(a) {
		t.Fatal("there was no question yet")
	}
	if s.putTo(b) || b.asked {
		t.Error("a second question was put")
	}
	if b.reached = s.reached(b); b.reached == nil || !s.putTo(b) || !s.putTo(question) {
		t.Error("the question about the limit, and that of the agent, are put")
	}
}

// TestRenewIsAboutWhatWasSaid: if another limit is reached while a person answers, the
// answer is not about it, and the person is asked again.
func TestRenewIsAboutWhatWasSaid(t *testing.T) {
	s := NewSession(place)
	s.Limits = Limits{DenialsInARow: most(1), ToolUses: most(1), Then: AskAtLimit}
	at := &seat{}
	s.ended(&seat{}, &Result{Decision: Decision{Behavior: Deny}})
	if at.reached = s.reached(at); at.reached == nil || at.reached.uses {
		t.Fatal("the denial counts, and is no tool use")
	}
	s.enter(&seat{passed: false, exempt: true}) // changes nothing
	s.tally.uses = 1                            // another tool use, which had been admitted
	if s.renew(at) || s.tally.denials != 1 || at.passed {
		t.Errorf("renewed: %+v", at)
	}
	at.reached = s.reached(at)
	if !s.renew(at) || s.tally.denials != 0 || s.tally.uses != 1 {
		t.Errorf("not renewed: %+v, %d denials, %d uses", at, s.tally.denials, s.tally.uses)
	}
}

// TestLimitCountsInterrupts: a person's denial counts also if it ends the turn.
func TestLimitCountsInterrupts(t *testing.T) {
	v, p, _ := bounded(t, spec{}, Limits{DenialsInARow: most(1), Then: AskAtLimit}, Answer{Behavior: Deny, Interrupt: true}, no)
	outcomes(t, v, "npm i", "npm i")
	if r := p.asked[1].Decision.Reason; !strings.HasPrefix(r, "1 denial in a row") {
		t.Error(r)
	}
}
