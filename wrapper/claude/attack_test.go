package claude

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// gate is a Decider that blocks each tool use until it is opened, and then allows
// it. It records the directory that each was decided in.
type gate struct {
	open map[string]chan struct{}
	mu   sync.Mutex
	dirs map[string]string
	came chan string
}

func newGate(ids ...string) *gate {
	g := &gate{open: map[string]chan struct{}{}, dirs: map[string]string{}, came: make(chan string, 16)}
	for _, id := range ids {
		g.open[id] = make(chan struct{})
	}
	return g
}

func (g *gate) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	g.mu.Lock()
	g.dirs[use.ID] = use.Dir
	g.mu.Unlock()
	g.came <- use.ID
	if wait := g.open[use.ID]; wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
		}
	}
	return allow(use)
}

// answered receives the wrapper's next answer and returns its tool use and
// behavior.
func answered(f *fake) (id, behavior string) {
	m := f.hear()
	response, _ := m["response"].(object)
	id, _ = response["request_id"].(string)
	behavior, _ = reply(m)["behavior"].(string)
	id, _, _ = strings.Cut(strings.TrimPrefix(id, "can-"), "#")
	return id, behavior
}

// TestSameRequestID: the answers to two questions with the same request ID cannot
// be told apart, so the agent is killed before it receives one.
func TestSameRequestID(t *testing.T) {
	const first, second = "can_use_tool", "hook_callback"
	for _, kind := range []string{first, second} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fake
				g := newGate("u1")
				_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
					f.ready()
					f.asks("u1", "Bash", bash("git status"))
					synctest.Wait()
					if kind == first {
						f.say(`{"type":"control_request","request_id":"can-u1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"rm -rf x"},"tool_use_id":"u2"}}`)
					} else {
						f.say(`{"type":"control_request","request_id":"can-u1","request":{"subtype":"hook_callback","callback_id":"` + hookID + `","input":{"hook_event_name":"PreToolUse","tool_use_id":"u2"}}}`)
					}
					synctest.Wait()
					close(g.open["u1"])
					for f.hear() != nil {
						t.Error("an answer went out under an id that stands for two questions")
					}
				}), g, &recorder{}))
				if err == nil || !strings.Contains(err.Error(), "can-u1") || !f.wasKilled() {
					t.Errorf("got %v, killed %v", err, f.wasKilled())
				}
			})
		})
	}
}

