//go:build linux && serve

package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// mutant is the server without one of its guards.
type mutant struct {
	Guard    string
	File     string // relative to the root of the module, with slashes
	Old, New string // Old occurs in the file exactly once
}

// overlay writes the changed file and the overlay that refers to it, for go build.
func (m *mutant) overlay(root, dir string) (string, error) {
	file := filepath.Join(root, filepath.FromSlash(m.File))
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), m.Old); n != 1 {
		return "", fmt.Errorf("%s has the text of the guard %d times, not once: %q", m.File, n, m.Old)
	}
	changed := filepath.Join(dir, "changed.go")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(
		os.WriteFile(changed, []byte(strings.Replace(string(data), m.Old, m.New, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	)
}

// broken are servers without a guard, which the judge has to find.
var broken = []mutant{
	{
		Guard: "what waits is decided again after a restart", File: "internal/serve/terminal/restore.go",
		Old: `	if err != nil {
		s.withdraw(`,
		New: `	if err != nil || true {
		s.withdraw(`,
	},
	{
		Guard: "what ran is not run again after a restart", File: "internal/serve/store/internal/sqldb/commands.go",
		Old: `SET state = 'unknown', changed`,
		New: `SET state = 'pending_approval', changed`,
	},
	{
		Guard: "what nobody has approved is not used", File: "internal/ask/approval/step.go",
		Old: `		if s.Status != Approved {`,
		New: `		if false {`,
	},
	{
		Guard: "one of two people is not enough", File: "internal/ask/approval/step.go",
		Old: `	if len(s.Votes) < max(s.Quorum, 1) {`,
		New: `	if len(s.Votes) < min(s.Quorum, 1) {`,
	},
	{
		Guard: "what was withdrawn is not asked", File: "internal/ask/approval/step.go",
		Old: `		return s.settled(Cancelled, e.By), nil`,
		New: `		return s, nil`,
	},
	{
		Guard: "what was revoked does not count", File: "internal/serve/store/internal/sqldb/tokens.go",
		Old: `WHEN revoked = 0 THEN $1`,
		New: `WHEN revoked = 0 THEN $1 - $1`,
	},
	{
		Guard: "who watches and comes back misses nothing", File: "internal/serve/server/stream_events.go",
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
			overlay, err := m.overlay(root, dir)
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
