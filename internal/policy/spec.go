// Package policy parses policies as people write them and compiles them for
// package permission. It also runs the tests of a policy: tables of tool uses
// with the decision that each should get.
//
// A policy file, agent-wrapper.toml, may have these keys, all optional:
//
//	mode = "default"          # acceptEdits, plan, dontAsk, bypassPermissions
//	allow = ["Bash(git status)", "Read"]
//	ask = ["Bash(git push:*)"]
//	deny = ["Read(.env)"]
//	approved = ["Bash(make)"] # what a person said "always" to
//	unlisted = "ask"          # what the allow list does not name: ask, deny, risk
//	risk = "on"               # off: no tiers
//	profile = "default"       # terminal: power commands and services are asked about
//	sensitive_paths = "ask"   # note: to read a sensitive path is tier 1
//	inline_code = "off"       # as-files: python3 -c "…" needs the rule that python3 x.py needs
//	advice = "on"             # off: a person is asked about what could be said plainly too
//	sandbox = "off"           # on: the kernel holds commands to the policy (Linux)
//	catastrophic = "on"       # off: rm -rf / is a command like any other
//	whitelist = "ci/allowed-commands.json" # binds commands too; beside this file
//	whitelist_bypass = "on"   # off: no run lifts a whitelist; a managed policy only
//	protect = ["Makefile", "deploy/prod", "~/notes"] # held, unless a rule names them
//
//	[reads]                   # what may be read outside the workspace
//	public = ["~/notes/**"]   # besides system files and caches of packages
//	[limits]                  # of a session, with its subagents
//	denials_in_a_row = 20
//	questions_an_hour = 60
//	tool_uses = 500
//	then = "ask"              # what is done about the next tool use: ask, pause, end
//	[limits.sandbox]          # of a command inside the sandbox
//	memory_mb = 4096          # the data of each process, in MiB
//	processes = 500
//	timeout_seconds = 600
//	role = "chat"             # of the agent: chat, automation, system, admin, or one of yours
//	[risks]                   # what is answered by risk where no rule names it
//	safe = "allow"            # or ask
//	moderate = "ask"          # or allow, deny
//	high = "ask"              # or deny
//	[roles.automation]        # the same, for a role
//	moderate = "allow"
//
//	[approvals]               # of questions; of several policies the strictest count
//	timeout_seconds = 600     # what nobody answers is denied
//	people = ["anna", "ben"]  # who may answer, never who asks
//	[approvals.quorum]        # how many of them have to approve, by risk
//	high = 2
//	[escalation]              # what is notified when an agent is paused
//	command = ["notify-send", "an agent is paused"] # the alert is its input
//	webhook = "https://chat.example.com/hook"       # gets the alert, as JSON
//	[notify]                  # of a question that waits, see package notify
//	after = "30s"             # how long it has waited
//	bell = true               # of the terminal that asks
//	desktop = true
//	command = ["tell-me"]     # the notice is its input, as JSON
//	webhook = "https://chat.example.com/me" # gets the notice, as JSON
//
//	[[rules]]                 # granular rules, in order
//	tools = ["Bash"]
//	paths = ["src/**"]        # path globs, as in Read(...)
//	commands = ["rm"]         # names of programs
//	patterns = ["^rm .*-r"]   # RE2, on the words of each simple command
//	domains = ["*.evil.com"]  # hosts, as in WebFetch(...)
//	action = "deny"           # allow, ask, deny
//	message = "use trash"     # for the model
//	match = ["Bash(rm -r x)"] # tool uses that the rule must match
//	not_match = ["Bash(ls)"]  # and tool uses that it must not match
//
//	[[risk_overrides]]        # the risk of actions, in place of the tables'
//	pattern = "kubectl delete:*" # a command, as in Bash(...)
//	path = "/srv/**"          # what is read or written, as in Edit(...)
//	risk = "forbidden"        # safe, moderate, high, forbidden
//	reason = "production"     # for people
//
//	[programs.deploy]         # what a program of yours does: see catalogfile
//	operands = "reads"
//	options = ["-o --output= : write", "--hook= : run"]
//
//	[tools.run_shell]         # what the fields of a tool's input mean: see tools.Mapping
//	command = "cmd"           # rules for Bash see it; the tool needs its own rule as well
//	text = ["timeout"]        # a field that is not named here is asked about
//
//	[tools.mcp__fs]           # the tools of an MCP server, by a ready table
//	like = "filesystem"
//
// Keys are case-sensitive. An unknown or repeated key or an invalid value is an
// error with its place, which prevents the policy from loading. All errors are
// reported.
package policy

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// FileName is the conventional name of a policy file.
const FileName = "agent-wrapper.toml"

