// Package catalogfile reads descriptions of programs in the format of
// internal/program/catalog/*.toml, which the key programs of a policy has too.
//
// A table is a program:
//
//	[sort]
//	operands = "reads"
//	options = ["-r --reverse", "-k --key=", "-o --output= : write", "--debug?"]
//
// An option is its names, followed by " : " and its effect. The last name ends
// in = if the option takes a value, in ? if the value is optional and must be
// attached, in == if it takes two words. The additional effect "pattern" says
// that the option replaces the operand that would be the pattern or script;
// "ends" says that everything after its value is an operand. "--[no-]x" stands
// for the two options --x and --no-x, of which the second takes no value.
//
// The keys of a table are those of program.Program in lower case: style,
// operands, skip, inherit, ends, safe, plain, workdir, here, beside, named,
// apart, plugins, assigns, stdin, home, changes, obeys, inline, endings, special, abbreviates. names lists synonyms of the
// program or subcommand, use includes the options of [group.NAME], and [NAME.sub.SUB] is a
// subcommand, which inherits style, workdir and special of its program unless
// it sets them. alike = ["unpublish", "dist-tag|dist-tags"] lists other subcommands with
// the same arguments: to rules they are different ones, unless they are synonyms, which
// are separated by "|". A different program with the same arguments has like = "sort";
// one whose arguments are unknown is wordless. is = ["task-runner"] lists
// properties that do not depend on arguments, by the constants of
// program.Facts.
//
// # Other spellings
//
// also lists other spellings of what a program does, for the rules of ask and
// deny (an allow rule compares exact words):
//
//	[docker-compose]
//	also = ["docker compose"]
//
//	[docker]
//	also = ["container rm|exec = . *", "image rm = . rmi"]
//
//	[git]
//	also = ["send-pack ~ . push"]
//
// Left of the sign are subcommands or operands of the program, none for the
// program itself; right of it are a program, "." for this one, and its
// subcommands. "=" is the same in both directions, "~" is one-way: the left side
// does, among other things, what the right side does. Options behind the subcommands
// on the left must all be present ("branch -d -f ~ . branch -D"). A last word on the left
// may be several, separated by "|", each of which replaces a "*" on the right.
//
// "_" stands for any operand, which is the "_" on the right ("_ stop = systemctl stop _").
//
// For the same rules equal = ["pod|pods|po"] lists words that mean the same as operands
// or values of options, folds = true says that the case of operands does not count,
// suffix = ".service" that they may end so or not, and kinds = true that they are TYPE
// NAME, TYPE/NAME or TYPE,TYPE NAME as those of kubectl are.
//
// refs says how a subcommand of git names refs, so that a rule about a branch meets each
// way to write it:
//
//	refs = "pushed --all -- --tags"   operands after the repository are [+]SRC[:DST]; without
//	                                  any, or with --all, the refs depend on the configuration,
//	                                  unless an option behind "--" names others
//	refs = "fetched"                  the same, but only DST is written
//	refs = "each -d -D"               with one of these options, every operand
//	refs = "first"                    the first operand
//
// aside lists options of the program's own that say where, how often or how loudly the
// same is done (pnpm --filter web test). An allow rule need not name them where they
// stand before what it does name.
//
// prints lists the words of which each, as the only one behind the program, makes it print
// a text about itself and exit, as its manual says (-v, --version). A program that runs code
// of the project before it reads its words has none.
//
// spelling says how else names of options are read: "any-case" is without regard to case and
// with one dash or two (--outFile, -outfile), "kebab" has --output-file for --outputFile.
//
// makes lists names of files that the program makes anew, so that nobody misses what was in
// them: patterns (path.Match), and "executable" for what a compiler made.
//
// gets lists the options with which a client only gets what its URLs name (curl -s -o).
//
// hosted lists the operands and the values of options that begin with the host that the
// program asks, though they are no URL: a form, with the option whose value has it, or with
// an option without a value that gives the operands that form:
//
//	hosted = ["image"]                HOST[:PORT]/NAME, where HOST has a dot or a port
//	hosted = ["repository --repo"]    HOST/OWNER/REPO
//	hosted = ["module"]               HOST/PATH[@VERSION], as modules of Go are named
//	hosted = ["version", "module -u"] the same with @VERSION, or also without it beside -u
//	hosted = ["package"]              OWNER/REPO or github:OWNER/REPO, as npm reads it
//	hosted = ["host"]                 HOST[:PORT]
//
// abbreviates = true says that the program accepts abbreviated names of its
// subcommands (ip l, tmux kill-ser).
//
// # Settings
//
// settings lists the forms in which a program is told one of its settings, harmless
// the settings of which its manual says nothing that runs, finds, loads, redirects or
// loosens something. Every other setting is opaque.
//
//	settings = ["config set KEY", "--config.KEY"]
//	harmless = ["color", "init-author-*"]
//
//	config|c set KEY                  the word behind these subcommands, KEY or KEY=VALUE
//	config KEY VALUE                  the same, if a value follows
//	env -w KEYS                       every operand, if there is the option
//	config --add KEY                  the value of an option behind the subcommand
//	--config.KEY                      what follows in the word that begins so
//
// # Variables
//
// variables lists the variables of the environment to which the manual of the program
// gives a meaning, with * for any text. With " : harmless" behind it, the program runs,
// finds, loads, sends, writes and trusts nothing else whatever the variable holds. Every
// variable that a line gives a program and that is not harmless is unproven.
//
//	variables = ["AWS_*", "AWS_PAGER", "AWS_REGION : harmless"]
//
// # Registries
//
// registry names the tables [registry.NAME] of the files in which a project names the hosts
// that the program asks, offline the uses that ask none: subcommands, "_" for any word that
// is no subcommand, "." for no word, and behind "!" the options with which they do ask. With
// updates = true the program asks now and then whether there is a newer one of it, whatever
// it is told.
//
//	[npm]
//	registry = "npm package:publish"  the second only with this word
//	offline = [".", "run", "list !--outdated"]
//
//	[registry.npm]
//	public = ["registry.npmjs.org"]   hosts that it asks without configuration
//	files = [".npmrc ini"]            NAME FORMAT [KEYS…], here or above; only KEYS count
//	own = ["~/.npmrc ini"]            the same, of the person and the machine
//	hosts = ["registry"]              settings whose value is a host even without a scheme
//	secrets = ["*:_authToken"]        settings that are sent, to the host in the key if there
//	                                  is one, else to any
//	elsewhere = ["userconfig"]        settings that name another such file
//	quiet = ["noproxy"]               settings that make it ask no host
//	options = ["-r"]                  options, and operands *.txt and *.in, that name further
//	                                  files; with PATH, operands and options that name projects,
//	                                  in which the files are looked for too
//
// Every other setting names the hosts of the URLs in its value.
//
// # Risk
//
// risk classifies the uses of a program, row by row:
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
// The class (safe, moderate, high, forbidden) follows " : ", and the reason
// follows a comma. Without one the reason is read-only, mutating operation or,
// for high and forbidden, destructive operation. The conditions come first:
// subcommand paths, of which one must match ("get config/view */describe-*",
// where * is any text of a segment), then conditions of which all must hold:
// "-f|--force" an option in one of its spellings, "+1" a minimum number of
// operands, "+0" no operand, "+" an option that begins with it, "@x*" an operand of
// that form, "!destroys" a word that is an SQL statement that removes data. Options in
// parentheses at the end are permitted although the entry does not list them. Of the
// rows that match, those with the longest path apply, and of these the first. The last
// row has no conditions.
//
// A string instead of the list is a single row, or the name of a group that has
// the rows. Every built-in program states its risk; "unknown" means that it is
// unknown on purpose and a person is asked. Programs of a policy do not have
// the key.
//
// # Secrets
//
// secrets describes where in the arguments there is a secret that no name
// indicates:
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

	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
)

