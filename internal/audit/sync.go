package audit

import (
	"fmt"
	"slices"
	"strings"
)

// Sync is the durability of a record when its decision is answered.
type Sync uint8

const (
	// SyncGroup: it is on disk; concurrent decisions share a sync.
	SyncGroup Sync = iota
	// SyncEach: it is on disk, after a sync of its own.
	SyncEach
	// SyncNone: the operating system has it. It survives a crash of the
	// process, not of the machine.
	SyncNone
)

var syncNames = []string{"group", "each", "none"}

// SyncNames returns the names of all settings, the default first.
func SyncNames() []string { return slices.Clone(syncNames) }

// ParseSync returns the setting of the given name.
func ParseSync(text string) (Sync, error) {
	if i := slices.Index(syncNames, text); i >= 0 {
		return Sync(i), nil
	}
	return 0, fmt.Errorf("unknown setting %q: use one of %s", text, strings.Join(syncNames, ", "))
}

// maxLate is the maximum number of records that the head lacks with SyncNone.
const maxLate = 64

// keep waits until the record is as durable as the setting demands.
func (l *Log) keep(seq uint64) error {
	switch l.sync {
	case SyncEach:
		return nil // write did it
	case SyncNone:
		return l.keepLater()
	}
	// A goroutine that waits here for the sync of another usually finds its own
	// record synced by it.
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

// keepLater updates the head now and then.
func (l *Log) keepLater() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late < maxLate || l.bad != nil {
		return l.bad
	}
	l.late = 0
	return l.head.raise(l.path, l.walk.at, false)
}

// newest returns the position behind the last record that was written.
func (l *Log) newest() (position, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = 0
	return l.walk.at, l.bad
}

// unsynced is the error of a failed sync: what was written may not be on disk,
// and another sync would not report it.
type unsynced struct{ error }

func (u unsynced) Unwrap() error { return u.error }

// commit syncs the record up to p, and then updates the head.
func (l *Log) commit(p position) error {
	if err := l.file.Sync(); err != nil {
		return unsynced{fmt.Errorf("the disk did not keep it: %w", err)}
	}
	if p.Seq == 1 {
		return l.head.begin(l.path, p)
	}
	return l.head.raise(l.path, p, true)
}

// fail stores an error after which nothing can be trusted.
func (l *Log) fail(err error) error {
	if u, ok := err.(unsynced); ok {
		l.bad = u
	}
	return err
}
