package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/program"
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

// The catalogue knows every flag of exec and its subcommands, and whether the
// flag takes a value. A flag that is misread could hide the command.
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
			scan := shell.ScanWords(program.Lookup("agent-wrapper"), words)
			last := scan.Args[len(scan.Args)-1]
			if takes := f.NoOptDefVal == ""; last.Kind == shell.ArgUnlisted || takes != (last.Kind == shell.ArgOption && last.ValueAt == len(words)-1) {
				t.Errorf("exec %s --%s: %+v", path, f.Name, last)
			}
		})
	}
}

// silent is an approver that never answers.
type silent struct{}

func (silent) Approve(ctx context.Context, _ permission.Request) (permission.Answer, error) {
	<-ctx.Done()
	return permission.Answer{}, ctx.Err()
}

// By default a command may take 30 s, and a question waits for 60 s (S1-x4)
// before it is denied.
func TestExecWaits(t *testing.T) {
	t.Parallel()
	f := &execFlags{}
	f.add(&cobra.Command{})
	j := &job{app: &app{}, flags: f}
	if got := j.command("ls", nil).Limit; got != 30*time.Second {
		t.Errorf("the limit of a command is %v, want 30s", got)
	}
	if f.ttl != time.Hour {
		t.Errorf("a rule of a session is kept for %v, want 1h", f.ttl)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := (&patient{person: silent{}, job: j}).Approve(t.Context(), permission.Request{})
		if waited := time.Since(start); waited != time.Minute {
			t.Errorf("the question waited for %v, want 1m", waited)
		}
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "not answered within 1m0s" {
			t.Errorf("what is not answered: %v", err)
		}
	})
	if got := (&app{}).executeCommand().Flags().Lookup("timeout").DefValue; got != "30s" {
		t.Errorf("the limit of a gate is %s, want 30s", got)
	}
}
