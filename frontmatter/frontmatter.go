// Package frontmatter reads the permission settings at the head of a chat
// file in Markdown:
//
//	---
//	permission_mode: plan            # or permissions_mode; the first counts
//	permissions_allow: [Read, "Bash(git status)"]
//	permissions_ask:
//	  - Bash(git push:*)
//	permissions_deny: []
//	model: any other key is left alone
//	---
//
// The head is YAML between two lines ---, or TOML between two lines +++, and
// begins at the first line. A file without a head has no settings. What cannot
// be read with certainty is an error with a position: a key that is similar to
// one of these, a value of another type, a duplicate key, YAML's anchors,
// aliases, tags and merge keys, a head without an end.
package frontmatter

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHead is the maximum size of a head in bytes, including both fences.
const maxHead = 16 << 10

// Head is the permission settings of a head. The zero value is that of a file
// without settings.
type Head struct {
	Mode             Value
	Allow, Ask, Deny []Value
}

// Value is a text and its position.
type Value struct {
	Text      string
	Name      string // of the file
	Line, Col int    // from 1, in bytes
}

// Read reads the head of a file; name stands for the file in errors and
// positions. It reads at most as much as a head may have.
func Read(r io.Reader, name string) (Head, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxHead+1))
	if err != nil {
		return Head{}, fmt.Errorf("%s: %w", name, err)
	}
	return parse(data, name)
}

// parse is Read for a text, of which only the head is used.
func parse(data []byte, name string) (head Head, err error) {
	defer func() { // the YAML library has panicked before
		if r := recover(); r != nil {
			head, err = Head{}, fmt.Errorf("%s:1: the head cannot be read: %v", name, r)
		}
	}()
	fence, text, err := cut(data, name)
	if err != nil || fence == "" {
		return Head{}, err
	}
	read := readYAML
	if fence == "+++" {
		read = readTOML
	}
	entries, err := read(text, name)
	if err != nil {
		return Head{}, err
	}
	return settings(entries)
}

// cut returns the text between the fences, with an empty line in place of the
// first, so that line numbers are those of the file. fence is "" if there is no
// head.
func cut(data []byte, name string) (fence string, text []byte, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	first, rest, more := bytes.Cut(data, []byte("\n"))
	fence = string(bytes.TrimRight(first, " \t\r"))
	if fence != "---" && fence != "+++" {
		return "", nil, astray(data, name)
	}
	text = []byte("\n")
	for more && len(text) <= maxHead {
		var line []byte
		line, rest, more = bytes.Cut(rest, []byte("\n"))
		if string(bytes.TrimRight(line, " \t\r")) == fence {
			return fence, text, plain(text, name)
		}
		text = append(append(text, line...), '\n')
	}
	return "", nil, fmt.Errorf("%s:1: the head that begins with %s does not end within %d bytes: close it with a line %s", name, fence, maxHead, fence)
}

// breaks are characters that end a line in some programs only.
const breaks = "\r\u0085\u2028\u2029"

// plain refuses invalid UTF-8, and line breaks other than LF and CRLF.
func plain(text []byte, name string) error {
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			return fmt.Errorf("%s:%d: the head is not UTF-8", name, i+1)
		}
		if at := bytes.IndexAny(bytes.TrimSuffix(line, []byte("\r")), breaks); at >= 0 {
			return fmt.Errorf("%s:%d:%d: a line break other than LF or CRLF: write the head with one of these", name, i+1, at+1)
		}
	}
	return nil
}

// astray refuses a file without a head that looks to a person as if it had one:
// ignoring its settings could lose a deny.
func astray(data []byte, name string) error {
	if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
		return fmt.Errorf("%s:1:1: the file is UTF-16: save it as UTF-8", name)
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		seen := bytes.TrimFunc(line, unseen)
		if len(seen) == 0 {
			continue
		}
		if likeFence(seen) {
			return fmt.Errorf("%s:%d:1: this looks like the begin of a head: put --- or +++ alone into the first line, or other text above", name, number)
		}
		return nil
	}
	return nil
}

