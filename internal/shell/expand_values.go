package shell

import "path"

// valuesOf returns the words that a variable may hold here. They are known only if
// the variable is certainly assigned and every assignment in the text is known.
func (w *walker) valuesOf(name string, s *scope) ([]Word, bool) {
	u := w.unit
	if u.poisoned || u.dialect.changes(name) {
		return nil, false
	}
	if u.assigned[name] == nil {
		return w.inherited(name, s)
	}
	if !s.all && !s.set[name] {
		return nil, false
	}
	v := w.textValues(name)
	return v, v != nil
}

// textValues returns the words that the text assigns to a variable, nil if unknown.
func (w *walker) textValues(name string) []Word {
	u := w.unit
	if u.busy[name] {
		return nil
	}
	if u.busy == nil {
		u.busy = map[string]bool{}
	}
	u.busy[name] = true
	v := w.allValues(name)
	delete(u.busy, name)
	return v
}

// allValues returns the words of all assignments to a name, nil if unknown. An
// assignment that was walked has the words that it had there; the others are expanded
// without knowledge of other variables.
func (w *walker) allValues(name string) []Word {
	if len(w.unit.assigned[name]) > maxAlts {
		return nil
	}
	var out []Word
	defer w.mute()()
	nowhere := &scope{dirs: []Word{unknown()}}
	// An expression over a variable that was never assigned is opaque where it
	// stands. Here only the assignments of the text count.
	anywhere := nowhere.with(func(c *scope) { c.all = true })
	for _, a := range w.unit.assigned[name] {
		switch {
		case a.arith != nil:
			h := Hole{Kind: AnyText}
			if w.numeric(a.arith, anywhere) {
				h.Kind = Number
			}
			out = append(out, Word{Holes: []Hole{h}})
		case a.word == nil:
			return nil
		default:
			values, ok := w.unit.seen[a.word]
			if !ok {
				values = w.valuesAt(a, nowhere)
			}
			out = append(out, values...)
		}
		if len(out) > maxAlts {
			return nil
		}
	}
	return out
}

// valuesAt returns the words of one assignment in s.
func (w *walker) valuesAt(a assigned, s *scope) []Word {
	var out []Word
	if a.items {
		for _, list := range w.fields(a.word, s) {
			out = append(out, list...)
		}
	} else {
		out = w.value(a.word, s)
	}
	for i := range out {
		out[i].Split = false
		out[i].Pos, out[i].End = 0, 0
	}
	return out
}

// inherited returns the value of a variable known from outside the line.
func (w *walker) inherited(name string, s *scope) ([]Word, bool) {
	switch name {
	case "HOME":
		if w.opt.Home != "" {
			return []Word{{Text: w.opt.Home}}, true
		}
	case "TMPDIR":
		if w.opt.Temp != "" && w.unit.outer == nil { // a command may run a text without the variable
			return []Word{{Text: w.opt.Temp}}, true
		}
	case "PWD":
		if len(s.dirs) == 1 && s.dirs[0].Known() {
			return []Word{{Text: path.Clean(s.dirs[0].Text)}}, true
		}
	}
	return nil, false
}