// TestDirectoryMoves: the directory that a hook reports is not used if a command
// that may change it can run before the tool use does.
func TestDirectoryMoves(t *testing.T) {
	const dir = "/w"
	come := func(f *fake, g *gate, id string) {
		if came := <-g.came; came != id {
			f.t.Errorf("%s came, not %s", came, id)
		}
	}
	tell := func(f *fake, g *gate, id, command string) {
		f.hooks(id, "Bash", bash(command), dir)
		come(f, g, id)
	}
	hook := func(f *fake, g *gate, id, command string) {
		tell(f, g, id, command)
		f.hear()
	}
	ask := func(f *fake, id, command string) { f.asks(id, "Bash", bash(command)) }
	anew := func(f *fake, g *gate, id, command string) {
		ask(f, id, command)
		come(f, g, id)
	}
	expect := func(f *fake, id string) {
		if got, behavior := answered(f); got != id || behavior != "allow" {
			f.t.Errorf("got %s %s, want %s allow", got, behavior, id)
		}
	}
	ran := func(f *fake, id string) { f.results(id, true, "user_temporary") }
	cases := []struct {
		name   string
		wait   []string
		script func(f *fake, g *gate)
		want   map[string]string
	}{
		{"told behind a cd that is not decided", []string{"cd"}, func(f *fake, g *gate) {
			tell(f, g, "cd", "cd sub")
			hook(f, g, "cat", "cat b.txt")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			close(g.open["cd"])
			f.hear()
			ask(f, "cd", "cd sub")
			expect(f, "cd")
			ran(f, "cd")
			ran(f, "cat")
		}, map[string]string{"cd": dir, "cat": ""}},
		{"a cd that is asked behind", []string{"cat"}, func(f *fake, g *gate) {
			tell(f, g, "cat", "cat b.txt")
			hook(f, g, "cd", "cd sub")
			ask(f, "cd", "cd sub")
			synctest.Wait()
			close(g.open["cat"])
			f.hear() // the hook of cat, and not the cd: a directory is counted on
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			expect(f, "cd")
			ran(f, "cat")
			ran(f, "cd")
		}, map[string]string{"cat": dir, "cd": dir}},
		{"told before a cd, asked after it", nil, func(f *fake, g *gate) {
			hook(f, g, "cat", "cat b.txt")
			hook(f, g, "cd", "cd sub")
			ask(f, "cd", "cd sub")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			expect(f, "cd")
			ran(f, "cd")
			ran(f, "cat")
		}, map[string]string{"cat": dir, "cd": dir}},
		{"told before a cd, and never asked", nil, func(f *fake, g *gate) {
			hook(f, g, "cat", "cat b.txt")
			hook(f, g, "cd", "cd sub")
			ask(f, "cd", "cd sub")
			f.results("cat", false, "reject")
			expect(f, "cd")
			ran(f, "cd")
		}, map[string]string{"cd": dir}},
		{"two that move", nil, func(f *fake, g *gate) {
			hook(f, g, "cd", "cd sub")
			hook(f, g, "up", "cd ..")
			ask(f, "cd", "cd sub")
			expect(f, "cd")
			anew(f, g, "up", "cd ..")
			expect(f, "up")
			ran(f, "cd")
			ran(f, "up")
		}, map[string]string{"cd": dir, "up": ""}},
		{"told while a cd runs", nil, func(f *fake, g *gate) {
			hook(f, g, "cd", "cd sub")
			ask(f, "cd", "cd sub")
			expect(f, "cd")
			hook(f, g, "cat", "cat b.txt")
			ran(f, "cd")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
		}, map[string]string{"cat": "", "cd": dir}},
		{"told after a cd", nil, func(f *fake, g *gate) {
			hook(f, g, "cd", "cd sub")
			ask(f, "cd", "cd sub")
			expect(f, "cd")
			ran(f, "cd")
			hook(f, g, "cat", "cat b.txt")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
		}, map[string]string{"cat": dir, "cd": dir}},
		{"beside a command that stays", []string{"ls"}, func(f *fake, g *gate) {
			tell(f, g, "ls", "ls; cat a.txt | sort")
			hook(f, g, "cat", "cat b.txt")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			close(g.open["ls"])
			f.hear()
			ask(f, "ls", "ls; cat a.txt | sort")
			expect(f, "ls")
			ran(f, "ls")
			ran(f, "cat")
		}, map[string]string{"ls": dir, "cat": dir}},
		{"told twice for one id", nil, func(f *fake, g *gate) {
			hook(f, g, "cat", "cat b.txt")
			f.hooks("cat", "Bash", bash("cat b.txt"), "/elsewhere")
			f.hear()
			anew(f, g, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
		}, map[string]string{"cat": ""}},
		{"told for another tool", nil, func(f *fake, g *gate) {
			f.hooks("cat", "Read", object{"file_path": "b.txt"}, dir)
			come(f, g, "cat")
			f.hear()
			anew(f, g, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
		}, map[string]string{"cat": ""}},
		{"told once, asked twice", nil, func(f *fake, g *gate) {
			hook(f, g, "cat", "cat b.txt")
			ask(f, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
			anew(f, g, "cat", "cat b.txt")
			expect(f, "cat")
			ran(f, "cat")
		}, map[string]string{"cat": ""}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate(c.wait...)
				_, _, err := play(t, g, func(f *fake) {
					f.ready()
					c.script(f, g)
					f.ends()
				})
				if err != nil {
					t.Error(err)
				}
				for id, want := range c.want {
					if got := g.dirs[id]; got != want {
						t.Errorf("%s was decided in %q, want %q", id, got, want)
					}
				}
			})
		})
	}
}

