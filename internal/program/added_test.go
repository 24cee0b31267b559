package program_test

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestAdded checks that a section in the catalogue is enough to add a program. Each
// new program gets a row: a line, the commands found in it, its class and the cause.
func TestAdded(t *testing.T) {
	for _, tt := range []struct {
		line, commands string
		class          program.Class
		reason         string
	}{
		{"doas -u bob ls", "doas ls", program.High, "needs root"},
		{"run0 --user=bob ls", "run0 ls", program.High, "needs root"},
		{"gosu bob ls", "gosu ls", program.High, "runs as another user"},
		{"setpriv --reuid 1 ls", "setpriv ls", program.High, "runs with other rights"},
		{"dzdo -u bob ls", "dzdo ls", program.High, "needs root"},
	} {
		facts := shell.Analyze(tt.line, shell.Options{Dir: "/w"})
		var seen []string
		for i := range facts.Actions {
			if a := &facts.Actions[i]; a.Kind == shell.Command {
				seen = append(seen, a.Words[0].Text)
			}
		}
		if got := strings.Join(seen, " "); got != tt.commands {
			t.Errorf("%s: the commands %s are seen, not %s", tt.line, got, tt.commands)
		}
		if got := risk.Summary(facts, risk.Each(facts, risk.Default)); got.Class != tt.class || got.Reasons[0] != tt.reason {
			t.Errorf("%s: %s (%s), want %s (%s)", tt.line, got.Class, got.Reasons[0], tt.class, tt.reason)
		}
	}
}
