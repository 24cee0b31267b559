package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
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

// The catalogue knows every flag of exec, approvals, audit and the subcommands of serve, and
// whether the flag takes a value. A flag that is misread could hide the command.
func TestCatalogueOfFlags(t *testing.T) {
	t.Parallel()
	a := &app{}
	catalogued(t, a.execCommand())
	catalogued(t, a.approvalsCommand())
	catalogued(t, a.auditCommand())
	for _, sub := range a.serveCommand().Commands() {
		if sub.Name() != "token" { // held whatever follows
			catalogued(t, sub, "serve")
		}
	}
}

// catalogued checks the flags of a command below others, and those of its subcommands.
func catalogued(t *testing.T, cmd *cobra.Command, above ...string) {
	path := append(slices.Clip(above), cmd.Name())
	words := []shell.Word{{Text: "agent-wrapper"}}
	for _, name := range path {
		words = append(words, shell.Word{Text: name})
	}
	check := func(f *pflag.Flag) {
		words := append(slices.Clip(words), shell.Word{Text: "--" + f.Name}, shell.Word{Text: "value"})
		scan := shell.ScanWords(program.Lookup("agent-wrapper"), words)
		at := slices.IndexFunc(scan.Args, func(arg shell.Arg) bool { return arg.Word == len(words)-2 })
		if at < 0 || scan.Args[at].Kind != shell.ArgOption || (f.NoOptDefVal == "") != (scan.Args[at].ValueAt == len(words)-1) {
			t.Errorf("%s --%s: %+v", strings.Join(path, " "), f.Name, scan.Args)
		}
	}
	cmd.LocalFlags().VisitAll(check)
	cmd.InheritedFlags().VisitAll(check)
	for _, sub := range cmd.Commands() {
		catalogued(t, sub, path...)
	}
}

// silent is an approver that never answers.
type silent struct{}

func (silent) Approve(ctx context.Context, _ permission.Request) (permission.Answer, error) {
	<-ctx.Done()
	return permission.Answer{}, ctx.Err()
}

// TestExecDirectory: a line does not run where a link leads that has taken the place of
// the directory since the line was decided.
func TestExecDirectory(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	judged, other := filepath.Join(root, "judged"), filepath.Join(root, "other")
	if err := errors.Join(os.Mkdir(other, 0o700), os.Symlink(other, judged)); err != nil {
		t.Fatal(err)
	}
	f := &execFlags{}
	f.add(&cobra.Command{})
	j := &job{app: &app{}, flags: f}
	for _, dir := range []string{judged, other} {
		j.use.Dir = dir
		_, err := j.start(t.Context(), "touch there", []string{"PATH=" + os.Getenv("PATH")})
		left, _ := os.ReadDir(other)
		if refused := errors.As(err, new(*process.NotStarted)); refused != (dir == judged) || refused == (len(left) > 0) {
			t.Errorf("in %s: %v, and there is %v", dir, err, left)
		}
	}
}

// By default a command may take 30 s, and a question waits for 60 s (S1-x4)
// before it is denied.
func TestExecWaits(t *testing.T) {
	t.Parallel()
	f := &execFlags{}
	f.add(&cobra.Command{})
	j := &job{app: &app{}, flags: f}
	if got := j.command("ls", "", nil).Limit; got != 30*time.Second {
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

// TestCatalogueOfWrites checks that the catalogue knows the flags of all commands by which a
// file is written: an agent must not change a policy by a flag that nobody reads.
func TestCatalogueOfWrites(t *testing.T) {
	t.Parallel()
	a := &app{}
	var each func(cmd *cobra.Command, above ...string)
	each = func(cmd *cobra.Command, above ...string) {
		words := []shell.Word{{Text: "agent-wrapper"}}
		for _, name := range above {
			words = append(words, shell.Word{Text: name})
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, usage := pflag.UnquoteUsage(f); name != "file" && name != "directory" || !strings.Contains(usage, "write") {
				return
			}
			scan := shell.ScanWords(program.Lookup("agent-wrapper"), append(slices.Clip(words), shell.Word{Text: "--" + f.Name}, shell.Word{Text: "value"}))
			at := slices.IndexFunc(scan.Args, func(arg shell.Arg) bool { return arg.Word == len(words) })
			if at < 0 || scan.Args[at].Kind != shell.ArgOption {
				t.Errorf("%s --%s", cmd.CommandPath(), f.Name)
			}
		})
		for _, sub := range cmd.Commands() {
			each(sub, append(slices.Clip(above), sub.Name())...)
		}
	}
	each(a.tree(nil))
}
