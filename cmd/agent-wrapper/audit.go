package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude"
)

// auditFlags say where decisions are recorded, and how surely.
type auditFlags struct{ file, sync string }

func (f *auditFlags) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.file, "audit", "", "`file` that gets a line for every decision (default: agent-wrapper/audit.jsonl in the state directory)")
	flags.StringVar(&f.sync, "audit-sync", audit.SyncNames()[0], "when a decision is answered its record is on the disk, `group|each|none`: "+
		"those that come together share the wait, each has its own, or it is left to the system")
}

// record is an open record and the files that it is kept in.
type record struct {
	*audit.Log
	files []string
}

// open opens the record, by default the user's own.
func (f *auditFlags) open() (*record, error) {
	sync, err := audit.ParseSync(f.sync)
	if err != nil {
		return nil, usage("--audit-sync: %w", err)
	}
	file, head, err := f.place()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(head), 0o700); err != nil {
		return nil, stateless(err)
	}
	return openRecord(file, audit.Options{Head: head, Sync: sync})
}

// stateless is the error for a state directory that cannot be written. Another
// place for the record alone is no help.
func stateless(err error) error {
	return fmt.Errorf("the record of decisions cannot be kept: %w: say with XDG_STATE_HOME in which directory state is kept; the head of each record is there, also with --audit", err)
}

// ofState reports whether an error is about a file in the state directory.
func ofState(err error) bool {
	var about *fs.PathError
	dir, none := stateDir()
	return none == nil && errors.As(err, &about) && strings.HasPrefix(about.Path, dir+string(filepath.Separator))
}

// openRecord opens the record at path.
func openRecord(path string, o audit.Options) (*record, error) {
	log, err := audit.Open(path, o)
	var damage *audit.Damage
	if errors.As(err, &damage) {
		return nil, &coded{codeDenied, err}
	}
	if ofState(err) {
		return nil, stateless(err)
	}
	if err != nil {
		return nil, unwritable("--audit", err)
	}
	head := o.Head
	if head == "" {
		head = path + ".head"
	}
	var files []string
	for _, name := range []string{path, head, head + ".lock", head + ".new"} {
		files = append(files, absolute(name))
	}
	return &record{log, files}, nil
}

// outcome records what became of a tool use that was allowed.
func (r *record) outcome(o claude.ToolOutcome) error {
	return r.Outcome(audit.Outcome{
		Session: o.Use.Session, Agent: o.Use.Agent, Use: o.Use.ID, Tool: o.Use.Tool, Failed: o.Failed, Exit: o.Exit, Breach: o.Breach,
	})
}

// place is where the record is, and its head. The head of every record is in
// the state directory; if there is none it stands beside the record.
func (f *auditFlags) place() (file, head string, err error) {
	dir, noState := stateDir()
	if f.file == "" {
		if noState != nil {
			return "", "", noState
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", "", stateless(err)
		}
		f.file = filepath.Join(dir, "audit.jsonl")
	}
	if noState != nil {
		return f.file, f.file + ".head", nil
	}
	head, err = audit.HeadFile(filepath.Join(dir, "audit-heads"), f.file)
	return f.file, head, err
}

// stateDir is where this user's records are kept.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "agent-wrapper"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", usage("there is no home directory to keep the record of decisions in: say where with --audit FILE")
	}
	return filepath.Join(home, ".local", "state", "agent-wrapper"), nil
}
