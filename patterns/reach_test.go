package patterns

import (
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestReachHoldsAllSpellings checks that no spelling of a command names a program that
// its reach leaves out: rules for other programs are never matched against spellings.
func TestReachHoldsAllSpellings(t *testing.T) {
	tried, respelled := 0, 0
	check := func(words ...string) {
		a := &shell.Action{Kind: shell.Command, Program: program.Lookup(lastSegment(words[0]))}
		for _, w := range words {
			a.Words = append(a.Words, shell.Word{Text: w})
		}
		sub := &Subject{Kind: RunCommand, Command: a}
		tried++
		to := sub.reach()
		others, _ := spell(sub)
		for _, other := range others {
			respelled++
			name := lastSegment(other.sub.Command.Words[0].Text)
			if !to.any && !slices.Contains(to.names, name) {
				t.Errorf("%q is spelled with %s, which is not in %q", words, name, to.names)
			}
			if !to.any && other.sub.Command.Program == nil && a.Program != nil {
				t.Errorf("%q is spelled with %s, whose words may be commands", words, name)
			}
		}
	}
	for entry := range program.Builtin {
		name := entry.Name
		check(name)
		for i := range entry.Also {
			alias := &entry.Also[i]
			words := slices.Concat([]string{name}, alias.With, alias.From)
			check(words...)
			check(append(words, "pod/x", "a:b", "--targets=c,d")...)
			check(append([]string{"/usr/bin/" + name}, words[1:]...)...)
		}
		for sub := range entry.Subs {
			check(name, sub.Name, "x")
			check(name, "--an-option", sub.Name, "x")
			for i := range entry.Options {
				check(name, entry.Options[i].Names[0], "v", sub.Name, "x")
			}
			check(name+"-"+sub.Name, "x")
		}
		for _, odd := range []string{name + "3.12", name + ".exe", "/etc/init.d/" + name, name + "@1"} {
			check(odd, "run", "x")
		}
	}
	if tried < 3000 || respelled < 1000 {
		t.Errorf("%d commands with %d spellings", tried, respelled)
	}
}
