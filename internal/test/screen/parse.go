package screen

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// parser is what has begun in the input and is not complete.
type parser struct {
	held []byte
	in   func(t *Terminal, b byte) // nil in text
}

const (
	escape = 0x1b
	bell   = '\a'
)

// take takes the next byte of the input.
func (t *Terminal) take(b byte) {
	switch {
	case t.input.in != nil:
		t.input.held = append(t.input.held, b)
		t.input.in(t, b)
	case b == escape:
		t.input = parser{held: []byte{b}, in: inEscape}
	case b < ' ' || b == 0x7f:
		t.control(b)
	default:
		t.text(b)
	}
}

// text takes a byte of a character.
func (t *Terminal) text(b byte) {
	t.input.held = append(t.input.held, b)
	if !utf8.FullRune(t.input.held) {
		return
	}
	text := string(t.input.held)
	t.input.held = nil
	switch r, _ := utf8.DecodeRuneInString(text); {
	case unicode.In(r, unicode.Mn, unicode.Me):
		t.combine(text)
	case r == utf8.RuneError, wide(r), unicode.Is(unicode.C, r):
		t.wonder(text)
	default:
		t.put(text)
	}
}

// wide reports whether a character takes two columns on most terminals. (Unicode Standard
// Annex 11; the ranges are those that hold nothing else, so some are not found.)
func wide(r rune) bool {
	return 0x1100 <= r && r <= 0x115f || 0x2e80 <= r && r <= 0xa4cf || 0xac00 <= r && r <= 0xd7a3 ||
		0xf900 <= r && r <= 0xfaff || 0xfe30 <= r && r <= 0xfe6f || 0xff00 <= r && r <= 0xff60 || 0x1f300 <= r && r <= 0x3fffd
}

// over ends a sequence.
func (t *Terminal) over() (sequence string) {
	sequence = string(t.input.held)
	t.input = parser{}
	return sequence
}

// inEscape takes what follows ESC.
func inEscape(t *Terminal, b byte) {
	switch b {
	case '[':
		t.input.in = inCSI
	case ']':
		t.input.in = inString
	default:
		t.wonder(t.over())
	}
}

// inString takes the text of OSC, which BEL or ESC \ ends: titles, notifications, marks
// of shells. None of it is shown.
func inString(t *Terminal, b byte) {
	held := t.input.held
	if b == bell || b == '\\' && held[len(held)-2] == escape {
		t.over()
	}
}

// inCSI takes the bytes of a control sequence up to the last.
func inCSI(t *Terminal, b byte) {
	if 0x40 <= b && b <= 0x7e {
		t.obey(t.over())
	}
}

// modes are the private modes that change nothing that is seen: the cursor, marks around
// pasted text, reports of the focus.
var modes = map[string]bool{"?25": true, "?2004": true, "?1004": true}

// obey obeys a whole control sequence.
func (t *Terminal) obey(sequence string) {
	last := sequence[len(sequence)-1]
	text := sequence[2 : len(sequence)-1]
	if (last == 'h' || last == 'l') && modes[text] {
		return
	}
	var numbers []int
	for field := range strings.SplitSeq(text, ";") {
		n, err := strconv.Atoi(field)
		if err != nil && field != "" {
			t.wonder(sequence)
			return
		}
		numbers = append(numbers, n)
	}
	if !t.move(last, numbers) && !t.change(last, numbers) {
		t.wonder(sequence)
	}
}

// move obeys what moves the cursor.
func (t *Terminal) move(last byte, numbers []int) bool {
	n, at := max(numbers[0], 1), min(t.col, t.width-1)
	switch last {
	case 'A':
		t.place(t.row-n, at)
	case 'B':
		t.place(t.row+n, at)
	case 'C':
		t.place(t.row, at+n)
	case 'D':
		t.place(t.row, at-n)
	case 'G':
		t.place(t.row, n-1)
	case 'H':
		col := 1
		if len(numbers) > 1 {
			col = max(numbers[1], 1)
		}
		t.place(t.top+n-1, col-1)
	default:
		return false
	}
	return true
}

// change obeys what changes cells, or the style of those that follow.
func (t *Terminal) change(last byte, numbers []int) bool {
	switch {
	case last == 'm':
		return t.paint(numbers)
	case last == 'J' && numbers[0] <= 2:
		t.eraseScreen(numbers[0])
	case last == 'K' && numbers[0] <= 2:
		t.eraseLine(numbers[0])
	default:
		return false
	}
	return true
}

// paint obeys SGR. It reports whether it knows all of the numbers.
func (t *Terminal) paint(numbers []int) bool {
	for i := 0; i < len(numbers); i++ {
		n := numbers[i]
		if n == 38 || n == 48 { // of 256 colours, of which the lower sixteen are known
			if i+2 >= len(numbers) || numbers[i+1] != 5 || numbers[i+2] >= 16 {
				return false
			}
			n, i = n-8+numbers[i+2]%8, i+2
		}
		if !t.style.set(n) {
			return false
		}
	}
	return true
}

// set changes a style by a number of SGR, and reports whether it knows it.
func (s *Style) set(n int) bool {
	switch {
	case n == 0:
		*s = Style{}
	case n == 1:
		s.Bold = true
	case n == 2:
		s.Dim = true
	case n == 3:
		s.Italic = true
	case n == 4:
		s.Underline = true
	case n == 7:
		s.Reverse = true
	case n == 22:
		s.Bold, s.Dim = false, false
	case n == 23:
		s.Italic = false
	case n == 24:
		s.Underline = false
	case n == 27:
		s.Reverse = false
	default:
		return s.colour(n)
	}
	return true
}

// colour is set for the numbers of colours.
func (s *Style) colour(n int) bool {
	switch {
	case 30 <= n && n <= 37:
		s.Ink = Ink(n-30) + Black
	case 90 <= n && n <= 97:
		s.Ink = Ink(n-90) + Black
	case n == 39:
		s.Ink = Plain
	case 40 <= n && n <= 47:
		s.Paper = Ink(n-40) + Black
	case 100 <= n && n <= 107:
		s.Paper = Ink(n-100) + Black
	case n == 49:
		s.Paper = Plain
	default:
		return false
	}
	return true
}
