package whitelist

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// FuzzJournal: reading a journal never panics, whatever it holds; an event that
// is added is counted once, or nothing is written.
func FuzzJournal(f *testing.F) {
	event := `{"kind":"hallucination","timestamp":"2026-01-02T03:04:05.000Z","command":"x","reason":"not_whitelisted","agent_id":"a","plan_id":"/p/plan.json","count":1}` + "\n"
	for _, text := range []string{"", event, event + event, event + `{"kind":"resumed","agent_id":"a","plan_id":"/p/plan.json"}` + "\n", `{"kind":"reset"}` + "\n" + event[:40], "\n", "x", "null\n", `{"kind":"escalated","error":"x"}` + "\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "journal.jsonl")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr := &Tracker{Journal: NewJournal(path), Key: testKey, Threshold: 1 << 30}
		before, err := tr.Journal.standing(testKey)
		failed := tr.hallucinated(denied("x"))
		if (err != nil) != (failed != nil) && !before.paused {
			t.Fatalf("read: %v, counted: %v", err, failed)
		}
		if err != nil {
			if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
				t.Fatal("a journal that cannot be read was changed")
			}
			return
		}
		if after, err := NewJournal(path).standing(testKey); err != nil || after.count != before.count+1 || after.paused != before.paused {
			t.Fatalf("%+v, then %+v: %v", before, after, err)
		}
	})
}
