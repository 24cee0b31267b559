package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/internal/tty"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
	"github.com/agent-wrapper/agent-wrapper/wrapper/demo"
)

func (a *app) demoCommand() *cobra.Command {
	var rules policyFlags
	var output string
	var noInput bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch an embedded agent whose tool uses are decided, in a temporary workspace",
		Long: `demo drives a scripted agent through the same code as run, in a temporary
workspace: a dozen tool uses, one for every layer of the evaluator. On a
terminal you are asked; elsewhere the demo answers itself. Rules of yours add
to the demo's policy, --policy takes its place.`,
		Example: `  agent-wrapper demo
  agent-wrapper demo --deny "Bash(git:*)"
  agent-wrapper demo --mode plan`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.demo(cmd.Context(), &rules, output, noInput)
		},
	}
	rules.add(cmd)
	cmd.Flags().MarkHidden("cwd")
	cmd.Flags().StringVar(&output, "output", outputText, "form of the event stream: `text|jsonl`")
	cmd.Flags().BoolVar(&noInput, "no-input", false, "let the demo answer itself, on a terminal too")
	return cmd
}

// demo is one run of the embedded agent.
func (a *app) demo(ctx context.Context, rules *policyFlags, output string, noInput bool) (err error) {
	dir, err := os.MkdirTemp("", "agent-wrapper-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	script := demo.Default()
	c, err := demoPolicy(rules, script, filepath.Join(dir, "work"))
	if err != nil {
		return err
	}
	record, err := openRecord(filepath.Join(dir, "audit.jsonl"), audit.Options{})
	if err != nil {
		return err
	}
	defer closing(record, &err)
	ctx, screen := a.screen(ctx)
	events, err := newStream(screen, output)
	if err != nil {
		return err
	}
	events.note(policyText(c.spec))
	options := &claude.Options{Prompt: "show what you can do", Start: script.Start(c.place.Workspace)}
	outcome, err := c.run(ctx, options, record, nil, events, a.demoPerson(noInput, events, screen, c))
	if lost := screen.failed(); lost != nil {
		return lost
	}
	if err == nil {
		events.note(fmt.Sprintf("%d tool uses: %d allowed, %d denied; each was recorded before it was answered.\n", outcome.Allowed+outcome.Denied, outcome.Allowed, outcome.Denied))
		err = events.failed()
	}
	return runEnd(outcome, err)
}

// demoPolicy lays out the workspace and makes the policy for it.
func demoPolicy(rules *policyFlags, script demo.Script, dir string) (*compiled, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := script.Lay(dir); err != nil {
		return nil, err
	}
	rules.cwd, rules.isolated = dir, true
	if rules.file != "" {
		return rules.compile()
	}
	place, err := rules.place()
	if err != nil {
		return nil, err
	}
	base, err := demo.Policy()
	if err != nil {
		return nil, err
	}
	sources, warnings, err := rules.sources(place)
	if err != nil {
		return nil, err
	}
	own := policy.Source{Kind: policy.Named, Name: "the demo", Spec: base, Trusted: true}
	return rules.merged(place, append([]policy.Source{own}, sources...), warnings)
}

// policyText shows a policy in a few lines.
func policyText(s *policy.Spec) string {
	out := fmt.Sprintf("%-13s %s\n", "mode", s.Mode)
	for _, l := range []struct {
		name  string
		items []policy.Item
	}{{"allow", s.Allow}, {"ask", s.Ask}, {"deny", s.Deny}, {"session allow", s.SessionAllow}, {"session deny", s.SessionDeny}} {
		if len(l.items) > 0 {
			out += fmt.Sprintf("%-13s %s\n", l.name, strings.Join(texts(l.items), ", "))
		}
	}
	for _, r := range s.Rules {
		conditions := strings.Join(append(append(append(append([]string{}, r.Paths...), r.Commands...), r.Patterns...), r.Domains...), ", ")
		out += fmt.Sprintf("%-13s %s %s: %s\n", "rule", r.Action, strings.Join(r.Tools, ", "), conditions)
	}
	return visible.Text(out) + "\n"
}

// demoPerson answers the demo's questions: the person at the terminal, else
// somebody who always says the same.
func (a *app) demoPerson(noInput bool, events *stream, s *screen, c *compiled) permission.Approver {
	if person := a.approver(noInput, events, s, c.desk()); person != nil {
		return person
	}
	if events.json {
		s = &screen{out: discard{}}
	}
	return &mime{asker: newAsker(nil, s, c.desk())}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// mime plays a person: the question is shown, and the answer that fits it.
type mime struct{ *asker }

// mimed are the answers to questions in which a text stands, first come first
// served.
var mimed = []struct {
	about, typed string
	answer       permission.Answer
}{
	{"command: rm -rf build\n", "once", permission.Answer{Behavior: permission.Allow}},
	{"command: git push", "deny with words\n  tell the agent: not before the review", permission.Answer{Behavior: permission.Deny, Message: "not before the review"}},
	{"", "deny", permission.Answer{Behavior: permission.Deny}},
}

// Approve gives the answer for the question.
func (m *mime) Approve(_ context.Context, ask permission.Request) (permission.Answer, error) {
	text, err := m.question(&ask)
	if err != nil {
		return permission.Answer{}, err
	}
	for _, x := range mimed {
		if strings.Contains(text, x.about) {
			m.screen.ask(text + prompt + x.typed + "\n")
			return x.answer, nil
		}
	}
	return permission.Answer{}, tty.ErrGone
}

// unbroken is how wide a line is where there is no terminal.
const unbroken = 400

// question is what a person would see.
func (m *mime) question(ask *permission.Request) (string, error) {
	if !ask.Decision.Question {
		shown, o := m.shown(*ask, false, m.asker.choices(ask)), display.TextOptions{Width: unbroken}
		return shown.Text(o) + shown.Menu(o), nil
	}
	asked, err := choices(ask.Use.Input)
	if err != nil {
		return "", err
	}
	return asked[0].text() + asked[0].help(), nil
}
