package server

import (
	"sync"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// A signed request counts for signedFor before and after its time, and once: the nonces of
// the requests of a credential are kept while they would count, at most maxNonces twice.
// A credential that sends more than that is refused.
const (
	signedFor = 30 * time.Second
	maxNonces = 1 << 16
)

// timely reports whether the time of a stamp is about now.
func timely(s *signed.Stamp, now time.Time) bool {
	return time.UnixMilli(s.Time).Sub(now).Abs() <= signedFor
}

// replays knows the nonces of the requests that still would count.
type replays struct {
	mu   sync.Mutex
	ages [2]map[string]map[string]bool // by credential; first those since began
	// began is when the newest age began. Each takes twice signedFor, so a nonce is known
	// for that long at least.
	began time.Time
}

// add notes a nonce of a credential. The error says why the request does not count.
func (r *replays) add(id, nonce string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ages[0] == nil || now.Sub(r.began) >= 2*signedFor {
		r.ages[1], r.ages[0], r.began = r.ages[0], map[string]map[string]bool{}, now
	}
	of := r.ages[0][id]
	switch {
	case of[nonce] || r.ages[1][id][nonce]:
		return errReplayed
	case len(of) >= maxNonces:
		return tooMany
	case of == nil:
		of = map[string]bool{}
		r.ages[0][id] = of
	}
	of[nonce] = true
	return nil
}
