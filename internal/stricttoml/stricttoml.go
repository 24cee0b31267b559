// Package stricttoml reads TOML files that people write, and says where each
// value stands.
//
// The TOML library matches keys in any case and, of two that differ only in
// case, takes one at random; unknown keys it drops, or lists without a place.
// So the text is scanned first: keys must be those of the Go type, in exactly
// their case, once; values of their kind; files at most MaxSize bytes, keys
// at most maxKey, nesting at most maxDepth. The library then reads what is
// left.
//
// Several things may be wrong: the error joins an *Error for each.
package stricttoml

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// MaxSize is the most bytes that are read.
const MaxSize = 256 << 10

const (
	maxDepth = 32  // tables and arrays in one another
	maxKey   = 512 // bytes of a key with the tables before it
)

// Error is one thing that is wrong with a file.
type Error struct {
	Name string // of the file
	Place
	Path string // of the key, "" for none
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

// Place is where a value stands.
type Place struct {
	Line, Col  int // from 1; Col counts bytes
	Start, End int // byte offsets; of a table: from its header to its last value
}

// Lines are the places of all values by their path: "mode", "deny[2]",
// "rules[0].match[1]".
type Lines map[string]Place

// Decode reads the file's text into v, a pointer to a struct whose fields
// have toml tags, or to a map with any keys. On error v is not to be used.
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
	if len(c.faults) > 0 {
		return nil, errors.Join(c.faults...)
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

// foreign gives an error of the library the form of ours.
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

// cover holds the library's reading against the scanner's: each key that it
// found must have been checked.
func cover(name string, md *toml.MetaData, checked map[string]bool) error {
	for _, key := range md.Keys() {
		if !checked[strings.Join(key, "\x00")] {
			return &Error{Name: name, Place: Place{Line: 1, Col: 1}, Path: key.String(), Text: "cannot say where this key stands"}
		}
	}
	return nil
}
