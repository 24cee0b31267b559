package display

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Path returns the path of the file that a tool use would edit, as written in the
// input, "" if there is none. Its content belongs in Source.File.
func Path(use *permission.ToolUse) string {
	values, ok := object(use.Input)
	if !ok {
		return ""
	}
	t := tools.Builtin(use.Tool)
	var path string
	if t == nil || t.Does != tools.Write || json.Unmarshal(values[t.Field], &path) != nil {
		return ""
	}
	return path
}

// replacement is one edit of Edit or MultiEdit.
type replacement struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// changes returns the blocks for what an editing tool does to its file, and the
// fields that they show completely.
func (b *builder) changes(values map[string]json.RawMessage) (blocks []Block, told []string) {
	switch tool := b.Request.Use.Tool; {
	case b.File == nil:
		return nil, nil
	case tool == "Edit":
		var r replacement
		if all(values, "old_string", &r.Old, "new_string", &r.New) && optional(values, "replace_all", &r.All) {
			block, _, _ := b.replace("change", r, b.File.Text)
			return []Block{block}, []string{"old_string", "new_string", "replace_all"}
		}
	case tool == "MultiEdit":
		return b.multi(values)
	case tool == "Write":
		var content string
		if all(values, "content", &content) {
			return []Block{b.write(content)}, []string{"content"}
		}
	case tool == "NotebookEdit":
		return b.notebook(values)
	}
	return nil, nil
}

// all decodes required string fields, given as name, target, name, target …
func all(values map[string]json.RawMessage, fields ...any) bool {
	for i := 0; i < len(fields); i += 2 {
		value, ok := values[fields[i].(string)]
		if !ok || !exact(value) || json.Unmarshal(value, fields[i+1]) != nil {
			return false
		}
	}
	return true
}

func optional(values map[string]json.RawMessage, name string, target any) bool {
	value, ok := values[name]
	return !ok || json.Unmarshal(value, target) == nil
}

