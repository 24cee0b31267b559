package display

import (
	"slices"
	"strings"
)

// fold shortens what is long so that the question fits on the screen. What caused the
// question stays.
//
// Lines of commands that the policy allows one by one change nothing that an answer is
// about: their rules are others, and they would run without the question. They are
// folded if the question takes more than a part of the screen, and all choices stay but
// one that allows exactly this tool use again. Everything else is what a person decides
// on. It is folded only if it does not fit on the screen at all, and then the Ask is not
// whole: nothing may be kept before all of it was shown.
func (b *builder) fold(a *Ask) {
	height := b.Screen.Height
	b.foldTo(a, height*3/5, true)
	if b.total(a) < height {
		return
	}
	choices := b.Choices
	a.Whole = false // which leaves choices out
	a.offer(choices)
	a.Whole = b.whole
	b.foldTo(a, height-1, false)
}

// total returns the number of rows of the question with its choices and the prompt.
func (b *builder) total(a *Ask) int {
	return rows(a.Text(b.Screen)) + rows(a.Menu(b.Screen)) + 1
}

// foldTo folds the blocks so that the question takes so many rows, or those lines only
// that have nothing but what is allowed.
func (b *builder) foldTo(a *Ask, most int, allowed bool) {
	needs, sum := b.needs(a)
	least := minBody
	if allowed {
		least = minProven
	}
	room := max(most-b.total(a)+sum, least)
	if sum <= room {
		return
	}
	for i, share := range shares(needs, room) {
		if block := &a.Blocks[i]; share < needs[i] {
			lines := b.folded(block, share-(needs[i]-b.height(block.Lines)), a, allowed)
			block.Lines = lines
		}
	}
}

// needs returns the number of rows of each block, and of all.
func (b *builder) needs(a *Ask) (needs []int, sum int) {
	for i := range a.Blocks {
		one := Ask{Tool: a.Tool, Blocks: a.Blocks[i : i+1]}
		p := newPage(b.Screen)
		p.blocks(&one)
		needs = append(needs, rows(p.out.String()))
		sum += needs[i]
	}
	return needs, sum
}

// The least number of rows for the input, also on a small screen, and if only what is
// allowed is folded.
const (
	minBody   = 12
	minProven = 4
)

func rows(text string) int { return strings.Count(text, "\n") }

// shares divides rows among blocks: none gets more than it needs.
func shares(needs []int, room int) []int {
	order := make([]int, len(needs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return needs[i] - needs[j] })
	out := make([]int, len(needs))
	for n, i := range order {
		out[i] = min(needs[i], max(room/(len(order)-n), 2))
		room -= out[i]
	}
	return out
}

// height returns the number of rows that lines take in the gutter.
func (b *builder) height(lines []Line) int {
	n := 0
	for i := range lines {
		n += b.rowsOf(&lines[i])
	}
	return n
}

func (b *builder) rowsOf(l *Line) int {
	p := newPage(b.Screen)
	p.line(l)
	return rows(p.out.String())
}

// folded returns the lines of a block, folded to so many rows.
func (b *builder) folded(block *Block, room int, a *Ask, allowed bool) []Line {
	lines := block.Lines
	if !allowed {
		lines = nil
		for _, l := range block.Lines {
			lines = append(lines, b.parts(l, max(room/2, 2))...)
		}
	}
	need := make([]int, len(lines))
	for i := range lines {
		need[i] = b.rowsOf(&lines[i])
	}
	keep := kept(lines, need, room, allowed)
	var out []Line
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && !keep[to] {
			to++
		}
		if to == from {
			out = append(out, lines[from])
			from++
			continue
		}
		out = append(out, b.gap(lines[from:to], a))
		from = to
	}
	return out
}

