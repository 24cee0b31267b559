package audit

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// liner masks command lines, and caches the last one.
type liner struct {
	dialect  shell.Dialect
	in, out  string
	n        int
	sameLine bool // out would do the same as in
}

func (m *liner) mask(line string) (string, int) {
	if m.in != line || line == "" {
		m.in = line
		m.out, m.n, m.sameLine = maskLine(line, m.dialect)
	}
	return m.out, m.n
}

// maskLine hides the secrets in a command line and keeps the line's effect
// visible: if hiding whole quoted values changes more of the effect than the
// words that contain them, only parts of words are hidden. same reports whether
// the masked line would do the same.
func maskLine(line string, d shell.Dialect) (masked string, n int, same bool) {
	masked, n = mask.Command(line)
	if n == 0 || sameDeeds(line, masked, d) {
		return masked, n, true
	}
	masked, n = mask.Words(line)
	return masked, n, sameDeeds(line, masked, d)
}

// sameDeeds reports whether two lines would do the same apart from the text of
// arguments: equally many actions, of the same kinds, with equally many words,
// the same programs and the same paths.
func sameDeeds(a, b string, d shell.Dialect) bool {
	x, y := shell.Analyze(a, shell.Options{Dialect: d}), shell.Analyze(b, shell.Options{Dialect: d})
	return x.Failed == nil && y.Failed == nil &&
		slices.EqualFunc(x.Actions, y.Actions, func(a, b shell.Action) bool { return sameDeed(x, &a, &b) })
}

func sameDeed(x *shell.Facts, a, b *shell.Action) bool {
	switch {
	case a.Kind != b.Kind || a.May != b.May || a.Parent != b.Parent || len(a.Words) != len(b.Words) || len(a.Assigns) != len(b.Assigns):
		return false
	case a.Kind == shell.Command:
		return len(a.Words) == 0 || a.Words[0].Filled("…") == b.Words[0].Filled("…")
	case a.Kind == shell.Fetch:
		return true // a URL may contain a secret; its host is not one
	case a.Parent >= 0 && x.Actions[a.Parent].Program == nil && strings.Contains(b.Path.Text, mask.Mark):
		return true // any word of an unknown program may be a path
	}
	return a.Path.Filled("…") == b.Path.Filled("…")
}

// maxActions is the maximum number of actions in a record, maxAction the
// maximum length of each in bytes.
const (
	maxActions = 100
	maxAction  = 500
)

// actions describes what was decided besides the use of the tool itself: what a
// command line would do, and what the input of a mapped tool asks for. more is
// the number of actions left out.
func (e *Entry) actions(r permission.Record, m *liner) (names []string, more int) {
	add := func(does *shell.Action) {
		if len(names) == maxActions {
			more++
			return
		}
		name, _ := mask.Text(nameOf(does))
		if len(name) > maxAction {
			name = strings.ToValidUTF8(name[:maxAction], "") + "…"
		}
		names = append(names, name)
	}
	all := append([]permission.MappedUse{{Facts: r.Facts, Dir: r.Use.Dir, Dialect: r.Use.Dialect}}, r.Mapped...)
	for i := range all {
		if m.each(&all[i], &r.Knowledge, add); all[i].Does != nil {
			add(all[i].Does)
		}
	}
	return names, more
}

// each calls f for the actions of the use's command line, if any, with secrets
// masked.
func (m *liner) each(use *permission.MappedUse, know *permission.Knowledge, f func(*shell.Action)) {
	facts := use.Facts
	if facts == nil {
		return
	}
	masked, n := m.mask(facts.Source) // counted with the input
	if n > 0 && m.sameLine {          // otherwise what is run, read or written is not a secret
		facts = shell.Analyze(masked, shell.Options{
			Dir: use.Dir, Home: know.Place.Home, Workspace: know.Place.Workspace, Roots: know.Place.Roots,
			Dialect: use.Dialect, Catalog: know.Catalog,
		})
	}
	for i := range facts.Actions {
		f(&facts.Actions[i])
	}
}

// nameOf describes an action.
func nameOf(a *shell.Action) string {
	switch a.Kind {
	case shell.Command:
		words := make([]string, len(a.Words))
		for i := range a.Words {
			words[i] = quoted(a.Words[i].Filled("…"))
		}
		return "run " + strings.Join(words, " ")
	case shell.Read:
		return "read " + a.Path.Filled("…")
	case shell.Write:
		return "write " + a.Path.Filled("…")
	case shell.Fetch:
		return "fetch " + a.Path.Filled("…")
	}
	return "unclear: " + a.Why.String()
}

// quoted quotes text that a shell would not read as one literal word.
func quoted(word string) string {
	if word != "" && !strings.ContainsAny(word, " \t\r\n'\"\\`$&|;<>(){}[]*?~#!") {
		return word
	}
	return shellword.Single(word)
}
