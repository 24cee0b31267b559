// Package sqldb implements store.Store over database/sql. The SQL is the same for
// all databases; a [Dialect] holds what differs.
package sqldb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Dialect is what differs between databases. Both know $1 as a placeholder, ON
// CONFLICT, RETURNING and indexes with a condition.
type Dialect struct {
	Bytes string // type of a column that holds any bytes
	// Lock ends a SELECT of a row that the transaction then changes; "" if a
	// transaction excludes all others that write.
	Lock string
	// Serial lets one transaction at a time write in this process: waiting here is
	// fairer and cheaper than in the database.
	Serial bool
	// Turn, unless nil, waits for the turn of this process to begin a transaction, which
	// ends when begun is called.
	Turn func() (begun func(), err error)
	// Poll is how often the database is asked for changes of other processes while
	// somebody waits for one.
	Poll time.Duration
	// Notify, unless nil, tells other processes within the transaction of a change of
	// an approval. Listen, unless nil, calls heard with each of which it is told, until
	// ctx ends. It is a hint, which may be late or lost.
	Notify func(ctx context.Context, tx *sql.Tx, seq int64) error
	Listen func(ctx context.Context, heard func(seq int64))
	Now    func() time.Time // nil: time.Now
	// Again reports whether a call is to be tried again after its nth error: its
	// transaction had no effect because of another one, or its connection was lost. It
	// may wait. began is when the first attempt did. Nil: never.
	Again func(ctx context.Context, began time.Time, n int, err error) bool
	// Claim notes in a transaction that the write with this name takes place, and
	// reports whether it has not yet. With it a write whose connection was lost while it
	// was committed is tried again, and takes place once. Nil if no connection is lost.
	Claim func(ctx context.Context, tx *sql.Tx, name string) (first bool, err error)
	// Alone, unless nil, keeps others from changing the schema during a transaction.
	Alone func(ctx context.Context, tx *sql.Tx) error
}

// DB is an open store.
type DB struct {
	db      *sql.DB
	dialect Dialect
	writing chan struct{} // holds a value while a transaction writes, if Dialect.Serial
	waiters waiters
}

