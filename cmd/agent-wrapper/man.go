package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
)

// manCommand writes the manual pages, for whoever packs the program.
func (a *app) manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   exactly(1, "a directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return usage("%w", err)
			}
			date, err := manDate()
			if err != nil {
				return err
			}
			for _, cmd := range documented(root) {
				name := filepath.Join(args[0], manName(cmd)+".1")
				if err := atomicfile.Write(name, []byte(manPage(cmd, date)), 0o644); err != nil {
					return usage("%w", err)
				}
			}
			return nil
		},
	}
}

// manDate returns the date of the pages: that of SOURCE_DATE_EPOCH, by which a build can
// be repeated, or none.
func manDate() (string, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return "", nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return "", usage("SOURCE_DATE_EPOCH=%s: write a whole number of seconds", text)
	}
	return time.Unix(n, 0).UTC().Format(time.DateOnly), nil
}

// documented returns a command and all below it that help shows.
func documented(cmd *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{cmd}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			all = append(all, documented(sub)...)
		}
	}
	return all
}

// manName returns the name of a command's page: agent-wrapper-audit-verify.
func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage returns the page of a command, in the macros of man(7). The texts are those of
// help, as they are: they are no Markdown, which would take the * of rules for emphasis.
func manPage(cmd *cobra.Command, date string) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	// Without the name of a manual, for which there is no room beside a long title; and names
	// of commands are neither parted nor spaced out.
	fmt.Fprintf(&b, ".TH %s 1 \"%s\" \"%s\" \"\"\n.nh\n.ad l\n", roff(strings.ToUpper(manName(cmd))), date, roff("agent-wrapper "+thisBuild().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", roff(manName(cmd)), roff(cmd.Short))
	for _, use := range synopses(cmd) {
		fmt.Fprintf(&b, "%s\n", roff(use))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	manText(&b, strings.TrimSpace(cmd.Long+"\n"))
	if cmd.Long == "" {
		fmt.Fprintf(&b, "%s.\n", roff(cmd.Short))
	}
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF THE PARENT", cmd.InheritedFlags())
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	manSeeAlso(&b, cmd)
	return b.String()
}

// synopses returns the ways to write a command.
func synopses(cmd *cobra.Command) []string {
	parent := ""
	if cmd.HasParent() {
		parent = cmd.Parent().CommandPath() + " "
	}
	var all []string
	for i, use := range strings.Split(cmd.Use, " | ") {
		if i > 0 && !cmd.HasParent() {
			parent = ""
		}
		all = append(all, parent+use)
	}
	if cmd.HasAvailableSubCommands() {
		all = append(all, cmd.CommandPath()+" COMMAND")
	}
	return all
}

// manText writes paragraphs; lines that are indented stay as they are.
func manText(b *strings.Builder, text string) {
	for i, paragraph := range strings.Split(text, "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		asIs := slices.ContainsFunc(strings.Split(paragraph, "\n"), func(line string) bool { return strings.HasPrefix(line, " ") })
		if asIs {
			fmt.Fprintf(b, ".nf\n%s\n.fi\n", roff(paragraph))
		} else if paragraph != "" {
			fmt.Fprintf(b, "%s\n", roff(paragraph))
		}
	}
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, about := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
		if value != "" {
			fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
		}
		fmt.Fprintf(b, "\n%s", roff(about))
		if d := f.DefValue; d != "" && d != "false" && d != "0" && d != "0s" && d != "[]" {
			fmt.Fprintf(b, " (default %s)", roff(d))
		}
		b.WriteString("\n")
	})
}

func manSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var names []string
	if cmd.HasParent() {
		names = append(names, manName(cmd.Parent()))
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			names = append(names, manName(sub))
		}
	}
	if len(names) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, name := range names {
		end := ","
		if i == len(names)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(name), end)
	}
}

// roff returns a text in ASCII in which nothing is an instruction to roff.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\"", `\(dq`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(text)
	var ascii strings.Builder
	for _, r := range text {
		if r < utf8.RuneSelf {
			ascii.WriteRune(r)
		} else {
			fmt.Fprintf(&ascii, `\[u%04X]`, r)
		}
	}
	lines := strings.Split(ascii.String(), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
