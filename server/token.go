package server

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/store"
)

// The roles of credentials.
const (
	RoleAgent  = "agent"
	RolePerson = "person"
	RoleAdmin  = "admin" // a person who also sees and revokes the credentials of others
)

// agentRoles are the roles of agents, the least first.
var agentRoles = []string{"chat", "automation", "system", "admin"}

// The kinds of credentials, by which their IDs begin.
const (
	bearer  = "t" // of a program, in the header Authorization
	browser = "b" // of a browser, half in a cookie and half in its page
	code    = "c" // that lets one browser in
)

// prefixes begin the secrets of each kind, so that they are recognized (and masked)
// wherever they turn up.
var prefixes = map[string]string{bearer: "awt_", browser: "awb_"}

// lettering writes random bytes in letters and digits that are not mistaken for others.
var lettering = base32.NewEncoding("abcdefghjkmnpqrstuvwxyz023456789").WithPadding(base32.NoPadding)

// random returns n random bytes in letters.
func random(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails: see package rand
	return lettering.EncodeToString(b)
}

// Mint returns a new credential of a program, and its secret, which is kept nowhere.
// With a zero end it does not expire. The error says what is wrong with the name or the
// roles.
func Mint(role, agentRole, name string, now, end time.Time) (store.Token, string, error) {
	t, err := newToken(bearer, role, agentRole, name, now, end)
	secret := prefixes[bearer] + t.ID + "_" + random(32)
	t.Hash = sha256.Sum256([]byte(secret))
	return t, secret, err
}

// codeTTL is how long a one-time code lets a browser in.
const codeTTL = 10 * time.Minute

// MintCode returns a one-time code that lets one browser in as a person, for ten
// minutes, and the credential by which it is kept.
func MintCode(role, name string, now time.Time) (store.Token, string, error) {
	t, err := newToken(code, role, "", name, now, now.Add(codeTTL))
	if err == nil && role == RoleAgent {
		err = errors.New("role agent: a browser is for a person; use role person")
	}
	text := random(10)
	t.Hash = hashCode(text)
	return t, text[:4] + "-" + text[4:8] + "-" + text[8:12] + "-" + text[12:], err
}

// hashCode returns the hash of a code, however it was typed.
func hashCode(text string) [sha256.Size]byte {
	text = strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(text))
	return sha256.Sum256([]byte("code " + text))
}

// browserTTL is how long a browser stays paired.
const browserTTL = 30 * 24 * time.Hour

// mintBrowser returns the credential of a browser that a code let in, and its two
// halves: that of the cookie, and that of the page. A cookie is sent to every port of a
// host, also to a server that an agent has started there; the page's half is not. The
// ID is that of the code, so that a store keeps no second one.
func mintBrowser(by *store.Token, now time.Time) (t store.Token, cookie, page string) {
	t = store.Token{ID: browser + by.ID[len(code):], Name: by.Name, Role: by.Role, Created: now, Expires: now.Add(browserTTL)}
	cookie, page = prefixes[browser]+t.ID+"_"+random(32), random(32)
	t.Hash = hashBrowser(cookie, page)
	return t, cookie, page
}

func hashBrowser(cookie, page string) [sha256.Size]byte {
	return sha256.Sum256([]byte("browser " + cookie + " " + page))
}

// newToken returns a credential without its hash.
func newToken(kind, role, agentRole, name string, now, end time.Time) (store.Token, error) {
	t := store.Token{ID: kind + random(10), Name: name, Role: role, AgentRole: agentRole, Created: now, Expires: end}
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

// valid reports whether a credential counts at a time.
func valid(t *store.Token, now time.Time) bool {
	return t.Revoked.IsZero() && (t.Expires.IsZero() || now.Before(t.Expires))
}

// idOf returns the ID in the secret of a kind, "" if it is none.
func idOf(kind, secret string) string {
	rest, ok := strings.CutPrefix(secret, prefixes[kind])
	id, _, more := strings.Cut(rest, "_")
	if !ok || !more || !strings.HasPrefix(id, kind) {
		return ""
	}
	return id
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
