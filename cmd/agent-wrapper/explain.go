package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

func (a *app) explainCommand() *cobra.Command {
	var rules policyFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "explain TOOL INPUT-JSON",
		Short: "Show what every layer says to a tool use, and why",
		Example: `  agent-wrapper explain Bash '{"command":"git status; rm -rf build"}' \
      --allow "Bash(git status)"
  agent-wrapper explain Edit '{"file_path":"/etc/hosts"}' --policy p.toml`,
		Args: oneUseArgs("a tool and its input as JSON"),
		RunE: func(_ *cobra.Command, args []string) error {
			c, use, err := oneUse(&rules, args)
			if err != nil {
				return err
			}
			var trace permission.Trace
			d := c.Explain(*use, &trace)
			c.WriteTrace(a.out, columns(a.out), use, &trace)
			return decisionCode(d, exitCode)
		},
	}
	rules.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for ask and 11 for deny")
	return cmd
}

// oneUseArgs requires the arguments of oneUse, described by form.
func oneUseArgs(form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if tool, text, found := strings.Cut(args[0], "("); found {
				return ruleForTool(args[0], tool, strings.TrimSuffix(text, ")"))
			}
		}
		return exactly(2, form)(cmd, args)
	}
}

// ruleForTool is the error that a rule was given where a tool is expected.
func ruleForTool(rule, tool, text string) error {
	return fmt.Errorf("%s is a rule, no tool: write %s %s", rule, tool, example(tool, text))
}

// oneUse returns the tool use of a command line and the rules for it.
func oneUse(rules *policyFlags, args []string) (*engine.Rules, *permission.ToolUse, error) {
	tool, input := args[0], strings.TrimSpace(args[1])
	if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
		return nil, nil, usage("the input %s is no JSON object: write %s", quoted(input), example(tool, input))
	}
	if name, _, found := strings.Cut(tool, "("); found {
		return nil, nil, usage("%w", ruleForTool(tool, name, ""))
	}
	c, err := rules.load()
	if err != nil {
		return nil, nil, err
	}
	if _, _, err := patterns.ParseWith(c.Policy.Tools, tool, patterns.Ask, patterns.Source{}); err != nil {
		return nil, nil, usage("%w", err)
	}
	return c, &permission.ToolUse{Tool: tool, Input: json.RawMessage(input), Dir: c.Place.Workspace}, nil
}

// example returns an example of a tool's input.
func example(tool, text string) string {
	if strings.HasPrefix(text, "{") || text == "" {
		text = "…"
	}
	key := cmp.Or(tools.Builtin(tool).Main(), "…")
	value, _ := json.Marshal(text) // a string always marshals
	return fmt.Sprintf("'{%q:%s}'", key, value)
}

func quoted(text string) string {
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return fmt.Sprintf("%q", text)
}

// decisionCode returns the exit code of a decision if one is wanted.
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
