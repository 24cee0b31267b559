package shell

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// walkPrograms calls check with every program and subcommand whose words are known,
// and its full name.
func walkPrograms(check func(name string, p *program.Program)) {
	var walk func(name string, p *program.Program)
	walk = func(name string, p *program.Program) {
		check(name, p)
		for sub := range p.Subs {
			walk(name+" "+sub.Name, sub)
		}
	}
	for p := range program.Builtin {
		if !p.Wordless {
			walk(p.Name, p)
		}
	}
}

func TestSpecialsExist(t *testing.T) {
	walkPrograms(func(name string, p *program.Program) {
		if p.Special == "" || p.Special == "kill" {
			return
		}
		if _, ok := byProgram()[p.Special]; !ok {
			t.Errorf("%s: there is no reader %q", name, p.Special)
		}
	})
}

// TestEntriesAreReached checks that the words of a subcommand lead to its entry.
func TestEntriesAreReached(t *testing.T) {
	walkPrograms(func(name string, p *program.Program) {
		var words []Word
		for _, w := range strings.Fields(name) {
			words = append(words, Word{Text: w})
		}
		if got := ScanWords(program.Lookup(words[0].Text), words).Prog; got.Name != p.Name || len(got.Path) != len(p.Path) {
			t.Errorf("%s is read as %s %v", name, got.Name, got.Path)
		}
	})
}
