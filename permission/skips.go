package permission

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The agent's tool for searching, and the field of its input that is rg's -g.
const searcher, globField = "Grep", "glob"

// globs returns the patterns of files that the agent's tool for searching is given, which
// splits them at blanks and, without braces, at commas.
func (r *reading) globs() []string {
	text, ok := r.input[globField].(string)
	if !ok || r.use.Tool != searcher {
		return nil
	}
	var globs []string
	for _, glob := range strings.Fields(text) {
		if strings.Contains(glob, "{") {
			globs = append(globs, glob)
			continue
		}
		globs = append(globs, strings.FieldsFunc(glob, func(c rune) bool { return c == ',' })...)
	}
	return globs
}

// namesNone reports whether no pattern names the files that the agent's tool reads.
func (r *reading) namesNone() bool {
	return !slices.ContainsFunc(r.globs(), func(glob string) bool { return !strings.HasPrefix(glob, "!") })
}

// anyName reports whether a pattern that names files may be about any name: nothing behind
// its last wildcard tells the kind of file.
func anyName(glob string) bool {
	at := strings.LastIndexAny(glob, `*?]`)
	return !strings.HasPrefix(glob, "!") && at >= 0 && !strings.Contains(glob[at:], ".")
}

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
