package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// Tokens is a file with the tokens of the user, by the URL of the server: those by
// which a person answers. Nobody else may read it, and an agent not unasked (see
// permission.Policy.Credentials).
type Tokens struct{ File string }

// maxTokens is the size of the largest file in bytes.
const maxTokens = 1 << 20

// saved is the form of the file.
type saved struct {
	Servers map[string]token `json:"servers"`
}

type token struct {
	Token string `json:"token"`
	// User is the one whose program listened there when the token was kept, see
	// Options.User.
	User *int `json:"user,omitempty"`
}

// ErrNoToken is the error for a server of which the file has no token.
var ErrNoToken = errors.New("no token is saved for this server")

// Of returns the options of a client of a server, with its token. The error is ErrNoToken, or says why the file
// cannot be used: that others could read it, for one.
func (t Tokens) Of(server string) (Options, error) {
	base, err := parseURL(server)
	if err != nil {
		return Options{}, err
	}
	all, err := t.read()
	if err != nil {
		return Options{}, err
	}
	found, ok := all.Servers[base.String()]
	if !ok {
		return Options{}, ErrNoToken
	}
	_, err = checkToken(found.Token)
	return Options{URL: server, Token: found.Token, User: found.User}, err
}

// Servers returns the URLs of the servers of which the file has a token, sorted. The error
// says why the file cannot be used.
func (t Tokens) Servers() ([]string, error) {
	all, err := t.read()
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(all.Servers)), nil
}

// Keep keeps the token for a server in place of an earlier one, and Options.User.
func (t Tokens) Keep(o Options) error {
	if _, err := checkToken(o.Token); err != nil {
		return err
	}
	return t.change(o.URL, func(all *saved, at string) error {
		all.Servers[at] = token{o.Token, o.User}
		return nil
	})
}

// Forget removes the token for a server. The error is ErrNoToken if there is none.
func (t Tokens) Forget(server string) error {
	return t.change(server, func(all *saved, at string) error {
		if _, ok := all.Servers[at]; !ok {
			return ErrNoToken
		}
		delete(all.Servers, at)
		return nil
	})
}

// change changes the file for a server.
func (t Tokens) change(server string, f func(all *saved, at string) error) error {
	base, err := parseURL(server)
	if err != nil {
		return err
	}
	dir := filepath.Dir(t.File)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := atomicfile.Lock(dir)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := t.read()
	if err != nil {
		return err
	}
	if err := f(all, base.String()); err != nil {
		return err
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(t.File, append(text, '\n'), 0o600)
}

// read reads the file; without one there is no token.
func (t Tokens) read() (*saved, error) {
	all := &saved{Servers: map[string]token{}}
	f, err := os.Open(t.File)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", t.File)
	case shared(info):
		return nil, fmt.Errorf("%s belongs to someone else or others can access it: it must be your own file, with access for you alone (chmod 600)", t.File)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokens+1))
	if err != nil {
		return nil, err
	}
	if err := strictjson.Decode(text, all, strictjson.MaxSize(maxTokens)); err != nil {
		return nil, fmt.Errorf("%s: %w", t.File, err)
	}
	if all.Servers == nil {
		all.Servers = map[string]token{}
	}
	return all, nil
}
