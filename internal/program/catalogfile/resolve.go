package catalogfile

import (
	"maps"
	"slices"
	"sort"
	"strings"
)

// The words of the files and the corresponding constants of package program.
var (
	Styles = map[string]string{
		"gnu": "GNU", "posix": "POSIX", "dash": "Dash", "none": "NoOpts",
		"exact": "Exact", "joined": "Joined", "bundle": "Bundle",
	}
	Operands = map[string]string{
		"text": "Text", "reads": "Reads", "reads-tree": "ReadsTree", "names": "Names",
		"pattern-reads": "PatternReads", "pattern-tree": "PatternTree", "writes": "Writes", "outputs": "Outputs", "fills": "Fills", "copy": "Copy",
		"move": "Move", "in-out": "InOut", "mode-writes": "ModeWrites", "mode-outputs": "ModeOutputs",
		"urls": "URLs", "runs-args": "RunsArgs", "runs-text": "RunsText",
		"runs-texts": "RunsTexts", "shell-args": "ShellArgs", "script": "Script", "code": "Code",
		"assigns": "Assigns", "unread": "Unread", "transfer": "Transfer", "places": "Places", "loads": "Loads",
	}
	Facts = map[string]string{
		"task-runner": "TaskRunner", "interpreter": "Interpreter", "fetcher": "Fetcher", "obeys-project": "ObeysProject", "editor": "Editor",
		"by-subcommand": "BySubcommand", "names-hosts": "NamesHosts", "packaged": "Packaged", "interactive": "Interactive",
		"outside": "Outside", "in-shell": "InShell",
	}
	Spellings = map[string]string{"any-case": "anyCase", "kebab": "kebab"}
	Values    = map[string]string{"": "NoValue", "=": "Required", "?": "Optional", "==": "Pair"}
	Effects   = map[string]string{
		"": "EffNone", "run": "EffRun", "program": "EffProgram", "code": "EffCode", "write": "EffWrite", "output": "EffOutput", "read-only": "EffReadOnly",
		"read": "EffRead", "send": "EffSend", "input": "EffInput", "dir": "EffDir", "url": "EffURL",
		"opaque": "EffOpaque", "unproven": "EffUnproven", "write-here": "EffWriteHere", "exec": "EffExec", "plugin": "EffPlugin", "module": "EffModule",
		"in-place": "EffInPlace", "clears": "EffClears", "pattern": "EffPattern", "recursive": "EffRecursive", "follow": "EffFollow", "recursive-follow": "EffRecursiveFollow", "target": "EffTarget", "system": "EffSystem",
		"write-below": "EffBelow", "load": "EffLoad", "load-pairs": "EffPairs", "run-more": "EffRunMore", "write-listed": "EffWriteListed", "read-listed": "EffReadListed", "task": "EffTask", "glob": "EffGlob", "number": "EffNumber", "renames": "EffRenames", "listens": "EffListens",
	}
)

// keys are the plain keys of a table, with the validation of their values.
var keys = map[string]func(any) string{
	"style": oneOf(Styles), "operands": oneOf(Operands), "special": isText, "skip": isCount, "use": isList,
	"inherit": isBool, "ends": isBool, "safe": isBool, "plain": isBool, "workdir": isBool,
	"here": isBool, "beside": isBool, "assigns": isBool, "named": isBool, "stdin": isBool,
	"apart": isBool, "plugins": isBool, "home": isText, "changes": isText, "obeys": isText, "hosts": isText, "base": isText, "inline": isText, "endings": isText, "like": isText, "wordless": isBool, "abbreviates": isBool,
	"kinds": isBool, "folds": isBool, "suffix": isText, "refs": isText, "registry": isText, "updates": isBool, "spelling": oneOf(Spellings),
}

// builtin are the keys that only built-in entries may have, not those of a
// policy.
var builtin = []string{"special", "changes", "use", "like", "wordless", "risk", "is", "secrets", "settings", "harmless", "alike", "equal", "kinds", "folds", "suffix", "refs", "obeys", "aside", "gets", "makes", "prints", "hosts", "base", "inline", "variables", "registry", "updates", "offline", "hosted", "endings", "spelling"}

// Builtin reports whether only built-in entries may have a key.
func Builtin(key string) bool { return slices.Contains(builtin, key) }

// Key is a plain key of a table with the type of its value in JSON Schema.
type Key struct{ Name, Type string }

