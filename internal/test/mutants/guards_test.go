//go:build mutants

package mutants

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/pg"
)

// sample returns the mutants of this run: all of them with AW_LONG, otherwise
// two chosen by AW_SEED.
func sample() []Mutant {
	if os.Getenv("AW_LONG") != "" {
		return Table
	}
	seed, _ := strconv.Atoi(os.Getenv("AW_SEED"))
	at := max(seed, 0) % (len(Table) - 1)
	return Table[at : at+2]
}

// TestMutants removes the guards of the table, one at a time.
func TestMutants(t *testing.T) {
	table := slices.DeleteFunc(slices.Clone(sample()), func(m Mutant) bool { return m.Tags == "postgres" && pg.Bin() == "" })
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if err := Baseline(t.Context(), root, table); err != nil {
		t.Fatal(err)
	}
	killed := 0
	for i := range table {
		m := &table[i]
		t.Run(m.Guard, func(t *testing.T) {
			if err := m.Kill(t.Context(), root, t.TempDir()); err != nil {
				t.Errorf("%s: %v", m.File, err)
				return
			}
			killed++
			t.Logf("%s without its guard: %s fails", m.File, m.Test)
		})
	}
	t.Logf("mutants: %d of %d killed", killed, len(table))
}
