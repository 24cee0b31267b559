package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// conversation is a run with one tool use of each outcome.
func conversation(f *fake) {
	f.use("u1", "Bash", bash("git status"))
	f.results("u1", true, "user_temporary")
	f.use("u2", "Bash", bash("deny me"))
	f.results("u2", false, "reject")
	f.say(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"All done."}]},"parent_tool_use_id":null}`)
	f.ends()
}

func TestWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		events := &recorder{}
		o := options(agent(t, nil, func(f *fake) { f.ready(); conversation(f) }), byWord, events)
		o.Log = &log
		out, err := drive(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		want := wrapper.Outcome{Session: "s-1", Text: "done", Allowed: 1, Denied: 1}
		if diff := cmp.Diff(want, out); diff != "" {
			t.Error(diff)
		}
		golden.Check(t, "testdata/wire.golden", log.String())
		golden.Check(t, "testdata/events.golden", eventLines(t, events))
	})
}

// TestOldCLI: 2.1.197 reports its version only by --version, has no lists and
// does not report decisions in its results.
func TestOldCLI(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, _, err := play(t, byWord, func(f *fake) { f.readyOld(); conversation(f) })
		if err != nil || out.Allowed != 1 || out.Denied != 1 {
			t.Errorf("got %+v, %v", out, err)
		}
	})
}

func TestPrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play(t, byWord, func(f *fake) {
			prompt := f.ready()
			if prompt["client_composed"] != true {
				t.Error("the prompt is not marked as composed: the CLI would read @files in it")
			}
			if text := prompt["message"].(object)["content"]; text != "do it" {
				t.Errorf("prompt %v", text)
			}
			f.ends()
		})
	})
}

// TestPromptOld: 2.1.197 does not know client_composed, and expands commands and
// @files in the last block of a prompt.
func TestPromptOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		play(t, byWord, func(f *fake) {
			blocks := f.readyOld()["message"].(object)["content"].([]any)
			if text := blocks[0].(object)["text"]; len(blocks) != 2 || text != "do it" {
				t.Errorf("prompt %v", blocks)
			}
			if last := blocks[1].(object)["text"].(string); strings.ContainsAny(last, "@/#!") || strings.TrimSpace(last) == "" {
				t.Errorf("the last block is %q", last)
			}
			f.ends()
		})
	})
}

// advises matches an error with advice.
var advises = regexp.MustCompile(`: update it|see what --agent-command starts|have (it|them|that setting) removed`)

func TestPreflightRefuses(t *testing.T) {
	with := func(base object, key string, value any) object {
		out := object{}
		for k, v := range base {
			out[k] = v
		}
		if value == nil {
			delete(out, key)
		} else {
			out[key] = value
		}
		return out
	}
	settings := func(sources ...any) object { return with(goodSettings, "sources", sources) }
	ours := object{"source": "flagSettings", "settings": ourSettings}
	managed := func(keys object) object {
		return object{askSettings: settings(ours, object{"source": "policySettings", "settings": keys})}
	}
	rule := func(change string, value any) object {
		return object{askRules: object{"state": object{"managedOnly": false, "rules": []any{
			with(object{"behavior": "ask", "source": "flagSettings", "rule": "*"}, change, value)}}}}
	}
	cases := []struct {
		name    string
		init    object
		answers object
		want    string // in the error; "" passes
	}{
		{"good", goodInit, nil, ""},
		{"no hooks", with(goodInit, "hooks_applied", false), nil, "did not take our PreToolUse hook"},
		{"hooks unsaid", with(goodInit, "hooks_applied", nil), nil, "did not take our PreToolUse hook"},
		{"hook fails open", with(goodInit, "hook_on_failure_supported", false), nil, "would run tools when our PreToolUse hook fails"},
		{"hook failure unsaid", with(goodInit, "hook_on_failure_supported", nil), nil, "would run tools when our PreToolUse hook fails"},
		{"mode unsaid", with(goodInit, "current_permission_mode", nil), nil, `permission mode ""`},
		{"other mode", with(goodInit, "current_permission_mode", "acceptEdits"), nil, `permission mode "acceptEdits"`},
		{"too old", with(goodInit, "claude_code_version", "2.1.196"), nil, "2.1.196, and at least 2.1.197 is needed"},
		{"no version", with(goodInit, "claude_code_version", "new"), nil, "does not tell its version"},
		{"no settings", goodInit, object{askSettings: object{}}, "settings are not in force"},
		{"malformed settings", goodInit, object{askSettings: object{"sources": 1}}, "get_settings"},
		{"foreign settings", goodInit, object{askSettings: settings(ours, object{"source": "userSettings", "settings": object{}})}, "loaded settings from userSettings"},
		{"not our settings", goodInit, object{askSettings: settings(object{"source": "flagSettings", "settings": object{"permissions": object{"ask": []any{"*"}}}})}, "settings are not in force"},
		{"settings beside ours", goodInit, object{askSettings: settings(object{"source": "flagSettings", "settings": object{}}, ours)}, "settings are not in force"},
		{"ask gone", goodInit, object{askSettings: with(goodSettings, "effective", object{"permissions": object{"ask": []any{"Bash"}}})}, "settings are not in force"},
		{"managed, harmless", goodInit, managed(object{"permissions": object{"deny": []any{"WebFetch"}}, "model": "opus"}), ""},
		{"managed allow", goodInit, managed(object{"permissions": object{"allow": []any{"Bash"}}}), `"permissions.allow"`},
		{"managed hooks", goodInit, managed(object{"hooks": object{}, "env": object{}}), `"env", "hooks"`},
		{"managed only", goodInit, managed(object{"allowManagedPermissionRulesOnly": true}), "allowManagedPermissionRulesOnly"},
		{"rule missing", goodInit, rule("rule", "Bash"), "is not in effect"},
		{"rule of others", goodInit, rule("source", "userSettings"), "is not in effect"},
		{"rule allows", goodInit, rule("behavior", "allow"), "is not in effect"},
		{"rule off", goodInit, rule("notInEffect", true), "is not in effect"},
		{"rules managed only", goodInit, object{askRules: with(goodRules, "state", object{"managedOnly": true, "rules": []any{}})}, "managed permission rules only"},
		{"rules unsaid", goodInit, object{askRules: object{}}, "managed permission rules only"},
		{"foreign hook", goodInit, object{askHooks: object{"hooks": []any{object{"event": "PermissionRequest", "source": "userSettings"}}}}, "PermissionRequest hook from userSettings"},
		{"managed hook", goodInit, object{askHooks: object{"hooks": []any{object{"event": "PermissionRequest", "source": "policySettings"}}}}, "PermissionRequest hook from policySettings"},
		{"hidden hooks", goodInit, object{askHooks: object{"hooks": []any{}, "policy": object{"policyHookCount": 2}}}, "managed settings hold 2 hooks"},
		{"hooks of settings unsaid", goodInit, object{askHooks: object{"policy": object{"policyHookCount": 0}}}, "does not tell which hooks"},
		{"lists refused", goodInit, object{askRules: "Unsupported control request subtype"}, "did not answer list_permission_rules"},
		{"settings refused", goodInit, object{askSettings: "busy"}, "did not answer get_settings"},
		{"twin", goodInit, object{askHooks: object{"hooks": []any{}, "Hooks": []any{}}}, "get_hooks_listing"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				prompted := false
				out, events, err := play(t, byWord, func(f *fake) {
					f.answer(f.hear(), c.init)
					for range 3 {
						q := f.hear()
						what := q["request"].(object)["subtype"].(string)
						answer, changed := c.answers[what]
						if !changed {
							answer = accounts()[what]
						}
						if text, refused := answer.(string); refused {
							f.fail(q, text)
							continue
						}
						f.answer(q, answer)
					}
					f.hear()
					prompted = true
					f.begin("2.1.329")
					f.ends()
				})
				if c.want == "" {
					if err != nil || !prompted {
						t.Errorf("got %v, prompted %v", err, prompted)
					}
					return
				}
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if prompted || out.Session != "" {
					t.Error("the agent got the prompt")
				}
				if !advises.MatchString(err.Error()) {
					t.Errorf("%v: what is to be done?", err)
				}
				if types := events.types(); types != "error" {
					t.Errorf("events %s", types)
				}
			})
		})
	}
}

// TestAcceptManaged: AcceptManaged tolerates what might decide without us, but
// not what disables our rule.
func TestAcceptManaged(t *testing.T) {
	f := preflight{acceptManaged: true, version: lists, listed: map[string]bool{}}
	if err := f.managed([]byte(`{"hooks":{},"env":{}}`)); err != nil {
		t.Error(err)
	}
	if err := f.hooks([]byte(`{"hooks":[{"event":"Stop","source":"policySettings"}],"policy":{"policyHookCount":1}}`)); err != nil {
		t.Error(err)
	}
	if err := f.hooks([]byte(`{"hooks":[{"event":"Stop","source":"userSettings"}]}`)); err == nil {
		t.Error("a user's hook was accepted")
	}
	if err := f.managed([]byte(`{"allowManagedPermissionRulesOnly":true}`)); err == nil {
		t.Error("managed rules only was accepted")
	}
}

func TestOldVersion(t *testing.T) {
	for _, said := range []string{"2.1.196 (Claude Code)", "1.9.999", "nonsense", ""} {
		synctest.Test(t, func(t *testing.T) {
			start := agent(t, nil, func(f *fake) {
				f.answer(f.hear(), object{"pid": 1})
				f.hear()
				t.Errorf("%q: something was said after the version", said)
			})
			o := options(func(args []string) (wrapper.Process, error) {
				if args[0] != "--version" {
					return start(args)
				}
				return agent(t, nil, func(f *fake) { io.WriteString(f.out, said+"\n") })([]string{"-"})
			}, byWord, &recorder{})
			if _, err := drive(t.Context(), o); err == nil || !strings.Contains(err.Error(), "version") {
				t.Errorf("%q: %v", said, err)
			}
		})
	}
}

// TestEndsEarly: an agent that breaks off at any stage is an error, and every
// question ends.
func TestEndsEarly(t *testing.T) {
	waits := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
		<-ctx.Done()
		return permission.Result{}, ctx.Err()
	})
	stages := []struct {
		name   string
		script func(f *fake)
		want   string
	}{
		{"at once", func(f *fake) {}, "before it could be given the prompt"},
		{"after initialize", func(f *fake) { f.hear() }, "before it could be given the prompt"},
		{"in the preflight", func(f *fake) { f.answer(f.hear(), goodInit); f.hear() }, "before it could be given the prompt"},
		{"after the prompt", func(f *fake) { f.ready() }, "before it had finished"},
		{"hook pending", func(f *fake) { f.ready(); f.hooks("u1", "Bash", bash("x"), "/w") }, "before it had finished"},
		{"question pending", func(f *fake) { f.ready(); f.asks("u1", "Bash", bash("x")) }, "before it had finished"},
		{"in the middle of a line", func(f *fake) { f.ready(); io.WriteString(f.out, `{"type":"result","subt`) }, "broke the protocol"},
	}
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, events, err := play(t, waits, s.script)
				if err == nil || !strings.Contains(err.Error(), s.want) {
					t.Errorf("got %v, want %q", err, s.want)
				}
				if !strings.HasSuffix(events.types(), "error") {
					t.Errorf("events %s", events.types())
				}
			})
		})
	}
}