// Keys returns the plain keys of a table, sorted by name.
func Keys() []Key {
	var list []Key
	for _, name := range sorted(keys) {
		kind := "string"
		switch {
		case keys[name](true) == "":
			kind = "boolean"
		case keys[name](int64(1)) == "":
			kind = "integer"
		case keys[name]([]any{}) == "":
			kind = "array"
		}
		list = append(list, Key{name, kind})
	}
	return list
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

// Resolve applies inheritance between tables, checks that names are unique, and
// returns the programs sorted by name.
func (c *Book) Resolve() ([]*Entry, error) {
	if err := c.unique(c.programs); err != nil {
		return nil, err
	}
	for _, e := range c.programs {
		if err := c.fill(e, nil); err != nil {
			return nil, err
		}
		if err := c.hasRegistries(e); err != nil {
			return nil, err
		}
		if err := c.risk(e); err != nil {
			return nil, err
		}
	}
	for _, e := range c.programs {
		if err := c.like(e); err != nil {
			return nil, err
		}
	}
	return c.programs, nil
}

// Groups returns the groups, sorted by name.
func (c *Book) Groups() []*Entry {
	var list []*Entry
	for _, name := range sorted(c.groups) {
		list = append(list, c.groups[name])
	}
	return list
}

// like copies the arguments of another entry.
func (c *Book) like(e *Entry) error {
	name := e.Text("like")
	if name == "" {
		return nil
	}
	i := slices.IndexFunc(c.programs, func(p *Entry) bool { return p.Names[0] == name })
	if i < 0 || c.programs[i].Text("like") != "" {
		return e.where.errorf("like", "there is no section %q that says how words are read", name)
	}
	for _, key := range e.said {
		if !slices.Contains(besideLike, key) {
			return e.where.errorf(key, "the words are read like those of %s: %s cannot be said as well", name, key)
		}
	}
	if e.Options != nil || e.Subs != nil {
		return e.where.errorf("", "the words are read like those of %s: options and subcommands stand there", name)
	}
	p := c.programs[i]
	e.Like = name
	e.Options, e.Shared, e.Subs, e.Equal = p.Options, p.Shared, p.Subs, p.Equal
	if e.Settings == nil {
		e.Settings, e.Lists["harmless"] = p.Settings, p.Lists["harmless"]
	}
	if e.Lists["offline"] == nil {
		e.Lists["offline"] = p.Lists["offline"]
	}
	e.Lists["aside"], e.Lists["hosted"] = p.Lists["aside"], p.Lists["hosted"]
	own := e.keys
	e.keys = maps.Clone(p.keys)
	for _, key := range []string{"abbreviates", "suffix", "obeys", "base", "inline", "endings", "registry", "updates"} {
		if own[key] != nil {
			e.keys[key] = own[key]
		}
	}
	return nil
}

// besideLike are the keys that a table with like may have as well.
var besideLike = []string{"like", "names", "risk", "is", "secrets", "also", "abbreviates", "suffix", "obeys", "base", "settings", "harmless", "inline", "variables", "makes", "prints", "registry", "updates", "offline", "endings"}

// unique checks and sorts the names of programs, or of the subcommands of one.
func (c *Book) unique(list []*Entry) error {
	first := map[string]*Entry{}
	for _, e := range list {
		for _, name := range e.All() {
			if other := first[name]; other != nil {
				return e.where.errorf("", "%s stands in [%s] at %s as well", name, strings.Join(other.where.table, "."), other.where.at())
			}
			first[name] = e
		}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Names[0] < list[j].Names[0] })
	return nil
}

// fill completes an entry below a parent.
func (c *Book) fill(e, parent *Entry) error {
	if parent != nil {
		for _, key := range []string{"style", "workdir", "special"} {
			if _, own := e.keys[key]; !own && parent.keys[key] != nil {
				e.keys[key] = parent.keys[key]
			}
		}
	}
	if err := c.share(e, e, map[*Entry]bool{}); err != nil {
		return err
	}
	if err := e.distinct(); err != nil {
		return err
	}
	e.defaults()
	if err := c.unique(e.Subs); err != nil {
		return err
	}
	for _, sub := range e.Subs {
		if err := c.fill(sub, e); err != nil {
			return err
		}
	}
	return nil
}

// share adds the groups that user includes to e.
func (c *Book) share(e, user *Entry, seen map[*Entry]bool) error {
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
		e.Shared = append(e.Shared, group)
		e.Equal = append(e.Equal, group.Equal...)
		if err := c.share(e, group, seen); err != nil {
			return err
		}
	}
	return nil
}

// defaults: the options of wrappers and interpreters end at the first operand,
// and the operands of a program with subcommands are otherwise unknown.
func (e *Entry) defaults() {
	kind, given := e.keys["operands"].(string)
	if !given && len(e.Subs) > 0 {
		e.keys["operands"] = "unread"
	}
	if _, own := e.keys["ends"]; !own && (kind == "runs-args" || kind == "runs-text" || kind == "script") {
		e.keys["ends"] = true
	}
}

// distinct rejects duplicate names within an entry.
func (e *Entry) distinct() error {
	seen := map[string]bool{}
	for _, o := range e.Options {
		for _, name := range o.Names {
			if seen[name] {
				return e.where.errorf(name, "option %s is given twice", name)
			}
			seen[name] = true
		}
	}
	return nil
}

// Flag returns the value of a boolean key, false if it is not set.
func (e *Entry) Flag(key string) bool {
	v, _ := e.keys[key].(bool)
	return v
}

// Text returns the value of a string key, "" if it is not set.
func (e *Entry) Text(key string) string {
	v, _ := e.keys[key].(string)
	return v
}

// Skip returns the value of the key skip, 0 if it is not set.
func (e *Entry) Skip() int {
	n, _ := e.keys["skip"].(int64)
	return int(n)
}

// Said returns the keys that are set in the file, other than options and sub.
func (e *Entry) Said() []string { return e.said }

// Errorf returns an error at a key of the table.
func (e *Entry) Errorf(key, format string, args ...any) error {
	return e.where.errorf(key, format, args...)
}
