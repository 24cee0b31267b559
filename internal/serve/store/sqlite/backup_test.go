//go:build unix

package sqlite_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// asked submits a question and answers it as far as status says.
func asked(t *testing.T, s store.Store, id string, status approval.Status) {
	t.Helper()
	_, err := s.Submit(t.Context(), approval.Entry{State: approval.State{Terms: approval.Terms{ID: id, Digest: "d", Asker: asker}}})
	if status >= approval.Approved {
		_, errAnswer := s.Answer(t.Context(), approval.Event{Kind: approval.Approve, ID: id, Digest: "d", By: anna}, nil)
		err = errors.Join(err, errAnswer)
	}
	if status == approval.Consumed {
		_, errConsume := s.Consume(t.Context(), id, "d")
		err = errors.Join(err, errConsume)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// statuses returns what became of all approvals.
func statuses(t *testing.T, s store.Store) string {
	t.Helper()
	entries, err := s.List(t.Context(), approval.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	status := map[string]approval.Status{}
	for _, e := range entries {
		status[e.ID] = e.Status
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(status), "map["), "]")
}

// TestBackup: a backup is made while the store is written, and is a store again; what
// may have gone on since does not go on.
func TestBackup(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup")
	s := open(t, path)
	for id, status := range map[string]approval.Status{"a": approval.Pending, "b": approval.Approved, "c": approval.Consumed} {
		asked(t, s, id, status)
	}
	if err := s.CreateCommand(t.Context(), store.Command{ID: "1", SessionID: "x", State: store.CommandExecuting}); err != nil {
		t.Fatal(err)
	}
	var writing sync.WaitGroup
	done := make(chan struct{})
	writing.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := s.Check(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	err := s.Backup(t.Context(), backup)
	close(done)
	writing.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(backup); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := s.Backup(t.Context(), backup); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one to the same file: %v", err)
	}
	for _, id := range []string{"d", "f", "g", "h"} { // more changes than restoring makes itself
		asked(t, s, id, approval.Pending)
	}
	last, err := s.Consume(t.Context(), "b", "d") // since the backup
	if err != nil {
		t.Fatal(err)
	}

	if _, err := sqlite.Restore(t.Context(), backup, path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Fatalf("into a store that is in use: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := sqlite.Restore(t.Context(), backup, path)
	if err != nil {
		t.Fatal(err)
	}
	s = open(t, path)
	if got, want := statuses(t, s), "a:pending b:abandoned c:consumed"; got != want {
		t.Errorf("restored is %s, want %s", got, want)
	}
	if c, err := s.Command(t.Context(), "1"); err != nil || c.State != store.CommandUnknown {
		t.Errorf("%+v, %v", c, err)
	}
	asked(t, s, "e", approval.Pending)
	if e, err := s.Get(t.Context(), "e"); err != nil || e.Seq <= last.Seq {
		t.Errorf("change %d after %d, %v", e.Seq, last.Seq, err)
	}
	if got, want := statuses(t, open(t, before)), "a:pending b:consumed c:consumed d:pending f:pending g:pending h:pending"; got != want {
		t.Errorf("the one before is %s, want %s", got, want)
	}
}

// TestRestoreNew: a backup is restored where no store is, and where a damaged one is.
func TestRestoreNew(t *testing.T) {
	dir := t.TempDir()
	from, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup")
	s := open(t, from)
	asked(t, s, "a", approval.Pending)
	if err := s.Backup(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, "new", "store.db")
	if before, err := sqlite.Restore(t.Context(), backup, to); err != nil || before != "" {
		t.Fatal(before, err)
	}
	if got := statuses(t, open(t, to)); got != "a:pending" {
		t.Error(got)
	}
	damaged := filepath.Join(dir, "damaged.db")
	write(t, damaged, "damaged", 0o600)
	write(t, damaged+"-wal", "damaged too", 0o600)
	before, err := sqlite.Restore(t.Context(), backup, damaged)
	if err != nil {
		t.Fatal(err)
	}
	if got := statuses(t, open(t, damaged)); got != "a:pending" {
		t.Error(got)
	}
	if data, _ := os.ReadFile(before); string(data) != "damaged" {
		t.Errorf("the one before is %q", data)
	}
}

// TestRestoreRefuses: what is no whole backup is not restored, and the store stays.
func TestRestoreRefuses(t *testing.T) {
	dir := t.TempDir()
	path, backup := filepath.Join(dir, "store.db"), filepath.Join(dir, "backup")
	s := open(t, path)
	for n := range 300 {
		asked(t, s, fmt.Sprint(n), approval.Pending)
	}
	if err := errors.Join(s.Backup(t.Context(), backup), s.Close()); err != nil {
		t.Fatal(err)
	}
	good, _ := os.ReadFile(backup)
	was, _ := os.ReadFile(path)
	for name, bad := range map[string]func(file string){
		"missing": func(string) {},
		"empty":   func(file string) { write(t, file, "", 0o600) },
		"text":    func(file string) { write(t, file, strings.Repeat("text", 1000), 0o600) },
		"half":    func(file string) { write(t, file, string(good[:len(good)/2]), 0o600) },
		"changed": func(file string) {
			write(t, file, string(good[:8200])+strings.Repeat("\xff", 500)+string(good[8700:]), 0o600)
		},
		"directory": func(file string) { os.Mkdir(file, 0o700) },
		"in use": func(file string) {
			write(t, file, string(good), 0o600)
			write(t, file+"-wal", "log", 0o600)
		},
		"later": func(file string) {
			write(t, file, string(good), 0o600)
			run(t, file, `INSERT INTO migrations (version, name, sum) VALUES (99, '0099_later.sql', 'x')`)
		},
		"overlapping": func(file string) {
			write(t, file, string(good), 0o600)
			run(t, file, `PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage =
				(SELECT rootpage FROM sqlite_schema WHERE name = 'tokens') WHERE name = 'grants'`)
		},
		"nobody's": func(file string) {
			write(t, file, "", 0o600)
			run(t, file, `CREATE TABLE t (n)`, `DROP TABLE t`)
		},
		"another's": func(file string) {
			write(t, file, string(good), 0o600)
			run(t, file, `PRAGMA application_id = 7`)
		},
	} {
		file := filepath.Join(dir, name)
		bad(file)
		if _, err := sqlite.Restore(t.Context(), file, path); err == nil {
			t.Errorf("%s is restored", name)
		} else {
			t.Log(err)
		}
		if is, _ := os.ReadFile(path); string(is) != string(was) {
			t.Fatalf("%s: the store has changed", name)
		}
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".*"))
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