// TestSilentAtStart: a CLI that never becomes ready is killed.
func TestSilentAtStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		begin := time.Now()
		_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
			for f.hear() != nil {
			}
		}), byWord, &recorder{}))
		if err == nil || !strings.Contains(err.Error(), "not ready after 1m0s") || time.Since(begin) != startLimit {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
		if !f.wasKilled() {
			t.Error("it lives")
		}
	})
}

func TestOutOfOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each question is answered once all have been asked, the last first.
		var turns = map[string]chan struct{}{"u1": make(chan struct{}), "u2": make(chan struct{}), "u3": make(chan struct{})}
		d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
			<-turns[use.ID]
			if use.ID == "u2" {
				return deny("not this one")
			}
			return allow(use)
		})
		_, _, err := play(t, d, func(f *fake) {
			f.ready()
			for _, id := range []string{"u1", "u2", "u3"} {
				f.asks(id, "Read", object{"file_path": "/w/" + id})
			}
			for _, id := range []string{"u3", "u1", "u2"} {
				close(turns[id])
				m := f.hear()
				if got := m["response"].(object)["request_id"]; got != "can-"+id {
					t.Errorf("answer to %v, want %s", got, id)
				}
				want, input := "allow", object{"file_path": "/w/" + id}
				if id == "u2" {
					want, input = "deny", nil
				}
				if reply(m)["behavior"] != want {
					t.Errorf("%s: %v", id, reply(m))
				}
				if got, _ := reply(m)["updatedInput"].(object); got["file_path"] != input["file_path"] {
					t.Errorf("%s: updatedInput %v", id, got)
				}
			}
			f.ends()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestWithdrawn: a question that the CLI withdraws ends, its late answer is not
// sent, and the tool use is not approved.
func TestWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
			if use.ID == "u1" {
				<-ctx.Done() // and then allows
			}
			return allow(use)
		})
		out, events, err := play(t, d, func(f *fake) {
			f.ready()
			f.asks("u1", "Bash", bash("x"))
			synctest.Wait()
			f.say(`{"type":"control_cancel_request","request_id":"can-u1"}`)
			if got := f.use("u2", "Bash", bash("y")); got["behavior"] != "allow" {
				t.Errorf("the next answer is %v", got)
			}
			f.results("u2", true, "user_temporary")
			f.results("u1", true, "user_temporary")
			f.hear()
		})
		var breach *wrapper.Breach
		if !errors.As(err, &breach) || breach.ToolUseID != "u1" {
			t.Errorf("got %v", err)
		}
		if out.Allowed != 1 || out.Denied != 1 {
			t.Errorf("got %+v", out)
		}
		for _, e := range events.of(wrapper.DecisionEvent) {
			if e.ToolUseID == "u1" && e.Behavior != "deny" {
				t.Errorf("event %+v", e)
			}
		}
	})
}

