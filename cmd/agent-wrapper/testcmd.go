package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

func (a *app) testCommand() *cobra.Command {
	var options policy.TestOptions
	var junit string
	var coverage bool
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Test policies against expected decisions",
		Long: `test decides the cases in every *.cases.toml below DIR by the agent-wrapper.toml
beside it, or in the nearest directory above, and compares:

  [[case]]
  use = "Bash(git push)"
  expect = "ask ask-list Bash(git push:*)"

It decides as check --policy does, including the whitelists that apply. The exit
code is 1 if a decision differs, 2 if a file cannot be read.`,
		Args: exactly(1, "one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.testPolicies(args[0], options, junit, coverage)
		},
	}
	cmd.Flags().BoolVar(&options.Update, "update", false, "write the actual decisions into the files as the expected ones")
	cmd.Flags().StringVar(&junit, "junit", "", "write a JUnit report to `file`")
	cmd.Flags().BoolVar(&coverage, "coverage", false, "list the rules that no case tests")
	return cmd
}

func (a *app) testPolicies(dir string, options policy.TestOptions, junit string, coverage bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("%s is not a directory: give one with *.cases.toml files in it", dir)
	}
	options.Evaluator = engine.Cases
	report, err := policy.RunTests(dir, options)
	if len(report.Results) > 0 {
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
	if len(report.Failed()) > 0 {
		return exit(codeInternal)
	}
	return nil
}

func writeJUnit(path string, report *policy.Report) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return unwritable("--junit", err)
	}
	defer closing(file, &err)
	return report.JUnit(file)
}
