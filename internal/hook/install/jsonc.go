package install

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
)

// dialect is what a host accepts in its JSON beyond the standard.
type dialect struct{ comments, trailingCommas bool }

// document is a JSON text that is edited in place: what is not changed keeps its bytes.
type document struct {
	name string // of the file, for errors
	text []byte
	root hujson.Value
}

// parseDocument reads a text; an empty one counts as an object without members. Every
// error has the position in the file.
func parseDocument(name string, text []byte, d dialect) (*document, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}\n")
	}
	doc := &document{name: name, text: text}
	if err := doc.parse(); err != nil {
		return nil, err
	}
	if err := doc.inDialect(d); err != nil {
		return nil, err
	}
	if doc.root.Value.Kind() != '{' {
		return nil, doc.fail(doc.root.StartOffset, "the file must be an object")
	}
	return doc, nil
}

// parse reads the text of the document.
func (d *document) parse() (err error) {
	d.root, err = jsonc.Parse(d.name, d.text)
	return err
}

// fail returns an error with a position.
func (d *document) fail(at int, format string, args ...any) error {
	return jsonc.Errorf(d.name, d.text, at, format, args...)
}

// inDialect reports the first thing that the host would not accept: it would take the
// whole file for void, and so run without a hook.
func (d *document) inDialect(accepts dialect) error {
	fault := error(nil)
	walk(&d.root, func(extra hujson.Extra, from int) {
		if at := bytes.IndexByte(extra, '/'); at >= 0 && !accepts.comments && fault == nil {
			fault = d.fail(from+at, "comments are not accepted here: remove this one")
		}
	}, func(comma int) {
		if !accepts.trailingCommas && fault == nil {
			fault = d.fail(comma, "a comma after the last item is not accepted here: remove it")
		}
	})
	return fault
}

// walk calls extra for each run of blanks and comments, with its offset, and comma for
// each comma behind a last item.
func walk(v *hujson.Value, extra func(e hujson.Extra, from int), comma func(at int)) {
	extra(v.BeforeExtra, v.StartOffset-len(v.BeforeExtra))
	if c, ok := contents(v); ok {
		for i := range c.items {
			if name := c.items[i].name; name != nil {
				extra(name.BeforeExtra, name.StartOffset-len(name.BeforeExtra))
				extra(name.AfterExtra, name.EndOffset)
			}
			walk(c.items[i].value, extra, comma)
		}
		if n := len(c.items); n > 0 && c.items[n-1].comma >= 0 {
			comma(c.items[n-1].comma)
		}
		extra(c.after, c.end-len(c.after))
	}
	extra(v.AfterExtra, v.EndOffset)
}

// item is a member of an object or an element of an array.
type item struct {
	name  *hujson.Value // nil in an array
	value *hujson.Value
	head  int // where it begins
	comma int // the comma behind it, -1 if there is none
}

// container is an object or an array.
type container struct {
	begin, end int // behind the opening and at the closing bracket
	items      []item
	after      hujson.Extra // before the closing bracket
}

// contents returns the items of an object or array.
func contents(v *hujson.Value) (c container, ok bool) {
	c = container{begin: v.StartOffset + 1, end: v.EndOffset - 1}
	switch x := v.Value.(type) {
	case *hujson.Object:
		for i := range x.Members {
			m := &x.Members[i]
			c.items = append(c.items, item{name: &m.Name, value: &m.Value, head: m.Name.StartOffset})
		}
		c.after = x.AfterExtra
	case *hujson.Array:
		for i := range x.Elements {
			c.items = append(c.items, item{value: &x.Elements[i], head: x.Elements[i].StartOffset})
		}
		c.after = x.AfterExtra
	default:
		return c, false
	}
	for i := range c.items {
		v := c.items[i].value
		c.items[i].comma = v.EndOffset + len(v.AfterExtra)
		if i == len(c.items)-1 && v.AfterExtra == nil {
			c.items[i].comma = -1
		}
	}
	return c, true
}

