package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

func (a *app) testCommand() *cobra.Command {
	var options policy.TestOptions
	var junit string
	var coverage bool
	cmd := &cobra.Command{
		Use:   "test DIR",
		Short: "Hold policies to tables of tool uses with the decisions they should get",
		Long: `test decides the cases in every *.cases.toml below DIR by the agent-wrapper.toml
beside it, or in the nearest directory above, and compares:

  [[case]]
  use = "Bash(git push)"
  expect = "ask ask-list Bash(git push:*)"

The decisions are those of check --policy, with the whitelists that bind there. The
exit code is 1 if a case gets another decision, 2 if a file cannot be read.`,
		Args: exactly(1, "one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.testPolicies(args[0], options, junit, coverage)
		},
	}
	cmd.Flags().BoolVar(&options.Update, "update", false, "write the decisions that come out as the expected ones")
	cmd.Flags().StringVar(&junit, "junit", "", "write a JUnit report to `file`")
	cmd.Flags().BoolVar(&coverage, "coverage", false, "name the rules that no case touches")
	return cmd
}

func (a *app) testPolicies(dir string, options policy.TestOptions, junit string, coverage bool) error {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return usage("%s is not a directory: give one with *.cases.toml files in it", dir)
	}
	options.Evaluator = caseEvaluator
	report, err := policy.RunTests(dir, options)
	if len(report.Results) > 0 {
		text := strings.ReplaceAll(report.Text(coverage), "\u00a0", " ") // diffs have them at random
		fmt.Fprint(a.out, visible.Text(text))
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

// caseEvaluator decides the cases of a policy as check --policy decides tool uses
// in the policy's own directory: the same sources, guards and whitelists. Cases
// lie in a file system that each of them describes, so nothing else is read.
func caseEvaluator(file string, spec *policy.Spec, place patterns.Place) (*permission.Evaluator, error) {
	c, err := compose(place, []policy.Source{{Kind: policy.Named, Name: file, Spec: spec, Trusted: true}})
	if err != nil {
		return nil, err
	}
	dir := absolute(filepath.Dir(file))
	if err := errors.Join(c.bindWhitelists(filepath.Join(dir, whitelist.FileName))...); err != nil {
		return nil, err
	}
	for i, name := range c.policy.Guarded {
		if inside, below := strings.CutPrefix(name, dir+"/"); below {
			c.policy.Guarded[i] = path.Join(place.Workspace, inside)
		}
	}
	dirs := policy.Dirs{Managed: managedDir, User: path.Join(place.Home, ".config/agent-wrapper"), Workspace: place.Workspace}
	c.policy.Guarded = append(c.policy.Guarded, guarded(dirs, path.Join(place.Home, ".local/state/agent-wrapper"))...)
	return c.evaluator(), nil
}

func writeJUnit(path string, report *policy.Report) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return unwritable("--junit", err)
	}
	defer closing(file, &err)
	return report.JUnit(file)
}
