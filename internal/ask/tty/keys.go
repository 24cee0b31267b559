// Package tty controls a terminal while a person is asked a question: keys
// arrive one by one, earlier input is discarded, and the terminal is restored
// afterwards.
package tty

import (
	"bytes"
	"cmp"
	"unicode"
	"unicode/utf8"
)

// Kind is the kind of a key.
type Kind uint8

// The kinds of keys.
const (
	Rune Kind = iota + 1 // a printable character or a space
	Enter
	NewLine  // ^J
	AltEnter // Enter with Alt
	Tab
	Backspace
	EraseWord // ^W
	EraseLine // ^U
	EraseEnd  // ^K
	PutBack   // ^Y
	EndInput  // ^D
	Redraw    // ^L
	Search    // ^R
	Escape    // the key itself, not the beginning of a sequence
	Interrupt // ^C
	Suspend   // ^Z
	Paste     // pasted text, as marked by the terminal
	Left      // the arrows, and the keys that move within a text
	Right
	Up
	Down
	WordLeft
	WordRight
	Home
	End
	Delete
	Other // anything else: focus, mouse, function keys, replies of the terminal
)

// Key is one input from the keyboard.
type Key struct {
	Kind Kind
	Rune rune
	Text string // of a paste
}

// Decoder decodes bytes into keys. A sequence may arrive in pieces. Pasted text that is
// longer than maxRest gives several keys, and none of it is ever taken for something typed.
type Decoder struct {
	rest    []byte
	pasting bool // the mark before rest was taken, and that behind it has not come
}

// maxRest is the maximum size in bytes of an incomplete sequence.
const maxRest = 1 << 20

// Feed returns the keys that are complete with data.
func (d *Decoder) Feed(data []byte) []Key {
	d.rest = append(d.rest, data...)
	var keys []Key
	for len(d.rest) > 0 {
		key, n := d.next()
		if n == 0 {
			break
		}
		keys = append(keys, key)
		d.rest = d.rest[n:]
	}
	return keys
}

// next returns the key that the rest begins with and its length, 0 if it is incomplete.
func (d *Decoder) next() (Key, int) {
	if d.pasting {
		return d.pasted()
	}
	key, n := next(d.rest)
	if n != 0 || len(d.rest) <= maxRest {
		return key, n
	}
	if d.Pasting() {
		d.rest, d.pasting = d.rest[len(pasteBegins):], true
		return d.pasted()
	}
	return Key{Kind: Other}, len(d.rest)
}

// pasted returns the rest of a pasted text, or as much of it as is kept at once.
func (d *Decoder) pasted() (Key, int) {
	if end := bytes.Index(d.rest, pasteEnds); end >= 0 {
		d.pasting = false
		return Key{Kind: Paste, Text: string(d.rest[:end])}, end + len(pasteEnds)
	}
	n := len(d.rest) - len(pasteEnds)
	if n < maxRest {
		return Key{}, 0
	}
	for n > 0 && !utf8.RuneStart(d.rest[n]) {
		n--
	}
	return Key{Kind: Paste, Text: string(d.rest[:n])}, n
}

// Pasting reports whether pasted text has begun, whose end has not come.
func (d *Decoder) Pasting() bool { return d.pasting || bytes.HasPrefix(d.rest, pasteBegins) }

// Pending reports whether a sequence is incomplete.
func (d *Decoder) Pending() bool { return len(d.rest) > 0 || d.pasting }

// Flush ends an incomplete sequence: Escape if it was only that key, what has come of a
// pasted text, else Other. ok is false if there was none.
func (d *Decoder) Flush() (key Key, ok bool) {
	if !d.Pending() {
		return Key{}, false
	}
	key = Key{Kind: Other}
	switch {
	case d.Pasting():
		key = Key{Kind: Paste, Text: string(bytes.TrimPrefix(d.rest, pasteBegins))}
	case len(d.rest) == 1 && d.rest[0] == esc:
		key.Kind = Escape
	}
	d.rest, d.pasting = nil, false
	return key, true
}

const (
	esc = 0x1b
	bel = 0x07
)

// controls are the control characters that are keys.
var controls = [0x80]Kind{
	'\r': Enter, '\n': NewLine, '\t': Tab, 0x7f: Backspace, 0x08: Backspace,
	0x01: Home, 0x05: End, 0x02: Left, 0x06: Right, 0x10: Up, 0x0e: Down, // ^A ^E ^B ^F ^P ^N
	0x17: EraseWord, 0x15: EraseLine, 0x0b: EraseEnd, 0x19: PutBack,
	0x03: Interrupt, 0x04: EndInput, 0x0c: Redraw, 0x12: Search, 0x1a: Suspend,
}