// Spec is the parsed but uncompiled form of a policy. The zero value is a
// policy without rules in mode default.
type Spec struct {
	Mode                                        string
	Allow, Ask, Deny, SessionAllow, SessionDeny []Item
	// Approved lists the rules to which a person answered "always". The session
	// allows them from the start.
	Approved []Item
	// Protect lists paths that are protected as .git is: see
	// permission.ParseProtected for their form.
	Protect []Item
	// Reads lists patterns, as in Read(...), of what a command that only its risk
	// lets through, and the Read tool, may read outside the workspace.
	Reads                        []Item
	Unlisted, Risk, Catastrophic string
	Rules                        []RuleSpec
	Programs                     []TableSpec // by name
	Tools                        []TableSpec // by name
	// Mapped describes further tools, for Go programs: no file has them, and an entry of
	// Tools replaces the one of the same name.
	Mapped map[string]tools.Mapping
	// Whitelists lists files that restrict commands further (package whitelist),
	// as written: relative to the file that names them.
	Whitelists []Item
	Escalation EscalationSpec
	Notify     NotifySpec
	Limits     LimitsSpec
	// Role is that of the agent; Roles says what further ones may do, or what is built in
	// says otherwise. Risks answers by risk for all of them.
	Role  string
	Roles []RoleSpec
	Risks RisksSpec
	// Approvals says what the answers to questions must meet.
	Approvals ApprovalsSpec
	// WhitelistBypass is "off" if no run may lift a whitelist.
	WhitelistBypass string
	// Profile names the risk tables. SensitivePaths determines whether reading a
	// sensitive path is only noted.
	Profile, SensitivePaths string
	// Advice is "off" if the agent is never told how to say plainly what is not
	// proven, but a person is asked.
	Advice string
	// Sandbox is "on" if the kernel holds the agent's commands to the policy where it can,
	// "require" if none runs without that.
	Sandbox string
	// InlineCode tells whether code in a command line counts as a file.
	InlineCode    string
	RiskOverrides []OverrideSpec

	// Gate is a second allow list, which must allow an action in addition to
	// Allow.
	Gate []Item
	// Further lists policies that are evaluated as well; the strictest decision
	// counts (see permission.Policy).
	Further []*Spec

	// ownMode says that the mode is one that a managed source narrows to, or an untrusted
	// one: a session may not replace it.
	ownMode bool
	// places holds the place of each setting that is not a list, by its key.
	places map[string]patterns.Source
	// packed has Allow, Ask, Deny and Gate of a compiled policy.
	packed *packed
}

// TableSpec is the entry of one program or of one tool.
type TableSpec struct {
	Name   string
	Source patterns.Source

	section string // "programs", "tools"
	table   map[string]any
	places  map[string]patterns.Source
}

// Item is one rule of a list, Tool or Tool(specifier).
type Item struct {
	Text   string
	Source patterns.Source
}

// RuleSpec is one granular rule. All conditions that are given must hold.
type RuleSpec struct {
	Tools, Paths, Commands, Patterns, Domains []string
	Action                                    string // allow, ask or deny
	Message                                   string
	// Match lists tool uses that the rule must match, NotMatch those that it must
	// not: "Bash(rm -r x)", or only "rm -r x" if Tools is a single tool.
	Match, NotMatch []Item
	Source          patterns.Source
}

// ReadFile reads a policy file.
func ReadFile(path string) (*Spec, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	return Parse(data, path)
}

// readFile reads a file, at most one byte more than may be parsed.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}

// readAll reads at most one byte more than may be parsed.
func readAll(f io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(f, stricttoml.MaxSize+1))
}

// Parse parses the text of a policy file. The name appears in errors and in the
// sources of rules.
func Parse(data []byte, name string) (*Spec, error) {
	var t table
	lines, err := stricttoml.Decode(data, name, &t)
	if err != nil {
		return nil, err
	}
	return t.placed(lines, name), nil
}

