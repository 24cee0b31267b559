package terminal

import "unicode/utf8"

// plain turns the output of a terminal into text: without escape sequences and
// control characters, with line feeds as the only line breaks. A sequence may come
// in several pieces.
type plain struct {
	in     part
	length int  // of the string so far
	cr     bool // a carriage return was the last
	begun  bool // the line has text
	rune   []byte
}

// part is the part of a sequence that comes next (ECMA-48, section 5).
type part uint8

const (
	text      part = iota
	escape         // behind ESC
	between        // behind ESC and an intermediate byte
	control        // behind CSI, up to its final byte
	str            // within a string such as a title, up to ST or BEL
	strEscape      // behind ESC in a string
)

// longest is the longest string that is left out. A longer one is text, so that no
// output can hide everything that follows.
const longest = 4 << 10

// append appends the text in p to out.
func (s *plain) append(out, p []byte) []byte {
	for len(p) > 0 {
		n := 0
		if s.in == text && !s.cr && len(s.rune) == 0 {
			if n = plainBytes(p); n > 0 {
				out, s.begun = append(out, p[:n]...), p[n-1] != '\n'
			}
		}
		if n < len(p) {
			out = s.take(out, p[n])
			n++
		}
		p = p[n:]
	}
	return out
}

// plainBytes returns how many bytes at the beginning of p are text as they are.
func plainBytes(p []byte) int {
	for i, b := range p {
		if b < ' ' && b != '\n' && b != '\t' || b > '~' {
			return i
		}
	}
	return len(p)
}

// take reads one byte.
func (s *plain) take(out []byte, b byte) []byte {
	switch s.in {
	case escape:
		s.in = after(b)
		s.length = 0
		return out
	case between:
		if b >= 0x30 || b < 0x20 {
			s.in = text
		}
		return out
	case control:
		if b == 0x1b {
			s.in = escape
		} else if b >= 0x40 || b == 0x18 || b == 0x1a {
			s.in = text
		}
		return out
	case str, strEscape:
		s.string(b)
		return out
	}
	return s.text(out, b)
}

// after returns what follows ESC and a byte.
func after(b byte) part {
	switch {
	case b == '[':
		return control
	case b == ']' || b == 'P' || b == 'X' || b == '^' || b == '_':
		return str
	case b == 0x1b:
		return escape
	case b >= 0x20 && b < 0x30:
		return between
	}
	return text
}

// string reads a byte of a string.
func (s *plain) string(b byte) {
	s.length++
	switch {
	case b == 0x07 || b == 0x18 || b == 0x1a || s.length > longest:
		s.in = text
	case s.in == strEscape && b == '\\':
		s.in = text
	case b == 0x1b:
		s.in = strEscape
	default:
		s.in = str
	}
}

// text reads a byte of text.
func (s *plain) text(out []byte, b byte) []byte {
	cr := s.cr
	s.cr = b == '\r'
	if cr && s.begun && b != '\n' && b != '\r' {
		out, s.begun = append(out, '\n'), false // the line is written over
	}
	if b >= utf8.RuneSelf {
		return s.wide(out, b)
	}
	if len(s.rune) > 0 {
		out, s.rune, s.begun = utf8.AppendRune(out, utf8.RuneError), s.rune[:0], true
	}
	switch {
	case b == 0x1b:
		s.in = escape
	case b == '\n' || b == '\t' || b >= 0x20 && b != 0x7f:
		out, s.begun = append(out, b), b != '\n'
	}
	return out
}

// wide reads a byte of a character that is not ASCII.
func (s *plain) wide(out []byte, b byte) []byte {
	s.rune = append(s.rune, b)
	if !utf8.FullRune(s.rune) {
		return out
	}
	r, size := utf8.DecodeRune(s.rune)
	rest := s.rune[size:]
	s.rune = nil
	if r >= 0xa0 || r == utf8.RuneError {
		out, s.begun = utf8.AppendRune(out, r), true // not the control characters of U+0080 to U+009F
	}
	for _, b := range rest {
		out = s.wide(out, b)
	}
	return out
}
