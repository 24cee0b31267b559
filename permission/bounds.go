package permission

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Bounds says what a program may not do to single paths while nobody is asked about it,
// for whoever holds programs to a policy by other means than its answers. It is what the
// rules with paths and the tables of files say. The mode, the allow list and the tiers
// are about the command that runs the program, and have answered.
type Bounds struct {
	policies []*Policy
	session  *standing
	named    int // the files that policies name, of which there may come to be more
}

// Bound is what may not be done to a path: the reasons, "" where there is none.
type Bound struct {
	Read, Write string
	Ruled       bool // it is a rule that withholds it from reading
	Kept        bool // it is a rule that withholds it from writing
	Lifted      bool // a rule lets a file of this name be read, or written, somewhere else
	Placed      bool // it is looked for where it is: what is put there in its place counts
}

// Bounds returns the bounds of a policy with those of its further policies, under the
// present rules of a session, which may be nil.
func (p *Policy) Bounds(s *Session) *Bounds {
	b := &Bounds{policies: append([]*Policy{p}, p.Further...), session: s.standing()}
	for _, p := range b.policies {
		b.named += len(p.Guarded) + len(p.Credentials) + len(p.Protect)
	}
	return b
}

// Same reports whether bounds say the same of every path as others did: they are by the
// same policies, which name as many files, and what the session denies has not changed.
func (b *Bounds) Same(others *Bounds) bool {
	return slices.Equal(b.policies, others.policies) && b.named == others.named && b.session.deny == others.session.deny
}

// ReadOnly returns why nothing in the workspace is to be written by anybody: a mode, or
// a rule that denies all edits; "" if there is no such reason.
func (b *Bounds) ReadOnly() string {
	for _, p := range b.policies {
		p = b.session.inMode(p)
		if p.Mode.Traits().ReadOnly {
			return "mode " + p.Mode.String()
		}
		for _, set := range []*patterns.Set{b.session.deny, p.Deny} {
			for _, rule := range set.Rules() {
				if rule.Bare() && rule.Edits() {
					return nameOfRule(rule)
				}
			}
		}
	}
	return ""
}

// At returns the bound of an absolute path without links. With dir set the path is a
// directory, and bound as well if everything in it is.
func (b *Bounds) At(name string, dir bool) Bound {
	var all Bound
	for _, p := range b.policies {
		one := b.by(p, name, dir)
		if all.Read == "" || one.Ruled && !all.Ruled {
			all.Read, all.Ruled = one.Read, one.Ruled
		}
		if all.Write == "" || one.Kept && !all.Kept {
			all.Write, all.Kept = one.Write, one.Kept
		}
		all.Lifted, all.Placed = all.Lifted || one.Lifted, all.Placed || one.Placed
	}
	return all
}

// by returns the bound by one policy.
func (b *Bounds) by(p *Policy, name string, dir bool) Bound {
	asIs := func(name string) (string, bool) { return name, true }
	sub := patterns.Subject{Kind: patterns.ReadPath, Tool: tools.Bash, Path: patterns.NewPath(shell.Word{Text: name}, "", p.Place, asIs)}
	var found Bound
	if found.Read = b.ruled(p, &sub, dir); found.Read != "" {
		found.Ruled = true
	} else {
		found.Read, found.Lifted = unreadable(p, &sub, name)
	}
	sub.Kind = patterns.WritePath
	if found.Write = b.ruled(p, &sub, dir); found.Write != "" {
		found.Kept = true
	} else {
		lifted := false
		found.Write, lifted = unwritable(p, &sub, name)
		found.Lifted = found.Lifted || lifted
	}
	found.Placed = (found.Read != "" || found.Write != "") && p.places(name)
	return found
}

// places reports whether the policy names a file, and not only how it is called.
func (p *Policy) places(name string) bool {
	return slices.ContainsFunc(p.Guarded, func(at string) bool { return same(path.Clean(at), name) }) ||
		slices.Contains(p.Credentials, name) || slices.Contains(withheldNames().absolute, name) ||
		slices.ContainsFunc(p.Protect, func(at Protected) bool { return at.path != "" && same(at.path, name) })
}

