//go:build oracle && linux

package effects

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/test/effectbox"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// harmlessForms are the words that a program without effects is given. One that runs
// its words, or that writes or runs what one of them names, shows it with some of them.
var harmlessForms = []string{
	"c1 x", "-- c1 x", "1 c1 x", "'c1 x'", "-c 'c1 x'", "%O c1 x", "%f c1 x", "%o", "%O %f", "%O %o", "%f %o", "a.txt exec c1", "%O 'c1 x'", "%f", "%O -- %f", "%x", "%O %x", "%p %f",
}

// harmless returns the programs of this machine that the catalogue calls safe whatever
// their words are.
func harmless() (names []string) {
	for p := range program.Builtin {
		if _, err := exec.LookPath(p.Name); err == nil && p.Safe && !p.Wordless && !p.HasSubs() && !slices.Contains(inShell, p.Name) {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// harm returns the effects that only the words of the line can have brought about: a
// start of a program that no other starts by itself, and changes.
func harm(p *rules, line string, got effectbox.Result, links map[string]string) (out []string) {
	for _, v := range violations(p, line, got, links) {
		name, started := strings.CutPrefix(v, "started without cover: ")
		name, _, _ = strings.Cut(name, "|")
		if name, _, _ = strings.Cut(name, " "); !started || slices.Contains([]string{"c1", "c2", "c3", "c9"}, name) {
			out = append(out, v)
		}
	}
	return out
}

// TestHarmless runs the programs that the catalogue calls safe with words that they may
// run or write, and checks that they do neither.
func TestHarmless(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().UnixNano())
	}
	tree := world(t)
	names := harmless()
	all := slices.Concat(realPrograms, names)
	slices.Sort(all)
	box, err := effectbox.Open(effectbox.Config{
		Real: slices.Compact(all), Stubs: stubs, Tree: tree, Dir: work, Home: home, Timeout: 1500 * time.Millisecond,
	}, t.TempDir())
	if err == effectbox.ErrNotRoot {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	g, links, files := newGenerator(*seed, tree), links(tree), env(tree)
	ran, allowed, wrong := map[string]bool{}, 0, 0
	for i := range *lines {
		g.depth, g.commands, g.loops, g.sets, g.extra = 3, nil, nil, nil, nil
		name := names[i%len(names)]
		line := strings.Join(append(append(g.sets, name), g.fill(harmlessForms[i/len(names)%len(harmlessForms)], name)...), " ")
		if len(g.sets) > 0 {
			continue // the variables stand before the line
		}
		p := &rules{mode: "default", allow: []rule{{kind: prefix, words: []string{name}}, {kind: prefix, words: []string{"echo"}}}}
		d, err := decide(p.spec(), line, files)
		if err != nil {
			t.Fatal(err)
		}
		if d.Behavior != permission.Allow {
			continue
		}
		allowed++
		got, err := box.Run(effectbox.Request{Line: line, Bare: true})
		if err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		for _, s := range got.Started {
			ran[s.Name] = true
		}
		if found := harm(p, line, got, links); len(found) > 0 {
			if wrong++; wrong <= 40 {
				t.Errorf("%s\nline: %s", strings.Join(found, "\n"), line)
			}
		}
	}
	t.Logf("seed %d: %d lines of %d programs, %d allowed and run, %d violations; %d programs ran", *seed, *lines, len(names), allowed, wrong, len(ran))
	if allowed*5 < *lines {
		t.Error("too few: the test shows little")
	}
}
