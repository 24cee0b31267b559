package display

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/visible"
)

// first are the fields that say what a tool use is about, in this order.
var first = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "subagent_type", "description", "prompt"}

// blocks are the parts of the input. Fields that a diff says are left to it.
func (b *builder) blocks(actions []Action) []Block {
	input := b.Request.Use.Input
	values, ok := object(input)
	if !ok {
		return []Block{b.text("input", string(input), nil, false)}
	}
	changes, told := b.changes(values)
	var out []Block // of the fields
	for _, name := range sorted(values) {
		switch {
		case slices.Contains(told, name):
		case name == "command", slices.ContainsFunc(actions, func(a Action) bool { return a.field == name && a.end > 0 }):
			out = append(out, b.command(name, fieldText(values[name]), actions))
		default:
			out = append(out, b.field(name, values[name]))
		}
	}
	return append(b.few(out), b.few(changes)...)
}

// maxBlocks is how many fields, and how many edits, are shown.
const maxBlocks = 24

// few cuts a long list of blocks.
func (b *builder) few(all []Block) []Block {
	if b.All || len(all) <= maxBlocks {
		return all
	}
	b.whole = false
	gone := Line{Sign: "…"}
	for _, block := range all[maxBlocks:] {
		gone.Count += len(block.Lines)
		for i := range block.Lines {
			gone.Bytes += block.Lines[i].size()
		}
	}
	title := thousands(len(all)-maxBlocks) + " more"
	return append(all[:maxBlocks:maxBlocks], Block{Title: title, Lines: []Line{gone}})
}

// size is how many bytes of text a line is about.
func (l *Line) size() int {
	n := l.Bytes
	for _, s := range l.Segments {
		n += len(s.Text)
	}
	return n
}

// field is the block of one field. A string that would pass for another kind
// of value says what it is.
func (b *builder) field(name string, value json.RawMessage) Block {
	text := fieldText(value)
	block := b.text(name, text, nil, false)
	if text != string(value) && json.Valid([]byte(text)) {
		block.Notes = []string{"a text"}
	}
	return block
}

// object reads an input; not ok is one that is no object or not exactly what
// its text says.
func object(input json.RawMessage) (map[string]json.RawMessage, bool) {
	var values map[string]json.RawMessage
	if !utf8.Valid(input) || json.Unmarshal(input, &values) != nil || values == nil {
		return nil, false
	}
	return values, true
}

// sorted are the names of the fields in the order in which they are shown.
func sorted(values map[string]json.RawMessage) []string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		if a, b := rank(names[i]), rank(names[j]); a != b {
			return a < b
		}
		return names[i] < names[j]
	})
	return names
}

func rank(name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// fieldText is a string as it is, anything else as JSON. A string with half a
// surrogate pair stays JSON: decoded, it would look like another one.
func fieldText(value json.RawMessage) string {
	var text string
	if !isString(value) || json.Unmarshal(value, &text) != nil || strings.ContainsRune(text, utf8.RuneError) {
		return string(value)
	}
	return text
}

func isString(value json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(value), []byte{'"'})
}

// span is a part of a text, in bytes.
type span struct{ from, to int }

// command is the block of a command line, with what caused the ask marked.
func (b *builder) command(name, text string, actions []Action) Block {
	var marks []span
	for i := range actions {
		a := &actions[i]
		if a.asks() && a.field == name && 0 <= a.pos && a.pos < a.end && a.end <= len(text) {
			end := a.pos + len(strings.TrimRight(text[a.pos:a.end], " \t\n;"))
			marks = append(marks, span{runeStart(text, a.pos), runeEnd(text, end)})
		}
	}
	return b.text(name, text, merged(marks), true)
}

// merged sorts spans and joins those that meet.
func merged(spans []span) []span {
	sort.Slice(spans, func(i, j int) bool { return spans[i].from < spans[j].from })
	var out []span
	for _, s := range spans {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// limit is how much of a text is shown: lines and bytes at its beginning, and
// lines and bytes at its end.
type limit struct{ lines, bytes, tailLines, tailBytes int }

// A command is shown to its end if a person can read it at all.
var (
	commandLimit = limit{lines: 150, bytes: 12 << 10, tailLines: 20, tailBytes: 2 << 10}
	fieldLimit   = limit{lines: 40, bytes: 6 << 10, tailLines: 4, tailBytes: 600}
	diffLimit    = limit{lines: 120, bytes: 12 << 10, tailLines: 12, tailBytes: 2 << 10}
)

// text is the block of a text, which may be a command line.
func (b *builder) text(title, text string, marks []span, command bool) Block {
	block := Block{Title: b.title(title)}
	l := fieldLimit
	if command {
		l = commandLimit
	}
	from, to := l.hole(text)
	if b.All || from == to {
		block.Lines = lines(text, marks, span{0, len(text)}, command)
		return block
	}
	b.whole = false
	block.Lines = lines(text, marks, span{0, from}, command)
	block.Lines = append(block.Lines, Line{Sign: "…", Bytes: to - from, Count: strings.Count(text[from:to], "\n")})
	block.Lines = append(block.Lines, lines(text, marks, span{to, len(text)}, command)...)
	return block
}

// title is a field's name, in quotes if it could pass for words of the ask.
func (b *builder) title(name string) string {
	if simpleName.MatchString(name) {
		return name
	}
	return strconv.Quote(b.name(name))
}

var simpleName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// hole is the part of a text that is not shown; none if from is to.
func (l limit) hole(text string) (from, to int) {
	if len(text) <= l.bytes && strings.Count(text, "\n") < l.lines {
		return 0, 0
	}
	from = runeStart(text, min(l.bytes, len(text)-1))
	if at := index(text[:from], l.lines); at >= 0 {
		from = at - 1 // the line feed is not shown
	}
	tail := text[runeEnd(text, max(len(text)-l.tailBytes, from)):]
	for range max(strings.Count(tail, "\n")-l.tailLines, 0) {
		tail = tail[strings.IndexByte(tail, '\n')+1:]
	}
	return from, len(text) - len(tail)
}

// index is where the nth line feed of a text ends, -1 if there are fewer.
func index(text string, n int) int {
	at := 0
	for range n {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
	}
	return at
}

// lines are the lines of a part of a text.
func lines(text string, marks []span, part span, command bool) []Line {
	var cuts []int // a mark begins at every other one
	for _, m := range marks {
		from, to := max(m.from, part.from), min(m.to, part.to)
		if from < to {
			cuts = append(cuts, from-part.from, to-part.from)
		}
	}
	out := []Line{{}}
	for i, piece := range visible.Pieces(text[part.from:part.to], command, cuts...) {
		for j, text := range strings.Split(piece, "\n") {
			if j > 0 {
				out = append(out, Line{})
			}
			if l := &out[len(out)-1]; text != "" {
				l.Segments = append(l.Segments, Segment{text, i%2 == 1})
			}
		}
	}
	return out
}
