package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
)

// TestTailFollows: tail -f shows what is added, until it is interrupted.
func TestTailFollows(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "a.jsonl")
	r, err := audit.Open(path, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var seen []uint64
	err = tail(ctx, []string{path}, 1, true, func(e *audit.Entry, _ []byte) error {
		seen = append(seen, e.Seq)
		if e.Seq == 3 {
			cancel()
			return nil
		}
		return r.Outcome(audit.Outcome{Tool: "Bash"})
	})
	if err != nil || !slices.Equal(seen, []uint64{1, 2, 3}) {
		t.Errorf("%v %v", seen, err)
	}
}

func TestPointInTime(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "24h": now.Add(-24 * time.Hour), "2026-01-02T03:04:05Z": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		"2026-01-02": time.Date(2026, 1, 2, 0, 0, 0, 0, time.Local), "2026-01-02 03:04:05": time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local),
	} {
		if got, err := pointInTime(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"yesterday", "2026-13-01", "24"} {
		if _, err := pointInTime(text, now); err == nil {
			t.Errorf("%q is taken for a time", text)
		}
	}
}

// TestVerifyShows: text in a record that somebody modified cannot pass for output
// of verify.
func TestVerifyShows(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	path := filepath.Join(t.TempDir(), "a.jsonl")
	head, err := userDirs().Head(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(head), 0o700); err != nil {
		t.Fatal(err)
	}
	r, err := audit.Open(path, audit.Options{Head: head})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(text), `"kind":"begin"`, `"kind":"\u001b[2J\u009b2J\n`+path+`: 9 entries, each as it was written"`, 1)
	if err := os.WriteFile(path, []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs strings.Builder
	a := &app{out: &out, err: &errs}
	if code := a.report(a.auditVerify([]string{path}, "", &jsonForm{})); code != codeDenied {
		t.Errorf("exit code %d", code)
	}
	for _, shown := range []string{out.String(), errs.String()} {
		if strings.ContainsAny(shown, "\x1b\u009b") || strings.Contains(shown, "\n"+path+": 9 entries") {
			t.Errorf("%q", shown)
		}
	}
	if !strings.Contains(out.String(), "is of kind") {
		t.Errorf("the fault is not named: %q", out.String())
	}
}
