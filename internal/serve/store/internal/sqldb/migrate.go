package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed migrations
var migrations embed.FS

// migration is a step of the schema. The first has the number 1.
type migration struct{ name, text, sum string }

// steps returns the migrations in order.
func steps() ([]migration, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted
	if err != nil {
		return nil, err
	}
	var list []migration
	for _, file := range files {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		list = append(list, migration{strings.TrimPrefix(file, "migrations/"), string(text), hex.EncodeToString(sum[:])})
	}
	return list, nil
}

// migrate brings the schema up to date, each step in one transaction.
func (d *DB) migrate(ctx context.Context) error {
	list, err := steps()
	if err != nil {
		return err
	}
	// Outside the steps, since it says which of them are done.
	err = d.alone(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS migrations (
			version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL, sum TEXT NOT NULL)`)
		return err
	})
	if err != nil {
		return fmt.Errorf("prepare the store: %w", err)
	}
	for {
		done, err := d.step(ctx, list)
		if done || err != nil {
			return err
		}
	}
}

// alone runs a transaction that may change the schema. Each looks for what is there,
// so that it may be committed twice.
func (d *DB) alone(ctx context.Context, do func(*sql.Tx) error) error {
	return d.transact(ctx, func(tx *sql.Tx) error {
		if d.dialect.Alone != nil {
			if err := d.dialect.Alone(ctx, tx); err != nil {
				return err
			}
		}
		return do(tx)
	})
}

// step applies the next migration, and reports whether there is none left. It looks
// for it within the transaction, since other processes may do the same.
func (d *DB) step(ctx context.Context, list []migration) (done bool, err error) {
	err = d.alone(ctx, func(tx *sql.Tx) error {
		version, err := applied(ctx, tx, list)
		if err != nil {
			return err
		}
		if done = version == len(list); done {
			return nil
		}
		next := list[version]
		if _, err := tx.ExecContext(ctx, strings.ReplaceAll(next.text, "BYTES", d.dialect.Bytes)); err != nil {
			return fmt.Errorf("migrate the store by %s: %w", next.name, err)
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO migrations (version, name, sum) VALUES ($1, $2, $3)`, version+1, next.name, next.sum)
		return err
	})
	return done, err
}

// applied returns how many migrations were applied, and checks that it was these.
func applied(ctx context.Context, tx *sql.Tx, list []migration) (int, error) {
	done, err := all(ctx, tx, scanMigration, `SELECT name, sum FROM migrations ORDER BY version`)
	if err != nil {
		return 0, err
	}
	if len(done) > len(list) {
		return 0, fmt.Errorf("it has version %d, and this program knows versions up to %d: a later agent-wrapper wrote it", len(done), len(list))
	}
	for i, m := range done {
		if m.sum != list[i].sum {
			return 0, fmt.Errorf("its step %d, %s, is not the one that this program knows: another agent-wrapper wrote it", i+1, m.name)
		}
	}
	return len(done), nil
}

func scanMigration(row scanner) (m migration, err error) {
	err = row.Scan(&m.name, &m.sum)
	return m, err
}
