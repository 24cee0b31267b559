// Package protocol holds the lines that tests see against the JSON Schema of the
// protocols, schemas/protocol.schema.json, and the schema against the lines: no line
// has a field that the schema lacks, and every field of it is seen.
package protocol

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the schema. It is safe for concurrent use.
type Schema struct {
	defs map[string]any

	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved // by text
	seen     map[string]bool                 // fields, by their definition
}

// Read reads the schema of the protocols.
func Read() (*Schema, error) { return ReadFile("protocol.schema.json") }

// ReadFile reads a file in schemas/ of the source tree that holds the current directory.
func ReadFile(name string) (*Schema, error) {
	dir, err := os.Getwd()
	for err == nil {
		var data []byte
		data, err = os.ReadFile(filepath.Join(dir, "schemas", name))
		if err == nil {
			var root struct {
				Defs map[string]any `json:"$defs"`
			}
			err = json.Unmarshal(data, &root)
			return &Schema{defs: root.Defs, resolved: map[string]*jsonschema.Resolved{}, seen: map[string]bool{}}, err
		}
		if up := filepath.Dir(dir); up != dir {
			dir, err = up, nil
		}
	}
	return nil, err
}

// Check returns what is wrong with a line by a definition of the schema.
func (s *Schema) Check(def string, line []byte) error {
	var v any
	if err := json.Unmarshal(line, &v); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	schema := map[string]any{"$ref": "#/$defs/" + def}
	if err := s.valid(schema, v); err != nil {
		return err
	}
	return s.look(schema, def, v)
}

// valid validates a value against a part of the schema.
func (s *Schema) valid(part map[string]any, v any) error {
	whole := maps.Clone(part)
	whole["$defs"] = s.defs
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	r := s.resolved[string(text)]
	if r == nil {
		if text, err = json.Marshal(whole); err != nil {
			return err
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			return err
		}
		if r, err = schema.Resolve(nil); err != nil {
			return err
		}
		key, _ := json.Marshal(part)
		s.resolved[string(key)] = r
	}
	return r.Validate(v)
}

// look notes the fields of a value, which is valid, and returns the first that the
// schema lacks.
func (s *Schema) look(schema map[string]any, at string, v any) error {
	if name, ok := schema["$ref"].(string); ok {
		name = strings.TrimPrefix(name, "#/$defs/")
		def, _ := s.defs[name].(map[string]any)
		return s.look(def, name, v)
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for i, branch := range list(schema[key]) {
			if s.valid(branch, v) == nil {
				return s.look(branch, fmt.Sprintf("%s/%d", at, i), v)
			}
		}
	}
	switch v := v.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, item := range v {
			if err := s.look(items, at+"[]", item); err != nil {
				return err
			}
		}
	case map[string]any:
		return s.fields(schema, at, v)
	}
	return nil
}

// fields looks at the fields of an object. An object without properties is free.
func (s *Schema) fields(schema map[string]any, at string, v map[string]any) error {
	properties, some := schema["properties"].(map[string]any)
	if !some {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		field, known := properties[name]
		if !known {
			return fmt.Errorf("%s has no field %s", at, name)
		}
		property, _ := field.(map[string]any) // none of what may be anything: true
		s.seen[at+"."+name] = true
		if err := s.look(property, at+"."+name, v[name]); err != nil {
			return err
		}
	}
	return nil
}

func list(v any) (all []map[string]any) {
	items, _ := v.([]any)
	for _, item := range items {
		if one, ok := item.(map[string]any); ok {
			all = append(all, one)
		}
	}
	return all
}

// Unseen returns the fields that no line had, of a definition and of those that it
// refers to.
func (s *Schema) Unseen(def string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	unseen, visited := map[string]bool{}, map[string]bool{}
	s.unseen(map[string]any{"$ref": "#/$defs/" + def}, def, unseen, visited)
	return slices.Sorted(maps.Keys(unseen))
}

func (s *Schema) unseen(schema map[string]any, at string, unseen, visited map[string]bool) {
	if name, ok := schema["$ref"].(string); ok {
		name = strings.TrimPrefix(name, "#/$defs/")
		if def, _ := s.defs[name].(map[string]any); !visited[name] {
			visited[name] = true
			s.unseen(def, name, unseen, visited)
		}
		return
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for i, branch := range list(schema[key]) {
			s.unseen(branch, fmt.Sprintf("%s/%d", at, i), unseen, visited)
		}
	}
	if items, ok := schema["items"].(map[string]any); ok {
		s.unseen(items, at+"[]", unseen, visited)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if !s.seen[at+"."+name] {
			unseen[at+"."+name] = true
		}
		inner, _ := property.(map[string]any)
		s.unseen(inner, at+"."+name, unseen, visited)
	}
}
