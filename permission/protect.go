package permission

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Protected is a path that a policy protects in addition to the table.
type Protected struct {
	names names  // at any depth, like those of the table
	ends  ends   // what paths end in that are so named
	given string // the same as it was given
	path  string // or one path, absolute
}

// ProtectedFile protects one file or directory by its absolute path.
func ProtectedFile(name string) Protected { return Protected{path: path.Clean(name)} }

// ParseProtected parses an entry of protect: names separated by slashes, which
// match at any depth, or a path that begins with / or ~/. The error says what
// to write instead.
func ParseProtected(text string, place patterns.Place) (Protected, error) {
	cut := strings.Split(strings.Trim(text, "/"), "/")
	home := cut[0] == "~"
	switch {
	case strings.Trim(text, "/ \t") == "" || text == "~" || text == "~/":
		return Protected{}, errors.New("it names nothing: write a file (Makefile), a directory (deploy/prod), ~/x or /x")
	case strings.ContainsAny(text, "*?[]{}\\"):
		return Protected{}, errors.New("patterns are not supported here: name a directory to protect everything below it, or write one entry for each file")
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Protected{}, errors.New("it contains a control character: remove it")
	case strings.HasPrefix(cut[0], "~") && !home:
		return Protected{}, errors.New("the home directory of another user is unknown: write its path")
	case slices.ContainsFunc(cut, func(name string) bool { return name == "" || name == "." || name == ".." }):
		return Protected{}, errors.New(`"." and ".." cannot be protected: write only the name, which matches at any depth, or the absolute path`)
	case strings.HasPrefix(text, "/"):
		return ProtectedFile("/" + strings.Join(cut, "/")), nil
	case home && place.Home != "":
		return ProtectedFile(place.Home + "/" + strings.Join(cut[1:], "/")), nil
	case home:
		cut = cut[1:]
	}
	given := strings.Join(cut, "/")
	for i := range cut {
		cut[i] = lower(cut[i])
	}
	named := names{cut[0]: {cut}}
	return Protected{names: named, ends: endsOf(named), given: given}, nil
}

// policyProtects reports whether a write to a path may change something that
// the policy protects.
func (e *evaluation) policyProtects(form shell.Word, tree bool) bool {
	for i := range e.policy.Protect {
		if p := &e.policy.Protect[i]; p.names != nil && named(form, p.names, true) {
			return true
		}
	}
	return slices.ContainsFunc(e.protectedFiles(), func(name string) bool { return reaches(form, name, tree) })
}

// protectedFiles returns the absolute paths that the policy protects, and the
// targets of links there.
func (e *evaluation) protectedFiles() []string {
	if e.watched.files != nil {
		return e.watched.files
	}
	e.watched.files = []string{}
	for i := range e.policy.Protect {
		name := e.policy.Protect[i].path
		if name == "" {
			continue
		}
		e.watched.files = append(e.watched.files, name)
		if real, ok := e.lookUp(name); ok && !same(real, name) {
			e.watched.files = append(e.watched.files, real)
		}
	}
	return e.watched.files
}

// held reports whether only a person may permit a write to a protected path,
// because no rule that allows it spells out what is protected.
func (e *evaluation) held(i int) bool {
	wanted := e.wanted(&e.acts[i])
	return len(wanted) > 0 && !e.spelt(i, wanted)
}

// wanted returns what a rule must spell out to permit a write: the protected
// names in each form of the path. No rule can spell out what is protected for a
// mode by a name that occurs in no word (in a write to a whole directory or in
// an unknown one), so this is omitted.
func (e *evaluation) wanted(a *act) []patterns.Named {
	if !a.protected || a.does.Harmless {
		return nil
	}
	var wanted []patterns.Named
	for _, form := range a.forms {
		wanted = e.wantedBy(wanted, a, form)
	}
	return wanted
}

// wantedFound appends the names that a search chooses if a protected one is among those that
// it may find, and changes, below a path.
func wantedFound(wanted []patterns.Named, a *act, form shell.Word) []patterns.Named {
	if a.does == nil || !a.wholeTree() || !a.finds(form, foundNames()) {
		return wanted
	}
	for _, chosen := range a.does.Chosen {
		wanted = append(wanted, patterns.Named{Names: []string{chosen.Filled("…")}, Least: 1})
	}
	return wanted
}

// wantedBy appends the protected names in one form of a path.
func (e *evaluation) wantedBy(wanted []patterns.Named, a *act, form shell.Word) []patterns.Named {
	wanted = wantedFound(e.wantedAt(wanted, a, form), a, form)
	for _, name := range systemPaths {
		wanted = e.wantedFile(wanted, a, form, name)
	}
	for _, name := range e.protectedFiles() {
		wanted = e.wantedFile(wanted, a, form, name)
	}
	return wanted
}

// wantedAt appends the names of tables that occur in a path, and the file HEAD,
// except where git takes it for a revision (git checkout HEAD).
func (e *evaluation) wantedAt(wanted []patterns.Named, a *act, form shell.Word) []patterns.Named {
	segments := split(form, nil)
	for at := worktree(segments); at < len(segments); at++ {
		note := func(want []string, n int) {
			if e.spoken(a, segments, at, want, n) {
				wanted = append(wanted, spelling(segments[at:], want, n))
			}
		}
		protectedNames().each(segments[at:], note)
		for i := range e.policy.Protect {
			e.policy.Protect[i].names.each(segments[at:], note)
		}
	}
	if makesRepository(form, e.policy.Place.Fold) && a.does.Need != shell.NeedNone {
		wanted = append(wanted, patterns.Named{Names: []string{headFile}, Least: 1})
	}
	return wanted
}