// TestUnsound: anything but a valid allow denies.
func TestUnsound(t *testing.T) {
	good := permission.Decision{Behavior: permission.Allow}
	cases := map[string]decider{
		"error beside allow": func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			r, _ := allow(use)
			return r, errors.New("the disk is full")
		},
		"panic": func(context.Context, permission.ToolUse) (permission.Result, error) { panic("oops") },
		"zero": func(context.Context, permission.ToolUse) (permission.Result, error) {
			return permission.Result{}, nil
		},
		"ask": func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			r, _ := allow(use)
			r.Behavior = permission.Ask
			return r, nil
		},
		"no input": func(context.Context, permission.ToolUse) (permission.Result, error) {
			return permission.Result{Decision: good}, nil
		},
		"input is no object": func(context.Context, permission.ToolUse) (permission.Result, error) {
			return permission.Result{Decision: good, UpdatedInput: []byte(`["x"]`)}, nil
		},
		"input is malformed": func(context.Context, permission.ToolUse) (permission.Result, error) {
			return permission.Result{Decision: good, UpdatedInput: []byte(`{"command":"x"}} {"`)}, nil
		},
		"input has twins": func(context.Context, permission.ToolUse) (permission.Result, error) {
			return permission.Result{Decision: good, UpdatedInput: []byte(`{"a":1,"a":2}`)}, nil
		},
	}
	for name, d := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, err := play(t, d, func(f *fake) {
					f.ready()
					got := f.use("u1", "Bash", bash("x"))
					if got["behavior"] != "deny" || got["message"] == "" || got["updatedInput"] != nil {
						t.Errorf("got %v", got)
					}
					f.results("u1", false, "reject")
					f.ends()
				})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestUnreadable: a malformed request is denied with a message that names it. The
