package strictjson

import (
	"bytes"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// scanner walks the input once, together with the Go type that each value is
// for.
type scanner struct {
	data []byte
	pos  int
	path []step
	room [4]step // backs path
	// found collects positions if it is not nil; counted, line and start say
	// how far lines have been counted for it.
	found                map[string]Position
	counted, line, start int

	maxSize, maxDepth         int
	ignoreUnknown, nullAbsent bool
	noNull                    bool
	known                     []string
	aside                     []string // keys that are allowed in any object
	cuts                      [][2]int // ranges of members with such keys
}

// step is one element of a path: a key, or an index if key is "" and index is
// not -1.
type step struct {
	key   string
	index int
}

func newScanner(data []byte, opts []Option) *scanner {
	s := &scanner{data: data, maxSize: defaultMaxSize, maxDepth: defaultMaxDepth}
	s.path = s.room[:0]
	for _, o := range opts {
		o(s)
	}
	return s
}

func (s *scanner) fail(at int, text string) *inputError {
	at = min(max(at, 0), len(s.data))
	p := s.position(at)
	return &inputError{Offset: at, Line: p.Line, Col: p.Col, Path: s.pathText(), Text: text}
}

func (s *scanner) position(at int) Position {
	before := s.data[:at]
	return Position{
		Line: bytes.Count(before, []byte{'\n'}) + 1,
		Col:  at - bytes.LastIndexByte(before, '\n'),
	}
}

// note records the position of the value that begins here.
func (s *scanner) note() {
	if s.found == nil {
		return
	}
	for ; s.counted < s.pos; s.counted++ {
		if s.data[s.counted] == '\n' {
			s.line++
			s.start = s.counted + 1
		}
	}
	s.found[s.pathText()] = Position{Line: s.line + 1, Col: s.pos - s.start + 1}
}

func (s *scanner) pathText() string {
	path := ""
	for _, p := range s.path {
		if p.index >= 0 {
			path += fmt.Sprintf("[%d]", p.index)
		} else {
			path = Member(path, p.key)
		}
	}
	return path
}

// printable truncates a long key, and quotes one that could mislead a reader of
// the error.
func printable(key string) string {
	const longest = 64
	if len(key) > longest {
		key = key[:longest] + "..."
	}
	q := strconv.QuoteToASCII(key)
	if q[1:len(q)-1] == key && key != "" {
		return key
	}
	return q
}

// document checks the whole input as one value of type t.
func (s *scanner) document(t reflect.Type) error {
	if len(s.data) > s.maxSize {
		return s.fail(s.maxSize, fmt.Sprintf("longer than %d bytes", s.maxSize))
	}
	if err := s.value(t, 0); err != nil {
		return err
	}
	s.blanks()
	if s.pos < len(s.data) {
		return s.fail(s.pos, "text after the end of the value")
	}
	return nil
}

func (s *scanner) blanks() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// next returns the next byte that is not white space, 0 at the end.
func (s *scanner) next() byte {
	s.blanks()
	if s.pos == len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) value(t reflect.Type, depth int) error {
	c := s.next()
	s.note()
	if got := kindOf(c); got == "" {
		return s.unexpected("a value")
	} else if err := s.fits(t, got); err != nil {
		return err
	}
	switch c {
	case '{':
		return s.object(t, depth+1)
	case '[':
		return s.array(t, depth+1)
	case '"':
		return s.skipText()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// kindOf returns the kind of value that begins with c, "" if none does.
func kindOf(c byte) string {
	switch {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 't', c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	case c == '-', '0' <= c && c <= '9':
		return "a number"
	}
	return ""
}

func (s *scanner) fits(t reflect.Type, got string) error {
	want := wanted(t)
	if want == "" || want == got {
		return nil
	}
	inArray := len(s.path) > 0 && s.path[len(s.path)-1].index >= 0
	if got == "null" && (t.Kind() == reflect.Pointer && !s.noNull || s.nullAbsent && !inArray) {
		return nil
	}
	return s.fail(s.pos, "must be "+want+", not "+got)
}

func (s *scanner) unexpected(want string) *inputError {
	if s.pos == len(s.data) {
		return s.fail(s.pos, "the text ends where "+want+" is expected")
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	return s.fail(s.pos, fmt.Sprintf("%+q where %s is expected", r, want))
}

func (s *scanner) array(t reflect.Type, depth int) error {
	if depth > s.maxDepth {
		return s.fail(s.pos, fmt.Sprintf("nested deeper than %d", s.maxDepth))
	}
	s.pos++
	if s.next() == ']' {
		s.pos++
		return nil
	}
	elem := element(t)
	for i := 0; ; i++ {
		s.path = append(s.path, step{index: i})
		if err := s.value(elem, depth); err != nil {
			return err
		}
		s.path = s.path[:len(s.path)-1]
		switch s.next() {
		case ',':
			s.pos++
		case ']':
			s.pos++
			return nil
		default:
			return s.unexpected("a comma or ]")
		}
	}
}

func (s *scanner) object(t reflect.Type, depth int) error {
	if depth > s.maxDepth {
		return s.fail(s.pos, fmt.Sprintf("nested deeper than %d", s.maxDepth))
	}
	s.pos++
	if s.next() == '}' {
		s.pos++
		return nil
	}
	keys := s.keysOf(t, depth)
	for {
		if err := s.member(&keys, depth); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.pos++
		case '}':
			s.pos++
			return nil
		default:
			return s.unexpected("a comma or }")
		}
	}
}

func (s *scanner) member(keys *keySet, depth int) error {
	if s.next() != '"' {
		return s.unexpected("a key in double quotes")
	}
	at := s.pos
	key, err := s.key()
	if err != nil {
		return err
	}
	t, complaint := keys.enter(key, s.ignoreUnknown)
	if complaint != "" {
		return s.fail(at, complaint)
	}
	if s.next() != ':' {
		return s.unexpected("a colon")
	}
	s.pos++
	s.path = append(s.path, step{key: key, index: -1})
	if err := s.value(t, depth); err != nil {
		return err
	}
	s.path = s.path[:len(s.path)-1]
	if keys.aside(key) {
		s.cuts = append(s.cuts, [2]int{at, s.pos})
	}
	return nil
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.data[s.pos:], []byte(word)) {
		return s.unexpected("a value")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) number() error {
	s.skip('-')
	if !s.skip('0') && s.digits() == 0 {
		return s.unexpected("a digit")
	}
	if s.skip('.') && s.digits() == 0 {
		return s.unexpected("a digit")
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		if s.digits() == 0 {
			return s.unexpected("a digit")
		}
	}
	return nil
}

func (s *scanner) skip(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

func (s *scanner) digits() int {
	from := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - from
}

// skipText checks a string without decoding it.
func (s *scanner) skipText() error {
	if end, plain := s.plain(s.pos + 1); plain {
		s.pos = end + 1
		return nil
	}
	_, err := s.text()
	return err
}

// key decodes a string, with a fast path for known keys.
func (s *scanner) key() (string, error) {
	if end, plain := s.plain(s.pos + 1); plain {
		for _, name := range s.known {
			if string(s.data[s.pos+1:end]) == name {
				s.pos = end + 1
				return name, nil
			}
		}
	}
	return s.text()
}

// text decodes a string.
func (s *scanner) text() (string, error) {
	s.pos++
	from := s.pos
	if end, plain := s.plain(from); plain {
		s.pos = end + 1
		return string(s.data[from:end]), nil
	}
	var b strings.Builder
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return b.String(), nil
		case c == '\\':
			if err := s.escape(&b); err != nil {
				return "", err
			}
		case c < ' ':
			return "", s.fail(s.pos, "a control character in a string")
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return "", s.fail(s.pos, "not valid UTF-8")
			}
			b.Write(s.data[s.pos : s.pos+size])
			s.pos += size
		}
	}
	return "", s.fail(s.pos, "the text ends inside a string")
}

// plain returns the end of a string that begins after its quote at from, if it
// is ASCII without escapes.
func (s *scanner) plain(from int) (end int, ok bool) {
	for i := from; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			return i, true
		case c == '\\', c < ' ', c >= utf8.RuneSelf:
			return 0, false
		}
	}
	return 0, false
}

var escapes = map[byte]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

func (s *scanner) escape(b *strings.Builder) error {
	at := s.pos
	if s.pos+1 == len(s.data) {
		return s.fail(at, "the text ends inside a string")
	}
	c := s.data[s.pos+1]
	if out, ok := escapes[c]; ok {
		s.pos += 2
		b.WriteByte(out)
		return nil
	}
	r, ok := s.unit()
	if !ok {
		return s.fail(at, "a malformed escape in a string")
	}
	if utf16.IsSurrogate(r) {
		second, ok := s.unit()
		r = utf16.DecodeRune(r, second)
		if !ok || r == utf8.RuneError {
			return s.fail(at, "half of a surrogate pair in a string")
		}
	}
	b.WriteRune(r)
	return nil
}

// unit decodes \uXXXX.
func (s *scanner) unit() (rune, bool) {
	if len(s.data)-s.pos < 6 || s.data[s.pos] != '\\' || s.data[s.pos+1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.data[s.pos+2:s.pos+6]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.pos += 6
	return rune(n), true
}
