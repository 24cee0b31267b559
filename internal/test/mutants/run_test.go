//go:build mutants

package mutants

import (
	"flag"
	"os"
	"slices"
	"testing"
)

// left are the tests that are not run: the helper of the mutants is not inlined.
const left = "Alloc"

var seed = flag.Int64("seed", usualSeed, "which mutants are in the sample")

// TestMutants: the tests notice each mutant of the sample that is not argued. With AW_LONG
// all mutants are tried: those outside the sample of make test need no argument.
func TestMutants(t *testing.T) {
	root, all, argued := tree(t)
	list := sample(all, *seed, size)
	long := os.Getenv("AW_LONG") != ""
	if long {
		list = all
	} else {
		list = slices.DeleteFunc(list, func(m *mutant) bool { return argued[m.String()] != "" })
	}
	t.Logf("%d mutants, seed %d: %d are tried", len(all), *seed, len(list))
	o, err := try(t.Context(), root, t.TempDir(), list, func(m *mutant, tests int) {
		t.Logf("survives %d tests: %s", tests, m)
	}, left, mutated...)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d killed, %d survived, %d argued", len(o.killed), len(o.survived), len(argued))
	if long {
		usual := sample(all, usualSeed, size)
		o.survived = slices.DeleteFunc(o.survived, func(m *mutant) bool { return !slices.Contains(usual, m) })
	}
	for _, fault := range o.faults(argued) {
		t.Error(fault)
	}
}
