package risk

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// start returns a command of the first n words of another.
func start(a *shell.Action, n int) *shell.Action {
	short := *a
	short.Words = a.Words[:n]
	return &short
}

// TestWorstOfEveryRow: no prefix of a row's command has a lower worst class
// than the row.
func TestWorstOfEveryRow(t *testing.T) {
	for profile, table := range map[Profile][]rated{Default: catalogue(), Terminal: terminal} {
		for _, p := range table {
			if profile == Default || lookup(p.name, Default) != nil {
				worstOfRows(t, p, profile)
			}
		}
	}
}

func worstOfRows(t *testing.T, p rated, profile Profile) {
	t.Helper()
	for i := range p.rows {
		for _, path := range paths(&p.rows[i]) {
			a := &shell.Action{Kind: shell.Command, Words: example(p, path, p.rows[i].With)}
			for n := 1; n <= len(a.Words); n++ {
				if got := Worst(start(a, n), profile); got < p.rows[i].Class {
					t.Errorf("%q of %q is %s at worst, not %s", spelling(a.Words[:n]), spelling(a.Words), got, p.rows[i].Class)
				}
			}
		}
	}
}

// TestWorstOfCorpora: no command has a higher class than Worst of its first
// words.
func TestWorstOfCorpora(t *testing.T) {
	n := 0
	for _, line := range lines(t) {
		facts := shell.Analyze(line, shell.Options{Dir: "/home/dev/proj", Home: "/home/dev"})
		for i := range facts.Actions {
			a := &facts.Actions[i]
			if a.Kind != shell.Command || len(a.Words) == 0 || !a.Words[0].Known() {
				continue
			}
			for _, profile := range []Profile{Default, Terminal} {
				whole := Action(a, profile, Place{})
				for k := 1; k <= len(a.Words); k++ {
					n++
					if got := Worst(start(a, k), profile); got < whole.Class {
						t.Errorf("%s: the first %d words of %q are %s at worst, all of them %s", line, k, spelling(a.Words), got, whole.Class)
					}
				}
			}
		}
	}
	if n < 20_000 {
		t.Errorf("only %d commands", n)
	}
}

// What may follow counts only as far as the words leave it open.
func TestWorst(t *testing.T) {
	for line, want := range map[string]Class{
		"kill": Forbidden, "kill 1234": Forbidden, "rm": Forbidden, "rm x": Forbidden, "systemctl": Forbidden, "systemctl restart": Moderate,
		"systemctl $x": Forbidden, "systemctl poweroff": Forbidden, "ls": Safe, "git reset": High, "git status": Moderate, "unheard-of": Moderate,
		"$x": Moderate, "/sbin/halt": Forbidden, "cryptsetup open x": High, "launchctl kickstart x": Moderate, "dd": Forbidden, "srm": High,
	} {
		facts := shell.Analyze(line, shell.Options{})
		if got := Worst(&facts.Actions[0], Default); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	if got := Worst(&shell.Action{Kind: shell.Command}, Default); got != Moderate {
		t.Errorf("a command without words: %s", got)
	}
}
