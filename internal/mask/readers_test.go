package mask

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// TestReaders: each reader that the catalogue names exists.
func TestReaders(t *testing.T) {
	named := map[string]bool{}
	for p := range program.Builtin {
		for _, s := range program.SecretsOf(p.Name) {
			if s.Form == program.Reader {
				named[s.Names[0]] = true
			}
		}
	}
	for name := range named {
		if readers[name] == nil {
			t.Errorf("there is no reader %q", name)
		}
	}
	if len(named) != len(readers) {
		t.Errorf("the catalogue names %d of %d readers", len(named), len(readers))
	}
}
