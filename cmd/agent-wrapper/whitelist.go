package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/internal/whitelist"
)

func (a *app) whitelistCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "whitelist",
		Short: "Write and check a whitelist of commands",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.whitelistInitCommand(), a.whitelistValidateCommand(), a.whitelistSchemaCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

// startList are the arguments of whitelist init.
type startList struct {
	rules                  policyFlags
	from                   []string
	out                    string
	force, print, dry, def bool
}

func (a *app) whitelistInitCommand() *cobra.Command {
	var s startList
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a whitelist of the commands that the project runs",
		Long: `init writes ` + whitelist.FileName + ` from the commands in CI
files (GitHub, GitLab, CircleCI, Azure, Travis), package.json, Makefiles, plans,
shell scripts and files of lines (.txt, .jsonl). Without --from it uses the
files that it finds in the project. It splits a line with shell operators into
its commands, leaves out what is known only at run time, and reports both.
Commands that publish or deploy are listed separately, under off, and do not
pass.

The list starts as a dry run: it refuses nothing, and what it would refuse is
recorded. init shows what that would have been so far. Read the list before you
switch it on: it has what ran, not what should run.`,
		Example: `  agent-wrapper whitelist init
  agent-wrapper whitelist init --from .github/workflows/ci.yml \
      --from package.json --dry-run
  agent-wrapper whitelist init --default --print`,
		Args: none(""),
		RunE: func(*cobra.Command, []string) error { return a.startWhitelist(&s) },
	}
	cmd.Flags().StringVar(&s.rules.cwd, "cwd", "", "the workspace `directory` (default: here)")
	cmd.Flags().Var((*list)(&s.from), "from", "a `file` to take commands from; repeatable")
	cmd.Flags().StringVar(&s.out, "out", "", "write to this `file` (default: "+whitelist.FileName+" in the workspace)")
	cmd.Flags().BoolVar(&s.force, "force", false, "overwrite an existing whitelist")
	cmd.Flags().BoolVar(&s.print, "print", false, "print the whitelist instead of writing it")
	cmd.Flags().BoolVar(&s.dry, "dry-run", true, "start the list as a dry run; --dry-run=false makes it block at once")
	cmd.Flags().BoolVar(&s.def, "default", false, "write the built-in list instead of one for the project")
	return cmd
}

func (a *app) startWhitelist(s *startList) error {
	dir, err := s.rules.workspace()
	if err != nil {
		return err
	}
	if s.def && len(s.from) > 0 {
		return usage("--default and --from do not go together: leave one of them out")
	}
	start := &whitelist.Start{Text: whitelist.Default}
	if s.def && s.dry {
		start.Text = bytes.Replace(start.Text, []byte(`"dry_run_mode": false`), []byte(`"dry_run_mode": true`), 1)
	}
	if !s.def {
		if start, err = s.make(dir); err != nil {
			return err
		}
	}
	for _, note := range start.Notes {
		fmt.Fprintln(a.err, note)
	}
	if !s.def && start.Commands+start.Off == 0 {
		return usage("no commands found to list: name files that have some with --from, or use the built-in list with --default")
	}
	if s.print {
		if _, err := a.out.Write(start.Text); err != nil {
			return err
		}
		return a.tellRefused(a.err, start.Text, dir)
	}
	path := s.out
	if path == "" {
		path = filepath.Join(dir, whitelist.FileName)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return usage("%s is a directory: name a file in it with --out", visible.Line(path))
	}
	if err := placeNew(path, start.Text, s.force); err != nil {
		return err
	}
	of := "the list that is shipped"
	if !s.def {
		of = "of " + several(start.Commands, "command")
	}
	if start.Off > 0 {
		of += fmt.Sprintf("; %s that publish or deploy are under off and do not pass", several(start.Off, "other"))
	}
	try := "agent-wrapper whitelist validate"
	if s.out != "" {
		try += " " + shellword.Quote(s.out)
	}
	fmt.Fprintf(a.out, "Wrote %s, %s. Read it, then try it: %s\n", visible.Line(path), of, visible.Line(try))
	if s.dry {
		fmt.Fprintln(a.out, `It is a dry run and refuses nothing. To switch it on, set "dry_run_mode": false in it once agent-wrapper hallucinations list --dry-run shows nothing that should run.`)
	}
	return a.tellRefused(a.out, start.Text, dir)
}

// make makes a list from the files that were named, or from those that are found.
func (s *startList) make(dir string) (*whitelist.Start, error) {
	names := s.from
	if len(names) == 0 {
		names = commandFiles(dir)
	}
	if len(names) == 0 {
		return nil, usage("no file with commands found: name one with --from, or use the built-in list with --default")
	}
	var lines []whitelist.Line
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil, fileError("--from", err)
		}
		found, err := whitelist.Lines(name, data)
		if err != nil {
			return nil, usage("%v", err)
		}
		if len(found) == 0 && len(s.from) > 0 {
			return nil, usage("--from: %w: name a file that has commands", whitelist.NoLines(name))
		}
		lines = append(lines, found...)
	}
	return whitelist.Starting(lines, s.dry)
}

// commandFiles returns the files of a project that contain commands.
func commandFiles(dir string) []string {
	var names []string
	for _, pattern := range []string{".github/workflows/*.yml", ".github/workflows/*.yaml", ".gitlab-ci.yml", ".circleci/config.yml", ".travis.yml", "azure-pipelines.yml", "package.json", "GNUmakefile", "makefile", "Makefile", "plan.json"} {
		found, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			continue // a malformed pattern of ours: a test finds every one
		}
		for _, name := range found {
			names = append(names, filepath.Join(dir, name))
		}
	}
	return names
}

