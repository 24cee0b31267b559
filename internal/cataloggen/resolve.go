package main

import (
	"sort"
	"strings"
)

// The words of the files and the Go constants that they stand for.
var (
	styles = map[string]string{
		"gnu": "GNU", "posix": "POSIX", "dash": "Dash", "none": "NoOpts",
		"exact": "Exact", "joined": "Joined", "bundle": "Bundle",
	}
	operands = map[string]string{
		"text": "Text", "reads": "Reads", "reads-tree": "ReadsTree", "names": "Names",
		"pattern-reads": "PatternReads", "pattern-tree": "PatternTree", "writes": "Writes", "outputs": "Outputs", "copy": "Copy",
		"move": "Move", "in-out": "InOut", "mode-writes": "ModeWrites", "mode-outputs": "ModeOutputs",
		"urls": "URLs", "runs-args": "RunsArgs", "runs-text": "RunsText",
		"runs-texts": "RunsTexts", "shell-args": "ShellArgs", "script": "Script", "code": "Code",
		"assigns": "Assigns", "unread": "Unread", "transfer": "Transfer", "places": "Places", "loads": "Loads",
	}
	modes   = map[string]string{"": "NoValue", "=": "Required", "?": "Optional", "==": "Pair"}
	effects = map[string]string{
		"": "EffNone", "run": "EffRun", "program": "EffProgram", "code": "EffCode", "write": "EffWrite", "output": "EffOutput", "read-only": "EffReadOnly",
		"read": "EffRead", "send": "EffSend", "input": "EffInput", "dir": "EffDir", "url": "EffURL",
		"opaque": "EffOpaque", "unproven": "EffUnproven", "write-here": "EffWriteHere", "exec": "EffExec", "plugin": "EffPlugin", "module": "EffModule",
		"in-place": "EffInPlace", "pattern": "EffPattern", "recursive": "EffRecursive", "target": "EffTarget", "system": "EffSystem",
		"write-below": "EffBelow", "load": "EffLoad", "load-pairs": "EffPairs", "run-more": "EffRunMore", "write-listed": "EffWriteListed",
	}
)

// keys are the plain keys of a table, and what is wrong with a value.
var keys = map[string]func(any) string{
	"style": oneOf(styles), "operands": oneOf(operands), "special": isText, "skip": isCount, "use": isList,
	"inherit": isBool, "ends": isBool, "safe": isBool, "plain": isBool, "workdir": isBool,
	"here": isBool, "beside": isBool, "assigns": isBool, "named": isBool, "stdin": isBool,
	"apart": isBool, "plugins": isBool, "home": isText,
}

func oneOf(table map[string]string) func(any) string {
	return func(v any) string {
		if text, ok := v.(string); ok && table[text] != "" {
			return ""
		}
		return "is one of " + strings.Join(sorted(table), ", ")
	}
}

func isText(v any) string {
	if text, ok := v.(string); ok && text != "" {
		return ""
	}
	return "is a text"
}

func isCount(v any) string {
	if n, ok := v.(int64); ok && n > 0 && n < 10 {
		return ""
	}
	return "is a number from 1 to 9"
}

func isBool(v any) string {
	if _, ok := v.(bool); ok {
		return ""
	}
	return "is true or false"
}

func isList(v any) string {
	if _, ok := v.([]any); ok {
		return ""
	}
	return "is a list"
}

// resolve fills in what tables take over from others, and checks that no name
// is given twice.
func (c *catalog) resolve() error {
	if err := c.unique(c.programs); err != nil {
		return err
	}
	for _, e := range c.programs {
		if err := c.fill(e, nil); err != nil {
			return err
		}
	}
	return nil
}

// unique checks the names of programs, or of the subcommands of one, and sorts
// them.
func (c *catalog) unique(list []*entry) error {
	first := map[string]*entry{}
	for _, e := range list {
		for _, name := range e.names {
			if other := first[name]; other != nil {
				return e.where.errorf("", "%s stands in [%s] of %s as well", name, strings.Join(other.where.table, "."), other.where.file)
			}
			first[name] = e
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].names[0] < list[j].names[0] })
	return nil
}

// fill completes an entry below a parent.
func (c *catalog) fill(e, parent *entry) error {
	if parent != nil {
		for _, key := range []string{"style", "workdir", "special"} {
			if _, own := e.keys[key]; !own && parent.keys[key] != nil {
				e.keys[key] = parent.keys[key]
			}
		}
	}
	if err := c.share(e, e, map[*entry]bool{}); err != nil {
		return err
	}
	if err := e.distinct(); err != nil {
		return err
	}
	e.defaults()
	if err := c.unique(e.subs); err != nil {
		return err
	}
	for _, sub := range e.subs {
		if err := c.fill(sub, e); err != nil {
			return err
		}
	}
	return nil
}

// share notes in e the groups that an entry uses.
func (c *catalog) share(e, user *entry, seen map[*entry]bool) error {
	used, _ := user.keys["use"].([]any)
	for _, item := range used {
		name, _ := item.(string)
		group := c.groups[name]
		if group == nil {
			return user.where.errorf("use", "there is no group %q", name)
		}
		if seen[group] {
			continue
		}
		seen[group] = true
		if err := group.distinct(); err != nil {
			return err
		}
		e.shared = append(e.shared, group)
		if err := c.share(e, group, seen); err != nil {
			return err
		}
	}
	return nil
}

// defaults: wrappers and interpreters end their options at the first operand,
// and a program with subcommands knows nothing of other operands.
func (e *entry) defaults() {
	kind, given := e.keys["operands"].(string)
	if !given && len(e.subs) > 0 {
		e.keys["operands"] = "unread"
	}
	if _, own := e.keys["ends"]; !own && (kind == "runs-args" || kind == "runs-text" || kind == "script") {
		e.keys["ends"] = true
	}
}

// distinct refuses names that the entry gives twice.
func (e *entry) distinct() error {
	seen := map[string]bool{}
	for _, o := range e.opts {
		for _, name := range o.names {
			if seen[name] {
				return e.where.errorf(name, "option %s is given twice", name)
			}
			seen[name] = true
		}
	}
	return nil
}

func (e *entry) flag(key string) bool {
	v, _ := e.keys[key].(bool)
	return v
}

func (e *entry) constant(key string, table map[string]string) string {
	text, _ := e.keys[key].(string)
	return table[text]
}
