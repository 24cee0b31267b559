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
	case s.Len() <= fewRules:
		return s.Rules()
	}
	if p.odd != "" || p.blind || len(p.also) > 0 {
		return s.Rules()
	}
	near := slices.Concat(s.all(listBare+part(ReadPath)), s.all(listBare+part(WritePath)))
	for i := range p.forms {
		if p.forms[i].text == "" {
			return s.Rules()
		}
		if near = s.nearForm(near, s.fold(p.forms[i].text)); len(near) > s.Len()/fewRules {
			return s.Rules() // sorting the rules would cost more than trying all of them
		}
	}
	slices.SortFunc(near, func(a, b *Rule) int { return a.order - b.order })
	return slices.Compact(near)
}

// nearForm appends the rules that begin with the directory text, one of its
// parents, or a directory below it.
func (s *Set) nearForm(near []*Rule, text string) []*Rule {
	add := func(dir string) { near = s.appendDir(near, dir) }
	add("")
	for at := 1; at < len(text); at++ {
		if text[at] == '/' {
			add(text[:at])
		}
	}
	if text != "/" {
		add(text)
	}
	s.dirsBelow(strings.TrimSuffix(text, "/")+"/", add)
	return near
}

// appendDir appends the rules that begin with a directory.
func (s *Set) appendDir(rules []*Rule, dir string) []*Rule {
	if s.pack != nil {
		return append(rules, s.pack.find(s, byBelow, dir)...)
	}
	if d := s.dirs[dir]; d != nil {
		return d.appendTo(rules)
	}
	return rules
}

// dirsBelow calls yield with the directories that rules begin with and whose names begin
// with a text.
func (s *Set) dirsBelow(text string, yield func(dir string)) {
	if s.pack != nil {
		s.pack.dirsBelow(text, yield)
		return
	}
	names := s.dirNames()
	at, _ := slices.BinarySearch(names, text)
	for ; at < len(names) && strings.HasPrefix(names[at], text); at++ {
		yield(names[at])
	}
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
