// Package strictjson reads JSON that may come from an attacker, where
// encoding/json is too kind: it takes the last of two equal keys, matches
// keys in any case, repairs bad text and is silent about what follows.
//
// Refused are: two equal keys in one object; a key that differs from an
// expected one only in case (also by Unicode folding, ſ for s) or by a NUL;
// unknown keys, unless they are to be ignored; null where a value is
// expected, unless it is to count as absent; bytes that are not UTF-8; halves
// of surrogate pairs; anything after the value; input that is too long or too
// deep. What is accepted, encoding/json accepts with the same value.
//
// Every error has its place in the input: "line:col: path: text".
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// The limits where no option sets others.
const (
	defaultMaxSize  = 8 << 20 // bytes
	defaultMaxDepth = 128     // nested arrays and objects
)

// inputError is why the input was refused and where.
type inputError struct {
	Offset    int    // in bytes, from 0
	Line, Col int    // from 1; Col counts bytes
	Path      string // "rules[0].tools", "" for the whole
	Text      string
}

// Error returns "line:col: path: text".
func (e *inputError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Text)
	}
	return fmt.Sprintf("%d:%d: %s: %s", e.Line, e.Col, e.Path, e.Text)
}

// Option changes how input is read.
type Option func(*scanner)

// IgnoreUnknown lets keys pass that the Go type does not have; for protocols,
// where the other side may know more.
func IgnoreUnknown(s *scanner) { s.ignoreUnknown = true }

// NullAbsent lets null stand where a value is expected; it counts as if the
// key were not there.
func NullAbsent(s *scanner) { s.nullAbsent = true }

// NoNull refuses null also for a pointer, which then only says whether the key
// is there.
func NoNull(s *scanner) { s.noNull = true }

// MaxSize sets the most bytes that are read.
func MaxSize(n int) Option { return func(s *scanner) { s.maxSize = n } }

// Known names keys of the outermost object that are looked at although no Go
// type lists them: a key that is their twin is refused.
func Known(keys ...string) Option { return func(s *scanner) { s.known = keys } }

// Aside names keys that may stand in any object with any value, as $comment
// does; Decode leaves them out where the Go type has no such field. Their twins
// are refused.
func Aside(keys ...string) Option { return func(s *scanner) { s.aside = keys } }

// Decode reads one value into v, a pointer. Where v has an interface, numbers
// become json.Number, so that none is rounded. On error v is not to be used.
func Decode(data []byte, v any, opts ...Option) error {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer {
		return errors.New("strictjson: Decode needs a pointer")
	}
	s := newScanner(data, opts)
	if err := s.document(t.Elem()); err != nil {
		return err
	}
	return s.decode(v)
}

// decode decodes a document that has been checked.
func (s *scanner) decode(v any) error {
	d := json.NewDecoder(bytes.NewReader(s.kept()))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return s.foreign(err)
	}
	return nil
}

// kept is the document with blanks for the members that are set aside, each
// with the comma behind it, the last one of an object with the one before it.
func (s *scanner) kept() []byte {
	if len(s.cuts) == 0 {
		return s.data
	}
	data := bytes.Clone(s.data)
	for _, cut := range s.cuts {
		blank(data[cut[0]:cut[1]])
		behind := len(data) - len(bytes.TrimLeft(data[cut[1]:], " \t\r\n"))
		before := len(bytes.TrimRight(data[:cut[0]], " \t\r\n")) - 1
		switch {
		case data[behind] == ',':
			data[behind] = ' '
		case data[before] == ',':
			data[before] = ' '
		}
	}
	return data
}

// blank leaves the newlines, so that lines keep their numbers.
func blank(data []byte) {
	for i, c := range data {
		if c != '\n' {
			data[i] = ' '
		}
	}
}

var objectType = reflect.TypeFor[map[string]any]()

// flat decodes an object of strings, which a document that has been checked
// nearly always is; nil if it is anything else.
func (s *scanner) flat() map[string]any {
	s.pos = 0
	if s.next() != '{' {
		return nil
	}
	members := map[string]any{}
	for {
		s.pos++ // the brace or a comma
		if s.next() == '}' {
			return members
		}
		key, err := s.key()
		if err != nil || s.next() != ':' {
			return nil
		}
		s.pos++
		if s.next() != '"' {
			return nil
		}
		if members[key], err = s.text(); err != nil {
			return nil
		}
		if s.next() == '}' {
			return members
		}
	}
}

// Object reads one object of any content; numbers become json.Number.
func Object(data []byte, opts ...Option) (map[string]any, error) {
	s := newScanner(data, opts)
	if err := s.document(objectType); err != nil {
		return nil, err
	}
	if flat := s.flat(); flat != nil {
		return flat, nil
	}
	var members map[string]any
	if err := s.decode(&members); err != nil {
		return nil, err
	}
	if members == nil { // null, let pass by NullAbsent
		return nil, newScanner(data, opts).fail(0, "want an object, got null")
	}
	return members, nil
}

// Positions returns where each value of a well-formed document begins, by its
// path ("" for the whole, "rules[0].tools[1]").
func Positions(data []byte, opts ...Option) (map[string]Position, error) {
	s := newScanner(data, opts)
	s.found = map[string]Position{}
	if err := s.document(anyType); err != nil {
		return nil, err
	}
	return s.found, nil
}

// Member returns the path of a key's value, as in Positions and Error.
func Member(path, key string) string {
	if path == "" {
		return printable(key)
	}
	return path + "." + printable(key)
}

// Position is a place in the input, from 1; Col counts bytes.
type Position struct{ Line, Col int }

// foreign gives an error of encoding/json a place. Only what the scanner
// leaves to it can fail: numbers out of range, text that a type refuses.
func (s *scanner) foreign(err error) error {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		s.path = nil
		e := s.fail(int(typed.Offset), fmt.Sprintf("%s does not fit into %s", typed.Value, typed.Type))
		e.Path = typed.Field
		return e
	}
	return s.fail(0, err.Error())
}
