package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
)

// record is an open audit log.
type record struct {
	*audit.Log
	files []string // the files that it is stored in, absolute
}

// StateError is the error of a state directory that cannot be written.
// Options.Record alone does not help: the heads of all records are in the state
// directory.
type StateError struct{ Err error }

func (e *StateError) Error() string {
	return fmt.Sprintf("the audit log cannot be kept: %v: set XDG_STATE_HOME to a directory where state can be kept", e.Err)
}

// Unwrap returns the cause.
func (e *StateError) Unwrap() error { return e.Err }

// openRecord opens the record of the options. The error is an *audit.Damage if
// the record was modified by others.
func (o *Options) openRecord() (*record, error) {
	dirs := o.dirs()
	path, head, err := o.recordFiles(dirs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(head), 0o700); err != nil {
		return nil, &StateError{err}
	}
	log, err := audit.Open(path, audit.Options{Head: head, Sync: o.Sync})
	switch damage := new(audit.Damage); {
	case err == nil:
	case errors.As(err, &damage):
		return nil, err
	case dirs.about(err):
		return nil, &StateError{err}
	default:
		return nil, &OptionError{"Record", err}
	}
	r := &record{Log: log}
	for _, name := range []string{path, head, head + ".lock", head + ".new"} {
		r.files = append(r.files, absolute(name))
	}
	return r, nil
}

// recordFiles returns the paths of the record and its head.
func (o *Options) recordFiles(dirs Dirs) (path, head string, err error) {
	path = o.Record
	if path == "" {
		if path, err = dirs.Record(); err != nil {
			return "", "", fmt.Errorf("engine: %w: set Options.Record or $XDG_STATE_HOME", err)
		}
		if err := os.MkdirAll(dirs.State, 0o700); err != nil {
			return "", "", &StateError{err}
		}
	}
	head = o.Head
	if head == "" {
		head, err = dirs.Head(path)
	}
	return path, head, err
}

// Record returns the path of the user's default record. The error is ErrNoState.
func (d Dirs) Record() (string, error) {
	dir, err := d.state()
	return filepath.Join(dir, "audit.jsonl"), err
}

// Head returns the path of the head of a record, for audit.Verify: in the state
// directory, or beside the record if State is empty.
func (d Dirs) Head(record string) (string, error) {
	if d.State == "" {
		return record + ".head", nil
	}
	return audit.HeadFile(filepath.Join(d.State, "audit-heads"), record)
}

// about reports whether an error is about a file in the state directory.
func (d Dirs) about(err error) bool {
	var path *fs.PathError
	return d.State != "" && errors.As(err, &path) && strings.HasPrefix(path.Path, d.State+string(filepath.Separator))
}
