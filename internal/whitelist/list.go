package whitelist

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
)

// FileName is the default path of a whitelist, relative to the workspace.
const FileName = ".smartergpt/allowed-commands.json"

// The version that a file must have, and the modes.
const (
	fileVersion = "1.0.0"
	strict      = "strict"
	permissive  = "permissive"
)

// maxFile is the maximum size of a file in bytes.
const maxFile = 1 << 20

// file is the JSON form of a whitelist. Schema derives from these types.
type file struct {
	Schema   string            `json:"$schema"`
	Version  *string           `json:"version"`
	Mode     *string           `json:"mode"`
	Defaults map[string]listed `json:"defaults"`
	Custom   map[string]custom `json:"custom"`
	Off      off               `json:"off"`
	Policy   settings          `json:"policy"`
}

// off holds entries that are checked like the others and let nothing pass.
type off struct {
	Defaults map[string]listed `json:"defaults"`
	Custom   map[string]custom `json:"custom"`
}

type listed struct {
	Commands    []string `json:"commands"`
	Bare        bool     `json:"allow_bare"`
	AllowArgs   []string `json:"allow_args"`
	DenyArgs    []string `json:"deny_args"`
	Positionals *bool    `json:"allow_positionals"`
}

type custom struct {
	Binary      *string  `json:"binary"`
	AllowArgs   []string `json:"allow_args"`
	DenyArgs    []string `json:"deny_args"`
	Positionals *bool    `json:"allow_positionals"`
}

type settings struct {
	Operators *bool     `json:"allow_shell_operators"`
	EnvVars   *[]string `json:"allow_env_vars"`
	MaxLength *int      `json:"max_command_length"`
	Threshold *int      `json:"hallucination_threshold"`
	DryRun    *bool     `json:"dry_run_mode"`
}

// List is a parsed whitelist. It is immutable.
type List struct {
	name     string
	strict   bool
	items    map[string]*item // by listed name
	binaries map[string]*item // custom entries by their binary
	off      []*item          // entries that let nothing pass
	policy   Policy
	names    []string // sorted
}

// Policy holds the settings of a whitelist.
type Policy struct {
	AllowShellOperators    bool
	AllowEnvVars           []string
	MaxCommandLength       int // bytes
	HallucinationThreshold int // refusals after which the agent is paused
	DryRunMode             bool
}

// item is one program of the list.
type item struct {
	name    string
	binary  string     // of a custom entry: what runs instead of the name
	phrases [][]string // longest first; nil in a custom entry
	allow   []argument
	deny    []argument
	bare    bool // of defaults: a command without a phrase is allowed too
	// positionals says whether words that are not options pass; nil if the file
	// does not say.
	positionals *bool
}

