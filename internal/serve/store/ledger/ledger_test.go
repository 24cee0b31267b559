package ledger_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/ledger"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// record adds n decisions to the record at path.
func record(t *testing.T, path string, n int) {
	t.Helper()
	l, err := audit.Open(path, audit.Options{Sync: audit.SyncNone})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		use := permission.ToolUse{ID: fmt.Sprint(i), Tool: "Bash", Input: json.RawMessage(fmt.Sprintf(`{"command":"echo %d"}`, i))}
		if err := l.Record(t.Context(), permission.Record{Use: use}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// copies checks the copies in a store: each has the lines of a record, which verifies.
func copies(t *testing.T, s store.Store, records ...string) {
	t.Helper()
	servers, err := s.AuditServers(t.Context())
	must(t, err)
	got, want := map[string]bool{}, map[string]bool{}
	for name := range servers {
		got[text(t, s, name)] = true
	}
	for _, path := range records {
		data, err := os.ReadFile(path)
		must(t, err)
		want[string(data)] = true
		if r, err := audit.Verify(path, path+".head", ""); err != nil || len(r.Faults) > 0 {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
	}
	if len(servers) != len(records) || !maps.Equal(got, want) {
		t.Errorf("%d copies of %d records, or not as they are", len(servers), len(records))
	}
}

// text returns a copy as the file that it is of.
func text(t *testing.T, s store.Store, name string) string {
	t.Helper()
	lines, err := s.Audit(t.Context(), name, 0, 0)
	must(t, err)
	var out strings.Builder
	for _, l := range lines {
		out.Write(l.Line)
		out.WriteByte('\n')
	}
	return out.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCopy: several servers share a store; each one's lines are there once and in order,
// after restarts, after a crash in mid-line, and after the record was begun anew.
func TestCopy(t *testing.T) {
	dir := t.TempDir()
	s := open(t, filepath.Join(dir, "store.db"))
	one, two := filepath.Join(dir, "one.jsonl"), filepath.Join(dir, "two.jsonl")
	must(t, ledger.New(s, "one", one).Copy(t.Context())) // there is none yet
	for n := range 3 {
		record(t, one, 400*n)
		record(t, two, 10)
		c := ledger.New(s, "one", one)
		must(t, c.Copy(t.Context()))
		must(t, c.Copy(t.Context()))
		must(t, ledger.New(s, "two", two).Copy(t.Context()))
		copies(t, s, one, two)
	}
	c := ledger.New(s, "one", one)
	must(t, c.Copy(t.Context()))
	f, err := os.OpenFile(one, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	f.WriteString(`{"v":2,"se`)
	must(t, f.Close())
	must(t, c.Copy(t.Context())) // no whole line
	record(t, one, 2)
	must(t, c.Copy(t.Context()))
	copies(t, s, one, two)

	must(t, errors.Join(os.Rename(one, one+".old"), os.Rename(one+".head", one+".old.head")))
	record(t, one, 3)
	must(t, c.Copy(t.Context()))
	record(t, one, 3)
	must(t, c.Copy(t.Context()))
	copies(t, s, one, one+".old", two)
}

// TestSameRecord: two that copy the same record at the same time copy each line once.
func TestSameRecord(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "record.jsonl")
	record(t, path, 1000)
	var all sync.WaitGroup
	for range 2 {
		s := open(t, filepath.Join(dir, "store.db"))
		all.Go(func() {
			if err := ledger.New(s, "one", path).Copy(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	copies(t, open(t, filepath.Join(dir, "store.db")), path)
}

// TestCut: a record that has become shorter than its copy is told.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	s, path := open(t, filepath.Join(dir, "store.db")), filepath.Join(dir, "record.jsonl")
	record(t, path, 5)
	c := ledger.New(s, "one", path)
	must(t, c.Copy(t.Context()))
	data, _ := os.ReadFile(path)
	must(t, os.WriteFile(path, data[:len(data)-10], 0o600))
	for _, c := range []*ledger.Copier{c, ledger.New(s, "one", path)} {
		if err := c.Copy(t.Context()); err == nil || !strings.Contains(err.Error(), "it was cut") {
			t.Error(err)
		}
	}
}

// TestVerify: a change of a copy is found, by the hash of the last entry.
func TestVerify(t *testing.T) {
	dir := t.TempDir()
	s, path := open(t, filepath.Join(dir, "store.db")), filepath.Join(dir, "record.jsonl")
	record(t, path, 5)
	whole, err := audit.Verify(path, path+".head", "")
	must(t, err)
	data, _ := os.ReadFile(path)
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for name, change := range map[string]func(lines []string) []string{
		"changed":  func(l []string) []string { l[2] = strings.Replace(l[2], "echo", "rm", 1); return l },
		"left out": func(l []string) []string { return append(l[:2], l[3:]...) },
		"swapped":  func(l []string) []string { l[2], l[3] = l[3], l[2]; return l },
		"cut":      func(l []string) []string { return l[:3] },
		"as it is": func(l []string) []string { return l },
	} {
		for i, line := range change(append([]string{}, lines...)) {
			must(t, s.AppendAudit(t.Context(), name, int64(i), []byte(line)))
		}
		copied := filepath.Join(dir, name)
		must(t, os.WriteFile(copied, []byte(text(t, s, name)), 0o600))
		r, err := audit.Verify(copied, "", whole.Head)
		if err != nil || len(r.Faults) > 0 != (name != "as it is") {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// lines is a store that fails at first.
type lines struct {
	ledger.Store
	fail int
	got  []string
}

func (l *lines) AuditServers(context.Context) (map[string]int64, error) {
	if l.fail--; l.fail >= 0 {
		return nil, errors.New("gone")
	}
	return nil, nil
}

func (l *lines) AppendAudit(_ context.Context, _ string, _ int64, some ...[]byte) error {
	for _, one := range some {
		l.got = append(l.got, string(one))
	}
	return nil
}

// TestFollow: what is added is copied, an outage is told once, and the last lines are
// copied at the end.
func TestFollow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "record")
	must(t, os.WriteFile(path, []byte("1\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		s := &lines{fail: 3}
		var told []error
		ctx, cancel := context.WithCancel(t.Context())
		var done sync.WaitGroup
		done.Go(func() {
			ledger.New(s, "one", path).Follow(ctx, time.Second, func(err error) { told = append(told, err) })
		})
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if len(told) != 1 || len(s.got) != 1 {
			t.Errorf("%v, %q", told, s.got)
		}
		must(t, os.WriteFile(path, []byte("1\n2\n"), 0o600))
		cancel()
		done.Wait()
		if fmt.Sprint(s.got) != "[1 2]" {
			t.Errorf("%q", s.got)
		}
	})
}

var _ ledger.Store = store.Store(nil)
