package install

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"
)

// layout is how a container is written.
type layout struct {
	lines  bool   // an item has a line of its own
	indent string // of the items
	outer  string // of the closing bracket
	unit   string // one step of indentation
	eol    string
}

// layout finds out how an item that is added to a container is to be written.
func (d *document) layout(c *container) layout {
	l := layout{unit: d.unit(), eol: "\n", outer: d.indentAt(c.begin)}
	if bytes.Contains(d.text, []byte("\r\n")) {
		l.eol = "\r\n"
	}
	l.indent = l.outer + l.unit
	if len(c.items) == 0 {
		l.lines = bytes.IndexByte(bytes.TrimSpace(d.text), '\n') >= 0 || len(bytes.TrimSpace(d.text)) == len("{}")
		return l
	}
	l.lines = bytes.IndexByte(d.text[c.begin:c.end], '\n') >= 0
	if own, ok := d.ownLine(c.items[0].head); ok {
		l.indent = own
	}
	return l
}

// unit returns one step of indentation: that of the first member of the document.
func (d *document) unit() string {
	if c, ok := contents(&d.root); ok && len(c.items) > 0 {
		if own, ok := d.ownLine(c.items[0].head); ok && own != "" {
			return own
		}
	}
	return "  "
}

// indentAt returns the blanks that begin the line of an offset.
func (d *document) indentAt(at int) string {
	line := d.text[bytes.LastIndexByte(d.text[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// ownLine returns the blanks before an offset, if nothing else stands before it in its
// line, which is not the first.
func (d *document) ownLine(at int) (indent string, ok bool) {
	begin := bytes.LastIndexByte(d.text[:at], '\n') + 1
	blanks := string(d.text[begin:at])
	return blanks, begin > 0 && strings.Trim(blanks, " \t") == ""
}

// insert adds an item behind the last one of a container: a member if it has a name. A
// comment behind the last item stays with it.
func (d *document) insert(into *hujson.Value, name, value string) error {
	c, ok := contents(into)
	if !ok {
		return d.fail(into.StartOffset, "this must be an object or an array")
	}
	l := d.layout(&c)
	text := format(name, value)
	at := c.begin + trimmed(d.text[c.begin:c.end])
	rest := string(d.text[at:c.end]) // blanks: they stay behind it
	switch n := len(c.items); {
	case n == 0 && l.lines && !strings.Contains(rest, "\n"):
		return d.splice(at, c.end, l.eol+l.indent+text+l.eol+l.outer)
	case n == 0 && l.lines:
		return d.splice(at, at, l.eol+l.indent+text)
	case n == 0:
		return d.splice(at, at, text)
	case c.items[n-1].comma >= 0: // a comma behind the last item, as there was
		return d.splice(at, at, l.before()+text+",")
	default:
		end := c.items[n-1].value.EndOffset
		return d.splice(end, at, ","+string(d.text[end:at])+l.before()+text)
	}
}

// before returns what stands before an item that is not the first.
func (l *layout) before() string {
	if l.lines {
		return l.eol + l.indent
	}
	return " "
}

// format writes an item, in one line.
func format(name, value string) string {
	var b bytes.Buffer
	if name != "" {
		b.Write(encode(name))
		b.WriteString(": ")
	}
	b.WriteString(value)
	return b.String()
}

// encode returns a value as JSON, with the signs of the shell as they are.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own types can be encoded
	}
	return bytes.TrimSpace(b.Bytes())
}

// spaced returns JSON of one line with blanks behind its colons and commas.
func spaced(text []byte) string {
	var b strings.Builder
	quoted, escaped := false, false
	for _, c := range text {
		b.WriteByte(c)
		switch {
		case escaped:
			escaped = false
		case c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ':' || c == ','):
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// trimmed returns the length of a text without the blanks at its end.
func trimmed(text []byte) int { return len(bytes.TrimRight(text, " \t\r\n")) }

// remove takes the item with a number out of a container, with its comma. Comments stay.
func (d *document) remove(from *hujson.Value, n int) error {
	c, ok := contents(from)
	if !ok || n >= len(c.items) {
		return d.fail(from.StartOffset, "there is nothing to take out")
	}
	it := &c.items[n]
	before := c.begin
	if n > 0 {
		before = c.items[n-1].comma + 1
	}
	head := before + trimmed(d.text[before:it.head]) // behind the comments before it
	switch {
	case len(c.items) == 1 && it.comma < 0 && trimmed(c.after) == 0:
		return d.cut(head, head, c.end, before)
	case it.comma >= 0:
		return d.cut(head, head, it.comma+1, before)
	case n == 0:
		return d.cut(head, head, it.value.EndOffset, before)
	default: // the last one: the comma before it is no longer wanted
		return d.cut(c.items[n-1].comma, head, it.value.EndOffset, before)
	}
}

// cut removes text[from:to], but keeps the comments in text[before:head]. A comment that
// ends with its line must not take in what follows.
func (d *document) cut(from, head, to, before int) error {
	kept := string(d.text[before:head])
	if from == head {
		from = before
	}
	if openComment(kept) && !strings.HasPrefix(strings.TrimLeft(string(d.text[to:]), " \t\r"), "\n") {
		kept += "\n"
	}
	return d.splice(from, to, kept)
}

// openComment reports whether blanks and comments end with a comment that ends with its
// line.
func openComment(extra string) bool {
	for {
		at := strings.IndexByte(extra, '/')
		if at < 0 || at+1 == len(extra) {
			return false
		}
		end := "\n"
		if extra[at+1] == '*' {
			end = "*/"
		}
		_, rest, ended := strings.Cut(extra[at+2:], end)
		if !ended {
			return true
		}
		extra = rest
	}
}
