package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agent-wrapper": main,
		"pretend-agent": pretend,
	})
}

// One story a file, with what the program really prints; go test -update
// writes it anew.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: golden.Updating(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir+"/home")
			env.Setenv("NO_COLOR", "1")
			return nil
		},
	})
}
