// Package calm takes out of a terminal's output what a program can do to the one who
// watches: strings that a terminal obeys (OSC, DCS, SOS, PM, APC: its title, the
// clipboard, links, what it answers as if it had been typed) and the reports and changes
// of its window (CSI … t). What draws stays. (ECMA-48, 5.6 and 8.3.89; xterm, Control
// Sequences)
package calm

import "unicode/utf8"

// Filter is the filter of one output, which may come in any pieces. The zero value is one
// at the beginning of the output.
type Filter struct {
	buf  []byte // text since the last call, and before it
	sent int    // that much of it was returned

	in   place
	held []byte // what has begun and is passed on if it turns out to be harmless
	seen int    // bytes since the text before it
}

// place is where in a sequence the next byte is.
type place uint8

const (
	inText   place = iota
	inEscape       // behind ESC
	inC1           // behind 0xc2, which begins a control character of two bytes
	inCSI
	inString
	inStringEscape // behind ESC in a string, which a backslash ends
	inStringC1     // behind 0xc2 in a string, which 0x9c ends
)

// The limits of a sequence. What is longer is none: a string that never ends must not
// hide what follows.
const (
	maxCSI    = 128
	maxString = 4096
)

const (
	escape    = 0x1b
	bell      = 0x07
	del       = 0x7f
	cancelSeq = 0x18
	substSeq  = 0x1a
	c1        = 0xc2
)

// Text returns what is left of the next piece of the output, as whole characters of
// UTF-8 as far as it is UTF-8, and how many bytes at the end of the piece are not in it
// yet, since a sequence or a character has only begun. The text is valid until the next
// call.
func (c *Filter) Text(p []byte) (text []byte, held int) {
	begun := copy(c.buf, c.buf[c.sent:])
	c.buf = c.append(c.buf[:begun], p)
	c.sent = whole(c.buf)
	return c.buf[:c.sent], c.seen + len(c.buf) - c.sent
}

// append appends what is left of p to out.
func (c *Filter) append(out, p []byte) []byte {
	for len(p) > 0 {
		if c.in == inText {
			n := textual(p)
			out, p = append(out, p[:n]...), p[n:]
			if len(p) == 0 {
				break
			}
		}
		out = c.take(out, p[0])
		p = p[1:]
	}
	return out
}

// textual returns how many bytes begin no sequence.
func textual(p []byte) int {
	for i, b := range p {
		if b == escape || b == c1 {
			return i
		}
	}
	return len(p)
}

// take handles one byte, which is not simple text.
func (c *Filter) take(out []byte, b byte) []byte {
	c.seen++
	switch c.in {
	case inText:
		c.seen = 1
		c.held = append(c.held[:0], b)
		c.in = inEscape
		if b == c1 {
			c.in = inC1
		}
	case inEscape:
		return c.escaped(out, b)
	case inC1:
		return c.control(out, b)
	case inCSI:
		return c.sequence(out, b)
	default:
		return c.string(out, b)
	}
	return out
}

// text passes on what was held.
func (c *Filter) text(out []byte) []byte {
	c.in, c.seen = inText, 0
	return append(out, c.held...)
}

// drop drops what was held.
func (c *Filter) drop(out []byte) []byte {
	c.in, c.seen = inText, 0
	return out
}

// escaped handles the byte behind ESC.
func (c *Filter) escaped(out []byte, b byte) []byte {
	switch b {
	case ']', 'P', 'X', '^', '_':
		c.in = inString
	case '[':
		c.held, c.in = append(c.held, b), inCSI
	case escape, c1: // an ESC that is left alone would begin a string with what follows
		return c.take(c.drop(out), b)
	default:
		if b < ' ' || b == del {
			return c.between(out, b)
		}
		c.held = append(c.held, b)
		return c.text(out)
	}
	return out
}

// between handles a control character in a sequence: a terminal obeys it at once, or
// skips it, and the sequence goes on behind it; CAN and SUB end it.
func (c *Filter) between(out []byte, b byte) []byte {
	if b == cancelSeq || b == substSeq || c.seen >= maxCSI {
		out = c.drop(out)
	}
	if b == del {
		return out
	}
	return append(out, b)
}

// control handles the byte behind 0xc2: U+0080 to U+009F are the control characters
// that ESC and a letter stand for.
func (c *Filter) control(out []byte, b byte) []byte {
	switch {
	case b == 0x90 || b == 0x98 || b >= 0x9d && b <= 0x9f:
		c.in = inString
	case b == 0x9b:
		c.held, c.in = append(c.held, b), inCSI
	case b < utf8.RuneSelf || b >= 0xc0: // 0xc2 left alone would do so too
		return c.append(append(c.drop(out), "\ufffd"...), []byte{b})
	default:
		c.held = append(c.held, b)
		return c.text(out)
	}
	return out
}

// sequence handles a byte of a control sequence.
func (c *Filter) sequence(out []byte, b byte) []byte {
	switch {
	case b == escape, b == c1:
		return c.take(c.drop(out), b)
	case b == 't', len(c.held) == maxCSI:
		return c.drop(out)
	case b < ' ', b == del:
		return c.between(out, b)
	case b > del: // ends what is no sequence then
		return append(c.drop(out), b)
	case b >= 0x40:
		c.held = append(c.held, b)
		return c.text(out)
	}
	c.held = append(c.held, b)
	return out
}

// string handles a byte of a string.
func (c *Filter) string(out []byte, b byte) []byte {
	was := c.in
	c.in = inString
	switch {
	case was == inStringEscape && b != '\\': // the string was given up for another sequence
		c.held, c.seen = append(c.held[:0], escape), 2
		return c.escaped(out, b)
	case was == inStringEscape, was == inStringC1 && b == 0x9c, b == bell, b == cancelSeq, b == substSeq, c.seen >= maxString:
		return c.drop(out)
	case b == escape:
		c.in = inStringEscape
	case b == c1:
		c.in = inStringC1
	}
	return out
}

// whole returns the length of p without a last character that has only begun.
func whole(p []byte) int {
	for n := 1; n <= min(utf8.UTFMax-1, len(p)); n++ {
		if at := len(p) - n; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				return at
			}
			break
		}
	}
	return len(p)
}
