package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

func (a *app) initCommand() *cobra.Command {
	var rules policyFlags
	var force, print, yes bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a starting policy for the project",
		Long: `init looks at the files in the project's top folder (go.mod, package.json,
pyproject.toml, Cargo.toml, Makefile, Dockerfile …) and writes
agent-wrapper.toml: rules with comments that let looking, building and testing
through, ask about what fetches, installs or publishes, and deny what tells
secrets. In a git repository agent-wrapper.local.toml, where "always" is kept,
is added to .gitignore. On a terminal it asks before it writes.`,
		Example: `  agent-wrapper init
  agent-wrapper init --print`,
		Args: exactly(0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			dir, err := rules.workspace()
			if err != nil {
				return err
			}
			text := policy.Starting(os.DirFS(dir))
			if print {
				_, err := a.out.Write(text)
				return err
			}
			return a.startPolicy(dir, text, force, yes)
		},
	}
	cmd.Flags().StringVar(&rules.cwd, "cwd", "", "the workspace `directory` (default: here)")
	cmd.Flags().BoolVar(&force, "force", false, "write over a policy that is there")
	cmd.Flags().BoolVar(&print, "print", false, "write the policy to standard output")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// startPolicy writes a starting policy.
func (a *app) startPolicy(dir string, text []byte, force, yes bool) error {
	path := filepath.Join(dir, policy.FileName)
	if _, err := os.Lstat(path); !force && !errors.Is(err, fs.ErrNotExist) {
		return usage("%s is there already: change it, or write over it with --force", path)
	}
	var names []string
	for _, k := range policy.Kits(os.DirFS(dir)) {
		names = append(names, k.Name)
	}
	found := "nothing that it knows"
	if len(names) > 0 {
		found = strings.Join(names, ", ")
	}
	if !yes && isTerminal(a.in) && !a.agrees(fmt.Sprintf("Found in %s: %s.\nWrite %s? [y/n] ", visible.Line(dir), found, policy.FileName)) {
		return usage("nothing was written")
	}
	for _, file := range []string{path, filepath.Join(dir, ".gitignore")} {
		if err := own(file); err != nil {
			return err
		}
	}
	if err := atomicfile.Write(path, text, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "%s is written, for: %s\n", visible.Line(path), found)
	if err := a.ignoreLocal(dir); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Look at it, then: agent-wrapper trust %s\n", policy.FileName)
	return nil
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
		return usage("%s is a symbolic link, and init writes into none: put a file in its place", path)
	case !info.Mode().IsRegular():
		return usage("%s is no regular file: take it away", path)
	}
	return nil
}

// agrees asks a question that is answered with y or n.
func (a *app) agrees(question string) bool {
	in := bufio.NewReader(a.in)
	for {
		fmt.Fprint(a.err, question)
		line, err := in.ReadString('\n')
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case answer == "y" || answer == "yes":
			return true
		case err != nil || answer == "n" || answer == "no":
			return false
		}
	}
}

// ignoreLocal adds the local policy to the repository's ignored files, if there
// is a repository.
func (a *app) ignoreLocal(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
		return nil
	}
	path := filepath.Join(dir, ".gitignore")
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
	fmt.Fprintf(a.out, "%s is added to .gitignore\n", policy.LocalName)
	return nil
}
