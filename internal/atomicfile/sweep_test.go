//go:build unix

package atomicfile

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestSweep: what is old goes, and the oldest of too many; what is in use stays, and files.
func TestSweep(t *testing.T) {
	parent := t.TempDir()
	now := time.Now()
	for i, name := range []string{"new", "second", "third", "locked", "old", "mine"} {
		dir := filepath.Join(parent, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i) * time.Minute)
		if name == "old" {
			at = now.Add(-48 * time.Hour)
		}
		if err := os.Chtimes(dir, at, at); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(parent, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	unlock, err := Lock(filepath.Join(parent, "locked"))
	if err != nil {
		t.Fatal(err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	mine := filepath.Join(parent, "mine")
	Sweep(parent, mine, 10, 24*time.Hour)
	if got, want := left(), []string{"file", "locked", "mine", "new", "second", "third"}; !slices.Equal(got, want) {
		t.Errorf("too old: %q left, want %q", got, want)
	}
	Sweep(parent, mine, 2, 24*time.Hour)
	if got, want := left(), []string{"file", "locked", "mine", "new", "second"}; !slices.Equal(got, want) {
		t.Errorf("too many: %q left, want %q", got, want)
	}
	unlock()
	Sweep(parent, mine, 2, 24*time.Hour)
	if got, want := left(), []string{"file", "mine", "new", "second"}; !slices.Equal(got, want) {
		t.Errorf("unlocked: %q left, want %q", got, want)
	}
	Sweep(filepath.Join(parent, "nothing"), mine, 0, 0) // is no fault
}