// Book holds the contents of all files.
type Book struct {
	programs   []*Entry
	groups     map[string]*Entry
	registries []*Registry
}

// Entry is a table: a program, a subcommand or a group of options.
type Entry struct {
	Names   []string // the main name first
	Path    []string // names of the subcommands down to this one
	Options []Option
	Shared  []*Entry // the groups that it includes
	Like    string   // the section that says how the words are read, "" for this one
	Subs    []*Entry
	Risk    []Row    // nil if unknown
	Is      []string // words of Facts
	Secrets []Secret

	Settings []Setting  // the forms in which the program is told a setting
	Equal    [][]string // words that mean the same as operands or values

	// Lists are the plain lists by the names of their fields in package program, in lower
	// case.
	Lists map[string][]string

	also   []Alias
	alike  [][]string // other subcommands with the same arguments, each with its synonyms
	keys   map[string]any
	said   []string // the keys that are set in the file, other than options and sub
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

// Place formats the position of a key of a table, or of the table itself if key
// is "". For an item of a list, key is like options[2] and text is the item.
type Place func(table []string, key, text string) string

// where is a table and its position.
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
		if name == registryTable {
			if err := c.readRegistries(w, table); err != nil {
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
			if key != "options" && key != "use" && key != "risk" && key != "equal" {
				return w.errorf(key, "a group has options, use, equal and risk only, not %s", key)
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
	e := &Entry{where: w, Names: []string{name}, Path: path, Lists: map[string][]string{}, keys: map[string]any{}}
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

// key parses one key of a table.
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
	case "settings":
		return e.readSettings(value)
	case "harmless", "gets", "makes", "prints", "aside", "offline":
		if len(e.Path) > 0 && (key == "makes" || key == "prints") {
			return e.where.errorf(key, "%s is about the program, not a subcommand", key)
		}
		list, err := e.words(key, value)
		e.Lists[key] = list
		return err
	case "variables":
		return e.readVariables(value)
	case "hosted":
		return e.readHosted(value)
	case "also":
		return e.readAlso(value)
	case "names":
		more, err := e.words(key, value)
		e.Names = append(e.Names, more...)
		return err
	case "alike":
		return e.readAlike(value)
	case "equal":
		return e.readEqual(value)
	}
	check, ok := keys[key]
	if !ok {
		hint := ""
		if near := spelling.Nearest(key, maps.Keys(keys)); near != "" {
			hint = " (did you mean " + near + "?)"
		}
		return e.where.errorf(key, "unknown key %s%s", key, hint)
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

// readVariables parses the key variables.
func (e *Entry) readVariables(value any) error {
	list, err := e.words("variables", value)
	if err != nil {
		return err
	}
	for i, text := range list {
		name, harmless := strings.CutSuffix(text, " : harmless")
		switch {
		case len(e.Path) > 0 || !variableName.MatchString(name) || slices.Contains(list[:i], text):
			return e.where.fault(fmt.Sprintf("variables[%d]", i), text, fmt.Sprintf("variable %q: write the name of a variable of the program, once, with * for any text", text))
		case harmless:
			e.Lists["ignored"] = append(e.Lists["ignored"], name)
		default:
			e.Lists["variables"] = append(e.Lists["variables"], name)
		}
	}
	return nil
}

var variableName = lazyregexp.New(`^[A-Za-z_0-9]*\*?[A-Za-z_0-9]*$`)

// forms are the forms in which a word begins with a host, for the key hosted.
var forms = []string{"host", "image", "module", "package", "repository", "version"}

// readHosted parses the key hosted.
func (e *Entry) readHosted(value any) error {
	list, err := e.words("hosted", value)
	if err != nil {
		return err
	}
	for i, text := range list {
		form, name, has := strings.Cut(text, " ")
		if !slices.Contains(forms, form) || has && !optionName.MatchString(name) {
			return e.where.fault(fmt.Sprintf("hosted[%d]", i), text, fmt.Sprintf("hosted %q: write one of %s, and an option if it is about that", text, strings.Join(forms, ", ")))
		}
	}
	e.Lists["hosted"] = list
	return nil
}

// readFacts parses the key is.
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

// A name begins with a dash or a plus sign or is a colon, which begins the word of the
// option; it contains no blank, and is written without the suffix for its value.
var optionName = lazyregexp.New(`^(-[^-\s=]|--?[^-\s=?][^\s=?]*|\+[^\s=?]*|:)$`)

// parseOption parses "-o --output= : write"; the second result is the error.
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

// cutWord removes a word from the end of a text; "pattern" alone is an effect,
// not a suffix.
func cutWord(text, word string) (string, bool) {
	if text == "ends" && word == "ends" {
		return "", true
	}
	return strings.CutSuffix(text, " "+word)
}

// cutSuffix splits a name from the suffix for its value.
func cutSuffix(word string) (name, suffix string) {
	for _, s := range []string{"==", "=", "?"} {
		if name, ok := strings.CutSuffix(word, s); ok && name != "-" {
			return name, s
		}
	}
	return word, ""
}

// sub returns the position of a table inside this one.
func (w where) sub(names ...string) where {
	w.table = append(slices.Clone(w.table), names...)
	return w
}

// at formats the position of the table.
func (w where) at() string { return w.place(w.table, "", "") }

// errorf returns an error at a key, or at the table if key is "".
func (w where) errorf(key, format string, args ...any) error {
	return w.fault(key, "", fmt.Sprintf(format, args...))
}

func (w where) fault(key, text, what string) error {
	return fmt.Errorf("%s: [%s]: %s", w.place(w.table, key, text), strings.Join(w.table, "."), what)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
