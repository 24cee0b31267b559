package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program/catalogfile"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
)

// object is a JSON object whose keys keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(m.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.key, err)
		}
		b.Write(append(append(key, ':'), value...))
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// described holds the meaning of the keys of a policy file, which editors show.
var described = map[string]string{
	"mode": "the permission mode", "unlisted": "what happens to uses that the allow list does not name", "risk": "risk tiers",
	"catastrophic": "the safeguard against rm -rf / and similar commands", "allow": "what may run without asking; an ask or deny rule still wins",
	"ask": "what always asks you", "deny": "what never runs", "approved": `what you answered "always" to; it never allows tier 3`,
	"whitelist": "a file beside this one that lists the commands that may run (allowed-commands.json)", "whitelist_bypass": "whether a run may bypass a whitelist; only in a managed policy", "escalation": "who is notified when an agent is paused",
	"command": "a program and its arguments; it gets the alert on standard input", "webhook": "an https URL that gets the alert as JSON",
	"notify": "how you are told of a question that waits; only in a trusted file", "after": "how long it has waited, as in 30s or 5m (default: 30s)", "bell": "ring the bell of the terminal that asks", "desktop": "show a desktop notification",
	"notifyTable.command": "a program and its arguments; it gets the notice on standard input, as JSON", "notifyTable.webhook": "an https URL that gets the notice as JSON",
	"profile": "which risk tables count; terminal is for a person at a terminal", "sensitive_paths": "ask makes reading a sensitive path or printing a secret variable tier 2 unless a rule names it",
	"advice":         "whether the agent is first told how to write an unclear command plainly, before you are asked",
	"sandbox":        "whether the agent's commands run in a sandbox, where what can do no harm needs no question: on where this machine can build one, require to run nothing without",
	"inline_code":    "code in a command line (python3 -c, node -e, a here-document): as-files needs the same rule as a file in the workspace; off cannot be allowed by such a rule",
	"protect":        "more files and directories to protect like .git: names, names joined by /, ~/x or /x",
	"risk_overrides": "the risk of single actions, instead of that of the tables", "pattern": "a command, as in Bash(...)", "path": "what is read or written, as in Edit(...)", "overrideTable.risk": "the risk of the actions", "reason": "the reason, for people",
	"reads": "what may be read outside the workspace", "public": "paths, as in Read(...), in addition to system files and package caches",
	"limits": "limits of a session and its subagents; with several policies the strictest count", "denials_in_a_row": "denials in a row, with no allow between them", "questions_an_hour": "questions to a person in the last hour",
	"limitsTable.sandbox": "limits of a command inside the sandbox (exec --sandbox)", "sandboxLimits.memory_mb": "the data of each process, in MiB", "sandboxLimits.processes": "processes and threads at the same time; the kernel does not hold root to it", "sandboxLimits.timeout_seconds": "seconds after which the command is ended, with all that it has started",
	"tool_uses": "tool uses, whatever was decided", "then": "what happens at the next tool use: you are asked, the session is paused, or the run ends",
	"role": "the role of the agent: chat, automation, system, admin, or one of [roles]; not in a workspace's policy", "risks": "the answer by risk to commands and accesses that no rule names; with several policies the strictest counts",
	"table.roles":     "like risks, for an agent with that role; not in a workspace's policy",
	"risksTable.safe": "what is safe", "risksTable.moderate": "what is moderate; allow runs commands proven to be, deny still lets a rule that names one allow it", "risksTable.high": "what is high; deny still lets a rule that names it allow it",
	"approvals": "requirements for answers to questions; with several policies the strictest count", "timeout_seconds": "seconds after which an unanswered question is denied",
	"people": "who may answer; nobody may answer their own question", "quorum": "how many different people must approve, by risk; a higher risk needs at least as many as a lower one",
	"quorumTable.moderate": "for moderate risk", "quorumTable.high": "for high risk", "quorumTable.forbidden": "for tier 3, where an ask rule names it",
	"rules": "granular rules, in order", "table.programs": "what your own programs do",
	"table.tools": "what the fields of tools that are not built in mean",
	"tools":       "names of tools", "paths": "path globs, as in Read(...)", "commands": "names of programs",
	"patterns": "regular expressions (RE2) on the words of a simple command", "domains": "hosts, as in WebFetch(...)",
	"action": "the rule's answer", "message": "the message for the model", "match": "tool uses that the rule must match", "not_match": "tool uses that the rule must not match",
}

