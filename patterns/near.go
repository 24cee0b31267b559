package patterns

import (
	"slices"
	"strings"
	"sync"
)

// nearness finds the path rules of a set that may match something below a
// directory. It is built on first use.
type nearness struct {
	once  sync.Once
	names []string // the directories that rules begin with, sorted
}

// fewRules is the number of rules up to which all are tried.
const fewRules = 8

// Near returns, in their order, all rules that may match something below p
// (Path.Below), and possibly others. The caller must not modify the slice.
func (s *Set) Near(p *Path) []*Rule {
	switch {
	case s == nil || p == nil:
		return nil
	case len(s.rules) <= fewRules:
		return s.rules
	}
	if p.odd != "" || p.blind || len(p.also) > 0 {
		return s.rules
	}
	var dirs []*dirRules
	for i := range p.forms {
		if p.forms[i].text == "" {
			return s.rules
		}
		dirs = s.nearForm(dirs, s.fold(p.forms[i].text))
	}
	count := len(s.bare[ReadPath]) + len(s.bare[WritePath])
	for _, d := range dirs {
		count += d.count
	}
	if count > len(s.rules)/fewRules {
		return s.rules // sorting the rules would cost more than trying all of them
	}
	near := slices.Concat(s.bare[ReadPath], s.bare[WritePath])
	for _, d := range dirs {
		near = d.appendTo(near)
	}
	slices.SortFunc(near, func(a, b *Rule) int { return a.order - b.order })
	return slices.Compact(near)
}

// nearForm appends the rules that begin with the directory text, one of its
// parents, or a directory below it.
func (s *Set) nearForm(dirs []*dirRules, text string) []*dirRules {
	add := func(name string) {
		if d := s.dirs[name]; d != nil {
			dirs = append(dirs, d)
		}
	}
	add("")
	for at := 1; at < len(text); at++ {
		if text[at] == '/' {
			add(text[:at])
		}
	}
	if text != "/" {
		add(text)
	}
	below := strings.TrimSuffix(text, "/") + "/"
	names := s.dirNames()
	at, _ := slices.BinarySearch(names, below)
	for ; at < len(names) && strings.HasPrefix(names[at], below); at++ {
		add(names[at])
	}
	return dirs
}

func (s *Set) dirNames() []string {
	s.near.once.Do(func() {
		for name := range s.dirs {
			s.near.names = append(s.near.names, name)
		}
		slices.Sort(s.near.names)
	})
	return s.near.names
}

func (d *dirRules) appendTo(rules []*Rule) []*Rule {
	rules = append(rules, d.any...)
	for _, more := range d.last {
		rules = append(rules, more...)
	}
	return rules
}
