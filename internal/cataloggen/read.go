package main

import (
	"fmt"
	"regexp"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// catalog is the content of all files.
type catalog struct {
	programs []*entry
	groups   map[string]*entry
}

// entry is a table: a program, a subcommand or a group of options.
type entry struct {
	where  where
	names  []string // its own name first
	path   []string // names of the subcommands that lead here
	keys   map[string]any
	opts   []option
	shared []*entry // the groups that it uses
	subs   []*entry
}

// option is one option; mode and effect are names of Go constants.
type option struct {
	names        []string
	mode, effect string
	pattern      bool
	ends         bool
}

// where finds the line of a table or key in a file.
type where struct {
	file, text string
	table      []string
}

// read adds the tables of one file. The file is decoded into maps, where the
// library neither folds the case of keys nor leaves any out.
func (c *catalog) read(file, text string) error {
	var tables map[string]any
	if _, err := toml.Decode(text, &tables); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if c.groups == nil {
		c.groups = map[string]*entry{}
	}
	for _, name := range sorted(tables) {
		w := where{file, text, []string{name}}
		table, ok := tables[name].(map[string]any)
		if !ok {
			return w.errorf("", "%s is not a table", name)
		}
		if name == "group" {
			if err := c.readGroups(w, table); err != nil {
				return err
			}
			continue
		}
		e, err := readEntry(w, name, table, nil)
		if err != nil {
			return err
		}
		c.programs = append(c.programs, e)
	}
	return nil
}

func (c *catalog) readGroups(w where, tables map[string]any) error {
	for _, name := range sorted(tables) {
		w := w.sub(name)
		table, ok := tables[name].(map[string]any)
		if !ok {
			return w.errorf("", "group %s is not a table", name)
		}
		if c.groups[name] != nil {
			return w.errorf("", "group %s stands in %s as well", name, c.groups[name].where.file)
		}
		e, err := readEntry(w, name, table, nil)
		if err != nil {
			return err
		}
		for key := range table {
			if key != "options" && key != "use" {
				return w.errorf(key, "a group has options and use only, not %s", key)
			}
		}
		c.groups[name] = e
	}
	return nil
}

func readEntry(w where, name string, table map[string]any, path []string) (*entry, error) {
	e := &entry{where: w, names: []string{name}, path: path, keys: map[string]any{}}
	for _, key := range sorted(table) {
		if err := e.key(key, table[key]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// key reads one key of a table.
func (e *entry) key(key string, value any) error {
	switch key {
	case "sub":
		return e.readSubs(value)
	case "options":
		return e.readOptions(value)
	case "names":
		more, err := e.words(key, value)
		e.names = append(e.names, more...)
		return err
	}
	check, ok := keys[key]
	if !ok {
		return e.where.errorf(key, "unknown key %s", key)
	}
	if why := check(value); why != "" {
		return e.where.errorf(key, "%s %s", key, why)
	}
	e.keys[key] = value
	return nil
}

func (e *entry) readSubs(value any) error {
	tables, ok := value.(map[string]any)
	if !ok {
		return e.where.errorf("sub", "sub holds tables")
	}
	for _, name := range sorted(tables) {
		w := e.where.sub("sub", name)
		table, ok := tables[name].(map[string]any)
		if !ok {
			return w.errorf("", "sub %s is not a table", name)
		}
		path := append(append([]string(nil), e.path...), name)
		sub, err := readEntry(w, name, table, path)
		if err != nil {
			return err
		}
		e.subs = append(e.subs, sub)
	}
	return nil
}

func (e *entry) words(key string, value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, e.where.errorf(key, "%s is not a list of strings", key)
	}
	var out []string
	for _, item := range list {
		text, ok := item.(string)
		if !ok || text == "" {
			return nil, e.where.errorf(key, "%s is not a list of strings", key)
		}
		out = append(out, text)
	}
	return out, nil
}

func (e *entry) readOptions(value any) error {
	list, err := e.words("options", value)
	if err != nil {
		return err
	}
	for _, text := range list {
		opts, why := parseOption(text)
		if why != "" {
			return e.where.errorf(text, "option %q: %s", text, why)
		}
		e.opts = append(e.opts, opts...)
	}
	return nil
}

// A name begins with a dash or a plus sign, holds no blank, and is written
// without the suffix that tells about its value.
var optionName = regexp.MustCompile(`^(-[^-\s=]|--?[^-\s=?][^\s=?]*|\+[^\s=?]*)$`)

// parseOption reads "-o --output= : write"; the second result is what is
// wrong.
func parseOption(text string) ([]option, string) {
	left, effect, _ := strings.Cut(text, " : ")
	effect, ends := cutWord(effect, "ends")
	effect, pattern := cutWord(effect, "pattern")
	constant, ok := effects[effect]
	if !ok {
		return nil, fmt.Sprintf("unknown effect %q", effect)
	}
	words := strings.Fields(left)
	if len(words) == 0 {
		return nil, "no name"
	}
	_, suffix := cutSuffix(words[len(words)-1])
	main := option{mode: modes[suffix], effect: constant, pattern: pattern, ends: ends}
	negated := option{mode: "NoValue", effect: "EffNone"}
	for _, word := range words {
		name, own := cutSuffix(word)
		if own != "" && own != suffix {
			return nil, "the names take different values: make them two options"
		}
		if rest, ok := strings.CutPrefix(name, "--[no-]"); ok {
			name = "--" + rest
			negated.names = append(negated.names, "--no-"+rest)
		}
		if !optionName.MatchString(name) {
			return nil, fmt.Sprintf("%q is no name of an option", name)
		}
		main.names = append(main.names, name)
	}
	if negated.names == nil {
		return []option{main}, ""
	}
	return []option{main, negated}, ""
}

// cutWord removes a word from the end of a text; a lone "pattern" is an effect
// of its own.
func cutWord(text, word string) (string, bool) {
	if text == "ends" && word == "ends" {
		return "", true
	}
	return strings.CutSuffix(text, " "+word)
}

// cutSuffix splits a name from what stands for its value.
func cutSuffix(word string) (name, suffix string) {
	for _, s := range []string{"==", "=", "?"} {
		if name, ok := strings.CutSuffix(word, s); ok && name != "-" {
			return name, s
		}
	}
	return word, ""
}

// sub is the place of a table in this one.
func (w where) sub(names ...string) where {
	w.table = append(append([]string(nil), w.table...), names...)
	return w
}

// errorf is an error at the line of a key, or of the table if it is not found.
func (w where) errorf(key, format string, args ...any) error {
	return fmt.Errorf("%s:%d: [%s]: %s", w.file, w.line(key), strings.Join(w.table, "."), fmt.Sprintf(format, args...))
}

func (w where) line(key string) int {
	header := regexp.MustCompile(`^\[\s*` + headerPattern(w.table) + `\s*\]`)
	at := 0
	for i, line := range strings.Split(w.text, "\n") {
		switch {
		case at == 0 && header.MatchString(line):
			at = i + 1
		case at > 0 && strings.HasPrefix(line, "["):
			return at
		case at > 0 && key != "" && strings.Contains(line, key):
			return i + 1
		}
	}
	return max(at, 1)
}

func headerPattern(table []string) string {
	var parts []string
	for _, name := range table {
		parts = append(parts, `["']?`+regexp.QuoteMeta(name)+`["']?`)
	}
	return strings.Join(parts, `\s*\.\s*`)
}

func sorted[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
