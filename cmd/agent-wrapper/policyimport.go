package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/policy/hostrules"
	"github.com/agent-wrapper/agent-wrapper/internal/text/plain"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// importOptions are the flags of policy import.
type importOptions struct {
	from, output, unlisted string
	force                  bool
	json                   *jsonForm
}

func (a *app) policyImportCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Make a policy of the rules of another agent",
		Long: `import reads permission rules that you have already, and writes a policy of
them to standard output or to a file. It knows the settings of Claude Code
(user, project, local and managed), the .rules of Codex, the policies of Gemini
CLI, the permissions of OpenCode and the auto-approve lists of VS Code. Files
are read and never executed. Several files of one host count together.

The policy allows nothing that the host's own rules would not. A report on
standard error has a line for each rule that is not taken as it is: tightened
or left out, with its place and why.`,
		Example: `  agent-wrapper policy import .claude/settings.json --output agent-wrapper.toml
  agent-wrapper policy import ~/.codex/rules/*.rules
  agent-wrapper policy import --from vscode settings.json --json`,
		Args: between(1, math.MaxInt, "files with rules"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := ifGiven("--unlisted", o.unlisted, "ask", "risk"); err != nil {
				return err
			}
			return a.importPolicy(args, &o)
		},
	}
	cmd.Flags().StringVar(&o.from, "from", "", "the `host`: "+strings.Join(hostrules.Hosts(), ", ")+" (default: as the files show)")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "write the policy to a `file`")
	cmd.Flags().StringVar(&o.unlisted, "unlisted", "", "`what` no rule allows: ask (default), or risk, which runs what is harmless")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite the file")
	complete(cmd, "from", hostrules.Hosts()...)
	complete(cmd, "unlisted", "ask", "risk")
	o.json = a.addJSON(cmd, jsonOnce)
	return cmd
}

func (a *app) importPolicy(names []string, o *importOptions) error {
	imported, err := readHostRules(names, o.from, o.unlisted)
	if err != nil {
		return err
	}
	text, err := imported.Draft.Text()
	if err != nil {
		return fmt.Errorf("the policy that was made does not load, and was not written: %w", err)
	}
	if o.output != "" {
		if err := writeImported(o.output, text, o.force); err != nil {
			return err
		}
	}
	switch {
	case o.json.on:
		return o.json.put(importJSONOf(imported, text))
	case o.output == "":
		if _, err := a.out.Write(text); err != nil {
			return err
		}
	}
	importReport(a.err, imported)
	if o.output != "" {
		fmt.Fprintf(a.err, "Wrote %s. Read it, then run: agent-wrapper trust %s\n", visible.Line(o.output), visible.Line(o.output))
	}
	return nil
}

// readHostRules reads the files of a host; "-" is not one of them, since the name of a file
// says what it is.
func readHostRules(names []string, from, unlisted string) (*hostrules.Import, error) {
	var files []hostrules.File
	for _, name := range names {
		text, err := readHostFile(name)
		if err != nil {
			return nil, err
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		files = append(files, hostrules.File{Name: name, Path: path, Text: text})
	}
	home, _ := os.UserHomeDir() // without one, no file counts for all projects
	imported, err := hostrules.Read(files, hostrules.Options{Host: from, Home: home, Unlisted: unlisted})
	if err != nil {
		return nil, usage("%v", err)
	}
	return imported, nil
}

// readHostFile reads a regular file: opening a pipe may block, and it may have no end.
func readHostFile(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, usage("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, usage("%s", plain.Text(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, usage("%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, hostrules.MaxFile+1))
	if err == nil && len(data) > hostrules.MaxFile {
		err = usage("%s is larger than %d MiB", name, hostrules.MaxFile>>20)
	}
	return data, err
}

// writeImported writes a policy to a file that does not exist, unless it is to be
// overwritten.
func writeImported(path string, text []byte, force bool) error {
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) && !force {
		if err != nil {
			return err
		}
		return usage("%s exists already: choose another name, or overwrite it with --force", path)
	}
	if err := own(path); err != nil {
		return err
	}
	return atomicfile.Write(path, text, 0o644)
}

// importJSON is what policy import --json prints.
type importJSON struct {
	envelope
	Host      string           `json:"host"`
	Files     []string         `json:"files"`
	Policy    string           `json:"policy"` // the text of the file
	Taken     int              `json:"taken"`
	Tightened int              `json:"tightened"`
	LeftOut   int              `json:"left_out"`
	Rules     []hostrules.Rule `json:"rules"`
}

func importJSONOf(i *hostrules.Import, text []byte) *importJSON {
	return &importJSON{
		Host: i.Host, Files: i.Files, Policy: string(text),
		Taken: i.Count(hostrules.Taken), Tightened: i.Count(hostrules.Tightened), LeftOut: i.Count(hostrules.LeftOut),
		Rules: append([]hostrules.Rule{}, i.Rules...),
	}
}