// Decider receives it with a cancelled context, for the record, unless it is not
// a tool use at all.
func TestUnreadable(t *testing.T) {
	can := func(fields string) string {
		return `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool",` + fields + `}}`
	}
	hook := func(id, input string) string {
		return `{"type":"control_request","request_id":"r1","request":{"subtype":"hook_callback","callback_id":"` + id + `","input":{` + input + `}}}`
	}
	for _, tt := range []struct{ name, line, recorded string }{
		{"twin of a field", can(`"tool_name":"Bash","Tool_Name":"Read","input":{},"tool_use_id":"u1"`), "u1 Read {}"},
		{"no id", can(`"tool_name":"Bash","input":{}`), " Bash {}"},
		{"no tool", can(`"input":{},"tool_use_id":"u1"`), "u1  {}"},
		{"tool is no text", can(`"tool_name":1,"input":{},"tool_use_id":"u1"`), "u1  {}"},
		{"half a character", can(`"tool_name":"Bash","input":{"command":"\ud83d"},"tool_use_id":"u1"`), `u1 Bash {"command":"\ufffd"}`},
		{"half a hook", hook(hookID, `"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"u1","tool_input":{"command":"a"},"cwd":1`), `u1 Bash {"command":"a"}`},
		{"a hook of no event", hook(hookID, `"hook_event_name":1`), "  "},
		{"another hook", hook("h9", `"hook_event_name":"PreToolUse","tool_use_id":"u1"`), ""},
		{"another event", hook(hookID, `"hook_event_name":"PermissionRequest","tool_use_id":"u1"`), ""},
		{"a request of its own", `{"type":"control_request","request_id":"r1","request":{"subtype":"mcp_message","message":{}}}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorded := ""
				told := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
					if ctx.Err() == nil || context.Cause(ctx).Error() == "" {
						t.Errorf("asked about %s %s", use.ID, use.Input)
					}
					recorded += fmt.Sprintf("%s %s %s", use.ID, use.Tool, use.Input)
					return allow(use)
				})
				_, _, err := play(t, told, func(f *fake) {
					f.ready()
					f.say(tt.line)
					m := f.hear()
					got := m["response"].(object)
					denied := got["subtype"] == "error" || reply(m)["behavior"] == "deny" || hookDecision(m) == "deny"
					if got["request_id"] != "r1" || !denied {
						t.Errorf("got %v", m)
					}
					f.ends()
				})
				if err != nil || recorded != tt.recorded {
					t.Errorf("%v, recorded %q, want %q", err, recorded, tt.recorded)
				}
			})
		})
	}
}

// TestProtocolBroken: a line that violates the protocol ends the run.
func TestProtocolBroken(t *testing.T) {
	for name, line := range map[string]string{
		"twin keys":      `{"type":"user","type":"system"}`,
		"case twins":     `{"type":"user","Type":"system"}`,
		"malformed":      `{"type":"user",}`,
		"text behind":    `{"type":"user"} x`,
		"no request id":  `{"type":"control_request","request":{"subtype":"can_use_tool"}}`,
		"twin decisions": `{"type":"user","tool_result_meta":[],"Tool_result_meta":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fake
				events := &recorder{}
				_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
					f.ready()
					f.say(line)
					f.ends()
				}), byWord, events))
				if err == nil || !strings.Contains(err.Error(), "broke the protocol") || !f.wasKilled() {
					t.Errorf("got %v, killed %v", err, f.wasKilled())
				}
			})
		})
	}
}

// TestForeignLines: unknown lines are ignored.
func TestForeignLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, events, err := play(t, byWord, func(f *fake) {
			f.say("Welcome!")
			f.ready()
			for _, line := range []string{
				"not JSON", "[1]", `"text"`, `{}`, `{"type":"keep_alive"}`, `{"type":"tool_progress","tool_use_id":7}`,
				`{"type":"system","subtype":"news","state":{"any":1}}`, `{"type":"system"}`,
				`{"type":"control_cancel_request","request_id":"never heard of"}`,
				`{"type":"control_response","response":{"subtype":"success","request_id":"initialize","response":{"claude_code_version":"1.0.0"}}}`,
				`{"type":"user","message":{"role":"user","content":"plain \ud83d text"},"isReplay":true}`,
				`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u9","content":"half \ud83d","is_error":true}]}}`,
			} {
				f.say(line)
			}
			conversation(f)
		})
		if err != nil {
			t.Error(err)
		}
		if got := len(events.of(wrapper.WarningEvent)); got != 1 {
			t.Errorf("%d warnings", got)
		}
	})
}

func TestLongLines(t *testing.T) {
	slow.Test(t)
	synctest.Test(t, func(t *testing.T) {
		long := strings.Repeat("x", 1<<20)
		var seen int
		d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			seen = len(use.Input)
			return allow(use)
		})
		_, events, err := play(t, d, func(f *fake) {
			f.ready()
			got := f.use("u1", "Write", object{"file_path": "/w/x", "content": long})
			if back := got["updatedInput"].(object)["content"]; back != long {
				t.Errorf("the input came back with %d bytes", len(back.(string)))
			}
			f.say(`{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"u1","content":"` + long + `"}]}}`)
			f.ends()
		})
		if err != nil || seen < 1<<20 {
			t.Errorf("got %v, %d bytes", err, seen)
		}
		if results := events.of(wrapper.ToolResultEvent); len(results) != 1 || len(results[0].Text) != 1<<20 {
			t.Errorf("%d results", len(results))
		}
	})
}