// text returns the name of a member.
func (i *item) text() string { return i.name.Value.(hujson.Literal).String() }

// at returns the value below a path of keys, nil if there is none.
func (d *document) at(path ...string) (*hujson.Value, error) {
	v := &d.root
	for _, key := range path {
		_, m, err := d.member(v, key)
		if m == nil || err != nil {
			return nil, err
		}
		v = m.value
	}
	return v, nil
}

// member returns the items of an object, and the one with a key, nil if there is none. A
// key that stands there twice is an error: hosts take one of them, and not the same.
func (d *document) member(v *hujson.Value, key string) (c container, found *item, err error) {
	if v.Value.Kind() != '{' {
		return c, nil, d.fail(v.StartOffset, "this must be an object, to hold %q", key)
	}
	c, _ = contents(v)
	for i := range c.items {
		if c.items[i].text() != key {
			continue
		}
		if found != nil {
			return c, nil, d.fail(c.items[i].head, "%q stands here twice: remove one of them", key)
		}
		found = &c.items[i]
	}
	return c, found, nil
}

// array returns the items of the array below a path; ok is false if there is none.
func (d *document) array(path ...string) (c container, ok bool, err error) {
	v, err := d.at(path...)
	if v == nil || err != nil {
		return c, false, err
	}
	if v.Value.Kind() != '[' {
		return c, false, d.fail(v.StartOffset, "%s must be an array", strings.Join(path, "."))
	}
	c, _ = contents(v)
	return c, true, nil
}

// literal returns the text of the value below a path, "" if there is none.
func (d *document) literal(path ...string) (string, error) {
	v, err := d.at(path...)
	if v == nil || err != nil {
		return "", err
	}
	return string(d.text[v.StartOffset:v.EndOffset]), nil
}

// decoded returns a value as package encoding/json reads it.
func (d *document) decoded(v *hujson.Value) any {
	plain := v.Clone()
	plain.Standardize()
	var out any
	if err := json.Unmarshal(plain.Pack(), &out); err != nil {
		return nil // it is JSON
	}
	return out
}

// splice replaces text[from:to] and reads the document again.
func (d *document) splice(from, to int, with string) error {
	d.text = append(append(bytes.Clone(d.text[:from]), with...), d.text[to:]...)
	return d.parse()
}

// set gives the member below a path a value, in JSON. It returns the text of the value
// that was there, "" for none, and the paths of the objects that it made on the way.
func (d *document) set(value string, path ...string) (was string, made []string, err error) {
	last := len(path) - 1
	if made, err = d.ensure('{', path[:last]...); err != nil {
		return "", made, err
	}
	v, err := d.at(path...)
	switch {
	case err != nil:
		return "", made, err
	case v != nil:
		was = string(d.text[v.StartOffset:v.EndOffset])
		return was, made, d.splice(v.StartOffset, v.EndOffset, value)
	}
	parent, err := d.at(path[:last]...)
	if err != nil {
		return "", made, err
	}
	return "", made, d.insert(parent, path[last], value)
}

// ensure makes the objects of a path that do not exist, the last of the kind { or [. It
// returns the paths that it made.
func (d *document) ensure(kind byte, path ...string) (made []string, err error) {
	for n := 1; n <= len(path); n++ {
		v, err := d.at(path[:n]...)
		if err != nil {
			return made, err
		}
		if v != nil {
			continue
		}
		parent, err := d.at(path[:n-1]...)
		if err != nil {
			return made, err
		}
		empty := "{}"
		if n == len(path) && kind == '[' {
			empty = "[]"
		}
		if err := d.insert(parent, path[n-1], empty); err != nil {
			return made, err
		}
		made = append(made, pointer(path[:n]))
	}
	return made, nil
}

// pointer returns a path as one word; keys that we make hold no slash.
func pointer(path []string) string { return strings.Join(path, "/") }
