package frontmatter

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Field is a key at the head of a document, with a value that may be of any type.
type Field struct {
	Name string
	Line int      // from 1
	Text string   // of a single value: a text, number or true; else ""
	List []string // of a list of texts
}

// Document reads a Markdown file that says of itself what it is (a skill or an agent of
// the agent CLI): the fields of its YAML head, and the text below. A file without a head
// has no fields.
//
// A head that is no YAML because of what stands in one line behind its key (a colon, a
// quote, a star) is read as if that were quoted, as the programs do that such files are
// written for. No permission may be derived from a field.
func Document(data []byte, name string) (fields []Field, text []byte, err error) {
	defer func() { // the YAML library has panicked before
		if r := recover(); r != nil {
			fields, text, err = nil, nil, fmt.Errorf("%s:1: the head cannot be read: %v", name, r)
		}
	}()
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if first, _, _ := bytes.Cut(data, []byte("\n")); string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, data, nil
	}
	_, head, err := cut(data, name)
	if err != nil {
		return nil, nil, err
	}
	entries, err := readYAML(head, name)
	if err != nil {
		var again error
		if entries, again = readYAML(quoted(head), name); again != nil {
			return nil, nil, err
		}
	}
	for _, e := range entries {
		fields = append(fields, e.field())
	}
	return fields, below(data, head), nil
}

// below returns what stands below the head, whose text has the line of the first fence
// too, empty.
func below(data, head []byte) []byte {
	for range bytes.Count(head, []byte("\n")) + 1 {
		_, data, _ = bytes.Cut(data, []byte("\n"))
	}
	return data
}

func (e *entry) field() Field {
	f := Field{Name: e.key.Text, Line: e.key.Line, Text: e.scalar}
	if list, ok := e.value.([]Value); ok && e.fault == "" {
		for _, v := range list {
			f.List = append(f.List, v.Text)
		}
	}
	return f
}

// loose matches a line of a head with a value that begins with no sign of YAML.
var loose = lazyregexp.New(`^([A-Za-z][A-Za-z_-]*):[ \t]+([^\s"'\[{|>].*)$`)

// quoted returns the text of a head with each such value in quotes.
func quoted(head []byte) []byte {
	lines := bytes.Split(head, []byte("\n"))
	for i, line := range lines {
		found := loose.FindStringSubmatch(string(bytes.TrimRight(line, " \t\r")))
		if found == nil {
			continue
		}
		value, err := json.Marshal(found[2]) // a JSON text is one of YAML, too
		if err == nil {
			lines[i] = fmt.Appendf(nil, "%s: %s", found[1], value)
		}
	}
	return bytes.Join(lines, []byte("\n"))
}
