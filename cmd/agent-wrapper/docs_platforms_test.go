package main

import (
	"go/build/constraint"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/releases.md says of every file that stands in for what another platform cannot do
// what does not hold there.
func TestPlatformsDocumented(t *testing.T) {
	text, found := page(t, "docs/releases.md"), 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == "test" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || !standsIn(t, path) {
			return nil
		}
		found++
		if name := strings.TrimPrefix(filepath.ToSlash(path), "../../"); !strings.Contains(text, "`"+name+"`") {
			t.Errorf("docs/releases.md does not say what %s means for its platforms", name)
		}
		return nil
	})
	if err != nil || found < 12 {
		t.Errorf("%v, %d files", err, found)
	}
}

// standsIn reports whether a file is built for macOS or Windows and not for Linux.
func standsIn(t *testing.T, path string) bool {
	t.Helper()
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(src)) {
		if !constraint.IsGoBuild(line) {
			continue
		}
		expr, err := constraint.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		on := func(goos string) bool {
			return expr.Eval(func(tag string) bool { return tag == goos || tag == "unix" && goos != "windows" })
		}
		return !on("linux") && (on("darwin") || on("windows"))
	}
	return false
}
