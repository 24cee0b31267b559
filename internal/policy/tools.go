package policy

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// toolKey is a key of [tools.NAME]. Its value is a string, or with list a
// string or an array of strings.
type toolKey struct {
	name, text string
	list       func(m *tools.Mapping) *[]string
	one        func(m *tools.Mapping) *string
}

var toolKeys = []toolKey{
	{name: "command", text: "fields with command lines", list: func(m *tools.Mapping) *[]string { return &m.Command }},
	{name: "dialect", text: "the shell of the command lines", one: func(m *tools.Mapping) *string { return &m.Dialect }},
	{name: "read", text: "fields with paths that are read", list: func(m *tools.Mapping) *[]string { return &m.Read }},
	{name: "read_tree", text: "fields with directories that are read recursively", list: func(m *tools.Mapping) *[]string { return &m.ReadTree }},
	{name: "write", text: "fields with paths that are written, created or removed", list: func(m *tools.Mapping) *[]string { return &m.Write }},
	{name: "write_tree", text: "fields with directories that are written recursively", list: func(m *tools.Mapping) *[]string { return &m.WriteTree }},
	{name: "url", text: "fields with URLs that are fetched", list: func(m *tools.Mapping) *[]string { return &m.URL }},
	{name: "directory", text: "the field with the directory of command lines and relative paths", one: func(m *tools.Mapping) *string { return &m.Directory }},
	{name: "name", text: "the field that a rule matches in parentheses", one: func(m *tools.Mapping) *string { return &m.Name }},
	{name: "remote", text: "fields about another machine", list: func(m *tools.Mapping) *[]string { return &m.Remote }},
	{name: "text", text: "fields that do not affect what the tool does", list: func(m *tools.Mapping) *[]string { return &m.Text }},
}

// likeKey names the server whose ready table describes an MCP server.
const likeKey = "like"

// toolTable returns the mappings of the policy, nil if it has none.
func (s *Spec) toolTable() (*tools.Table, error) {
	mappings := map[string]tools.Mapping{}
	maps.Copy(mappings, s.Mapped)
	var errs []error
	for _, like := range []bool{true, false} { // the entry of a single tool takes precedence
		for i := range s.Tools {
			if _, is := s.Tools[i].table[likeKey]; is == like {
				errs = append(errs, s.Tools[i].mapTo(mappings))
			}
		}
	}
	if err := errors.Join(errs...); err != nil || len(mappings) == 0 {
		return nil, err
	}
	return tools.NewTable(mappings)
}

// ParseRule parses a rule of a list as in this policy, whose mapped tools the
// rule may name.
func (s *Spec) ParseRule(text string, list patterns.List, src patterns.Source) (*patterns.Rule, []patterns.Warning, error) {
	known, err := s.toolTable()
	if err != nil {
		return nil, nil, err
	}
	return patterns.ParseWith(known, text, list, src)
}

// mapTo adds the mapping of an entry for its tool, or for the tools of its
// server.
func (t *TableSpec) mapTo(mappings map[string]tools.Mapping) error {
	if value, is := t.table[likeKey]; is {
		return t.likeServer(value, mappings)
	}
	m, err := t.mapping()
	if err != nil {
		return err
	}
	if _, err := tools.NewTable(map[string]tools.Mapping{t.Name: m}); err != nil {
		return at(t.Source, err)
	}
	mappings[t.Name] = m
	return nil
}

// mapping parses the entry of one tool.
func (t *TableSpec) mapping() (m tools.Mapping, err error) {
	for _, key := range slices.Sorted(maps.Keys(t.table)) {
		fail := func(format string, args ...any) (tools.Mapping, error) {
			return tools.Mapping{}, at(t.places[stricttoml.Path(t.section, t.Name, key)], fmt.Errorf(format, args...))
		}
		i := slices.IndexFunc(toolKeys, func(k toolKey) bool { return k.name == key })
		if i < 0 {
			return fail("tool %s has the key %s: write %s", t.Name, key, orList(toolKeyNames()))
		}
		texts, isList := textsOf(t.table[key])
		switch k := toolKeys[i]; {
		case len(texts) == 0:
			return fail("%s of tool %s must be a string, the name of a field of its input", key, t.Name)
		case k.list != nil:
			*k.list(&m) = texts
		case isList:
			return fail("%s of tool %s must be a single string, not a list", key, t.Name)
		default:
			*k.one(&m) = texts[0]
		}
	}
	return m, nil
}

func toolKeyNames() []string {
	var names []string
	for _, k := range toolKeys {
		names = append(names, k.name)
	}
	return append(names, likeKey)
}

// textsOf returns a value as strings, none if it holds anything else.
func textsOf(value any) (texts []string, isList bool) {
	list, isList := value.([]any)
	if !isList {
		list = []any{value}
	}
	for _, element := range list {
		text, ok := element.(string)
		if !ok || text == "" {
			return nil, isList
		}
		texts = append(texts, text)
	}
	return texts, isList
}

// likeServer adds the ready table of a server.
func (t *TableSpec) likeServer(value any, mappings map[string]tools.Mapping) error {
	place := t.places[stricttoml.Path(t.section, t.Name, likeKey)]
	like, _ := value.(string)
	known, ok := tools.Server(like)
	server, isServer := strings.CutPrefix(t.Name, "mcp__")
	switch {
	case !ok:
		return at(place, fmt.Errorf("like is %q: write %s", fmt.Sprint(value), orList(tools.Servers())))
	case len(t.table) > 1:
		return at(place, errors.New("like cannot be combined with other keys: put them in the table of a tool, [tools."+t.Name+"__TOOL]"))
	case !isServer || server == "" || strings.Contains(server, "__"):
		return at(place, fmt.Errorf("like is for a whole MCP server: write [tools.mcp__SERVER], not [tools.%s]", t.Name))
	}
	for tool, m := range known {
		mappings[t.Name+"__"+tool] = m
	}
	return nil
}
