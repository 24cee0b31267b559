package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
)

// bound returns a copy of the rule that is prepared for a place.
func (r *Rule) bound(place Place, order int) *Rule {
	b := *r
	b.bind(place, order)
	return &b
}

// bind prepares the rule for a place.
func (r *Rule) bind(place Place, order int) {
	place = place.For(r.source)
	r.place, r.order, r.globs, r.unbound = place, order, nil, false
	if r.command != nil {
		r.command = r.command.bind(place, r.list)
	}
	for i := range r.paths {
		g, ok := r.paths[i].bind(place, r.list)
		if !ok {
			r.unbound = true
			continue
		}
		r.globs = append(r.globs, g)
		if real, ok := g.inRealHome(&place); ok {
			r.globs = append(r.globs, real)
		}
	}
}

// match matches the rule, bound to a place, against a subject. For an allow
// rule the result is Yes or No.
func (r *Rule) match(sub *Subject, q Query) Match {
	if r.bare && q.Specific || !r.bare && q.Bare || r.bare && r.family == ofAll && r.list == Allow || !r.spells(q.Named) {
		return No
	}
	switch r.family {
	case ofAll:
		return Yes
	case ofLines:
		return r.matchLines(sub, q)
	case ofFetch:
		if sub.Kind == FetchURL {
			return r.matchURL(sub)
		}
	case ofTool:
		return r.matchTool(sub)
	default:
		if r.about(sub) {
			m := r.matchPath(sub.Path, sub.Recursive)
			return max(m, maybeIf(m == No && sub.Kind == WritePath && r.list != Allow && sub.Path.All(r)))
		}
	}
	if sub.Kind == Hidden && r.list != Allow {
		return maybeIf(sub.May&r.hiddenBy() != 0)
	}
	return No
}

// hiddenBy returns the effects of which an opaque spot must have one for the
// rule to match it.
func (r *Rule) hiddenBy() shell.Effects {
	switch {
	case r.family == ofLines:
		return shell.MayRun
	case r.family == ofReads:
		return shell.MayRun | shell.MayRead
	case r.family == ofEdits:
		return shell.MayRun | shell.MayWrite
	case r.family == ofFetch:
		return shell.MayRun | shell.MayFetch
	case r.tool == "Write":
		return shell.MayRun
	}
	return 0
}

// matchLines matches a rule about command lines.
func (r *Rule) matchLines(sub *Subject, q Query) Match {
	switch {
	case sub.Tool != r.tool:
		return No
	case r.bare:
		return yesIf(r.list == Allow || sub.Kind == RunCommand || sub.Kind == Hidden)
	case r.list == Allow && (!r.runsHere(sub) || !r.namesScript(sub, q)):
		return No
	case r.list == Allow:
		return r.command.allows(sub, q, r.place.Workspace)
	}
	if m := r.command.possible(sub, r.place); m > No || sub.Kind != Hidden || r.command.onlyLines() {
		return m
	}
	return maybeIf(sub.May&shell.MayRun != 0)
}

// runsHere reports whether the words of a command mean what they mean in the
// directory of the rule's file, or in the workspace if the rule has none. A program that
// is given by a relative path is another one elsewhere, and so may be what a line of
// several commands runs.
func (r *Rule) runsHere(sub *Subject) bool {
	a := sub.Command
	if a == nil || len(a.Words) == 0 {
		return r.source.Dir == ""
	}
	switch {
	case r.source.Dir == "" && r.command.matchLine(sub):
		return true // the whole line says where it is
	case !besideFile(a.Words[0].Text) && !sub.runsFile():
		return true
	}
	for i := range a.Dirs {
		if !a.Dirs[i].Known() || !r.isHere(path.Clean(a.Dirs[i].Text)) {
			return false
		}
	}
	return len(a.Dirs) > 0
}

// isHere reports whether a directory is that of the rule's file or, if the rule has none,
// part of the workspace, whose files all count alike.
func (r *Rule) isHere(dir string) bool {
	if r.source.Dir != "" {
		return dir == r.source.Dir
	}
	return subpath.Within(dir, r.place.Workspace) || slices.ContainsFunc(r.place.Roots, func(root string) bool { return subpath.Within(dir, root) })
}

// besideFile reports whether a program is given by a relative path.
func besideFile(program string) bool { return strings.Contains(program, "/") && !path.IsAbs(program) }

// Relative reports whether it depends on the directory of the rule's file what the
// rule matches: it has a relative path, or a program that is given by one, or a line
// of several commands.
func (r *Rule) Relative() bool {
	for i := range r.paths {
		if r.paths[i].from == atWorkspace || r.paths[i].from == atAnyDepth {
			return true
		}
	}
	c := r.command
	if c == nil {
		return false
	}
	for _, words := range append(c.exact[:len(c.exact):len(c.exact)], c.words) {
		if len(words) > 0 && besideFile(words[0]) {
			return true
		}
	}
	return c.hasCompound()
}

// about reports whether the rule's paths apply to the subject's kind and tool.
func (r *Rule) about(sub *Subject) bool {
	switch r.family {
	case ofReads:
		return sub.Kind == ReadPath
	case ofReadsBy:
		return sub.Kind == ReadPath && sub.Tool == r.tool
	case ofEdits:
		return sub.Kind == WritePath
	case ofEditsBy:
		return sub.Kind == WritePath && sub.Tool == r.tool
	}
	return false
}