// ruled returns the ask or deny rule with a path that is about a path.
func (b *Bounds) ruled(p *Policy, sub *patterns.Subject, dir bool) string {
	for _, set := range []*patterns.Set{b.session.deny, p.Deny, p.Ask} {
		rule, m := set.Match(sub, patterns.Query{Specific: true})
		if m != patterns.No {
			return nameOfRule(rule)
		}
		if !dir || set == nil {
			continue
		}
		for _, rule := range set.Near(sub.Path) {
			if sub.Path.Below(rule, sub) && sub.Path.All(rule) {
				return nameOfRule(rule)
			}
		}
	}
	for _, g := range p.Rules {
		if g.Paths() && g.Match(sub) != patterns.No {
			return g.String()
		}
	}
	return ""
}

// unreadable returns why a file is withheld although no rule is about it: it holds
// secrets, and no rule lets it be read. lifted reports that one would somewhere else.
func unreadable(p *Policy, sub *patterns.Subject, name string) (why string, lifted bool) {
	if credentialEnds().endOf(name).Names != nil || slices.Contains(p.Credentials, name) {
		return "a credential of a person", false
	}
	if !p.SensitiveAsks {
		return "", false
	}
	want := withheldNames().endOf(name)
	if part := risk.SensitiveName(name); want.Names == nil && part != "" {
		want = patterns.Named{Names: []string{strings.ToLower(path.Base(name))}, Least: 1, Pattern: part}
	}
	if want.Names == nil && slices.Contains(withheldNames().absolute, name) {
		want = patterns.Named{Names: []string{path.Base(name)}, Least: 1}
	}
	if want.Names == nil || p.spells(sub, want) {
		return "", false
	}
	return "it holds secrets", p.lifts(want)
}

// unwritable returns why a file is not written although no rule is about it: it is
// protected, and no rule lets it be changed. lifted reports that one would somewhere else.
func unwritable(p *Policy, sub *patterns.Subject, name string) (why string, lifted bool) {
	for _, guarded := range p.Guarded {
		if same(path.Clean(guarded), name) {
			return "it decides what the agent may do", false
		}
	}
	if want := settingsEnds().endOf(name); want.Names != nil {
		return "the agent's settings", false
	}
	want := protectedEnds().endOf(name)
	for i := range p.Protect {
		switch at := &p.Protect[i]; {
		case want.Names != nil:
		case at.path != "" && same(at.path, name):
			want = patterns.Named{Names: []string{path.Base(name)}, Least: 1}
		case at.names != nil:
			want = at.ends.endOf(name)
		}
	}
	if want.Names == nil || p.spells(sub, want) {
		return "", false
	}
	return "it is protected", p.lifts(want)
}

// spells reports whether a rule of the policy lets a path be used and spells it out.
func (p *Policy) spells(sub *patterns.Subject, want patterns.Named) bool {
	named := []patterns.Named{want}
	return yes(p.Allow, sub, patterns.Query{Specific: true, Named: named}) != nil ||
		slices.ContainsFunc(p.Rules, func(g *patterns.Granular) bool { return g.Action() == patterns.Allow && g.Spells(sub, named) })
}

// lifts reports whether a rule of the policy lets a path of some directory be used and spells
// it out.
func (p *Policy) lifts(want patterns.Named) bool {
	return slices.ContainsFunc(p.Allow.Rules(), func(r *patterns.Rule) bool { return r.Spells(want) }) ||
		slices.ContainsFunc(p.Rules, func(g *patterns.Granular) bool { return g.Action() == patterns.Allow && g.SpellsOut(want) })
}

// Home returns the home directory, "" if it is not known.
func (b *Bounds) Home() string { return b.policies[0].Place.Home }

// Files returns the paths outside the directories of the workspace that may be bound,
// whether they exist or not: absolute ones, and those in the home, of which links may lead
// into the workspace.
func (b *Bounds) Files() []string {
	secrets := withheldNames()
	files := slices.Clone(secrets.absolute)
	for _, p := range b.policies {
		files = append(files, p.Guarded...)
		files = append(files, p.Credentials...)
		for i := range p.Protect {
			files = append(files, p.Protect[i].path)
		}
		if p.Place.Home == "" {
			continue
		}
		for _, table := range []ends{secrets, credentialEnds()} {
			for _, names := range table.byLast {
				for _, name := range names {
					files = append(files, p.Place.Home+"/"+strings.Join(name, "/"))
				}
			}
		}
		for _, name := range settingsPaths {
			files = append(files, p.Place.Home+"/"+name)
		}
	}
	slices.Sort(files)
	return slices.DeleteFunc(slices.Compact(files), func(file string) bool { return file == "" })
}

