package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// misused returns what to tell of a command line whose flags pflag cannot read. It is
// the only place where pflag's errors are put into words.
func misused(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var bare *pflag.ValueRequiredError
	var bad *pflag.InvalidValueError
	var form *pflag.InvalidSyntaxError
	words := cmd.Flags().Args()
	switch {
	case errors.As(err, &unknown) && cmd.HasParent() && cmd.HasAvailableSubCommands() && len(words) > 0 && !strings.Contains(cmd.Use, " -- "):
		return usage("%w", unknownCommand(cmd, words)) // of which the flag may be one
	case errors.As(err, &unknown):
		return usage("there is no flag %s: %s", given(unknown), instead(cmd, unknown))
	case errors.As(err, &bare):
		return usage("--%s needs a value: write --%s %s", bare.GetFlag().Name, bare.GetFlag().Name, valueOf(bare.GetFlag()))
	case errors.As(err, &bad):
		return usage("--%s %s: %s", bad.GetFlag().Name, quoted(bad.GetValue()), wanted(bad))
	case errors.As(err, &form):
		return usage("%s is not a flag: write --NAME or --NAME=VALUE (see %s --help)", form.GetSpecifiedFlag(), cmd.CommandPath())
	}
	return usage("%w (see %s --help)", err, cmd.CommandPath())
}

// given returns an unknown flag as it was written.
func given(unknown *pflag.NotExistError) string {
	if shorts := unknown.GetSpecifiedShortnames(); shorts != "" {
		return "-" + shorts
	}
	return "--" + unknown.GetSpecifiedName()
}

// instead says what to write in place of a flag that a command does not have.
func instead(cmd *cobra.Command, unknown *pflag.NotExistError) string {
	name := given(unknown)
	word := strings.TrimLeft(name, "-")
	if runs(cmd) {
		if hint := claude.Hint(name); hint != "" {
			return hint
		}
	}
	if cmd.Flags().Lookup(word) != nil { // -prompt
		return "did you mean --" + word + "?"
	}
	if near := spelling.Nearest(word, flagNames(cmd)); near != "" {
		return "did you mean --" + near + "?"
	}
	if strings.Contains(cmd.Use, " -- ") && cmd.Flags().Lookup("prompt") == nil {
		return "if it belongs to the command to run, write -- before that: " + cmd.CommandPath() + " -- COMMAND"
	}
	if others := commandsWith(cmd.Root(), word); len(others) > 0 && len(others) <= 8 {
		return cmd.CommandPath() + " does not take it; use it with " + strings.Join(others, ", ")
	}
	if strings.Contains(cmd.Use, "COMMAND-LINE") {
		return "if it belongs to a command line, quote that as one word: " + cmd.CommandPath() + " 'git commit -m x'"
	}
	return "see " + cmd.CommandPath() + " --help"
}

// flagNames yields the names of a command's flags.
func flagNames(cmd *cobra.Command) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		more := true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { more = more && (f.Hidden || yield(f.Name)) })
	}
}

// commandsWith returns the commands below the root that have a flag.
func commandsWith(root *cobra.Command, flag string) []string {
	var names []string
	for _, cmd := range root.Commands() {
		if f := cmd.Flags().Lookup(flag); f != nil && !f.Hidden {
			names = append(names, commandName(cmd))
		}
		names = append(names, commandsWith(cmd, flag)...)
	}
	return names
}

// valueOf returns the word that stands for the value of a flag in its help.
func valueOf(f *pflag.Flag) string {
	name, _ := pflag.UnquoteUsage(f)
	if strings.Contains(name, "|") {
		return name
	}
	return strings.ToUpper(name)
}

// wanted says what the value of a flag has to be.
func wanted(bad *pflag.InvalidValueError) string {
	var number *strconv.NumError
	switch kind := bad.GetFlag().Value.Type(); {
	case kind == "bool":
		return fmt.Sprintf("it is a switch: write --%[1]s alone, or --%[1]s=false", bad.GetFlag().Name)
	case kind == "duration":
		return timeWanted(bad.GetValue())
	case errors.As(bad, &number) && errors.Is(number, strconv.ErrRange):
		return "the number is too large: use a smaller one"
	case errors.As(bad, &number):
		return "write a whole number"
	}
	return bad.Unwrap().Error()
}

// timeWanted says how a time is written, by one that is not.
func timeWanted(text string) string {
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return fmt.Sprintf("it needs a unit: write %[1]ss, %[1]sm or %[1]sh", strings.TrimPrefix(text, "-"))
	}
	return "write a time above 0 with its unit: 90s, 10m or 1h30m"
}

// among rejects the value of a flag that is none of values, of which there are two at
// least.
func among(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	last := len(values) - 1
	text := strings.Join(values[:last], ", ") + " or " + values[last]
	if near := spelling.Nearest(value, slices.Values(values)); near != "" {
		text += "; did you mean " + near + "?"
	}
	return usage("%s %s: it must be %s", flag, quoted(value), text)
}

