package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PausedSession is a session that a limit has paused and that goes on in other processes:
// that of a host of hooks. It is paused until a person resumes it.
type PausedSession struct {
	Session   string // as in "claude:UUID"
	Workspace string
	Why       string
}

// PausedSessions returns the sessions that are paused, ordered by name. The error is
// about those that cannot be read; the others are returned all the same.
func (d Dirs) PausedSessions() ([]PausedSession, error) {
	state, err := d.state()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(state, sessionsName, "*", answersName))
	if err != nil {
		return nil, err
	}
	var all []PausedSession
	var errs []error
	for _, path := range paths {
		switch p, err := pausedIn(path); {
		case errors.Is(err, os.ErrNotExist): // it ended in between
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", path, err))
		case p.Why != "":
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b PausedSession) int { return strings.Compare(a.Session, b.Session) })
	return all, errors.Join(errs...)
}

// pausedIn returns the session of a file; without a reason it is not paused. What is kept
// there by another version is read as well.
func pausedIn(path string) (p PausedSession, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	var was kept
	if err := json.Unmarshal(data, &was); err != nil {
		return p, err
	}
	p = PausedSession{Session: was.Session, Workspace: was.Workspace}
	if was.Counts != nil {
		p.Why = was.Counts.Paused
	}
	return p, nil
}

// EndPause ends the pause of a session, begins its counts anew, and records that a person
// did so. It waits until no other process decides in the session. It reports whether the
// session was still paused.
func (e *Engine) EndPause(ctx context.Context, session, person string) (was bool, err error) {
	if err := e.Enter(ctx, session); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, e.Exit()) }()
	why := e.Session.Paused()
	if why == "" {
		return false, nil
	}
	if err := e.Note(session, "resumed", "by "+person+", after: "+why); err != nil {
		return true, err
	}
	e.Session.Resume()
	return true, nil
}
