package permission

import (
	"strings"
	"testing"
)

// leaving are lines that leave something to the next line of their shell, with the reason.
var leaving = map[string]string{
	"export GOCACHEPROG=./x":       "the variable GOCACHEPROG stays set for later commands, and may change what they do",
	"GOCACHEPROG=./x":              "the variable GOCACHEPROG stays set for later commands, and may change what they do",
	"export UNHEARD=x":             "exports a variable to later commands",
	"set -a":                       "later commands get every variable that is set",
	"f() { ls; }":                  "the function f stays defined for later commands",
	"set -x":                       "the shell will print later commands with the values of their variables",
	"x=$NPM_TOKEN":                 "the variable x keeps the value of a variable that may hold a secret for later commands",
	"export UNHEARD=x; cd src; ls": "exports a variable to later commands",
}

// TestOwnShell checks that a line that leaves something behind is asked about unless its
// shell ends with it, and what covers it.
func TestOwnShell(t *testing.T) {
	decide := func(s spec, line string, own bool) Decision {
		use := using("Bash", line)
		use.OwnShell = own
		return s.decideOn(t, use)
	}
	free := spec{risk: true}
	for line, reason := range leaving {
		if d := decide(free, line, false); d.Behavior != Ask || !strings.Contains(d.Reason, reason) {
			t.Errorf("%s: %s, want %q", line, outcome(d), reason)
		}
		if d := decide(spec{risk: true, allow: "Bash", deny: "Bash(rm:*)"}, line, false); d.Behavior != Allow {
			t.Errorf("%s, under a rule for Bash as a whole: %s", line, outcome(d))
		}
		if d := decide(free, line, true); d.Behavior != Allow && !strings.HasSuffix(line, "ls") {
			t.Errorf("%s, in a shell of its own: %s", line, outcome(d))
		}
	}
	named := spec{risk: true, allow: "Bash(export:*)"}
	if d := decide(named, "export UNHEARD=x", false); d.Behavior != Allow {
		t.Errorf("a variable that no program obeys, under a rule for export: %s", outcome(d))
	}
	if d := decide(named, "export GOCACHEPROG=./x", false); d.Behavior != Ask {
		t.Errorf("one that a program obeys, under a rule for export: %s", outcome(d))
	}
	for _, line := range []string{"cd src", "x=1", "export GOOS=linux", "(export GOCACHEPROG=./x)", "for i in a b; do echo $i; done", "NPM_TOKEN=$GITHUB_TOKEN", "set -euo pipefail"} {
		if d := decide(free, line, false); d.Behavior != Allow {
			t.Errorf("%s: %s", line, outcome(d))
		}
	}
}
