// Package signed is how a client and the server prove to each other who they are, without
// a secret on the way.
//
// The secret of a credential makes a key pair of Ed25519. The client signs each request;
// the server has the public half, and gives it to nobody, so that only the server can know
// it. It proves that it does when the client says hello, and in every answer.
package signed

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Scheme is that of the header Authorization, Protocol what begins the subprotocol of a
// WebSocket that says the same, and ProofHeader the header of an answer with its proof.
const (
	Scheme      = "Agent-Wrapper"
	Protocol    = "agent-wrapper.signed."
	ProofHeader = "Agent-Wrapper-Proof"
)

// The path to which a client says hello, and the forms of what both say.
const HelloPath = "/api/hello"

type (
	// Hello is the body of a request to HelloPath.
	Hello struct {
		ID    string `json:"id"`    // of the credential
		Nonce string `json:"nonce"` // 22 characters, new each time
	}
	// Greeting is the answer.
	Greeting struct {
		Instance string `json:"instance"` // of the server, since its start
		Time     int64  `json:"time"`     // in milliseconds since 1970
		Proof    string `json:"proof"`
	}
)

// Public is the half of a key that the server keeps.
type Public = [ed25519.PublicKeySize]byte

// Key is the signing key of a credential.
type Key struct {
	ID      string
	private ed25519.PrivateKey
}

// NewKey returns the key that a secret makes.
func NewKey(id, secret string) *Key {
	seed := hmac.New(sha256.New, []byte(secret))
	seed.Write([]byte("agent-wrapper key 1"))
	return &Key{id, ed25519.NewKeyFromSeed(seed.Sum(nil))}
}

// Prefix begins the secrets of programs, so that they are recognized (and masked) wherever
// they turn up.
const Prefix = "awt_"

// TokenKey returns the key of a program's secret; nil if it is none.
func TokenKey(secret string) *Key {
	rest, ok := strings.CutPrefix(secret, Prefix)
	id, _, more := strings.Cut(rest, "_")
	if !ok || !more || id == "" || strings.ContainsAny(id, ".\n") {
		return nil
	}
	return NewKey(id, secret)
}

// CodeKey returns the key of a one-time code, however it was typed. A code is short, and its
// ID is made of it.
func CodeKey(text string) *Key {
	text = strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(text))
	id := sha256.Sum256([]byte("agent-wrapper code 1 " + text))
	return NewKey("c"+hex.EncodeToString(id[:10]), text)
}

// Public returns the half that the server keeps.
func (k *Key) Public() Public { return Public(k.private.Public().(ed25519.PublicKey)) }

// Request is what is signed of a request, besides the stamp itself.
type Request struct{ Method, Host, URI string }

// Stamp is what a signed request says of itself.
type Stamp struct {
	ID       string // of the credential
	Instance string // of the server
	Time     int64  // by the server's clock, in milliseconds since 1970
	Nonce    string
	Digest   string // of the body, see DigestOf

	signature []byte
}

// DigestOf returns the digest of a body, "" for none.
func DigestOf(body []byte) string {
	if len(body) == 0 {
		return ""
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// NewNonce returns the nonce of one request.
func NewNonce() string {
	b := make([]byte, nonceSize)
	_, _ = rand.Read(b) // never fails: see package rand
	return base64.RawURLEncoding.EncodeToString(b)
}

const nonceSize = 16

// At returns the time for a stamp.
func At(t time.Time) int64 { return t.UnixMilli() }

// Sign returns the text of a stamp for a request.
func (k *Key) Sign(r Request, s Stamp) string {
	s.ID = k.ID
	signature := ed25519.Sign(k.private, s.message(r))
	return strings.Join(append(s.fields(), base64.RawURLEncoding.EncodeToString(signature)), ".")
}

func (s *Stamp) fields() []string {
	return []string{s.ID, s.Instance, strconv.FormatInt(s.Time, 10), s.Nonce, s.Digest}
}

func (s *Stamp) message(r Request) []byte {
	return lines("agent-wrapper request 1", append([]string{r.Method, strings.ToLower(r.Host), r.URI}, s.fields()...)...)
}

// lines joins fields that hold no newline.
func lines(kind string, fields ...string) []byte {
	return []byte(kind + "\n" + strings.Join(fields, "\n"))
}

// Parse reads a stamp.
func Parse(text string) (*Stamp, bool) {
	f := strings.Split(text, ".")
	if len(f) != 6 || strings.Contains(text, "\n") {
		return nil, false
	}
	at, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || f[2] != strconv.FormatInt(at, 10) || !ValidNonce(f[3]) {
		return nil, false
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(f[5])
	if err != nil || len(signature) != ed25519.SignatureSize {
		return nil, false
	}
	return &Stamp{f[0], f[1], at, f[3], f[4], signature}, true
}

// ValidNonce reports whether a text has the form of a nonce.
func ValidNonce(text string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	return err == nil && len(b) == nonceSize
}

// By reports whether the owner of a key has signed a request with the stamp.
func (s *Stamp) By(p Public, r Request) bool {
	return !strings.Contains(r.URI, "\n") && ed25519.Verify(p[:], s.message(r), s.signature)
}

// Greet returns the proof of a Greeting: that the server which is reached at a host knows
// the public half of a key.
func (g *Greeting) Greet(p Public, host, nonce string) string {
	return prove(p, "agent-wrapper hello 1", host, g.Instance, strconv.FormatInt(g.Time, 10), nonce)
}

// Proof returns the proof of an answer to a request with a stamp.
func (s *Stamp) Proof(p Public, host string) string {
	return prove(p, "agent-wrapper answer 1", host, s.Instance, s.Nonce)
}

func prove(p Public, kind, host string, fields ...string) string {
	m := hmac.New(sha256.New, p[:])
	m.Write(lines(kind, append([]string{strings.ToLower(host)}, fields...)...))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// same reports whether two proofs are the same, in a time that does not tell where they
// differ.
func same(a, b string) bool { return hmac.Equal([]byte(a), []byte(b)) }
