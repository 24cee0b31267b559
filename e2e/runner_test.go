//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// outcome is what a runner reads of a result (run --output json).
type outcome struct {
	SchemaVersion int    `json:"schema_version"`
	ExitCode      int    `json:"exit_code"`
	Reason        string `json:"exit_reason"`
	Error, Text   string
	Structured    json.RawMessage `json:"structured_output"`
	Session       string          `json:"session_id"`
	Turns         *int
	Cost          *float64 `json:"cost_usd"`
	Usage         *struct {
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
	}
	Decisions struct{ Allow, Ask, Deny, Advice int }
	Denials   []struct{ Tool, Summary, Layer, Rule, Reason, By string }
}

// runnerScript has a conversation for each end of a run.
func runnerScript() script {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	answer := func(name string, input in) call { return call{Name: name, Tool: "StructuredOutput", Input: input} }
	wrong := make([]turn, 7)
	for i := range wrong {
		wrong[i] = turn{answer(fmt.Sprintf("wrong-%d", i), in{"nam": 1})}
	}
	return script{
		"two":    {{bash("one", "git status")}, {bash("two", "git log --oneline")}},
		"denied": {{bash("one", "git status")}, {bash("push", "git push origin main")}, {bash("stash", "git stash")}},
		"form":   {{bash("one", "git status")}, {answer("answer", in{"name": "joe"})}},
		"wrong":  wrong,
		"long":   {{bash("one", "git status")}, {bash("sleep", "touch begun; sleep 300")}},
	}
}

// runner makes a run whose result is read as a runner reads it.
func runner(b *box, r release, key string, flags ...string) wrapped {
	policy := []string{"--isolated", "--no-input", "--allow", "Bash(git:*),Bash(touch:*),Bash(sleep:*)", "--ask", "Bash(git push:*)", "--deny", "Bash(git stash:*)", "--output", "json"}
	return wrapped{release: r, Policy: append(policy, flags...), profile: profile{Prompt: "go [[" + key + "]]"}}
}

func readOutcome(t *testing.T, out string) outcome {
	t.Helper()
	var o outcome
	if err := json.Unmarshal([]byte(out), &o); err != nil || strings.Count(out, "\n") != 1 || o.SchemaVersion != 1 {
		t.Fatalf("no object in a line (%v): %s", err, short(out))
	}
	return o
}

