package neovim

import "strings"

// screen is what Neovim has drawn, one grid with the floats on it.
type screen struct {
	cells    [][]string
	row, col int // of the cursor
	mode     string
}

// redraw applies the updates of one notification and reports whether the screen is
// whole again.
func (s *screen) redraw(updates []any) (flushed bool) {
	for _, u := range updates {
		update := u.([]any)
		for _, args := range update[1:] {
			s.apply(update[0].(string), args.([]any))
		}
		flushed = flushed || update[0] == "flush"
	}
	return flushed
}

func (s *screen) apply(name string, args []any) {
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
	case "grid_scroll":
		s.scroll(args[1].(int), args[2].(int), args[3].(int), args[4].(int), args[5].(int))
	}
}

func (s *screen) size() (width, height int) {
	if len(s.cells) == 0 {
		return 0, 0
	}
	return len(s.cells[0]), len(s.cells)
}

func (s *screen) resize(width, height int) {
	s.cells = make([][]string, height)
	for i := range s.cells {
		s.cells[i] = strings.Split(strings.Repeat(" ", width), "")
	}
}

// line draws cells: each has its text, and may have a highlight and a number of times.
func (s *screen) line(row, col int, cells []any) {
	for _, c := range cells {
		cell := c.([]any)
		times := 1
		if len(cell) > 2 {
			times = cell[2].(int)
		}
		for range times {
			s.cells[row][col] = cell[0].(string)
			col++
		}
	}
}

func (s *screen) scroll(top, bottom, left, right, rows int) {
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
func (s *screen) text() string {
	var out strings.Builder
	for _, row := range s.cells {
		out.WriteString(strings.TrimRight(strings.Join(row, ""), " "))
		out.WriteByte('\n')
	}
	return out.String()
}
