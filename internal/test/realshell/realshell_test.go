//go:build linux && oracle

package realshell

import (
	"os"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func open(t testing.TB) *Box {
	t.Helper()
	box, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Close() })
	return box
}

// TestBoxTellsWhatRuns checks what the box reports for a line in each shell.
func TestBoxTellsWhatRuns(t *testing.T) {
	box := open(t)
	for _, tt := range []struct{ line, want string }{
		{"c1 a 'b c' ''", "c1|a|b c|"},
		{"c1 && c3", "c1;c3"}, // c1 succeeds
		{"c2 && c3", "c2"},    // c2 fails
		{"c2 || /x/y z", "c2;/x/y|z"},
		{"exec ./c1 a", "./c1|a"},
		{"c3 $(c4)", "c4;c3|c14|o1|*"},
		{"(sleep; c1) & wait", "sleep;c1"},
		{"(c1 x &)", "c1|x"},
		{"c1 \xff", "c1|\xff"},
		{"sh -c 'c1 b'", "sh|-c|c1 b;c1|b"},
		{"echo c1 | { read x; $x; }", "c1"},
		{"while read x; do $x; done", "c16 i1;-n c18 '"},
	} {
		for _, shell := range [][]string{{"/bin/bash", "-c"}, {"/bin/dash", "-c"}, {"/bin/zsh", "-f", "-c"}} {
			got, err := box.Run(append(shell, tt.line)...)
			if err != nil {
				t.Fatal(err)
			}
			var cmds []string
			for _, c := range got.Commands {
				cmds = append(cmds, strings.Join(c.Words(), "|"))
			}
			want := tt.want
			if shell[0] != "/bin/zsh" { // zsh does not split variables, nor remove their spaces
				want = strings.NewReplacer("c16 i1", "c16|i1", "-n c18 '", "-n|c18|'", "o1|*", "o1|-rf|a.txt|b|sub").Replace(want)
			}
			if text := strings.Join(cmds, ";"); text != want {
				t.Errorf("%s %q: %q, want %q", shell[0], tt.line, text, want)
			}
		}
	}
}

// TestBoxTranslates checks that bash in the box finds the catalogue and expands
// its translations. As bash translates when it reads a line, the variables are
// set in an earlier line.
func TestBoxTranslates(t *testing.T) {
	got, err := open(t).Run("/bin/bash", "-c", "TEXTDOMAINDIR=/t; TEXTDOMAIN=x\nc1 $\"hello\"")
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Commands) != 2 || got.Commands[0].Words()[0] != "c9" {
		t.Errorf("bash ran %q, want c9 and c1", got.Commands)
	}
}

func BenchmarkRun(b *testing.B) {
	box := open(b)
	for _, shell := range [][]string{{"/bin/bash", "-c"}, {"/bin/dash", "-c"}, {"/bin/zsh", "-f", "-c"}} {
		for name, line := range map[string]string{"empty": ":", "commands": "c1 a; x=$(c2 b); c3 | c4"} {
			b.Run(shell[0][5:]+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := box.Run(append(shell, line)...); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