// spelling returns what a rule must spell out for a name of which the path has
// n segments: these, and what follows as far as it is known.
func spelling(segments []shell.Word, want []string, n int) patterns.Named {
	tail := slices.Clone(want[:n])
	for _, s := range segments[n:] {
		if len(s.Holes) > 0 {
			break
		}
		tail = append(tail, s.Text)
	}
	return patterns.Named{Names: tail, Least: n, Last: n < len(want)}
}

// spoken reports whether the path contains n segments of a table's name from at
// on, each of which begins literally. A directory on the way to a protected one
// counts if it may be put there with all of its contents.
func (e *evaluation) spoken(a *act, segments []shell.Word, at int, want []string, n int) bool {
	if n < len(want) && (at+n < len(segments) || e.makesFolder(a) || want[0][0] != '.') {
		return false
	}
	return !slices.ContainsFunc(segments[at:at+n], func(s shell.Word) bool { return len(s.Holes) > 0 && s.Holes[0].At == 0 })
}

// wantedFile appends a protected file that a write to a path may change, unless
// the write affects the whole workspace or home.
func (e *evaluation) wantedFile(wanted []patterns.Named, a *act, form shell.Word, name string) []patterns.Named {
	tree := a.wholeTree() && !holdsWhole(form, &e.policy.Place)
	if !reaches(form, name, tree) {
		return wanted
	}
	tail := []string{path.Base(name)}
	if len(form.Holes) == 0 && subpath.BelowFold(form.Text, name) {
		tail = append(tail, strings.Split(form.Text[len(name)+1:], "/")...)
	}
	return append(wanted, patterns.Named{Names: tail, Least: 1})
}

// worktree returns the index of the first segment inside a copy of the
// workspace, 0 if the path is in none. What is in a copy is as free as in the
// workspace itself, but the copy's own name is not, and what lies in a protected
// directory is no copy: .claude/agents is read with all below it.
func worktree(segments []shell.Word) int {
	for at := range segments {
		n := at + len(patterns.Worktrees)
		known := n+1 < len(segments) && !slices.ContainsFunc(segments[at:n+1], func(s shell.Word) bool { return len(s.Holes) > 0 })
		if !known || fitting(segments[at:], patterns.Worktrees) != len(patterns.Worktrees) {
			continue
		}
		if namedIn(segments[:at], protectedNames(), false) {
			return 0
		}
		return n + 1 + worktree(segments[n+1:])
	}
	return 0
}

// makesFolder reports whether a write creates an empty directory.
func (e *evaluation) makesFolder(a *act) bool {
	if a.parent < 0 {
		return false
	}
	program := e.acts[a.parent].does.Program
	return program != nil && program.Name == "mkdir"
}

// spelt reports whether a rule of any layer that allows a write spells out what
// is protected. If the path occurs in no word, a rule for exactly the command
// suffices.
func (e *evaluation) spelt(i int, wanted []patterns.Named) bool {
	return e.speltBy(e.session.allow, i, wanted) || e.speltBy(e.policy.Allow, i, wanted) ||
		slices.ContainsFunc(e.policy.Rules, func(g *patterns.Granular) bool {
			return g.Action() == patterns.Allow && g.Spells(&e.acts[i].sub, wanted)
		})
}

func (e *evaluation) speltBy(set *patterns.Set, i int, wanted []patterns.Named) bool {
	a := &e.acts[i]
	return e.coverWith(set, i, patterns.Query{Named: wanted}) != nil ||
		a.does.Own && a.parent >= 0 && yes(set, &e.acts[a.parent].sub, patterns.Query{Specific: true, Reach: exactOnly}) != nil
}

// lifting returns a rule that would permit a held write, "" if there is none
// that can be named, for example for the target of a link or an unknown path.
func (e *evaluation) lifting(i int, wanted []patterns.Named) string {
	a, place := &e.acts[i], e.policy.Place
	var texts []string
	if a.parent >= 0 && !a.does.Redirect {
		texts = append(texts, patterns.ExactRule(&e.acts[a.parent].sub))
	}
	text := patterns.ExactRule(&a.sub)
	if inside, ok := strings.CutPrefix(text, "Edit(/"+place.Workspace+"/"); ok && place.Workspace != "" {
		text = "Edit(./" + inside
	}
	for _, text := range append(texts, text) {
		rule, _, err := patterns.Parse(text, patterns.Allow, patterns.Source{})
		if err == nil && e.speltBy(patterns.NewSet(place, rule), i, wanted) {
			return text
		}
	}
	return ""
}

// shown returns the protected file that a write changes, relative to the
// workspace and with links resolved.
func (e *evaluation) shown(a *act) string {
	for _, form := range a.forms {
		if len(e.wantedBy(nil, a, form)) > 0 {
			name := form.Filled("…")
			if len(a.does.Chosen) > 0 {
				name = strings.TrimSuffix(name, "/") + "/…/" + a.does.Chosen[0].Filled("…")
			}
			return strings.TrimPrefix(name, e.policy.Place.Workspace+"/")
		}
	}
	return "a protected file"
}
