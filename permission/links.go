package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// The reasons why a read may leave the workspace by a link.
const (
	leadsOutside  = "it may also read %s, a link that leads out of the workspace"
	uncertainLink = "links there may lead out of the workspace: there are too many files to check, or a directory is unreadable"
)

// strays returns why a read in the workspace may leave it by a link: one that
// pathname expansion or a search may find, or one below a directory that is read
// with the links in it. It is "" if it cannot. Path then proves nothing.
func (e *evaluation) strays(a *act) string {
	s := stray{e: e, sub: patterns.Subject{Kind: patterns.ReadPath, Tool: a.sub.Tool}}
	forms := a.sub.Path.Forms()
	dir, depth := a.sub.Path.Expands()
	if depth > 0 {
		segments := split(forms[len(forms)-1], nil)
		s.names = segments[max(len(segments)-depth, 0):]
	}
	follows := a.does.Recursive && a.does.FollowsLinks
	switch s.deep = follows || a.does.Found; {
	case a.does.Found && a.does.NoFollow && !follows:
		return ""
	case !s.deep && depth == 0:
		return ""
	case depth == 0:
		dir = forms[len(forms)-1].Text
	}
	s.through = follows
	why := s.from(dir)
	if why != "" {
		own, lost := *a.action, *a.sub.Path // other policies judge by the same reading
		lost.Lose()
		own.sub.Path = &lost
		a.action = &own
	}
	return why
}

// stray is a search for links that lead out of the workspace.
type stray struct {
	e   *evaluation
	sub patterns.Subject
	// names are those below the start that a path has, with holes; deep reports that
	// others may follow, and through that links are followed there.
	names         []shell.Word
	deep, through bool
}

// from searches below a directory.
func (s *stray) from(dir string) string {
	type place struct {
		dir  string
		used int // names
	}
	places := []place{{dir, 0}}
	for at := 0; at < len(places); at++ {
		from := places[at]
		links, all := s.e.linksBelow(from.dir, s.depth(from.used))
		if !all {
			return uncertainLink
		}
		for _, link := range links {
			used, meets := s.meets(from.used, strings.Split(strings.TrimPrefix(link, from.dir+"/"), "/"))
			if !meets {
				continue
			}
			if !s.stays(link) {
				return fmt.Sprintf(leadsOutside, link)
			}
			real, _ := s.e.resolve(link)
			if next := (place{path.Clean(real), used}); (s.through || used < len(s.names)) && !slices.Contains(places, next) {
				places = append(places, next)
			}
		}
	}
	return ""
}

// depth returns how many levels of names follow.
func (s *stray) depth(used int) int {
	if s.deep {
		return anyDepth
	}
	return len(s.names) - used
}

// meets reports whether the path of a link may be that of the names behind the
// first used ones, and how many of them are used then.
func (s *stray) meets(used int, link []string) (int, bool) {
	for _, name := range link {
		switch {
		case used == len(s.names):
			return used, s.deep
		case !fitsGlob(&s.names[used], name):
			return used, false
		}
		used++
	}
	return used, true
}

// fitsGlob reports whether a segment of a path with holes may be a name. Whether a glob
// meets a leading dot depends on the shell's options.
func fitsGlob(segment *shell.Word, name string) bool {
	if len(segment.Holes) == 0 {
		return same(segment.Text, name)
	}
	head, tail := segment.Text[:segment.Holes[0].At], segment.Text[segment.Holes[len(segment.Holes)-1].At:]
	return len(name) >= len(head)+len(tail) && same(name[:len(head)], head) && same(name[len(name)-len(tail):], tail)
}

// stays reports whether a link leads to where a command may read without a rule.
func (s *stray) stays(link string) bool {
	s.sub.Path = patterns.NewPath(shell.Word{Text: link}, "", s.e.policy.Place, s.e.resolve)
	return s.sub.Path.Inside() == patterns.Yes || s.e.isPublic(&s.sub)
}
