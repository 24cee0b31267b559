package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// commands returns the tree of commands.
func (a *app) commands() *cobra.Command {
	root := a.runCommand()
	root.Use = "agent-wrapper [flags] [-- OPTION of the agent CLI...]"
	root.Short = "Drives an AI agent so that nothing runs without a decision"
	root.Long = `agent-wrapper starts an AI agent and decides every tool use by your rules:
allow it, ask you, or deny it. Without a subcommand it is agent-wrapper run.`
	root.Example = `  agent-wrapper demo
  agent-wrapper --prompt "fix the failing test" --allow Bash,Read,Edit \
      --ask "Bash(git push:*)" --deny "Bash(rm:*)"
  agent-wrapper explain Bash 'git status; rm -rf build' \
      --allow "Bash(git status)"`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) && runs(cmd) {
			if hint := claude.Hint(dashed(unknown)); hint != "" {
				err = fmt.Errorf("%w: %s", err, hint)
			}
		}
		return usage("%v (see %s --help)", err, cmd.CommandPath())
	})
	root.AddCommand(a.runCommand(), a.demoCommand(), a.execCommand(), a.decideCommand(), a.serveCommand(), a.approvalsCommand(), a.mcpCommand(), a.checkCommand(), a.explainCommand(), a.classifyCommand(), a.rulesCommand(), a.testCommand(), a.policyCommand(), a.initCommand(), a.trustCommand(), a.untrustCommand(), a.auditCommand(), a.hallucinationsCommand(), a.resumeCommand(), a.securityCommand(), a.executeCommand(), a.whitelistCommand(), a.versionCommand())
	root.Version = buildVersion()
	root.SetVersionTemplate("agent-wrapper {{.Version}}\n")
	root.SetUsageTemplate(narrow.Replace(root.UsageTemplate()))
	groupFlags(root)
	strictCompletion(root)
	root.SetHelpCommand(helpCommand(root))
	for _, cmd := range root.Commands() {
		cmd.Args = usageArgs(cmd.Args)
	}
	root.Args = usageArgs(beforeDash(unknownCommand))
	return root
}

// runs reports whether a command is run, or the root, which is the same.
func runs(cmd *cobra.Command) bool { return cmd.Flags().Lookup("prompt") != nil }

// dashed returns an unknown flag as it was given.
func dashed(unknown *pflag.NotExistError) string {
	if name := unknown.GetSpecifiedName(); len(name) > 1 {
		return "--" + name
	}
	return "-" + unknown.GetSpecifiedName()
}

// narrow makes cobra's template of help fit a terminal of 80 columns, where a
// flag's usage begins in the middle of the line.
var narrow = strings.NewReplacer(".FlagUsages", ".FlagUsagesWrapped 80", "for more information about a command.", "for more.")

// usageArgs turns the errors of check into usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check == nil {
			return nil
		}
		if err := check(cmd, args); err != nil {
			return usage("%v (see %s --help)", err, cmd.CommandPath())
		}
		return nil
	}
}

// beforeDash has check look at the arguments before --.
func beforeDash(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			args = args[:n]
		}
		return check(cmd, args)
	}
}

// exactly requires n arguments, described by form.
func exactly(n int, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}
		return fmt.Errorf("%s takes %s; arguments given: %d", cmd.CommandPath(), form, len(args))
	}
}

// strictCompletion makes cobra's completion command reject unknown shells.
func strictCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, err := root.Find([]string{"completion"})
	if err != nil {
		return // cobra adds it; a test asks for it
	}
	var shells []string
	for _, cmd := range completion.Commands() {
		shells = append(shells, cmd.Name())
	}
	completion.Args = cobra.ArbitraryArgs
	completion.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return usage("unknown shell %q: it is one of %s", args[0], strings.Join(shells, ", "))
	}
}

// helpCommand is cobra's help command, with an error for an unknown command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [command]", Short: "Help about a command", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = unknownCommand(cmd, rest)
			}
			if err != nil {
				return usage("%v (see %s --help)", err, root.CommandPath())
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// unknownCommand rejects words where a command is expected.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := "the agent's task goes into --prompt"
	if cmd.HasParent() {
		hint = "it is one of " + strings.Join(subcommands(cmd), ", ")
	}
	near := cmd.SuggestionsFor(args[0])
	switch top, _, err := cmd.Root().Find(args[:1]); {
	case err == nil && top != cmd.Root():
		hint += "; or is it " + top.CommandPath() + "?"
	case len(near) > 0:
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q: %s", args[0], hint)
}

func subcommands(cmd *cobra.Command) []string {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(a.out, "agent-wrapper", buildVersion())
			return err
		},
	}
}

// buildVersion returns the version of the module, or the commit that was built.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " (changed)"
		}
	}
	version := info.Main.Version
	if commit != "" && !strings.Contains(version, commit[:min(12, len(commit))]) {
		version += " " + commit
	}
	return strings.TrimSpace(version) + changed + " " + info.GoVersion
}