// Read reads the whitelist at path. The error for a missing file is
// fs.ErrNotExist.
func Read(path string) (*List, error) {
	switch info, err := os.Stat(path); {
	case err != nil: // reported below
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a whitelist", visible.Line(path))
	case !info.Mode().IsRegular() || info.Size() > maxFile:
		return nil, fmt.Errorf("%s is not a regular file, or is larger than %d bytes", visible.Line(path), maxFile)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// Parse parses a whitelist. Errors have the form "name:line:col: key: what".
func Parse(data []byte, name string) (*List, error) {
	name = visible.Line(name)
	var f file
	if err := strictjson.Decode(data, &f, strictjson.Aside("$schema", "$comment"), strictjson.NoNull, strictjson.MaxSize(maxFile)); err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	places, _ := strictjson.Positions(data) // Decode has accepted data as well-formed
	c := checker{name: name, places: places}
	l := c.list(&f)
	if err := c.err(); err != nil {
		return nil, err
	}
	return l, nil
}

// Name returns the name of the file that the list was read from.
func (l *List) Name() string { return l.name }

// elsewhere returns the file of a list that is not in the default place, "" for
// one that is, and for the built-in list.
func (l *List) elsewhere() string {
	if l == nil || l == BuiltIn() || strings.HasSuffix("/"+filepath.ToSlash(l.name), "/"+FileName) {
		return ""
	}
	return l.name
}

// Programs returns the number of listed programs.
func (l *List) Programs() int { return len(l.names) }

// Strict reports whether the list refuses what is not listed, rather than leave it
// to a person.
func (l *List) Strict() bool { return l.strict }

// Policy returns the settings of the list.
func (l *List) Policy() Policy {
	p := l.policy
	p.AllowEnvVars = slices.Clone(p.AllowEnvVars)
	return p
}

// builtIn is the list that applies if there is no file.
const builtIn = `{"version": "1.0.0", "mode": "strict",
 "defaults": {
  "npm": {"commands": ["test", "run build", "run lint"], "allow_args": [], "deny_args": []},
  "git": {"commands": ["status", "diff"], "allow_args": [], "deny_args": []}}}`

var parseBuiltIn = sync.OnceValues(func() (*List, error) { return Parse([]byte(builtIn), "the built-in whitelist") })

// BuiltIn returns the list that applies if there is no file. It is strict and
// lists npm test, npm run build, npm run lint, git status and git diff, without
// further arguments.
func BuiltIn() *List {
	l, _ := parseBuiltIn() // a test holds that it parses; a nil list refuses every line
	return l
}

// checker collects the errors of a file.
type checker struct {
	name   string
	places map[string]strictjson.Position
	faults []placed
}

type placed struct {
	at   strictjson.Position
	text string
}

func (c *checker) fault(path, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	c.faults = append(c.faults, placed{c.places[path], text})
}

// err returns all errors, in the order of the file.
func (c *checker) err() error {
	slices.SortStableFunc(c.faults, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.at.Line, b.at.Line), cmp.Compare(a.at.Col, b.at.Col), strings.Compare(a.text, b.text))
	})
	var errs []error
	for _, f := range c.faults {
		errs = append(errs, fmt.Errorf("%s:%d:%d: %s", c.name, f.at.Line, f.at.Col, f.text))
	}
	return errors.Join(errs...)
}

func (c *checker) list(f *file) *List {
	l := &List{name: c.name, items: map[string]*item{}, binaries: map[string]*item{}}
	switch {
	case f.Version == nil:
		c.fault("", "version is missing: use %q", fileVersion)
	case *f.Version != fileVersion:
		c.fault("version", "%s is not a known version: use %q", quoted(*f.Version), fileVersion)
	}
	switch {
	case f.Mode == nil:
		c.fault("", `mode is missing: use "strict" or "permissive"`)
	case *f.Mode != strict && *f.Mode != permissive:
		c.fault("mode", `%s is not a mode: use "strict" or "permissive"`, quoted(*f.Mode))
	default:
		l.strict = *f.Mode == strict
	}
	for name, p := range f.Defaults {
		l.add(c.program(strictjson.Member("defaults", name), name, p))
	}
	for name, p := range f.Custom {
		path := strictjson.Member("custom", name)
		if l.items[name] != nil {
			c.fault(path, "is also in defaults: remove one of them")
		}
		l.custom(c, path, c.custom(path, name, p))
	}
	slices.Sort(l.names)
	for name, p := range f.Off.Defaults {
		path := strictjson.Member("off.defaults", name)
		l.off = append(l.off, c.program(path, name, p))
	}
	for name, p := range f.Off.Custom {
		l.off = append(l.off, c.custom(strictjson.Member("off.custom", name), name, p))
	}
	l.policy = c.policy(f.Policy)
	return l
}

func (l *List) add(e *item) {
	l.items[e.name] = e
	l.names = append(l.names, e.name)
}

func (l *List) custom(c *checker, path string, e *item) {
	if other := l.binaries[e.binary]; other != nil {
		c.fault(path+".binary", "%s is also the binary of %s: use one name for each", quoted(e.binary), quoted(min(e.name, other.name)))
	}
	l.add(e)
	l.binaries[e.binary] = e
}

func (c *checker) program(path, name string, p listed) *item {
	c.programName(path, name)
	e := &item{name: name, bare: p.Bare, positionals: p.Positionals, allow: c.arguments(path+".allow_args", p.AllowArgs, true), deny: c.arguments(path+".deny_args", p.DenyArgs, false)}
	if len(p.Commands) == 0 {
		c.fault(path, "commands is missing or empty: list the subcommands, or move the program to custom")
	}
	for i, phrase := range p.Commands {
		e.phrases = append(e.phrases, c.phrase(fmt.Sprintf("%s.commands[%d]", path, i), phrase, p.Commands[:i]))
	}
	slices.SortStableFunc(e.phrases, func(a, b []string) int { return cmp.Compare(len(b), len(a)) })
	return e
}