const formSchema = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`

// TestRunner: each limit of run and each end, with the object and the exit code; in the short
// form half of them, as the seed says.
func TestRunner(t *testing.T) {
	s := seed(t)
	for _, r := range releases() {
		for i, x := range []struct {
			name, key string
			flags     []string
			code      int
			reason    string
			check     func(t *testing.T, o outcome)
		}{
			{"done", "two", nil, 0, "done", func(t *testing.T, o outcome) {
				if o.Text != "ok" || o.Session == "" || o.Decisions.Allow != 2 || len(o.Denials) != 0 || o.Turns == nil || *o.Turns != 3 ||
					o.Cost == nil || *o.Cost <= 0 || o.Usage == nil || o.Usage.Input < 30 || o.Usage.Output < 15 {
					t.Errorf("%+v", o)
				}
			}},
			{"no limit reached", "two", []string{"--max-turns", "9", "--max-budget-usd", "5", "--timeout", "5m", "--fail-on", "ask"}, 0, "done", nil},
			{"turns", "two", []string{"--max-turns", "1"}, 1, "max_turns", func(t *testing.T, o outcome) {
				if o.Decisions.Allow != 1 || !strings.Contains(o.Error, "maximum number of turns (1)") || o.Cost == nil {
					t.Errorf("%+v", o)
				}
			}},
			{"budget", "two", []string{"--max-budget-usd", "0.00001", "--fail-on", "ask"}, 1, "max_budget", func(t *testing.T, o outcome) {
				if o.Decisions.Allow > 1 || !strings.Contains(o.Error, "maximum budget") || o.Cost == nil || *o.Cost < 0.00001 {
					t.Errorf("%+v", o)
				}
			}},
			{"denials", "denied", nil, 0, "done", func(t *testing.T, o outcome) {
				if o.Decisions.Allow != 1 || o.Decisions.Ask != 1 || o.Decisions.Deny != 2 || len(o.Denials) != 2 {
					t.Fatalf("%+v", o)
				}
				push, stash := o.Denials[0], o.Denials[1]
				if push.Rule != "Bash(git push:*)" || push.Summary != "git push origin main" || push.Layer != "ask-list" || stash.Rule != "Bash(git stash:*)" || stash.Layer != "deny-list" || stash.Reason == "" || stash.By != "rule" {
					t.Errorf("%+v", o.Denials)
				}
			}},
			{"fail on deny", "denied", []string{"--fail-on", "deny"}, 3, "fail_on", nil},
			{"fail on ask", "denied", []string{"--fail-on", "ask"}, 3, "fail_on", func(t *testing.T, o outcome) {
				if o.Text != "ok" || !strings.Contains(o.Error, "one tool use: Bash git push origin main: ") {
					t.Errorf("%+v", o)
				}
			}},
			{"schema", "form", []string{"--json-schema", formSchema, "--fail-on", "ask"}, 0, "done", func(t *testing.T, o outcome) {
				if string(o.Structured) != `{"name":"joe"}` || o.Decisions.Allow != 2 {
					t.Errorf("%+v", o)
				}
			}},
			{"schema not met", "wrong", []string{"--json-schema", formSchema}, 1, "structured_output", func(t *testing.T, o outcome) {
				if !strings.Contains(o.Error, "structured output") || o.Structured != nil {
					t.Errorf("%+v", o)
				}
			}},
			{"schema not answered", "two", []string{"--json-schema", formSchema}, 1, "structured_output", nil},
			{"timeout", "long", []string{"--timeout", "6s"}, 124, "timeout", func(t *testing.T, o outcome) {
				if o.Error != "the run was interrupted: it took longer than --timeout 6s" {
					t.Errorf("%+v", o)
				}
			}},
			{"options", "two", handedOn(r), 0, "done", nil},
		} {
			if !drawn(s, i, 6, 12) {
				continue
			}
			t.Run(r.Version+"/"+x.name, func(t *testing.T) {
				need(t, r)
				b := newBox(t)
				m := startModel(t, runnerScript())
				began := time.Now()
				res := runner(b, r, x.key, x.flags...).run(t, b, m, startWeb(t, b))
				o := readOutcome(t, res.Out)
				if res.Code != x.code || o.ExitCode != x.code || o.Reason != x.reason || (o.Error == "") != (x.code == 0) {
					t.Errorf("exit code %d: %s", res.Code, short(res.Out))
				}
				if want := "agent-wrapper: " + o.Error + "\n"; o.Error != "" && res.Errors != want || o.Error == "" && res.Errors != "" {
					t.Errorf("standard error: %s", res.Errors)
				}
				if x.check != nil {
					x.check(t, o)
				}
				settled(t)
				decided := map[string]bool{} // one at the end of a budget is denied once more
				for _, d := range record(t, b) {
					decided[d.ID] = true
				}
				if sum := o.Decisions.Allow + o.Decisions.Deny + o.Decisions.Advice; len(decided) != sum {
					t.Errorf("the record has decisions on %d tool uses, the object %d", len(decided), sum)
				}
				t.Logf("%v %s", time.Since(began).Round(time.Millisecond), short(res.Out))
			})
		}
	}
}

// handedOn are all options that are handed on to the agent CLI, and those of ours
// that it is given.
func handedOn(r release) []string {
	options := []string{"--max-turns", "500", "--max-budget-usd", "50", "--", "--effort", "low", "--fallback-model=claude-haiku-4-5", "--betas", "x", "--name", "n",
		"--no-session-persistence", "--exclude-dynamic-system-prompt-sections", "--system-prompt", "You are brief.", "--thinking=disabled"}
	if r.Version == versions[0] { // the others do not know it
		options = append(options, "--autocompact", "auto")
	}
	return options
}

// TestOptionsLoosenNothing is the main job with all of them.
func TestOptionsLoosenNothing(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		p := profiles[len(profiles)-1]
		mainJob(t, r, p, slices.Concat(shutPolicy, handedOn(r)), allowAgents)
		if long() {
			mainJob(t, r, p, slices.Concat(openPolicy, handedOn(r)), allowWithoutPerson)
		}
	})
}

// TestRunnerSystemPrompt: what is handed on reaches the agent CLI.
func TestRunnerSystemPrompt(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b, m := newBox(t), startModel(t, runnerScript())
		res := runner(b, r, "two", "--", "--system-prompt", "You are a very odd agent.").run(t, b, m, startWeb(t, b))
		if res.Code != 0 || !m.heard("You are a very odd agent.") {
			t.Errorf("exit code %d: %s", res.Code, short(res.Out))
		}
	})
}

// TestRunnerBadSchema: a schema that is none ends the run, with the agent CLI's words
// where it says them.
func TestRunnerBadSchema(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b, m := newBox(t), startModel(t, runnerScript())
		res := runner(b, r, "two", "--json-schema", `{"type":"banana"}`).run(t, b, m, startWeb(t, b))
		o := readOutcome(t, res.Out)
		if res.Code != 1 || !slices.Contains([]string{"failed", "structured_output"}, o.Reason) || o.Structured != nil {
			t.Errorf("exit code %d: %s", res.Code, short(res.Out))
		}
		if r.Version == versions[0] && !strings.Contains(o.Error, "--json-schema is not a valid JSON Schema") {
			t.Errorf("it does not say what is wrong: %s", o.Error)
		}
	})
}

// TestRunnerBreach: a tool that ran undecided is a breach, with its object.
func TestRunnerBreach(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		laySimple(b)
		s, _ := killScript()
		m := startModel(t, s)
		res := shimmed(t, r, "forge", []string{"--output", "json", "--fail-on", "deny", "--timeout", "10m"}).run(t, b, m, startWeb(t, b))
		if o := readOutcome(t, res.Out); res.Code != 3 || o.ExitCode != 3 || o.Reason != "breach" || !strings.HasPrefix(o.Error, "breach: ") {
			t.Errorf("exit code %d: %s", res.Code, short(res.Out))
		}
	})
}

// TestRunnerInterrupted: a signal in the midst of a command ends the run with its
// exit code and its object; the agent and the command are gone, and the record is
// closed.
func TestRunnerInterrupted(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			b, m := newBox(t), startModel(t, runnerScript())
			cmd := runner(b, r, "long").command(t, b, m, startWeb(t, b))
			var out, complaints bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &complaints
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if !until(90*time.Second, func() bool { return b.has("repo/begun") }) {
				t.Error("the command did not begin")
			}
			cmd.Process.Signal(sig)
			cmd.Wait()
			if _, dead := gone(r.Path, 5*time.Second); !dead {
				t.Error("the agent CLI is still there")
			}
			settled(t)
			o := readOutcome(t, out.String())
			if got := cmd.ProcessState.ExitCode(); got != code || o.ExitCode != code || o.Reason != "interrupted" || o.Decisions.Allow != 2 {
				t.Errorf("%v: exit code %d: %s", sig, got, short(out.String()))
			}
			verify := exec.Command(binary(t), "audit", "verify", b.Dir+"/audit.jsonl")
			verify.Env = cmd.Env
			if said, err := verify.CombinedOutput(); err != nil {
				t.Errorf("the record: %v: %s", err, said)
			}
		}
	})
}

// TestRetries: CLAUDE_CODE_MAX_RETRIES reaches the agent CLI.
func TestRetries(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b, m := newBox(t), startModel(t, runnerScript())
		m.overloaded = true
		x := runner(b, r, "two")
		x.profile.Env = append(x.profile.Env, "CLAUDE_CODE_MAX_RETRIES=1")
		res := x.run(t, b, m, startWeb(t, b))
		m.mu.Lock()
		asked := len(m.bodies)
		m.mu.Unlock()
		if o := readOutcome(t, res.Out); res.Code != 1 || o.Reason != "failed" || asked > 4 {
			t.Errorf("exit code %d after %d requests: %s", res.Code, asked, short(res.Out))
		}
		t.Logf("%d requests", asked)
	})
}

// TestPipe: what the documentation has as the first thing to try.
func TestPipe(t *testing.T) {
	if _, err := exec.LookPath("jq"); err != nil {
		unable(t, "this test needs jq on PATH")
	}
	eachRelease(t, func(t *testing.T, r release) {
		b, m := newBox(t), startModel(t, runnerScript())
		direct := runner(b, r, "two").command(t, b, m, startWeb(t, b))
		cmd := exec.Command("bash", append([]string{"-o", "pipefail", "-c", `"$@" | jq -r .text`, "x"}, direct.Args...)...)
		cmd.Dir, cmd.Env, cmd.Stderr = b.Work, direct.Env, os.Stderr
		if out, err := cmd.Output(); err != nil || string(out) != "ok\n" {
			t.Errorf("%v: %s", err, out)
		}
	})
}
