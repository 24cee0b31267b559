package stricttoml

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// node is a value or a table as the scanner found it.
type node struct {
	kind kind
	Place
	key   Place // position of the key; zero if it is that of the node
	keys  map[string]*node
	order []string
	elems []*node
}

type kind string

const (
	isTable  kind = "a table"
	isArray  kind = "an array"
	isString kind = "a string"
	isBool   kind = "a boolean"
	isNumber kind = "a number"
	isOther  kind = "a date or time"
)

// scanner parses TOML as far as needed for keys, kinds and positions. It may
// accept what the library rejects, but not the reverse without an error.
type scanner struct {
	name  string
	data  []byte
	pos   int
	fault *Error // ends the scan
	// twice holds errors for duplicate keys.
	twice []error
	// row, begin and passed say how far lines have been counted.
	row, begin, passed int
}

// scan parses the text into a tree. The error says why it cannot be parsed;
// duplicate keys are returned beside the tree, which has the first of them.
func scan(data []byte, name string) (root *node, twice []error, err error) {
	s := &scanner{name: name, data: data, row: 1}
	root = newTable(Place{Line: 1, Col: 1})
	if len(data) > MaxSize {
		s.fail(MaxSize, fmt.Sprintf("the file is longer than %d bytes", MaxSize))
		return nil, nil, s.fault
	}
	if at := invalid(data); at >= 0 {
		s.fail(at, "not valid UTF-8: save the file as UTF-8")
		return nil, nil, s.fault
	}
	if bytes.HasPrefix(data, []byte("\ufeff")) {
		s.pos = len("\ufeff")
	}
	s.document(root)
	if s.fault != nil {
		return nil, nil, errors.Join(append(s.twice, s.fault)...)
	}
	return root, s.twice, nil
}

