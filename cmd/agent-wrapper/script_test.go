package main

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

func TestMain(m *testing.M) {
	managedDir = os.Getenv("TEST_MANAGED_DIR") // none, unless a script creates one
	testscript.Main(atNoHome{m}, map[string]func(){
		"agent-wrapper":  main,
		"full-wrapper":   fullMain,
		"pretend-agent":  pretend,
		"pretend-shell":  pretendShell,
		"pretend-editor": pretendEditor,
	})
}

// atNoHome runs tests without the home of the user, whose policy and list of
// trusted files could change the results.
type atNoHome struct{ m *testing.M }

func (h atNoHome) Run() int {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(home)
	for name, value := range map[string]string{"HOME": home, "XDG_CONFIG_HOME": "", "XDG_STATE_HOME": "", "CLAUDE_CONFIG_DIR": ""} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	heedSignals()
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("8") // most tests wait for programs that they have started
	}
	return h.m.Run()
}

// heedSignals resets the signals that end the program, in case the tests were
// started with some of them ignored, as by nohup: programs that they start then
// have the defaults.
func heedSignals() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// One user story a file, with the real output of the program; go test -update
// rewrites it.
func TestScripts(t *testing.T) {
	slow.Test(t)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Cmds:          map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("NO_COLOR", "1")
			env.Setenv("COLUMNS", "1000") // lines are matched as a whole
			return nil
		},
	})
}

// exits runs a program that must end with an exit code: exits 2 PROGRAM ARGS...
func exits(ts *testscript.TestScript, not bool, args []string) {
	if not || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
