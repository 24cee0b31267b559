package sqlite_test

import (
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/sqlite"
)

// run runs statements in a database.
func run(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestRefuses: what is none of ours is refused, and left as it is.
func TestRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(t *testing.T, path string)
		want string
	}{
		"text":      {func(t *testing.T, path string) { write(t, path, strings.Repeat("no database\n", 1000), 0o600) }, "it is no database, or it is damaged"},
		"short":     {func(t *testing.T, path string) { write(t, path, "x", 0o600) }, "it is no database, or it is damaged"},
		"directory": {func(t *testing.T, path string) { os.Mkdir(path, 0o700) }, "no regular file"},
		"open mode": {func(t *testing.T, path string) { write(t, path, "", 0o640) }, "others may access"},
		"another program's": {func(t *testing.T, path string) {
			write(t, path, "", 0o600)
			run(t, path, `CREATE TABLE bookmarks (url TEXT)`)
		}, "database of another program"},
		"a marked one": {func(t *testing.T, path string) {
			write(t, path, "", 0o600)
			run(t, path, `PRAGMA application_id = 7`)
		}, "database of another program"},
		"later": {func(t *testing.T, path string) {
			open(t, path).Close()
			run(t, path, `INSERT INTO migrations (version, name, sum) VALUES (99, '0099_later.sql', 'x')`)
		}, "a later agent-wrapper wrote it"},
		"forked": {func(t *testing.T, path string) {
			open(t, path).Close()
			run(t, path, `UPDATE migrations SET sum = 'x'`)
		}, "is not the one that this program knows"},
		"damaged": {func(t *testing.T, path string) {
			open(t, path).Close()
			data, _ := os.ReadFile(path)
			copy(data[100:], strings.Repeat("\xff", 2000))
			write(t, path, string(data), 0o600)
		}, "it is no database, or it is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			tt.make(t, path)
			was, _ := os.ReadFile(path)
			s, err := sqlite.Open(t.Context(), path)
			if err == nil {
				s.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("%v, want %q", err, tt.want)
			}
			if is, _ := os.ReadFile(path); string(is) != string(was) {
				t.Error("the file has changed")
			}
		})
	}
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
		t.Fatal(err)
	}
}

// TestModes: nobody else may read what is written, while it is open too.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b c?d#e%20")
	s := open(t, filepath.Join(dir, "store.db"))
	if err := s.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := 0
	filepath.WalkDir(filepath.Dir(dir), func(path string, d fs.DirEntry, _ error) error {
		info, err := d.Info()
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		seen++
		return nil
	})
	if seen != 7 { // two directories, the database, its log, its shared memory, two locks
		t.Errorf("%d files", seen)
	}
}

// TestDurable: what is committed is synced, and nothing that SQLite takes from a file runs.
// A lost sync cannot be seen without a machine that loses its power.
func TestDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open(t, path)
	db, err := sql.Open("sqlite", sqlite.DSN(path, "rw"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for setting, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "trusted_schema": "0"} {
		var got string
		if err := db.QueryRow(`PRAGMA ` + setting).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", setting, got, want, err)
		}
	}
}

// TestManyOpen: processes that open a new store at the same time migrate it once.
func TestManyOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Error(err)
				return
			}
			if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
