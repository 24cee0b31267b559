package risk

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Report describes a whole command line to a person or a program. Its lists are
// never nil.
type Report struct {
	Class   Class    `json:"risk"`
	Tier    int      `json:"tier"`
	Reasons []string `json:"reasons"` // without duplicates, that of the highest class first
	Factors []string `json:"factors"` // the Factor constants, without duplicates
	// Components are the commands of the line in order, including those that
	// another command runs: sudo ls has two.
	Components []Component `json:"components"`
}

// Component is one command of a line.
type Component struct {
	Command    string   `json:"command"`    // its name as written
	Subcommand string   `json:"subcommand"` // "rollout status"; "" if it has none
	Args       []string `json:"args"`       // the other words; one whose value is known only at run time, as written
	Risk       Class    `json:"risk"`       // of the command itself
	Reason     string   `json:"reason"`
}

// Summary returns the report on a command line. found are the findings of its
// actions in order, as Each returns them or as an override changed them.
func Summary(f *shell.Facts, found []Finding) Report {
	r := newReport(found)
	for _, i := range commands(f) {
		if i < len(found) {
			r.Components = append(r.Components, component(f, &f.Actions[i], &found[i]))
		}
	}
	return r
}

// commands returns the indexes of the commands in the order in which they are
// written. In the actions, the commands of a substitution precede the command
// whose word it is.
func commands(f *shell.Facts) []int {
	var at []int
	for i := range f.Actions {
		if f.Actions[i].Kind == shell.Command {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(f.Actions[a].Pos, f.Actions[b].Pos) })
	return at
}

// newReport returns a report without components.
func newReport(found []Finding) Report {
	r := Report{Class: Safe, Reasons: []string{}, Factors: []string{}, Components: []Component{}}
	byClass := make([]*Finding, len(found))
	for i := range found {
		byClass[i] = &found[i]
		r.Class = max(r.Class, found[i].Class)
		r.Factors = appendNew(r.Factors, found[i].Factors...)
	}
	slices.SortStableFunc(byClass, func(a, b *Finding) int { return cmp.Compare(b.Class, a.Class) })
	for _, one := range byClass {
		if one.Class > Safe || r.Class == Safe {
			r.Reasons = appendNew(r.Reasons, one.reasons()...)
		}
	}
	if len(found) == 0 {
		r.Reasons = append(r.Reasons, nothing)
	}
	r.Tier = r.Class.Tier()
	return r
}

func appendNew(list []string, more ...string) []string {
	for _, one := range more {
		if !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// reasons returns the reason and, separately, that of a substitution.
func (f *Finding) reasons() []string {
	if !f.substituted {
		return []string{f.Reason}
	}
	return []string{f.Reason[:len(f.Reason)-len(behind+substituted)], substituted}
}

func component(f *shell.Facts, a *shell.Action, found *Finding) Component {
	c := Component{Args: []string{}, Risk: found.Class, Reason: found.Reason}
	if len(a.Words) == 0 {
		return c
	}
	c.Command = written(f, &a.Words[0])
	subs := subcommands(a)
	c.Subcommand = strings.Join(texts(a.Words, subs), " ")
	for i := range a.Words[1:] {
		if !slices.Contains(subs, i+1) {
			c.Args = append(c.Args, written(f, &a.Words[i+1]))
		}
	}
	return c
}

// written returns the text of a word, or its source if the text is unknown.
func written(f *shell.Facts, w *shell.Word) string {
	if !w.Known() && w.Pos < w.End && w.End <= len(f.Source) {
		return f.Source[w.Pos:w.End]
	}
	return w.Filled("…")
}

func texts(words []shell.Word, at []int) []string {
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = words[n].Text
	}
	return out
}

// subcommands returns the indexes of the words that name a subcommand: those
// that the catalogue knows as such, or the longest path of the tables that the
// operands begin with. A program that has subcommands has at least its first
// operand there.
func subcommands(a *shell.Action) []int {
	entry := a.Program
	if entry == nil {
		entry = &bare
	}
	var named, operands []int
	for _, arg := range shell.ScanWords(entry, a.Words).Args {
		switch {
		case !a.Words[arg.Word].Known():
			continue
		case arg.Kind == shell.ArgSubcommand:
			named = append(named, arg.Word)
			operands = append(operands, arg.Word)
		case arg.Kind == shell.ArgOperand:
			operands = append(operands, arg.Word)
		}
	}
	p := lookup(programName(a), Default)
	if p == nil || p.heads == nil && p.stars == nil {
		return named
	}
	u := use{operands: texts(a.Words, operands)}
	depth := 1
	for _, r := range p.reached(&u, nil) {
		depth = max(depth, r.depth)
	}
	return operands[:min(max(depth, len(named)), len(operands))]
}
