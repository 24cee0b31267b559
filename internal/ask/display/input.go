package display

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// first are the fields that are shown first, in this order.
var first = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "subagent_type", "description", "prompt"}

// blocks returns the parts of the input, without the fields that a diff shows.
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

// maxBlocks is the largest number of fields, and of edits, that are shown.
const maxBlocks = 24

// few shortens a long list of blocks.
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

// size returns the number of bytes of text that a line stands for.
func (l *Line) size() int {
	n := l.Bytes
	for _, s := range l.Segments {
		n += len(s.Text)
	}
	return n
}

// field returns the block of one field. A string that could be mistaken for
// another kind of value is labelled.
func (b *builder) field(name string, value json.RawMessage) Block {
	text := fieldText(value)
	block := b.text(name, text, nil, false)
	if text != string(value) && json.Valid([]byte(text)) {
		block.Notes = []string{"a text"}
	}
	return block
}

// object decodes an input. ok is false if it is not an object or does not decode
// without a loss.
func object(input json.RawMessage) (map[string]json.RawMessage, bool) {
	var values map[string]json.RawMessage
	if !utf8.Valid(input) || json.Unmarshal(input, &values) != nil || values == nil {
		return nil, false
	}
	return values, true
}

// sorted returns the names of the fields in the order of display.
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

// fieldText returns a string decoded, and anything else as JSON. A string with
// half of a surrogate pair stays JSON: decoded, it would look like another
// string.
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

// command returns the block of a command line, with what caused the question
// marked.
func (b *builder) command(name, text string, actions []Action) Block {
	var marks []span
	for i := range actions {
		a := &actions[i]
		if a.asks() && a.field == name && 0 <= a.pos && a.pos < a.end && a.end <= len(text) {
			end := a.pos + len(strings.TrimRight(text[a.pos:a.end], " \t\n;"))
			marks = append(marks, span{runeStart(text, a.pos), runeEnd(text, end)})
		}
	}
	block := b.text(name, text, merged(marks), true)
	if proven, ok := allowedLines(name, text, actions); ok && len(proven) == len(block.Lines) {
		for i := range block.Lines {
			block.Lines[i].allowed = proven[i]
		}
	}
	return block
}

// allowedLines reports which lines of a command line have nothing but commands that
// need no answer of a person, and what joins them. It is not ok if something that is
// asked about has no place in the text: then it may be anywhere.
func allowedLines(name, text string, actions []Action) (proven []bool, ok bool) {
	covered := make([]byte, len(text))
	for i := range actions {
		a := &actions[i]
		placed := a.field == name && 0 <= a.pos && a.pos < a.end && a.end <= len(text)
		switch {
		case a.asks() && !placed:
			return nil, false
		case placed && a.asks():
			fill(covered[a.pos:a.end], 'x')
		case placed && (a.Verdict == "allow" || a.Verdict == ""):
			fill(covered[a.pos:a.end], 'o')
		}
	}
	at := 0
	for line := range strings.SplitSeq(text, "\n") {
		fine := true
		for i := range len(line) {
			c := covered[at+i]
			fine = fine && (c == 'o' || c == 0 && strings.IndexByte(" \t;&|", line[i]) >= 0)
		}
		proven = append(proven, fine)
		at += len(line) + 1
	}
	return proven, len(actions) > 0
}

// fill sets bytes; what asks is not covered by what is allowed around it.
func fill(part []byte, c byte) {
	for i := range part {
		if part[i] != 'x' {
			part[i] = c
		}
	}
}

// merged sorts spans and merges those that touch.
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

// limit is how much of a text is shown: lines and bytes at its beginning and at
// its end.
type limit struct{ lines, bytes, tailLines, tailBytes int }

// A command is shown completely if a person could still read it.
var (
	commandLimit = limit{lines: 150, bytes: 12 << 10, tailLines: 20, tailBytes: 2 << 10}
	fieldLimit   = limit{lines: 40, bytes: 6 << 10, tailLines: 4, tailBytes: 600}
	diffLimit    = limit{lines: 120, bytes: 12 << 10, tailLines: 12, tailBytes: 2 << 10}
)

// text returns the block of a text, which may be a command line.
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

// title returns the name of a field, quoted if it could be mistaken for words of
// the Ask.
func (b *builder) title(name string) string {
	if simpleName.MatchString(name) {
		return name
	}
	return strconv.Quote(b.name(name))
}

var simpleName = lazyregexp.New(`^[A-Za-z0-9_-]{1,64}$`)

// hole returns the part of a text that is left out; it is empty if from == to.
func (l limit) hole(text string) (from, to int) {
	if len(text) <= l.bytes && strings.Count(text, "\n") < l.lines {
		return 0, 0
	}
	from = runeStart(text, min(l.bytes, len(text)-1))
	if at := index(text[:from], l.lines); at >= 0 {
		from = at - 1 // without the line feed
	}
	tail := text[runeEnd(text, max(len(text)-l.tailBytes, from)):]
	for range max(strings.Count(tail, "\n")-l.tailLines, 0) {
		tail = tail[strings.IndexByte(tail, '\n')+1:]
	}
	return from, len(text) - len(tail)
}

// index returns the index after the nth line feed of a text, -1 if there are
// fewer.
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

// lines returns the lines of a part of a text.
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
