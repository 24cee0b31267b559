// Package golden compares the output of a test with a file that is reviewed.
// The flag -update rewrites the file:
//
//	go test ./internal/policy -run TestRealRules -update
//
// It is for tests only, and adds the flag -update to the test binary.
package golden

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files anew")

// Updating reports whether golden files are to be rewritten.
func Updating() bool { return *update }

// Check fails the test if got differs from the contents of the file at path,
// which is relative to the test's directory.
func Check(t testing.TB, path, got string) {
	t.Helper()
	check(t, path, got, *update)
}

func check(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		write(t, path, got)
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s does not exist; run the test with -update and read what it wrote", path)
		return
	}
	if err != nil {
		t.Error(err)
		return
	}
	if diff := diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got); if the change is meant, run with -update:\n%s", path, diff)
	}
}

func write(t testing.TB, path, got string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Error(err)
		return
	}
	if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
		t.Error(err)
	}
}

// diff compares two texts line by line; it returns "" if they are equal.
func diff(want, got string) string {
	if want == got {
		return ""
	}
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}