// placed returns the policy of a table whose values stand in a file.
func (t *table) placed(lines stricttoml.Lines, name string) *Spec {
	return t.spec(func(path string) patterns.Source { return source(name, lines[path]) })
}

// Add adds the rules of other to s. A setting that other has replaces that of
// s.
func (s *Spec) Add(other *Spec) {
	s.Allow = append(s.Allow, other.Allow...)
	s.Ask = append(s.Ask, other.Ask...)
	s.Deny = append(s.Deny, other.Deny...)
	s.SessionAllow = append(s.SessionAllow, other.SessionAllow...)
	s.SessionDeny = append(s.SessionDeny, other.SessionDeny...)
	s.Approved = append(s.Approved, other.Approved...)
	s.Protect = append(s.Protect, other.Protect...)
	s.Reads = append(s.Reads, other.Reads...)
	s.Rules = append(s.Rules, other.Rules...)
	s.Programs = withTables(s.Programs, other.Programs)
	s.Tools = withTables(s.Tools, other.Tools)
	s.Mapped = withMapped(s.Mapped, other.Mapped)
	s.Whitelists = append(s.Whitelists, other.Whitelists...)
	s.RiskOverrides = append(s.RiskOverrides, other.RiskOverrides...)
	if other.Escalation.given() {
		s.Escalation = other.Escalation
	}
	if other.Notify.given() {
		s.Notify = other.Notify
	}
	s.Limits.narrow(&other.Limits)
	s.Approvals.narrow(&other.Approvals)
	s.Risks.narrow(&other.Risks)
	s.Roles = withRoles(s.Roles, other.Roles)
	for key, setting := range s.settings() {
		value, given := *other.settings()[key], other.places[key]
		if value != "" || given.Line > 0 {
			*setting = value
			s.place(key, given)
		}
	}
}

// withTables returns the entries of both. Of two entries for the same program
// or tool it keeps the second.
func withTables(old, more []TableSpec) []TableSpec {
	var list []TableSpec
	for _, p := range old {
		if !slices.ContainsFunc(more, func(m TableSpec) bool { return m.Name == p.Name }) {
			list = append(list, p)
		}
	}
	return append(list, more...)
}

func withMapped(old, more map[string]tools.Mapping) map[string]tools.Mapping {
	if len(more) == 0 {
		return old
	}
	all := maps.Clone(more)
	for name, m := range old {
		if _, is := all[name]; !is {
			all[name] = m
		}
	}
	return all
}

// settings returns pointers to the settings that have a single value.
func (s *Spec) settings() map[string]*string {
	return map[string]*string{
		"mode": &s.Mode, "unlisted": &s.Unlisted, "risk": &s.Risk, "profile": &s.Profile, "sensitive_paths": &s.SensitivePaths,
		"catastrophic": &s.Catastrophic, "whitelist_bypass": &s.WhitelistBypass, "advice": &s.Advice,
		"inline_code": &s.InlineCode, "sandbox": &s.Sandbox, "role": &s.Role,
	}
}

func (s *Spec) place(key string, at patterns.Source) {
	if s.places == nil {
		s.places = map[string]patterns.Source{}
	}
	s.places[key] = at
}

