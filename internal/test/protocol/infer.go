package protocol

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// Output is what a command prints as JSON.
type Output struct {
	Name  string // of its definition
	About string
	// Forms are values of its Go types, structs; a command may print one or another.
	Forms []any
	// Const are the fields that always have the same value.
	Const map[string]any
}

// Infer returns the text of a schema with a definition for each output. texts are values
// of types that are written as strings.
func Infer(title, about string, outputs []Output, texts ...any) (string, error) {
	known := map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}
	for _, v := range texts {
		known[reflect.TypeOf(v)] = &jsonschema.Schema{Type: "string"}
	}
	root := &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: title, Description: about,
		Defs: map[string]*jsonschema.Schema{},
	}
	for _, out := range outputs {
		def, err := out.infer(known)
		if err != nil {
			return "", fmt.Errorf("%s: %w", out.Name, err)
		}
		root.Defs[out.Name] = def
		root.AnyOf = append(root.AnyOf, &jsonschema.Schema{Ref: "#/$defs/" + out.Name})
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return string(text) + "\n", err
}

// infer returns the definition of an output.
func (o *Output) infer(known map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	var forms []*jsonschema.Schema
	for _, v := range o.Forms {
		s, err := jsonschema.ForType(reflect.TypeOf(v), &jsonschema.ForOptions{TypeSchemas: known})
		if err != nil {
			return nil, err
		}
		for name, p := range s.Properties {
			if always, ok := o.Const[name]; ok {
				s.Properties[name] = &jsonschema.Schema{Const: &always}
			} else if p.Items != nil {
				p.Type, p.Types = "array", nil // [] where there is nothing
			}
		}
		open(s)
		forms = append(forms, s)
	}
	if len(forms) == 1 {
		forms[0].Description = o.About
		return forms[0], nil
	}
	return &jsonschema.Schema{Description: o.About, AnyOf: forms}, nil
}

// open has objects take fields that they do not name: new ones may come.
func open(s *jsonschema.Schema) {
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	if s.Items != nil {
		open(s.Items)
	}
}
