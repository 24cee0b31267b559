package permission

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// modeAllow returns the answer of the permission mode to an action: an allow or
// none. The denies of plan are hard answers, see planDeny.
func (e *evaluation) modeAllow(i int) answer {
	if e.strict(i) || e.acts[i].protected {
		return answer{}
	}
	if e.traits.AllowsAll || e.traits.AllowsEdits && e.isEdit(i) {
		return answer{behavior: Allow, layer: LayerMode, reason: allowedByMode}
	}
	return answer{}
}

// isEdit reports whether an action is an edit inside the workspace: a write, or
// a command whose purpose is to write files if all of them are inside. What
// removes files is none (rm is of class high), nor what empties or replaces one that git
// ignores: git brings back only what it was told of. The mode does not apply if an ask rule with a specifier possibly
// matches, since such rules override broader permissions.
func (e *evaluation) isEdit(i int) bool {
	a := &e.acts[i]
	switch a.sub.Kind {
	case patterns.WritePath:
		return a.inside && !a.protected && a.unkept == "" && !e.singledOut(i)
	case patterns.RunCommand:
		return a.class < risk.High && e.onlyEdits(i) && !e.singledOut(i)
	}
	return false
}

// singledOut reports whether an ask rule with a specifier possibly matches an
// action.
func (e *evaluation) singledOut(i int) bool {
	if _, m := e.possible(e.policy.Ask, i, patterns.Query{Specific: true}); m != patterns.No {
		return true
	}
	for _, g := range e.policy.Rules {
		if g.Action() == patterns.Ask && g.Specific() && g.Match(&e.acts[i].sub) != patterns.No {
			return true
		}
	}
	return false
}

// edit describes the operands of a command whose purpose is to write them.
type edit struct {
	inside  bool // it writes something to which the mode applies
	outside bool // it writes something to which the mode does not apply
}

func (e *evaluation) onlyEdits(i int) bool {
	does := e.acts[i].does
	if does.Program == nil || does.Unproven() || !does.Words[0].Known() || does.Words[0].Text != does.Program.Name || opens(&e.acts[i]) {
		return false
	}
	if e.edits == nil {
		e.edits = e.purposes()
	}
	return e.edits[i].inside && !e.edits[i].outside
}

func (e *evaluation) purposes() []edit {
	edits := make([]edit, len(e.acts))
	for i := range e.acts {
		a := &e.acts[i]
		switch {
		case a.parent < 0:
		case a.sub.Kind == patterns.ReadPath && a.does.Need == shell.NeedOutside && !a.inside:
			edits[a.parent].outside = true // a source of cp
		case a.sub.Kind != patterns.WritePath || !a.does.Purpose && !isEditor(&e.acts[a.parent]):
		case e.isEdit(i):
			edits[a.parent].inside = true
		default:
			edits[a.parent].outside = true
		}
	}
	return edits
}

// isEditor reports whether a command does nothing but write files that its words
// name (sed -i, tee).
func isEditor(a *act) bool {
	return a.does.Program != nil && a.does.Program.Facts&program.Editor != 0
}

// opens reports whether a command lets everybody write, or a file run with its
// owner's rights: chmod 777, o+w, u+s (chmod(1)).
func opens(a *act) bool {
	return a.does.Program.Operands == program.ModeWrites && slices.ContainsFunc(a.does.Words[1:], func(w shell.Word) bool {
		return slices.ContainsFunc(strings.Split(w.Text, ","), opensMode)
	})
}

// opensMode reports whether a mode, octal or a clause of a symbolic one, may give
// such rights.
func opensMode(mode string) bool {
	if bits, err := strconv.ParseUint(mode, 8, 16); err == nil {
		return bits&0o6002 != 0
	}
	at := strings.IndexAny(mode, "+=")
	if at < 0 {
		return false
	}
	who, rights := mode[:at], mode[at:]
	return strings.Contains(rights, "s") || strings.ContainsAny(who, "oa") && strings.ContainsAny(rights, "wug")
}

// below looks for a rule about paths below the directory of a, all of which a
// affects.
func (e *evaluation) below(set *patterns.Set, a *act, q patterns.Query) (*patterns.Rule, patterns.Match) {
	asked := through{set, a.sub.Path.Plain(), a.sub.Kind, strings.Join(a.does.Skips, "/"), a.does.SkipHidden, q.Specific}
	rule, found := e.through[asked]
	if !found || asked.dir == "" {
		rule = e.firstBelow(set, a, q)
		if e.through == nil {
			e.through = map[through]*patterns.Rule{}
		}
		e.through[asked] = rule
	}
	if rule == nil {
		return nil, patterns.No
	}
	return rule, patterns.Maybe
}

// through is an effect on a whole directory, of which a line may have
// thousands.
type through struct {
	set        *patterns.Set
	dir        string
	kind       patterns.Kind
	skips      string
	skipHidden bool
	specific   bool
}

// firstBelow returns the first rule about paths below the directory of a.
func (e *evaluation) firstBelow(set *patterns.Set, a *act, q patterns.Query) *patterns.Rule {
	for _, rule := range set.Near(a.sub.Path) {
		if q.Specific && rule.Bare() {
			continue
		}
		if a.sub.Path.Below(rule, &a.sub) && (a.sub.Path.All(rule) || e.exists(a, rule) && !e.skips(a, rule)) {
			return rule
		}
	}
	return nil
}

// exists asks the file system whether a path that the rule matches exists below
// the path of a. If it cannot be asked, such a path may exist.
func (e *evaluation) exists(a *act, rule *patterns.Rule) bool {
	return e.existsShown(a, rule, !a.does.SkipHidden)
}

// existsShown is the same for a search that shows hidden files or only those that a file
// with names to ignore brings in.
func (e *evaluation) existsShown(a *act, rule *patterns.Rule, hidden bool) bool {
	for _, form := range a.sub.Path.Forms() {
		if e.env == nil || len(form.Holes) > 0 || e.walk(walk{dir: form.Text, rule: rule, hidden: hidden}) {
			return true
		}
	}
	return false
}
