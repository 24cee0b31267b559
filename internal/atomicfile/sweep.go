package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Sweep removes the directories in parent that are older than age, and of more than most
// the oldest, but for the one that is in use and those that another process has locked.
func Sweep(parent, inUse string, most int, age time.Duration) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	type aged struct {
		dir string
		at  time.Time
	}
	var all []aged
	for _, entry := range entries {
		dir := filepath.Join(parent, entry.Name())
		if info, err := entry.Info(); err == nil && info.IsDir() && dir != inUse {
			all = append(all, aged{dir, info.ModTime()})
		}
	}
	slices.SortFunc(all, func(a, b aged) int { return b.at.Compare(a.at) })
	for i, old := range all {
		if i < most && time.Since(old.at) < age {
			continue
		}
		if unlock, free, err := TryLock(old.dir); err == nil && free {
			_ = os.RemoveAll(old.dir)
			unlock()
		}
	}
}
