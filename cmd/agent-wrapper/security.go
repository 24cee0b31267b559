package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

func (a *app) securityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "security", Short: "Check the commands of a plan against the whitelist",
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.validateCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

func (a *app) validateCommand() *cobra.Command {
	f, plan, asJSON := &planFlags{}, "", false
	cmd := &cobra.Command{
		Use:   "validate-commands --plan FILE",
		Short: "What the whitelist says of each gate's command; nothing runs and nothing is counted",
		Long: `validate-commands holds the command of every gate of a plan against the
whitelist. It runs nothing, asks nobody and counts nothing.

The result of a command is allowed, blocked, asked (permissive: a person would
be asked) or would_block (a whitelist in dry_run_mode). The exit code is 11 if one
is blocked, else 10 if one is asked, 2 if the plan or the whitelist is wrong.`,
		Example: `  agent-wrapper security validate-commands --plan plan.json
  agent-wrapper security validate-commands --plan plan.json --json --whitelist ci/allowed-commands.json`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if plan == "" {
				return usage("name the plan with --plan FILE")
			}
			return a.validateGates(f, plan, asJSON)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&plan, "plan", "", "the plan's `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON document in place of a table")
	return cmd
}

// validated is what the whitelist says of one command.
type validated struct {
	Item    string `json:"item"`
	Gate    string `json:"gate"`
	Command string `json:"command"`
	Result  string `json:"result"`           // allowed, blocked, asked, would_block
	Reason  string `json:"reason,omitempty"` // one of the four of a whitelist
	Detail  string `json:"detail,omitempty"`
}

// The results of a validation.
const (
	resultAllowed = "allowed"
	resultBlocked = "blocked"
	resultAsked   = "asked"
	resultWould   = "would_block"
)

func (a *app) validateGates(f *planFlags, path string, asJSON bool) error {
	p, err := f.compilePlanned()
	if err != nil {
		return err
	}
	plan, err := p.plan(path)
	if err != nil {
		return err
	}
	p.tellLists(a)
	list := p.validate(plan)
	if asJSON {
		err = writeJSON(a.out, map[string]any{"plan": absolute(path), "whitelists": p.names, "commands": list})
	} else {
		err = writeValidated(a.out, list)
	}
	if err != nil {
		return err
	}
	return exit(validatedCode(list))
}

func validatedCode(list []validated) int {
	code := codeDone
	for i := range list {
		switch list[i].Result {
		case resultBlocked:
			code = codeDeny
		case resultAsked:
			code = max(code, codeAsk)
		}
	}
	return code
}

// validate holds each gate's command against the whitelists.
func (p *planned) validate(plan *gates.Plan) []validated {
	list := []validated{}
	for _, item := range plan.Items {
		for _, g := range item.Gates {
			v := p.validateLine(g.Run, gates.Dir(p.place.Workspace, &g))
			v.Item, v.Gate = item.Name, g.Name
			list = append(list, v)
		}
	}
	return list
}

// validateLine holds a command line against the whitelists.
func (p *planned) validateLine(line, dir string) validated {
	options := p.options()
	options.Dir = dir
	facts := shell.Analyze(line, options)
	o := p.ceiling.Forbid(line, facts)
	v := validated{Command: line, Result: resultAllowed, Reason: o.Kind, Detail: o.Reason}
	for _, list := range p.lists {
		validator := &whitelist.Validator{List: list, Argv: true}
		if e := validator.Validate(line, facts); e != nil && string(e.Reason) == o.Kind {
			v.Detail = e.Detail
			break
		}
	}
	switch {
	case o.Kind == "":
	case o.Behavior == 0:
		v.Result = resultWould
	case o.Behavior.String() == "ask":
		v.Result = resultAsked
	default:
		v.Result = resultBlocked
	}
	return v
}

func writeValidated(out io.Writer, list []validated) error {
	t := newTable(out, "ITEM", "GATE", "RESULT", "REASON", "COMMAND")
	for _, v := range list {
		t.row(v.Item, v.Gate, v.Result, dash(v.Reason), v.Command)
		t.more(v.Detail)
	}
	return t.flush()
}

// table is a table for a person: what a row has more to say stands below it.
type table struct {
	out   io.Writer
	cells *tabwriter.Writer
	text  strings.Builder
	below map[int]string // row → text
	rows  int
}

func newTable(out io.Writer, heads ...string) *table {
	t := &table{out: out, below: map[int]string{}}
	t.cells = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	t.row(heads...)
	return t
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = visible.Line(strings.ReplaceAll(cells[i], "\t", "    "))
	}
	fmt.Fprintln(t.cells, strings.Join(cells, "\t"))
	t.rows++
}

// more is said below the last row.
func (t *table) more(text string) {
	if text != "" {
		t.below[t.rows-1] = text
	}
}

func (t *table) flush() error {
	if err := t.cells.Flush(); err != nil {
		return err
	}
	var all strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(t.text.String(), "\n"), "\n") {
		all.WriteString(strings.TrimRight(line, " ") + "\n")
		if text := t.below[i]; text != "" {
			all.WriteString("    " + visible.Line(text) + "\n")
		}
	}
	_, err := io.WriteString(t.out, all.String())
	return err
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
