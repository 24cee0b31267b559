package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// Mapping says what the fields of the input of a tool mean that is not built in:
// one of an MCP server, or of a Go program. It adds to what rules see of a use:
// rules for Bash see its command lines, rules for Read, Write and Edit its paths,
// rules for WebFetch its URLs. The tool itself needs its own rule all the same. A
// field that the mapping does not name may mean anything, and so may one that it
// names and that is no text.
//
// A field is a key of the input, "path"; of an object in it, "options.cwd"; or of
// all elements of a list, "paths[]" or "edits[].path".
type Mapping struct {
	Command   []string // command lines
	Read      []string // paths of what is read
	ReadTree  []string // paths of directories that are read with all below them
	Write     []string // paths of what is written, made or removed
	WriteTree []string // the same with all below them
	URL       []string // URLs that are fetched
	// Directory is the field that says where command lines run and what paths are
	// relative to; "": the directory of the tool use.
	Directory string
	// Name is the field that a rule names in parentheses, as in deploy(staging).
	Name string
	// Dialect is the shell of the command lines, one of Dialects; "" is bash.
	Dialect string
	// Remote are fields about another machine, Text are fields that say nothing
	// about what is done; a name stands for all that lies below it. Rules see
	// neither.
	Remote, Text []string
}

// Dialects are the shells that a mapping may name. Lines for the last two are not
// read, they are opaque.
var Dialects = [...]string{"bash", "sh", "zsh", "powershell", "cmd"}

// Table holds the mappings of tools. It is read-only; nil is an empty one.
type Table struct {
	tools map[string]*mapped
}

// mapped is a mapping in the form in which inputs are read by it.
type mapped struct {
	Mapping
	fields []field
}

// field is one field of a mapping, with the key that it stands in.
type field struct {
	path, key string
	role
}

// role is what a field stands for.
type role struct {
	does Kind // 0: nothing that rules see
	tree bool
	all  bool // also what lies below the field
}

// NewTable checks mappings, by the names of their tools, and makes a table of
// them. An error says which tool and which field.
func NewTable(mappings map[string]Mapping) (*Table, error) {
	t := &Table{tools: map[string]*mapped{}}
	for _, name := range slices.Sorted(maps.Keys(mappings)) {
		m, err := mappings[name].compile(name)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", name, err)
		}
		t.tools[name] = m
	}
	return t, nil
}

// Has reports whether the table has a mapping for a tool.
func (t *Table) Has(tool string) bool { return t.lookup(tool) != nil }

// Names reports whether a field says what a mapped tool is asked for, so that a
// rule can name it.
func (t *Table) Names(tool string) bool {
	m := t.lookup(tool)
	return m != nil && m.Name != ""
}

func (t *Table) lookup(tool string) *mapped {
	if t == nil {
		return nil
	}
	return t.tools[tool]
}

// checkName says why a tool cannot be mapped, nil if it can.
func checkName(name string) error {
	if name == "" {
		return fmt.Errorf("it has no name")
	}
	for builtin := range builtins {
		if strings.EqualFold(name, builtin) {
			return fmt.Errorf("%s is built in, and what its fields mean cannot be changed", builtin)
		}
	}
	if strings.ContainsAny(name, " \t\n()*\"'`") {
		return fmt.Errorf("%q cannot be the name of a tool", name)
	}
	return nil
}

// named is a key of a mapping with the fields that it gives.
type named struct {
	key    string
	fields []string
	role   role
}

// roles are the keys of a mapping that name fields.
func (m *Mapping) roles() []named {
	list := []named{
		{"command", m.Command, role{does: Command}},
		{"read", m.Read, role{does: Read}},
		{"read_tree", m.ReadTree, role{does: Read, tree: true}},
		{"write", m.Write, role{does: Write}},
		{"write_tree", m.WriteTree, role{does: Write, tree: true}},
		{"url", m.URL, role{does: Fetch}},
		{"remote", m.Remote, role{all: true}},
		{"text", m.Text, role{all: true}},
	}
	for _, one := range [...][2]string{{"directory", m.Directory}, {"name", m.Name}} {
		if one[1] != "" {
			list = append(list, named{one[0], []string{one[1]}, role{}})
		}
	}
	return list
}

func (m Mapping) compile(tool string) (*mapped, error) {
	if err := checkName(tool); err != nil {
		return nil, err
	}
	if m.Dialect != "" && !slices.Contains(Dialects[:], m.Dialect) {
		return nil, fmt.Errorf("dialect is %q, want one of %s", m.Dialect, strings.Join(Dialects[:], ", "))
	}
	c := &mapped{Mapping: m}
	for _, r := range m.roles() {
		for _, path := range r.fields {
			if err := c.add(path, r); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// add adds a field. One that is read, written, run or fetched may be several of
// these, but nothing else beside.
func (m *mapped) add(path string, r named) error {
	if err := checkField(path, r.key); err != nil {
		return err
	}
	for _, f := range m.fields {
		if f.path == path && (f.does == 0 || r.role.does == 0 || f.key == r.key) {
			return fmt.Errorf("field %q stands in %s and in %s", path, f.key, r.key)
		}
	}
	m.fields = append(m.fields, field{path, r.key, r.role})
	return nil
}

// fieldForm is the form of a field's name.
var fieldForm = lazyregexp.New(`^[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*$`)

// checkField says what is wrong with the name of a field.
func checkField(path, key string) error {
	switch {
	case !fieldForm.MatchString(path):
		return fmt.Errorf("%s names the field %q, want a name such as path, options.cwd or paths[]", key, path)
	case (key == "directory" || key == "name") && strings.Contains(path, "[]"):
		return fmt.Errorf("%s names the field %q: elements of a list are no one %s", key, path, key)
	}
	return nil
}
