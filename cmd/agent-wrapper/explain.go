package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) explainCommand() *cobra.Command {
	var rules policyFlags
	var exitCode bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "explain TOOL INPUT | explain COMMAND-LINE",
		Short: "Show how a tool use is decided, and why",
		Long: `explain shows which layers of your policy answer each action of a tool use, and
which of them decides.

` + inputForms,
		Example: `  agent-wrapper explain Bash 'git status; rm -rf build' \
      --allow "Bash(git status)"
  agent-wrapper explain 'git push --force'
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
			if form.on {
				if err := form.put(newExplained(d, &trace, c.Warnings)); err != nil {
					return err
				}
				return decisionCode(d, exitCode)
			}
			c.WriteTrace(a.out, display.TextOptions{Width: columns(a.out), Colour: isTerminal(a.out) && colours()}, use, &trace)
			return decisionCode(d, exitCode)
		},
	}
	rules.add(cmd)
	rules.addSandbox(cmd)
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for ask, 11 for deny")
	return cmd
}

// explainedJSON is the output of explain --json.
type explainedJSON struct {
	envelope
	answerJSON
	Whole    *stepJSON    `json:"whole,omitempty"` // the answer to the tool use as a whole that decides it
	Actions  []actionJSON `json:"actions"`
	Warnings []string     `json:"warnings"`
}

// actionJSON is one action of a tool use.
type actionJSON struct {
	Action   string     `json:"action"`
	Start    int        `json:"start"` // its place in the command line, in bytes
	End      int        `json:"end"`
	Free     bool       `json:"free,omitempty"` // it needs no answer; only ask and deny rules apply
	Risk     risk.Class `json:"risk"`
	Why      string     `json:"why,omitempty"`
	Override *ruleJSON  `json:"override,omitempty"` // that of the policy which determines the risk
	Steps    []stepJSON `json:"steps"`
	Decides  *int       `json:"decides,omitempty"`   // the index of the step that decides; none: no layer answers
	NearMiss *ruleJSON  `json:"near_miss,omitempty"` // the allow rule that comes nearest
}

// stepJSON is the answer of one layer.
type stepJSON struct {
	Layer    string `json:"layer"`
	Behavior string `json:"behavior,omitempty"` // "": the layer has no answer
	Held     bool   `json:"held,omitempty"`
	Rule     string `json:"rule,omitempty"`
	Source   string `json:"source,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ruleJSON is a rule with its place, and why it does not match.
type ruleJSON struct {
	Rule   string `json:"rule"`
	Source string `json:"source,omitempty"`
	Missed string `json:"missed,omitempty"`
}

func newExplained(d permission.Decision, trace *permission.Trace, warnings []string) *explainedJSON {
	out := &explainedJSON{answerJSON: newAnswer(d), Actions: []actionJSON{}, Warnings: orNone(warnings)}
	if trace.Whole.Layer != 0 {
		whole := newStep(&trace.Whole)
		out.Whole = &whole
	}
	for i := range trace.Actions {
		out.Actions = append(out.Actions, newAction(&trace.Actions[i]))
	}
	return out
}

func newAction(t *permission.TracedAction) actionJSON {
	out := actionJSON{Action: t.Action, Start: t.Pos, End: t.End, Free: t.Free, Risk: t.Risk, Why: t.Why, Steps: []stepJSON{}}
	if t.Override != "" {
		out.Override = &ruleJSON{Rule: t.Override, Source: t.OverrideSource.String()}
	}
	for i := range t.Steps {
		out.Steps = append(out.Steps, newStep(&t.Steps[i]))
	}
	if t.Decides >= 0 {
		out.Decides = &t.Decides
	}
	if t.NearMiss != "" {
		out.NearMiss = &ruleJSON{t.NearMiss, t.NearMissSource.String(), t.Missed}
	}
	return out
}

func newStep(s *permission.Step) stepJSON {
	out := stepJSON{Layer: s.Layer.String(), Held: s.Held, Rule: s.Rule, Source: s.Source.String(), Reason: s.Reason}
	if s.Behavior != 0 {
		out.Behavior = s.Behavior.String()
	}
	return out
}

// inputForms is a paragraph of the help of commands that take a tool use.
const inputForms = `INPUT is the command, the path or the URL, or the tool's whole input as a JSON
object. A tool use in one word is written as in a rule, "Bash(git push)"; any
other single word is a command line for Bash.`

// oneUseArgs requires the arguments of oneUse, described by form.
func oneUseArgs(form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			if tool, _, err := oneWord(args[0]); tool != "" || err != nil {
				return err
			}
		}
		if len(args) > 1 && strings.Contains(args[0], "(") {
			return fmt.Errorf("%s is not a tool: a tool use in one word is all there is, so leave out %s", quoted(args[0]), quoted(args[1]))
		}
		if len(args) > 1 && lineInWords(args) {
			return fmt.Errorf("%s is not a tool: for a command line, quote it as one word: %s %s", quoted(args[0]), cmd.CommandPath(), shellword.Quote(strings.Join(args, " ")))
		}
		return exactly(2, form)(cmd, args)
	}
}

// lineInWords reports whether words are a command line that was not quoted.
func lineInWords(args []string) bool {
	if toolName(args[0]) || tools.Builtin(args[0]).Main() != "" || strings.HasPrefix(args[1], "{") {
		return false
	}
	_, _, err := patterns.Parse(args[0], patterns.Ask, patterns.Source{})
	return err == nil // else it is nearly the name of a tool
}

// oneWord reads a tool use that is one word: Tool(text), or a command line for Bash.
// The tool is "" if it is neither.
func oneWord(word string) (tool, text string, err error) {
	name, rest, found := strings.Cut(word, "(")
	rest, closed := strings.CutSuffix(rest, ")")
	switch {
	case found && closed && name != "" && !strings.ContainsFunc(name, notName) && strings.HasSuffix(rest, ":*"):
		return "", "", fmt.Errorf("%s is a rule for many tool uses: write one of them, without :*", word)
	case found && closed && name != "" && !strings.ContainsFunc(name, notName):
		return name, rest, nil
	case strings.TrimSpace(word) == "" || toolName(word):
		return "", "", nil
	}
	return "Bash", word, nil
}

// toolName reports whether a word looks like the name of a tool: no program has such a
// name.
func toolName(word string) bool {
	return word != "" && !strings.ContainsFunc(word, notName) && ('A' <= word[0] && word[0] <= 'Z' || strings.HasPrefix(word, "mcp__"))
}

// notName reports whether a rune is in no name of a tool.
func notName(r rune) bool {
	return r != '_' && r != '-' && (r < '0' || '9' < r) && (r < 'A' || 'Z' < r) && (r < 'a' || 'z' < r)
}

// oneUse returns the tool use of a command line and the rules for it.
func oneUse(rules *policyFlags, args []string) (*engine.Rules, *permission.ToolUse, error) {
	tool, text, err := args[0], "", error(nil)
	if len(args) > 1 {
		text = args[1]
	} else if tool, text, err = oneWord(args[0]); err != nil {
		return nil, nil, usage("%w", err)
	}
	c, err := rules.load()
	if err != nil {
		return nil, nil, err
	}
	if err := c.Supposed(); err != nil {
		return nil, nil, err
	}
	if _, _, err := patterns.ParseWith(c.Policy.Tools, tool, patterns.Ask, patterns.Source{}); err != nil {
		return nil, nil, usage("%w", err)
	}
	input, err := inputOf(tool, text)
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