// values holds the permitted values of the keys. A key that only one table has
// is preceded by the name of the table.
var values = map[string][]string{
	"mode": modes.Names(), "unlisted": {"ask", "deny", "risk"}, "risk": {"on", "off"}, "catastrophic": {"on", "off"}, "whitelist_bypass": {"on", "off"}, "advice": {"on", "off"}, "table.sandbox": {"off", "on", "require"},
	"risksTable.safe": riskKeys[0].answers, "risksTable.moderate": riskKeys[1].answers, "risksTable.high": riskKeys[2].answers,
	"then": atLimits, "overrideTable.risk": {"safe", "moderate", "high", "forbidden"},
	"profile": {"default", "terminal"}, "sensitive_paths": {"note", "ask"}, "inline_code": {"off", "as-files"}, "action": {"allow", "ask", "deny"},
}

// Schema returns a JSON Schema (draft 2020-12) of policy files, for editors. It
// is generated from the Go types into which a file is decoded. What a schema
// cannot express, such as the syntax of rules, is checked by agent-wrapper
// policy validate.
func Schema() ([]byte, error) {
	schema := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "agent-wrapper.toml"},
		{"description", "agent-wrapper's policy: what an AI agent may do"},
	}
	schema = append(append(schema, schemaOf(reflect.TypeFor[table]())...), member{"$defs", object{{"programs", programSchema()}, {"tools", toolSchema()}, {"roles", object{{"type", "object"}, {"additionalProperties", schemaOf(reflect.TypeFor[risksTable]())}}}}})
	text, err := json.MarshalIndent(schema, "", "  ")
	return append(text, '\n'), err
}

// schemaOf returns the schema of a Go type.
func schemaOf(t reflect.Type) object {
	switch t.Kind() {
	case reflect.Struct:
		var keys object
		for i := range t.NumField() {
			f := t.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("toml"), ",")
			if f.Type.Kind() == reflect.Map {
				keys = append(keys, member{key, object{{"description", described[t.Name()+"."+key]}, {"$ref", "#/$defs/" + key}}})
				continue
			}
			keys = append(keys, member{key, keySchema(t.Name(), key, f.Type)})
		}
		return object{{"type", "object"}, {"additionalProperties", false}, {"properties", keys}}
	case reflect.Bool:
		return object{{"type", "boolean"}}
	case reflect.Int:
		return object{{"type", "integer"}, {"minimum", 1}}
	case reflect.Slice:
		return object{{"type", "array"}, {"items", schemaOf(t.Elem())}}
	}
	return object{{"type", "string"}}
}

func keySchema(table, key string, t reflect.Type) object {
	s := schemaOf(t)
	text := described[table+"."+key]
	if text == "" {
		text = described[key]
	}
	if text != "" {
		s = append(object{{"description", text}}, s...)
	}
	list := values[table+"."+key]
	if list == nil {
		list = values[key]
	}
	if list != nil {
		s = append(s, member{"enum", list})
	}
	if value := defaults[key]; value != "" && table == "table" {
		s = append(s, member{"default", value})
	}
	return s
}

// toolSchema returns the schema of tools that are not built in.
func toolSchema() object {
	text := object{{"type", "string"}}
	several := object{{"anyOf", []object{text, {{"type", "array"}, {"items", text}}}}}
	var keys object
	for _, k := range toolKeys {
		schema := several
		switch {
		case k.name == "dialect":
			schema = object{{"enum", tools.Dialects}}
		case k.one != nil:
			schema = text
		}
		keys = append(keys, member{k.name, append(object{{"description", k.text}}, schema...)})
	}
	keys = append(keys, member{likeKey, object{{"description", "the MCP server whose built-in table applies to all tools of mcp__SERVER"}, {"enum", tools.Servers()}}})
	tool := object{{"type", "object"}, {"additionalProperties", false}, {"properties", keys}}
	return object{{"type", "object"}, {"additionalProperties", tool}}
}

// programSchema returns the schema of programs: tables in the form of package
// catalogfile.
func programSchema() object {
	words := func(table map[string]string) []string {
		var list []string
		for word := range table {
			list = append(list, word)
		}
		slices.Sort(list)
		return list
	}
	var keys object
	for _, key := range catalogfile.Keys() {
		switch {
		case catalogfile.Builtin(key.Name):
		case key.Name == "style":
			keys = append(keys, member{key.Name, object{{"enum", words(catalogfile.Styles)}}})
		case key.Name == "operands":
			keys = append(keys, member{key.Name, object{{"enum", words(catalogfile.Operands)}}})
		default:
			keys = append(keys, member{key.Name, object{{"type", key.Type}}})
		}
	}
	texts := object{{"type", "array"}, {"items", object{{"type", "string"}}}}
	keys = append(keys, member{"names", texts}, member{"options", texts}, member{"also", texts}, member{"sub", object{{"$ref", "#/$defs/programs"}}})
	program := object{{"type", "object"}, {"additionalProperties", false}, {"properties", keys}}
	return object{{"type", "object"}, {"additionalProperties", program}}
}
