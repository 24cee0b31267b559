package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
)

// tree returns the tree of commands for a command line: hook or within alone, which are
// started for each tool use of an agent and do not wait for the others, or all.
func (a *app) tree(args []string) *cobra.Command {
	var alone *cobra.Command
	switch {
	case len(args) >= 2 && args[0] == "hook" && hosts.Named(args[1]) != nil:
		alone = a.hookCommand()
	case len(args) >= 1 && args[0] == "within":
		alone = a.withinCommand()
	default:
		return a.commands()
	}
	root := &cobra.Command{Use: "agent-wrapper", SilenceErrors: true, SilenceUsage: true, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(misused)
	root.AddCommand(alone)
	return root
}

// commands returns the tree of commands.
func (a *app) commands() *cobra.Command {
	root := a.runCommand()
	root.Use = "agent-wrapper [flags] [-- OPTION of the agent CLI...]"
	root.Short = "Check every action of your coding agent against your policy"
	root.Long = `agent-wrapper checks every action your coding agent takes against your policy:
allow, ask or deny. Without a command it does what agent-wrapper run does.`
	root.Example = `  agent-wrapper demo
  agent-wrapper --prompt "fix the failing test" --allow Bash,Read,Edit \
      --ask "Bash(git push:*)" --deny "Bash(rm:*)"
  agent-wrapper explain Bash 'git status; rm -rf build' \
      --allow "Bash(git status)"`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(misused)
	root.AddCommand(a.runCommand(), a.demoCommand(), a.execCommand(), a.hookCommand(), a.withinCommand(), a.decideCommand(), a.serveCommand(), a.approvalsCommand(), a.mcpCommand(), a.checkCommand(), a.explainCommand(), a.classifyCommand(), a.rulesCommand(), a.testCommand(), a.policyCommand(), a.initCommand(), a.trustCommand(), a.untrustCommand(), a.doctorCommand(), a.installCommand(), a.uninstallCommand(), a.statusCommand(), a.auditCommand(), a.hallucinationsCommand(), a.resumeCommand(), a.securityCommand(), a.executeCommand(), a.whitelistCommand(), a.versionCommand())
	root.AddCommand(a.manCommand(root))
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

// narrow makes cobra's template of help fit a terminal of 80 columns, where a
// flag's usage begins in the middle of the line.
var narrow = strings.NewReplacer(".FlagUsages", ".FlagUsagesWrapped 80", "for more information about a command.", "for more.")

// beforeDash has check look at the arguments before --.
func beforeDash(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := cmd.ArgsLenAtDash(); n >= 0 {
			args = args[:n]
		}
		return check(cmd, args)
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
		return among("completion", args[0], shells...)
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
				return usage("%w (see %s --help)", err, root.CommandPath())
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}
