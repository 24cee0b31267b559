package ask

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// outcomesOf returns how questions ended: "allow", "deny", an error, or "waits".
func outcomesOf(all []func() asked) string {
	synctest.Wait()
	var out []string
	for _, one := range all {
		switch a := one(); {
		case !a.done:
			out = append(out, "waits")
		case a.err != nil:
			out = append(out, a.err.Error())
		case a.answer.Scope != permission.ScopeOnce || len(a.answer.Rules) > 0:
			out = append(out, "kept")
		default:
			out = append(out, a.answer.Behavior.String())
		}
	}
	return strings.Join(out, " ")
}

// pressed presses keys one by one, each after the time of grace.
func (p *person) presses(keys ...string) {
	for _, key := range keys {
		time.Sleep(time.Second)
		p.types(key)
		time.Sleep(time.Second)
	}
	synctest.Wait()
}

// several asks about these tool uses at the same time; the first one is open.
func (p *person) several(ctx context.Context, requests ...permission.Request) []func() asked {
	var all []func() asked
	for _, r := range requests {
		all = append(all, p.approve(ctx, r))
	}
	return all
}

func TestTogether(t *testing.T) {
	a, b, c := command("npm install a"), command("npm install b"), command("npm install c")
	c.Use.Agent = "helper"
	push := command("git push")
	for _, tt := range []struct {
		name  string
		asks  []permission.Request
		keys  []string
		want  string
		shows string
	}{
		{"once", []permission.Request{a, b, c}, []string{"m", "o"}, "allow allow allow", "│ one answer to these 3:  o  once   d  deny   Esc  back"},
		{"deny", []permission.Request{a, b, c}, []string{"m", "d"}, "deny deny deny", "  --- 3 of 3\n┌ Bash (subagent helper) "},
		{"back", []permission.Request{a, b, c}, []string{"m", "\x1b", "d"}, "deny waits waits", "└ > back\n"},
		{"no answer", []permission.Request{a, b, c}, []string{"m", "s", "y", "\r", "a", "m", "1"}, "waits waits waits", "--- 1 of 3"},
		{"another rule", []permission.Request{a, push, b}, []string{"m", "o"}, "allow waits allow", "│ 2 other questions wait, 1 of this kind:  m  shows these, for one answer\n"},
		{"nothing of the kind", []permission.Request{push, a, b}, []string{"m", "o"}, "allow waits waits", "│ 2 other questions wait\n"},
		{"alone", []permission.Request{a}, []string{"m", "d"}, "deny", "┌ Bash"},
		{"the open one is held", []permission.Request{command("npm install a > agent-wrapper.toml"), a, b}, []string{"m", "o"}, "allow waits waits", "│ 2 other questions wait\n"},
		{"one that waits is held", []permission.Request{a, command("npm install a > agent-wrapper.toml")}, []string{"m", "o"}, "allow waits", "│ 1 other question waits\n"},
		{"tier 3", []permission.Request{command("rm -rf x"), command("rm -rf y")}, []string{"m", "d"}, "deny waits", "│ 1 other question waits\n"},
		{"one is of tier 3", []permission.Request{command("rm x"), command("rm -rf y")}, []string{"m", "d"}, "deny waits", "│ 1 other question waits\n"},
		{"pasted", []permission.Request{a, b}, []string{"mo", "m", "oo"}, "waits waits", "of this kind:  m  "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPerson(Options{})
				ctx, cancel := context.WithCancel(t.Context())
				all := p.several(ctx, tt.asks...)
				p.presses(tt.keys...)
				if got := outcomesOf(all); got != tt.want || !strings.Contains(p.sees(), tt.shows) {
					t.Errorf("%s\n%s", got, p.sees())
				}
				cancel()
				synctest.Wait()
			})
		})
	}
}

// TestTogetherIsWhatWasShown: what comes while the questions are shown waits, what is
// withdrawn gets no answer, and a key counts only after the time of grace.
func TestTogetherIsWhatWasShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := p.several(ctx, command("npm install a"))
		over, withdraw := context.WithCancel(ctx)
		all = append(all, p.several(over, command("npm install b"))...)
		all = append(all, p.several(ctx, command("npm install c"))...)
		p.presses("m")
		all = append(all, p.several(ctx, command("npm install d"))...)
		withdraw()
		synctest.Wait()
		p.types("x") // begins the time of grace anew
		time.Sleep(grace - 1)
		p.types("o")
		if got := outcomesOf(all); got != "waits context canceled waits waits" {
			t.Fatal(got)
		}
		p.presses("o")
		if got := outcomesOf(all); got != "allow context canceled allow waits" {
			t.Errorf("%s\n%s", got, p.sees())
		}
		if !strings.Contains(p.sees(), "answered 2 of 3\n") || strings.Contains(strings.Split(p.sees(), "answered 2")[0], "npm install d") {
			t.Error(p.sees())
		}
	})
}

// TestTogetherWithdrawnSelf: if the open question is withdrawn, none is answered.
func TestTogetherWithdrawnSelf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		over, withdraw := context.WithCancel(t.Context())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := append(p.several(over, command("npm install a")), p.several(ctx, command("npm install b"))...)
		p.presses("m")
		withdraw()
		p.types("o")
		if got := outcomesOf(all); got != "context canceled waits" {
			t.Error(got)
		}
	})
}

