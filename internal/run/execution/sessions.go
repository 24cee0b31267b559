package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Sessions stores the rules that a person keeps for a session, which lasts
// longer than a run, in one file that only the user can read.
type Sessions struct{ path string }

// SessionsAt returns the sessions that are stored in a directory.
func SessionsAt(dir string) *Sessions { return &Sessions{filepath.Join(dir, "sessions.json")} }

// Scope is where a rule of a session applies.
type Scope struct {
	Session    string `json:"session"`
	Dir        string `json:"dir"`                  // directory of the command
	Kubeconfig string `json:"kubeconfig,omitempty"` // Kubeconfig.Digest
}

// Rule is a stored rule.
type Rule struct {
	Scope
	List  string    `json:"list"` // "allow" or "deny"
	Text  string    `json:"rule"`
	At    time.Time `json:"at"`
	Until time.Time `json:"until"`
}

// sessionsFile is the form of the file.
type sessionsFile struct {
	V     int    `json:"v"`
	Rules []Rule `json:"rules"`
}

// The maximum size of the file in bytes, and the maximum number of rules.
const (
	maxSessions = 4 << 20
	maxRules    = 1000
)

// Rules returns the rules that apply in a scope, in the order in which they
// were kept.
func (s *Sessions) Rules(scope Scope, now time.Time) ([]Rule, error) {
	all, err := s.List(now)
	return slices.DeleteFunc(all, func(r Rule) bool { return r.Scope != scope }), err
}

// List returns the rules of all sessions that have not expired at the given
// time; none if there is an error.
func (s *Sessions) List(now time.Time) ([]Rule, error) {
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s can be read or written by others (mode %#o): run agent-wrapper exec session clear --all", s.path, info.Mode().Perm())
	}
	file, err := parseSessions(data)
	if err != nil {
		return nil, fmt.Errorf("%s:%w: run agent-wrapper exec session clear --all", s.path, err)
	}
	return slices.DeleteFunc(file.Rules, func(r Rule) bool { return !r.Until.After(now) || r.At.After(now) }), nil
}

func parseSessions(data []byte) (*sessionsFile, error) {
	var file sessionsFile
	if err := strictjson.Decode(data, &file, strictjson.MaxSize(maxSessions)); err != nil {
		return nil, err
	}
	if file.V != 1 {
		return nil, fmt.Errorf(" unknown version %d", file.V)
	}
	for _, r := range file.Rules {
		if r.List != "allow" && r.List != "deny" || r.Session == "" || r.Text == "" {
			return nil, fmt.Errorf(" the rule %q is incomplete", r.Text)
		}
	}
	return &file, nil
}

// Keep adds rules, and removes those that have expired.
func (s *Sessions) Keep(now time.Time, more ...Rule) error {
	return s.change(func() ([]Rule, error) {
		all, err := s.List(now)
		all = append(all, more...)
		if len(all) > maxRules {
			return nil, fmt.Errorf("%d rules are already kept: run agent-wrapper exec session clear", maxRules)
		}
		return all, err
	})
}

// Clear removes the rules of a session and returns their number.
func (s *Sessions) Clear(session string, now time.Time) (n int, err error) {
	err = s.change(func() ([]Rule, error) {
		all, err := s.List(now)
		n = len(all)
		all = slices.DeleteFunc(all, func(r Rule) bool { return r.Session == session })
		n -= len(all)
		return all, err
	})
	return n, err
}

// ClearAll removes all rules, even if the file cannot be read.
func (s *Sessions) ClearAll() error {
	if err := os.Remove(s.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// change replaces the rules under the lock.
func (s *Sessions) change(to func() ([]Rule, error)) error {
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	rules, err := to()
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(sessionsFile{1, append([]Rule{}, rules...)}, "", "  ") // [] rather than null
	if err != nil {
		return err
	}
	return atomicfile.Write(s.path, append(data, '\n'), 0o600)
}
