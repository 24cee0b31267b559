//go:build mutants

package mutants

import (
	"os"
	"slices"
	"testing"
)

// TestMutants: the tests notice each mutant of the sample that is not argued. With AW_LONG
// all mutants are tried: those outside the sample of make test need no argument.
func TestMutants(t *testing.T) {
	root, all, argued := tree(t)
	list := sample(all, *seed, size)
	long := os.Getenv("AW_LONG") != ""
	if long {
		list = all
		for _, m := range all {
			if _, ok := argued[m.String()]; !ok {
				argued[m.String()] = ""
			}
		}
	} else {
		list = slices.DeleteFunc(list, func(m *mutant) bool { return argued[m.String()] != "" })
	}
	t.Logf("%d mutants, seed %d: %d are tried", len(all), *seed, len(list))
	o, err := try(t.Context(), root, t.TempDir(), list, func(m *mutant, test string) {
		if test == "" {
			t.Logf("survives: %s", m)
		}
	}, left, mutated...)
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range o.faults(argued) {
		t.Error(fault)
	}
	t.Logf("%d killed, %d survived, %d argued", len(o.killed), len(o.survived), len(argued))
}
