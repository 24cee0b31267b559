//go:build oracle && linux

package shell

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/internal/test/realshell"
)

// variables returns the names special to the shell: those that it sets when it
// starts, and those of the table.
func (o oracle) variables(t *testing.T) []string {
	box := openBox(t)
	names := o.ownVariables(t, box)
	for name := range knownVariables() {
		if o.dialect.effectOf(name) != varUnlisted && syntax.ValidName(name) {
			names[name] = ""
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func openBox(t *testing.T) *realshell.Box {
	t.Helper()
	box, err := realshell.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// ownVariables returns the shell's own variables, for zsh with their types.
func (o oracle) ownVariables(t *testing.T, box *realshell.Box) map[string]string {
	line := map[Dialect]string{
		Bash: "for x in $(compgen -v); do c1 $x; done",
		Sh:   "set | while IFS== read -r x y; do c1 $x; done",
		Zsh:  "zmodload zsh/parameter; for x in ${(k)parameters}; do c1 $x $parameters[$x]; done",
	}[o.dialect]
	got, err := box.Run(append(o.argv[:len(o.argv):len(o.argv)], line)...)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, run := range got.Commands {
		if len(run.Argv) > 1 && syntax.ValidName(run.Argv[1]) && run.Argv[1] != "x" && run.Argv[1] != "y" {
			names[run.Argv[1]] = strings.Join(run.Argv[2:], " ")
		}
	}
	if len(names) < 5 {
		t.Fatalf("%s lists only the variables %v", o.argv[0], names)
	}
	return names
}

// TestVariables compares the table of variables with the shells. It must list every
// variable that a shell has when it starts, and the integers of zsh as such. Wherever
// a shell runs the value of a variable, in any of the ways to set it, the line must
// have an opaque spot.
func TestVariables(t *testing.T) {
	for _, o := range []oracle{{[]string{"/bin/bash", "-c"}, Bash}, {[]string{"/bin/dash", "-c"}, Sh}, {[]string{"/bin/zsh", "-f", "-c"}, Zsh}} {
		t.Run(o.argv[0], func(t *testing.T) {
			box := openBox(t)
			for name, typ := range o.ownVariables(t, box) {
				does := o.dialect.effectOf(name)
				if does == varUnlisted && name != "LD_PRELOAD" {
					t.Errorf("the table does not know %s %s", name, typ)
				}
				if strings.HasPrefix(typ, "integer") && does != varCounter {
					t.Errorf("%s is an %s, and no counter in the table", name, typ)
				}
			}
			o.setEach(t, box)
		})
	}
}

// setEach sets every variable in every way to values that a shell may run, or in the short
// form in every third way, by the seed.
func (o oracle) setEach(t *testing.T, box *realshell.Box) {
	lines, ran := 0, map[string]bool{} // the names whose values the shell runs
	all := os.Getenv("AW_LONG") != ""
	for i, name := range o.variables(t) {
		for j, way := range settingWays {
			if !all && (uint64(i+j)+*seed)%3 != 0 {
				continue
			}
			value := "'path[$(c9)]'"
			if strings.Contains(way, "set -x") || strings.Contains(way, "time") {
				value = "'$(c9)'" // a prompt
			}
			line := strings.NewReplacer("N", name, "V", value).Replace(way)
			f := o.analyze(line)
			if mayRunAnything(f) && o.dialect.effectOf(name) != varCounter {
				continue // nothing can be hidden
			}
			got, err := box.Run(append(o.argv[:len(o.argv):len(o.argv)], line)...)
			if err != nil {
				t.Fatal(err)
			}
			lines++
			run, bad := unseen(f, got)
			if bad && run.Words()[0] == "c9" {
				ran[name] = true
			}
			if bad && !mayRunAnything(f) {
				t.Errorf("%s would run %q, which is no action\nline: %q", o.argv[0], run.Words(), line)
			}
		}
	}
	t.Logf("%d lines; %s runs what these are set to: %s", lines, o.argv[0], slices.Sorted(maps.Keys(ran)))
	if least := map[bool]int{true: 5, false: 3}[all]; o.dialect != Sh && len(ran) < least {
		t.Error("hardly a value was evaluated: the test shows nothing")
	}
}
