package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

func (a *app) policyLintCommand() *cobra.Command {
	var rules policyFlags
	var exitCode, list bool
	var form *jsonForm
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
				return a.listChecks(form)
			}
			files, err := rules.policyFiles(args)
			if err != nil {
				return err
			}
			worst, err := a.lint(files, form)
			if err == nil && len(args) == 0 && !form.on {
				err = a.nameLists(&rules)
			}
			if err != nil || !exitCode {
				return err
			}
			return exit(worst)
		},
	}
	rules.addPlaces(cmd.Flags())
	form = a.addJSON(cmd, jsonOnce)
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
		switch info, err := os.Stat(f.Path); {
		case errors.Is(err, fs.ErrNotExist):
		case err == nil && !info.Mode().IsRegular() && f.Path != p.file: // opening a pipe would block; one that is named has a writer
			return nil, usage("%s is not a regular file: remove it", f.Path)
		default:
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return nil, usage("there is no policy here: name a file, or write one with agent-wrapper init")
	}
	return files, nil
}

// lintJSON is the output of policy lint --json.
type lintJSON struct {
	envelope
	Files    []string    `json:"files"`
	Findings []foundJSON `json:"findings"`
}

// checksJSON is the output of policy lint --list --json.
type checksJSON struct {
	envelope
	Checks []lintCheck `json:"checks"`
}

type lintCheck struct {
	Name string `json:"name"`
	Doc  string `json:"doc"`
}

// listChecks lists the checks.
func (a *app) listChecks(form *jsonForm) error {
	out := &checksJSON{}
	for _, c := range policy.LintChecks() {
		out.Checks = append(out.Checks, lintCheck{c.Name, c.Doc})
	}
	if form.on {
		return form.put(out)
	}
	for _, c := range out.Checks {
		fmt.Fprintf(a.out, "%-17s %s\n", c.Name, c.Doc)
	}
	return nil
}

// foundJSON is a finding as JSON has it.
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
func (a *app) lint(files []policy.File, form *jsonForm) (worst int, err error) {
	worst = codeDone
	out := &lintJSON{Files: []string{}, Findings: []foundJSON{}}
	for _, f := range files {
		findings, err := lintFile(f)
		if err != nil {
			return worst, unread(f.Path, err)
		}
		for _, found := range findings {
			worst = max(worst, lintCode(found.Level))
			if form.on {
				out.Findings = append(out.Findings, newFound(found))
			} else if _, err := fmt.Fprint(a.out, visible.Text(found.String())); err != nil {
				return worst, err
			}
		}
		out.Files = append(out.Files, f.Path)
		if len(findings) == 0 && !form.on {
			fmt.Fprintf(a.out, "%s: no findings\n", visible.Line(f.Path))
		}
	}
	if form.on {
		err = form.put(out)
	}
	return worst, err
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

func newFound(found policy.Finding) foundJSON {
	return foundJSON{
		Check: found.Check, Level: found.Level, Source: placeText(found), Rule: found.Rule, Why: found.Why, Fix: found.Fix, Instead: found.Instead,
	}
}

// placeText returns the place of a finding: file:line:col.
func placeText(found policy.Finding) string {
	return fmt.Sprintf("%s:%d:%d", found.Source.Name, found.Source.Line, found.Source.Col)
}

func (a *app) policyValidateCommand() *cobra.Command {
	var rules policyFlags
	var form *jsonForm
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
			return a.validate(files, form)
		},
	}
	rules.addPlaces(cmd.Flags())
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// validateJSON is the output of policy validate --json.
type validateJSON struct {
	envelope
	Valid    bool          `json:"valid"` // no file has an error
	Files    []string      `json:"files"`
	Problems []problemJSON `json:"problems"`
}

// problemJSON is a problem of a policy file.
type problemJSON struct {
	Level string `json:"level"` // error or warning
	File  string `json:"file"`
	Line  int    `json:"line"`
	Col   int    `json:"col"`
	Text  string `json:"text"`
}

// validate reports the problems of all files, also after one that cannot be read.
func (a *app) validate(files []policy.File, form *jsonForm) error {
	out := &validateJSON{Valid: true, Files: []string{}, Problems: []problemJSON{}}
	for _, f := range files {
		problems, err := f.Validate()
		if err != nil {
			problems = []policy.Problem{{Text: plain.Text(unread(f.Path, err))}}
		} else {
			problems = append(problems, whitelistProblems(f)...)
		}
		out.Files = append(out.Files, f.Path)
		for _, p := range problems {
			out.Valid = out.Valid && p.Warning
			out.Problems = append(out.Problems, newProblem(f, p))
			if err := a.writeProblem(f, p, form); err != nil {
				return err
			}
		}
		if len(problems) == 0 && !form.on {
			fmt.Fprintf(a.out, "%s: good\n", visible.Line(f.Path))
		}
	}
	if form.on {
		if err := form.put(out); err != nil {
			return err
		}
	}
	if !out.Valid {
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

func (a *app) writeProblem(f policy.File, p policy.Problem, form *jsonForm) error {
	if form.on {
		return nil
	}
	text := p.String()
	if p.Source.Name == "" && !strings.Contains(text, f.Path) {
		text = f.Path + ": " + text
	}
	_, err := fmt.Fprintln(a.out, visible.Line(text))
	return err
}

func newProblem(f policy.File, p policy.Problem) problemJSON {
	level := "error"
	if p.Warning {
		level = "warning"
	}
	return problemJSON{level, f.Path, p.Source.Line, p.Source.Col, p.Text}
}