func (r *Rule) matchPath(p *Path, tree bool) Match {
	if r.bare {
		return Yes
	}
	if p == nil {
		return maybeIf(r.list != Allow)
	}
	if r.list == Allow {
		return yesIf(p.odd == "" && !p.lost && r.proves(p, tree))
	}
	best := No
	for _, forms := range [2][]form{p.forms, p.also} {
		for i := range forms {
			for k := range r.globs {
				m := r.globs[k].match(&forms[i], false)
				if m == Maybe {
					m = max(m, r.globs[k].match(&forms[i], true))
				}
				best = max(best, m)
			}
		}
	}
	if best == No && (p.odd != "" || p.blind || r.unbound) {
		return Maybe
	}
	return best
}

// proves reports whether all forms of a path certainly match.
func (r *Rule) proves(p *Path, tree bool) bool {
	for i := range p.forms {
		proven := false
		for k := range r.globs {
			proven = proven || r.globs[k].match(&p.forms[i], true) == Yes || tree && r.globs[k].holdsTree(&p.forms[i])
		}
		if !proven {
			return false
		}
	}
	return len(p.forms) > 0
}

func (r *Rule) matchURL(sub *Subject) Match {
	switch {
	case r.bare:
		return Yes
	case sub.URL == nil:
		return maybeIf(r.list != Allow)
	}
	return r.host.match(sub.URL, r.list)
}

// matchTool matches a rule about the use of a tool.
func (r *Rule) matchTool(sub *Subject) Match {
	if r.name != nil && r.name.server {
		return r.name.matchServer(sub.Tool, r.list)
	}
	switch {
	case !sameTool(r.tool, sub.Tool):
		return No
	case r.bare:
		return Yes
	}
	return r.name.match(sub.Name, r.list)
}

// Covers reports whether the rule, taken from a set, may match an absolute path
// as written: symbolic links are not followed.
func (r *Rule) Covers(name string) bool {
	if !r.family.path() {
		return false
	}
	f := newForm(shell.Word{Text: name})
	p := &Path{place: r.place, forms: []form{f}}
	if r.place.Fold && !isASCII(name) {
		p.also = []form{asciiForm(f)}
	}
	return r.matchPath(p, false) > No
}

// Roots returns directories or paths that include everything that the rule,
// taken from a set, may match: for "src/**/*.go" the directory src of the
// workspace. It is nil if the rule matches no paths, and "/" if it may match
// any.
func (r *Rule) Roots() []string {
	if !r.family.path() {
		return nil
	}
	if r.bare || r.unbound {
		return []string{"/"}
	}
	var roots []string
	for i := range r.globs {
		root := r.globs[i].prefix
		if root == "" {
			root = "/"
		}
		roots = append(roots, root)
	}
	return roots
}

// Last returns the pattern for the last name of every path that the rule, one about
// paths, is for: ".env" for Read(./**/.env). It is "" if there is no such pattern.
func (r *Rule) Last() string {
	last := ""
	for i := range r.paths {
		segs := r.paths[i].segs
		if len(segs) == 0 || segs[len(segs)-1].many || i > 0 && segs[len(segs)-1].text != last {
			return ""
		}
		last = segs[len(segs)-1].text
	}
	return last
}

// Below reports whether the rule may match a path below p, for an action on a
// whole directory; sub holds the kind of the action and its tool.
func (p *Path) Below(r *Rule, sub *Subject) bool {
	if !r.about(sub) {
		return false
	}
	if r.bare || p.odd != "" || p.blind || r.unbound {
		return true
	}
	for _, forms := range [2][]form{p.forms, p.also} {
		for i := range forms {
			deeper := forms[i].deeper(segment{deep: true})
			for k := range r.globs {
				if r.globs[k].match(&deeper, false) > No {
					return true
				}
			}
		}
	}
	return false
}

// All reports whether the rule, taken from a set, matches everything directly
// below p, in any of its forms. An action on the whole directory then meets the
// rule unless the directory is empty, and so does one that writes files there
// under names of its own.
func (p *Path) All(r *Rule) bool {
	if p == nil {
		return false
	}
	for i := range p.forms {
		deeper := p.forms[i].deeper()
		for k := range r.globs {
			if r.globs[k].match(&deeper, true) == Yes {
				return true
			}
		}
	}
	return false
}

// deeper returns a path of which is only known that it is below f.
func (f *form) deeper(more ...segment) form {
	segs := append(f.segs[:len(f.segs):len(f.segs)], segment{holes: []shell.Hole{{Kind: shell.Glob}}})
	return form{segs: append(segs, more...)}
}

// holdsTree reports whether the pattern matches everything below a path.
func (g *pathGlob) holdsTree(f *form) bool {
	if n := len(g.names); n == 0 || !g.names[n-1].many {
		return false
	}
	deeper := f.deeper()
	return g.match(&deeper, true) == Yes
}

// Edits reports whether the rule is about what is written at paths.
func (r *Rule) Edits() bool { return r.family == ofEdits || r.family == ofEditsBy }
