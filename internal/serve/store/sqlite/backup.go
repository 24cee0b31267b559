package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
)

// Backup writes the store as it is at one moment to a new file, while it is in use. The
// file is for its owner only, and is complete if it is there.
func (s *Store) Backup(ctx context.Context, to string) error {
	if err := s.backup(ctx, to); err != nil {
		return fmt.Errorf("back up the store to %s: %w", to, explained(err))
	}
	return nil
}

func (s *Store) backup(ctx context.Context, to string) error {
	temp, err := tempFor(to)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	db, err := sql.Open("sqlite", dsn(s.path, "rw"))
	if err != nil {
		return err
	}
	// It leaves out what was deleted, and takes an empty file for a new one.
	_, err = db.ExecContext(ctx, `VACUUM INTO $1`, temp)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	if err := check(ctx, temp); err != nil {
		return err
	}
	if err := syncFile(temp); err != nil {
		return err
	}
	if err := os.Link(temp, to); err != nil { // refuses a file that is there
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(to))
}

// tempFor makes an empty file beside path for its owner only.
func tempFor(path string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// check checks a database that nobody writes to: that it is ours, that this program
// knows its version, and that it is whole.
func check(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite", dsn(path, "ro")+"&immutable=1")
	if err != nil {
		return err
	}
	defer db.Close()
	var id int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); err != nil {
		return err
	}
	if id != application {
		return errForeign
	}
	var whole string
	if err := db.QueryRowContext(ctx, `PRAGMA integrity_check(1)`).Scan(&whole); err != nil {
		return err
	}
	if whole != "ok" {
		return fmt.Errorf("%w: %s", errNoDB, whole)
	}
	return nil
}

// Restore puts a backup in the place of the store at path, which must not be in use.
// The store that was there stays beside it, under the name that is returned; "" if there
// was none.
//
// What was approved when the backup was made, and not consumed, may have been consumed
// since: it is abandoned. A command that was being executed is unknown. Credentials that
// were revoked since count again.
func Restore(ctx context.Context, from, path string) (before string, err error) {
	if before, err = restore(ctx, from, path); err != nil {
		return "", fmt.Errorf("restore %s from %s: %w", path, from, explained(err))
	}
	return before, nil
}

func restore(ctx context.Context, from, path string) (before string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	lock, err := alone(path)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	temp, err := tempFor(path)
	if err != nil {
		return "", err
	}
	defer os.Remove(temp)
	if err := copyFile(from, temp); err != nil {
		return "", err
	}
	if err := check(ctx, temp); err != nil {
		return "", err
	}
	if err := prepare(ctx, temp); err != nil {
		return "", err
	}
	return replace(ctx, temp, path)
}

// prepare brings a backup up to date, and ends what may have gone on since.
func prepare(ctx context.Context, temp string) error {
	db, err := open(ctx, temp, time.Now, nil)
	if err != nil {
		return err
	}
	return errors.Join(db.Restored(ctx, time.Now()), db.Close(), syncFile(temp))
}

// replace puts a database in the place of another, which it links to another name.
func replace(ctx context.Context, temp, path string) (before string, err error) {
	if info, err := os.Stat(path); err == nil {
		if err := private(path, info); err != nil && !errors.Is(err, errNoDB) {
			return "", err
		}
		before = path + "." + time.Now().UTC().Format("20060102T150405.000Z")
		if err := aside(ctx, path, before); err != nil {
			return "", err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := os.Rename(temp, path); err != nil {
		return "", err
	}
	return before, atomicfile.SyncDir(filepath.Dir(path))
}

// aside links a database to another name. Its log is written into it first, or goes
// with it if it is damaged: SQLite would write it into the next one with its name.
func aside(ctx context.Context, path, before string) error {
	if db, err := sql.Open("sqlite", dsn(path, "rw")); err == nil {
		_, _ = db.ExecContext(ctx, `PRAGMA wal_checkpoint(TRUNCATE)`)
		db.Close()
	}
	if err := os.Link(path, before); err != nil {
		return err
	}
	for _, end := range []string{"-wal", "-shm"} {
		if err := os.Rename(path+end, before+end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// copyFile copies a backup. It has no log: with one, it is a copy of a store that was
// in use.
func copyFile(from, to string) error {
	if info, err := os.Stat(from + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s-wal is beside it: it is no backup, but a copy of a store that was in use", from)
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil {
		return err
	} else if !info.Mode().IsRegular() || info.Size() < minSize {
		return errNoDB
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