func unseen(r rune) bool { return unicode.IsSpace(r) || !unicode.IsGraphic(r) }

// likeFence reports whether a line is a fence followed by a comment or an
// unusual line break.
func likeFence(line []byte) bool {
	rest, yaml := bytes.CutPrefix(line, []byte("---"))
	if !yaml {
		var toml bool
		if rest, toml = bytes.CutPrefix(line, []byte("+++")); !toml {
			return false
		}
	}
	next, _ := utf8.DecodeRune(rest)
	comment := bytes.HasPrefix(bytes.TrimLeftFunc(rest, unseen), []byte("#"))
	return len(rest) == 0 || comment || strings.ContainsRune(breaks, next)
}

// entry is a key of the head and its value.
type entry struct {
	key    Value
	value  any    // a Value or a list of Values
	scalar string // the text of a single value of any type
	fault  string
}

// The keys of permission settings.
const (
	keyMode  = "permission_mode"
	keyModes = "permissions_mode"
	keyAllow = "permissions_allow"
	keyAsk   = "permissions_ask"
	keyDeny  = "permissions_deny"
)

// settings selects the permission settings among all entries.
func settings(entries []entry) (Head, error) {
	var head Head
	var plural Value
	for _, e := range entries {
		var err error
		switch e.key.Text {
		case keyMode:
			head.Mode, err = e.text()
		case keyModes:
			plural, err = e.text()
		case keyAllow:
			head.Allow, err = e.list()
		case keyAsk:
			head.Ask, err = e.list()
		case keyDeny:
			head.Deny, err = e.list()
		default:
			if meant(e.key.Text) {
				err = e.key.errorf("unknown key %q: the permission settings are %s, %s, %s and %s", e.key.Text, keyMode, keyAllow, keyAsk, keyDeny)
			}
		}
		if err != nil {
			return Head{}, err
		}
	}
	if head.Mode.Line == 0 {
		head.Mode = plural
	}
	return head, nil
}

// meant reports whether a key seems to be about permissions: it begins like one
// of the keys, apart from case, dashes, doubled letters or one typing error.
func meant(key string) bool {
	var folded []rune
	for _, r := range key {
		if r = unicode.ToLower(r); unicode.IsLetter(r) && (len(folded) == 0 || r != folded[len(folded)-1]) {
			folded = append(folded, r)
		}
	}
	word := []rune("permision") // with doubled letters reduced
	for n := len(word) - 1; n <= len(word)+1 && n <= len(folded); n++ {
		if slip(folded[:n], word) {
			return true
		}
	}
	return false
}

// slip reports whether a equals b except for one letter that is wrong, missing,
// added or swapped with its neighbour.
func slip(a, b []rune) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	turned := len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
	return turned || len(a) <= 1 && len(b) <= 1
}

func (e *entry) text() (Value, error) {
	v, ok := e.value.(Value)
	if !ok || e.fault != "" {
		return Value{}, e.wrong("want one name of a mode")
	}
	return v, nil
}

func (e *entry) list() ([]Value, error) {
	if e.value == nil && e.fault == "" {
		return nil, nil
	}
	list, ok := e.value.([]Value)
	if !ok || e.fault != "" {
		return nil, e.wrong("want a list of rules, as [Read, \"Bash(git status)\"]")
	}
	return list, nil
}

func (e *entry) wrong(want string) error {
	if e.fault != "" {
		want += ": " + e.fault
	}
	return e.key.errorf("%s: %s", e.key.Text, want)
}

func (v Value) errorf(format string, args ...any) error {
	return &Error{Value{Name: v.Name, Line: v.Line, Col: v.Col}, fmt.Sprintf(format, args...)}
}

// Error is an error in a head, with its position.
type Error struct {
	At   Value
	Text string
}

// Error returns "name:line:col: text".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.At.Name, e.At.Line, e.At.Col, e.Text)
}
