//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// decisions are the answers that our own driver gave.
func (d driver) decisions(asks []ask) []decision {
	var all []decision
	for _, a := range asks {
		if a.Kind == "can_use_tool" {
			allow, _ := d.Answer(a)
			all = append(all, decision{ID: a.ID, Tool: a.Tool, Allow: allow, At: a.At})
		}
	}
	return all
}

func allowAll(row) bool { return true }
func allowAgents(r row) bool {
	return r.Tool == "Agent" && r.Name != "agent-plan" || r.Tool == "Workflow"
}

// withAnswers answers a question of AskUserQuestion with its first option.
func withAnswers(raw json.RawMessage) json.RawMessage {
	var x struct {
		Questions []struct {
			Question string
			Options  []struct{ Label string }
		}
	}
	var all map[string]any
	if json.Unmarshal(raw, &x) != nil || len(x.Questions) == 0 {
		return raw
	}
	json.Unmarshal(raw, &all)
	all["answers"] = map[string]string{x.Questions[0].Question: x.Questions[0].Options[0].Label}
	out, _ := json.Marshal(all)
	return out
}

// trial is one run of the matrix under our own driver.
type trial struct {
	release
	profile
	policy func(row) bool
	args   []string
	env    []string
	hook   bool
	typed  bool
	slow   func(*box, ask) // how long a denial takes
}

func (x trial) run(t *testing.T) verdict {
	t.Helper()
	need(t, x.release)
	b := newBox(t)
	furnish(b)
	if x.Lay != nil {
		x.Lay(b)
	}
	s, rows := matrix(b, x.release)
	m := startModel(t, s)
	m.onSearch = func() { b.write("marks/web-search", "") }
	w := startWeb(t, b)
	ids := map[string]row{}
	for _, r := range rows {
		ids[r.id()] = r
	}
	d := driver{
		Release: x.release, Args: append(append([]string{}, x.args...), "--mcp-config", b.mcpConfig()), Hook: x.hook, Typed: x.typed,
		Env:    slices.Concat(w.env(), shut, []string{"CLAUDE_CODE_ENABLE_TODO_TOOLS=1"}, x.env),
		Answer: func(a ask) (bool, string) { return x.policy(ids[a.ID]), "shut" },
	}
	if x.slow != nil {
		d.Slow = func(a ask) { x.slow(b, a) }
	}
	before := b.snapshot()
	prompt := x.Prompt
	if prompt == "" {
		prompt = plainPrompt
	}
	asks, lines := d.drive(t, b, m, prompt)
	v := judge(b, m, rows, before, d.decisions(asks), x.policy)
	if leaked(m) {
		v.fault("the file that the prompt names came to the model")
	}
	for _, l := range lines {
		if l["subtype"] == "init" {
			for _, n := range unknownTools(l["tools"], rows) {
				v.miss("the agent CLI offers a tool that the matrix lacks: %s", n)
			}
		}
	}
	return v
}

// TestProtocol holds the facts that the wrapper is built on, with a client of
// our own: under the isolated flags every tool use is asked for exactly once. In the short
// form the seed says whether all are allowed or denied.
func TestProtocol(t *testing.T) {
	s := seed(t)
	for _, r := range releases() {
		for _, p := range profiles {
			if !long() && p.Name != "settings" {
				continue
			}
			for i, x := range []struct {
				name   string
				policy func(row) bool
			}{{"open", allowAll}, {"shut", allowAgents}} {
				if !drawn(s, i, 1, 2) {
					continue
				}
				t.Run(r.Version+"/"+p.Name+"/"+x.name, func(t *testing.T) {
					report(t, trial{release: r, profile: p, policy: x.policy, args: isolated, hook: true}.run(t))
				})
			}
		}
	}
}

// TestControl takes away what keeps the agent CLI in check, one thing at a
// time: the same judge must then find faults, or it is blind. The short form takes two
// of them, by the seed.
func TestControl(t *testing.T) {
	noSettings, s := isolated[:3], seed(t)
	for i, x := range []struct {
		name  string
		trial trial
		want  string // a fault that must be among them
	}{
		{"no settings", trial{args: noSettings}, "cat: ran without a decision"},
		{"no settings, no hook in simple mode", trial{args: noSettings, profile: profiles[2], env: profiles[2].Env, hook: true}, "cat: ran without a decision"},
		{"no isolation", trial{profile: profiles[1], hook: true}, "marks/evil-user-pre: changed"},
		{"no isolation, a hook answers before us", trial{profile: profiles[1], slow: outrun}, "ran although it was denied"},
		{"skills on", trial{profile: profiles[1], policy: allowAll}, "marks/evil-skill: changed"},
		{"typed @file", trial{profile: profiles[4], args: isolated, hook: true, typed: true}, "the file that the prompt names"},
		{"typed /command", trial{profile: profiles[3], typed: true}, "marks/evil-"},
	} {
		if !drawn(s, i, 2, 7) {
			continue
		}
		for _, r := range releases() {
			t.Run(r.Version+"/"+x.name, func(t *testing.T) {
				x.trial.release = r
				if x.trial.policy == nil {
					x.trial.policy = allowAgents
				}
				v := x.trial.run(t)
				t.Logf("%d faults; ran %d, denied %d, refused by the agent CLI %d", len(v.Faults), v.Ran, v.Denied, v.Unseen)
				if !strings.Contains(strings.Join(v.Faults, "\n"), x.want) {
					t.Errorf("the judge did not see %q in\n%s", x.want, strings.Join(v.Faults, "\n"))
				}
			})
		}
	}
}

// outrun waits until a hook has answered a tool use, if one does.
func outrun(b *box, a ask) {
	until(2*time.Second, func() bool {
		mark, err := os.Stat(b.Marks + "/evil-user-permission")
		return err == nil && mark.ModTime().After(a.At)
	})
	lasts(60 * time.Millisecond)(a) // it has still to end
}

// unknownTools gives the tools of an init line that no row uses.
func unknownTools(list any, rows []row) []string {
	known := map[string]bool{"Task": true} // the old name of Agent
	for _, r := range rows {
		known[r.Tool] = true
	}
	var missing []string
	tools, _ := list.([]any)
	for _, n := range tools {
		if name, _ := n.(string); !known[name] {
			missing = append(missing, name)
		}
	}
	return missing
}
