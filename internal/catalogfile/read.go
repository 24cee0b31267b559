// Package catalogfile reads what is known of programs in the form of
// program/catalog/*.toml, which a policy has too, under programs.
//
// A table is a program:
//
//	[sort]
//	operands = "reads"
//	options = ["-r --reverse", "-k --key=", "-o --output= : write", "--debug?"]
//
// An option is its names, and behind " : " what it makes the program do. The
// last name ends in = if the option takes a value, in ? if it takes one only
// attached, in == if it takes two words. A second effect "pattern" says that
// the option also takes the place of the operand that would be the pattern or
// script, and "ends" that what follows its value are operands. "--[no-]x" is
// the two options --x and --no-x, of which the second takes no value.
//
// The keys of a table are those of program.Program in small letters: style,
// operands, skip, inherit, ends, safe, plain, workdir, here, beside, named,
// apart, plugins, assigns, stdin, home, special. names are further names of the
// same program, use takes over the options of [group.NAME], and
// [NAME.sub.SUB] is a subcommand, which has the style, workdir and special of
// its program unless it says otherwise. A program that reads its words as
// another one does, and is another one, says so with like = "sort"; one of whose
// words nothing is known is wordless. is = ["task-runner"] lists what is so
// whatever the words say, as the constants of program.Facts.
//
// # Risk
//
// risk says how dangerous the uses of a program are, row by row:
//
//	[kubectx]
//	risk = ["-d : moderate", "+1 : moderate", "safe"]
//
//	[pacman]
//	risk = [
//	  "-Q|--query : safe",
//	  "-S|--sync -s|--search : safe",
//	  "-R|--remove : high, removes a package",
//	  "high, installs a package",
//	]
//
// Behind " : " stands the class (safe, moderate, high, forbidden), and behind a
// comma the reason. Without one it is read-only, mutating operation or, for high
// and forbidden, destructive operation. Before it stands what the row asks for:
// subcommand paths, of which one will do ("get config/view */describe-*", * is
// any text of a segment), then what must all be there: "-f|--force" an option in
// any of its spellings, "+1" so many operands at least, "+0" none, "@x*" an
// operand of that form, "!destroys" a word that is a statement that removes data
// from a database. Last, in parentheses, options that may be there as well
// although the entry does not list them. Of the rows that hold, those with the
// longest path count, and of these the first. The last asks for nothing.
//
// A text instead of the list is its only row, or the name of a group that has
// the rows. Every built-in program says its risk; "unknown" is one that nobody
// knows, on purpose: a person is asked about it. A policy's own programs say
// none.
//
// # Secrets
//
// secrets says where among the words a secret stands of which no name says so:
//
//	-p SECRET                         the value of an option, in the same word or the next
//	login -p SECRET                   the same, if there is the word login
//	-pSECRET                          what follows in the word that begins so
//	_ SECRET                          the second operand; each _ is one before it
//	set|add _ SECRET                  the second operand behind one of these words
//	encrypt ... SECRET                the last word, if there is the word encrypt
//	--arg NAME SECRET                 the word behind a name that is one of secrets
//	-u|--user NAME:SECRET             the part behind the sign of the option's value
//	-b|--cookie COOKIES               the option's value, unless it is a file
//	by settings                       what the reader in Go of that name finds
package catalogfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
)

// Book is the content of all files.
type Book struct {
	programs []*Entry
	groups   map[string]*Entry
}

// Entry is a table: a program, a subcommand or a group of options.
type Entry struct {
	Names   []string // its own name first
	Path    []string // names of the subcommands that lead here
	Options []Option
	Shared  []*Entry // the groups that it uses
	Subs    []*Entry
	Risk    []Row    // nil if it is not known
	Is      []string // words of Facts
	Secrets []Secret

	keys   map[string]any
	said   []string // the keys that the file gives, beside options and sub
	riskOf string   // "unknown", or the group that has the rows
	where  where
}

// Option is one option; Value and Effect are words of the file (see Values and
// Effects).
type Option struct {
	Names         []string
	Value, Effect string
	Pattern, Ends bool
}

// Place says where a key of a table stands, or the table itself if key is "".
// For a part of a list, key is options[2] and text what stands there.
type Place func(table []string, key, text string) string

// where is a table and where it stands.
type where struct {
	place Place
	table []string
}

