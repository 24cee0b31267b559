package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Use is one effect of a use of a mapped tool.
type Use struct {
	Does  Kind   // 0: the meaning of the field is unknown
	Field string // of the input: "paths[2]"
	Text  string // the command line, the path, the URL
	Tree  bool   // includes everything below the path
}

// Uses holds the effects of a use of a mapped tool.
type Uses struct {
	List []Use
	// Dir is the directory in which command lines run and to which paths are
	// relative, as given by the input, or "". If Unplaced is set, the directory of
	// the tool use does not apply: an MCP server is a separate process with its
	// own directory.
	Dir      string
	Unplaced bool
	Dialect  string // of the command lines: "bash", "sh", "zsh"; "" is bash
	Name     string // what a rule names, "" if no field holds it
	TooMany  bool   // the input has more uses than one may have, and List lacks them
	Only     bool   // the tool does nothing else
}

// maxUses is how many uses one input may have.
const maxUses = 200

// Read returns what a use of a tool does according to its input. It is not ok
// for a tool without a mapping.
func (t *Table) Read(tool string, input map[string]any) (u Uses, ok bool) {
	m := t.lookup(tool)
	if m == nil {
		return Uses{}, false
	}
	u = Uses{Unplaced: strings.HasPrefix(tool, "mcp__"), Dialect: m.Dialect}
	w := &inputWalk{mapped: m, uses: &u}
	w.object("", "", input)
	u.Only = m.Only && (len(u.List) > 0 || !m.acts())
	return u, true
}

// acts reports whether a field of the mapping says what the tool does. Without any of
// them in the input it is not known what it does then.
func (m *mapped) acts() bool {
	return slices.ContainsFunc(m.fields, func(f field) bool { return f.does != 0 })
}

// inputWalk is a walk through an input.
type inputWalk struct {
	*mapped
	uses *Uses
}

// object visits the members of an object. at is its place in the input
// ("edits[2]"), and shape is the same without the indexes ("edits[]").
func (w *inputWalk) object(at, shape string, object map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(object)) {
		dot := "."
		if at == "" {
			dot = ""
		}
		below := shape + dot + key
		if strings.ContainsAny(key, ".[]") {
			below = shape + dot + "[]." // no field of a mapping has such a name
		}
		w.value(at+dot+key, below, object[key])
	}
}

func (w *inputWalk) value(at, shape string, value any) {
	meant := w.meant(shape)
	if len(meant) > 0 && meant[0].all {
		return
	}
	switch value := value.(type) {
	case string:
		for _, f := range meant {
			w.text(f, at, value)
		}
		if len(meant) > 0 {
			return
		}
	case map[string]any:
		if len(meant) == 0 {
			w.object(at, shape, value)
			return
		}
	case []any:
		if len(meant) == 0 {
			for i, element := range value {
				w.value(fmt.Sprintf("%s[%d]", at, i), shape+"[]", element)
			}
			return
		}
	}
	w.add(Use{Field: at})
}

// meant returns the fields of the mapping that have a shape.
func (w *inputWalk) meant(shape string) []field {
	var list []field
	for _, f := range w.fields {
		if f.path == shape {
			list = append(list, f)
		}
	}
	return list
}

// text records the use that a field holds.
func (w *inputWalk) text(f field, at, text string) {
	switch {
	case f.key == "directory":
		w.uses.Dir = text
		w.uses.Unplaced = w.uses.Unplaced && !strings.HasPrefix(text, "/") // relative to the server's own
	case f.key == "name":
		w.uses.Name = text
	case f.does == Fetch && !isWeb(text):
		w.add(Use{Field: at}) // file:///etc/passwd has no host
	default:
		w.add(Use{Does: f.does, Field: at, Text: text, Tree: f.tree})
	}
}

func isWeb(url string) bool {
	scheme, _, found := strings.Cut(url, "://")
	return found && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http"))
}

// add notes a use.
func (w *inputWalk) add(u Use) {
	if len(w.uses.List) == maxUses {
		w.uses.TooMany = true
		return
	}
	w.uses.List = append(w.uses.List, u)
}
