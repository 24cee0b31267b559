package patterns

import (
	"slices"
	"strings"
)

// Named is the end of a path, from one of its names on, that a rule must spell
// out. The first Least names must occur in the rule's pattern literally and
// adjacent; whatever follows them in the pattern counts as part of this path. A
// wildcard does not spell out anything, except that with Pattern the first name
// may be a pattern that contains this text: *.pem for key.pem. Last requires
// that nothing follows them.
type Named struct {
	Names   []string
	Least   int
	Last    bool
	Pattern string // in lower case
}

// spells reports whether the rule's pattern spells out each of the paths.
func (r *Rule) spells(paths []Named) bool {
	for i := range paths {
		if !r.spellsOne(&paths[i]) {
			return false
		}
	}
	return true
}

// Spells reports whether the rule, wherever it matches, spells out a path.
func (r *Rule) Spells(n Named) bool { return r.spellsOne(&n) }

func (r *Rule) spellsOne(n *Named) bool {
	switch {
	case r.bare:
		return false
	case r.family == ofLines:
		return r.command.spells(n)
	case !r.family.path() || len(r.paths) == 0:
		return false
	}
	for i := range r.paths { // with braces there are several patterns
		if !r.paths[i].spells(n) {
			return false
		}
	}
	return true
}

func (pr *pathRule) spells(n *Named) bool {
	for at := range pr.segs {
		k := 0
		for k < n.Least && at+k < len(pr.segs) && (pr.segs[at+k].is(n.Names[k]) || k == 0 && pr.segs[at].contains(n.Pattern)) {
			k++
		}
		if k == n.Least && (!n.Last || at+k == len(pr.segs)) {
			return true
		}
	}
	return false
}

// is reports whether a name of a pattern is literally text, ignoring case.
func (s *name) is(text string) bool {
	return !s.many && !s.wild && strings.EqualFold(s.literal, text)
}

// contains reports whether the pattern of a name contains a text, "" for none.
func (s *name) contains(text string) bool {
	return text != "" && s.wild && strings.Contains(strings.ToLower(s.text), text)
}

func (c *commandRule) spells(n *Named) bool {
	texts := append(c.words[:len(c.words):len(c.words)], c.lines...)
	for _, words := range c.exact {
		texts = append(texts, words...)
	}
	for _, text := range texts {
		for at := range len(text) {
			if (at == 0 || strings.IndexByte(beforePath, text[at-1]) >= 0) && n.spelledBy(text[at:]) {
				return true
			}
		}
	}
	return false
}

// beforePath and behindPath are the bytes that may enclose a path in the text
// of a rule for commands.
const (
	beforePath = "/=: \t\n'\"<>|&;()"
	behindPath = " \t\n'\"<>|&;():"
)

// spelledBy reports whether a text begins with the names.
func (n *Named) spelledBy(text string) bool {
	for k := 0; ; k++ {
		end := 0
		for end < len(text) && text[end] != '/' && text[end] != wild && strings.IndexByte(behindPath, text[end]) < 0 {
			end++
		}
		name, rest := text[:end], text[end:]
		switch {
		case name == "" || strings.HasPrefix(rest, wildcard):
			return k >= n.Least && (name == "" || k < len(n.Names) && hasPrefixFold(n.Names[k], name))
		case k >= len(n.Names) || !strings.EqualFold(name, n.Names[k]):
			return false
		case !strings.HasPrefix(rest, "/"):
			return k+1 >= n.Least
		}
		text = rest[1:]
	}
}

func hasPrefixFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

// Spells reports whether a granular rule matches a path with a pattern that
// spells it out.
func (g *Granular) Spells(sub *Subject, paths []Named) bool {
	best := No
	for _, t := range g.tools {
		best = max(best, g.tool(t, sub))
	}
	if best != Yes || sub.Path == nil {
		return false
	}
	for _, r := range g.paths {
		if r.spells(paths) && r.matchPath(sub.Path, sub.Recursive) == Yes {
			return true
		}
	}
	return false
}

// SpellsOut reports whether a pattern of a granular rule, wherever it matches, spells out a
// path.
func (g *Granular) SpellsOut(n Named) bool {
	return slices.ContainsFunc(g.paths, func(r *Rule) bool { return r.spellsOne(&n) })
}
