package install

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// The marks of what is ours in a TOML file: a block between two lines, and the end of a
// line that stands in a table of somebody else.
const (
	blockBegin = "# agent-wrapper: begin; agent-wrapper uninstall takes this out"
	blockEnd   = "# agent-wrapper: end"
	lineMark   = " # agent-wrapper"
)

// tomlLines is the editor of a TOML file: values in tables that others may have too, and
// a block at the end.
type tomlLines struct {
	values []tomlValue
	block  string // "" for none
	host   string
}

// tomlValue is a value that is wanted.
type tomlValue struct {
	table string // "" for the top
	key   string
	value string
	free  bool // any value that is there will do
}

func (t *tomlLines) add(name string, text []byte) ([]byte, notes, error) {
	rest, err := t.strip(name, text, notes{})
	if err != nil {
		return nil, notes{}, err
	}
	head, tables := "", ""
	for _, v := range t.values {
		if rest, head, tables, err = v.place(name, rest, head, tables); err != nil {
			return nil, notes{}, err
		}
	}
	out := []byte(head + string(rest))
	if block := tables + t.block; block != "" {
		if n := len(out); n > 0 && out[n-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(out, blockBegin+"\n"+block+blockEnd+"\n"...)
	}
	if _, err := parseTOML(name, out); err != nil {
		return nil, notes{}, fmt.Errorf("agent-wrapper cannot add to this file: %w", err)
	}
	return out, notes{}, nil
}

// place puts a value into the table that is there, or else adds it to the head of the
// file or to the tables of the block.
func (v *tomlValue) place(name string, text []byte, head, tables string) ([]byte, string, string, error) {
	line := v.key + " = " + v.value
	is, at, err := v.find(name, text)
	switch {
	case err != nil || is:
		return text, head, tables, err
	case v.table == "":
		return text, head + line + lineMark + "\n", tables, nil
	case at < 0:
		return text, head, tables + "[" + v.table + "]\n" + line + "\n\n", nil
	}
	return append(append(bytes.Clone(text[:at]), line+lineMark+"\n"...), text[at:]...), head, tables, nil
}

// find reports whether a value is there. If only its table is, it returns where the line
// behind the header begins, else -1. Another value is an error: somebody wrote it.
func (v *tomlValue) find(name string, text []byte) (is bool, at int, err error) {
	all, err := parseTOML(name, text)
	if err != nil {
		return false, 0, err
	}
	table, there := all.values, true
	if v.table != "" {
		table, there = nil, false
		if raw, ok := all.values[v.table]; ok {
			if table, there = raw.(map[string]any); !there {
				return false, 0, all.fail(name, v.table, "must be a table")
			}
		}
	}
	if value, ok := table[v.key]; ok {
		if v.free || fmt.Sprintf("%#v", value) == v.value {
			return true, 0, nil
		}
		return false, 0, all.fail(name, keyPath(v.table, v.key), "is set already: make it "+v.value+", or take it out")
	}
	if !there || v.table == "" {
		return false, -1, nil
	}
	header := all.lines[v.table]
	line := bytes.IndexByte(text[header.Start:], '\n')
	switch {
	case text[header.Start] != '[':
		return false, 0, all.fail(name, v.table, "is written without a header ["+v.table+"]: add "+v.key+" = "+v.value+" there")
	case header.Start == header.End || line < 0: // only the headers below it imply it, or no line follows
		return false, -1, nil
	}
	return false, header.Start + line + 1, nil
}

// keyPath returns a key with its table.
func keyPath(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// parsed is a TOML file that was read.
type parsed struct {
	values map[string]any
	lines  stricttoml.Lines
}

func parseTOML(name string, text []byte) (*parsed, error) {
	p := &parsed{values: map[string]any{}}
	lines, err := stricttoml.Decode(text, name, &p.values)
	p.lines = lines
	return p, err
}

// fail returns an error about a key, with its position.
func (p *parsed) fail(name, path, text string) error {
	place := p.lines[path]
	return &stricttoml.Error{Name: name, Place: stricttoml.Place{Line: max(place.Line, 1), Col: max(place.Col, 1)}, Path: path, Text: text}
}

func (t *tomlLines) strip(name string, text []byte, _ notes) ([]byte, error) {
	out := []byte{}
	inside, line, began := false, 0, 0
	for raw := range bytes.Lines(text) {
		line++
		trimmed := strings.TrimRight(string(raw), "\r\n")
		switch {
		case trimmed == blockBegin && !inside:
			inside, began = true, line
		case trimmed == blockEnd && inside:
			inside = false
		case !inside && !strings.HasSuffix(trimmed, lineMark):
			out = append(out, raw...)
		}
	}
	if inside {
		return nil, fmt.Errorf("%s:%d:1: the line %q that ends this block is missing: take the block out by hand", name, began, blockEnd)
	}
	if _, err := parseTOML(name, text); err != nil {
		return nil, err
	}
	if len(out) == len(text) {
		return text, nil
	}
	return out, nil
}

func (t *tomlLines) binaries(name string, text []byte) (found []string, err error) {
	all, err := parseTOML(name, text)
	if err != nil {
		return nil, err
	}
	eachString(all.values, func(s string) {
		if binary, ok := oursIn(s, t.host); ok {
			found = append(found, binary)
		}
	})
	return found, nil
}

// eachString calls f for all texts in a value.
func eachString(v any, f func(string)) {
	switch x := v.(type) {
	case string:
		f(x)
	case map[string]any:
		for _, value := range x {
			eachString(value, f)
		}
	case []map[string]any:
		for _, value := range x {
			eachString(value, f)
		}
	case []any:
		for _, value := range x {
			eachString(value, f)
		}
	}
}
