package risk

import (
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// A write leaves the workspace by its spelling; an unknown path proves nothing.
func TestWritesOutsideWorkspace(t *testing.T) {
	place := Place{Home: testHome, Workspace: testWorkspace}
	for line, want := range map[string]bool{
		"echo x > out": false, "echo x > /home/dev/proj/out": false, "echo x > ../out": true, "touch /tmp/x": true, "cp a ~/b": true,
		"mkdir sub/../../x": true, "mkdir sub/../x": false, "echo x > /home/dev/proj": false, "echo x > /home/dev/project/x": true,
		"echo x > $y": false, "echo x > /tmp/$y": true, "echo x > /home/$y": false, "echo x > sub/$y": false, "echo x > /home/dev/proj/$y": false,
		"echo x > /dev/null": false, "ls 2>&1": false, "cat /etc/passwd": false, "sort -o /tmp/x f": true, "cd /tmp && touch x": true,
		"touch /tmp/*": true, "echo x > /dev/sda": true,
	} {
		f := analyze(line)
		found := AppendEach(nil, f, Default, place)
		got := slices.ContainsFunc(found, func(one Finding) bool { return slices.Contains(one.Factors, FactorOutside) })
		if got != want {
			t.Errorf("%q: %v, want %v: %+v", line, got, want, found)
		}
		for i, one := range Each(f, Default) {
			if slices.Contains(one.Factors, FactorOutside) || one.Class > found[i].Class {
				t.Errorf("%q, no place: %+v, with one %+v", line, one, found[i])
			}
		}
	}
	relative := shell.Facts{Actions: []shell.Action{{Kind: shell.Write, Path: shell.Word{Text: "x"}, Parent: -1}}}
	if got := AppendEach(nil, &relative, Default, place); len(got[0].Factors) > 0 {
		t.Errorf("a path from a directory that is not known: %+v", got)
	}
}

// If the workspace is known, its removal has the catastrophic class too.
func TestEachKnowsThePlace(t *testing.T) {
	f := analyze("rm -r /home/dev/proj")
	if got := Each(f, Default)[0]; got.Class != High {
		t.Errorf("no place: %+v", got)
	}
	if got := AppendEach(nil, f, Default, Place{Workspace: testWorkspace})[0]; got.Class != Forbidden {
		t.Errorf("the workspace: %+v", got)
	}
}
