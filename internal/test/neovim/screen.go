//go:build linux

package neovim

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// display is what Neovim has drawn, one grid with the floats on it.
type display struct {
	cells    [][]screen.Cell
	styles   map[int]screen.Style // by the number of the highlight
	style    int                  // of the last cell
	row, col int                  // of the cursor
	mode     string
}

// redraw applies the updates of one notification and reports whether the screen is
// whole again.
func (s *display) redraw(updates []any) (flushed bool) {
	for _, u := range updates {
		update := u.([]any)
		for _, args := range update[1:] {
			s.apply(update[0].(string), args.([]any))
		}
		flushed = flushed || update[0] == "flush"
	}
	return flushed
}

func (s *display) apply(name string, args []any) {
	switch name {
	case "grid_resize":
		s.resize(args[1].(int), args[2].(int))
	case "grid_clear":
		s.resize(s.size())
	case "grid_cursor_goto":
		s.row, s.col = args[1].(int), args[2].(int)
	case "mode_change":
		s.mode = args[0].(string)
	case "grid_line":
		s.line(args[1].(int), args[2].(int), args[3].([]any))
	case "hl_attr_define":
		s.define(args[0].(int), args[2].(map[string]any))
	case "grid_scroll":
		s.scroll(args[1].(int), args[2].(int), args[3].(int), args[4].(int), args[5].(int))
	}
}

func (s *display) size() (width, height int) {
	if len(s.cells) == 0 {
		return 0, 0
	}
	return len(s.cells[0]), len(s.cells)
}

func (s *display) resize(width, height int) {
	s.cells = make([][]screen.Cell, height)
	for i := range s.cells {
		s.cells[i] = make([]screen.Cell, width)
		for j := range s.cells[i] {
			s.cells[i][j].Text = " "
		}
	}
}

// define gives a highlight its style in a terminal.
func (s *display) define(id int, attributes map[string]any) {
	if s.styles == nil {
		s.styles = map[int]screen.Style{}
	}
	on := func(name string) bool { return attributes[name] == true }
	s.styles[id] = screen.Style{
		Ink: ink(attributes["foreground"]), Paper: ink(attributes["background"]),
		Bold: on("bold"), Italic: on("italic"), Underline: on("underline"), Reverse: on("reverse"),
	}
}

// line draws cells: each has its text, and may have a highlight, else that of the one
// before, and a number of times.
func (s *display) line(row, col int, cells []any) {
	for _, c := range cells {
		cell := c.([]any)
		times := 1
		if len(cell) > 2 {
			times = cell[2].(int)
		}
		if len(cell) > 1 {
			s.style = cell[1].(int)
		}
		for range times {
			s.cells[row][col] = screen.Cell{Text: cell[0].(string), Style: s.styles[s.style]}
			col++
		}
	}
}

func (s *display) scroll(top, bottom, left, right, rows int) {
	move := func(row int) {
		if from := row + rows; top <= from && from < bottom {
			copy(s.cells[row][left:right], s.cells[from][left:right])
		}
	}
	if rows > 0 {
		for row := top; row < bottom; row++ {
			move(row)
		}
		return
	}
	for row := bottom - 1; row >= top; row-- {
		move(row)
	}
}

// text returns the screen as lines without blanks at their ends.
func (s *display) text() string {
	var out strings.Builder
	for _, row := range s.cells {
		line := ""
		for _, c := range row {
			line += c.Text
		}
		out.WriteString(strings.TrimRight(line, " "))
		out.WriteByte('\n')
	}
	return out.String()
}

// ink returns the ink for a colour of a terminal with 256: of the sixteen its own, of the
// cube the one of the same hue, of the greys black or white.
func ink(colour any) screen.Ink {
	n, ok := colour.(int)
	switch {
	case !ok:
		return screen.Plain
	case n < 16:
		return screen.Ink(n%8) + screen.Black
	case n < 232:
		n -= 16
		high := max(n/36, n/6%6, n%6)
		bit := func(level int) screen.Ink {
			if 2*level > high {
				return 1
			}
			return 0
		}
		return screen.Black + bit(n/36) + 2*bit(n/6%6) + 4*bit(n%6)
	case n < 244:
		return screen.Black
	}
	return screen.White
}