// only reports whether there are no fields but these.
func only(values map[string]json.RawMessage, names ...string) bool {
	for name := range values {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return true
}

// exact reports whether a value is a string that decodes without a loss.
func exact(value json.RawMessage) bool {
	return isString(value) && !strings.ContainsRune(fieldText(value), '\uFFFD')
}

// maxWork is the number of bytes of files that are examined for one Ask, and that
// one edit may add to a file, because the agent chooses the number of edits.
const maxWork = 32 << 20

// replace returns the block of one replacement in text, and the text after it. ok
// is false if the replacement would fail.
func (b *builder) replace(title string, r replacement, text string) (block Block, after string, ok bool) {
	n, problem := 0, ""
	if b.work += 2*len(text) + len(r.New); b.work <= maxWork {
		n = strings.Count(text, r.Old)
	}
	switch {
	case b.File.Problem != "":
		problem = "the file cannot be shown: " + b.File.Problem
	case b.work > maxWork:
		problem = "more edits than can be followed: where in the file this one goes is not shown"
	case (len(r.New)-len(r.Old))*n > maxWork:
		problem = fmt.Sprintf("old_string is in the file %d times: what becomes of it is too large to be shown", n)
	case r.Old == "" && (!b.File.Exists || text == ""):
		return b.diff(title, b.newFile(), "", r.New), r.New, true
	case !b.File.Exists:
		problem = "the file is not there: the edit would fail"
	case r.Old == "":
		problem = "old_string is empty, and the file is not: the edit would fail"
	case n == 0:
		problem = "old_string is not in the file as it is: the edit would fail"
	case n > 1 && !r.All:
		problem = fmt.Sprintf("old_string is in the file %d times: the edit would fail", n)
	case r.Old == r.New:
		problem = "old_string and new_string are the same: the edit would fail"
	}
	if problem != "" {
		return b.unplaced(title, problem, r), text, false
	}
	after = strings.Replace(text, r.Old, r.New, 1)
	var notes []string
	if r.All {
		after = strings.ReplaceAll(text, r.Old, r.New)
		notes = []string{fmt.Sprintf("all %d places", n)}
	}
	if after == "" {
		notes = append(notes, "nothing is left in the file")
	}
	return b.diff(title, notes, text, after), after, true
}

func (b *builder) newFile() []string {
	if b.File.Exists {
		return []string{"the file is empty now"}
	}
	return []string{"a new file"}
}

// unplaced returns the block of a replacement whose place in the file is unknown:
// the old text and the new text.
func (b *builder) unplaced(title, problem string, r replacement) Block {
	block := Block{Title: title, Notes: []string{problem}}
	if r.All {
		block.Notes = append(block.Notes, "all places")
	}
	block.Lines = b.cut(append(b.fragment("-", r.Old), b.fragment("+", r.New)...))
	return block
}

// fragment returns the lines of a text that need not be whole lines, with a sign.
func (b *builder) fragment(sign, text string) []Line {
	var out []Line
	for _, line := range strings.Split(text, "\n") {
		out = append(out, b.diffLine(sign, line, len(line)+1)...)
	}
	return out
}

// multi returns the blocks of MultiEdit, one for each edit, against the result of
// the edits before it.
func (b *builder) multi(values map[string]json.RawMessage) ([]Block, []string) {
	var raw []json.RawMessage
	if json.Unmarshal(values["edits"], &raw) != nil || len(raw) == 0 {
		return nil, nil
	}
	var blocks []Block
	text := b.File.Text
	for i, value := range raw {
		fields, _ := object(value)
		var r replacement
		if !all(fields, "old_string", &r.Old, "new_string", &r.New) || !optional(fields, "replace_all", &r.All) || !only(fields, "old_string", "new_string", "replace_all") {
			return nil, nil // shown as it is
		}
		block, after, ok := b.replace(fmt.Sprintf("edit %d of %d", i+1, len(raw)), r, text)
		blocks = append(blocks, block)
		if ok {
			text = after
			b.File = &File{Exists: true, Text: after, Problem: b.File.Problem}
		}
	}
	return blocks, []string{"edits"}
}

// write returns the block of a file that is overwritten.
func (b *builder) write(content string) Block {
	switch {
	case b.File.Problem != "":
		block := b.diff("content", []string{"the file as it is cannot be shown: " + b.File.Problem}, "", content)
		return block
	case !b.File.Exists:
		return b.diff("content", b.newFile(), "", content)
	case content == b.File.Text:
		return Block{Title: "content", Notes: []string{"the file is the same already: nothing changes"}}
	case content == "":
		return b.diff("content", []string{"nothing is left in the file"}, b.File.Text, "")
	}
	return b.diff("content", nil, b.File.Text, content)
}

// notebook returns the block of NotebookEdit: the cell before and after.
func (b *builder) notebook(values map[string]json.RawMessage) ([]Block, []string) {
	var source, id, mode string
	if !all(values, "new_source", &source) || !optional(values, "cell_id", &id) || !optional(values, "edit_mode", &mode) {
		return nil, nil
	}
	told := []string{"new_source"}
	if mode == "insert" {
		return []Block{b.diff("cell", []string{"a new cell"}, "", source)}, told
	}
	old, problem := b.cell(id)
	switch {
	case problem != "":
		return []Block{b.diff("cell", []string{problem}, "", source)}, told
	case mode == "delete":
		return []Block{b.diff("cell", []string{"the cell is deleted"}, old, "")}, nil
	}
	return []Block{b.diff("cell", nil, old, source)}, told
}

// cell returns the source of the notebook's cell with an ID.
func (b *builder) cell(id string) (source, problem string) {
	var book struct {
		Cells []struct {
			ID     string          `json:"id"`
			Source json.RawMessage `json:"source"`
		} `json:"cells"`
	}
	switch {
	case b.File.Problem != "":
		return "", "the notebook cannot be shown: " + b.File.Problem
	case !b.File.Exists:
		return "", "the notebook is not there: the edit would fail"
	case json.Unmarshal([]byte(b.File.Text), &book) != nil:
		return "", "the file is no notebook: the edit would fail"
	}
	for i := range book.Cells {
		if c := &book.Cells[i]; id != "" && c.ID == id || id == fmt.Sprintf("cell-%d", i) && c.ID == "" {
			return cellText(c.Source), ""
		}
	}
	return "", "the notebook has no such cell: the edit would fail"
}

// cellText returns the source of a cell, which is a string or a list of lines.
func cellText(source json.RawMessage) string {
	var lines []string
	if json.Unmarshal(source, &lines) == nil {
		return strings.Join(lines, "")
	}
	return fieldText(source)
}
