package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/policy/hostrules"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// startOptions are the flags of init.
type startOptions struct {
	rules             policyFlags
	edits             string
	force, print, yes bool
}

func (a *app) initCommand() *cobra.Command {
	var o startOptions
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a starting policy for this project",
		Long: `init looks at the files in the project's top directory (go.mod, package.json,
pyproject.toml, Cargo.toml, Makefile, mise.toml ...) and writes
agent-wrapper.toml, with comments: rules that allow building, testing, checking
and formatting, ask about publishing, deploying, migrating and installing, and
deny reading secrets. Reading the project needs no rule.

In a git repository, edits of project files run without a question, since git
can undo them; --edits ask asks about each. Elsewhere edits are asked about.
Removing files is always asked about.

Rules of other agents in the project (.claude/settings.json, .codex/rules,
.gemini/policies, opencode.json, .vscode/settings.json) are taken over only if
you say so; policy import makes a policy of them alone.

An existing policy is kept: init lists the rules it lacks and adds them if you
agree, or with --yes. It changes nothing else.

On a terminal init asks before it writes. It adds agent-wrapper.local.toml,
where "always" is kept, to .gitignore.`,
		Example: `  agent-wrapper init
  agent-wrapper init --print
  agent-wrapper init --edits ask --yes`,
		Args: none(""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := ifGiven("--edits", o.edits, acceptEdits, askEdits); err != nil {
				return err
			}
			dir, err := o.rules.workspace()
			if err != nil {
				return err
			}
			return a.startPolicy(cmd.Context(), dir, &o)
		},
	}
	cmd.Flags().StringVar(&o.rules.cwd, "cwd", "", "the workspace `directory` (default: here)")
	cmd.Flags().StringVar(&o.edits, "edits", "", "`accept` edits of the project's files, or ask (default: accept in a git repository)")
	cmd.Flags().BoolVar(&o.force, "force", false, "overwrite an existing policy")
	cmd.Flags().BoolVar(&o.print, "print", false, "print the policy instead of writing it")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "write without asking")
	return cmd
}

// The values of --edits.
const (
	acceptEdits = "accept"
	askEdits    = "ask"
)

// startPolicy writes a starting policy, or adds to the one that is there.
func (a *app) startPolicy(ctx context.Context, dir string, o *startOptions) error {
	path := filepath.Join(dir, policy.FileName)
	if _, err := os.Lstat(path); !o.force && !errors.Is(err, fs.ErrNotExist) {
		return a.extendPolicy(ctx, dir, path, o)
	}
	edits := o.edits == acceptEdits || o.edits == "" && inRepository(dir)
	project := os.DirFS(dir)
	if o.print {
		_, err := a.out.Write(policy.Starting(project, edits))
		return err
	}
	fmt.Fprintf(a.err, "Found in %s: %s.\n", visible.Line(dir), kitNames(project))
	hosts, more := importable(dir), &policy.Draft{}
	if o.yes || !isTerminal(a.in) {
		a.sayImportable(hosts)
	} else {
		var err error
		if edits, more, err = a.agreeToStart(ctx, o, edits, hosts); err != nil {
			return err
		}
	}
	text := policy.StartingWith(project, edits, more)
	if _, err := policy.Parse(text, path); err != nil {
		return fmt.Errorf("the policy that was made does not load, and was not written: %w", err)
	}
	if err := a.writeStart(dir, path, text); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Wrote %s.\n%s\n", visible.Line(path), editsSaid(edits, inRepository(dir)))
	return a.afterStart(dir)
}

// agreeToStart asks about a starting policy that may accept edits, and may have the rules of
// other agents.
func (a *app) agreeToStart(ctx context.Context, o *startOptions, edits bool, hosts []*hostrules.Import) (bool, *policy.Draft, error) {
	in := bufio.NewReader(a.input(ctx))
	more, err := a.offerImport(in, hosts)
	if err == nil && o.edits == "" && edits {
		edits, err = a.agrees(in, "Let the agent edit files here without asking? git can undo it. [Y/n] ", true)
	}
	if err != nil {
		return false, nil, fmt.Errorf("nothing was written: %w", err)
	}
	return edits, more, a.need(in, fmt.Sprintf("Write %s? [Y/n] ", policy.FileName), true, "nothing was written")
}

