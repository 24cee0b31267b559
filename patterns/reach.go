package patterns

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// reach holds the programs that the spellings of a command may name. Rules for other
// programs need no spellings.
type reach struct {
	names []string
	any   bool // the spellings may name others, or meet a rule by any of their words
}

// reaches holds what the programs of the catalogue reach, by their entries.
var reaches sync.Map

// reach returns the programs that the spellings of the subject's command may name.
func (sub *Subject) reach() *reach {
	if sub.reached == nil {
		sub.reached = reachOf(sub)
	}
	return sub.reached
}

func reachOf(sub *Subject) *reach {
	a := sub.Command
	if a == nil || sub.Kind != RunCommand || len(a.Words) == 0 || !a.Words[0].Known() {
		return &reach{}
	}
	name := lastSegment(a.Words[0].Text)
	entry := program.Spellings(a.Program, name)
	if initDirs[path.Dir(a.Words[0].Text)] || entry != nil && entry.HasSubs() && len(a.Words) > 1 && !isSubcommand(&a.Words[1]) {
		return &reach{any: true} // the second: it is spelled without what stands before the subcommand
	}
	if entry == nil || a.Program == nil || entry != program.Lookup(name) {
		return newReach(name, entry, a.Program != nil)
	}
	if r, ok := reaches.Load(entry); ok {
		return r.(*reach)
	}
	r := newReach(name, entry, true)
	reaches.Store(entry, r)
	return r
}

// isSubcommand reports whether the word behind a program is certainly no option.
func isSubcommand(w *shell.Word) bool { return w.Known() && !strings.HasPrefix(w.Text, "-") }

// newReach follows the spellings of a program with an entry, which may be nil, from name
// to name. The words of a program that the catalogue lacks may be commands themselves.
func newReach(name string, entry *program.Program, known bool) *reach {
	r := &reach{}
	r.follow(name, entry)
	if len(r.names) > 0 && !known {
		return &reach{any: true}
	}
	for i := 0; i < len(r.names); i++ {
		if program.Lookup(r.names[i]) == nil && (r.names[i] != name || !known) {
			return &reach{any: true}
		}
		r.follow(r.names[i], program.Spellings(nil, r.names[i]))
	}
	return r
}

// follow adds the names that are one step away.
func (r *reach) follow(name string, entry *program.Program) {
	if entry != nil {
		for i := range entry.Also {
			r.add(lastSegment(entry.Also[i].To[0]))
		}
		if entry.Kinds || entry.Facts&program.TaskRunner != 0 {
			r.add(name)
		}
		if entry.Facts&(program.TaskRunner|program.Interpreter) != 0 {
			r.add("npm")
		}
	}
	if other := unversioned(name); other != "" {
		r.add(other)
	}
	if host, _ := pluginOf(name); host != "" {
		r.add(host)
	}
}

func (r *reach) add(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// meets reports whether the rule is about a program that spellings reach.
func (r *reach) meets(c *commandRule, place Place) bool {
	switch {
	case r.any:
		return true
	case len(r.names) == 0:
		return false
	}
	if len(c.words) > 0 && r.has(c.words[0], place) {
		return true
	}
	return slices.ContainsFunc(c.shapes, func(s *shape) bool { return s.any || r.has(s.words[0], place) })
}

// has reports whether the first word of a rule names one of the programs.
func (r *reach) has(word string, place Place) bool {
	if strings.IndexByte(word, wild) >= 0 {
		return true
	}
	word = lastSegment(word)
	return slices.ContainsFunc(r.names, func(name string) bool { return sameName(word, name, place.Fold) })
}
