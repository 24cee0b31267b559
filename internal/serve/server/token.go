package server

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
)

// The roles of credentials.
const (
	RoleAgent  = "agent"
	RolePerson = "person"
	RoleAdmin  = "admin" // a person who also sees and revokes the credentials of others
)

// agentRoles are the roles of agents, the least first.
var agentRoles = []string{"chat", "automation", "system", "admin"}

// The kinds of credentials, by which their IDs begin. The IDs of the last two end with "-"
// and the instance of the server that they are for: another program may serve the same
// origin when that has ended, and have the browser do what it can.
const (
	program = "p"
	old     = "t" // of a program, of before requests were signed
	browser = "b"
	code    = "c" // lets one browser in
)

// The names of the kinds.
const (
	kindProgram = "program"
	kindOld     = "old"
	kindBrowser = "browser"
	kindCode    = "code"
)

// kindOf returns the kind of the credential with an ID.
func kindOf(id string) string {
	for begin, name := range map[string]string{old: kindOld, browser: kindBrowser, code: kindCode} {
		if strings.HasPrefix(id, begin) {
			return name
		}
	}
	return kindProgram
}

// lettering writes random bytes in letters and digits that are not mistaken for others.
var lettering = base32.NewEncoding("abcdefghjkmnpqrstuvwxyz023456789").WithPadding(base32.NoPadding)

// random returns n random bytes in letters.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: see package rand
	return lettering.EncodeToString(b)
}

// NewInstance returns the name of one start of a server.
func NewInstance() string { return random(5) }

// Mint returns a new credential of a program, and its secret, which is kept nowhere.
// With a zero end it does not expire. The error says what is wrong with the name or the
// roles.
func Mint(role, agentRole, name string, now, end time.Time) (store.Token, string, error) {
	t, err := newToken(program+random(10), role, agentRole, name, now, end)
	secret := signed.Prefix + t.ID + "_" + random(32)
	t.Hash = signed.NewKey(t.ID, secret).Public()
	return t, secret, err
}

// codeTTL is how long a one-time code lets a browser in.
const codeTTL = 10 * time.Minute

// MintCode returns a one-time code that lets one browser in as a person, at an instance of
// a server and for ten minutes, and the credential by which it is kept.
func MintCode(role, name, instance string, now time.Time) (store.Token, string, error) {
	text := random(10)
	key := signed.CodeKey(text)
	t, err := newToken(key.ID+"-"+instance, role, "", name, now, now.Add(codeTTL))
	if err == nil && role == RoleAgent {
		err = errors.New("role agent: a browser is for a person; use role person")
	}
	t.Hash = key.Public()
	return t, text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:], err
}

// browserTTL is how long a browser stays paired, if the server runs for so long.
const browserTTL = 30 * 24 * time.Hour

// newBrowser returns the credential of a browser that a code let in, which has made a key
// for it. The ID is that of the code, so that a store keeps no second one.
func newBrowser(by *store.Token, key signed.Public, now time.Time) store.Token {
	return store.Token{ID: browser + by.ID[len(code):], Name: by.Name, Role: by.Role, Hash: key, Created: now, Expires: now.Add(browserTTL)}
}

// newToken returns a credential without its key.
func newToken(id, role, agentRole, name string, now, end time.Time) (store.Token, error) {
	t := store.Token{ID: id, Name: name, Role: role, AgentRole: agentRole, Created: now, Expires: end}
	switch {
	case !slices.Contains([]string{RoleAgent, RolePerson, RoleAdmin}, role):
		return t, fmt.Errorf("role %q: it must be agent, person or admin", role)
	case role == RoleAgent && !slices.Contains(agentRoles, agentRole):
		return t, fmt.Errorf("agent role %q: it must be one of %s", agentRole, strings.Join(agentRoles, ", "))
	case role != RoleAgent && agentRole != "":
		return t, fmt.Errorf("agent role %q: leave it out, since a %s has none", agentRole, role)
	case !validName(name):
		return t, fmt.Errorf("name %q: use 1 to 64 letters, digits and . _ - @ +, and begin with a letter or digit", name)
	case !end.IsZero() && !end.After(now):
		return t, errors.New("its expiry is in the past")
	}
	return t, nil
}

// validName reports whether a name is one that nobody can mistake for another when it
// is shown.
func validName(name string) bool {
	for i, r := range name {
		alnum := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("._-@+", r)) {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// lowered returns the role with which an agent acts: its own, or a lesser one that the
// request names. ok is false if there is no such role, or it is a greater one.
func lowered(own, wanted string) (role string, ok bool) {
	if wanted == "" {
		return own, true
	}
	at, most := slices.Index(agentRoles, wanted), slices.Index(agentRoles, own)
	return wanted, at >= 0 && at <= most
}