// invalid returns the offset of the first byte that is not valid UTF-8, or -1.
func invalid(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

func newTable(at Place) *node { return &node{kind: isTable, Place: at, keys: map[string]*node{}} }

// placeAt counts lines from the start; it is only for errors.
func placeAt(data []byte, start, end int) Place {
	start = min(max(start, 0), len(data))
	before := data[:start]
	return Place{
		Line:  bytes.Count(before, []byte{'\n'}) + 1,
		Col:   start - bytes.LastIndexByte(before, '\n'),
		Start: start, End: min(max(end, start), len(data)),
	}
}

// fail stores the first fault and ends the scan.
func (s *scanner) fail(at int, text string) {
	if s.fault == nil {
		s.fault = &Error{Name: s.name, Place: placeAt(s.data, at, at), Text: text}
	}
	s.pos = len(s.data)
}

func (s *scanner) unexpected(want string) { s.unexpectedHint(want, "") }

// unexpectedHint is unexpected with a hint behind the message.
func (s *scanner) unexpectedHint(want, hint string) {
	if s.pos >= len(s.data) {
		s.fail(s.pos, "the file ends where "+want+" is expected"+hint)
		return
	}
	r, _ := utf8.DecodeRune(s.data[s.pos:])
	switch {
	case hint != "":
	case strings.ContainsRune("“”„‘’", r):
		s.fail(s.pos, fmt.Sprintf("%q where %s is expected (write straight quotes: \"…\")", r, want))
		return
	case r == '{' && s.pos == 0:
		hint = " (this looks like JSON: write TOML, as in key = \"value\")"
	}
	s.fail(s.pos, fmt.Sprintf("%+q where %s is expected%s", r, want, hint))
}

// peek returns the byte at the current position, 0 at the end.
func (s *scanner) peek() byte {
	if s.pos >= len(s.data) {
		return 0
	}
	return s.data[s.pos]
}

func (s *scanner) skip(text string) bool {
	if bytes.HasPrefix(s.data[s.pos:], []byte(text)) {
		s.pos += len(text)
		return true
	}
	return false
}

func (s *scanner) blanks() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

// space skips white space, line breaks and comments.
func (s *scanner) space() {
	for {
		s.blanks()
		switch {
		case s.peek() == '#':
			s.restOfLine()
		case s.skip("\n"), s.skip("\r\n"):
		default:
			return
		}
	}
}

func (s *scanner) restOfLine() {
	if i := bytes.IndexByte(s.data[s.pos:], '\n'); i >= 0 {
		s.pos += i
	} else {
		s.pos = len(s.data)
	}
}

func (s *scanner) endOfLine() {
	s.blanks()
	if s.peek() == '#' {
		s.restOfLine()
	}
	if s.pos < len(s.data) && !s.skip("\n") && !s.skip("\r\n") {
		s.unexpected("the end of the line")
	}
}

func (s *scanner) document(root *node) {
	table, path := root, []string(nil)
	for s.space(); s.pos < len(s.data); s.space() {
		start := s.pos
		if s.peek() == '[' {
			path = s.header(root, &table)
			table.Place = s.place(start, s.pos)
		} else {
			s.member(table, path, 0)
			table.End = s.pos
		}
		s.endOfLine()
	}
}

// header parses [a.b] or [[a.b]], creates the table and returns its path.
func (s *scanner) header(root *node, table **node) []string {
	at := s.pos
	s.pos++
	list := s.skip("[")
	s.blanks()
	path := s.key(nil)
	s.blanks()
	if !s.skip("]") || list && !s.skip("]") {
		s.unexpected("]")
	}
	if s.fault != nil {
		return nil
	}
	parent := s.descend(root, path[:len(path)-1], at)
	last := path[len(path)-1]
	if list {
		*table = s.appendTable(parent, last, at)
	} else {
		*table = s.descend(parent, path[len(path)-1:], at)
	}
	return path
}

// descend follows keys through tables and creates missing ones; for an array of
// tables it takes the last.
func (s *scanner) descend(t *node, path []string, at int) *node {
	for _, key := range path {
		next := t.keys[key]
		if next == nil {
			next = newTable(s.place(at, at))
			t.add(key, next)
		}
		if next.kind == isArray && len(next.elems) > 0 {
			next = next.elems[len(next.elems)-1]
		}
		if next.kind != isTable {
			s.fail(at, fmt.Sprintf("key %s is %s already", show(key), next.kind))
			return newTable(Place{})
		}
		t = next
	}
	return t
}

func (s *scanner) appendTable(parent *node, key string, at int) *node {
	list := parent.keys[key]
	if list == nil {
		list = &node{kind: isArray, Place: s.place(at, at)}
		parent.add(key, list)
	}
	if list.kind != isArray {
		s.fail(at, fmt.Sprintf("key %s is %s already", show(key), list.kind))
		return newTable(Place{})
	}
	t := newTable(Place{})
	list.elems = append(list.elems, t)
	return t
}

func (n *node) add(key string, v *node) {
	n.keys[key] = v
	n.order = append(n.order, key)
}

// member parses key = value into the table with the given path; arrays is the
// number of enclosing arrays.
func (s *scanner) member(table *node, path []string, arrays int) {
	at := s.pos
	keys := s.key(path)
	s.blanks()
	if !s.skip("=") {
		s.unexpected("= after a key")
	}
	if s.fault != nil {
		return
	}
	s.blanks()
	owner := s.descend(table, keys[:len(keys)-1], at)
	last := keys[len(keys)-1]
	key := s.place(at, s.pos)
	value := s.value(append(path[:len(path):len(path)], keys...), arrays)
	value.key = key
	if owner.keys[last] != nil {
		s.twice = append(s.twice, &Error{Name: s.name, Place: value.key, Text: fmt.Sprintf("key %s stands twice: remove one", show(last))})
		return
	}
	owner.add(last, value)
}

// key parses a key, possibly dotted; prefix is the path of its table.
func (s *scanner) key(prefix []string) []string {
	at, length := s.pos, 0
	for _, p := range prefix {
		length += len(p) + 1
	}
	var keys []string
	for s.fault == nil {
		s.blanks()
		part := s.keyPart()
		keys = append(keys, part)
		length += len(part) + 1
		s.blanks()
		if !s.skip(".") {
			break
		}
	}
	switch {
	case s.fault != nil:
	case length > maxKey:
		s.fail(at, fmt.Sprintf("a key longer than %d bytes", maxKey))
	case len(prefix)+len(keys) > maxDepth:
		s.fail(at, fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	return keys
}

func (s *scanner) keyPart() string {
	switch s.peek() {
	case '"':
		text, ok := unquote(s.line(`"`))
		if !ok {
			s.fail(s.pos, "a malformed key in quotes: write it as \"key\"")
		}
		return text
	case '\'':
		quoted := s.line(`'`)
		return quoted[1 : len(quoted)-1]
	}
	from := s.pos
	for isBare(s.peek()) {
		s.pos++
	}
	if from == s.pos {
		s.unexpected("a key")
	}
	return string(s.data[from:s.pos])
}

func isBare(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
}

// value parses a value; path is that of its key.
func (s *scanner) value(path []string, arrays int) *node {
	n := &node{}
	start := s.pos
	n.Place = s.place(start, start)
	if len(path)+arrays > maxDepth {
		s.fail(start, fmt.Sprintf("nested deeper than %d", maxDepth))
		return n
	}
	switch s.peek() {
	case '"', '\'':
		n.kind = isString
		s.str()
	case '[':
		n.kind = isArray
		s.array(n, path, arrays+1)
	case '{':
		n.kind, n.keys = isTable, map[string]*node{}
		s.inline(n, path, arrays)
	default:
		n.kind = s.scalar()
	}
	n.End = s.pos
	return n
}

func (s *scanner) array(n *node, path []string, arrays int) {
	s.pos++
	for s.space(); s.fault == nil && !s.skip("]"); s.space() {
		n.elems = append(n.elems, s.value(path, arrays))
		s.space()
		if !s.skip(",") && s.peek() != ']' {
			s.unexpected("a comma or ]")
		}
	}
}

func (s *scanner) inline(n *node, path []string, arrays int) {
	s.pos++
	for s.space(); s.fault == nil && !s.skip("}"); s.space() {
		s.member(n, path, arrays)
		s.space()
		if !s.skip(",") && s.peek() != '}' {
			s.unexpected("a comma or }")
		}
	}
}

// scalar parses a value that is not a string and returns its kind.
func (s *scanner) scalar() kind {
	from := s.pos
	for s.pos < len(s.data) && (isBare(s.peek()) || strings.IndexByte("+.:", s.peek()) >= 0) {
		s.pos++
	}
	word := string(s.data[from:s.pos])
	// A blank may separate a date from a time.
	if len(word) == len("2006-01-02") && s.peek() == ' ' && s.pos+1 < len(s.data) && isDigit(s.data[s.pos+1]) {
		s.pos++
		return s.scalar()
	}
	switch {
	case word == "":
		s.unexpected("a value")
	case word == "true", word == "false":
		return isBool
	case isLetter(word[0]) && word != "inf" && word != "nan":
		s.fail(from, word+" is not a value: write text in quotes")
	case strings.Contains(word, ":"), len(word) == len("2006-01-02") && strings.Count(word[1:], "-") == 2:
		return isOther
	}
	return isNumber
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str skips a string in any of the four notations.
func (s *scanner) str() {
	for _, quote := range []string{`"""`, `'''`} {
		if s.skip(quote) {
			s.block(quote)
			return
		}
	}
	s.line(string(s.peek()))
}

// escapes are the characters that may follow a backslash in a basic string.
const escapes = `btnfre"\xuU`

// line parses a single-line string and returns it with its quotes.
func (s *scanner) line(quote string) string {
	from := s.pos
	for s.pos++; s.pos < len(s.data) && s.peek() != '\n'; s.pos++ {
		switch {
		case s.peek() == quote[0]:
			s.pos++
			return string(s.data[from:s.pos])
		case s.peek() == '\\' && quote == `"`:
			if s.pos++; s.pos < len(s.data) && strings.IndexByte(escapes, s.peek()) < 0 {
				s.unexpectedHint(`an escape such as \n`, ` (in '…' a backslash is itself)`)
				return quote + quote
			}
		}
	}
	s.fail(from, "a string without its closing quote: add it")
	return quote + quote
}

// block skips the rest of a multi-line string; up to two quotes may precede the
// closing three.
func (s *scanner) block(quote string) {
	from := s.pos - len(quote)
	for s.pos < len(s.data) {
		switch {
		case s.skip(quote):
			for range 2 {
				s.skip(quote[:1])
			}
			return
		case s.peek() == '\\' && quote[0] == '"':
			s.pos += 2
		default:
			s.pos++
		}
	}
	s.fail(from, "a string without its closing quotes: add them")
}

// unquote decodes the escapes of a basic string.
func unquote(quoted string) (string, bool) {
	body := quoted[1 : len(quoted)-1]
	var b strings.Builder
	for body != "" {
		if body[0] != '\\' {
			b.WriteByte(body[0])
			body = body[1:]
			continue
		}
		if strings.HasPrefix(body, `\e`) {
			b.WriteByte('\x1b')
			body = body[2:]
			continue
		}
		r, _, rest, err := strconv.UnquoteChar(body, '"')
		if err != nil || body[1] == '\'' || isDigit(body[1]) {
			return "", false
		}
		b.WriteRune(r)
		body = rest
	}
	return b.String(), true
}

// place converts offsets to a position. The offsets of successive calls may
// decrease only within a line.
func (s *scanner) place(start, end int) Place {
	for ; s.passed < start && s.passed < len(s.data); s.passed++ {
		if s.data[s.passed] == '\n' {
			s.row++
			s.begin = s.passed + 1
		}
	}
	return Place{Line: s.row, Col: start - s.begin + 1, Start: start, End: end}
}
