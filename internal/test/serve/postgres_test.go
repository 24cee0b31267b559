//go:build linux && serve && postgres

package serve

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

// TestPostgres: the same with two servers on one PostgreSQL, which crashes too. What is
// asked at one server is answered at the other, also while the first is gone.
func TestPostgres(t *testing.T) {
	t.Logf("seed %d, %d strikes", *seed, *kills)
	database, err := pg.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Close(); err != nil {
			t.Error(err)
		}
	})
	for n := 0; n < *kills; n += ofWorld {
		t.Run(strconv.Itoa(n/ofWorld+1), func(t *testing.T) {
			r := newRand(uint64(n + 1))
			w := newWorld(t, binary, database.Database(t), 2)
			struck := map[string]int{}
			for range min(ofWorld, *kills-n) {
				name, hit := w.choose(r, database)
				struck[name]++
				w.round(r, hit)
			}
			w.finish()
			w.tell()
			t.Logf("struck: %v", struck)
		})
	}
}

// choose returns what strikes next.
func (w *world) choose(r *rand.Rand, database *pg.Server) (string, func() func()) {
	a, b := w.servers[0], w.servers[1]
	switch r.IntN(6) {
	case 0:
		return "both servers", kill(a, b)
	case 1:
		return "the database", w.crash(database)
	case 2:
		return "the database and a server", func() func() {
			mend := kill(a)()
			w.crash(database)()
			return mend
		}
	case 3, 4:
		return "a server", kill(a)
	}
	return "the other server", kill(b)
}

// crash returns what crashes PostgreSQL and starts it again.
func (w *world) crash(database *pg.Server) func() func() {
	return func() func() {
		if err := errors.Join(database.Stop(pg.Crash), database.Again()); err != nil {
			w.wrong("PostgreSQL: %v", err)
		}
		return func() {}
	}
}
