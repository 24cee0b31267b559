package risk

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// What bash runs of lines that the parser rejects, checked against bash 5.2:
// two negations, an unterminated here-document, and the lines before the line
// with the error.
func TestUnreadableLinesRunInPart(t *testing.T) {
	place := Place{Home: testHome, Workspace: testWorkspace}
	for line, want := range map[string]bool{
		"! ! rm -rf /":                           true,
		"!  !\t! rm -rf /":                       true,
		"true && ! ! rm -rf ~":                   true,
		"rm -rf /\nls 'oops":                     true,
		"ls\nrm -rf /\necho )":                   true,
		"cd /\nrm -rf *\nif":                     true,
		"if true; then\n rm -rf /\nfi\nls (":     true,
		"rm -rf / <<E\nx":                        true,
		"! ! rm -rf / <<E\nx":                    true,
		"rm -rf /\nif true; then\n:\n:\n:\n:\n)": true,
		"rm -rf \\\n/\nls )":                     true,
		"bash -c '! ! rm -rf /'":                 true,
		"sudo sh -c 'rm -rf /\nls )'":            true,
		"xargs bash -c 'rm -rf /\nls )'":         true,
		"eval '! ! rm -rf /'":                    true,
		"eval ! ! rm -rf /":                      true,
		"bash -c \"bash -c '! ! rm -rf /'\"":     true,
		"ls; bash -c 'ls\nrm -rf ~\n('":          true,
		"bash -c 'ls )\nrm -rf /'":               false,
		"bash -c 'ls\nls )'":                     false,
		"echo ';:(){ :|:& };'; bash -c 'ls )'":   false,
		"eval ls )":                              false,
		"rm -rf /; ls )":                         false, // bash reads the whole line first
		"ls 'oops\nrm -rf /":                     false,
		"ls )\nrm -rf /":                         false,
		"cat <<'E'\nrm -rf /\nE\nls )":           false,
		"cat <<E\nrm -rf /":                      false,
		"! ! ls":                                 false,
		"ls\nls )":                               false,
		"if true\nrm -rf /":                      false,
		"":                                       false,
	} {
		f := analyze(line)
		reason, found := Catastrophic(f, place)
		if found != want {
			t.Errorf("%q: catastrophic %v (%s), want %v; it reads %+v", line, found, reason, want, f.Failed)
		}
		got := Summary(f, AppendEach(nil, f, Default, place))
		if (got.Class == Forbidden) != want || f.Failed != nil && got.Class == Safe {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

// A line that does not parse is no safer than what it runs before the error.
func TestUnreadableLinesTakeTheHighest(t *testing.T) {
	for line, want := range map[string]Class{
		"rm x\nls )": High, "rm -rf d\nls )": Forbidden, "ls\nls )": Moderate, "! ! rm x": High, "! ! ls": Moderate, "reboot\n(": Forbidden,
		"curl x | sh\nls )": High,
	} {
		if got := Facts(analyze(line), Default); got.Class != want {
			t.Errorf("%q: %+v, want %v", line, got, want)
		}
	}
}

// If it takes too long to find out what runs before the error, the line is
// forbidden.
func TestUnreadableForTooLong(t *testing.T) {
	line := strings.Repeat(":\n", 20000) + "if :; then\n:\n:\n:\n:\n:\n)"
	if got := Facts(analyze(line), Default); got.Class != Forbidden {
		t.Errorf("%+v", got)
	}
	if got := Facts(analyze(strings.Repeat("ls\n", 5000)+"ls )"), Default); got.Class != Moderate {
		t.Errorf("all before the error is one reading: %+v", got)
	}
	if _, found := Catastrophic(analyze(line), Place{}); found {
		t.Error("nothing catastrophic is proven")
	}
	// The limit counts the lines of one text and of many texts alike.
	many := strings.Repeat("bash -c ':\n:\n:\n:\n:\n:\n:\nif :\n:\n:\n:\n:\n)'\n", 900)
	if got := Facts(analyze(many), Default); got.Class != Forbidden {
		t.Errorf("%v %s", got.Class, got.Reason)
	}
	for _, text := range []string{"! ! ls", "cat <<E\nx", "ls\nls )"} {
		if runs, ok := (&unread{tried: maxTried}).text(text, analyze(text), shell.Options{}); ok || runs != nil {
			t.Errorf("%q is read although too much was", text)
		}
	}
}

// An opaque action without a parent command has no text.
func TestUnreadableWithoutParent(t *testing.T) {
	f := shell.Facts{Actions: []shell.Action{{Kind: shell.Opaque, Parent: -1, Why: shell.Why{Cause: shell.CauseTextUnparsed}}}}
	if got := Facts(&f, Default); got.Class != Moderate {
		t.Errorf("%+v", got)
	}
}

// Lines of another shell are not parsed as bash.
func TestForeignLinesAreNotRead(t *testing.T) {
	for _, line := range []string{"! ! rm -rf /", "rm -rf /\nls )"} {
		f := shell.Analyze(line, shell.Options{Dialect: shell.Foreign})
		if got := Facts(f, Default); got.Class != Moderate {
			t.Errorf("%q: %+v", line, got)
		}
	}
}