// table is the form of a policy in a file; in tests and rows it also has the
// rules of the session.
type table struct {
	Mode         string      `toml:"mode" json:"mode"`
	Allow        []string    `toml:"allow" json:"allow"`
	Ask          []string    `toml:"ask" json:"ask"`
	Deny         []string    `toml:"deny" json:"deny"`
	Approved     []string    `toml:"approved" json:"-"`
	Protect      []string    `toml:"protect" json:"protect"`
	Unlisted     string      `toml:"unlisted" json:"unlisted"`
	Risk         string      `toml:"risk" json:"risk"`
	Catastrophic string      `toml:"catastrophic" json:"catastrophic"`
	Rules        []ruleTable `toml:"rules" json:"rules"`
	// Programs holds tables in the form of package catalogfile, which parses them.
	Programs map[string]map[string]any `toml:"programs" json:"-"`
	// Tools holds tables in the form of toolKeys.
	Tools           map[string]map[string]any `toml:"tools" json:"-"`
	Whitelist       string                    `toml:"whitelist" json:"-"`
	Escalation      escalationTable           `toml:"escalation" json:"-"`
	Notify          notifyTable               `toml:"notify" json:"-"`
	Limits          limitsTable               `toml:"limits" json:"-"`
	WhitelistBypass string                    `toml:"whitelist_bypass" json:"-"`
	Profile         string                    `toml:"profile" json:"profile"`
	SensitivePaths  string                    `toml:"sensitive_paths" json:"sensitive_paths"`
	Advice          string                    `toml:"advice" json:"advice"`
	Sandbox         string                    `toml:"sandbox" json:"sandbox"`
	InlineCode      string                    `toml:"inline_code" json:"inline_code"`
	RiskOverrides   []overrideTable           `toml:"risk_overrides" json:"risk_overrides"`
	Reads           readsTable                `toml:"reads" json:"reads"`
	Approvals       approvalsTable            `toml:"approvals" json:"-"`
	Role            string                    `toml:"role" json:"-"`
	Risks           risksTable                `toml:"risks" json:"-"`
	Roles           map[string]risksTable     `toml:"roles" json:"-"`
}

type readsTable struct {
	Public []string `toml:"public" json:"public"`
}

type limitsTable struct {
	DenialsInARow   int    `toml:"denials_in_a_row" json:"-"`
	QuestionsAnHour int    `toml:"questions_an_hour" json:"-"`
	ToolUses        int    `toml:"tool_uses" json:"-"`
	Then            string `toml:"then" json:"-"`

	Sandbox sandboxLimits `toml:"sandbox" json:"-"`
}

type sandboxLimits struct {
	MemoryMB       int `toml:"memory_mb" json:"-"`
	Processes      int `toml:"processes" json:"-"`
	TimeoutSeconds int `toml:"timeout_seconds" json:"-"`
}

type overrideTable struct {
	Pattern string `toml:"pattern" json:"pattern"`
	Path    string `toml:"path" json:"path"`
	Risk    string `toml:"risk" json:"risk"`
	Reason  string `toml:"reason" json:"reason"`
}

type escalationTable struct {
	Command []string `toml:"command" json:"-"`
	Webhook string   `toml:"webhook" json:"-"`
}

// sessionTable is a table with the rules of a session, which are not permitted
// in a file.
type sessionTable struct {
	table
	SessionAllow []string `toml:"session_allow" json:"session_allow"`
	SessionDeny  []string `toml:"session_deny" json:"session_deny"`
}

type ruleTable struct {
	Tools    []string `toml:"tools" json:"tools"`
	Paths    []string `toml:"paths" json:"paths"`
	Commands []string `toml:"commands" json:"commands"`
	Patterns []string `toml:"patterns" json:"patterns"`
	Domains  []string `toml:"domains" json:"domains"`
	Action   string   `toml:"action" json:"action"`
	Message  string   `toml:"message" json:"message"`
	Match    []string `toml:"match" json:"match"`
	NotMatch []string `toml:"not_match" json:"not_match"`
}

// spec converts a table to a Spec; place returns the place of the value at a
// path.
func (t *table) spec(place func(path string) patterns.Source) *Spec {
	s := &Spec{
		Mode: t.Mode, Unlisted: t.Unlisted, Risk: t.Risk, Catastrophic: t.Catastrophic, WhitelistBypass: t.WhitelistBypass,
		Allow: items(t.Allow, "allow", place), Ask: items(t.Ask, "ask", place), Deny: items(t.Deny, "deny", place),
		Approved: items(t.Approved, "approved", place), Protect: items(t.Protect, "protect", place), Reads: items(t.Reads.Public, "reads.public", place),
		Profile: t.Profile, SensitivePaths: t.SensitivePaths, Advice: t.Advice, InlineCode: t.InlineCode, Sandbox: t.Sandbox,
	}
	s.Programs = tableSpecs("programs", t.Programs, place)
	s.Tools = tableSpecs("tools", t.Tools, place)
	if at := place("whitelist"); t.Whitelist != "" || at.Line > 0 {
		s.Whitelists = []Item{{Text: t.Whitelist, Source: at}}
	}
	if at := place("escalation"); at.Line > 0 {
		s.Escalation = EscalationSpec{Command: t.Escalation.Command, Webhook: t.Escalation.Webhook, Source: at}
	}
	s.Notify = t.Notify.spec(place)
	s.Limits = t.Limits.spec(place)
	s.Approvals = t.Approvals.spec(place)
	s.Role, s.Risks, s.Roles = t.Role, t.Risks.spec("risks", place), roleSpecs(t.Roles, place)
	for key := range s.settings() {
		if at := place(key); at.Line > 0 {
			s.place(key, at)
		}
	}
	for i, r := range t.Rules {
		s.Rules = append(s.Rules, r.spec(fmt.Sprintf("rules[%d]", i), place))
	}
	for i, o := range t.RiskOverrides {
		s.RiskOverrides = append(s.RiskOverrides, o.spec(fmt.Sprintf("risk_overrides[%d]", i), place))
	}
	return s
}

