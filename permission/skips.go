package permission

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The agent's tool for searching, and the field of its input that is rg's -g.
const searcher, globField = "Grep", "glob"

// skips reports whether a recursive read leaves out all that the rule may match below
// its directory: files of the name that ends the rule's pattern. A directory of that
// name is read, so there must be none with anything in it.
func (e *evaluation) skips(a *act, rule *patterns.Rule) bool {
	name := rule.Last()
	if name == "" || e.policy.Place.Fold || !slices.Contains(a.does.Skips, name) {
		return false
	}
	inside, _, err := patterns.Parse("Read(/**/"+name+"/**)", patterns.Deny, rule.Source())
	if err != nil {
		return false
	}
	return !e.exists(a, patterns.NewSet(e.policy.Place, inside).Rules()[0])
}
