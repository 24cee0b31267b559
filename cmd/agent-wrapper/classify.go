package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// riskFlags select the tables of risk.
type riskFlags struct{ profile, shell string }

// shellNames are the values of --shell.
var shellNames = []string{"bash", "sh", "dash", "zsh", "powershell", "cmd"}

func (r *riskFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.profile, "profile", "", "risk tables: `default|terminal` (default: the policy's, else default)")
	cmd.Flags().StringVar(&r.shell, "shell", "", "`name` of the shell that would run the line: bash, sh, dash, zsh, powershell, cmd (default: bash)")
	complete(cmd, "profile", "default", "terminal")
	complete(cmd, "shell", shellNames...)
}

func (r *riskFlags) check() error {
	if _, ok := risk.ParseProfile(r.profile); !ok {
		return among("--profile", r.profile, "default", "terminal")
	}
	if !policy.Shells[r.shell] {
		return among("--shell", r.shell, shellNames...)
	}
	return nil
}

func (a *app) classifyCommand() *cobra.Command {
	var rules policyFlags
	var tables riskFlags
	var rows, exitCode bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "classify COMMAND-LINE | classify --jsonl",
		Short: "Rate how dangerous a command line is, without running it",
		Long: `classify prints the tier and the risk of a command line, why, and the same for
each command in it. Unless a rule says otherwise, tier 1 (safe) runs, tier 2
(moderate, high) needs approval and tier 3 (destructive) does not run. classify
itself decides nothing.

It uses only the risk tables (agent-wrapper rules list), so a line has the same
class on every machine. With --policy, --cwd or --isolated it also uses the
profile, sensitive_paths and risk_overrides of the policy, as check does.

classify --jsonl reads rows from standard input and answers each, in order. A
row that cannot be read gets "error" and tier 3.

  {"id":"x","command":"kubectl get pods","profile":"default","shell":"bash"}
  {"id":"x","tier":1,"risk":"safe","reasons":["read-only"],"factors":[],
   "components":[…]}`,
		Example: `  agent-wrapper classify 'kubectl delete pod web-1'
  agent-wrapper classify --shell powershell --json 'Remove-Item x'
  agent-wrapper classify --jsonl --exit-code < rows.jsonl`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case rows && form.on:
				return errors.New("--jsonl and --json do not go together: --jsonl writes JSON as it is")
			case rows:
				return none("the rows of --jsonl come from standard input")(cmd, args)
			}
			return exactly(1, "one command line, quoted, or --jsonl")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.classifier(cmd, &rules, &tables)
			if err != nil {
				return err
			}
			if rows {
				return a.classifyRows(cmd.Context(), c, exitCode)
			}
			return a.classifyOne(c, args[0], form, exitCode)
		},
	}
	rules.addSources(cmd.Flags())
	tables.add(cmd)
	cmd.Flags().BoolVar(&rows, "jsonl", false, "read rows from standard input and answer each")
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for tier 2, 11 for tier 3 (with --jsonl: the highest)")
	return cmd
}

// classifier returns the classifier for the flags. It reads a policy only if a
// flag asks for one.
func (a *app) classifier(cmd *cobra.Command, rules *policyFlags, tables *riskFlags) (*policy.Classifier, error) {
	if err := tables.check(); err != nil {
		return nil, err
	}
	c := &policy.Classifier{Profile: tables.profile, Shell: tables.shell}
	asked := func(flag string) bool {
		return slices.Contains([]string{"cwd", "policy", "isolated"}, flag)
	}
	if !slices.ContainsFunc(changed(cmd), asked) {
		return c, nil
	}
	p, err := rules.load()
	if err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		fmt.Fprintf(a.err, "agent-wrapper: warning: %s\n", visible.Line(w))
	}
	c.Policy, c.Dir, c.Env = p.Policy, p.Place.Workspace, p.Evaluator().Env
	return c, nil
}

// classifiedJSON is the output of classify --json.
type classifiedJSON struct {
	envelope
	policy.Classification
}

