package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// Mapping describes the fields of the input of a tool that is not built in, but
// belongs to an MCP server or a Go program. It adds to what rules match: rules
// for Bash match its command lines, rules for Read, Write and Edit its paths,
// rules for WebFetch its URLs. The tool itself needs its own rule all the same.
// A field that the mapping does not name may mean anything, and so may one that
// it names whose value is not text.
//
// A field is a key of the input, "path"; of an object in it, "options.cwd"; or
// of all elements of a list, "paths[]" or "edits[].path".
type Mapping struct {
	Command   []string // command lines
	Read      []string // paths of what is read
	ReadTree  []string // paths of directories that are read with all below them
	Write     []string // paths of what is written, created or removed
	WriteTree []string // the same with all below them
	URL       []string // URLs that are fetched
	// Directory is the field with the directory in which command lines run and to
	// which paths are relative; the default is the directory of the tool use.
	Directory string
	// Name is the field that a rule names in parentheses, as in deploy(staging).
	Name string
	// Dialect is the shell of the command lines, one of Dialects; "" is bash.
	Dialect string
	// Remote lists fields about another machine, Text fields that do not affect
	// what is done. A name includes everything below it. Rules match neither.
	Remote, Text []string
	// Only says that the tool does nothing but what its fields say, so that it needs no
	// rule of its own, as housekeeping needs none. No policy file says that: it is for
	// the tools of agents that were looked at.
	Only bool
}

// Dialects lists the shells that a mapping may name. Lines of the last two are
// not parsed: they are opaque.
var Dialects = [...]string{"bash", "sh", "zsh", "powershell", "cmd"}

// Table holds the mappings of tools. It is read-only; nil is an empty one.
type Table struct {
	tools map[string]*mapped
}

// mapped is a mapping in the form used to read inputs.
type mapped struct {
	Mapping
	fields []field
}

// field is one field of a mapping, with the key that lists it.
type field struct {
	path, key string
	role
}

// role is the meaning of a field.
type role struct {
	does Kind // 0: nothing that rules match
	tree bool
	all  bool // includes what is below the field
}

// NewTable checks mappings, which are keyed by tool, and returns a table of
// them. An error names the tool and the field.
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

// Names reports whether a mapped tool has a field that a rule can name.
func (t *Table) Names(tool string) bool {
	m := t.lookup(tool)
	return m != nil && m.Name != ""
}

// Does reports whether a tool, or one of the tools of a server ("mcp__x__"), does
// something of this kind: runs command lines, reads or writes paths, fetches URLs. A tool
// that is neither built in nor mapped does none of it.
func (t *Table) Does(tool string, kind Kind) bool {
	if b := builtins[tool]; b != nil {
		return b.Does == kind || b.Does == Command
	}
	if t == nil {
		return false
	}
	for name, m := range t.tools {
		server := strings.HasPrefix(tool, "mcp__") && strings.HasPrefix(name, strings.TrimRight(tool, "_*")+"__")
		if (name == tool || server || tool == "mcp__*") && slices.ContainsFunc(m.fields, func(f field) bool { return f.does == kind || f.does == Command }) {
			return true
		}
	}
	return false
}

func (t *Table) lookup(tool string) *mapped {
	if t == nil {
		return nil
	}
	return t.tools[tool]
}

// checkName returns why a tool cannot be mapped, nil if it can.
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
	// No tool use has such a name, so the mapping would have no effect.
	if server, ok := strings.CutPrefix(name, "mcp__"); ok && !strings.Contains(strings.Trim(server, "_"), "__") {
		return fmt.Errorf("%s is a server, no tool of one: write [tools.mcp__%s__TOOL] for each tool", name, strings.Trim(server, "_"))
	}
	return nil
}

// named is a key of a mapping with its fields.
type named struct {
	key    string
	fields []string
	role   role
}

// roles returns the keys of a mapping that name fields.
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
		return nil, fmt.Errorf("dialect is %q: write one of %s", m.Dialect, strings.Join(Dialects[:], ", "))
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

// add adds a field. One that is read, written, run or fetched may have several
// of these roles, but no others.
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

// fieldForm matches the names of fields.
var fieldForm = lazyregexp.New(`^[^.\[\]]+(\[\])*(\.[^.\[\]]+(\[\])*)*$`)

// checkField returns what is wrong with the name of a field.
func checkField(path, key string) error {
	switch {
	case !fieldForm.MatchString(path):
		return fmt.Errorf("%s names the field %q, want a name such as path, options.cwd or paths[]", key, path)
	case (key == "directory" || key == "name") && strings.Contains(path, "[]"):
		return fmt.Errorf("%s names the field %q: elements of a list are no one %s", key, path, key)
	}
	return nil
}
