package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/catalogfile"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/tools"
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
	"mode": "the permission mode", "unlisted": "what the allow list does not name", "risk": "risk tiers",
	"catastrophic": "the guard against rm -rf / and its like", "allow": "what is let through: a gate, not an approver",
	"ask": "what a person is asked about", "deny": "what never runs", "approved": `what a person said "always" to; none of it lets tier 3 run`,
	"whitelist": "a file with the commands that may run (allowed-commands.json), beside this one", "whitelist_bypass": "whether a run may lift a whitelist; in a managed policy only", "escalation": "who is told when an agent is paused",
	"command": "a program and its arguments; the alert is its standard input", "webhook": "an https URL that gets the alert as JSON",
	"profile": "which tables of risk: terminal is for a person at a terminal", "sensitive_paths": "what reading a sensitive path or printing a secret variable is: ask makes it tier 2 unless a rule names it",
	"advice":         "whether the agent is told how to say plainly what is not proven, before a person is asked",
	"inline_code":    "code in a command line (python3 -c, node -e, a here-document): as-files needs the rule that a file of the workspace needs, off cannot be covered by such a rule",
	"protect":        "further files and directories that are protected as .git is: names, names with / between them, ~/x or /x",
	"risk_overrides": "the risk of single actions, in place of the tables'", "pattern": "a command, as in Bash(...)", "path": "what is read or written, as in Edit(...)", "overrideTable.risk": "what the actions are", "reason": "why, for people",
	"reads": "what may be read outside the workspace", "public": "paths, as in Read(...), besides system files and the caches of packages",
	"limits": "of a session, with its subagents; of several policies the strictest count", "denials_in_a_row": "denials without an allow between them", "questions_an_hour": "questions to a person in the last hour",
	"tool_uses": "tool uses, whatever is decided", "then": "what is done about the next tool use: a person is asked, the session is paused, or the run ends",
	"role": "the role of the agent: chat, automation, system, admin, or one of [roles]; not in a workspace's policy", "risks": "what is answered by risk about commands and accesses that no rule names; of several policies the strictest counts",
	"table.roles":     "the same as risks, for an agent of that role; not in a workspace's policy",
	"risksTable.safe": "what is safe", "risksTable.moderate": "what is moderate: allow has commands run that are proven to be, deny needs a rule that names it", "risksTable.high": "what is high: deny needs a rule that names it",
	"approvals": "what the answers to questions must meet; of several policies the strictest count", "timeout_seconds": "after which what nobody has answered is denied",
	"people": "the names of those who may answer; whoever asks never may", "quorum": "how many different people have to approve, by risk; a higher one needs at least as many as a lower one",
	"quorumTable.moderate": "of what is moderate", "quorumTable.high": "of what is high", "quorumTable.forbidden": "of tier 3 that a rule has asked",
	"rules": "granular rules, in order", "table.programs": "what programs of yours do",
	"table.tools": "what the fields of tools mean that are not built in",
	"tools":       "names of tools", "paths": "path globs, as in Read(...)", "commands": "names of programs",
	"patterns": "regular expressions (RE2) on the words of a simple command", "domains": "hosts, as in WebFetch(...)",
	"action": "what the rule says", "message": "what the model is told", "match": "tool uses that the rule must answer", "not_match": "tool uses that it must not",
}

// values holds the permitted values of the keys. A key that only one table has
// is preceded by the name of the table.
var values = map[string][]string{
	"mode": modes.Names(), "unlisted": {"ask", "deny", "risk"}, "risk": {"on", "off"}, "catastrophic": {"on", "off"}, "whitelist_bypass": {"on", "off"}, "advice": {"on", "off"},
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
		{"description", "What an AI agent may do: the policy of agent-wrapper"},
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
	keys = append(keys, member{likeKey, object{{"description", "the MCP server whose ready table counts for all tools of mcp__SERVER"}, {"enum", tools.Servers()}}})
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
