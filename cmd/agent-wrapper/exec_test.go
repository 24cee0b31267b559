package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/shell"
)

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"ls -l | wc", "ls -l | wc"}, {"", ""},
		{"ls\n-l", "ls -l"}, {"echo\na b", "echo 'a b'"}, {"echo\n$x\n*\n~\n", `echo '$x' '*' '~' ''`}, {"echo\nit's", `echo 'it'\''s'`},
		{"X=1\nls", "'X=1' ls"}, {"[\na\n]", "'[' a ']'"}, {"a;b\nc", "'a;b' c"}, {"{\nls\n}", "'{' ls '}'"}, {"!\nls", "'!' ls"}, {"a\n\tb", "a '\tb'"}, {"a\n{b,c}", "a '{b,c}'"},
	} {
		if got := commandLine(strings.Split(tt.args, "\n")); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.args, got, tt.want)
		}
	}
}

// The catalogue knows every flag of exec and its subcommands, and whether it
// takes a value: a flag that it takes for another could hide the command.
func TestCatalogueOfExec(t *testing.T) {
	t.Parallel()
	a := &app{}
	for path, flags := range map[string]*pflag.FlagSet{
		"": a.execCommand().Flags(), "history": a.execHistoryCommand().Flags(),
		"session list": a.execSessionListCommand().Flags(), "session clear": a.execSessionClearCommand().Flags(),
	} {
		flags.VisitAll(func(f *pflag.Flag) {
			words := []shell.Word{{Text: "agent-wrapper"}, {Text: "exec"}}
			for _, name := range strings.Fields(path) {
				words = append(words, shell.Word{Text: name})
			}
			words = append(words, shell.Word{Text: "--" + f.Name}, shell.Word{Text: "value"})
			scan := (*shell.Catalog)(nil).Lookup("agent-wrapper").Scan(words)
			last := scan.Args[len(scan.Args)-1]
			if takes := f.NoOptDefVal == ""; last.Kind == shell.ArgUnlisted || takes != (last.Kind == shell.ArgOption && last.ValueAt == len(words)-1) {
				t.Errorf("exec %s --%s: %+v", path, f.Name, last)
			}
		})
	}
}
