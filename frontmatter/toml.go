package frontmatter

import (
	"fmt"
	"maps"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

// readTOML returns the entries of a TOML head.
func readTOML(text []byte, name string) ([]entry, error) {
	var top map[string]any
	lines, err := stricttoml.Decode(text, name, &top)
	if err != nil {
		return nil, err
	}
	value := func(path string, v any) (Value, bool) {
		at := lines[path]
		s, ok := v.(string)
		return Value{Text: s, Name: name, Line: at.Line, Col: at.Col + 1}, ok // behind the quote
	}
	var list []entry
	for _, key := range slices.Sorted(maps.Keys(top)) {
		path := stricttoml.Path(key)
		at := lines[path]
		e := entry{key: Value{Text: key, Name: name, Line: at.Line, Col: at.Col}}
		switch v := top[key].(type) {
		case string:
			e.value, _ = value(path, v)
		case []any:
			items := []Value{}
			for i, item := range v {
				text, ok := value(fmt.Sprintf("%s[%d]", path, i), item)
				if !ok {
					e.fault = fmt.Sprintf("item %d is no text", i+1)
				}
				items = append(items, text)
			}
			e.value = items
		default:
			e.fault = "it is neither a text nor a list"
		}
		list = append(list, e)
	}
	return list, nil
}
