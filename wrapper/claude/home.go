package claude

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// checkHome rejects what the CLI would load from its user's home directory and
// what no option disables: variables in its global configuration, which would
// override ours, and scripts of a resumed session, which run before each of its
// commands. env is the CLI's environment.
func checkHome(env []string, session string) error {
	global, folder := valueOf(env, "CLAUDE_CONFIG_DIR"), valueOf(env, "CLAUDE_CONFIG_DIR")
	if global == "" {
		home, err := homeOf(env, user.Current)
		if err != nil {
			return err
		}
		global, folder = home, filepath.Join(home, ".claude")
	}
	return cmp.Or(
		noVariables(filepath.Join(folder, ".config.json")),
		noVariables(filepath.Join(global, ".claude.json")),
		noScripts(filepath.Join(folder, "session-env"), session),
	)
}

// homeOf returns the home directory that the CLI will use: HOME, else the user's.
// A build without cgo does not find users that only a directory service knows.
func homeOf(env []string, current func() (*user.User, error)) (string, error) {
	if home := valueOf(env, "HOME"); home != "" {
		return home, nil
	}
	u, err := current()
	if err != nil {
		return "", fmt.Errorf("the home that the agent CLI takes variables from is not known; set HOME: %w", err)
	}
	return u.HomeDir, nil
}

// noVariables rejects a global configuration that sets environment variables.
func noVariables(file string) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var config struct {
		env map[string]json.RawMessage
	}
	if err == nil {
		var members map[string]json.RawMessage // names are case-sensitive, as in the CLI
		if err = json.Unmarshal(data, &members); err == nil && members["env"] != nil {
			err = json.Unmarshal(members["env"], &config.env)
		}
	}
	if err != nil {
		return fmt.Errorf("%s, which the agent CLI takes variables from, cannot be read: %w", file, err)
	}
	if len(config.env) == 0 {
		return nil
	}
	names := strings.Join(slices.Sorted(maps.Keys(config.env)), ", ")
	return fmt.Errorf(`%s sets %s: the agent CLI would take that in place of what it is given here; take "env" out of that file, and set what you need for agent-wrapper itself`, file, names)
}

var (
	sessionID     = lazyregexp.New(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	sessionScript = lazyregexp.New(`-hook-[0-9]+\.sh$`)
)

// CheckSession rejects what is no ID of a session, nor "".
func CheckSession(session string) error {
	if session == "" || sessionID.MatchString(session) {
		return nil
	}
	return fmt.Errorf("--session %q is no session id: they look like 5f0e4c1a-0c66-4f8e-9a53-2b1d6e7f8a90", session)
}

// noScripts rejects a session for which hooks have left scripts.
func noScripts(dir, session string) error {
	if session == "" {
		return nil
	}
	if err := CheckSession(session); err != nil {
		return err
	}
	dir = filepath.Join(dir, session)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what was left for session %s cannot be read: %w", session, err)
	}
	for _, e := range entries {
		if info, err := e.Info(); sessionScript.MatchString(e.Name()) && (err != nil || info.Size() > 0) {
			return fmt.Errorf("%s would run before each command of session %s, unasked: a hook of an earlier run has left it; remove it, or start a new session", filepath.Join(dir, e.Name()), session)
		}
	}
	return nil
}