func (a *app) classifyOne(c *policy.Classifier, line string, form *jsonForm, exitCode bool) error {
	said, err := c.Classify(line, c.Profile, c.Shell)
	if err != nil {
		return usage("%w", err)
	}
	if form.on {
		err = form.put(&classifiedJSON{Classification: said})
	} else {
		err = writeClassification(a.out, said)
	}
	if err != nil || !exitCode {
		return err
	}
	return exit(tierCodes[said.Tier])
}

// tierCodes are the exit codes of the tiers.
var tierCodes = map[int]int{1: codeDone, 2: codeAsk, 3: codeDeny}

func (a *app) classifyRows(ctx context.Context, c *policy.Classifier, exitCode bool) error {
	worst := codeDone
	rows, err := a.eachRow(ctx, func(line []byte) any {
		said := c.Line(line)
		worst = max(worst, tierCodes[said.Tier])
		return said
	})
	return rowsCode(rows, worst, err, exitCode)
}

// writeClassification writes the classification of a line for a person.
func writeClassification(out io.Writer, c policy.Classification) error {
	var b strings.Builder
	fmt.Fprintf(&b, "tier %d, %s: %s\n", c.Tier, c.Risk, visible.Line(strings.Join(c.Reasons, "; ")))
	for _, one := range c.Components {
		words := append([]string{one.Command}, strings.Fields(one.Subcommand)...)
		fmt.Fprintf(&b, "  %-9s %s: %s\n", one.Risk, visible.Line(strings.Join(append(words, one.Args...), " ")), visible.Line(one.Reason))
	}
	if len(c.Factors) > 0 {
		fmt.Fprintf(&b, "factors: %s\n", strings.Join(c.Factors, ", "))
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func (a *app) rulesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "List the risk tables",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.rulesListCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

func (a *app) rulesListCommand() *cobra.Command {
	var tables riskFlags
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the tables behind classify and the tiers",
		Long: `list prints the tables by which command lines are classified: programs with
their subcommands and options, paths, devices and directories, each with its
tier, risk and reason. Of the lines for a program those with the longest
subcommand count, and of these the first.

Among options, "-f|--force" means either spelling, "+1" at least one operand,
and "@x*" an operand of that form.`,
		Example: `  agent-wrapper rules list --profile terminal
  agent-wrapper rules list --shell cmd --json`,
		Args: none(""),
		RunE: func(*cobra.Command, []string) error {
			list, err := tables.rules()
			switch {
			case err != nil:
				return err
			case form.on:
				return form.put(&rulesJSON{Rules: orNone(list)})
			}
			return writeRules(a.out, list)
		},
	}
	tables.add(cmd)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// rulesJSON is the output of rules list --json.
type rulesJSON struct {
	envelope
	Rules []risk.Rule `json:"rules"`
}

// rules returns the tables that the flags select.
func (r *riskFlags) rules() ([]risk.Rule, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	if sh := policy.WindowsShell(r.shell); sh != 0 {
		return risk.WindowsRules(sh), nil
	}
	profile, _ := risk.ParseProfile(r.profile)
	return risk.Rules(profile), nil
}

// tierNames are the headings of the tiers.
var tierNames = map[int]string{1: "tier 1: runs", 2: "tier 2: needs approval", 3: "tier 3: does not run"}

// writeRules writes tables for a person, by tier.
func writeRules(out io.Writer, list []risk.Rule) error {
	var b strings.Builder
	for tier := 1; tier <= len(tierNames); tier++ {
		fmt.Fprintf(&b, "%s\n", tierNames[tier])
		for i := range list {
			if list[i].Tier == tier {
				fmt.Fprintf(&b, "  %-9s %-40s %s\n", list[i].Risk, ruleWords(&list[i]), list[i].Reason)
			}
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// ruleWords returns what an entry of the tables is about.
func ruleWords(r *risk.Rule) string {
	if r.Kind != "command" {
		return r.Kind + " " + r.Path
	}
	return strings.Join(strings.Fields(r.Program+" "+r.Subcommand+" "+r.Options), " ")
}
