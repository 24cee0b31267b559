package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/run/gates"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

func (a *app) securityCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "security", Short: "Check a plan's commands against the whitelist; lint whitelists",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.validateCommand(), a.securityLintCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

func (a *app) securityLintCommand() *cobra.Command {
	f, form := &planFlags{}, (*jsonForm)(nil)
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Find what whitelists let through unexpectedly",
		Long: `lint looks at the whitelists in force for programs that run any code they are
given (node -e), scripts that the agent may edit (npm test), variables that make
a program run another one, and settings that refuse nothing. It changes nothing,
and findings are not errors.`,
		Example: "  agent-wrapper security lint --whitelist ci/allowed-commands.json",
		Args:    none("give a whitelist with --whitelist"),
		RunE:    func(*cobra.Command, []string) error { return a.lintWhitelists(f, form) },
	}
	f.add(cmd)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// listLintJSON is the output of security lint --json.
type listLintJSON struct {
	envelope
	Whitelists []string      `json:"whitelists"`
	Findings   []listFinding `json:"findings"`
}

type listFinding struct {
	Whitelist string `json:"whitelist"`
	Text      string `json:"text"`
}

func (a *app) lintWhitelists(f *planFlags, form *jsonForm) error {
	p, err := f.compilePlanned()
	if err != nil {
		return err
	}
	p.tellLists(a)
	out := &listLintJSON{Whitelists: orNone(p.names), Findings: []listFinding{}}
	for i, list := range p.Whitelists() {
		if len(list.Warnings()) == 0 && !form.on {
			fmt.Fprintf(a.out, "%s: no findings\n", visible.Line(p.names[i]))
		}
		for _, text := range list.Warnings() {
			out.Findings = append(out.Findings, listFinding{p.names[i], text})
		}
	}
	if form.on {
		return form.put(out)
	}
	for _, found := range out.Findings {
		if _, err := fmt.Fprintf(a.out, "%s: %s\n", visible.Line(found.Whitelist), visible.Line(found.Text)); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) validateCommand() *cobra.Command {
	f, of, form := &planFlags{}, &validatedFiles{}, (*jsonForm)(nil)
	cmd := &cobra.Command{
		Use:   "validate-commands --plan FILE",
		Short: "Check each gate's command against the whitelist; run nothing",
		Long: `validate-commands checks the command of every gate of a plan against the
whitelist. It runs nothing, asks nobody and counts nothing. With --ci it checks
what a CI file runs (GitHub, GitLab, CircleCI, Azure, Travis), line by line, and
the commands in package.json, Makefiles and shell scripts.

The result of a command is allowed, blocked, asked (permissive: you would be
asked) or would_block (a whitelist in dry_run_mode). The exit code is 11 if one
is blocked, else 10 if one is asked, and 2 if the plan or the whitelist is wrong
or a file has no commands.`,
		Example: `  agent-wrapper security validate-commands --plan plan.json
  agent-wrapper security validate-commands --plan plan.json --json \
      --whitelist ci/allowed-commands.json
  agent-wrapper security validate-commands --ci .github/workflows/ci.yml`,
		Args: none("give a plan with --plan, a CI file with --ci"),
		RunE: func(*cobra.Command, []string) error {
			if of.plan == "" && len(of.ci) == 0 {
				return usage("--plan is missing: give a plan, or --ci with a file of CI commands")
			}
			return a.validateCommands(f, of, form)
		},
	}
	f.add(cmd)
	cmd.Flags().StringVar(&of.plan, "plan", "", "`file` with the plan")
	cmd.Flags().Var((*list)(&of.ci), "ci", "a `file` whose commands CI runs; repeatable")
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// validatedFiles are the files whose commands are validated.
type validatedFiles struct {
	plan string // "" for none
	ci   []string
}

// validated is the result of validating one command.
type validated struct {
	Item    string `json:"item"` // of a CI command: the file
	Gate    string `json:"gate,omitempty"`
	Command string `json:"command"`
	Result  string `json:"result"`           // allowed, blocked, asked, would_block
	Reason  string `json:"reason,omitempty"` // one of the four reasons of a whitelist
	Detail  string `json:"detail,omitempty"`
}

// The results of a validation.
const (
	resultAllowed = "allowed"
	resultBlocked = "blocked"
	resultAsked   = "asked"
	resultWould   = "would_block"
)

// validatedJSON is the output of security validate-commands --json.
type validatedJSON struct {
	envelope
	Plan       string      `json:"plan,omitempty"`
	CI         []string    `json:"ci,omitempty"`
	Whitelists []string    `json:"whitelists"`
	Commands   []validated `json:"commands"`
}

func (a *app) validateCommands(f *planFlags, of *validatedFiles, form *jsonForm) error {
	p, err := f.compilePlanned()
	if err != nil {
		return err
	}
	list, err := a.validateFiles(p, of)
	if err != nil {
		return err
	}
	p.tellLists(a)
	if form.on {
		err = form.put(&validatedJSON{Plan: of.plan, CI: of.ci, Whitelists: orNone(p.names), Commands: orNone(list)})
	} else {
		err = writeValidated(a.out, list)
	}
	if err != nil {
		return err
	}
	return exit(validatedCode(list))
}

// validateFiles validates the commands of a plan and of CI files against the
// whitelists.
func (a *app) validateFiles(p *planned, of *validatedFiles) ([]validated, error) {
	list := []validated{}
	if of.plan != "" {
		plan, err := p.plan(of.plan)
		if err != nil {
			return nil, err
		}
		list = p.validate(plan)
	}
	for _, name := range of.ci {
		lines, err := a.ciCommands(name)
		if err != nil {
			return nil, fileError("--ci", err)
		}
		if len(lines) == 0 {
			return nil, usage("--ci: %w: name a file that has commands", whitelist.NoLines(name))
		}
		for _, line := range lines {
			v := p.validateLine(line, p.Place.Workspace)
			v.Item = name
			list = append(list, v)
		}
	}
	return list, nil
}

// ciCommands returns the command lines in a file. Lines for a shell that we
// cannot read are reported, because they are not validated.
func (a *app) ciCommands(name string) ([]string, error) {
	data, err := workspace.ReadText(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	texts, err := whitelist.Lines(name, []byte(data))
	var lines []string
	for _, t := range texts {
		if t.Shell != "" {
			a.warn(fmt.Sprintf("%s: a step for %s is not checked against the whitelist: %s", name, t.Shell, quoted(t.Text)))
			continue
		}
		lines = append(lines, statements(t.Text)...)
	}
	return lines, err
}

// maxStatement is the largest number of lines that are tried as one statement.
const maxStatement = 200

// statements splits a script into statements, without comments: each has as many
// lines as a shell reads at once. From a line that no shell can read, the rest is
// one statement.
func statements(text string) (list []string) {
	lines := strings.SplitAfter(text, "\n")
	for from := 0; from < len(lines); {
		to := from + 1
		for to < len(lines) && to-from < maxStatement && unfinished(strings.Join(lines[from:to], "")) {
			to++
		}
		statement := strings.Join(lines[from:to], "")
		if unfinished(statement) {
			statement, to = strings.Join(lines[from:], ""), len(lines)
		}
		if line := strings.TrimSpace(statement); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
		from = to
	}
	return list
}

// unfinished reports whether a shell would read further lines, or fail.
func unfinished(text string) bool {
	return strings.HasSuffix(text, "\\\n") || shell.Analyze(text, shell.Options{}).Failed != nil
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

// validate validates each gate's command against the whitelists.
func (p *planned) validate(plan *gates.Plan) []validated {
	list := []validated{}
	for _, item := range plan.Items {
		for _, g := range item.Gates {
			v := p.validateLine(g.Run, g.Dir(p.Place.Workspace))
			v.Item, v.Gate = item.Name, g.Name
			list = append(list, v)
		}
	}
	return list
}

// validateLine validates a command line against the whitelists.
func (p *planned) validateLine(line, dir string) validated {
	options := p.options()
	options.Dir = dir
	facts := shell.Analyze(line, options)
	o := p.Forbid(line, facts)
	v := validated{Command: line, Result: resultAllowed, Reason: o.Kind, Detail: o.Reason}
	for _, list := range p.Whitelists() {
		if e := p.Validator(list).Validate(line, facts); e != nil && string(e.Reason) == o.Kind {
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

// table is a table for a person. What a row says at more length follows below it.
type table struct {
	out   io.Writer
	cells *tabwriter.Writer
	text  strings.Builder
	below map[int]string // by row
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

// more adds text below the last row.
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
