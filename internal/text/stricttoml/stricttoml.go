// Package stricttoml decodes TOML files written by people, with the position of
// each value.
//
// The TOML library matches keys in any case and, of two that differ only in
// case, takes a random one; it drops unknown keys, or lists them without a
// position. So the text is scanned first: keys must be those of the Go type in
// exactly their case, without duplicates; values must have the right kind;
// files may have at most MaxSize bytes, keys maxKey bytes, and nesting a depth
// of maxDepth. The library then decodes what passed.
//
// An error joins an *Error for each thing that is wrong.
package stricttoml

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// MaxSize is the maximum size of a file in bytes.
const MaxSize = 256 << 10

const (
	maxDepth = 32  // nested tables and arrays
	maxKey   = 512 // bytes of a key with its tables
)

// Error is one thing that is wrong with a file.
type Error struct {
	Name string // of the file
	Place
	Path string // of the key; "" if there is none
	Text string
}

// Error returns "name:line:col: path: text".
func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d:%d: ", e.Name, e.Line, e.Col)
	if e.Path != "" {
		at += e.Path + ": "
	}
	return at + e.Text
}

// Place is the position of a value.
type Place struct {
	Line, Col  int // from 1; Col counts bytes
	Start, End int // byte offsets; for a table: from its header to its last value
}

// Lines holds the positions of all values by path: "mode", "deny[2]",
// "rules[0].match[1]".
type Lines map[string]Place

// UnknownKeys is the error for a file in which nothing is wrong but keys that are unknown.
// It unwraps to an error for each.
type UnknownKeys struct {
	// Lines are the positions of what is known. With it, v of Decode may be looked at for
	// what else is wrong, and must not be used otherwise.
	Lines Lines
	all   error
}

func (e *UnknownKeys) Error() string { return e.all.Error() }
func (e *UnknownKeys) Unwrap() error { return e.all }

// Decode decodes the text of a file into v, a pointer to a map or to a struct
// whose fields have toml tags. After an error, v must not be used.
func Decode(data []byte, name string, v any) (Lines, error) {
	t := reflect.TypeOf(v)
	if t == nil || t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct && t.Elem().Kind() != reflect.Map {
		return nil, errors.New("stricttoml: Decode needs a pointer to a struct or a map")
	}
	root, twice, err := scan(data, name)
	if err != nil {
		return nil, err
	}
	c := checker{name: name, lines: Lines{}, faults: twice, checked: map[string]bool{}}
	c.table(t.Elem(), root, nil, "")
	if err := errors.Join(c.faults...); err != nil && len(c.unknown) == len(c.faults) && toml.Unmarshal(data, v) == nil {
		return nil, &UnknownKeys{c.lines, err}
	} else if err != nil {
		return nil, err
	}
	md, err := toml.Decode(string(data), v)
	if err != nil {
		return nil, foreign(name, data, err)
	}
	if err := cover(name, &md, c.checked); err != nil {
		return nil, err
	}
	return c.lines, nil
}

// foreign converts an error of the library to ours.
func foreign(name string, data []byte, err error) error {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		return &Error{Name: name, Place: Place{Line: 1, Col: 1}, Text: err.Error()}
	}
	text := parse.Message
	if text == "" {
		text = err.Error()
	}
	return &Error{Name: name, Place: placeAt(data, parse.Position.Start, parse.Position.Start+parse.Position.Len), Text: text}
}

// cover checks that every key that the library found was checked by the
// scanner.
func cover(name string, md *toml.MetaData, checked map[string]bool) error {
	for _, key := range md.Keys() {
		if !checked[strings.Join(key, "\x00")] {
			return &Error{Name: name, Place: Place{Line: 1, Col: 1}, Path: key.String(), Text: "cannot say where this key stands"}
		}
	}
	return nil
}