// Protected returns the names, relative to a directory of the workspace, that the tables
// and the policy protect from being written, sorted, as they are spelled: a program that
// looks for Jenkinsfile does not find jenkinsfile.
func (b *Bounds) Protected() []string {
	all := slices.Concat(protectedPaths, settingsPaths)
	for _, p := range b.policies {
		for i := range p.Protect {
			if given := p.Protect[i].given; given != "" {
				all = append(all, given)
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Through returns the rules with paths that may be about something below a link to a
// directory, and need not be about it by the name of its target. A rule for a name at any
// depth is about both if the target is in the workspace (inside).
func (b *Bounds) Through(link string, inside bool) []string {
	var rules []string
	for _, p := range b.policies {
		asIs := func(name string) (string, bool) { return name, true }
		path := patterns.NewPath(shell.Word{Text: link}, "", p.Place, asIs)
		for _, kind := range []patterns.Kind{patterns.ReadPath, patterns.WritePath} {
			sub := patterns.Subject{Kind: kind, Tool: tools.Bash, Path: path}
			for _, set := range []*patterns.Set{b.session.deny, p.Deny} {
				for _, rule := range set.Near(path) {
					deep := p.Place.Workspace + "/x/x/x/" + rule.Last()
					if !rule.Bare() && path.Below(rule, &sub) && !(inside && rule.Last() != "" && rule.Covers(deep)) {
						rules = append(rules, nameOfRule(rule))
					}
				}
			}
		}
		for _, g := range p.Rules {
			if g.Paths() && g.Action() == patterns.Deny {
				rules = append(rules, g.String()) // not looked at closely
			}
		}
	}
	return rules
}

// Root is a directory or file that holds something that a rule is about. Write says that
// the rule is about writing there.
type Root struct {
	Path, Rule string
	Write      bool
}

// Roots returns, for the ask and deny rules with paths, what holds everything that they
// are about: of a home that has two names, by the one without links.
func (b *Bounds) Roots() []Root {
	var roots []Root
	for _, p := range b.policies {
		add := func(paths []string, rule string, write bool) {
			for _, at := range paths {
				if home := p.Place.Home; p.Place.RealHome == "" || !subpath.Within(at, home) {
					roots = append(roots, Root{at, rule, write})
				}
			}
		}
		for _, set := range []*patterns.Set{b.session.deny, p.Deny, p.Ask} {
			for _, rule := range set.Rules() {
				if !rule.Bare() {
					add(rule.Roots(), nameOfRule(rule), rule.Edits())
				}
			}
		}
		for _, g := range p.Rules {
			if g.Paths() {
				add(g.Roots(), g.String(), true)
			}
		}
	}
	slices.SortFunc(roots, func(a, b Root) int { return strings.Compare(a.Path+a.Rule, b.Path+b.Rule) })
	return slices.Compact(roots)
}

// Copies returns where the agent CLI keeps copies of a workspace, which are as free as
// the workspace itself although their directory is protected.
func Copies(workspace string) string { return workspace + "/" + strings.Join(patterns.Worktrees, "/") }

// ends are the paths of a table by their last name, in lower case, to find in it what a
// path ends in.
type ends struct {
	byLast   map[string][][]string
	absolute []string
}

func endsOf(table names) ends {
	e := ends{byLast: map[string][][]string{}}
	for _, all := range table {
		for _, name := range all {
			last := lower(name[len(name)-1])
			e.byLast[last] = append(e.byLast[last], name)
		}
	}
	return e
}

// endOf returns what a rule must spell out for the name of the table that a path ends
// in, the zero value if there is none.
func (e ends) endOf(name string) patterns.Named {
	for _, want := range e.byLast[lower(path.Base(name))] {
		if tail := strings.Join(want, "/"); strings.HasSuffix(lower(name), "/"+lower(tail)) {
			found := patterns.Named{Names: want, Least: len(want)}
			if want[0] == dotenv {
				found.Pattern = dotenv
			}
			return found
		}
	}
	return patterns.Named{}
}

var (
	protectedEnds  = sync.OnceValue(func() ends { return endsOf(protectedNames()) })
	credentialEnds = sync.OnceValue(func() ends { return endsOf(credentialNames()) })
	settingsEnds   = sync.OnceValue(func() ends { return endsOf(settingsNames()) })
	withheldNames  = sync.OnceValue(func() ends {
		anywhere, absolute := risk.SecretPaths()
		e := endsOf(namesOf(anywhere)())
		e.absolute = absolute
		return e
	})
)
