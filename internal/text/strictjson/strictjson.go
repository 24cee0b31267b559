// Package strictjson decodes JSON that may come from an attacker, for which
// encoding/json is too lenient: it takes the last of duplicate keys, matches
// keys in any case, repairs invalid text and ignores what follows.
//
// Rejected are: duplicate keys in an object; a key that differs from an
// expected one only in case (including Unicode folding, ſ for s) or by a NUL;
// unknown keys, unless they are to be ignored; null where a value is expected,
// unless it is to count as absent; invalid UTF-8; unpaired surrogates; anything
// after the value; input that is too long or nested too deeply. What is
// accepted, encoding/json decodes to the same value.
//
// Every error has its position in the input: "line:col: path: text".
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// The default limits.
const (
	defaultMaxSize  = 8 << 20 // bytes
	defaultMaxDepth = 128     // nested arrays and objects
)

// inputError is why and where the input was rejected.
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

// IgnoreUnknown permits keys that the Go type does not have, for protocols
// whose other side may be newer.
func IgnoreUnknown(s *scanner) { s.ignoreUnknown = true }

// NullAbsent permits null where a value is expected; it counts as if the key
// were absent.
func NullAbsent(s *scanner) { s.nullAbsent = true }

// NoNull rejects null also for a pointer, which then says whether the key is
// present.
func NoNull(s *scanner) { s.noNull = true }

// MaxSize sets the maximum size of the input in bytes.
func MaxSize(n int) Option { return func(s *scanner) { s.maxSize = n } }

// Known names keys of the outermost object that the caller uses although no Go
// type lists them: a key that differs only in case is rejected.
func Known(keys ...string) Option { return func(s *scanner) { s.known = keys } }

// Aside names keys that are allowed in any object with any value, such as
// $comment; Decode drops them where the Go type has no such field. Keys that
// differ only in case are rejected.
func Aside(keys ...string) Option { return func(s *scanner) { s.aside = keys } }

// Decode decodes one value into v, a pointer. For an interface, numbers become
// json.Number, so that none is rounded. After an error, v must not be used.
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

// kept returns the document with the members that are set aside blanked, each
// with the comma after it, the last of an object with the comma before it.
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

// blank keeps line feeds, so that line numbers are unchanged.
func blank(data []byte) {
	for i, c := range data {
		if c != '\n' {
			data[i] = ' '
		}
	}
}

var objectType = reflect.TypeFor[map[string]any]()

// flat decodes an object of strings from a checked document, the most common
// case; it returns nil for anything else.
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

// Object decodes an object of any contents; numbers become json.Number.
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
	if members == nil { // null, permitted by NullAbsent
		return nil, newScanner(data, opts).fail(0, "must be an object, not null")
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

// Member returns the path of a key's value, as in Positions and errors.
func Member(path, key string) string {
	if path == "" {
		return printable(key)
	}
	return path + "." + printable(key)
}

// Position is a position in the input, counted from 1; Col counts bytes.
type Position struct{ Line, Col int }

// foreign adds a position to an error of encoding/json. After the scanner's
// checks only numbers out of range and texts that a type rejects can fail.
func (s *scanner) foreign(err error) error {
	var typed *json.UnmarshalTypeError
	if errors.As(err, &typed) {
		s.path = nil
		why := " is out of range"
		if strings.ContainsAny(strings.TrimPrefix(typed.Value, "number "), ".eE") {
			why = " is not a whole number"
		}
		e := s.fail(int(typed.Offset), typed.Value+why)
		e.Path = typed.Field
		return e
	}
	return s.fail(0, err.Error())
}
