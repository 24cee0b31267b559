package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func (a *app) policyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Show, validate, lint, format and import policies",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.policyShowCommand(), a.policyValidateCommand(), a.policyLintCommand(), a.policyFmtCommand(), a.policyImportCommand(), a.policySandboxCommand(), a.policyNotifyCommand(), a.policySchemaCommand())
	for _, sub := range cmd.Commands() {
		sub.Args = usageArgs(sub.Args)
	}
	return cmd
}

func (a *app) policyShowCommand() *cobra.Command {
	var rules policyFlags
	var form *jsonForm
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the policy of a run, and where each rule comes from",
		Long: `show lists the sources of the policy (managed, user, project, local, front
matter, flags), whether each is trusted, every rule and setting in force with
its place, and what is ignored and why.`,
		Example: `  agent-wrapper policy show
  agent-wrapper policy show --frontmatter chat.md --json`,
		Args: none(""),
		RunE: func(*cobra.Command, []string) error {
			c, err := rules.load()
			if err != nil {
				return err
			}
			if form.on {
				return form.put(&shownJSON{Shown: c.Show()})
			}
			showText(a.out, c)
			return nil
		},
	}
	rules.add(cmd)
	form = a.addJSON(cmd, jsonOnce)
	return cmd
}

// shownJSON is the output of policy show --json.
type shownJSON struct {
	envelope
	engine.Shown
}

func showText(out io.Writer, c *engine.Rules) {
	for _, dir := range append([]string{c.Place.Workspace}, c.Place.Roots...) {
		fmt.Fprintf(out, "workspace %s\n", visible.Line(dir))
	}
	for _, list := range c.Show().Whitelists {
		fmt.Fprintln(out, list)
	}
	for _, src := range c.Sources {
		if src.Kind == policy.Flags && len(src.Spec.Show()) == 0 {
			continue
		}
		fmt.Fprintf(out, "\n%s (%s)\n", visible.Line(src.Name), says(src))
		for _, item := range src.Spec.Show() {
			place := ""
			if item.Place != "" {
				place = "  [" + visible.Line(item.Place) + "]"
			}
			fmt.Fprintf(out, "  %-13s %s%s\n", item.Key, visible.Line(item.Text), place)
		}
	}
	if len(c.Warnings) > 0 {
		fmt.Fprintln(out)
	}
	for _, w := range c.Warnings {
		fmt.Fprintf(out, "warning: %s\n", visible.Line(w))
	}
}

// says describes a source and whether its settings count.
func says(src policy.Source) string {
	switch {
	case src.Kind == policy.Flags:
		return "the command line"
	case src.Trusted:
		return src.Kind.String() + ", trusted"
	}
	return src.Kind.String() + ", not trusted: it only narrows"
}

func (a *app) policyNotifyCommand() *cobra.Command {
	var rules policyFlags
	cmd := &cobra.Command{
		Use:   "notify",
		Short: "Send a test notice by each way that [notify] switches on",
		Long: `notify sends what you would get of a question that has waited too long, about
"echo test", by each way that [notify] of the policy switches on, and says how
each went. The exit code is 1 if one failed.`,
		Example: `  agent-wrapper policy notify`,
		Args:    exactly(0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := rules.load()
			if err != nil {
				return err
			}
			return a.tryNotify(cmd.Context(), r)
		},
	}
	rules.add(cmd)
	return cmd
}

// tryNotify sends a test notice.
func (a *app) tryNotify(ctx context.Context, r *engine.Rules) error {
	for _, w := range r.Warnings {
		a.say("warning: %s", w)
	}
	var terminal func(string)
	if isTerminal(a.out) {
		terminal = func(text string) { fmt.Fprint(a.out, text) }
	}
	use := permission.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"echo test"}`), Session: "test", Dir: r.Place.Workspace}
	failed := 0
	given := r.TryNotify(ctx, &use, terminal, func(way, how string, err error) {
		if err != nil {
			failed++
			how = "failed: " + err.Error()
		}
		fmt.Fprintf(a.out, "%-8s %s\n", way, visible.Line(how))
	})
	switch {
	case !given:
		return usage("no policy that counts here has [notify]: add it to %s, as in docs/policy.md", userPolicy())
	case failed > 0:
		return errors.New("you would not have been told by every way")
	}
	return nil
}

// userPolicy returns the file of the user's policy.
func userPolicy() string {
	if dir := userDirs().User; dir != "" {
		return filepath.Join(dir, policy.FileName)
	}
	return "your policy"
}

func (a *app) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of policy files, for editors",
		Example: "  agent-wrapper policy schema > agent-wrapper.schema.json",
		Args:    none(""),
		RunE: func(*cobra.Command, []string) error {
			text, err := policy.Schema()
			if err != nil {
				return err
			}
			_, err = a.out.Write(text)
			return err
		},
	}
}