// TestBreach: a tool that ran without an approval ends the run and kills the
// agent.
func TestBreach(t *testing.T) {
	cases := []struct {
		name   string
		old    bool
		script func(f *fake)
		breach bool
	}{
		{"approved", false, func(f *fake) { f.use("u1", "Bash", bash("x")); f.results("u1", true, "user_temporary") }, false},
		{"approved, failed", false, func(f *fake) { f.use("u1", "Bash", bash("x")); f.results("u1", false, "user_temporary") }, false},
		{"approved, old", true, func(f *fake) { f.use("u1", "Bash", bash("x")); f.results("u1", true, "") }, false},
		{"approved by a hook", false, func(f *fake) { f.use("u1", "Bash", bash("x")); f.results("u1", true, "hook") }, true},
		{"never asked", false, func(f *fake) { f.results("u1", true, "config") }, true},
		{"never asked, no meta", false, func(f *fake) { f.results("u1", true, "") }, true},
		{"never asked, ours by its word", false, func(f *fake) { f.results("u1", true, "user_temporary") }, true},
		{"never asked, failed", false, func(f *fake) { f.results("u1", false, "config") }, true},
		{"never asked, old", true, func(f *fake) { f.results("u1", true, "") }, true},
		{"not run, old", true, func(f *fake) { f.results("u1", false, "") }, false},
		{"not run", false, func(f *fake) { f.results("u1", false, "") }, false},
		{"only the hook", false, func(f *fake) { f.hooks("u1", "Bash", bash("x"), "/w"); f.hear(); f.results("u1", true, "hook") }, true},
		{"only the hook, old", true, func(f *fake) { f.hooks("u1", "Bash", bash("x"), "/w"); f.hear(); f.results("u1", true, "") }, true},
		{"denied and ran", false, func(f *fake) { f.use("u1", "Bash", bash("deny")); f.results("u1", true, "user_temporary") }, true},
		{"denied and ran, failed", false, func(f *fake) { f.use("u1", "Bash", bash("deny")); f.results("u1", false, "user_temporary") }, true},
		{"denied and ran, old", true, func(f *fake) { f.use("u1", "Bash", bash("deny")); f.results("u1", true, "") }, true},
		{"denied", false, func(f *fake) { f.use("u1", "Bash", bash("deny")); f.results("u1", false, "reject") }, false},
		{"denied, old", true, func(f *fake) { f.use("u1", "Bash", bash("deny")); f.results("u1", false, "") }, false},
		{"twice on one approval", false, func(f *fake) {
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
			f.results("u1", true, "user_temporary")
		}, true},
		{"asked twice, ran twice", false, func(f *fake) {
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
		}, false},
		{"good though rejected", false, func(f *fake) { f.results("u1", true, "reject") }, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fake
				events := &recorder{}
				_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
					if c.old {
						f.readyOld()
					} else {
						f.ready()
					}
					c.script(f)
					f.ends()
				}), byWord, events))
				var breach *wrapper.Breach
				if !c.breach {
					if err != nil {
						t.Errorf("got %v", err)
					}
					return
				}
				if !errors.As(err, &breach) || breach.ToolUseID != "u1" || !f.wasKilled() {
					t.Errorf("got %v, killed %v", err, f.wasKilled())
				}
				if !strings.HasSuffix(events.types(), "error") {
					t.Errorf("events %s", events.types())
				}
			})
		})
	}
}

// TestAskedTwice: a second question about a tool use that waits for its answer or
// its result is denied.
func TestAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, _, err := play(t, byWord, func(f *fake) {
			f.ready()
			f.use("u1", "Bash", bash("x"))
			f.asks("u1", "Bash", bash("something else"))
			if got := reply(f.hear()); got["behavior"] != "deny" {
				t.Errorf("got %v", got)
			}
			f.results("u1", true, "user_temporary")
			f.ends()
		})
		if err != nil {
			t.Error(err)
		}
	})
}

// TestBeforePrompt: nothing is allowed before the preflight has passed, and what
// is denied is recorded with the reason.
func TestBeforePrompt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, events, _ := play(t, byWord, func(f *fake) {
			f.hear()
			f.hooks("u1", "Bash", bash("x"), "/w")
			if d := hookDecision(f.hear()); d != "deny" {
				t.Errorf("hook: %s", d)
			}
			f.asks("u2", "Bash", bash("x"))
			if got := reply(f.hear()); got["behavior"] != "deny" {
				t.Errorf("got %v", got)
			}
		})
		decisions := events.of(wrapper.DecisionEvent)
		if len(decisions) != 2 {
			t.Fatalf("decisions %+v", decisions)
		}
		for _, e := range decisions {
			if e.Behavior != "deny" || e.Reason != "the agent is not to run tools now" || e.Tool != "Bash" {
				t.Errorf("recorded as %+v", e)
			}
		}
	})
}

// TestBegunBeforePrompt: an agent that already works on another prompt does not
// receive ours, and the error says so. With an old CLI the version is not known
// at that time.
func TestBegunBeforePrompt(t *testing.T) {
	for name, answered := range map[string]object{"before the preflight": nil, "in it": goodInit, "in it, old": {"commands": []any{}}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var f *fake
				events := &recorder{}
				_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
					q := f.hear()
					if answered != nil {
						f.answer(q, answered)
					}
					f.begin("2.1.197")
					for m := f.hear(); m != nil; m = f.hear() {
						if m["type"] == "user" {
							t.Error("it was given the task")
						}
					}
				}), byWord, events))
				if err == nil || !strings.Contains(err.Error(), "began to work before it was given the task") || !f.wasKilled() {
					t.Errorf("got %v, killed %v", err, f.wasKilled())
				}
			})
		})
	}
}

func TestPaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paused := ""
		decided := 0
		d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			decided++
			if paused != "" {
				return deny("paused: " + paused)
			}
			return allow(use)
		})
		events := &recorder{}
		o := options(agent(t, nil, func(f *fake) {
			f.ready()
			f.use("u1", "Bash", bash("x"))
			f.results("u1", true, "user_temporary")
			paused = "too many mistakes"
			f.hooks("u2", "Bash", bash("y"), "/w")
			m := f.hear()
			if hookDecision(m) != "deny" || !strings.Contains(reply(m)["hookSpecificOutput"].(object)["permissionDecisionReason"].(string), paused) {
				t.Errorf("got %v", m)
			}
			f.results("u2", false, "reject")
			f.ends()
		}), d, events)
		o.Paused = func() string { return paused }
		out, err := drive(t.Context(), o)
		if err != nil || out.Denied != 1 || decided != 2 {
			t.Errorf("got %+v, %v, %d decisions", out, err, decided)
		}
	})
}

// TestDirectory: the directory of a tool use is the one that its own hook
// reported.
func TestDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dirs := map[string]string{}
		d := decider(func(_ context.Context, use permission.ToolUse) (permission.Result, error) {
			if _, asked := dirs[use.ID]; !asked {
				dirs[use.ID] = use.Dir
			}
			return deny("no")
		})
		play(t, d, func(f *fake) {
			f.ready()
			f.hooks("u1", "Bash", bash("x"), "/w/sub")
			f.hear()
			f.hooks("u2", "Bash", bash("x"), "relative")
			f.hear()
			for _, id := range []string{"u1", "u2", "u3"} {
				f.asks(id, "Bash", bash("x"))
				f.hear()
			}
			f.ends()
		})
		want := map[string]string{"u1": "/w/sub", "u2": "", "u3": ""}
		for id, dir := range want {
			if got, asked := dirs[id]; got != dir || !asked {
				t.Errorf("%s: %q, want %q", id, got, dir)
			}
		}
	})
}