// gap returns the line that stands for some.
func (b *builder) gap(gone []Line, a *Ask) Line {
	line := Line{Sign: "…", goesOn: true, allowed: true}
	for i := range gone {
		if !gone[i].goesOn {
			line.goesOn = false
		}
	}
	for i := range gone {
		l := &gone[i]
		switch {
		case line.goesOn:
			line.folded += len(l.cells()) + l.folded
		case l.Sign == "…":
			line.folded += max(l.folded, l.Count)
		case !l.goesOn:
			line.folded++
		}
		if !l.allowed {
			a.Whole, b.whole = false, false
		}
	}
	line.allowed = a.Whole
	a.Folded = true
	return line
}

// kept returns which lines stay, in so many rows: the beginning of each mark in any
// case, then the rest of the marks, the first line, and what is near a mark, or near the
// beginning without one.
// With allowed set, every line stays that has anything but what is allowed.
func kept(lines []Line, need []int, room int, allowed bool) []bool {
	keep := make([]bool, len(lines))
	for i := range lines {
		keep[i] = allowed && !lines[i].allowed
	}
	rank := ranks(lines)
	order := make([]int, len(lines))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return rank[i] - rank[j] })
	for _, i := range order {
		if keep[i] {
			continue
		}
		keep[i] = true
		if rank[i] > 0 && height(keep, need) > room {
			keep[i] = false
			if rank[i] >= nearby {
				break // what is nearer stays together
			}
		}
	}
	for i := range keep { // nothing is gained by a line that stands for one row
		alone := (i == 0 || keep[i-1]) && (i+1 == len(keep) || keep[i+1])
		keep[i] = keep[i] || alone && need[i] == 1
	}
	return keep
}

// nearby is the first rank of lines that have no mark.
const nearby = 3

// ranks orders lines by what they tell.
func ranks(lines []Line) []int {
	marked := make([]bool, len(lines))
	for i := range lines {
		marked[i] = slices.ContainsFunc(lines[i].Segments, func(s Segment) bool { return s.Mark })
	}
	none := !slices.Contains(marked, true)
	out := make([]int, len(lines))
	for i := range lines {
		switch {
		case marked[i] && (i == 0 || !marked[i-1]):
		case marked[i]:
			out[i] = 1
		case i == 0:
			out[i] = 2
		case none:
			out[i] = nearby + i
		default:
			out[i] = nearby + distance(marked, i)
		}
	}
	return out
}

// distance returns how far a line is from a mark.
func distance(marked []bool, i int) int {
	for d := 1; ; d++ {
		if i-d >= 0 && marked[i-d] || i+d < len(marked) && marked[i+d] {
			return d
		}
	}
}

// height returns the number of rows of the lines that are kept, with one for each gap.
func height(keep []bool, need []int) int {
	n := 0
	for i := range keep {
		switch {
		case keep[i]:
			n += need[i]
		case i == 0 || keep[i-1]:
			n++
		}
	}
	return n
}

// parts splits a line that takes more than so many rows, so that the runs of it which
// have no mark can be folded, and long marks behind their beginning.
func (b *builder) parts(l Line, room int) []Line {
	if b.rowsOf(&l) <= room || l.Sign == "…" || l.Sign == "@" {
		return []Line{l}
	}
	wide := max(b.Screen.Width, minWidth) - 4
	line := l.cells()
	var out []Line
	for from := 0; from < len(line); {
		to := min(from+fits(line[from:], wide), len(line))
		if to < len(line) {
			to = from + breakAt(line[from:], to-from)
		}
		part := Line{Sign: l.Sign, Segments: segments(line[from:to]), allowed: l.allowed, goesOn: from > 0 || l.goesOn}
		out = append(out, part)
		from = to
	}
	return out
}

// segments is the inverse of cells.
func segments(line []cell) []Segment {
	var out []Segment
	for _, c := range line {
		if n := len(out); n > 0 && out[n-1].Mark == c.mark {
			out[n-1].Text += c.text
		} else {
			out = append(out, Segment{c.text, c.mark})
		}
	}
	return out
}
