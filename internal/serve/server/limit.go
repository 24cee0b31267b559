package server

import (
	"sync"
	"time"
)

// limiter limits how often something happens for each key: so many a second, and a
// burst of twice as many.
type limiter struct {
	rate float64

	mu      sync.Mutex
	buckets map[string]*bucket
}

// bucket is what a key has left.
type bucket struct {
	left float64
	at   time.Time
}

// maxBuckets is how many keys are told apart. With more, those that are full again are
// forgotten.
const maxBuckets = 10_000

func newLimiter(rate float64) *limiter { return &limiter{rate: rate, buckets: map[string]*bucket{}} }

// take reports whether it may happen once more.
func (l *limiter) take(key string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.buckets[key]
	if b == nil {
		l.forget(now)
		b = &bucket{2 * l.rate, now}
		l.buckets[key] = b
	}
	b.left = min(2*l.rate, b.left+l.rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.left < 1 {
		return false
	}
	b.left--
	return true
}

// forget makes room for a key.
func (l *limiter) forget(now time.Time) {
	if len(l.buckets) < maxBuckets {
		return
	}
	for key, b := range l.buckets {
		if now.Sub(b.at) > 2*time.Second {
			delete(l.buckets, key)
		}
	}
}