// importReport says what became of the rules that are not taken as they are.
func importReport(w io.Writer, i *hostrules.Import) {
	for _, o := range []hostrules.Outcome{hostrules.Tightened, hostrules.LeftOut} {
		for j := 0; j < len(i.Rules); j++ {
			r := &i.Rules[j]
			if r.Outcome != o {
				continue
			}
			first := j
			for j+1 < len(i.Rules) && sameFate(r, &i.Rules[j+1]) {
				j++
			}
			reportRule(w, r, i.Rules[first+1:j+1])
		}
	}
	fmt.Fprintf(w, "%s: %s taken, %d tightened, %d left out.\n", i.Host, ruleCount(i.Count(hostrules.Taken)), i.Count(hostrules.Tightened), i.Count(hostrules.LeftOut))
}

// sameFate reports whether nothing came of two rules of a list, for the same reason.
func sameFate(r, s *hostrules.Rule) bool {
	return r.File == s.File && r.List == s.List && r.Outcome == s.Outcome && r.Reason == s.Reason && r.Note == s.Note && len(r.Became)+len(s.Became) == 0
}

func ruleCount(n int) string {
	if n == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", n)
}

// reportRule says what became of a rule, and of more that share its fate.
func reportRule(w io.Writer, r *hostrules.Rule, more []hostrules.Rule) {
	width, indent := columns(w), strings.Repeat(" ", 4)
	fmt.Fprintf(w, "%s: %s: %s %s\n", visible.Line(r.Place()), r.Outcome, r.List, visible.Line(cut(r.Rule, maxRuleShown)))
	why := "it " + r.Reason.String()
	if r.Note != "" {
		why += ": " + r.Note
	}
	fmt.Fprint(w, folded(indent, indent, visible.Line(why), width))
	if len(r.Became) > 0 && len(r.Became) <= maxBecame {
		fmt.Fprint(w, folded(indent+"now: ", indent, visible.Line(strings.Join(r.Became, ", ")), width))
	}
	var also []string
	for i := range more {
		also = append(also, fmt.Sprintf("%d:%d %s", more[i].Line, more[i].Col, cut(more[i].Rule, maxRuleShown)))
	}
	if len(also) > 0 {
		fmt.Fprint(w, folded(indent+"also: ", indent, visible.Line(strings.Join(also, ", ")), width))
	}
}

const (
	maxBecame    = 6  // rules that a line of the report lists
	maxRuleShown = 60 // characters of a rule in the report
)

// hostFiles returns the files of a project that have rules of other agents, host by host.
func hostFiles(dir string) [][]string {
	var all [][]string
	for _, patterns := range hostrules.InProject() {
		var files []string
		for _, pattern := range patterns {
			found, _ := filepath.Glob(filepath.Join(dir, pattern)) // the pattern is valid
			for _, name := range found {
				files = append(files, fromHere(name))
			}
		}
		if len(files) > 0 {
			all = append(all, files)
		}
	}
	return all
}

// fromHere returns a path below the working directory relative to it.
func fromHere(path string) string {
	here, err := os.Getwd()
	if err != nil {
		return path
	}
	if rel, within := subpath.Rel(path, here); within {
		return rel
	}
	return path
}

// importable returns what can be made of the rules of other agents in a project, without
// files that have none or cannot be read.
func importable(dir string) []*hostrules.Import {
	var all []*hostrules.Import
	for _, files := range hostFiles(dir) {
		imported, err := readHostRules(files, "", "")
		if err == nil && imported.Count(hostrules.Taken)+imported.Count(hostrules.Tightened) > 0 {
			all = append(all, imported)
		}
	}
	return all
}

// sayImportable names the command for the rules of other agents.
func (a *app) sayImportable(hosts []*hostrules.Import) {
	for _, i := range hosts {
		fmt.Fprintf(a.err, "%s has rules here: agent-wrapper policy import %s\n", i.Host, visible.Line(strings.Join(i.Files, " ")))
	}
}

// offerImport asks whether the rules of other agents are to be added to a starting policy,
// and returns them.
func (a *app) offerImport(in *bufio.Reader, hosts []*hostrules.Import) (*policy.Draft, error) {
	more := &policy.Draft{}
	if len(hosts) == 0 {
		return more, nil
	}
	var found []string
	for _, i := range hosts {
		found = append(found, fmt.Sprintf("%s (%d)", i.Host, i.Count(hostrules.Taken)+i.Count(hostrules.Tightened)))
	}
	if yes, err := a.agrees(in, "Add the rules that are here for "+strings.Join(found, ", ")+"? [y/N] ", false); !yes {
		return more, err
	}
	for _, i := range hosts {
		importReport(a.err, i)
		more.Allow, more.Ask, more.Deny = append(more.Allow, i.Added.Allow...), append(more.Ask, i.Added.Ask...), append(more.Deny, i.Added.Deny...)
		more.Rules = append(more.Rules, i.Added.Rules...)
	}
	return more, nil
}
