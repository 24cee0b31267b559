package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/policy"
	"github.com/agent-wrapper/agent-wrapper/whitelist"
)

func (a *app) policyLintCommand() *cobra.Command {
	var rules policyFlags
	var asJSON, exitCode, list bool
	cmd := &cobra.Command{
		Use:   "lint [FILE...]",
		Short: "Find rules that allow more than they seem to, or do nothing",
		Long: `lint reads policy files, and chat files with settings in their front matter. For
each finding it says where it is, why it matters, and which narrower rule to use
instead. Without FILE it reads the policies of a run here, and names the
whitelists that apply beside them.

The exit code is 2 if a file does not load; with --exit-code, 10 for findings
and 11 if one of them is a danger.`,
		Example: "  agent-wrapper policy lint agent-wrapper.toml",
		RunE: func(_ *cobra.Command, args []string) error {
			if list {
				for _, c := range policy.LintChecks() {
					fmt.Fprintf(a.out, "%-17s %s\n", c.Name, c.Doc)
				}
				return nil
			}
			files, err := rules.policyFiles(args)
			if err != nil {
				return err
			}
			worst, err := a.lint(files, asJSON)
			if err == nil && len(args) == 0 && !asJSON {
				err = a.nameLists(&rules)
			}
			if err != nil || !exitCode {
				return err
			}
			return exit(worst)
		},
	}
	rules.addPlaces(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per finding")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 10 for findings, 11 if one is a danger")
	cmd.Flags().BoolVar(&list, "list", false, "list the checks")
	return cmd
}

// policyFiles returns the files that a command names, by default those that a run
// would read.
func (p *policyFlags) policyFiles(args []string) ([]policy.File, error) {
	var files []policy.File
	for _, arg := range args {
		if ext := strings.ToLower(filepath.Ext(arg)); ext == ".json" || ext == ".yaml" || ext == ".yml" {
			return nil, usage("%s is not a policy: name a TOML file, or a Markdown file with settings at its head", arg)
		}
		files = append(files, policy.File{Kind: kindOf(arg), Path: arg})
	}
	if len(args) > 0 {
		return files, nil
	}
	dirs := userDirs()
	found, err := (&engine.Options{Dir: p.cwd, Roots: p.roots, Dirs: &dirs, Policy: p.file}).PolicyFiles()
	if err != nil {
		return nil, opening(err)
	}
	for _, f := range found {
		if _, err := os.Stat(f.Path); !errors.Is(err, fs.ErrNotExist) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, usage("there is no policy here: name a file, or write one with agent-wrapper init")
	}
	return files, nil
}

// foundJSON is a finding as a line of JSON.
type foundJSON struct {
	Check   string              `json:"check"`
	Level   string              `json:"level"`
	Source  string              `json:"source"`
	Rule    string              `json:"rule"`
	Why     string              `json:"why"`
	Fix     string              `json:"fix"`
	Instead []policy.Suggestion `json:"instead,omitempty"`
}

// lint writes the findings about files, and returns the exit code for the worst.
func (a *app) lint(files []policy.File, asJSON bool) (worst int, err error) {
	worst = codeDone
	for _, f := range files {
		findings, err := lintFile(f)
		if err != nil {
			return worst, unread(f.Path, err)
		}
		for _, found := range findings {
			worst = max(worst, lintCode(found.Level))
			if err := a.writeFinding(found, asJSON); err != nil {
				return worst, err
			}
		}
		if len(findings) == 0 && !asJSON {
			fmt.Fprintf(a.out, "%s: no findings\n", visible.Line(f.Path))
		}
	}
	return worst, nil
}

// nameLists writes which whitelists bind commands here.
func (a *app) nameLists(rules *policyFlags) error {
	c, err := rules.load()
	if err != nil {
		return err
	}
	for _, list := range c.Show().Whitelists {
		fmt.Fprintln(a.out, list)
	}
	return nil
}

