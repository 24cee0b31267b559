package server

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/serve/server/api"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/signed"
)

// schema is a JSON Schema, or another object of the description.
type schema = map[string]any

// describe returns the OpenAPI description of routes. Encoding sorts the keys, so that
// the same routes give the same bytes.
func describe(all []route) []byte {
	d := &describer{schemas: schema{}}
	paths := map[string]schema{}
	for i := range all {
		rt := &all[i]
		if paths[rt.path] == nil {
			paths[rt.path] = schema{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = d.operation(rt)
	}
	out, err := json.MarshalIndent(schema{
		"openapi": "3.1.0",
		"info":    schema{"title": "agent-wrapper", "version": "1", "description": "The approval service of agent-wrapper; docs/reference/api.md explains it."},
		"paths":   paths,
		"components": schema{
			"schemas": d.schemas,
			"securitySchemes": schema{
				"signed": schema{"type": "http", "scheme": strings.ToLower(signed.Scheme), "description": "a signature; docs/reference/api.md says of what"},
				"token":  schema{"type": "http", "scheme": "bearer", "description": "only if the server itself has TLS"},
			},
		},
	}, "", "  ")
	if err != nil {
		return nil // a test reads it
	}
	return append(out, '\n')
}

// describer collects the schemas of the types that have a name.
type describer struct{ schemas schema }

// operation describes a route.
func (d *describer) operation(rt *route) schema {
	op := schema{"summary": rt.about, "responses": d.responses(rt)}
	if rt.access != anyone {
		op["security"] = []schema{{"signed": []string{}}, {"token": []string{}}}
		op["x-roles"] = rt.access.names()
	}
	var params []schema
	for name := range strings.SplitSeq(rt.path, "/") {
		if strings.HasPrefix(name, "{") {
			params = append(params, schema{"name": strings.Trim(name, "{}"), "in": "path", "required": true, "schema": schema{"type": "string"}})
		}
	}
	for _, p := range rt.query {
		params = append(params, schema{"name": p.name, "in": "query", "description": p.about, "schema": schema{"type": "string"}})
	}
	if len(params) > 0 {
		op["parameters"] = params
	}
	if in := rt.action.in; in != nil && in != reflect.TypeFor[none]() {
		op["requestBody"] = schema{"content": schema{"application/json": schema{"schema": d.of(in)}}}
	}
	return op
}

// responses describes the answers of a route.
func (d *describer) responses(rt *route) schema {
	fine := schema{"description": cmp.Or(rt.answer, "done")}
	if out := rt.action.out; out != nil {
		fine["content"] = schema{"application/json": schema{"schema": d.of(out)}}
	}
	all := schema{cmp.Or(rt.status(), "200"): fine}
	for _, status := range rt.statuses() {
		all[strconv.Itoa(status)] = schema{
			"description": http.StatusText(status),
			"content":     schema{"application/json": schema{"schema": d.of(reflect.TypeFor[api.Failure]())}},
		}
	}
	return all
}

// status returns the status of the answer if it is not 200.
func (rt *route) status() string {
	if strings.HasPrefix(rt.answer, "a WebSocket") {
		return "101"
	}
	return ""
}

// statuses returns the statuses of errors.
func (rt *route) statuses() []int {
	all := append([]int{http.StatusForbidden}, rt.errors...) // another host or origin
	if rt.access != anyone {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if rt.action.in != nil && rt.action.in != reflect.TypeFor[none]() {
		all = append(all, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if len(rt.query) > 0 {
		all = append(all, http.StatusBadRequest)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// names returns the roles of credentials, as people write them.
func (a access) names() (names []string) {
	for _, role := range []struct {
		bit  access
		name string
	}{{agents, RoleAgent}, {people, RolePerson}, {people | admins, RoleAdmin}, {codes, "code"}} {
		if a&role.bit != 0 {
			names = append(names, role.name)
		}
	}
	return names
}

// of returns the schema of a type, a reference if it has a name.
func (d *describer) of(t reflect.Type) schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return schema{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return schema{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Slice:
		return schema{"type": "array", "items": d.of(t.Elem())}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": d.of(t.Elem())}
	case reflect.Struct:
		return d.object(t)
	case reflect.Float64:
		return schema{"type": "number"}
	}
	return schema{"type": "integer"}
}

// object returns a reference to the schema of a struct.
func (d *describer) object(t reflect.Type) schema {
	ref := schema{"$ref": "#/components/schemas/" + t.Name()}
	if d.schemas[t.Name()] != nil {
		return ref
	}
	properties, required := schema{}, []string{}
	d.schemas[t.Name()] = schema{} // for a type that has itself in it
	for f := range t.Fields() {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			inner := d.schemas[d.name(f.Type)].(schema)
			for key, value := range inner["properties"].(schema) {
				properties[key] = value
			}
			continue
		}
		if !f.IsExported() || name == "-" {
			continue
		}
		name = cmp.Or(name, f.Name)
		properties[name] = d.of(f.Type)
		if !strings.Contains(rest, "omit") {
			required = append(required, name)
		}
	}
	d.schemas[t.Name()] = schema{"type": "object", "properties": properties, "required": required}
	return ref
}

// name describes an embedded type and returns its name.
func (d *describer) name(t reflect.Type) string {
	d.object(t)
	return t.Name()
}
