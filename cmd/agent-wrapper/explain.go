package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) explainCommand() *cobra.Command {
	var rules policyFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "explain TOOL INPUT-JSON",
		Short: "Show what every layer says to a tool use, and why",
		Example: `  agent-wrapper explain Bash '{"command":"git status; rm -rf build"}' --allow "Bash(git status)"
  agent-wrapper explain Edit '{"file_path":"/etc/hosts"}' --policy agent-wrapper.toml`,
		Args: exactly(2, "a tool and its input as JSON"),
		RunE: func(_ *cobra.Command, args []string) error {
			c, use, err := oneUse(&rules, args)
			if err != nil {
				return err
			}
			var trace permission.Trace
			d := c.evaluator().Explain(*use, &trace)
			explain(a.out, c, use, &trace)
			return decisionCode(d, exitCode)
		},
	}
	rules.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for ask and 11 for deny")
	return cmd
}

// oneUse reads the tool use of a command line and the policy for it.
func oneUse(rules *policyFlags, args []string) (*compiled, *permission.ToolUse, error) {
	tool, input := args[0], strings.TrimSpace(args[1])
	if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
		return nil, nil, usage("the input %s is no JSON object: write %s", quoted(input), example(tool, input))
	}
	if name, _, found := strings.Cut(tool, "("); found {
		return nil, nil, usage("%s is a rule, no tool: write %s %s", tool, name, example(name, ""))
	}
	if _, _, err := patterns.Parse(tool, patterns.Ask, patterns.Source{}); err != nil {
		return nil, nil, usage("%w", err)
	}
	c, err := rules.compile()
	if err != nil {
		return nil, nil, err
	}
	return c, &permission.ToolUse{Tool: tool, Input: json.RawMessage(input), Dir: c.place.Workspace}, nil
}

// example is how an input for a tool looks.
func example(tool, text string) string {
	if strings.HasPrefix(text, "{") || text == "" {
		text = "…"
	}
	key := map[string]string{"Bash": "command", "WebFetch": "url"}[tool]
	if key == "" {
		key = "file_path"
	}
	value, _ := json.Marshal(text) // a string always marshals
	return fmt.Sprintf("'{%q:%s}'", key, value)
}

func quoted(text string) string {
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return fmt.Sprintf("%q", text)
}

// decisionCode is the exit code of a decision where one is asked for.
func decisionCode(d permission.Decision, wanted bool) error {
	if !wanted {
		return nil
	}
	switch d.Behavior {
	case permission.Allow:
		return nil
	case permission.Ask:
		return exit(codeAsk)
	}
	return exit(codeDeny)
}

// explain writes a trace for a person.
func explain(out io.Writer, c *compiled, use *permission.ToolUse, trace *permission.Trace) {
	fmt.Fprintf(out, "%s %s\nin %s, mode %s\n", visible.Line(use.Tool), summary(use), visible.Line(use.Dir), c.policy.Mode)
	for _, w := range c.warnings {
		fmt.Fprintf(out, "warning: %s\n", visible.Line(w))
	}
	for i := range trace.Actions {
		explainAction(out, i+1, &trace.Actions[i])
	}
	if trace.Wall.Layer != 0 {
		fmt.Fprintf(out, "\nthe tool use as a whole\n%s", layerLine(">", trace.Wall.Layer, &trace.Wall))
	}
	fmt.Fprintln(out)
	explainDecision(out, trace.Decision)
}

func explainAction(out io.Writer, n int, t *permission.TracedAction) {
	fmt.Fprintf(out, "\n%d. %s  [risk %s]", n, visible.Line(t.Action), t.Risk)
	if t.Free {
		fmt.Fprint(out, "  (needs no allow: only ask and deny rules look at it)")
	}
	fmt.Fprintln(out)
	if t.Override != "" {
		fmt.Fprintf(out, "     risk: %s%s\n", visible.Line(t.Why), from(t.OverrideSource))
	}
	for layer := permission.LayerGuard; layer <= permission.LayerDefault; layer++ {
		mark, step := said(t, layer)
		if step != nil || !t.Free {
			fmt.Fprint(out, layerLine(mark, layer, step))
		}
	}
	if t.NearMiss != "" {
		fmt.Fprintf(out, "     near miss: %s%s: %s\n", visible.Line(t.NearMiss), from(t.NearMissSource), visible.Line(t.Missed))
	}
}

// said finds what a layer said to an action, nil if nothing; ">" marks the
// step that the action comes to.
func said(t *permission.TracedAction, layer permission.Layer) (mark string, step *permission.Step) {
	for i := range t.Steps {
		if t.Steps[i].Layer == layer {
			step = &t.Steps[i]
			if i == t.Decides {
				mark = ">"
			}
		}
	}
	return mark, step
}

// layerLine is what one layer said; nil is nothing.
func layerLine(mark string, layer permission.Layer, step *permission.Step) string {
	if step == nil {
		return fmt.Sprintf("   %1s %-14s -\n", mark, layer)
	}
	says := "goes on"
	if step.Behavior != 0 {
		says = step.Behavior.String()
	}
	if step.Held {
		says += " (held)"
	}
	text := fmt.Sprintf("   %1s %-14s %-8s %s", mark, layer, says, visible.Line(step.Reason))
	if step.Rule != "" {
		text += "  [" + visible.Line(step.Rule) + from(step.Source) + "]"
	}
	return strings.TrimRight(text, " ") + "\n"
}

func explainDecision(out io.Writer, d permission.Decision) {
	fmt.Fprintf(out, "%s, by %s", strings.ToUpper(d.Behavior.String()), d.Layer)
	if d.Rule != "" {
		fmt.Fprintf(out, " %s%s", visible.Line(d.Rule), from(d.RuleSource))
	}
	fmt.Fprintf(out, ": %s\nrisk %s, tier %d\n", visible.Line(d.Reason), d.Risk, d.Tier)
	if d.Message != "" {
		fmt.Fprintf(out, "the agent is told: %s\n", visible.Line(d.Message))
	}
	for _, part := range d.Unapproved() {
		rule := part.Exact
		if rule == "" {
			rule = "nothing can be kept: it is approved once only"
		}
		fmt.Fprintf(out, "to cover %s: %s\n", visible.Line(part.Action), visible.Line(rule))
	}
}
