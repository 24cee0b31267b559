package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagGroup is a part of the help of run: a title, and the names of its flags in
// the order in which they are shown.
type flagGroup struct {
	title string
	names []string
}

// runGroups are the flags of run. A test holds that each stands in one group.
var runGroups = []flagGroup{
	{"Task", []string{"prompt", "continue", "session", "cwd", "model"}},
	{"Policy", []string{"allow", "ask", "deny", "mode", "policy", "unlisted", "risk", "sandbox"}},
	{"Questions", []string{"approvals", "no-input", "advice"}},
	{"Limits", []string{"max-turns", "max-budget-usd", "timeout"}},
	{"Result", []string{"output", "json", "json-schema", "fail-on"}},
	{"Audit log", []string{"audit", "audit-sync", "log", "agent", "plan"}},
	{"Conversation", []string{"history", "input-format"}},
	{"Agent", []string{"agent-command", "mcp-config", "add-dir", "append-system-prompt", "bare"}},
	{"More policy", []string{"rules", "isolated", "frontmatter", "session-allow", "session-deny", "workspace", "dangerously-skip-permissions", "accept-managed"}},
	{"Other", []string{"help", "version"}},
}

// listed is the part of cobra's template of help, as narrow makes it, that lists the
// flags of a command.
const listed = "Flags:\n{{.LocalFlags.FlagUsagesWrapped 80 | trimTrailingWhitespaces}}"

// groupFlags has the help of run, and of the root, which is run, show its flags in
// groups. They are written down only when help is asked for.
func groupFlags(root *cobra.Command) {
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		root.SetUsageFunc(nil)
		if runs(cmd) {
			cmd.SetUsageTemplate(strings.Replace(cmd.UsageTemplate(), listed, grouped(cmd.LocalFlags()), 1))
		}
		return cmd.Usage()
	})
}

// grouped returns the usages of flags in groups.
func grouped(flags *pflag.FlagSet) string {
	var parts []string
	for _, group := range runGroups {
		part := pflag.NewFlagSet(group.title, pflag.ContinueOnError)
		part.SortFlags = false
		for _, name := range group.names {
			if f := flags.Lookup(name); f != nil {
				part.AddFlag(f)
			}
		}
		parts = append(parts, group.title+":\n"+strings.TrimRight(part.FlagUsagesWrapped(80), "\n"))
	}
	return strings.Join(parts, "\n\n")
}
