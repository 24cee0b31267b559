package stricttoml

import (
	"encoding"
	"fmt"
	"maps"
	"reflect"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
)

// checker compares the scanned tree with the Go type and collects faults and
// positions.
type checker struct {
	name   string
	lines  Lines
	faults []error
	// unknown are the unknown keys among the faults.
	unknown []string
	// checked are the keys that were seen, without array indexes, in the
	// library's form: parts joined by NUL.
	checked map[string]bool
}

func (c *checker) fail(at Place, path, text string) {
	c.faults = append(c.faults, &Error{Name: c.name, Place: at, Path: path, Text: text})
}

func (c *checker) table(t reflect.Type, n *node, keys []string, path string) {
	c.lines[path] = n.Place
	fields := fieldsOf(t)
	for _, key := range n.order {
		v := n.keys[key]
		at, full := join(path, key), append(keys[:len(keys):len(keys)], key)
		c.checked[strings.Join(full, "\x00")] = true
		ft, ok := fields[key]
		switch {
		case ok:
			c.value(ft, v, full, at)
		case fields != nil:
			c.fail(v.where(), path, "unknown key "+show(key)+spelling.Hint(key, fields))
			c.unknown = append(c.unknown, key)
		default:
			c.value(element(t), v, full, at)
		}
	}
}

// where returns the position of the key if it has one of its own.
func (n *node) where() Place {
	if n.key.Line > 0 {
		return n.key
	}
	return n.Place
}

func (c *checker) value(t reflect.Type, n *node, keys []string, path string) {
	if want := wanted(t); want != "" && want != n.kind {
		c.fail(n.Place, path, fmt.Sprintf("must be %s, not %s", want, n.kind)+form(t, want, n, path))
		return
	}
	c.lines[path] = n.Place
	switch n.kind {
	case isTable:
		c.table(deref(t), n, keys, path)
	case isArray:
		for i, e := range n.elems {
			c.value(element(t), e, keys, path+"["+strconv.Itoa(i)+"]")
		}
	}
}

// form returns how a value of the type that is wanted is written, for the kinds
// that TOML writes in ways easily taken for one another, or "".
func form(t reflect.Type, want kind, n *node, path string) string {
	switch {
	case want == isArray && n.kind == isTable:
		return " (write [[" + path + "]])"
	case want == isArray:
		return " (write it in [ ])"
	case want == isTable && n.kind == isArray && deref(t).Kind() == reflect.Map:
		return " (write [" + path + ".NAME])"
	case want == isTable && n.kind == isArray:
		return " (write [" + path + "])"
	}
	return ""
}

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	anyType         = reflect.TypeFor[any]()
)

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// wanted returns the kind of value that t holds, "" if any kind is allowed.
func wanted(t reflect.Type) kind {
	t = deref(t)
	if reflect.PointerTo(t).Implements(textUnmarshaler) {
		return isString
	}
	switch t.Kind() {
	case reflect.Interface:
		return ""
	case reflect.Struct, reflect.Map:
		return isTable
	case reflect.Slice, reflect.Array:
		return isArray
	case reflect.String:
		return isString
	case reflect.Bool:
		return isBool
	default:
		return isNumber
	}
}

// element returns the element type of a slice, array or map.
func element(t reflect.Type) reflect.Type {
	switch t = deref(t); t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	}
	return anyType
}

// fieldsOf returns the TOML names of a struct's fields and those of its
// embedded structs; nil if t is not a struct.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if t.Kind() != reflect.Struct {
		return nil
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
		switch {
		case f.Anonymous && name == "":
			maps.Copy(fields, fieldsOf(deref(f.Type)))
		case f.IsExported() && name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}

// Path returns the path of a key in tables, as used in Lines.
func Path(keys ...string) string {
	path := ""
	for _, key := range keys {
		path = join(path, key)
	}
	return path
}

func join(path, key string) string {
	if path == "" {
		return show(key)
	}
	return path + "." + show(key)
}

// show quotes a key that is not bare.
func show(key string) string {
	for i := range len(key) {
		if !isBare(key[i]) {
			return strconv.QuoteToASCII(key)
		}
	}
	if key == "" {
		return `""`
	}
	return key
}

// Quote returns text as a TOML string.
func Quote(text string) string {
	if !strings.ContainsAny(text, "\"\\") && !strings.ContainsFunc(text, control) {
		return `"` + text + `"`
	}
	if !strings.Contains(text, "'") && !strings.ContainsFunc(text, control) {
		return "'" + text + "'"
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case control(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

func control(r rune) bool { return r < ' ' || r == 0x7f }
