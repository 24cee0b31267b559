package strictjson

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
)

var (
	anyType         = reflect.TypeFor[any]()
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	numberType      = reflect.TypeFor[json.Number]()
)

// opaque reports whether t decodes its JSON itself, so that any value is
// allowed.
func opaque(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || reflect.PointerTo(t).Implements(unmarshaler)
}

// wanted returns the kind of value that t holds, "" if any kind is allowed.
func wanted(t reflect.Type) string {
	t = deref(t)
	switch {
	case opaque(t):
		return ""
	case t == numberType:
		return "a number"
	case reflect.PointerTo(t).Implements(textUnmarshaler):
		return "a string"
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a string"
		}
		return "an array"
	case reflect.Array:
		return "an array"
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	default:
		return "a number"
	}
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// element returns the type of an array's elements.
func element(t reflect.Type) reflect.Type {
	t = deref(t)
	if !opaque(t) && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		return t.Elem()
	}
	return anyType
}

// keySet checks the keys of one object.
type keySet struct {
	few  [fewKeys]string // the first keys seen; the others are in seen
	n    int             // number of keys
	seen map[string]bool
	// fields of a struct; nil: any key is allowed.
	fields map[string]reflect.Type
	known  []string     // further names that keys are compared with
	free   []string     // names that are allowed in any object
	rest   reflect.Type // of keys that fields lacks
}

// fewKeys is the number of keys up to which a linear search is used.
const fewKeys = 8

func (s *scanner) keysOf(t reflect.Type, depth int) keySet {
	k := keySet{rest: anyType, free: s.aside}
	t = deref(t)
	switch {
	case opaque(t):
	case t.Kind() == reflect.Struct:
		k.fields = fieldsOf(t)
	case t.Kind() == reflect.Map:
		k.rest = t.Elem()
	}
	if depth == 1 {
		k.known = s.known
	}
	return k
}

// add records a key, and reports whether it is new.
func (k *keySet) add(key string) bool {
	if slices.Contains(k.few[:k.n], key) || k.seen[key] {
		return false
	}
	switch {
	case k.n < fewKeys:
		k.few[k.n] = key
		k.n++
	case k.seen == nil:
		k.seen = map[string]bool{key: true}
	default:
		k.seen[key] = true
	}
	return true
}

// twin returns the name that a key differs from only in case, or "".
func (k *keySet) twin(key string) string {
	if k.fields[key] != nil || slices.Contains(k.known, key) || k.aside(key) {
		return ""
	}
	for name := range k.fields {
		if strings.EqualFold(name, key) {
			return name
		}
	}
	for _, list := range [][]string{k.known, k.free} {
		for _, name := range list {
			if strings.EqualFold(name, key) {
				return name
			}
		}
	}
	return ""
}

// aside reports whether a key is allowed in any object and not a field of this
// one.
func (k *keySet) aside(key string) bool { return k.fields[key] == nil && slices.Contains(k.free, key) }

// known holds the fields of the structs that were decoded into so far, by type, as
// encoding/json does: map[string]reflect.Type, which is not changed.
var known sync.Map

// fieldsOf returns the JSON names of a struct's fields.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if fields, ok := known.Load(t); ok {
		return fields.(map[string]reflect.Type)
	}
	fields := map[string]reflect.Type{}
	addFields(t, fields)
	known.Store(t, fields)
	return fields
}

// addFields collects the JSON names of a struct's fields and those of its
// embedded structs; outer fields take precedence.
func addFields(t reflect.Type, into map[string]reflect.Type) {
	var inner []reflect.Type
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Tag.Get("json") == "-", !f.IsExported() && !f.Anonymous:
		case f.Anonymous && name == "" && deref(f.Type).Kind() == reflect.Struct:
			inner = append(inner, deref(f.Type))
		case name == "":
			into[f.Name] = f.Type
		default:
			into[name] = f.Type
		}
	}
	for _, t := range inner {
		promoted := map[string]reflect.Type{}
		addFields(t, promoted)
		for name, t := range promoted {
			if into[name] == nil {
				into[name] = t
			}
		}
	}
}

// enter checks a key and returns the type of its value, or what is wrong with
// the key.
func (k *keySet) enter(key string, ignoreUnknown bool) (t reflect.Type, complaint string) {
	if strings.ContainsRune(key, 0) {
		return nil, fmt.Sprintf("key %s contains a NUL", printable(key))
	}
	if !k.add(key) {
		return nil, fmt.Sprintf("key %s appears twice in one object", printable(key))
	}
	if name := k.twin(key); name != "" {
		return nil, fmt.Sprintf("unknown key %s (did you mean %s?)", printable(key), name)
	}
	if k.aside(key) {
		return anyType, ""
	}
	if k.fields == nil {
		return k.rest, ""
	}
	if t, ok := k.fields[key]; ok {
		return t, ""
	}
	if ignoreUnknown {
		return anyType, ""
	}
	return nil, "unknown key " + printable(key) + spelling.Hint(key, k.fields)
}
