// Package sqlite keeps a store in a file, by SQLite. Several processes of one machine
// may open it at the same time. The file must not be on a network file system, which
// the locks and the shared memory of SQLite do not work on.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/store/internal/sqldb"
)

// application is the number in the header of a database that says whose it is.
const application = 0x61677772 // "agwr"

// minSize is the size of the smallest database in bytes.
const minSize = 512

// The codes of errors of SQLite that are told in other words, or tried again.
const (
	codeBusy    = 5
	codeCorrupt = 11
	codeNotADB  = 26
)

// Store is an open store.
type Store struct {
	*sqldb.DB
	path  string
	files []*os.File // locks
}

// Open opens the store at path, and creates it with access for its owner only if it
// does not exist. The error says why the file is none of ours: it is not a database,
// it is that of another program, or a later version of this one wrote it.
func Open(ctx context.Context, path string) (*Store, error) { return openAt(ctx, path, time.Now) }

// openAt is Open with another clock, for tests.
func openAt(ctx context.Context, path string, now func() time.Time) (*Store, error) {
	if err := create(path); err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	lock, err := share(path)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	queue, err := queue(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), lock.Close())
	}
	s := &Store{path: path, files: []*os.File{lock, queue}}
	if s.DB, err = openSoon(ctx, path, now, func() (func(), error) { return turn(queue) }); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store %s: %w", path, explained(err)), s.unlock())
	}
	return s, nil
}

// SQLite does not wait for another process that changes the journal of a new database,
// or removes that of one which nobody else has open; both take moments.
const (
	openFor   = 5 * time.Second
	openEvery = 10 * time.Millisecond
)

// openSoon is open, but waits for such a process.
func openSoon(ctx context.Context, path string, now func() time.Time, turn func() (func(), error)) (*sqldb.DB, error) {
	ctx, cancel := context.WithTimeout(ctx, openFor)
	defer cancel()
	for {
		db, err := open(ctx, path, now, turn)
		if e := new(sqlite.Error); !errors.As(err, &e) || e.Code()&0xff != codeBusy {
			return db, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(openEvery):
		}
	}
}

func open(ctx context.Context, path string, now func() time.Time, turn func() (func(), error)) (*sqldb.DB, error) {
	if err := claim(ctx, path); err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(path, "rw")+"&_journal_mode=WAL")
	if err != nil {
		return nil, err
	}
	// Each connection has a cache of its own. One writes, the others read.
	db.SetMaxOpenConns(4)
	db.SetMaxIdleConns(4)
	return sqldb.Open(ctx, db, sqldb.Dialect{Bytes: "BLOB", Serial: true, Turn: turn, Poll: 250 * time.Millisecond, Now: now})
}

// dsn returns the name of a database for the driver. Without immediate transactions,
// one that reads first fails when another one writes in between; synchronous FULL
// means that what is committed has left the machine's memory.
func dsn(path, mode string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	u.RawQuery = url.Values{
		"mode": {mode}, "_txlock": {"immediate"}, "_dqs": {"0"}, "_defensive": {"1"}, "_error_rc": {"1"},
		"_busy_timeout": {"5000"}, "_synchronous": {"FULL"},
		"_pragma": {"trusted_schema(0)", "cell_size_check(1)"},
	}.Encode()
	return u.String()
}

// claim marks an empty database as ours, and refuses that of another program before
// anything in it changes, its journal mode included.
func claim(ctx context.Context, path string) (err error) {
	db, err := sql.Open("sqlite", dsn(path, "rw"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var id, tables int
	if err := db.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); id == application || err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := tx.QueryRowContext(ctx, `PRAGMA application_id`).Scan(&id); id == application || err != nil {
		return err // another process came first
	}
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
		return err
	}
	if id != 0 || tables > 0 {
		return errForeign
	}
	if _, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d`, application)); err != nil {
		return err
	}
	return tx.Commit()
}

var (
	errForeign = errors.New("it is the database of another program")
	errNoDB    = errors.New("it is no database, or it is damaged")
)

// explained returns an error in words for a person.
func explained(err error) error {
	if e := new(sqlite.Error); errors.As(err, &e) && (e.Code()&0xff == codeNotADB || e.Code()&0xff == codeCorrupt) {
		return fmt.Errorf("%w: %w", errNoDB, err)
	}
	return err
}

// create makes an empty file for its owner only, unless there is a file. It never
// opens one that is there: closing it would release the locks that SQLite holds on it
// in this process.
func create(path string) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		return private(path, info)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	temp, err := tempFor(path)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// private checks that a file is a regular one that only its owner may read.
func private(path string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", path)
	}
	if size := info.Size(); size > 0 && size < minSize {
		return errNoDB // SQLite would take it for an empty one
	}
	if open := info.Mode().Perm() & 0o077; open != 0 && hasModes {
		return fmt.Errorf("others may access %s, mode %v: set it to 0600", path, info.Mode().Perm())
	}
	return nil
}

// Close closes the store.
func (s *Store) Close() error { return errors.Join(s.DB.Close(), s.unlock()) }

func (s *Store) unlock() (err error) {
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	return err
}