func (c *checker) custom(path, name string, p custom) *item {
	c.programName(path, name)
	if strings.Contains(name, "/") {
		c.fault(path, "a name cannot contain /: put the path in binary")
	}
	e := &item{name: name, positionals: p.Positionals, allow: c.arguments(path+".allow_args", p.AllowArgs, true), deny: c.arguments(path+".deny_args", p.DenyArgs, false)}
	switch {
	case p.Binary == nil:
		c.fault(path, "binary is missing: give the path of the program, or its name on PATH")
	case *p.Binary == "" || strings.HasSuffix(*p.Binary, "/") || strings.ContainsFunc(*p.Binary, control):
		c.fault(path+".binary", "%s is not the path of a program", quoted(*p.Binary))
	default:
		e.binary = *p.Binary
	}
	return e
}

// programName rejects names that cannot be the first word of a command, or that
// were meant as something else.
func (c *checker) programName(path, name string) {
	if name == "" || strings.HasSuffix(name, "/") || strings.ContainsAny(name, " *=") || name[0] == '-' || strings.ContainsFunc(name, control) {
		c.fault(path, "%s is not a program name: use the first word of the command, as it is typed", quoted(name))
	}
}

func (c *checker) phrase(path, text string, before []string) []string {
	words := strings.Fields(text)
	switch {
	case len(words) == 0:
		c.fault(path, "empty: give the words after the program, such as run build")
	case strings.ContainsFunc(text, control):
		c.fault(path, "%s contains a control character", quoted(text))
	case strings.Contains(text, "*"):
		c.fault(path, "%s: commands are compared word by word, and * has no special meaning", quoted(text))
	case slices.ContainsFunc(before, func(b string) bool { return slices.Equal(strings.Fields(b), words) }):
		c.fault(path, "%s appears twice", quoted(text))
	}
	return words
}

func (c *checker) arguments(path string, texts []string, allow bool) []argument {
	var out []argument
	for i, text := range texts {
		arg, why := newArgument(text)
		if why == "" && allow && (strings.HasPrefix(arg.word, "-*") || strings.HasPrefix(arg.word, "--*")) {
			why = "would allow every option: list the ones to allow"
		}
		if why != "" {
			c.fault(fmt.Sprintf("%s[%d]", path, i), "%s %s", quoted(text), why)
		}
		out = append(out, arg)
	}
	return out
}

// The defaults of the settings.
const (
	defaultLength    = 500
	defaultThreshold = 3
)

func (c *checker) policy(s settings) Policy {
	p := Policy{AllowEnvVars: []string{"NODE_ENV", "CI"}, MaxCommandLength: defaultLength, HallucinationThreshold: defaultThreshold}
	p.AllowShellOperators = s.Operators != nil && *s.Operators
	p.DryRunMode = s.DryRun != nil && *s.DryRun
	if s.EnvVars != nil {
		p.AllowEnvVars = *s.EnvVars
	}
	for i, name := range p.AllowEnvVars {
		if !variable(name) {
			c.fault(fmt.Sprintf("policy.allow_env_vars[%d]", i), "%s is not a variable name", quoted(name))
		}
	}
	if s.MaxLength != nil {
		p.MaxCommandLength = *s.MaxLength
	}
	if p.MaxCommandLength < 1 || p.MaxCommandLength > shell.MaxLine {
		c.fault("policy.max_command_length", "must be 1 to %d bytes", shell.MaxLine)
	}
	if s.Threshold != nil {
		p.HallucinationThreshold = *s.Threshold
	}
	if p.HallucinationThreshold < 1 {
		c.fault("policy.hallucination_threshold", "must be at least 1")
	}
	return p
}

// variable reports whether name is a valid name of a shell variable.
func variable(name string) bool {
	for i, r := range name {
		letter := r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func quoted(text string) string { return visible.Line(fmt.Sprintf("%q", text)) }
