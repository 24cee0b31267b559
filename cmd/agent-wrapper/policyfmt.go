package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/tomlfmt"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

func (a *app) policyFmtCommand() *cobra.Command {
	var check bool
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "fmt FILE...",
		Short: "Format policy files; comments stay",
		Long: `fmt writes policy files, and files of cases for agent-wrapper test, in one form:
one blank around =, a blank line before a table, a line for each element of an
array that is too long for one. Comments, keys and values stay as they are, in
their order, so what the file says and whether you trust it does not change.
A file with errors is left alone. - formats standard input to standard output.

With --check it writes nothing, names the files that it would change, and exits
with 1 if there are any.`,
		Example: `  agent-wrapper policy fmt agent-wrapper.toml
  agent-wrapper policy fmt --check agent-wrapper.toml tests/*.cases.toml`,
		Args: between(1, 1<<20, "one or more files, or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && args[0] == "-" {
				return a.formatInput(cmd.Context(), form)
			}
			return a.formatFiles(args, check, form)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit with 1 if a file would change")
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// formattedJSON is the output of policy fmt --json.
type formattedJSON struct {
	envelope
	Files   []string `json:"files"`
	Changed []string `json:"changed"` // with --check: those that would change
}

// formatInput formats standard input to standard output.
func (a *app) formatInput(ctx context.Context, form *jsonForm) error {
	if form.on {
		return usage("- writes the text itself, not JSON: leave out --json, or name a file")
	}
	text, err := io.ReadAll(a.input(ctx))
	if err != nil {
		return err
	}
	next, err := formatted("standard input", text)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, next)
	return err
}

// formatFiles formats files, all of them or none.
func (a *app) formatFiles(names []string, check bool, form *jsonForm) error {
	out := &formattedJSON{Files: names, Changed: []string{}}
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return unread(name, err)
		}
		next, err := formatted(name, text)
		if err != nil {
			return err
		}
		if next != string(text) {
			out.Changed, texts[name] = append(out.Changed, name), next
		}
	}
	for _, name := range out.Changed {
		if !check {
			if err := rewritten(name, texts[name]); err != nil {
				return err
			}
		}
		if !form.on {
			fmt.Fprintln(a.out, visible.Line(name))
		}
	}
	if form.on {
		if err := form.put(out); err != nil {
			return err
		}
	}
	if check && len(out.Changed) > 0 {
		return exit(codeInternal)
	}
	return nil
}

// formatted returns the text of a file in the one form. It has to be without errors.
func formatted(name string, text []byte) (string, error) {
	if kindOf(name) == policy.FrontMatter && name != "standard input" {
		return "", usage("%s is not a policy: name a TOML file", name)
	}
	if strings.HasSuffix(name, ".cases.toml") {
		if _, err := policy.ParseCases(text, name); err != nil {
			return "", usage("%w", err)
		}
	} else if err := loads(name, text); err != nil {
		return "", err
	}
	next, err := tomlfmt.Format(string(text))
	if err != nil {
		return "", usage("%s is left as it is: %w", name, err)
	}
	return next, nil
}

// loads returns an error for a policy that has errors.
func loads(name string, text []byte) error {
	var errs []error
	for _, p := range policy.Validate(text, name) {
		if !p.Warning {
			errs = append(errs, errors.New(p.String()))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return usage("%w", err)
	}
	return nil
}

// rewritten writes a file that is there, with the permissions that it has. A link stays
// one: the file behind it is written.
func rewritten(name, text string) error {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	err = atomicfile.Write(real, []byte(text), info.Mode().Perm())
	if errors.Is(err, fs.ErrPermission) {
		return usage("%w: change the permissions of its directory", err)
	}
	return err
}
