package install

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// around is the number of unchanged lines that are shown around a change.
const around = 3

// Diff returns a change as a unified diff, in which a screen shows all that is there.
func (c *Change) Diff() string {
	var b strings.Builder
	from, to := visible.Line(c.Path), visible.Line(c.Path)
	if !c.Existed {
		from = "/dev/null"
	}
	if c.Removed {
		to = "/dev/null"
	}
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", from, to)
	if c.Target != c.Path {
		fmt.Fprintf(&b, "    (a link to %s, which is changed)\n", visible.Line(c.Target))
	}
	hunks(&b, differ(lines(c.Before), lines(c.After)))
	return b.String()
}

// lines splits a text behind its line feeds.
func lines(text []byte) []string {
	all := strings.SplitAfter(string(text), "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}

// op is a line that stays (' '), goes ('-') or comes ('+').
type op struct {
	sign byte
	line string
}

// maxCells bounds the table of differ; beyond it the middle is replaced as a whole.
const maxCells = 16 << 20

// differ returns how one text becomes the other.
func differ(x, y []string) (ops []op) {
	head := 0
	for head < len(x) && head < len(y) && x[head] == y[head] {
		head++
	}
	tail := 0
	for tail < len(x)-head && tail < len(y)-head && x[len(x)-1-tail] == y[len(y)-1-tail] {
		tail++
	}
	ops = each(' ', x[:head])
	ops = append(ops, middle(x[head:len(x)-tail], y[head:len(y)-tail])...)
	return append(ops, each(' ', x[len(x)-tail:])...)
}

func each(sign byte, lines []string) (ops []op) {
	for _, line := range lines {
		ops = append(ops, op{sign, line})
	}
	return ops
}

// middle compares two texts by their longest common subsequence.
func middle(x, y []string) (ops []op) {
	width := len(y) + 1
	if (len(x)+1)*width > maxCells {
		return append(each('-', x), each('+', y)...)
	}
	best := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				best[i*width+j] = best[(i+1)*width+j+1] + 1
			} else {
				best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(x) && j < len(y) {
		switch {
		case x[i] == y[j]:
			ops = append(ops, op{' ', x[i]})
			i, j = i+1, j+1
		case best[(i+1)*width+j] >= best[i*width+j+1]:
			ops = append(ops, op{'-', x[i]})
			i++
		default:
			ops = append(ops, op{'+', y[j]})
			j++
		}
	}
	return append(append(ops, each('-', x[i:])...), each('+', y[j:])...)
}

// hunks writes the parts that change, with some lines around them.
func hunks(b *strings.Builder, ops []op) {
	x, y := 1, 1
	for at := 0; at < len(ops); {
		if ops[at].sign == ' ' && !changesWithin(ops[at:], around+1) {
			x, y, at = x+1, y+1, at+1
			continue
		}
		end := hunkEnd(ops, at)
		nx, ny := sizes(ops[at:end])
		fmt.Fprintf(b, "@@ -%s +%s @@\n", extent(x, nx), extent(y, ny))
		for _, o := range ops[at:end] {
			writeOp(b, o)
		}
		x, y, at = x+nx, y+ny, end
	}
}

// changesWithin reports whether one of the first n lines changes.
func changesWithin(ops []op, n int) bool {
	for _, o := range ops[:min(n, len(ops))] {
		if o.sign != ' ' {
			return true
		}
	}
	return false
}

// hunkEnd returns the end of the hunk that begins at from.
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

// extent returns one side of the head of a hunk: its first line and the number of lines.
func extent(first, n int) string {
	if n == 0 {
		first--
	}
	return fmt.Sprintf("%d,%d", first, n)
}

func writeOp(b *strings.Builder, o op) {
	text, ended := strings.CutSuffix(o.line, "\n")
	text = strings.TrimSuffix(text, "\r")
	fmt.Fprintf(b, "%c%s\n", o.sign, visible.Code(text))
	if !ended {
		b.WriteString("\\ No newline at end of file\n")
	}
}
