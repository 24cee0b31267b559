package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Sync is how surely a record is kept when its decision is answered.
type Sync uint8

const (
	// SyncGroup: it is on the disk; decisions that come together share the wait.
	SyncGroup Sync = iota
	// SyncEach: it is on the disk, each by a wait of its own.
	SyncEach
	// SyncNone: it is with the operating system. It outlives our own end, not
	// the machine's.
	SyncNone
)

var syncNames = []string{"group", "each", "none"}

// SyncNames lists the texts of all settings, the default first.
func SyncNames() []string { return slices.Clone(syncNames) }

// ParseSync reads a setting.
func ParseSync(text string) (Sync, error) {
	if i := slices.Index(syncNames, text); i >= 0 {
		return Sync(i), nil
	}
	return 0, fmt.Errorf("unknown setting %q: it is %s", text, strings.Join(syncNames, ", "))
}

// maxLate is how many records the head may lack with SyncNone.
const maxLate = 64

// keep waits until the record is kept as the setting wants it.
func (l *Log) keep(seq uint64) error {
	switch l.sync {
	case SyncEach:
		return nil // write did it
	case SyncNone:
		return l.keepLater()
	}
	// Who waits here while another one syncs finds, mostly, that it was synced
	// with it.
	l.kept.Lock()
	defer l.kept.Unlock()
	if l.kept.Seq >= seq {
		return nil
	}
	newest, err := l.newest()
	if err != nil {
		return err
	}
	if err := l.commit(newest); err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.fail(err)
	}
	l.kept.position = newest
	return nil
}

// keepLater brings the head up to date now and then.
func (l *Log) keepLater() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late < maxLate || l.bad != nil {
		return l.bad
	}
	l.late = 0
	return l.head.raise(l.path, l.walk.at, false)
}

// newest is behind the last record that was written.
func (l *Log) newest() (position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = 0
	return l.walk.at, l.bad
}

// unsynced is an error: what was written may not be on the disk, and a second
// try would not tell.
type unsynced struct{ error }

func (u unsynced) Unwrap() error { return u.error }

// commit brings the record to the disk as far as p, and then says so in the
// head.
func (l *Log) commit(p position) error {
	if err := l.file.Sync(); err != nil {
		return unsynced{fmt.Errorf("the disk did not keep it: %w", err)}
	}
	if p.Seq == 1 {
		return l.head.begin(l.path, p)
	}
	return l.head.raise(l.path, p, true)
}

// fail takes note of an error after which nothing can be trusted.
func (l *Log) fail(err error) error {
	if u, ok := err.(unsynced); ok {
		l.bad = u
	}
	return err
}