// Read adds the tables of one file.
func (c *Book) Read(tables map[string]any, place Place) error {
	if c.groups == nil {
		c.groups = map[string]*Entry{}
	}
	for _, name := range sorted(tables) {
		w := where{place, []string{name}}
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

func (c *Book) readGroups(w where, tables map[string]any) error {
	for _, name := range sorted(tables) {
		w := w.sub(name)
		table, ok := tables[name].(map[string]any)
		if !ok {
			return w.errorf("", "group %s is not a table", name)
		}
		if c.groups[name] != nil {
			return w.errorf("", "group %s stands at %s as well", name, c.groups[name].where.at())
		}
		e, err := readEntry(w, name, table, nil)
		if err != nil {
			return err
		}
		for key := range table {
			if key != "options" && key != "use" && key != "risk" {
				return w.errorf(key, "a group has options, use and risk only, not %s", key)
			}
		}
		if e.riskOf != "" {
			return w.errorf("risk", "the risk of a group is rows")
		}
		c.groups[name] = e
	}
	return nil
}

func readEntry(w where, name string, table map[string]any, path []string) (*Entry, error) {
	e := &Entry{where: w, Names: []string{name}, Path: path, keys: map[string]any{}}
	for _, key := range sorted(table) {
		if key != "options" && key != "sub" {
			e.said = append(e.said, key)
		}
		if err := e.key(key, table[key]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// key reads one key of a table.
func (e *Entry) key(key string, value any) error {
	switch key {
	case "sub":
		return e.readSubs(value)
	case "options":
		return e.readOptions(value)
	case "risk":
		return e.readRisk(value)
	case "is":
		return e.readFacts(value)
	case "secrets":
		return e.readSecrets(value)
	case "names":
		more, err := e.words(key, value)
		e.Names = append(e.Names, more...)
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

func (e *Entry) readSubs(value any) error {
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
		path := append(append([]string(nil), e.Path...), name)
		sub, err := readEntry(w, name, table, path)
		if err != nil {
			return err
		}
		e.Subs = append(e.Subs, sub)
	}
	return nil
}

func (e *Entry) words(key string, value any) ([]string, error) {
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

// readFacts reads the key is.
func (e *Entry) readFacts(value any) error {
	list, err := e.words("is", value)
	if err != nil {
		return err
	}
	for i, word := range list {
		if Facts[word] == "" || slices.Contains(list[:i], word) || len(e.Path) > 0 {
			return e.where.errorf("is", "is holds each of these once, of a program: %s", strings.Join(sorted(Facts), ", "))
		}
	}
	e.Is = list
	return nil
}

func (e *Entry) readOptions(value any) error {
	list, err := e.words("options", value)
	if err != nil {
		return err
	}
	for i, text := range list {
		opts, why := parseOption(text)
		if why != "" {
			return e.where.fault(fmt.Sprintf("options[%d]", i), text, fmt.Sprintf("option %q: %s", text, why))
		}
		e.Options = append(e.Options, opts...)
	}
	return nil
}

// A name begins with a dash or a plus sign, holds no blank, and is written
// without the suffix that tells about its value.
var optionName = lazyregexp.New(`^(-[^-\s=]|--?[^-\s=?][^\s=?]*|\+[^\s=?]*)$`)

// parseOption reads "-o --output= : write"; the second result is what is
// wrong.
func parseOption(text string) ([]Option, string) {
	left, effect, _ := strings.Cut(text, " : ")
	effect, ends := cutWord(effect, "ends")
	effect, pattern := cutWord(effect, "pattern")
	if _, ok := Effects[effect]; !ok {
		return nil, fmt.Sprintf("unknown effect %q", effect)
	}
	words := strings.Fields(left)
	if len(words) == 0 {
		return nil, "no name"
	}
	_, suffix := cutSuffix(words[len(words)-1])
	main := Option{Value: suffix, Effect: effect, Pattern: pattern, Ends: ends}
	var negated Option
	for _, word := range words {
		name, own := cutSuffix(word)
		if own != "" && own != suffix {
			return nil, "the names take different values: make them two options"
		}
		if rest, ok := strings.CutPrefix(name, "--[no-]"); ok {
			name = "--" + rest
			negated.Names = append(negated.Names, "--no-"+rest)
		}
		if !optionName.MatchString(name) {
			return nil, fmt.Sprintf("%q is no name of an option", name)
		}
		main.Names = append(main.Names, name)
	}
	if negated.Names == nil {
		return []Option{main}, ""
	}
	return []Option{main, negated}, ""
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
	w.table = append(slices.Clone(w.table), names...)
	return w
}

// at is where the table stands.
func (w where) at() string { return w.place(w.table, "", "") }

// errorf is an error at a key, or at the table for "".
func (w where) errorf(key, format string, args ...any) error {
	return w.fault(key, "", fmt.Sprintf(format, args...))
}

func (w where) fault(key, text, what string) error {
	return fmt.Errorf("%s: [%s]: %s", w.place(w.table, key, text), strings.Join(w.table, "."), what)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