// editsSaid says what the policy means for edits, and what to change.
func editsSaid(edits, repository bool) string {
	switch {
	case edits && repository:
		return "Edits of files here run without a question, since git can undo them.\nTo be asked about each: mode = \"default\""
	case edits:
		return "Edits of files here run without a question, although no git can undo them.\nTo be asked about each: mode = \"default\""
	case repository:
		return "Edits of files here are asked about. To let them run: mode = \"acceptEdits\""
	}
	return "Edits of files here are asked about, since no git can undo them.\nTo let them run: mode = \"acceptEdits\""
}

// extendPolicy adds what a starting policy has and the one at path lacks.
func (a *app) extendPolicy(ctx context.Context, dir, path string, o *startOptions) error {
	if err := own(path); err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	project := os.DirFS(dir)
	next, added, err := policy.Extend(old, path, project)
	if err != nil {
		return err
	}
	if o.print {
		_, err := a.out.Write(next)
		return err
	}
	fmt.Fprintf(a.err, "Found in %s: %s.\n", visible.Line(dir), kitNames(project))
	a.sayImportable(importable(dir))
	if len(added) == 0 {
		fmt.Fprintf(a.out, "%s has every rule of a starting policy.\n", visible.Line(path))
		return nil
	}
	fmt.Fprintf(a.out, "%s exists already. It lacks these rules:\n", visible.Line(path))
	for _, add := range added {
		fmt.Fprintf(a.out, "  %-5s  %s\n", add.List, visible.Line(add.Rule))
	}
	if !o.yes && !isTerminal(a.in) {
		return usage("nothing was written: run init --yes to add them, or init --force to write a new policy")
	}
	if err := a.consent(ctx, o.yes, "Add them? Nothing else changes. [y/N] ", "nothing was written"); err != nil {
		return err
	}
	if err := a.writeStart(dir, path, next); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Added %d rules.\n", len(added))
	return a.afterStart(dir)
}

func (a *app) writeStart(dir, path string, text []byte) error {
	for _, file := range []string{path, filepath.Join(dir, ".gitignore")} {
		if err := own(file); err != nil {
			return err
		}
	}
	return atomicfile.Write(path, text, 0o644)
}

// afterStart ends init, with what remains to be done.
func (a *app) afterStart(dir string) error {
	if err := a.ignoreLocal(dir); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Read it, then run: agent-wrapper trust %s\n", policy.FileName)
	return nil
}

func kitNames(project fs.FS) string {
	var names []string
	for _, k := range policy.Kits(project) {
		names = append(names, k.Name)
	}
	if len(names) == 0 {
		return "no build files that init knows"
	}
	return strings.Join(names, ", ")
}

// inRepository reports whether a directory lies in a git repository.
func inRepository(dir string) bool {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return false
		}
		dir = parent
	}
}

// own rejects a file of the project that is a link or not a regular file: the
// target of a repository's link need not belong to the project.
func own(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return usage("%s is a symbolic link, and init does not write through links: put a file in its place", path)
	case !info.Mode().IsRegular():
		return usage("%s is not a regular file: remove it", path)
	}
	return nil
}

// agrees asks a question that is answered with y or n, or with an empty line, which
// means otherwise. The end of the input means no; anything else that ends it is an error.
func (a *app) agrees(in *bufio.Reader, question string, otherwise bool) (bool, error) {
	for {
		fmt.Fprint(a.err, question)
		line, err := in.ReadString('\n')
		if err != nil {
			fmt.Fprintln(a.err) // the line of the question has no end
		}
		if err != nil && err != io.EOF {
			return false, err
		}
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case answer == "y" || answer == "yes":
			return true, nil
		case err != nil || answer == "n" || answer == "no":
			return false, nil
		case answer == "":
			return otherwise, nil
		}
	}
}

// need is agrees for a question without whose yes nothing is done. not says what is so
// then.
func (a *app) need(in *bufio.Reader, question string, otherwise bool, not string) error {
	switch yes, err := a.agrees(in, question, otherwise); {
	case err != nil:
		return fmt.Errorf("%s: %w", not, err)
	case !yes:
		return usage("%s", not)
	}
	return nil
}

// ignoreLocal adds the local policy to the repository's ignored files, if there
// is a repository.
func (a *app) ignoreLocal(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil
	}
	path := filepath.Join(dir, ".gitignore")
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: remove it", path) // opening a pipe would block
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if slices.Contains(strings.Fields(string(data)), policy.LocalName) {
		return nil
	}
	if len(data) > 0 && data[len(data)-1] != '\n' {
		data = append(data, '\n')
	}
	if err := atomicfile.Write(path, append(data, policy.LocalName+"\n"...), 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Added %s to .gitignore.\n", policy.LocalName)
	return nil
}