// placeNew creates a file and its directory.
func placeNew(path string, text []byte, force bool) error {
	if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s exists already: change it, or overwrite it with --force", visible.Line(path))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	target, err := atomicfile.Target(path)
	if err != nil {
		return err
	}
	return atomicfile.Write(target, text, 0o644)
}

func (a *app) whitelistValidateCommand() *cobra.Command {
	var rules policyFlags
	var file string
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "validate [FILE|LINE]",
		Short: "Check a whitelist, or a command line against one",
		Long: `validate reads a whitelist and reports errors, and what it lets through
unexpectedly. With a command line instead of a file it says whether the command
passes, and exits with 11 if not. Without arguments it checks the whitelists in
force here: ` + whitelist.FileName + ` in the workspace and above
it, and those that a policy names. Nothing is run, counted or recorded.`,
		Example: `  agent-wrapper whitelist validate
  agent-wrapper whitelist validate 'npm run test-coverage-with-magic-flag'
  agent-wrapper whitelist validate --list team.json 'git push --force'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) <= 1 {
				return nil
			}
			return exactly(1, "the file of a whitelist, or one command line, quoted")(cmd, args)
		},
		RunE: func(_ *cobra.Command, args []string) error {
			dir, err := rules.workspace()
			if err != nil {
				return err
			}
			if len(args) == 1 && !namesFile(args[0]) {
				return a.validateLine(dir, file, args[0], form)
			}
			if len(args) == 1 {
				file = args[0]
			}
			return a.validateLists(dir, file, form)
		},
	}
	cmd.Flags().StringVar(&rules.cwd, "cwd", "", "the workspace `directory` (default: here)")
	form = a.addJSON(cmd, jsonOnce)
	cmd.Flags().StringVar(&file, "list", "", "the whitelist `file` (default: "+whitelist.FileName+" in the workspace and above it, and those that a policy names)")
	return cmd
}

// several returns a number of things in words.
func several(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// namesFile distinguishes a file from a command line.
func namesFile(arg string) bool {
	_, err := os.Stat(arg)
	return err == nil || filepath.Ext(arg) == ".json" && !strings.ContainsAny(arg, " \t")
}

// binding returns the whitelists to use: the one in file or, for "", those that
// bind commands in a directory. If there are none it uses the built-in one, and
// reports that.
func (a *app) binding(dir, file string) (*planned, error) {
	f := &planFlags{policyFlags: policyFlags{cwd: dir, isolated: file != ""}, whitelist: file}
	p, err := f.compilePlanned()
	if err == nil && slices.Contains(p.names, builtIn) {
		fmt.Fprintf(a.err, "There is no %s; the built-in whitelist is used.\n", visible.Line(filepath.Join(p.Place.Workspace, whitelist.FileName)))
	}
	return p, err
}

// listsJSON is the output of whitelist validate --json about whitelists.
type listsJSON struct {
	envelope
	Whitelists []listJSON `json:"whitelists"`
}

type listJSON struct {
	Whitelist string   `json:"whitelist"`
	Programs  int      `json:"programs"`
	Warnings  []string `json:"warnings"`
}

// lineJSON is the output of whitelist validate --json about a command line.
type lineJSON struct {
	envelope
	Line    string `json:"line"`
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"` // one of the four reasons of a whitelist
	Detail  string `json:"detail,omitempty"`
}

func (a *app) validateLists(dir, file string, form *jsonForm) error {
	p, err := a.binding(dir, file)
	if err != nil {
		return err
	}
	if form.on {
		out := &listsJSON{Whitelists: []listJSON{}}
		for _, list := range p.Whitelists() {
			out.Whitelists = append(out.Whitelists, listJSON{list.Name(), list.Programs(), orNone(list.Warnings())})
		}
		return form.put(out)
	}
	for _, list := range p.Whitelists() {
		for _, w := range list.Warnings() {
			fmt.Fprintln(a.err, "warning:", visible.Line(w))
		}
		if _, err := fmt.Fprintf(a.out, "%s is valid: %s\n", list.Name(), several(list.Programs(), "program")); err != nil {
			return err
		}
	}
	return nil
}

func (a *app) validateLine(dir, file, line string, form *jsonForm) error {
	p, err := a.binding(dir, file)
	if err != nil {
		return err
	}
	options := p.options()
	options.Dir = p.Place.Workspace
	facts := shell.Analyze(line, options)
	for _, list := range p.Whitelists() {
		if refused := p.Validator(list).Validate(line, facts); refused != nil {
			if form.on {
				err = form.put(&lineJSON{Line: line, Reason: string(refused.Reason), Detail: refused.Error()})
			} else {
				_, err = fmt.Fprintf(a.out, "%s\n%v\n", refused.Reason, refused)
			}
			return cmp.Or(err, exit(codeDeny))
		}
	}
	if form.on {
		return form.put(&lineJSON{Line: line, Allowed: true})
	}
	_, err = fmt.Fprintln(a.out, "allowed")
	return err
}

func (a *app) whitelistSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of whitelists",
		Args:  none(""),
		RunE: func(*cobra.Command, []string) error {
			text, err := whitelist.Schema()
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}