// ifGiven is among for a flag that need not be given.
func ifGiven(flag, value string, values ...string) error {
	if value == "" {
		return nil
	}
	return among(flag, value, values...)
}

// usageArgs turns the errors of check into usage errors.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := choices(cmd, args); err != nil || check == nil {
			return err
		}
		err := check(cmd, args)
		if err == nil {
			return nil
		}
		if flag, word := behindBlank(cmd, args, switchValues); flag != "" {
			return misplaced(flag, word)
		}
		return usage("%w", err)
	}
}

// choices rejects what pflag takes in place of one of the values that a flag has: an empty
// value, and the value of a flag that may be without one, if that stands behind a blank.
func choices(cmd *cobra.Command, args []string) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if values := valuesOf(f); err == nil && len(values) > 1 && f.Value.String() == "" {
			err = among("--"+f.Name, "", values...)
		}
	})
	if flag, word := behindBlank(cmd, args, valuesOf); err == nil && flag != "" {
		return misplaced(flag, word)
	}
	return err
}

// misplaced returns the error about a value that stands behind a blank.
func misplaced(flag, word string) error {
	return usage("--%[1]s takes its value behind an equals sign: write --%[1]s=%[2]s", flag, word)
}

// behindBlank returns the first argument before -- that is a value of a flag which may be
// without one, and was, and the flag; "" if there is none.
func behindBlank(cmd *cobra.Command, args []string, values func(*pflag.Flag) []string) (flag, word string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		args = args[:n]
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if flag != "" || f.NoOptDefVal == "" || f.Value.String() != f.NoOptDefVal {
			return
		}
		of := values(f)
		for _, arg := range args {
			if arg = strings.TrimPrefix(arg, "="); slices.Contains(of, arg) {
				flag, word = f.Name, arg
				return
			}
		}
	})
	return flag, word
}

// valuesOf returns the values of a flag that has a few.
func valuesOf(f *pflag.Flag) []string { return f.Annotations[allValues] }

// switchValues returns the values of a switch, which may be the argument of a command too.
func switchValues(f *pflag.Flag) []string {
	if f.Value.Type() != "bool" {
		return nil
	}
	return []string{"true", "false"}
}

// exactly requires n arguments, described by form.
func exactly(n int, form string) cobra.PositionalArgs { return between(n, n, form) }

// between requires from least to most arguments, described by form.
func between(least, most int, form string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) > most:
			return fmt.Errorf("%s is one argument too many: %s takes %s; quote an argument that has blanks in it", quoted(args[most]), cmd.CommandPath(), form)
		case len(args) < least:
			return fmt.Errorf("%s takes %s: write %s", cmd.CommandPath(), form, synopsis(cmd))
		}
		return nil
	}
}

// none requires that there are no arguments. hint says where what is written there
// belongs, if it is not "".
func none(hint string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		about := ""
		if hint != "" {
			about = ", and " + hint
		}
		return fmt.Errorf("%s takes no arguments: leave out %s%s", cmd.CommandPath(), quoted(args[0]), about)
	}
}

// synopsis returns a command with its arguments, as its help shows them first.
func synopsis(cmd *cobra.Command) string {
	use, _, _ := strings.Cut(cmd.Use, " | ")
	if cmd.HasParent() {
		use = cmd.Parent().CommandPath() + " " + use
	}
	return use
}

// unknownCommand rejects words where a command is expected.
func unknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	word := args[0]
	if flag := spaced(cmd); flag != "" {
		return fmt.Errorf("write --%s=%s, without blanks around =", flag, word)
	}
	if !cmd.HasParent() && (word == agentName || strings.ContainsAny(word, " \t\n")) {
		return fmt.Errorf("%s is not a command: give the agent's task with --prompt", quoted(word))
	}
	cmd.SuggestionsMinimumDistance = 2
	near := cmd.SuggestionsFor(word)
	if len(near) == 0 {
		near = likely(cmd, word)
	}
	hint := "the commands are " + strings.Join(subcommands(cmd), ", ")
	switch {
	case len(near) > 0:
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	case !cmd.HasParent():
		hint = "give the agent's task with --prompt"
	}
	return fmt.Errorf("there is no command %s: %s", quoted(word), hint)
}

// spaced returns the flag that was given with blanks around =, "" if none was.
func spaced(cmd *cobra.Command) (name string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == "=" {
			name = f.Name
		}
	})
	return name
}

// agentName is what people write for the agent itself.
const agentName = "claude"

// likely returns what a word is when it is not a command below cmd: a command in
// another place, or a flag.
func likely(cmd *cobra.Command, word string) []string {
	var found []string
	if cmd.Flags().Lookup(word) != nil {
		found = append(found, "--"+word)
	}
	var each func(c *cobra.Command)
	each = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() == word && sub.IsAvailableCommand() {
				found = append(found, sub.CommandPath())
			}
			each(sub)
		}
	}
	each(cmd.Root())
	return found
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
