// Package screen is a terminal for tests: it takes the bytes that a program writes to its
// terminal and holds what a person would see, with the style of every cell and with the
// rows that have scrolled away.
//
//	t := screen.New(80, 24)
//	io.Copy(t, pty)
//	fmt.Println(screen.Text(t.Shown()))
//
// It knows the control functions that the programs under test use (ECMA-48; xterm,
// Control Sequences). Any other is kept for [Terminal.Unknown], so that a test fails
// instead of showing a screen that no terminal would show. Characters that take two
// columns are not known either. internal/test/neovim compares it with the terminal of
// Neovim, libvterm.
package screen

import (
	"strings"
	"sync"
)

// Ink is the colour of a character, or of what is behind it: one of the eight colours of
// ECMA-48 (SGR 30 to 37 and 40 to 47; their bright variants and the lower sixteen of
// the 256 are the same here), or Plain. Values and names are those of SGR, plus one.
type Ink uint8

const (
	Plain Ink = iota // what the terminal uses by itself
	Black
	Red
	Green
	Yellow
	Blue
	Magenta
	Cyan
	White
)

// Style is how a cell looks.
type Style struct {
	Ink, Paper                            Ink
	Bold, Dim, Italic, Underline, Reverse bool
}

// Cell is a place on the screen. Text is a character with the marks that combine with it,
// or "" for a place that nothing was written to.
type Cell struct {
	Text  string
	Style Style
}

// Terminal is a terminal. It may be used by several goroutines.
type Terminal struct {
	mu            sync.Mutex
	width, height int
	rows          [][]Cell // all of them, from the first that has scrolled away on
	top           int      // the row at the top of the screen
	row, col      int      // of the cursor; col is width if the next character wraps
	style         Style
	input         parser
	unknown       []string
}

// New returns an empty terminal.
func New(width, height int) *Terminal {
	t := &Terminal{width: width, height: height}
	t.reach(0)
	return t
}

// Write takes what a program writes. It never fails.
func (t *Terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range p {
		t.take(b)
	}
	return len(p), nil
}

// Rows returns the number of rows that were reached so far, those that have scrolled away
// among them.
func (t *Terminal) Rows() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.rows)
}

// From returns the rows from one on, counted from the first that was ever written.
func (t *Terminal) From(row int) [][]Cell {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([][]Cell, 0, len(t.rows)-row)
	for _, cells := range t.rows[row:] {
		out = append(out, append([]Cell{}, cells...))
	}
	return out
}

// Shown returns the rows that are on the screen, without those that were never reached.
func (t *Terminal) Shown() [][]Cell {
	t.mu.Lock()
	top := t.top
	t.mu.Unlock()
	return t.From(top)
}

// Unknown returns the control functions and characters that the terminal does not know.
func (t *Terminal) Unknown() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string{}, t.unknown...)
}

// Text returns rows as lines, without blanks at their ends and without empty lines at the
// end.
func Text(rows [][]Cell) string {
	var out strings.Builder
	for _, cells := range rows {
		var line strings.Builder
		for _, c := range cells {
			if c.Text == "" {
				line.WriteByte(' ')
			}
			line.WriteString(c.Text)
		}
		out.WriteString(strings.TrimRight(line.String(), " "))
		out.WriteByte('\n')
	}
	return strings.TrimRight(out.String(), "\n") + "\n"
}

// reach makes sure that a row is there, and scrolls to it.
func (t *Terminal) reach(row int) {
	for len(t.rows) <= row {
		t.rows = append(t.rows, make([]Cell, t.width))
	}
	t.row = row
	t.top = max(t.top, row-t.height+1)
}

// place moves the cursor, within the screen.
func (t *Terminal) place(row, col int) {
	t.reach(min(max(row, t.top), t.top+t.height-1))
	t.col = min(max(col, 0), t.width-1)
}

// put writes a character. As on a VT100, the one behind the last column goes to the next
// row, but the cursor does so only with it.
func (t *Terminal) put(text string) {
	if t.col == t.width {
		t.reach(t.row + 1)
		t.col = 0
	}
	t.rows[t.row][t.col] = Cell{text, t.style}
	t.col++
}

// combine adds a mark to the character before the cursor.
func (t *Terminal) combine(mark string) {
	if t.col > 0 {
		t.rows[t.row][t.col-1].Text += mark
	}
}

// control obeys a control character.
func (t *Terminal) control(b byte) {
	switch b {
	case '\r':
		t.col = 0
	case '\n':
		t.reach(t.row + 1)
	case '\b':
		t.col = max(min(t.col, t.width-1)-1, 0)
	case '\t':
		if t.col < t.width {
			t.col = min(t.col/8*8+8, t.width-1)
		}
	case '\a', 0:
	default:
		t.wonder(string(rune(b)))
	}
}

// wonder notes what is not known.
func (t *Terminal) wonder(sequence string) { t.unknown = append(t.unknown, sequence) }

// erase empties cells of a row.
func (t *Terminal) erase(row, from, to int) {
	if row < len(t.rows) {
		clear(t.rows[row][from:to])
	}
}

// eraseScreen is ED: 0 from the cursor on, 1 up to it, 2 all.
func (t *Terminal) eraseScreen(how int) {
	for row := t.top; row < len(t.rows); row++ {
		if row > t.row && how != 1 || row < t.row && how != 0 {
			t.erase(row, 0, t.width)
		}
	}
	t.eraseLine(how)
	if how != 1 {
		t.rows = t.rows[:t.row+1]
	}
}

// eraseLine is EL, with the numbers of ED.
func (t *Terminal) eraseLine(how int) {
	at := min(t.col, t.width-1)
	switch how {
	case 0:
		t.erase(t.row, at, t.width)
	case 1:
		t.erase(t.row, 0, at+1)
	case 2:
		t.erase(t.row, 0, t.width)
	}
}