// TestForeignDenial: a tool use that did not run although its hook was answered, or
// without one, is recorded as denied once, with the actual reason.
func TestForeignDenial(t *testing.T) {
	const (
		itself  = "denied by the agent CLI itself"
		refused = "not run by the agent CLI, which says: what u1 said"
		never   = "the agent CLI never asked about it"
	)
	denials := object{"type": "result", "subtype": "success", "result": "", "permission_denials": []any{
		object{"tool_name": "Bash", "tool_use_id": "u1", "tool_input": bash("rm x")},
	}}
	wanted := func(f *fake) {
		f.wants("u1", "Bash", bash("rm x"))
		f.hooks("u1", "Bash", bash("rm x"), "/w")
		f.hear()
	}
	for _, c := range []struct {
		name   string
		old    bool
		script func(f *fake)
		want   string // the reason
	}{
		{"result", false, func(f *fake) { wanted(f); f.results("u1", false, "reject") }, itself},
		{"an error of the tool's own", false, func(f *fake) { wanted(f); f.results("u1", false, "refused") }, refused},
		{"no account of it", false, func(f *fake) { wanted(f); f.results("u1", false, "") }, refused},
		{"old", true, func(f *fake) { wanted(f); f.results("u1", false, "") }, refused},
		{"no result", false, wanted, never}, // as for a subagent of a subagent
		{"only in the account at the end", false, func(f *fake) { f.say(denials) }, itself},
		{"in every way", false, func(f *fake) {
			wanted(f)
			f.say(`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"u1"}`)
			f.results("u1", false, "reject")
			f.say(denials)
		}, itself},
		{"line", false, func(f *fake) {
			f.say(`{"type":"system","subtype":"permission_denied","tool_name":"Bash","tool_use_id":"u1","decision_reason_type":"rule","message":"no"}`)
			f.results("u1", false, "reject")
		}, itself},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, hooked := 0, 0
				d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
					if ctx.Err() == nil && hooked == 0 {
						hooked++
						return allow(use)
					}
					asked++
					if ctx.Err() == nil || use.Tool != "Bash" {
						t.Errorf("a person could be asked about %+v", use)
					}
					return allow(use)
				})
				out, events, err := play(t, d, func(f *fake) {
					if c.old {
						f.readyOld()
					} else {
						f.ready()
					}
					c.script(f)
					f.ends()
				})
				if err != nil || asked+hooked != 1 || out.Denied != 1 || out.Allowed != 0 {
					t.Errorf("got %+v, %v, asked %d times", out, err, asked)
				}
				if e := events.of(wrapper.DecisionEvent); len(e) != 1 || e[0].Behavior != "deny" || e[0].Reason != c.want {
					t.Errorf("events %+v", e)
				}
			})
		})
	}
}

// TestHookTimeout: the hook's timeout in milliseconds fits into 32 bits. In
// 2.1.197 a longer one expires at once, and tool uses are lost at random.
func TestHookTimeout(t *testing.T) {
	if hookTimeout*1000 > 1<<31-1 || hookTimeout < 14*24*3600 {
		t.Errorf("%d s", hookTimeout)
	}
}

