package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
	"github.com/agent-wrapper/agent-wrapper/wrapper/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var rules policyFlags
	var output string
	var noInput bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Try it: a scripted agent in a temporary workspace",
		Long: `demo runs a scripted agent through the same code as run, in a temporary
workspace: a dozen tool uses, one for each layer that can decide. On a terminal
it asks you; elsewhere it answers itself. Your rules add to the demo's policy;
--policy replaces it.`,
		Example: `  agent-wrapper demo
  agent-wrapper demo --deny "Bash(git:*)"
  agent-wrapper demo --mode plan`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), &rules, output, noInput)
		},
	}
	rules.add(cmd)
	cmd.Flags().MarkHidden("cwd")
	cmd.Flags().StringVar(&output, "output", outputText, "`text|jsonl|json`: events as text or JSON lines, or one JSON object at the end")
	addJSONOutput(cmd, &output)
	cmd.Flags().BoolVar(&noInput, "no-input", false, "let the demo answer its own questions")
	return cmd
}

// demo runs the demo's agent once.
func (a *app) demo(ctx context.Context, rules *policyFlags, output string, noInput bool) (err error) {
	out := a.result(output)
	dir, err := os.MkdirTemp("", "agent-wrapper-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := demo.Default()
	e, err := demoEngine(rules, script, filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	defer closing(e, &err)
	ctx, screen := a.screen(ctx)
	events, err := newEvents(screen, output)
	if err != nil {
		return err
	}
	out.tally = &events.tally
	events.note(policyText(e.Spec, events.width()))
	e.SetApprover(a.demoPerson(noInput, events, screen, e.Rules))
	agent := claude.Agent{Start: script.Start(e.Place.Workspace)}
	outcome, err := drive(ctx, e, agent, &wrapper.Task{Prompt: "show what you can do"}, events)
	out.outcome = outcome
	if lost := screen.Failed(); lost != nil {
		return lost
	}
	if err == nil {
		events.note(events.sentence(events.tally.summary()) + events.sentence("Each decision was recorded before the agent was told."))
		err = events.failed()
	}
	if err := runEnd(ctx, outcome, err); err != nil {
		return err
	}
	return gaveUp(outcome)
}

// demoEngine lays out the workspace and opens an engine for it, with a record
// beside it.
func demoEngine(rules *policyFlags, script demo.Script, dir string) (*engine.Engine, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := script.Lay(dir); err != nil {
		return nil, err
	}
	rules.cwd, rules.isolated = dir, true
	o, err := rules.options()
	if err != nil {
		return nil, err
	}
	o.Record, o.Uncounted, o.NoAdvice = dir+".audit.jsonl", true, true
	o.Head = o.Record + ".head"
	if rules.file == "" {
		base, err := demo.Policy()
		if err != nil {
			return nil, err
		}
		o.Base = []policy.Source{{Kind: policy.Named, Name: "the demo", Spec: base, Trusted: true}}
	}
	r, err := load(o)
	if err != nil {
		return nil, err
	}
	return open(r)
}

// policyText summarizes a policy in a few lines, which are broken between rules.
func policyText(s *policy.Spec, width int) string {
	out := itemLines("mode", []string{fmt.Sprint(s.Mode)}, width)
	for _, l := range []struct {
		name  string
		items []policy.Item
	}{{"allow", s.Allow}, {"ask", s.Ask}, {"deny", s.Deny}, {"session allow", s.SessionAllow}, {"session deny", s.SessionDeny}} {
		out += itemLines(l.name, texts(l.items), width)
	}
	for _, r := range s.Rules {
		conditions := slices.Concat(r.Paths, r.Commands, r.Patterns, r.Domains)
		if conditions == nil {
			conditions = []string{"every use"}
		}
		out += itemLines(fmt.Sprintf("%-13s %s %s:", "rule", r.Action, strings.Join(r.Tools, ", ")), conditions, width)
	}
	return out + "\n"
}

// itemLines returns a name and items, "" for none, in lines that are not broken within an item.
func itemLines(name string, items []string, width int) string {
	if len(items) == 0 {
		return ""
	}
	const blank = "\x00" // which visible leaves in no text
	var whole []string
	for _, item := range items {
		whole = append(whole, strings.ReplaceAll(visible.Line(item), " ", blank))
	}
	text := folded(fmt.Sprintf("%-13s ", name), strings.Repeat(" ", 14), strings.Join(whole, ", "), width)
	return strings.ReplaceAll(text, blank, " ")
}

// demoPerson returns who answers the demo's questions: the person at the
// terminal, or else a mime.
func (a *app) demoPerson(noInput bool, events *stream, s *ask.Screen, r *engine.Rules) permission.Approver {
	if person := a.approver(noInput, events, s, r, asking(r)); person != nil {
		return person
	}
	if events.json {
		s = ask.NewScreen(io.Discard, nil)
	}
	return &mime{ask.New(nil, s, asking(r)), s}
}

// mime is an approver that shows the question and a prepared answer to it.
type mime struct {
	asker  *ask.Approver
	screen *ask.Screen
}

// mimed are the prepared answers, by a text in the question; the first that
// applies counts.
var mimed = []struct {
	about, typed string
	answer       permission.Answer
}{
	{"│ rm -rf build\n", "once", permission.Answer{Behavior: permission.Allow}},
	{"│ git push", "tell the agent: not before the review", permission.Answer{Behavior: permission.Deny, Message: "not before the review"}},
	{"", "deny", permission.Answer{Behavior: permission.Deny}},
}

// usual is the width of a question where there is no terminal.
const usual = 80

// Approve returns the answer to the question.
func (m *mime) Approve(_ context.Context, question permission.Request) (permission.Answer, error) {
	text, err := m.asker.Preview(&question, usual)
	if err != nil {
		return permission.Answer{}, err
	}
	for _, x := range mimed {
		if strings.Contains(text, x.about) {
			m.screen.Ask(text + ask.Prompt + x.typed + "\n")
			return x.answer, nil
		}
	}
	return permission.Answer{}, tty.ErrGone
}

func texts(items []policy.Item) []string {
	var out []string
	for _, item := range items {
		out = append(out, item.Text)
	}
	return out
}
