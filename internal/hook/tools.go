package hook

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
)

// Tools holds the tools of a host by its own names.
type Tools map[string]Tool

// Tool says what a tool of a host is here, so that the same rules apply to it.
type Tool struct {
	Is string // our name: Bash, Read
	// Fields holds the fields with another name here, ours by the host's.
	Fields map[string]string
	// Dir is the field with the directory of a command, relative to that of the shell.
	Dir string
	// Input, if it is set, makes the input here of the host's; such a tool's input
	// cannot be replaced.
	Input func(in map[string]any) (map[string]any, error)
}

// Same returns tools that are called the same here, with the same fields.
func Same(names ...string) Tools {
	t := Tools{}
	for _, name := range names {
		t[name] = Tool{Is: name}
	}
	return t
}

// translate sets the tool use of an event from the names and the input of the host.
func (e *Event) translate(h *Host, name string, raw json.RawMessage) error {
	raw, in, err := input(raw)
	if err != nil {
		return err
	}
	e.sent = raw
	if name == "" {
		return fmt.Errorf("the payload names no tool")
	}
	t, known := h.Tools[name]
	if e.ServerTool != "" {
		e.Use.Tool, e.Use.Input = e.ServerTool, raw
		return nil
	}
	if !known {
		e.Use.Tool, e.Use.Input = h.foreign(name), raw
		return nil
	}
	if t.elsewhere(in) {
		e.Use.Tool, e.Use.Input = h.foreign(name), raw
		return nil
	}
	e.tool, e.Use.Tool = &t, t.Is
	if t.Is == tools.Bash && t.unknown(in, besideCommand) {
		e.Use.Dir = ""
	}
	if t.Input != nil {
		in, err = t.Input(in)
	} else {
		in, err = t.renamed(in)
	}
	if err != nil {
		return fmt.Errorf("the input of %s: %w", printable(name), err)
	}
	if t.Dir != "" {
		if err := e.moveTo(in, t.Dir); err != nil {
			return fmt.Errorf("the input of %s: %w", printable(name), err)
		}
	}
	e.Use.Input, err = json.Marshal(in)
	return err
}

// Fields with text that do not say where a tool works. A further one may: a search or a
// command that has one does not count as one in the directory that we know.
var (
	besideSearch  = []string{"path", "pattern", "include", "include_pattern", "exclude_pattern", "glob", "type", "output_mode", "description", "ignore"}
	besideCommand = []string{"command", "description", "mode", "sessionId", "shellId"}
)

// elsewhere reports whether a search, whose directory is optional, may have it in a field
// that is not known here.
func (t *Tool) elsewhere(in map[string]any) bool {
	known := tools.Builtin(t.Is)
	return known != nil && known.Optional && t.unknown(in, besideSearch)
}

// unknown reports whether an input has text in a field that is neither among these nor
// known of the tool.
func (t *Tool) unknown(in map[string]any, known []string) bool {
	for key, value := range in {
		switch value.(type) {
		case string, []any, map[string]any:
			if _, renamed := t.Fields[key]; !renamed && key != t.Dir && !slices.Contains(known, key) {
				return true
			}
		}
	}
	return false
}

// foreign returns the name here of a tool that is not in the table. One that would be
// taken for a tool of ours, whose fields mean something, gets the host in front.
func (h *Host) foreign(name string) string {
	ours := strings.HasPrefix(name, "mcp__") && !h.MCP
	tools.Builtins(func(builtin string) { ours = ours || strings.EqualFold(builtin, name) })
	for _, t := range h.Tools {
		ours = ours || t.Is == name
	}
	if ours {
		return h.Name + "." + name
	}
	return name
}

// renamed returns the input with our names of the fields.
func (t *Tool) renamed(in map[string]any) (map[string]any, error) {
	out := maps.Clone(in)
	for _, theirs := range slices.Sorted(maps.Keys(t.Fields)) {
		value, there := in[theirs]
		if !there {
			continue
		}
		ours := t.Fields[theirs]
		if _, twice := out[ours]; twice {
			return nil, fmt.Errorf("it has both %q and %q", theirs, ours)
		}
		delete(out, theirs)
		out[ours] = value
	}
	return out, nil
}

// back returns an input here with the names of the host.
func (e *Event) back(raw json.RawMessage) (json.RawMessage, error) {
	_, in, err := input(raw)
	if err != nil {
		return nil, err
	}
	if e.tool == nil {
		return raw, nil
	}
	if e.tool.Input != nil {
		return nil, fmt.Errorf("the input of this tool cannot be edited")
	}
	for theirs, ours := range e.tool.Fields {
		if value, there := in[ours]; there {
			delete(in, ours)
			in[theirs] = value
		}
	}
	if e.tool.Dir != "" {
		_, was, err := input(e.sent)
		if err != nil {
			return nil, err
		}
		if dir, there := was[e.tool.Dir]; there {
			in[e.tool.Dir] = dir
		}
	}
	return json.Marshal(in)
}

// moveTo sets the directory of the tool use to that of a field, which it takes out. A
// directory that may be anywhere is unknown.
func (e *Event) moveTo(in map[string]any, field string) error {
	value, there := in[field]
	if !there {
		return nil
	}
	delete(in, field)
	dir, ok := value.(string)
	if !ok {
		return fmt.Errorf("%q is not text", field)
	}
	switch {
	case dir == "":
	case strings.HasPrefix(dir, "~") || slices.Contains(strings.Split(dir, "/"), ".."):
		e.Use.Dir = ""
	case path.IsAbs(dir):
		e.Use.Dir = path.Clean(dir)
	case e.Use.Dir != "":
		e.Use.Dir = path.Join(e.Use.Dir, dir)
	}
	return nil
}

// ServerTool returns the name here of a tool of an MCP server.
func ServerTool(server, tool string) string { return "mcp__" + server + "__" + tool }
