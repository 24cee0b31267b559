package chat

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/display"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// head stands before a prompt, next before each further row of it, and above where the
// rows before it have no room.
const (
	head  = "> "
	next  = "  "
	above = "^ "
)

// rows returns the text as rows shorter than width, at most most of them, and the place
// of the cursor. The text behind the cursor is spelled out apart from the one before, so
// that the cursor is where it belongs.
func (e *edit) rows(width, most int) (rows []string, row, column int) {
	p := paper{room: max(width-1-len(head), 1)}
	before := strings.Split(string(e.text[:e.at]), "\n")
	after := strings.Split(string(e.text[e.at:]), "\n")
	for _, line := range before[:len(before)-1] {
		p.line(shown(line, p.room), -1)
	}
	last := shown(before[len(before)-1], p.room)
	p.line(append(last, shown(after[0], p.room)...), len(last))
	for _, line := range after[1:] {
		p.line(shown(line, p.room), -1)
	}
	for i := range p.rows {
		p.rows[i] = next + p.rows[i]
	}
	p.rows[0] = head + strings.TrimPrefix(p.rows[0], next)
	rows, row, column = p.rows, p.row, min(p.column+len(head), max(width-1, 0))
	if most = max(most, 1); len(rows) > most {
		from := min(max(row-most+1, 0), len(rows)-most)
		rows, row = rows[from:from+most], row-from
		if from > 0 {
			rows[0] = above + strings.TrimPrefix(strings.TrimPrefix(rows[0], next), head)
		}
	}
	return rows, row, column
}

// shown returns the characters of a line as they are shown. One that is spelled out is
// broken if it is wider than a row.
func shown(line string, room int) []display.Char {
	var all []display.Char
	for _, c := range display.Chars(visible.Code(line)) {
		if c.Width <= room {
			all = append(all, c)
			continue
		}
		for _, r := range c.Text {
			all = append(all, display.Chars(string(r))...)
		}
	}
	return all
}

// paper breaks lines into rows.
type paper struct {
	room        int // cells of a row
	rows        []string
	row, column int // of the cursor
}

// line adds a line, with the cursor before the character with the index cursor.
func (p *paper) line(chars []display.Char, cursor int) {
	for {
		n := p.fits(chars)
		if 0 <= cursor && (cursor < n || n == len(chars)) {
			p.row, p.column = len(p.rows), cells(chars[:cursor])
			if p.column >= p.room { // there is no place for it behind the last character
				p.rows = append(p.rows, text(chars[:n]))
				chars, n, cursor = chars[n:], 0, -1
				p.row, p.column = len(p.rows), 0
			}
		}
		p.rows = append(p.rows, text(chars[:n]))
		chars, cursor = chars[n:], cursor-n
		if len(chars) == 0 {
			return
		}
	}
}

// fits returns how many characters go into a row: up to the last blank, if not all do.
func (p *paper) fits(chars []display.Char) int {
	n, used := 0, 0
	for n < len(chars) && (n == 0 || used+chars[n].Width <= p.room) {
		used += chars[n].Width
		n++
	}
	if n == len(chars) {
		return n
	}
	for at := n; at > 0; at-- {
		if chars[at-1].Text == " " {
			return at
		}
	}
	return n
}

func cells(chars []display.Char) int {
	n := 0
	for _, c := range chars {
		n += c.Width
	}
	return n
}

func text(chars []display.Char) string {
	var out strings.Builder
	for _, c := range chars {
		out.WriteString(c.Text)
	}
	return out.String()
}

// within returns the beginning of a line that takes at most width cells.
func within(line string, width int) string {
	out, used := "", 0
	for _, c := range display.Chars(line) {
		if used += c.Width; used > width {
			break
		}
		out += c.Text
	}
	return out
}
