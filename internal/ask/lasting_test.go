package ask

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// noRecord is a recorder that keeps nothing.
type noRecord struct{}

func (noRecord) Record(context.Context, permission.Record) error { return nil }

// lastingPerson returns an evaluator that asks a person, who sees its session.
func lastingPerson(settings string) (*person, *permission.Evaluator) {
	p := newPerson(Options{})
	v := evaluatorOf(settings)
	v.Session.Now = time.Now
	v.Recorder = noRecord{}
	p.asker.options.Session = v.Session
	v.Approver = p.asker
	return p, v
}

// decide decides a tool use while the person presses keys, and returns how it went.
func decide(t *testing.T, p *person, v *permission.Evaluator, line string, keys ...string) string {
	t.Helper()
	use := npm
	use.Input = fmt.Appendf(nil, `{"command":%q}`, line)
	done := make(chan permission.Result, 1)
	go func() {
		res, err := v.CanUseTool(context.Background(), use)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()
	synctest.Wait()
	for _, key := range keys {
		time.Sleep(time.Second)
		p.types(key)
		time.Sleep(time.Second)
	}
	synctest.Wait()
	select {
	case res := <-done:
		return res.By + " " + res.Behavior.String()
	default:
		t.Fatalf("%s: no answer: %s", line, p.sees())
		return ""
	}
}

// TestForAWhile: the choices of an answer that ends, on the screen and in what they
// allow.
func TestForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v := lastingPerson("")
		for _, step := range []struct {
			line string
			wait time.Duration
			keys []string
			want string
		}{
			{"npm install left-pad", 0, []string{"t", "1"}, "person allow"},
			{"npm install left-pad", 29 * time.Minute, nil, "rule allow"},
			{"npm install left-pad", time.Minute, []string{"t", "\x1b", "t", "t", "x", "1"}, "person allow"},
			{"npm install left-pad", 24 * time.Hour, nil, "rule allow"},
			{"npm install left-pad", 0, nil, "rule allow"},
			{"npm install left-pad", 0, nil, "rule allow"},
			{"npm install left-pad", 0, nil, "rule allow"},
			{"npm install left-pad", 0, []string{"t", "t", "t", "1"}, "person allow"},
		} {
			time.Sleep(step.wait)
			if got := decide(t, p, v, step.line, step.keys...); got != step.want {
				t.Fatalf("%+v: %s\n%s", step, got, p.sees())
			}
		}
		for _, want := range []string{
			"t  for a while", "│ for 30 minutes: which one?   t  for 5 times, this one included   Esc  back",
			"│ for 5 times, this one included: which one?   t  for 30 minutes   Esc",
		} {
			if !strings.Contains(p.sees(), want) {
				t.Errorf("not shown: %s\n%s", want, p.sees())
			}
		}
		if all := v.Session.Grants(); len(all) != 1 || all[0].Counted || all[0].Until.IsZero() {
			t.Error(all)
		}
	})
}

// TestGrantedSoFar: lasting answers are listed in a question, and a number revokes one.
func TestGrantedSoFar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v := lastingPerson("")
		decide(t, p, v, "npm install a", "s")
		if strings.Contains(p.sees(), "g  granted") {
			t.Error("nothing was granted, and it is offered to look at it")
		}
		decide(t, p, v, "npm install b", "t", "1")
		if got := decide(t, p, v, "npm install c", "g", "2", "\x1b", "d"); got != "person deny" {
			t.Fatal(got)
		}
		for _, want := range []string{"g  granted so far", "│ 1  allow Bash(npm install b) until ", "│ 2  allow Bash(npm install a)\n", "│ which one to revoke?   Esc  back\n", "  revoked\n"} {
			if !strings.Contains(p.sees(), want) {
				t.Errorf("not shown: %q\n%s", want, p.sees())
			}
		}
		if got := decide(t, p, v, "npm install b"); got != "rule allow" {
			t.Error(got)
		}
		if got := decide(t, p, v, "npm install a", "g", "1", "d"); got != "person deny" || len(v.Session.Grants()) != 0 {
			t.Error(got, v.Session.Grants())
		}
		for i := range 11 {
			if err := decide(t, p, v, fmt.Sprint("npm install ", i), "s"); err != "person allow" {
				t.Fatal(err)
			}
		}
		decide(t, p, v, "npm install z", "g", "\x1b", "d")
		if !strings.Contains(p.sees(), "and 2 earlier ones") {
			t.Error(p.sees())
		}
	})
}

// TestAgainOnScreen: what no rule can name is offered as exactly this, for the session,
// not for always; without a session it is not.
func TestAgainOnScreen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v := lastingPerson(`deny = ["Read(.env)"]`)
		p.asker.options.Keep = func(string) (patterns.Source, error) { return patterns.Source{}, nil }
		const line = `npm exec x -- python3 -c 'print(1)'`
		if got := decide(t, p, v, line, "s"); got != "person allow" {
			t.Fatal(got)
		}
		if text := p.sees(); !strings.Contains(text, "exactly this again, in the same directory") || strings.Contains(text, "a  always") {
			t.Error(text)
		}
		if got := decide(t, p, v, line); got != "rule allow" {
			t.Error(got)
		}
		p.asker.options.Session = nil
		if got := decide(t, p, v, line+" ", "d"); got != "person deny" {
			t.Error(got)
		}
		if at := strings.LastIndex(p.sees(), "o  once"); strings.Contains(p.sees()[at:], "s  for") || strings.Contains(p.sees()[at:], "t  for") {
			t.Error(p.sees()[at:])
		}
	})
}

// TestWaitingSettled: an answer for the session is also one for the questions that wait
// and that it is about; the others are shown. An answer that is counted is not.
func TestWaitingSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v := lastingPerson("")
		results := map[string]permission.Result{}
		var mu sync.Mutex
		const question = "a question"
		for _, line := range []string{"npm install a", "npm install b", question, "git push", "npm install c"} {
			go func() {
				use := npm
				use.Input = fmt.Appendf(nil, `{"command":%q}`, line)
				if line == question {
					use.Tool, use.Input = "AskUserQuestion", []byte(`{"questions":[{"question":"Which?","header":"h","options":[{"label":"one","description":""},{"label":"two","description":""}]}]}`)
				}
				res, err := v.CanUseTool(context.Background(), use)
				mu.Lock()
				defer mu.Unlock()
				if results[line] = res; err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		for _, key := range []string{"2", "2", "\r", "d"} {
			time.Sleep(time.Second)
			p.types(key)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		for line, want := range map[string]string{"npm install a": "person allow", "npm install b": "person allow", "npm install c": "person allow", "git push": "person deny", question: "person allow"} {
			if got := results[line].By + " " + results[line].Behavior.String(); got != want {
				t.Errorf("%s: %s, want %s", line, got, want)
			}
		}
		if n := strings.Count(p.sees(), "┌ Bash"); n != 2 {
			t.Errorf("%d questions:\n%s", n, p.sees())
		}
		p.asker.given.add(permission.Answer{Behavior: permission.Allow, Scope: permission.ScopeSession, Rules: []string{"Bash(x)"}, Times: 5})
		p.asker.given.add(permission.Answer{Behavior: permission.Deny, Scope: permission.ScopeSession, Rules: []string{"Bash(x)"}})
		p.asker.given.add(permission.Answer{Behavior: permission.Allow})
		if got := p.asker.given.since(0); len(got) != 1 || got[0] != "Bash(npm install:*)" {
			t.Errorf("%q", got)
		}
	})
}
