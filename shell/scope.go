package shell

import (
	"maps"
	"slices"
	"strings"
)

// scope is the state of the shell at one place of a line. It is never changed,
// only replaced. A nil scope stands for a place that is not reached.
type scope struct {
	dirs  []Word          // the directories that the shell may be in
	set   map[string]bool // variables that were assigned in this line for certain
	all   bool            // every variable counts as set
	funcs map[string]bool // functions that were defined in this line for certain
	names []Word          // places whose names stand on standard input, or nil
}

func known(text string) Word {
	if text == "" {
		return unknown()
	}
	return Word{Text: text}
}

func unknown() Word { return Word{Holes: []Hole{{At: 0, Kind: AnyText}}} }

func (s *scope) with(change func(*scope)) *scope {
	c := *s
	change(&c)
	return &c
}

func (s *scope) in(dirs ...Word) *scope {
	return s.with(func(c *scope) { c.dirs = dirs })
}

func (s *scope) assign(name string) *scope {
	if s.set[name] {
		return s
	}
	return s.with(func(c *scope) { c.set = plus(c.set, name) })
}

func (s *scope) define(name string) *scope {
	return s.with(func(c *scope) { c.funcs = plus(c.funcs, name) })
}

// plus is the set with one name more. A set that is full stays as it is: what
// is not in it counts as not known.
func plus(set map[string]bool, name string) map[string]bool {
	if len(set) >= maxNames {
		return set
	}
	set = maps.Clone(set)
	if set == nil {
		set = map[string]bool{}
	}
	set[name] = true
	return set
}

// join is the state after either of two ways.
func join(a, b *scope) *scope {
	switch {
	case a == nil || a == b:
		return b
	case b == nil:
		return a
	}
	return &scope{
		dirs:  joinDirs(a.dirs, b.dirs),
		set:   both(a.set, b.set),
		funcs: both(a.funcs, b.funcs),
		names: a.names,
	}
}

func both(a, b map[string]bool) map[string]bool {
	if len(a) == 0 || len(b) == 0 {
		return nil
	}
	out := map[string]bool{}
	for k := range a {
		if b[k] {
			out[k] = true
		}
	}
	return out
}

func joinDirs(a, b []Word) []Word {
	out := append(make([]Word, 0, len(a)+len(b)), a...)
	for _, d := range b {
		if !slices.ContainsFunc(out, func(o Word) bool { return sameWord(&o, &d) }) {
			out = append(out, d)
		}
	}
	if len(out) > maxDirs {
		return []Word{unknown()}
	}
	return out
}

func sameWord(a, b *Word) bool {
	return a.Text == b.Text && a.Split == b.Split && slices.Equal(a.Holes, b.Holes)
}

// outcome is the state after a statement that succeeded and after one that
// failed.
type outcome struct{ ok, fail *scope }

func same(s *scope) outcome { return outcome{ok: s, fail: s} }

func (o outcome) any() *scope { return join(o.ok, o.fail) }

// beneath returns the path of a word seen from each of the directories.
func beneath(dirs []Word, path Word) []Word {
	if !relative(&path) {
		return []Word{path}
	}
	out := make([]Word, len(dirs))
	for i, d := range dirs {
		out[i] = joinPath(d, path)
	}
	return out
}

// relative reports whether the word is a path for certain that depends on the
// directory. A hole at its start may be anything, and stays as it is.
func relative(w *Word) bool {
	if strings.HasPrefix(w.Text, "/") && (len(w.Holes) == 0 || w.Holes[0].At > 0) {
		return false
	}
	return len(w.Holes) == 0 || w.Holes[0].At > 0 || w.Holes[0].Kind == Glob
}

func joinPath(dir, path Word) Word {
	if path.Text == "." && path.Known() {
		return dir
	}
	out := Word{
		Text: dir.Text + "/" + path.Text, Holes: slices.Clone(dir.Holes),
		Split: path.Split, Pos: path.Pos, End: path.End,
	}
	if dir.Text == "/" && dir.Known() {
		out.Text = "/" + path.Text
	}
	shift := len(out.Text) - len(path.Text)
	for _, h := range path.Holes {
		out.Holes = append(out.Holes, Hole{At: h.At + shift, Kind: h.Kind})
	}
	return out
}