// TestSubagentsKeepTheirDirectory: a cd of the main agent does not affect a
// subagent's directory, nor the other way round.
func TestSubagentsKeepTheirDirectory(t *testing.T) {
	for _, agents := range [][2]string{{"", "a1"}, {"a1", ""}, {"a1", "a2"}, {"a1", "a1"}} {
		synctest.Test(t, func(t *testing.T) {
			g := newGate("cd")
			_, _, err := play(t, g, func(f *fake) {
				f.ready()
				for i, use := range [][2]string{{"cd", "cd sub"}, {"cat", "cat b"}} {
					f.say(object{"type": "control_request", "request_id": "hook-" + use[0], "request": object{
						"subtype": "hook_callback", "callback_id": hookID, "input": object{
							"hook_event_name": hookEvent, "cwd": "/w", "tool_name": "Bash", "tool_input": bash(use[1]), "tool_use_id": use[0], "agent_id": agents[i],
						}}})
					<-g.came
				}
				can := func(i int, id, command string) {
					f.hear()
					f.say(object{"type": "control_request", "request_id": "can-" + id, "request": object{
						"subtype": "can_use_tool", "tool_name": "Bash", "input": bash(command), "tool_use_id": id, "agent_id": agents[i],
					}})
					answered(f)
				}
				can(1, "cat", "cat b")
				close(g.open["cd"])
				can(0, "cd", "cd sub")
				f.ends()
			})
			if err != nil || g.dirs["cat"] != "/w" || g.dirs["cd"] != "/w" {
				t.Errorf("%q: decided in %q, %v", agents, g.dirs, err)
			}
		})
	}
}

func TestMayMove(t *testing.T) {
	for line, want := range map[string]bool{
		"ls": false, "cat a | sort > b": false, "git status && go test ./...": false, "echo cd": false, "(ls; pwd)": false, "x=1": false,
		"cd sub": true, "ls; cd ..": true, "c\\d sub": true, "'cd' sub": true, "builtin cd sub": true, "command cd sub": true,
		"pushd x": true, "popd": true, "(cd sub && ls)": true, "true || cd x": true, "if x; then cd y; fi": true, "f() { cd sub; }; f": true,
		"eval 'cd sub'": true, "eval $x": true, ". ./env": true, "$x sub": true, "z sub": true, "echo $(": true,
	} {
		input := fmt.Appendf(nil, `{"command":%q}`, line)
		if got := mayMove("Bash", input, shell.Bash); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	for tool, want := range map[string]bool{"EnterWorktree": true, "ExitWorktree": true, "Read": false, "Agent": false} {
		if got := mayMove(tool, []byte(`{"command":"cd x"}`), shell.Bash); got != want {
			t.Errorf("%s: %v", tool, got)
		}
	}
	if !mayMove("Bash", []byte(`{"command":"ls"}`), shell.Foreign) {
		t.Error("a shell that is not read stays where it is")
	}
}

// TestHeldQuestionEnds: a delayed question can be withdrawn, and ends with the
// run, like any other.
func TestHeldQuestionEnds(t *testing.T) {
	for _, how := range []string{"withdrawn", "broken off", "interrupted"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				g := newGate("cat")
				events := &recorder{}
				_, err := drive(ctx, options(agent(t, nil, func(f *fake) {
					f.ready()
					for _, use := range [][2]string{{"cat", "cat b"}, {"cd", "cd sub"}} {
						f.hooks(use[0], "Bash", bash(use[1]), "/w")
						synctest.Wait()
					}
					f.hear()
					f.asks("cd", "Bash", bash("cd sub"))
					synctest.Wait()
					switch how {
					case "broken off":
						return
					case "interrupted":
						cancel()
						for f.hear() != nil {
						}
						return
					}
					f.say(`{"type":"control_cancel_request","request_id":"can-cd"}`)
					synctest.Wait()
					close(g.open["cat"])
					f.hear()
					f.asks("cat", "Bash", bash("cat b"))
					if id, behavior := answered(f); id != "cat" || behavior != "allow" {
						t.Errorf("got %s %s", id, behavior)
					}
					f.ends()
				}), g, events))
				if (err == nil) != (how == "withdrawn") {
					t.Error(err)
				}
				told := map[string]string{}
				for _, e := range events.of(wrapper.DecisionEvent) {
					told[e.ToolUseID] = e.Behavior
				}
				if told["cd"] != "deny" || len(told) != 2 {
					t.Errorf("decisions %v", told)
				}
			})
		})
	}
}

// TestGluedLines: a protocol line that follows other text on the same line would
// be lost, and with it a question or a result to check.
func TestGluedLines(t *testing.T) {
	result := `{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":"x"}]}}`
	for name, c := range map[string]struct{ line, want string }{
		"blanks before":    {"  \t" + result, "breach"},
		"a mark before":    {"\ufeff" + result, "broke the protocol"},
		"text before":      {"warning: x" + result, "broke the protocol"},
		"two in one line":  {result + result, "broke the protocol"},
		"key order":        {`oops {"message":{"content":[]},"type":"user"}`, "broke the protocol"},
		"blanks in it":     {`oops { "type" : "user" }`, "broke the protocol"},
		"an array of them": {"[" + result + "]", "broke the protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fake
				_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
					f.ready()
					f.say(c.line)
					f.ends()
				}), byWord, &recorder{}))
				if err == nil || !strings.Contains(err.Error(), c.want) || !f.wasKilled() {
					t.Errorf("got %v, killed %v", err, f.wasKilled())
				}
			})
		})
	}
}

