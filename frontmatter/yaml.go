package frontmatter

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// readYAML returns the entries of a YAML head.
func readYAML(text []byte, name string) ([]entry, error) {
	if empty(text) {
		return nil, nil // the library requires a document
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, foreign(name, err)
	}
	y := yamlHead{name, bytes.Split(text, []byte("\n"))}
	if err := y.guard(&root); err != nil {
		return nil, err
	}
	top := &root
	if top.Kind == yaml.DocumentNode && len(top.Content) == 1 {
		top = top.Content[0]
	}
	switch {
	case top.Kind == 0 || top.Kind == yaml.ScalarNode && top.ShortTag() == "!!null":
		return nil, nil
	case top.Kind != yaml.MappingNode:
		return nil, y.at(top).errorf("the head is no list of key: value")
	}
	return y.entries(top), nil
}

// empty reports whether a text holds only blank lines and comments.
func empty(text []byte) bool {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// foreign converts an error of the library to ours, with the position at which
// the problem begins.
func foreign(name string, err error) error {
	var at yaml.Mark
	var load *yaml.LoadError
	if errors.As(err, &load) {
		if at = load.Mark; load.ContextMsg != "" && load.ContextMark.Line > 0 {
			at = load.ContextMark
		}
	}
	if at.Line == 0 {
		return fmt.Errorf("%s:1: the head cannot be read: %w", name, err)
	}
	return fmt.Errorf("%s:%d:%d: the head cannot be read: %w", name, at.Line, max(at.Column, 1), err)
}

type yamlHead struct {
	name  string
	lines [][]byte
}

// column converts the library's column, which counts characters, to bytes.
func (y yamlHead) column(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(y.lines) {
		return n.Column
	}
	left, col := y.lines[n.Line-1], 1
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(left)
		left, col = left[size:], col+size
	}
	return col
}

// at returns the position at which a node's text begins, inside quotes if it
// has any.
func (y yamlHead) at(n *yaml.Node) Value {
	v := Value{Text: n.Value, Name: y.name, Line: n.Line, Col: y.column(n)}
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		v.Col++
	}
	return v
}

// guard refuses features by which YAML means more than what is written there.
func (y yamlHead) guard(n *yaml.Node) error {
	switch {
	case n.Kind == yaml.AliasNode:
		return y.at(n).errorf("aliases are not read here: write the value out, or quote what begins with *")
	case n.Anchor != "":
		return y.at(n).errorf("anchors are not read here: quote what begins with &")
	case n.Style&yaml.TaggedStyle != 0:
		return y.at(n).errorf("tags are not read here: quote what begins with !")
	}
	if n.Kind == yaml.MappingNode {
		if err := y.keys(n); err != nil {
			return err
		}
	}
	for _, c := range n.Content {
		if err := y.guard(c); err != nil {
			return err
		}
	}
	return nil
}

// keys refuses keys that are not strings, are duplicates, or merge other keys.
func (y yamlHead) keys(n *yaml.Node) error {
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch key := n.Content[i]; {
		case key.ShortTag() == "!!merge" || key.Value == "<<":
			return y.at(key).errorf("merge keys are not read here: write the keys out")
		case key.Kind != yaml.ScalarNode:
			return y.at(key).errorf("a key is no text")
		case seen[key.Value]:
			return y.at(key).errorf("key %q stands twice", key.Value)
		default:
			seen[key.Value] = true
		}
	}
	return nil
}

func (y yamlHead) entries(top *yaml.Node) []entry {
	var list []entry
	for i := 0; i+1 < len(top.Content); i += 2 {
		list = append(list, y.entry(top.Content[i], top.Content[i+1]))
	}
	return list
}

func (y yamlHead) entry(key, value *yaml.Node) entry {
	e := entry{key: y.at(key)}
	if value.Kind == yaml.ScalarNode {
		e.scalar = value.Value
	}
	switch {
	case value.Kind == yaml.ScalarNode && value.ShortTag() == "!!null":
	case isText(value):
		e.value = y.at(value)
	case value.Kind == yaml.SequenceNode:
		items := []Value{}
		for _, item := range value.Content {
			if !isText(item) {
				e.fault = fmt.Sprintf("at %d:%d stands no text: quote the rule", item.Line, y.column(item))
			}
			items = append(items, y.at(item))
		}
		e.value = items
	default:
		e.fault = fmt.Sprintf("at %d:%d stands something else: quote what is meant as text", value.Line, y.column(value))
	}
	return e
}

func isText(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!str" }

// Setting is a value of a YAML file, with the path of its key, joined by dots.
type Setting struct{ Key, Value string }

// Settings reads a YAML file of settings. The values of a list have its key. What the head
// of a document may not have, the file may not have either.
func Settings(text []byte, name string) (found []Setting, err error) {
	defer func() { // the YAML library has panicked before
		if r := recover(); r != nil {
			found, err = nil, fmt.Errorf("%s:1: the file cannot be read: %v", name, r)
		}
	}()
	if empty(text) {
		return nil, nil
	}
	var root yaml.Node
	if err := yaml.Load(text, &root); err != nil {
		return nil, foreign(name, err)
	}
	if err := (yamlHead{name, bytes.Split(text, []byte("\n"))}).guard(&root); err != nil {
		return nil, err
	}
	return flat(nil, "", &root), nil
}

func flat(found []Setting, key string, n *yaml.Node) []Setting {
	switch {
	case n.Kind == yaml.ScalarNode, n.Kind == yaml.MappingNode && len(n.Content) == 0:
		return append(found, Setting{key, n.Value})
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			below := n.Content[i].Value
			if key != "" {
				below = key + "." + below
			}
			found = flat(found, below, n.Content[i+1])
		}
	default:
		for _, c := range n.Content {
			found = flat(found, key, c)
		}
	}
	return found
}