// TestTogetherChanged: a question whose file has changed is asked by itself, and one
// answer is void if it is the open one.
func TestTogetherChanged(t *testing.T) {
	files := map[string]string{}
	edit := func(name string) permission.Request {
		use := npm
		use.Tool, use.Input = "Edit", fmt.Appendf(nil, `{"file_path":"/proj/%s","old_string":"x","new_string":"y"}`, name)
		return ask(use)
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{File: func(use *permission.ToolUse) *display.File {
			return &display.File{Exists: true, Text: files[display.Path(use)]}
		}})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		files["/proj/a"], files["/proj/b"], files["/proj/c"] = "x\n", "x\n", "x\n"
		all := p.several(ctx, edit("a"), edit("b"), edit("c"))
		p.presses("m")
		files["/proj/a"] = "x\nz\n"
		p.presses("o")
		if got := outcomesOf(all); got != "waits waits waits" {
			t.Fatalf("%s\n%s", got, p.sees())
		}
		p.presses("m")
		files["/proj/b"] = "x\nz\n"
		p.presses("o")
		if got := outcomesOf(all); got != "allow waits allow" || !strings.Contains(p.sees(), "has changed meanwhile: it is asked by itself\n") {
			t.Errorf("%s\n%s", got, p.sees())
		}
	})
}

// TestOthersWait: the line that says how many wait follows what comes and goes, and
// keeps no key from counting.
func TestOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPerson(Options{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		all := p.several(ctx, command("npm install a"))
		time.Sleep(time.Second)
		for n := range 40 { // one after the other, faster than the time of grace
			over, withdraw := context.WithCancel(ctx)
			p.approve(over, command(fmt.Sprintf("npm install x%d", n)))
			time.Sleep(grace / 3)
			if n == 20 {
				go p.types("o")
			}
			withdraw()
			synctest.Wait()
		}
		if got := outcomesOf(all); got != "allow" {
			t.Errorf("%s\n%s", got, p.sees())
		}
		for _, want := range []string{"│ 1 other question waits, of this kind:  m  shows all, for one answer\n", "\x1b[1A\r\x1b[J"} {
			if !strings.Contains(p.sees(), want) {
				t.Errorf("not shown: %q\n%s", want, p.sees())
			}
		}
	})
}

// TestTogetherDecides: with an evaluator each tool use is decided again after the
// answer, as after one of its own: what is denied meanwhile stays denied.
func TestTogetherDecides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, v := lastingPerson("")
		results := make(chan string, 3)
		for _, line := range []string{"npm install a", "npm install b", "npm install c"} {
			use := npm
			use.Input = fmt.Appendf(nil, `{"command":%q}`, line)
			go func() {
				res, err := v.CanUseTool(t.Context(), use)
				results <- fmt.Sprintf("%s: %s by %s", line, res.Behavior, res.By)
				if err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		p.presses("m")
		if err := v.Session.Deny("Bash(npm install c)"); err != nil {
			t.Fatal(err)
		}
		p.presses("o")
		got := map[string]bool{<-results: true, <-results: true, <-results: true}
		for _, want := range []string{"npm install a: allow by person", "npm install b: allow by person", "npm install c: deny by rule"} {
			if !got[want] {
				t.Errorf("%v", got)
			}
		}
	})
}

// TestKinds: what may be answered together is of one tool, asked about for the same
// cause by the same rule.
func TestKinds(t *testing.T) {
	same := func(a, b permission.Request) bool { return kind(&a) != "" && kind(&a) == kind(&b) }
	if !same(command("npm install a"), command("npm install b && ls")) {
		t.Error("the same rule, for two lines")
	}
	long := command("npm install " + strings.Repeat("x", maxInput))
	if same(long, long) {
		t.Error("a long one is shown by itself")
	}
	other := permission.Request{Use: npm, Decision: permission.Decision{Behavior: permission.Ask}}
	if kind(&other) != "" {
		t.Error("nothing is known of its cause")
	}
	if same(command("npm install a"), command("npm install a; git push")) {
		t.Error("another rule asks too")
	}
}

// TestHeldIsNoKind: two writes to the policy have the same cause, and are held.
func TestHeldIsNoKind(t *testing.T) {
	a, b := command("echo x > agent-wrapper.toml"), command("echo y > agent-wrapper.toml")
	if kind(&a) != "" || kind(&b) != "" {
		t.Error("what is held is answered by itself")
	}
}

// TestAnsweredIsNotAsked: a question that was answered together with another one is not
// asked, also if its turn comes at the same moment.
func TestAnsweredIsNotAsked(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			p := newPerson(Options{})
			<-p.asker.turn
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			one := p.approve(ctx, command("npm install a"))
			w := p.asker.queue.waiting()[0]
			p.asker.turn <- struct{}{} // and before it is taken:
			if !p.asker.queue.end(w, outcome{answer: permission.Answer{Behavior: permission.Deny}}) {
				return // its turn came first
			}
			if got := outcomesOf([]func() asked{one}); got != "deny" || strings.Contains(p.sees(), "┌ Bash") {
				t.Fatalf("%s\n%s", got, p.sees())
			}
		})
	}
}