// next returns the key that data begins with and its length, 0 if it is
// incomplete.
func next(data []byte) (Key, int) {
	if data[0] == esc {
		return escaped(data)
	}
	if data[0] < utf8.RuneSelf && controls[data[0]] != 0 {
		return Key{Kind: controls[data[0]]}, 1
	}
	if !utf8.FullRune(data) {
		return Key{}, 0
	}
	r, n := utf8.DecodeRune(data)
	if r == utf8.RuneError || !unicode.IsPrint(r) {
		return Key{Kind: Other}, n
	}
	return Key{Kind: Rune, Rune: r}, n
}

// escaped decodes input that begins with an escape character.
func escaped(data []byte) (Key, int) {
	if len(data) < 2 {
		return Key{}, 0
	}
	switch data[1] {
	case '[':
		return control(data)
	case 'O', 'N': // one more character
		if len(data) > 2 && data[1] == 'O' {
			return Key{Kind: moves("", data[2])}, 3
		}
		return Key{Kind: Other}, whole(data, 3)
	case ']', 'P', '_', '^', 'X':
		return str(data)
	case esc: // the key twice, or the key and a sequence
		return Key{Kind: Other}, 1
	case '\r', '\n':
		return Key{Kind: AltEnter}, 2
	case 'b':
		return Key{Kind: WordLeft}, 2
	case 'f':
		return Key{Kind: WordRight}, 2
	}
	if !utf8.FullRune(data[1:]) {
		return Key{}, 0
	}
	_, n := utf8.DecodeRune(data[1:])
	return Key{Kind: Other}, 1 + n // with Alt
}

// whole returns n if data has that many bytes, else 0.
func whole(data []byte, n int) int {
	if len(data) < n {
		return 0
	}
	return n
}

// The marks around pasted text.
var (
	pasteBegins = []byte("\x1b[200~")
	pasteEnds   = []byte("\x1b[201~")
)

// control decodes a control sequence: ESC [, parameters, a final byte.
func control(data []byte) (Key, int) {
	at := 2
	for at < len(data) && 0x20 <= data[at] && data[at] <= 0x3f {
		at++
	}
	switch {
	case at == len(data):
		return Key{}, 0
	case data[at] == '[' && at == 2: // a function key of the Linux console
		return Key{Kind: Other}, whole(data, 4)
	case data[at] == 'M' && at == 2: // the mouse: three arbitrary bytes
		return Key{Kind: Other}, whole(data, 6)
	case data[at] < 0x40 || data[at] > 0x7e: // interrupted
		return Key{Kind: Other}, at
	}
	if !bytes.Equal(data[:at+1], pasteBegins) {
		return Key{Kind: moves(string(data[2:at]), data[at])}, at + 1
	}
	text := data[at+1:]
	end := bytes.Index(text, pasteEnds)
	if end < 0 {
		return Key{}, 0
	}
	return Key{Kind: Paste, Text: string(text[:end])}, at + 1 + end + len(pasteEnds)
}

// moves returns the key that moves within a line for the parameters and the final byte
// of a control sequence of xterm or the VT220, Other if it is another key.
func moves(parameters string, final byte) Kind {
	if final == '~' {
		return cmp.Or(map[string]Kind{"1": Home, "7": Home, "3": Delete, "4": End, "8": End}[parameters], Other)
	}
	switch parameters {
	case "":
		return cmp.Or(map[byte]Kind{'A': Up, 'B': Down, 'C': Right, 'D': Left, 'F': End, 'H': Home}[final], Other)
	case "1;5", "1;3": // with Ctrl or Alt
		return cmp.Or(map[byte]Kind{'C': WordRight, 'D': WordLeft}[final], Other)
	}
	return Other
}

// str decodes a string sequence, such as a reply of the terminal, which BEL or
// ESC \ ends.
func str(data []byte) (Key, int) {
	for at := 2; at < len(data); at++ {
		switch {
		case data[at] == bel:
			return Key{Kind: Other}, at + 1
		case data[at] == esc && at+1 < len(data):
			if data[at+1] == '\\' {
				return Key{Kind: Other}, at + 2
			}
			return Key{Kind: Other}, at // interrupted
		}
	}
	return Key{}, 0
}
