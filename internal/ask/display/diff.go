package display

import (
	"fmt"
	"sort"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// op is a line of a diff: ' ' in both texts, '-' in the old one, '+' in the new
// one.
type op struct {
	sign byte
	line string // including its line feed, if it has one
}

func each(sign byte, lines []string) []op {
	out := make([]op, len(lines))
	for i, line := range lines {
		out[i] = op{sign, line}
	}
	return out
}

// split splits a text into lines that keep their line feeds.
func split(text string) []string {
	if text == "" {
		return nil
	}
	out := strings.SplitAfter(text, "\n")
	if out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

// Limits of the search for a small diff. Beyond them the diff is larger, but
// still correct.
const (
	maxDepth = 12
	maxTable = 1 << 18
)

// differ returns the changes from x to y. It aligns the lines that occur exactly
// once in each and recurses between them (patience diff). Where there are none,
// short parts are compared line by line and others replaced as a whole.
func differ(x, y []string, depth int) []op {
	start := 0
	for start < len(x) && start < len(y) && x[start] == y[start] {
		start++
	}
	end := 0
	for end < len(x)-start && end < len(y)-start && x[len(x)-1-end] == y[len(y)-1-end] {
		end++
	}
	out := each(' ', x[:start])
	out = append(out, between(x[start:len(x)-end], y[start:len(y)-end], depth)...)
	return append(out, each(' ', x[len(x)-end:])...)
}

// between diffs parts that have no common first or last line.
func between(x, y []string, depth int) []op {
	var anchors []pair
	if len(x) > 0 && len(y) > 0 && depth > 0 {
		anchors = common(x, y)
	}
	switch {
	case len(anchors) > 0:
	case len(x)*len(y) <= maxTable:
		return table(x, y)
	default:
		return append(each('-', x), each('+', y)...)
	}
	var out []op
	at := pair{}
	for _, p := range anchors {
		out = append(out, differ(x[at.x:p.x], y[at.y:p.y], depth-1)...)
		out = append(out, op{' ', x[p.x]})
		at = pair{p.x + 1, p.y + 1}
	}
	return append(out, differ(x[at.x:], y[at.y:], depth-1)...)
}

// pair has the indices of a line that both texts contain.
type pair struct{ x, y int }

// common returns lines that occur exactly once in x and once in y: the longest
// sequence that has the same order in both.
func common(x, y []string) []pair {
	type place struct{ nx, ny, x, y int }
	seen := map[string]*place{}
	for i, line := range x {
		if seen[line] == nil {
			seen[line] = &place{}
		}
		seen[line].nx++
		seen[line].x = i
	}
	for i, line := range y {
		if p := seen[line]; p != nil {
			p.ny++
			p.y = i
		}
	}
	var both []pair
	for i, line := range x {
		if p := seen[line]; p.nx == 1 && p.ny == 1 {
			both = append(both, pair{i, p.y})
		}
	}
	return rising(both)
}

// rising returns a longest subsequence of pairs in which y increases; x does
// already.
func rising(all []pair) []pair {
	var ends []int // the last pair of the best sequence of each length
	before := make([]int, len(all))
	for i, p := range all {
		n := sort.Search(len(ends), func(k int) bool { return all[ends[k]].y >= p.y })
		before[i] = -1
		if n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	out := make([]pair, len(ends))
	for n, i := len(ends)-1, last(ends); n >= 0; n, i = n-1, before[i] {
		out[n] = all[i]
	}
	return out
}

func last(s []int) int {
	if len(s) == 0 {
		return -1
	}
	return s[len(s)-1]
}

// table returns a smallest diff, by dynamic programming.
func table(x, y []string) []op {
	width := len(y) + 1
	best := make([]int32, (len(x)+1)*width) // for x[i:] and y[j:], the number of lines that stay
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	var out []op
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case x[i] == y[j]:
			out = append(out, op{' ', x[i]})
			i, j = i+1, j+1
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			out = append(out, op{'-', x[i]})
			i++
		default:
			out = append(out, op{'+', y[j]})
			j++
		}
	}
	return append(append(out, each('-', x[i:])...), each('+', y[j:])...)
}

// around is the number of unchanged lines that are shown around a change.
const around = 3

// diff returns the block of a change from one text to another, as a unified diff.
func (b *builder) diff(title string, notes []string, before, after string) Block {
	ops := differ(split(before), split(after), maxDepth)
	plus, minus := 0, 0
	for _, o := range ops {
		switch o.sign {
		case '+':
			plus++
		case '-':
			minus++
		}
	}
	return Block{
		Title: title,
		Notes: append(notes, fmt.Sprintf("+%s -%s", thousands(plus), thousands(minus))),
		Lines: b.cut(b.hunks(ops)),
	}
}

// Unified returns the hunks of a unified diff from one text to another, whole, in which a
// screen shows all that is there.
func Unified(before, after string) string {
	var out strings.Builder
	b := &builder{Source: Source{All: true}}
	for _, line := range b.hunks(differ(split(before), split(after), maxDepth)) {
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		switch line.Sign {
		case "@":
		case `\`:
			out.WriteString("\\ No newline at end of file")
		default:
			out.WriteString(line.Sign)
		}
		for _, s := range line.Segments {
			out.WriteString(s.Text)
		}
	}
	return out.String()
}

// hunks returns the lines of a unified diff.
func (b *builder) hunks(ops []op) []Line {
	var out []Line
	x, y := 1, 1 // line numbers of the next line in the old and the new text
	for at := 0; at < len(ops); {
		stay := 0
		for at+stay < len(ops) && ops[at+stay].sign == ' ' {
			stay++
		}
		if at+stay == len(ops) {
			break
		}
		skip := max(stay-around, 0)
		x, y, at = x+skip, y+skip, at+skip
		end := hunkEnd(ops, at)
		nx, ny := sizes(ops[at:end])
		out = append(out, Line{Sign: "@", Segments: []Segment{{Text: fmt.Sprintf("@@ -%s +%s @@", extent(x, nx), extent(y, ny))}}})
		out = append(out, b.diffLines(ops[at:end])...)
		x, y, at = x+nx, y+ny, end
	}
	return out
}

// hunkEnd returns the end of the hunk that begins at from: after the unchanged
// lines that follow its last change.
func hunkEnd(ops []op, from int) int {
	end, stay := from, 0
	for i := from; i < len(ops) && stay <= 2*around; i++ {
		stay++
		if ops[i].sign != ' ' {
			end, stay = i+1, 0
		}
	}
	return min(end+around, len(ops))
}

func sizes(ops []op) (x, y int) {
	for _, o := range ops {
		if o.sign != '+' {
			x++
		}
		if o.sign != '-' {
			y++
		}
	}
	return x, y
}

// extent returns one side of the head of a hunk: its first line and the number of
// lines.
func extent(first, n int) string {
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}

// diffLines converts ops for display.
func (b *builder) diffLines(ops []op) []Line {
	var out []Line
	for _, o := range ops {
		text, ended := strings.CutSuffix(o.line, "\n")
		out = append(out, b.diffLine(string(o.sign), text, len(o.line))...)
		if !ended {
			out = append(out, Line{Sign: `\`})
		}
	}
	return out
}

// The longest line of a diff that is shown whole, and how much is shown of a
// longer one, in bytes.
const (
	maxDiffLine = 2000
	longLine    = 1500
)

// diffLine returns a line of a diff, with a note if it is too long to be shown
// whole. Bytes is its size, for cut.
func (b *builder) diffLine(sign, text string, size int) []Line {
	line := Line{Sign: sign, Bytes: size}
	if b.All || len(text) <= maxDiffLine {
		if text != "" {
			line.Segments = []Segment{{Text: visible.Code(text)}}
		}
		return []Line{line}
	}
	b.whole = false
	at := runeStart(text, longLine)
	line.Bytes = at
	line.Segments = []Segment{{Text: visible.Code(text[:at])}}
	return []Line{line, {Sign: "…", Bytes: size - at}}
}

// cut shortens a diff. It clears Bytes of the lines that are shown whole.
func (b *builder) cut(all []Line) []Line {
	l := diffLimit
	head, size := 0, 0
	for head < len(all) && head < l.lines && size+all[head].Bytes <= l.bytes {
		size += all[head].Bytes
		head++
	}
	tail, size := len(all), 0
	for tail > head && len(all)-tail < l.tailLines && size+all[tail-1].Bytes <= l.tailBytes {
		tail--
		size += all[tail].Bytes
	}
	gone := Line{Sign: "…", Count: tail - head}
	for _, line := range all[head:tail] {
		gone.Bytes += line.Bytes
	}
	for i := range all {
		if all[i].Sign != "…" {
			all[i].Bytes = 0
		}
	}
	if b.All || head == len(all) || tail == head {
		return all
	}
	b.whole = false
	return append(append(all[:head:head], gone), all[tail:]...)
}

// thousands formats a number like 3,120.
func thousands(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
