package whitelist

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// described holds the descriptions of the keys, for hints in editors.
var described = map[string]string{
	"version": "the version of this format", "mode": "strict: unlisted commands are refused; permissive: a person is asked",
	"defaults": "programs with subcommands, by the word that calls them", "custom": "the project's own programs, by name",
	"off":      "programs that are not allowed, until a person moves them to defaults or custom",
	"commands": "what may follow the program, word by word: run build", "allow_bare": "the program is also allowed on its own",
	"allow_args":        "arguments that are allowed: a word, or an option and its value; * matches any text",
	"deny_args":         "arguments that are never allowed, in any spelling; * matches any text",
	"allow_positionals": "words that are not options are allowed", "binary": "the path of the program, or its name on PATH",
	"allow_shell_operators": "lists, pipes, groups and input redirections are allowed; each command must be listed",
	"allow_env_vars":        "variables that may be set before a command", "max_command_length": "in bytes",
	"hallucination_threshold": "refusals after which the agent is paused", "dry_run_mode": "what would be refused is recorded, and runs anyway",
}

// limits holds the constraints on the values of keys.
var limits = map[string]object{
	"version": {{"const", fileVersion}}, "mode": {{"enum", []string{strict, permissive}}}, "binary": {{"minLength", 1}},
	"max_command_length": {{"minimum", 1}, {"maximum", shell.MaxLine}}, "hallucination_threshold": {{"minimum", 1}},
	"commands": {{"minItems", 1}},
}

// required holds the required keys of each type.
var required = map[reflect.Type][]string{
	reflect.TypeFor[file](): {"version", "mode"}, reflect.TypeFor[listed](): {"commands"}, reflect.TypeFor[custom](): {"binary"},
}

// Schema returns a JSON Schema (draft 2020-12) of whitelists, for editors. It
// derives from the Go types that a file is decoded into. What it cannot
// express, such as the syntax of an argument, agent-wrapper whitelist validate
// checks.
func Schema() ([]byte, error) {
	schema := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "allowed-commands.json"},
		{"description", "The commands that an AI agent may run: the whitelist of agent-wrapper"},
	}
	text, err := json.MarshalIndent(append(schema, schemaOf(reflect.TypeFor[file]())...), "", "  ")
	return append(text, '\n'), err
}

// anywhere are the keys that are allowed in every object.
var anywhere = object{{"$comment", object{}}, {"$schema", object{}}}

func schemaOf(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Map:
		return object{{"type", "object"}, {"properties", anywhere}, {"additionalProperties", schemaOf(t.Elem())}}
	case reflect.Struct:
		return structSchema(t)
	case reflect.Slice:
		return object{{"type", "array"}, {"items", object{{"type", "string"}, {"minLength", 1}}}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int:
		return object{{"type", "integer"}}
	}
	return object{{"type", "string"}}
}

func structSchema(t reflect.Type) object {
	keys := object{{"$comment", object{}}}
	if t != reflect.TypeFor[file]() {
		keys = anywhere
	}
	for i := range t.NumField() {
		f := t.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		s := schemaOf(f.Type)
		if text := described[key]; text != "" {
			s = append(object{{"description", text}}, s...)
		}
		keys = append(keys[:len(keys):len(keys)], member{key, append(s, limits[key]...)})
	}
	s := object{{"type", "object"}, {"additionalProperties", false}, {"properties", keys}}
	if names := required[t]; names != nil {
		s = append(s, member{"required", names})
	}
	return s
}
