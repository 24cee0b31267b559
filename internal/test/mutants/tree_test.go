package mutants

import (
	"path/filepath"
	"testing"
)

// mutated are the packages that get mutants, and whose tests have to notice them.
var mutated = []string{"permission", "patterns", "modes", "internal/shell", "internal/risk"}

// size is the number of mutants in the sample of make test, whose survivors are argued.
const size, usualSeed = 300, 1

// tree returns the mutants of the tree, and the arguments.
func tree(t *testing.T) (root string, all []*mutant, argued map[string]string) {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if all, err = generate(root, mutated...); err != nil {
		t.Fatal(err)
	}
	if argued, err = readArgued(filepath.Join("testdata", "survivors.txt")); err != nil {
		t.Fatal(err)
	}
	return root, all, argued
}

// TestArgued: what is argued is in the sample of make test, and it says why.
func TestArgued(t *testing.T) {
	_, all, argued := tree(t)
	if len(all) < 20_000 {
		t.Errorf("there are only %d mutants", len(all))
	}
	names := map[string]bool{}
	for _, m := range all {
		if names[m.String()] {
			t.Errorf("two mutants have the name %s", m)
		}
		names[m.String()] = false
	}
	for _, m := range sample(all, usualSeed, size) {
		names[m.String()] = true
	}
	for name, why := range argued {
		if !names[name] {
			t.Errorf("this mutant is not in the sample (any more): %s", name)
		}
		if why == "" {
			t.Errorf("no argument for %s", name)
		}
	}
}