// unread returns the error about a file that was named and cannot be read.
func unread(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usage("there is no file %s: give one that exists", path)
	}
	return usage("%w", err)
}

func lintFile(f policy.File) ([]policy.Finding, error) {
	read := policy.ReadFile
	if f.Kind == policy.FrontMatter {
		read = policy.ReadHead
	}
	spec, err := read(f.Path)
	if err != nil {
		return nil, err
	}
	return policy.Lint(spec)
}

func lintCode(level string) int {
	if level == policy.LevelDanger {
		return codeDeny
	}
	return codeAsk
}

func (a *app) writeFinding(found policy.Finding, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprint(a.out, visible.Text(found.String()))
		return err
	}
	return writeJSON(a.out, foundJSON{
		Check: found.Check, Level: found.Level, Source: placeText(found), Rule: found.Rule, Why: found.Why, Fix: found.Fix, Instead: found.Instead,
	})
}

// placeText returns the place of a finding: file:line:col.
func placeText(found policy.Finding) string {
	return fmt.Sprintf("%s:%d:%d", found.Source.Name, found.Source.Line, found.Source.Col)
}

func (a *app) policyValidateCommand() *cobra.Command {
	var rules policyFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check policy files for errors",
		Long: `validate reads policy files, and chat files with settings in their front matter,
as strictly as a run does, and reports every problem with its place. Errors keep
the file from loading; warnings are about rules that load but do nothing.
Without FILE it reads the policies of a run here. The exit code is 2 if there is
an error.`,
		Example: "  agent-wrapper policy validate agent-wrapper.toml chat.md",
		RunE: func(_ *cobra.Command, args []string) error {
			files, err := rules.policyFiles(args)
			if err != nil {
				return err
			}
			return a.validate(files, asJSON)
		},
	}
	rules.addPlaces(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per problem")
	return cmd
}

func (a *app) validate(files []policy.File, asJSON bool) error {
	failed := false
	for _, f := range files {
		problems, err := f.Validate()
		if err != nil {
			return unread(f.Path, err)
		}
		problems = append(problems, whitelistProblems(f)...)
		for _, p := range problems {
			failed = failed || !p.Warning
			if err := a.writeProblem(f, p, asJSON); err != nil {
				return err
			}
		}
		if len(problems) == 0 && !asJSON {
			fmt.Fprintf(a.out, "%s: good\n", visible.Line(f.Path))
		}
	}
	if failed {
		return exit(codeUsage)
	}
	return nil
}

// whitelistProblems returns the problems of the whitelists that a policy names.
// With one that cannot be read no command may run.
func whitelistProblems(f policy.File) (problems []policy.Problem) {
	if f.Kind == policy.FrontMatter {
		return nil // names none
	}
	spec, err := policy.ReadFile(f.Path)
	if err != nil {
		return nil // already reported
	}
	for _, item := range spec.Whitelists {
		if _, err := whitelist.Read(engine.WhitelistFile(item)); item.Text != "" && err != nil {
			problems = append(problems, policy.Problem{Source: item.Source, Text: fmt.Sprintf("no command may run, because the whitelist cannot be used: %v", err)})
		}
	}
	return problems
}

func (a *app) writeProblem(f policy.File, p policy.Problem, asJSON bool) error {
	if !asJSON {
		text := p.String()
		if p.Source.Name == "" && !strings.HasPrefix(text, f.Path) {
			text = f.Path + ": " + text
		}
		_, err := fmt.Fprintln(a.out, visible.Line(text))
		return err
	}
	level := "error"
	if p.Warning {
		level = "warning"
	}
	return writeJSON(a.out, struct {
		Level string `json:"level"`
		File  string `json:"file"`
		Line  int    `json:"line"`
		Col   int    `json:"col"`
		Text  string `json:"text"`
	}{level, f.Path, p.Source.Line, p.Source.Col, p.Text})
}
