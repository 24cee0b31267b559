package patterns

import (
	"slices"
	"strings"
	"sync"
)

// nearness finds the path rules of a set that may be about something below a
// directory. It is made when it is first asked for.
type nearness struct {
	once  sync.Once
	names []string // the directories that rules begin with, sorted
}

// fewRules is how many rules are gone through one by one.
const fewRules = 8

// Near returns, in their order, rules that may be about what lies below p
// (Path.Below); no other rule of the set is. The caller does not change them.
func (s *Set) Near(p *Path) []*Rule {
	switch {
	case s == nil || p == nil:
		return nil
	case len(s.rules) <= fewRules:
		return s.rules
	}
	near := slices.Concat(s.bare[ReadPath], s.bare[WritePath])
	if p.odd != "" || p.blind || len(p.also) > 0 || slices.ContainsFunc(p.forms, func(f form) bool { return f.text == "" }) {
		near = append(near, s.paths...)
	} else {
		for i := range p.forms {
			near = s.nearForm(near, s.fold(p.forms[i].text))
		}
	}
	if len(near) > len(s.rules)/fewRules {
		return s.rules // to sort them would cost more than to go through all
	}
	slices.SortFunc(near, func(a, b *Rule) int { return a.order - b.order })
	return slices.Compact(near)
}

// nearForm appends the rules that begin with the directory text, with one that
// it lies in, or with one below it.
func (s *Set) nearForm(near []*Rule, text string) []*Rule {
	near = s.dirs[""].appendTo(near)
	for at := 1; at < len(text); at++ {
		if text[at] == '/' {
			near = s.dirs[text[:at]].appendTo(near)
		}
	}
	if text != "/" {
		near = s.dirs[text].appendTo(near)
	}
	below := strings.TrimSuffix(text, "/") + "/"
	names := s.dirNames()
	at, _ := slices.BinarySearch(names, below)
	for ; at < len(names) && strings.HasPrefix(names[at], below); at++ {
		near = s.dirs[names[at]].appendTo(near)
	}
	return near
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
	if d == nil {
		return rules
	}
	rules = append(rules, d.any...)
	for _, more := range d.last {
		rules = append(rules, more...)
	}
	return rules
}
