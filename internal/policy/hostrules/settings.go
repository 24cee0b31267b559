package hostrules

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// hasKey reports whether a file is a JSON object with a key at its top.
func hasKey(key string) func(f *File) bool {
	return func(f *File) bool {
		root, err := jsonc.Tree(f.Name, text(f))
		return err == nil && root.Member(key) != nil
	}
}

// settings is a JSON file of a host.
type settings struct {
	name string
	root *jsonc.Node
}

// tree reads a JSON file, which must be an object.
func tree(f *File) (*settings, error) {
	if len(strings.TrimSpace(string(text(f)))) == 0 {
		return &settings{f.Name, &jsonc.Node{Kind: '{'}}, nil
	}
	root, err := jsonc.Tree(f.Name, text(f))
	if err != nil {
		return nil, err
	}
	if root.Kind != '{' {
		return nil, jsonc.Errorf(f.Name, text(f), 0, "the file must be an object")
	}
	return &settings{f.Name, root}, nil
}

// place returns the place of a node; that of a text is its first character.
func (s *settings) place(n *jsonc.Node) patterns.Source {
	at := patterns.Source{Name: s.name, Line: n.Line, Col: n.Col}
	if n.Kind == '"' {
		at.Col++
	}
	return at
}

// key returns the place of the name of a member.
func (s *settings) key(m *jsonc.Member) patterns.Source {
	return patterns.Source{Name: s.name, Line: m.Line, Col: m.Col + 1}
}

// shown returns a value for the report.
func shown(n *jsonc.Node) string {
	switch n.Kind {
	case '{':
		return "{…}"
	case '[':
		return "[…]"
	}
	return n.Text
}

// isTrue and isFalse report a boolean.
func isTrue(n *jsonc.Node) bool  { return n != nil && n.Kind == 't' }
func isFalse(n *jsonc.Node) bool { return n != nil && n.Kind == 'f' }
