//go:build linux && serve

package serve

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/mutants"
)

// broken are servers without a guard, which the judge has to find.
var broken = []mutants.Mutant{
	{
		Guard: "what waits is decided again after a restart", File: "terminal/restore.go",
		Old: `	if err != nil {
		s.withdraw(`,
		New: `	if err != nil || true {
		s.withdraw(`,
	},
	{
		Guard: "what ran is not run again after a restart", File: "store/internal/sqldb/commands.go",
		Old: `SET state = 'unknown', changed`,
		New: `SET state = 'pending_approval', changed`,
	},
	{
		Guard: "what nobody has approved is not used", File: "approval/step.go",
		Old: `		if s.Status != Approved {`,
		New: `		if false {`,
	},
	{
		Guard: "one of two people is not enough", File: "approval/step.go",
		Old: `	if len(s.Votes) < max(s.Quorum, 1) {`,
		New: `	if len(s.Votes) < min(s.Quorum, 1) {`,
	},
	{
		Guard: "what was withdrawn is not asked", File: "approval/step.go",
		Old: `		return s.settled(Cancelled, e.By), nil`,
		New: `		return s, nil`,
	},
	{
		Guard: "what was revoked does not count", File: "store/internal/sqldb/tokens.go",
		Old: `WHEN revoked = 0 THEN $1`,
		New: `WHEN revoked = 0 THEN $1 - $1`,
	},
	{
		Guard: "who watches and comes back misses nothing", File: "server/stream_events.go",
		Old: `	if v.cursor < 0 {`,
		New: `	if true {`,
	},
}

// TestControl: the judge finds what is wrong with servers that lack a guard. In the
// short form it is one of them.
func TestControl(t *testing.T) {
	all := broken
	if *kills < 100 {
		all = all[:1]
	}
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		t.Run(m.Guard, func(t *testing.T) {
			dir := t.TempDir()
			overlay, err := m.Overlay(root, dir)
			if err != nil {
				t.Fatal(err)
			}
			other := filepath.Join(dir, "agent-wrapper")
			if err := build(other, "-overlay", overlay); err != nil {
				t.Fatal(err)
			}
			w := newWorld(t, other, "", 1)
			w.patience = 2 * time.Second // what is broken may never come to rest
			r, n := newRand(0), 0
			for ; n < 50 && len(w.verdict) == 0; n++ {
				w.round(r, kill(w.servers[0]))
			}
			if len(w.verdict) == 0 {
				w.drain()
				w.judge()
			}
			if len(w.verdict) == 0 {
				t.Fatalf("nothing was found after %d kills", n)
			}
			t.Logf("after %d kills: %s", n, w.verdict[0])
		})
	}
}