// tableSpecs returns the entries of a section with the places of all their
// values.
func tableSpecs(section string, tables map[string]map[string]any, place func(path string) patterns.Source) []TableSpec {
	var list []TableSpec
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		p := TableSpec{Name: name, section: section, table: tables[name], places: map[string]patterns.Source{}}
		p.locate(stricttoml.Path(section, name), tables[name], place)
		p.Source = p.places[stricttoml.Path(section, name)]
		list = append(list, p)
	}
	return list
}

func (p *TableSpec) locate(path string, value any, place func(path string) patterns.Source) {
	p.places[path] = place(path)
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			p.locate(path+"."+stricttoml.Path(key), v, place)
		}
	case []any:
		for i, v := range value {
			p.locate(fmt.Sprintf("%s[%d]", path, i), v, place)
		}
	}
}

func (t *sessionTable) spec(place func(path string) patterns.Source) *Spec {
	s := t.table.spec(place)
	s.SessionAllow = items(t.SessionAllow, "session_allow", place)
	s.SessionDeny = items(t.SessionDeny, "session_deny", place)
	return s
}

func (r ruleTable) spec(path string, place func(string) patterns.Source) RuleSpec {
	return RuleSpec{
		Tools: r.Tools, Paths: r.Paths, Commands: r.Commands, Patterns: r.Patterns, Domains: r.Domains,
		Action: r.Action, Message: r.Message, Source: place(path),
		Match: items(r.Match, path+".match", place), NotMatch: items(r.NotMatch, path+".not_match", place),
	}
}

// items returns the rules of a list with their places. The place of a string is
// its opening quote; the rule begins after it.
func items(texts []string, key string, place func(string) patterns.Source) []Item {
	var list []Item
	for i, text := range texts {
		at := place(fmt.Sprintf("%s[%d]", key, i))
		if at.Col > 0 {
			at.Col++
		}
		list = append(list, Item{Text: text, Source: at})
	}
	return list
}

// oneOf returns an error unless a setting is empty or has one of the values.
func (s *Spec) oneOf(key string, values ...string) error {
	value, given := *s.settings()[key], s.places[key].Line > 0
	if value == "" && !given || slices.Contains(values, value) {
		return nil
	}
	return s.fault(key, fmt.Errorf("%s is %q: write %s", key, value, orList(values)))
}

// fault returns an error about a setting with its place.
func (s *Spec) fault(key string, err error) error {
	return at(s.places[key], err)
}

// placed returns a place as file:line:col.
func placed(at patterns.Source) string {
	if at.Line == 0 {
		return at.Name
	}
	return fmt.Sprintf("%s:%d:%d", at.Name, at.Line, at.Col)
}

// at puts a place before an error.
func at(place patterns.Source, err error) error {
	if place.Name == "" {
		return err
	}
	return &placedError{place, err}
}

// placedError is an error with its place.
type placedError struct {
	place patterns.Source
	err   error
}

func (e *placedError) Error() string {
	if e.place.Line == 0 {
		return fmt.Sprintf("%s: %v", e.place.Name, e.err)
	}
	return fmt.Sprintf("%s:%d:%d: %v", e.place.Name, e.place.Line, e.place.Col, e.err)
}

func (e *placedError) Unwrap() error { return e.err }

func orList(values []string) string {
	text := ""
	for i, v := range values {
		switch {
		case i == 0:
		case i == len(values)-1:
			text += " or "
		default:
			text += ", "
		}
		text += v
	}
	return text
}
