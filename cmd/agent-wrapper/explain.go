package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/display"
	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

func (a *app) explainCommand() *cobra.Command {
	var rules policyFlags
	var exitCode bool
	cmd := &cobra.Command{
		Use:   "explain TOOL INPUT",
		Short: "Show how a tool use is decided, and why",
		Long: `explain shows which layers of your policy answer each action of a tool use, and
which of them decides.

` + inputForms,
		Example: `  agent-wrapper explain Bash 'git status; rm -rf build' \
      --allow "Bash(git status)"
  agent-wrapper explain Edit /etc/hosts --policy p.toml
  agent-wrapper explain Grep '{"pattern":"TODO","path":"src"}'`,
		Args: oneUseArgs("a tool and its input"),
		RunE: func(_ *cobra.Command, args []string) error {
			c, use, err := oneUse(&rules, args)
			if err != nil {
				return err
			}
			var trace permission.Trace
			d := c.Explain(*use, &trace)
			c.WriteTrace(a.out, display.TextOptions{Width: columns(a.out), Colour: isTerminal(a.out) && colours()}, use, &trace)
			return decisionCode(d, exitCode)
		},
	}
	rules.add(cmd)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for ask, 11 for deny")
	return cmd
}

// inputForms is a paragraph of the help of commands that take a tool use.
const inputForms = `INPUT is the command, the path or the URL, or the tool's whole input as a JSON
object.`

// oneUseArgs requires the arguments of oneUse, described by form.
func oneUseArgs(form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if tool, text, found := strings.Cut(args[0], "("); found {
				return ruleForTool(args[0], tool, strings.TrimSuffix(text, ")"))
			}
			if strings.Contains(args[0], " ") {
				return fmt.Errorf("%s is not a tool: write %s Bash %s", quoted(args[0]), cmd.CommandPath(), shellWord(args[0]))
			}
		}
		return exactly(2, form)(cmd, args)
	}
}

// ruleForTool is the error that a rule was given where a tool is expected.
func ruleForTool(rule, tool, text string) error {
	if text != "" && tools.Builtin(tool).Main() != "" {
		return fmt.Errorf("%s is a rule, not a tool: write %s %s", rule, tool, shellWord(text))
	}
	return fmt.Errorf("%s is a rule, not a tool: write %s %s", rule, tool, example(tool, ""))
}

// oneUse returns the tool use of a command line and the rules for it.
func oneUse(rules *policyFlags, args []string) (*engine.Rules, *permission.ToolUse, error) {
	tool := args[0]
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
	input, err := inputOf(tool, args[1])
	if err != nil {
		return nil, nil, err
	}
	return c, &permission.ToolUse{Tool: tool, Input: input, Dir: c.Place.Workspace}, nil
}

// inputOf returns the input of a tool use: a JSON object as it is, any other text as
// the tool's main field.
func inputOf(tool, text string) (json.RawMessage, error) {
	object := strings.TrimSpace(text)
	if strings.HasPrefix(object, "{") && json.Valid([]byte(object)) {
		return json.RawMessage(object), nil
	}
	key := tools.Builtin(tool).Main()
	switch {
	case strings.HasPrefix(object, "{"):
		return nil, usage("the input %s is not valid JSON: write %s", quoted(text), example(tool, ""))
	case key == "":
		return nil, usage("the input %s is not a JSON object, and %s has no main field for plain text: write %s", quoted(text), tool, example(tool, text))
	}
	return json.Marshal(map[string]string{key: text})
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
