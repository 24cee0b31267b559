// Command agent-wrapper-hook is agent-wrapper hook for the moments that matter: a host
// starts a hook for every tool use, and three quarters of the time that agent-wrapper takes
// for it are its start, with databases, a server and a command line that a hook does not
// need. This program has none of them. It decides by the policy that was compiled when the
// session began. Whatever else there is to do, beginning a session, asking a person
// elsewhere or explaining a wrong command line, it leaves to agent-wrapper, which stands
// beside it and takes the same arguments.
//
// agent-wrapper install writes it into the configuration of a host if it is there.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/run/process"
)

func main() {
	o, err := options(os.Args[1:])
	if err != nil {
		err = whole(nil)
		fmt.Fprintf(os.Stderr, "agent-wrapper-hook: nothing was run: %v\n", err)
		os.Exit(2) // which denies
	}
	os.Exit(hook.Main(context.Background(), *o, os.Stdin, os.Stdout, os.Stderr))
}

// errWhole is the error of a command line for agent-wrapper.
var errWhole = errors.New("it is a command line for agent-wrapper")

// options returns what a command line says.
func options(args []string) (*hook.Options, error) {
	if len(args) < 2 || args[0] != "hook" || hosts.Named(args[1]) == nil {
		return nil, errWhole
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	record, sync := flags.String("audit", "", ""), flags.String("audit-sync", audit.SyncNames()[0], "")
	flags.String("approvals", "", "") // for agent-wrapper, as what a plugin changes
	plugin := flags.Bool(entry.InPlugin, false, "")
	if err := flags.Parse(args[2:]); err != nil || flags.NArg() > 0 {
		return nil, errWhole
	}
	dirs := engine.UserDirs()
	o := &hook.Options{Host: hosts.Named(args[1]), Env: os.Getenv, Engine: engine.Options{Dirs: &dirs, Record: *record}, Whole: whole, Plugin: *plugin}
	var err error
	if o.Engine.Within, err = beside(); err != nil {
		return nil, err
	}
	if o.Engine.Sync, err = audit.ParseSync(*sync); err != nil {
		return nil, err
	}
	o.Dir, err = os.Getwd()
	return o, err
}

// whole runs agent-wrapper in place of this program, with the payload that was read, nil if
// none was. It returns only if that is not possible.
func whole(payload []byte) error {
	path, err := beside()
	if err != nil {
		return err
	}
	err = process.Replace(path, append([]string{path}, os.Args[1:]...), payload, engine.UserDirs().State)
	return fmt.Errorf("agent-wrapper must be beside agent-wrapper-hook: %w", err)
}

// beside returns the path of agent-wrapper.
func beside() (string, error) {
	self, err := os.Executable()
	return filepath.Join(filepath.Dir(self), "agent-wrapper"), err
}
