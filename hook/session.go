package hook

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/policy"
)

// sessionsName is the directory of sessions of hosts in the state directory, fixedName
// the file in that of a session.
const (
	sessionsName = "hooks"
	fixedName    = "session.json"
)

// The limits on what is kept of sessions.
const (
	maxSessions   = 1000
	maxSessionAge = 90 * 24 * time.Hour // since it began
	maxFixed      = 64 << 20            // size of a file that is read, in bytes
)

// fixed is what holds for a session from its first event to its end: an agent that moves
// to another directory, or changes a policy, changes nothing in it.
type fixed struct {
	V         int             `json:"v"`
	Host      string          `json:"host"`
	Session   string          `json:"session"`
	Workspace string          `json:"workspace"`
	Policies  []policy.Frozen `json:"policies"`
	Began     time.Time       `json:"began"`
	// Digest is that of the file with an empty Digest: one that was not written to its
	// end, or changed, is no session.
	Digest string `json:"digest"`
}

// sum returns the digest.
func (f *fixed) sum() (string, error) {
	bare := *f
	bare.Digest = ""
	text, err := json.Marshal(bare)
	return fmt.Sprintf("sha256:%x", sha256.Sum256(text)), err
}

// sessionID returns the name of the session of a host for the engine: another host may
// use the same id.
func sessionID(host, session string) string { return host + ":" + session }

// place returns the directory of a session.
func place(state, host, session string) string {
	return filepath.Join(state, sessionsName, fmt.Sprintf("%x", sha256.Sum256([]byte(sessionID(host, session)))))
}

// fix returns what holds for the session of an event. If it is the first one, that is
// found out, by the directory of the project, and written down; of several processes
// that see a session first, one does so.
func (r *run) fix(e *Event) (*fixed, error) {
	if r.state == "" {
		return nil, engine.ErrNoState
	}
	dir := place(r.state, r.host.Name, e.Use.Session)
	f, err := readFixed(dir, r.host.Name, e.Use.Session)
	if !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if f, err = readFixed(dir, r.host.Name, e.Use.Session); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	sweep(filepath.Dir(dir), dir)
	return r.begin(dir, e)
}

// begin fixes a session.
func (r *run) begin(dir string, e *Event) (*fixed, error) {
	f := &fixed{V: 1, Host: r.host.Name, Session: e.Use.Session, Workspace: r.project(e), Began: r.now().UTC()}
	o := r.options
	o.Dir = f.Workspace
	at, err := o.Place()
	if err != nil {
		return nil, err
	}
	f.Workspace = at.Workspace
	if f.Policies, err = o.Freeze(); err != nil {
		return nil, err
	}
	if f.Digest, err = f.sum(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	return f, atomicfile.Write(filepath.Join(dir, fixedName), text, 0o600)
}

// project returns the directory of the project of an event: the one that the host names,
// or else that in which it has started the hook. That of the tool use may be anywhere.
func (r *run) project(e *Event) string {
	if filepath.IsAbs(e.Project) {
		return e.Project
	}
	for _, name := range r.host.Project {
		if dir := r.env(name); filepath.IsAbs(dir) {
			return dir
		}
	}
	return r.dir
}

// readFixed reads what holds for a session. The error is fs.ErrNotExist for one that has
// not begun.
func readFixed(dir, host, session string) (*fixed, error) {
	path := filepath.Join(dir, fixedName)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f := new(fixed)
	if err := strictjson.Decode(data, f, strictjson.MaxSize(maxFixed)); err != nil {
		return nil, fmt.Errorf("%s:%w: remove it, and start the session anew", path, err)
	}
	if digest, err := f.sum(); err != nil || digest != f.Digest || f.V != 1 || f.Host != host || f.Session != session || f.Policies == nil {
		return nil, fmt.Errorf("%s is not as it was written: remove it, and start the session anew", path)
	}
	return f, nil
}

// changed returns the files of policies that have another text than when the session
// began.
func (f *fixed) changed() []string {
	var files []string
	for i := range f.Policies {
		if f.Policies[i].Changed() {
			files = append(files, f.Policies[i].Path)
		}
	}
	return files
}

// sweep removes sessions that began long ago, and of too many the oldest.
func sweep(parent, mine string) {
	entries, err := os.ReadDir(parent)
	if err != nil || len(entries) == 0 {
		return
	}
	type aged struct {
		dir string
		at  time.Time
	}
	var all []aged
	for _, entry := range entries {
		info, err := entry.Info()
		if dir := filepath.Join(parent, entry.Name()); err == nil && info.IsDir() && dir != mine {
			all = append(all, aged{dir, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.at.Compare(a.at) })
	for i, old := range all {
		if i < maxSessions && time.Since(old.at) < maxSessionAge {
			continue
		}
		if unlock, free, err := atomicfile.TryLock(old.dir); err == nil && free {
			_ = os.RemoveAll(old.dir)
			unlock()
		}
	}
}
