package permission

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"reflect"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Exactly returns the digest of the tool use, whoever makes it, together with all
// that the question about it says. It is equal for the same question in another
// process, and differs where a link leads elsewhere or a rule is new. The error says
// why there is none.
func (r *Request) Exactly() (string, error) { return exactly(&r.Use, &r.Decision) }

// exactly is Request.Exactly.
func exactly(use *ToolUse, d *Decision) (string, error) {
	object, err := strictjson.Object(use.Input, strictjson.MaxSize(maxInput))
	if err != nil {
		return "", fmt.Errorf("the input of %s: %w", use.Tool, err)
	}
	input, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	h := &hasher{Hash: sha256.New()}
	h.value(reflect.ValueOf([]string{"agent-wrapper question 1", use.Tool, use.Dir, fmt.Sprint(uint8(use.Dialect)), string(input)}), 0)
	h.value(reflect.ValueOf(*d), 0)
	return fmt.Sprintf("%x", h.Sum(nil)), h.err
}

// hasher hashes values as reflect.DeepEqual compares them.
type hasher struct {
	hash.Hash
	err error
}

// maxDepth is how deep the values of a decision are nested at most.
const maxDepth = 100

var errDeep = errors.New("the question is nested too deep")

// The types that are not hashed field by field: a program is what it is called, what is
// not exported of a subject are caches, and the place has directories of one run. What
// is relative to it is there in full.
var (
	placeType   = reflect.TypeFor[patterns.Place]()
	programType = reflect.TypeFor[program.Program]()
	subjectType = reflect.TypeFor[patterns.Subject]()
)

// value hashes a value, its kind first.
func (h *hasher) value(v reflect.Value, depth int) {
	if depth++; depth > maxDepth {
		h.err = errDeep
		return
	}
	fmt.Fprintf(h, "%d:", v.Kind())
	switch v.Kind() {
	case reflect.String:
		fmt.Fprintf(h, "%d:%s", v.Len(), v.String())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		fmt.Fprintf(h, "%v;", v)
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			h.value(v.Elem(), depth)
		}
	case reflect.Slice, reflect.Array:
		fmt.Fprintf(h, "%d:", v.Len())
		for i := range v.Len() {
			h.value(v.Index(i), depth)
		}
	case reflect.Struct:
		h.fields(v, depth)
	case reflect.Map:
		h.members(v, depth)
	default:
		h.err = fmt.Errorf("a question contains a %s, which is not JSON", v.Kind())
	}
}

func (h *hasher) fields(v reflect.Value, depth int) {
	switch v.Type() {
	case programType:
		h.value(v.FieldByName("Name"), depth)
		h.value(v.FieldByName("Path"), depth)
		return
	case placeType:
		return
	}
	for i := range v.NumField() {
		if v.Type() != subjectType || v.Type().Field(i).IsExported() {
			h.value(v.Field(i), depth)
		}
	}
}

// members hashes a map with strings as its keys, sorted.
func (h *hasher) members(v reflect.Value, depth int) {
	if v.Type().Key().Kind() != reflect.String {
		h.err = fmt.Errorf("a question contains a map of %s, which is not JSON", v.Type().Key())
		return
	}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		switch {
		case a.String() < b.String():
			return -1
		case a.String() > b.String():
			return 1
		}
		return 0
	})
	fmt.Fprintf(h, "%d:", len(keys))
	for _, key := range keys {
		h.value(key, depth)
		h.value(v.MapIndex(key), depth)
	}
}
