// Package mutants checks the tests: it removes one guard of the analyser at a
// time and checks that the test for that guard fails.
//
//	AW_LONG=1 go test -tags mutants -v ./internal/test/mutants
//
// It is for tests only. A guard is removed in a copy of its file, which the go
// command reads instead (-overlay); the files themselves are not changed.
package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Mutant is the program without one of its guards.
type Mutant struct {
	Guard string // a description of what is removed
	File  string // relative to the root of the module, with slashes
	Old   string // occurs in the file exactly once
	New   string
	Pkg   string // package of the test, "./shell"; "" is that of the file
	Test  string // must fail: "TestX" or "TestX/part_of_it"
	Tags  string // build tags of the test
}

// pkg returns the package of the test.
func (m *Mutant) pkg() string {
	if m.Pkg != "" {
		return m.Pkg
	}
	return "./" + path.Dir(m.File)
}

// Kill runs the mutant's test in the module at root, and returns nil if it
// fails as it must. dir is a directory for the mutated file.
func (m *Mutant) Kill(ctx context.Context, root, dir string) error {
	overlay, err := m.Overlay(root, dir)
	if err != nil {
		return err
	}
	if out, err := run(ctx, root, "build", "-overlay", overlay, "./"+path.Dir(m.File)); err != nil {
		return fmt.Errorf("the mutant does not compile: %s", out)
	}
	out, err := run(ctx, root, "test", "-overlay", overlay, "-tags", m.Tags, "-count=1", "-vet=off", "-run", pattern(m.Test), m.pkg())
	switch {
	case strings.Contains(out, "[no tests to run]"):
		return fmt.Errorf("there is no test %s in %s", m.Test, m.pkg())
	case err == nil:
		return fmt.Errorf("%s passes without the guard", m.Test)
	case !strings.Contains(out, "--- FAIL: "+m.Test+" "):
		return fmt.Errorf("%s did not fail, something else did: %s", m.Test, out)
	}
	return nil
}

// Overlay writes the mutated file and the overlay that refers to it, and returns
// the path of the overlay.
func (m *Mutant) Overlay(root, dir string) (string, error) {
	file := filepath.Join(root, filepath.FromSlash(m.File))
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(data), m.Old); n != 1 {
		return "", fmt.Errorf("%s holds the text of the guard %d times, not once: %q", m.File, n, m.Old)
	}
	mutated := filepath.Join(dir, "mutated.go")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: mutated}})
	if err != nil {
		return "", err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return overlay, errors.Join(
		os.WriteFile(mutated, []byte(strings.Replace(string(data), m.Old, m.New, 1)), 0o600),
		os.WriteFile(overlay, replace, 0o600),
	)
}

// Baseline runs the tests of the mutants without any mutation. They must pass.
func Baseline(ctx context.Context, root string, table []Mutant) error {
	type group struct{ pkg, tags string }
	tests := map[group][]string{}
	for i := range table {
		top, _, _ := strings.Cut(table[i].Test, "/")
		g := group{table[i].pkg(), table[i].Tags}
		tests[g] = append(tests[g], top)
	}
	for g, names := range tests {
		if out, err := run(ctx, root, "test", "-tags", g.tags, "-count=1", "-vet=off", "-run", "^("+strings.Join(names, "|")+")$", g.pkg); err != nil {
			return fmt.Errorf("a test fails without any mutation: %s", out)
		}
	}
	return nil
}

// pattern returns the argument of -run for a test.
func pattern(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = "^" + regexp.QuoteMeta(parts[i]) + "$"
	}
	return strings.Join(parts, "/")
}

func run(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	return string(out[:min(len(out), 4<<10)]), err
}
