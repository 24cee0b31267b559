package permission

import (
	"math"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// exactOnly is a patterns.Query.Reach that only an exact rule has.
const exactOnly = math.MaxInt

// cover returns the rule of a set of allow rules that proves an action
// allowed, nil if none does: one for the action itself, or a bare rule or one
// for the whole line, which match whatever the line does, or one for a command
// that does it. For an action of tier 3 a bare rule does not count.
func (e *evaluation) cover(set *patterns.Set, i int) *patterns.Rule {
	return e.coverBy(set, i, e.strict(i))
}

func (e *evaluation) coverBy(set *patterns.Set, i int, specific bool) *patterns.Rule {
	if set.Len() == 0 {
		return nil
	}
	a := &e.acts[i]
	q := patterns.Query{Specific: specific, Reach: a.reach()}
	if rule := yes(set, &a.sub, q); rule != nil || !a.command() {
		return rule
	}
	if rule := e.coverParent(set, i, specific); rule != nil {
		return rule
	}
	if a.parent >= 0 && a.inside && a.sub.Kind == patterns.WritePath && a.does.Purpose {
		return e.coverBy(set, a.parent, specific)
	}
	return nil
}

// reach is how far the literal words of a rule for a command must go.
func (a *act) reach() int {
	switch {
	case a.sub.Kind != patterns.RunCommand:
		return 0
	case a.does.Unproven != "":
		return exactOnly
	}
	return a.does.Reach
}

func yes(set *patterns.Set, sub *patterns.Subject, q patterns.Query) *patterns.Rule {
	if rule, m := set.Match(sub, q); m == patterns.Yes {
		return rule
	}
	return nil
}

// coverParent returns a rule for a command that does i: one for exactly its
// words, which covers all that they do, or, if i is a command, one whose own
// words reach into it.
func (e *evaluation) coverParent(set *patterns.Set, i int, specific bool) *patterns.Rule {
	reach := exactOnly
	if e.acts[i].sub.Kind == patterns.RunCommand {
		reach = e.further(0, i)
	}
	for at := i; ; {
		parent := e.acts[at].parent
		if parent < 0 || e.acts[at].does.Redirect {
			return nil
		}
		p := &e.acts[parent]
		q := patterns.Query{Specific: specific, Reach: max(reach, p.reach())}
		if rule := yes(set, &p.sub, q); rule != nil {
			return rule
		}
		reach, at = e.further(reach, parent), parent
	}
}

// further returns how far the words of a rule for the parent of i must reach
// to reach as far as reach into the words of i. A rule that reaches into a
// command whose words do not all stand there (the names that xargs adds) has
// said so itself; one with words that nobody knows yet has not.
func (e *evaluation) further(reach, i int) int {
	a := &e.acts[i]
	if reach == exactOnly || a.parent < 0 || a.does.From < 1 {
		return exactOnly
	}
	if a.does.Unproven != "" && !known(e.acts[a.parent].does.Words) {
		return exactOnly
	}
	return reach + a.does.From
}

func known(words []shell.Word) bool {
	for i := range words {
		if !words[i].Known() {
			return false
		}
	}
	return true
}

// possible looks for an action in a set of ask or deny rules, and for what
// lies below it when it goes through a whole directory.
func (e *evaluation) possible(set *patterns.Set, i int, q patterns.Query) (*patterns.Rule, patterns.Match) {
	a := &e.acts[i]
	rule, m := set.Match(&a.sub, q)
	if m != patterns.No || a.does == nil || !a.does.Recursive || a.sub.Path == nil {
		return rule, m
	}
	return e.below(set, a, q)
}