// TestDeafAgent: an agent that stops reading its input is killed, because it
// would not receive a denial.
func TestDeafAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
			f.ready()
			f.ours[0].Close()
			f.asks("u1", "Bash", bash("x"))
			<-f.dead
		}), byWord, &recorder{}))
		if err == nil || !strings.Contains(err.Error(), "does not take") || !f.wasKilled() {
			t.Errorf("got %v, killed %v", err, f.wasKilled())
		}
	})
}

// TestOneLineEach: each message that we send is one line, whatever its reader
// takes for the end of a line.
func TestOneLineEach(t *testing.T) {
	ends := "\u2028\u2029\u0085"
	d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
		if use.ID == "u2" {
			return deny("no" + ends)
		}
		return allow(use)
	})
	_, _, err := talk(t, d, func(f *fake) {
		for _, id := range []string{"u1", "u2"} {
			f.asks(id, "Bash", bash("echo "+ends))
			got := reply(f.hear())
			if strings.ContainsAny(f.heard.Text(), ends) {
				t.Errorf("%q", f.heard.Text())
			}
			if input, _ := got["updatedInput"].(object); id == "u1" && input["command"] != "echo "+ends {
				t.Errorf("the input came back as %q", input)
			}
		}
		f.results("u1", true, "user_temporary")
	})
	if err != nil {
		t.Error(err)
	}
}

// TestTwoAccounts: of several reports about one tool use the worst counts.
func TestTwoAccounts(t *testing.T) {
	ours, theirs := `{"id":"u1","permission_decision":{"decision":"accept","source":"user_temporary"}}`, `{"id":"u1","permission_decision":{"decision":"accept","source":"hook"}}`
	for _, meta := range []string{ours + "," + theirs, theirs + "," + ours} {
		_, _, err := talk(t, byWord, func(f *fake) {
			f.use("u1", "Bash", bash("x"))
			f.say(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":"x"}]},"tool_result_meta":[` + meta + `]}`)
		})
		var breach *wrapper.Breach
		if !errors.As(err, &breach) {
			t.Errorf("got %v", err)
		}
	}
}

// TestModeChangesLater: the permission mode is checked in every turn.
func TestModeChangesLater(t *testing.T) {
	for mode, good := range map[string]bool{"default": true, "plan": true, "bypassPermissions": false, "acceptEdits": false, "auto": false, "": false} {
		_, _, err := talk(t, byWord, func(f *fake) {
			f.say(fmt.Sprintf(`{"type":"system","subtype":"init","session_id":"s-1","permissionMode":%q,"claude_code_version":"2.1.329"}`, mode))
		})
		if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "permission mode") {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// TestUnreadableBesideApproved: a malformed question is denied and does not
// affect an approval of the same tool use.
func TestUnreadableBesideApproved(t *testing.T) {
	_, _, err := talk(t, byWord, func(f *fake) {
		f.use("u1", "Bash", bash("x"))
		f.say(`{"type":"control_request","request_id":"r2","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"\ud83d"},"tool_use_id":"u1"}}`)
		if got := reply(f.hear()); got["behavior"] != "deny" {
			t.Errorf("got %v", got)
		}
		f.results("u1", true, "user_temporary")
	})
	if err != nil {
		t.Error(err)
	}
}

// TestNoInput: a tool use whose input is missing or not an object is passed to
// the Decider and recorded, but denied even if the Decider allows it.
func TestNoInput(t *testing.T) {
	for _, input := range []string{``, `"input":null,`, `"input":"rm x",`, `"input":["rm x"],`, `"input":7,`} {
		asked := 0
		d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			asked++
			return allow(use)
		})
		_, _, err := talk(t, d, func(f *fake) {
			f.say(`{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",` + input + `"tool_use_id":"u1"}}`)
			if got := reply(f.hear()); got["behavior"] != "deny" {
				t.Errorf("%s: got %v", input, got)
			}
		})
		if err != nil || asked != 1 {
			t.Errorf("%s: %v, asked %d times", input, err, asked)
		}
	}
}
