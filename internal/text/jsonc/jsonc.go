// Package jsonc reads JSON as people write it in settings, with comments and commas
// behind the last item, and knows the position of every value.
package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/tailscale/hujson"
)

// The limits of a text: its size in bytes, and the number of its brackets, which
// bounds their depth.
const (
	MaxSize = 4 << 20
	maxOpen = 200_000
)

// Parse reads a text. Every error has the position in the file that it calls name.
func Parse(name string, text []byte) (hujson.Value, error) {
	if len(text) > MaxSize {
		return hujson.Value{}, fmt.Errorf("%s is larger than %d MiB", name, MaxSize>>20)
	}
	if bytes.Count(text, []byte("{"))+bytes.Count(text, []byte("[")) > maxOpen {
		return hujson.Value{}, fmt.Errorf("%s has more than %d brackets", name, maxOpen)
	}
	// The library wants a line feed behind a comment that ends the file; hosts do not.
	root, err := hujson.Parse(append(bytes.Clone(text), '\n'))
	if err != nil {
		return hujson.Value{}, foreign(name, text, err)
	}
	return root, nil
}

// foreign puts the position that the library has in its text where people look for it.
func foreign(name string, text []byte, err error) error {
	var line, col int
	if n, _ := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &col); n != 2 {
		return fmt.Errorf("%s: this is not JSON: %w: make it valid first", name, err)
	}
	if line > 1+bytes.Count(text, []byte("\n")) { // behind the line feed that Parse adds
		return Errorf(name, text, len(text), "this is not JSON: the file ends too early: make it valid first")
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s:%d:%d: this is not JSON: the file ends too early: make it valid first", name, line, col)
	}
	return fmt.Errorf("%s:%d:%d: this is not JSON: %w: make it valid first", name, line, col, errors.Unwrap(err))
}

// Errorf returns an error with the position of a byte of the text.
func Errorf(name string, text []byte, at int, format string, args ...any) error {
	line, col := position(text, at)
	return fmt.Errorf("%s:%d:%d: %s", name, line, col, fmt.Sprintf(format, args...))
}

// position returns the line and the column of a byte of the text, from 1.
func position(text []byte, at int) (line, col int) {
	return 1 + bytes.Count(text[:at], []byte("\n")), at - bytes.LastIndexByte(text[:at], '\n')
}

// Node is a value of a JSON text.
type Node struct {
	Kind      byte   // '{', '[', '"', '0', 't', 'f' or 'n', as in package hujson
	Text      string // of a string; of other literals as written
	Line, Col int
	Members   []Member // of an object, in their order
	Items     []Node   // of an array
}

// Member is a member of an object.
type Member struct {
	Name      string
	Line, Col int // of the name
	Value     Node
}

// Member returns the value of a member of an object, nil if there is none.
func (n *Node) Member(name string) *Node {
	for i := range n.Members {
		if n.Members[i].Name == name {
			return &n.Members[i].Value
		}
	}
	return nil
}

// Tree reads a text as nodes. A key that stands twice in an object is an error:
// programs take one of the two values, and not the same one.
func Tree(name string, text []byte) (*Node, error) {
	root, err := Parse(name, text)
	if err != nil {
		return nil, err
	}
	r := &reader{name: name, text: text, lines: lineStarts(text)}
	n, err := r.node(&root)
	return &n, err
}

type reader struct {
	name  string
	text  []byte
	lines []int // where each line begins
}

func lineStarts(text []byte) []int {
	starts := []int{0}
	for i, b := range text {
		if b == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// place returns the line and column of a byte.
func (r *reader) place(at int) (line, col int) {
	low, high := 0, len(r.lines)
	for high-low > 1 {
		if mid := (low + high) / 2; r.lines[mid] <= at {
			low = mid
		} else {
			high = mid
		}
	}
	return low + 1, at - r.lines[low] + 1
}

func (r *reader) node(v *hujson.Value) (Node, error) {
	n := Node{Kind: byte(v.Value.Kind())}
	n.Line, n.Col = r.place(v.StartOffset)
	switch x := v.Value.(type) {
	case *hujson.Object:
		return n, r.members(&n, x)
	case *hujson.Array:
		for i := range x.Elements {
			item, err := r.node(&x.Elements[i])
			if err != nil {
				return n, err
			}
			n.Items = append(n.Items, item)
		}
	case hujson.Literal:
		n.Text = string(x)
		if n.Kind == '"' {
			n.Text = x.String()
		}
	}
	return n, nil
}

func (r *reader) members(n *Node, x *hujson.Object) error {
	seen := map[string]bool{}
	for i := range x.Members {
		m := Member{Name: x.Members[i].Name.Value.(hujson.Literal).String()}
		at := x.Members[i].Name.StartOffset
		m.Line, m.Col = r.place(at)
		if seen[m.Name] {
			return Errorf(r.name, r.text, at, "%q stands here twice: remove one of them", m.Name)
		}
		seen[m.Name] = true
		var err error
		if m.Value, err = r.node(&x.Members[i].Value); err != nil {
			return err
		}
		n.Members = append(n.Members, m)
	}
	return nil
}
