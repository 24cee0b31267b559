package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

func (a *app) testCommand() *cobra.Command {
	var options policy.TestOptions
	var junit string
	var coverage bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Test policies against expected decisions",
		Long: `test decides the cases in every *.cases.toml below DIR by the agent-wrapper.toml
beside it, or in the nearest directory above, and compares:

  [[case]]
  name = "a push is asked"       # for reports; may be left out
  use = "Bash(git push)"
  expect = "ask ask-list Bash(git push:*)"

It decides as check --policy does, including the whitelists that apply. The exit
code is 1 if a decision differs, 2 if a file cannot be read.`,
		Args: exactly(1, "one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.testPolicies(args[0], options, junit, coverage, form)
		},
	}
	cmd.Flags().BoolVar(&options.Update, "update", false, "write the actual decisions into the files as the expected ones")
	cmd.Flags().StringVar(&junit, "junit", "", "write a JUnit report to `file`")
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().BoolVar(&coverage, "coverage", false, "list the rules that no case tests")
	return cmd
}

func (a *app) testPolicies(dir string, options policy.TestOptions, junit string, coverage bool, form *jsonForm) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("%s is not a directory: give one with *.cases.toml files in it", dir)
	}
	options.Evaluator = engine.Cases
	report, err := policy.RunTests(dir, options)
	if len(report.Results) > 0 && !form.on {
		fmt.Fprint(a.out, visible.Text(report.Text(coverage)))
	}
	if err != nil {
		return usage("%w", err)
	}
	if junit != "" {
		if err := writeJUnit(junit, &report); err != nil {
			return err
		}
	}
	if form.on {
		if err := form.put(newTested(&report)); err != nil {
			return err
		}
	}
	if len(report.Failed()) > 0 {
		return exit(codeInternal)
	}
	return nil
}

// testedJSON is the output of test --json.
type testedJSON struct {
	envelope
	Passed   int          `json:"passed"`
	Failed   int          `json:"failed"`
	Percent  int          `json:"percent"` // of the cases that passed, rounded down
	Updated  int          `json:"updated"` // expectations that were written
	Cases    []testCase   `json:"cases"`
	Coverage testCoverage `json:"coverage"`
}

type testCase struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Passed bool   `json:"passed"`
	Want   string `json:"want"`
	Got    string `json:"got"`
	Reason string `json:"reason"`
	Diff   string `json:"diff,omitempty"`
}

type testCoverage struct {
	Rules    int        `json:"rules"`
	Tested   int        `json:"tested"`
	Percent  int        `json:"percent"` // of the rules that a case tests; -1: there are no rules
	Untested []ruleJSON `json:"untested"`
}

func newTested(r *policy.Report) *testedJSON {
	failed := len(r.Failed())
	passed, tested := len(r.Results)-failed, r.Rules-len(r.Untouched)
	out := &testedJSON{
		Passed: passed, Failed: failed, Percent: policy.Percent(passed, len(r.Results)), Updated: r.Updated, Cases: []testCase{},
		Coverage: testCoverage{r.Rules, tested, policy.Percent(tested, r.Rules), []ruleJSON{}},
	}
	for _, c := range r.Results {
		out.Cases = append(out.Cases, testCase{c.ID, c.Name, c.File, c.Line, c.Diff == "", c.Want.String(), c.Got.String(), c.Reason, c.Diff})
	}
	for _, item := range r.Untouched {
		out.Coverage.Untested = append(out.Coverage.Untested, ruleJSON{Rule: item.Text, Source: item.Source.String()})
	}
	return out
}

func writeJUnit(path string, report *policy.Report) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return unwritable("--junit", err)
	}
	defer closing(file, &err)
	return report.JUnit(file)
}
