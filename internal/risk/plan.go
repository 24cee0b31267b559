package risk

import (
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// plan holds the rows of a program, parsed on first use: the tables are text,
// and a process meets few of their programs.
type plan struct {
	rows  []program.Row
	wants [][]want // the conditions of each row
	// heads indexes the subcommand paths by their first segment; stars holds
	// those whose first segment has a *.
	heads map[string][]lead
	stars []lead
	plain []int // the rows without a subcommand path
	// paths holds the subcommand paths that "--" alone makes destructive.
	paths []lead
}

// lead is one subcommand path of a row.
type lead struct {
	row  int // index of the row
	path []string
}

// want is one condition of a row: an option in one of its spellings, a minimum
// number of operands, no operand, an operand of some form, or a word that
// destroys data.
type want struct {
	spellings []string
	operands  int
	none      bool
	form      string
	destroys  bool
}

func newPlan(rows []program.Row) *plan {
	p := &plan{rows: rows, wants: make([][]want, len(rows))}
	for i := range rows {
		for one := range strings.FieldsSeq(rows[i].With) {
			p.wants[i] = append(p.wants[i], newWant(one))
		}
		if rows[i].Subs == "" {
			p.plain = append(p.plain, i)
		}
		for one := range strings.FieldsSeq(rows[i].Subs) {
			p.add(lead{i, strings.Split(one, "/")}, rows[i].With == "--" && isDestructive(rows[i].Cause))
		}
	}
	return p
}

func newWant(text string) want {
	switch {
	case text == "+": // an option: cargo +nightly
	case text[0] == '+':
		return want{operands: int(text[1] - '0'), none: text == "+0"}
	case text[0] == '!':
		return want{destroys: true}
	case text[0] == '@':
		return want{form: text[1:]}
	}
	return want{spellings: strings.Split(text, "|")}
}

func (p *plan) add(l lead, paths bool) {
	if paths {
		p.paths = append(p.paths, l)
	}
	head := l.path[0]
	if strings.IndexByte(head, '*') >= 0 {
		p.stars = append(p.stars, l)
		return
	}
	if p.heads == nil {
		p.heads = map[string][]lead{}
	}
	p.heads[head] = append(p.heads[head], l)
}

// index finds the plans of a table by program name.
type index struct {
	table []rated
	plans []atomic.Pointer[plan]
	first func() *[257]uint16 // for each byte, the first entry whose name begins with it or a greater one
}

var (
	ofTerminal = newIndex(terminal)
	kept       sync.Map // *plan by the first row of the list (*program.Row)
)

// ofCatalog returns the plan of a program, or nil if its risk is unknown.
func ofCatalog(name string) *plan {
	rows := program.RiskOf(name)
	if rows == nil {
		return nil
	}
	if p, ok := kept.Load(&rows[0]); ok {
		return p.(*plan)
	}
	p := newPlan(rows)
	kept.Store(&rows[0], p)
	return p
}

func newIndex(table []rated) *index {
	return &index{table, make([]atomic.Pointer[plan], len(table)), sync.OnceValue(func() *[257]uint16 {
		var first [257]uint16
		at := 0
		for b := range first {
			for at < len(table) && int(table[at].name[0]) < b {
				at++
			}
			first[b] = uint16(at)
		}
		return &first
	})}
}

// find returns the plan of a program, or nil if the table lacks it.
func (x *index) find(name string) *plan {
	if name == "" {
		return nil
	}
	first := x.first()
	low, high := int(first[name[0]]), int(first[int(name[0])+1])
	for low < high {
		switch at := (low + high) / 2; {
		case x.table[at].name < name:
			low = at + 1
		case x.table[at].name > name:
			high = at
		default:
			return x.plan(at)
		}
	}
	return nil
}

func (x *index) plan(at int) *plan {
	if p := x.plans[at].Load(); p != nil {
		return p
	}
	p := newPlan(x.table[at].rows)
	x.plans[at].Store(p)
	return p
}

// find returns the row that applies to a command, or nil: of the rows whose
// conditions hold, the one with the longest path, and of several such the
// first.
func (p *plan) find(u *use) *program.Row {
	var room [8]reach
	best, deepest := len(p.rows), 0
	for _, r := range p.reached(u, room[:0]) {
		if (r.depth > deepest || r.depth == deepest && r.row < best) && u.holds(p, r.row, r.depth) {
			best, deepest = r.row, r.depth
		}
	}
	if deepest > 0 {
		return &p.rows[best]
	}
	for _, i := range p.plain {
		if u.holds(p, i, 0) {
			return &p.rows[i]
		}
	}
	return nil
}

// reach is a row with the length of its longest path that is a prefix of a
// command's subcommands.
type reach struct{ row, depth int }

// reached appends the rows that have such a path. The rows without a path are
// in p.plain.
func (p *plan) reached(u *use, rows []reach) []reach {
	if len(u.operands) == 0 || p.heads == nil && p.stars == nil {
		return rows
	}
	for _, leads := range [2][]lead{p.heads[u.operands[0]], p.stars} {
		for i := range leads {
			if u.begins(leads[i].path) {
				rows = further(rows, reach{leads[i].row, len(leads[i].path)})
			}
		}
	}
	return rows
}

func further(rows []reach, r reach) []reach {
	for i := range rows {
		if rows[i].row == r.row {
			rows[i].depth = max(rows[i].depth, r.depth)
			return rows
		}
	}
	return append(rows, r)
}

// names reports whether all operands of a command are subcommands in some row's
// path.
func (p *plan) names(u *use) bool {
	for _, r := range p.reached(u, nil) {
		if r.depth == len(u.operands) {
			return true
		}
	}
	return len(u.operands) == 0 && len(p.plain) > 0
}

// worst returns the highest class of the rows that apply to some command whose
// operands begin with the given ones; "" stands for any operand.
func (p *plan) worst(operands []string) Class {
	var class Class
	for _, i := range p.plain {
		class = max(class, p.rows[i].Class)
	}
	for _, leads := range p.heads {
		class = max(class, p.worstOf(leads, operands))
	}
	return max(class, p.worstOf(p.stars, operands))
}

func (p *plan) worstOf(leads []lead, operands []string) (class Class) {
	for _, l := range leads {
		if l.goesOn(operands) {
			class = max(class, p.rows[l.row].Class)
		}
	}
	return class
}

// goesOn reports whether a command with these operands, and possibly more, can
// match the path.
func (l *lead) goesOn(operands []string) bool {
	for i := range min(len(l.path), len(operands)) {
		if operands[i] != "" && !star(l.path[i], operands[i]) {
			return false
		}
	}
	return true
}