// TestInterruptingDenial: a denial that ends the turn ends the run.
func TestInterruptingDenial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := decider(func(context.Context, permission.ToolUse) (permission.Result, error) {
			r, err := deny("stop here")
			r.Interrupt = true
			return r, err
		})
		out, events, err := play(t, d, func(f *fake) {
			f.ready()
			if got := f.use("u1", "Bash", bash("x")); got["behavior"] != "deny" || got["message"] != "stop here" {
				t.Errorf("got %v", got)
			}
			if what, _ := f.hear()["request"].(object); what["subtype"] != "interrupt" {
				t.Errorf("the turn is not ended: %v", what)
			}
			f.results("u1", false, "reject")
			f.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["[ede_diagnostic]"]}`)
			f.state("idle")
			f.hear()
		})
		if err != nil || out.Stopped != "stop here" || out.Failed != "" {
			t.Errorf("got %+v, %v", out, err)
		}
		if len(events.of(wrapper.ErrorEvent)) != 0 {
			t.Errorf("events %s", events.types())
		}
	})
}

// TestInterrupted: when the caller cancels, the agent is interrupted and the
// questions end; an agent that goes on is killed.
func TestInterrupted(t *testing.T) {
	for _, obeys := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
				cancel()
				<-ctx.Done()
				return permission.Result{}, ctx.Err()
			})
			var f *fake
			begin := time.Now()
			_, err := drive(ctx, options(agent(t, &f, func(f *fake) {
				f.ready()
				f.asks("u1", "Bash", bash("x"))
				interrupted, denied := false, false
				for range 2 {
					m := f.hear()
					denied = denied || reply(m)["behavior"] == "deny"
					interrupted = interrupted || m["type"] == "control_request" && m["request"].(object)["subtype"] == "interrupt"
				}
				if !interrupted || !denied {
					t.Errorf("interrupted %v, denied %v", interrupted, denied)
				}
				f.asks("u2", "Bash", bash("y"))
				if got := reply(f.hear()); got["behavior"] != "deny" {
					t.Errorf("got %v", got)
				}
				if obeys {
					f.say(`{"type":"result","subtype":"error_during_execution","is_error":true}`)
					f.state("idle")
				}
				for f.hear() != nil {
				}
			}), d, &recorder{}))
			if !errors.Is(err, context.Canceled) || f.wasKilled() == obeys {
				t.Errorf("obeys %v: got %v, killed %v", obeys, err, f.wasKilled())
			}
			if took := time.Since(begin); !obeys && took != stopLimit {
				t.Errorf("it was killed after %v", took)
			}
		})
	}
}

// TestInterruptedByPerson: a turn that a person interrupts is over, and has not failed.
func TestInterruptedByPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		d := decider(func(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
			cancel(wrapper.ErrInterrupted)
			<-ctx.Done()
			return permission.Result{}, ctx.Err()
		})
		events := &recorder{}
		_, err := drive(ctx, options(agent(t, nil, func(f *fake) {
			f.ready()
			f.asks("u1", "Bash", bash("x"))
			for range 2 {
				f.hear()
			}
			f.say(`{"type":"result","subtype":"error_during_execution","is_error":true}`)
			f.state("idle")
			for f.hear() != nil {
			}
		}), d, events))
		if !errors.Is(err, wrapper.ErrInterrupted) || len(events.of(wrapper.ErrorEvent)) != 0 || len(events.of(wrapper.DoneEvent)) != 1 {
			t.Errorf("%v, %s", err, events.types())
		}
	})
}

// TestUntold: a decision that cannot be reported, so that the caller ends the
// run, lets nothing run.
func TestUntold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		full := errors.New("the disk is full")
		o := options(agent(t, nil, func(f *fake) {
			f.ready()
			if got := f.use("u1", "Bash", bash("x")); got["behavior"] != "deny" || got["message"] != full.Error() {
				t.Errorf("got %v", got)
			}
			for f.hear() != nil {
			}
		}), byWord, &recorder{})
		o.Events = func(e wrapper.Event) {
			if e.Type == wrapper.DecisionEvent {
				cancel(full)
			}
		}
		if _, err := drive(ctx, o); !errors.Is(err, full) {
			t.Errorf("got %v", err)
		}
	})
}

// TestFinish: the run lasts until the agent has finished for good.
func TestFinish(t *testing.T) {
	started := func(id, kind string) object {
		return object{"type": "system", "subtype": "task_started", "task_id": id, "task_type": kind}
	}
	updated := func(id, status string) object {
		return object{"type": "system", "subtype": "task_updated", "task_id": id, "patch": object{"status": status}}
	}
	notified := func(id string) object {
		return object{"type": "system", "subtype": "task_notification", "task_id": id}
	}
	asks := func(f *fake, id string) {
		f.asks(id, "Bash", bash("x"))
		if got := reply(f.hear()); got["behavior"] != "allow" {
			t.Errorf("%s: %v", id, got)
		}
	}
	cases := []struct {
		name   string
		script func(f *fake)
		took   time.Duration
		text   string
	}{
		{"no state told", func(f *fake) {
			f.answer(f.hear(), goodInit)
			for range 3 {
				q := f.hear()
				f.answer(q, accounts()[q["request"].(object)["subtype"].(string)])
			}
			f.hear()
			f.concludes("one")
		}, 0, "one"},
		{"idle after the result", func(f *fake) { f.ready(); f.concludes("one"); f.state("idle") }, 0, "one"},
		{"busy after the result", func(f *fake) {
			f.ready()
			f.concludes("one")
			time.Sleep(time.Hour)
			f.begin("2.1.329")
			f.concludes("two")
			f.state("idle")
		}, time.Hour, "two"},
		{"subagent while idle", func(f *fake) { // as in 2.1.197
			f.ready()
			f.say(started("t1", "local_agent"))
			f.concludes("one")
			f.state("idle")
			time.Sleep(time.Hour)
			asks(f, "u1")
			f.say(updated("t1", "running"))
			f.say(updated("t1", "completed"))
			time.Sleep(time.Second)
			f.begin("2.1.329")
			f.say(notified("t1"))
			f.concludes("two")
			f.state("idle")
		}, time.Hour + time.Second, "two"},
		{"subagent while idle, no turn after", func(f *fake) {
			f.ready()
			f.say(started("t1", "local_agent"))
			f.concludes("one")
			f.state("idle")
			f.say(notified("t1"))
		}, settleTime, "one"},
		{"command in the background", func(f *fake) {
			f.ready()
			f.say(started("t1", "local_bash"))
			f.concludes("one")
			f.state("idle")
		}, defaultLinger, "one"},
		{"command in the background that ends", func(f *fake) {
			f.ready()
			f.say(started("t1", "local_bash"))
			f.concludes("one")
			f.state("idle")
			time.Sleep(3 * time.Second)
			f.begin("2.1.329")
			f.say(updated("t1", "completed"))
			f.concludes("two")
			f.state("idle")
		}, 3 * time.Second, "two"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				out, events, err := play(t, byWord, func(f *fake) {
					c.script(f)
					for f.hear() != nil {
					}
				})
				if took := time.Since(begin); err != nil || took != c.took || out.Text != c.text {
					t.Errorf("got %+v, %v after %v, want %q after %v", out, err, took, c.text, c.took)
				}
				if !strings.HasSuffix(events.types(), "done") {
					t.Errorf("events %s", events.types())
				}
			})
		})
	}
}

// TestStays: an agent that does not exit after the end of its input is killed.
func TestStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		begin := time.Now()
		out, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
			f.ready()
			f.concludes("one")
			f.state("idle")
			for f.hear() != nil {
			}
			f.asks("u1", "Bash", bash("x")) // nobody answers it
			<-f.dead
		}), byWord, &recorder{}))
		if took := time.Since(begin); err != nil || out.Allowed != 0 || !f.wasKilled() || took != exitLimit {
			t.Errorf("got %+v, %v, killed %v after %v", out, err, f.wasKilled(), took)
		}
	})
}

// TestMute: an agent that falls silent and does not exit is killed.
func TestMute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *fake
		begin := time.Now()
		_, err := drive(t.Context(), options(agent(t, &f, func(f *fake) {
			f.ready()
			f.concludes("one")
			f.out.Close()
			<-f.dead
		}), byWord, &recorder{}))
		if took := time.Since(begin); err != nil || !f.wasKilled() || took != exitLimit {
			t.Errorf("got %v, killed %v after %v", err, f.wasKilled(), took)
		}
	})
}

// TestAnswerCrossesWithdrawal: an allow that arrives after the question was
// withdrawn is not sent, not counted and not reported.
func TestAnswerCrossesWithdrawal(t *testing.T) {
	events := &recorder{}
	r := &run{
		o: &launch{Task: wrapper.Task{Events: events.take}}, writer: &writer{},
		pending: map[string]*question{"r": {use: permission.ToolUse{ID: "u"}, cancel: func(error) {}, withdrawn: true}},
	}
	res, _ := allow(permission.ToolUse{Input: []byte("{}")})
	if err := r.answered(answer{id: "r", allowed: true, result: res}); err != nil {
		t.Fatal(err)
	}
	if r.out.Allowed != 0 || len(r.writer.queue) != 0 || events.events[0].Behavior != "deny" {
		t.Errorf("got %+v, %d lines, %+v", r.out, len(r.writer.queue), events.events)
	}
}

func TestAgentFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out, events, err := play(t, byWord, func(f *fake) {
			f.ready()
			f.say(`{"type":"result","subtype":"error_max_turns","is_error":true,"errors":["Reached the limit"]}`)
			f.state("idle")
			f.hear()
		})
		if err != nil || out.Failed != "Reached the limit" {
			t.Errorf("got %+v, %v", out, err)
		}
		if !strings.HasSuffix(events.types(), "error done") {
			t.Errorf("events %s", events.types())
		}
	})
}

func TestResume(t *testing.T) {
	cases := []struct {
		name   string
		script func(f *fake)
		reason string
		took   time.Duration
	}{
		{"unknown", func(f *fake) {
			f.say(`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["No conversation found with session ID: old"]}`)
		}, "sdk_session_not_found", 0},
		{"silent", func(f *fake) {
			f.ready()
			for f.hear() != nil {
			}
		}, "stream_timeout", resumeLimit},
		{"slow", func(f *fake) {
			f.ready()
			time.Sleep(resumeLimit - time.Second)
			conversation(f)
		}, "", resumeLimit - time.Second},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				events := &recorder{}
				o := options(agent(t, nil, c.script), byWord, events)
				o.Session = "old"
				begin := time.Now()
				_, err := drive(t.Context(), o)
				if took := time.Since(begin); took != c.took {
					t.Errorf("took %v, want %v", took, c.took)
				}
				if c.reason == "" {
					if err != nil {
						t.Error(err)
					}
					return
				}
				e := events.of(wrapper.SessionCorruptedEvent)
				if err == nil || len(e) != 1 || e[0].Reason != c.reason || e[0].OldSessionID != "old" || len(events.of(wrapper.ErrorEvent)) != 0 {
					t.Errorf("got %v, events %+v", err, events.events)
				}
			})
		})
	}
}

// TestInitLine: the first line of the session is checked against the preflight.
func TestInitLine(t *testing.T) {
	for want, line := range map[string]string{
		"version 2.1.400":    `{"type":"system","subtype":"init","session_id":"s","permissionMode":"default","claude_code_version":"2.1.400"}`,
		"permission mode":    `{"type":"system","subtype":"init","session_id":"s","permissionMode":"bypassPermissions","claude_code_version":"2.1.329"}`,
		"tell its version":   `{"type":"system","subtype":"init","session_id":"s","permissionMode":"default"}`,
		"broke the protocol": `{"type":"system","subtype":"init","permissionMode":"default","PermissionMode":"x","claude_code_version":"2.1.329"}`,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, _, err := play(t, byWord, func(f *fake) {
				f.answer(f.hear(), goodInit)
				for range 3 {
					q := f.hear()
					f.answer(q, accounts()[q["request"].(object)["subtype"].(string)])
				}
				f.hear()
				f.say(line)
				f.ends()
			})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

func TestOptionsChecked(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	if err := os.WriteFile(home+"/.claude.json", []byte(`{"env":{"CLAUDE_CODE_SIMPLE":"1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	good := launch{Agent: Agent{Start: func([]string) (wrapper.Process, error) { return nil, errors.New("started") }}, Task: wrapper.Task{Prompt: "x", Dir: "/w", Decider: byWord}}
	for want, change := range map[string]func(o *launch){
		"started":                       func(o *launch) {},
		"the prompt is empty":           func(o *launch) { o.Prompt = " \n" },
		"Decider is nil":                func(o *launch) { o.Decider = nil },
		"not an absolute path":          func(o *launch) { o.Dir = "here" },
		"--model":                       func(o *launch) { o.Model = "a\x00b" },
		"permissions are":               func(o *launch) { o.Command = []string{"claude", "--allowedTools=Bash"} },
		"is not on PATH":                func(o *launch) { o.Start = nil; o.Dir = "/"; o.Command = []string{"no-such-agent-cli"} },
		"is not a directory":            func(o *launch) { o.Start = nil; o.Dir = "/no/such/place" },
		"there is no agent CLI ./none:": func(o *launch) { o.Start = nil; o.Dir = "/"; o.Command = []string{"./none"} },
		"sets CLAUDE_CODE_SIMPLE":       func(o *launch) { o.Start = nil; o.Dir = "/"; o.Command = []string{os.Args[0]} },
	} {
		o := good
		change(&o)
		events := &recorder{}
		o.Events = events.take
		if _, err := drive(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
		if types := events.types(); !strings.HasSuffix(types, "error") {
			t.Errorf("%s: events %q", want, types)
		}
	}
}