// Open brings the schema of db up to date and returns the store. db is closed with
// it, and on an error.
func Open(ctx context.Context, db *sql.DB, dialect Dialect) (*DB, error) {
	if dialect.Now == nil {
		dialect.Now = time.Now
	}
	d := &DB{db: db, dialect: dialect, writing: make(chan struct{}, 1)}
	if err := d.migrate(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if err := d.look(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if dialect.Listen != nil {
		d.waiters.start(func(ctx context.Context) {
			dialect.Listen(ctx, func(seq int64) { d.heard(ctx, seq) })
		})
	}
	return d, nil
}

// Close ends all waiting and closes the database.
func (d *DB) Close() error {
	d.waiters.close()
	return d.db.Close()
}

// Check reports whether the store can be written to.
func (d *DB) Check(ctx context.Context) error {
	return d.write(ctx, func(tx *sql.Tx) error {
		_, err := d.next(ctx, tx, "checks", 1)
		return err
	})
}

// errRace is the error of a transaction that has to look again at what is there.
var errRace = errors.New("another transaction was first")

// write runs a transaction that writes, perhaps several times. After an error it had
// no effect, except that one of the connection while it commits leaves that open.
func (d *DB) write(ctx context.Context, do func(*sql.Tx) error) error {
	if d.dialect.Claim == nil {
		return d.transact(ctx, do)
	}
	name := rand.Text()
	return d.transact(ctx, func(tx *sql.Tx) error {
		first, err := d.dialect.Claim(ctx, tx, name)
		if err != nil || !first { // the attempt before was committed after all
			return err
		}
		return do(tx)
	})
}

// transact is write for what may be committed twice.
func (d *DB) transact(ctx context.Context, do func(*sql.Tx) error) error {
	if d.dialect.Serial {
		select {
		case d.writing <- struct{}{}:
			defer func() { <-d.writing }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return d.again(ctx, func() error { return d.once(ctx, do) })
}

// again repeats a call as the dialect says.
func (d *DB) again(ctx context.Context, do func() error) error {
	began := time.Now()
	for n := 1; ; n++ {
		err := do()
		if err == nil || err != errRace && (d.dialect.Again == nil || !d.dialect.Again(ctx, began, n, err)) {
			return err
		}
	}
}

func (d *DB) once(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.begin(ctx)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	defer tx.Rollback() // nothing after a commit
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

func (d *DB) begin(ctx context.Context) (*sql.Tx, error) {
	if d.dialect.Turn != nil {
		begun, err := d.dialect.Turn()
		if err != nil {
			return nil, err
		}
		defer begun()
	}
	return d.db.BeginTx(ctx, nil)
}

// next takes n numbers of a sequence without gaps, and returns the last. Its row is
// locked until the transaction ends, so that the order of numbers is that of the
// commits.
func (d *DB) next(ctx context.Context, tx *sql.Tx, name string, n int64) (last int64, err error) {
	err = tx.QueryRowContext(ctx, `INSERT INTO counters (name, value) VALUES ($1, $2)
		ON CONFLICT (name) DO UPDATE SET value = counters.value + excluded.value RETURNING value`, name, n).Scan(&last)
	return last, err
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// scanner is a row.
type scanner interface{ Scan(into ...any) error }

// readAll returns the rows of a query outside transactions.
func readAll[T any](ctx context.Context, d *DB, scan func(scanner) (T, error), query string, args ...any) (found []T, err error) {
	err = d.again(ctx, func() (err error) {
		found, err = all(ctx, d.db, scan, query, args...)
		return err
	})
	return found, err
}

// readOne returns the row of a query outside transactions.
func readOne[T any](ctx context.Context, d *DB, scan func(scanner) (T, error), query string, args ...any) (found T, err error) {
	err = d.again(ctx, func() (err error) {
		found, err = scan(d.db.QueryRowContext(ctx, query, args...))
		return err
	})
	return found, err
}

// all returns the rows of a query.
func all[T any](ctx context.Context, q querier, scan func(scanner) (T, error), query string, args ...any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		one, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}

// exec runs a statement, and returns none if it changed no row.
func exec(ctx context.Context, tx *sql.Tx, none error, query string, args ...any) error {
	result, err := tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		return none
	}
	return err
}

// or returns the error, or other in place of that for no row.
func or(err, other error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return other
	}
	return err
}

// nanos returns a time as it is stored.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

// instant is a column that holds a time.
type instant struct{ *time.Time }

// Scan reads the column.
func (i instant) Scan(value any) error {
	n, ok := value.(int64)
	if !ok {
		return fmt.Errorf("%T is no time", value)
	}
	if n != 0 {
		*i.Time = time.Unix(0, n).UTC()
	}
	return nil
}

// conditions are the conditions of a query with their arguments.
type conditions struct {
	text string
	args []any
}

// add adds a condition; format has %d for the number of the argument.
func (c *conditions) add(format string, arg any) {
	word := " AND "
	if c.text == "" {
		word = " WHERE "
	}
	c.args = append(c.args, arg)
	c.text += word + fmt.Sprintf(format, len(c.args))
}

// equal adds a condition unless the value is "".
func (c *conditions) equal(column, value string) {
	if value != "" {
		c.add(column+" = $%d", value)
	}
}

// oneOf adds the condition that a column has one of some values, unless there are
// none.
func oneOf[T ~string](c *conditions, column string, values []T) {
	if len(values) == 0 {
		return
	}
	text := ""
	for _, v := range values {
		c.args = append(c.args, string(v))
		text += fmt.Sprintf(", $%d", len(c.args))
	}
	word := " AND "
	if c.text == "" {
		word = " WHERE "
	}
	c.text += word + column + " IN (" + text[2:] + ")"
}

// limit returns the end of a query for up to n rows; 0 means all.
func (c *conditions) limit(n int) string {
	if n <= 0 {
		return ""
	}
	c.args = append(c.args, n)
	return fmt.Sprintf(" LIMIT $%d", len(c.args))
}
