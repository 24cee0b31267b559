package terminal

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	lang "github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// needsInput returns why a command line may wait for somebody to type: the programs of
// the catalogue that read the keyboard, and shells and interpreters that are given
// nothing else. It decides nothing, and who reads it may be told too much or too little.
func needsInput(command, dir string) (reasons []string) {
	facts := lang.Analyze(command, lang.Options{Dir: dir})
	for i := range facts.Actions {
		a := &facts.Actions[i]
		switch p := a.Program; {
		case a.Kind != lang.Command || p == nil:
		case p.Facts&program.Interactive != 0:
			reasons = append(reasons, a.Words[0].Text+" may read the keyboard")
		case p.Stdin && facts.Simple && len(a.Words) == 1:
			reasons = append(reasons, a.Words[0].Text+" reads what it does from the keyboard")
		}
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}
