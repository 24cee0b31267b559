// Package hostrules reads the permission rules of other agents, and makes a policy of
// them: the settings of Claude Code, the .rules of Codex, the policies of Gemini CLI, the
// permissions of OpenCode and the auto-approve lists of VS Code.
//
// Files are read, never executed, and only what is understood is taken. A policy that is
// made of a host's rules allows nothing that those rules, with what the host documents
// that it allows without one, would not allow. Where the host's rule means more than ours
// can say, ours says less; where a rule that asks or denies cannot be said, something that
// includes it is asked about. Every rule is in the report, with its place: taken,
// tightened or left out, and why.
//
// "The same thing" is what a command does, not how it is spelled: what our rules take as
// the same command (quotes, plain wrappers such as timeout, harmless variables, options
// of a runner that only say where) counts as the same for the host as well.
package hostrules

import (
	"bytes"
	"cmp"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// File is a file of a host.
type File struct {
	Name string // for messages, and to tell the host by
	Path string // absolute, to tell the scope by; "" if it is Name
	Text []byte
}

// Options say what cannot be seen in the files.
type Options struct {
	Host string // the name of a format; "" if the files show it
	Home string // of the user, absolute: what lies there counts for all projects
	// Unlisted is what is written about what no rule allows: "ask", or "risk", with which
	// the policy may allow more than the host.
	Unlisted string
}

// Outcome is what became of a rule.
type Outcome string

// The outcomes.
const (
	Taken     Outcome = "taken"
	Tightened Outcome = "tightened"
	LeftOut   Outcome = "left out"
)

// Rule is what became of a rule of the host.
type Rule struct {
	File    string   `json:"file"`
	Line    int      `json:"line"`
	Col     int      `json:"col"`
	List    string   `json:"list"` // the host's word: "allow", "forbidden"
	Rule    string   `json:"rule"` // as it stands there
	Outcome Outcome  `json:"outcome"`
	Reason  Reason   `json:"reason"`
	Note    string   `json:"note,omitempty"`   // what is particular to this rule
	Became  []string `json:"became,omitempty"` // "allow Bash(git status)"
}

// Place returns the place of the rule as file:line:col.
func (r *Rule) Place() string { return fmt.Sprintf("%s:%d:%d", r.File, r.Line, r.Col) }

// Import is what was made of a host's files.
type Import struct {
	Host  string // as people call it
	Files []string
	Rules []Rule
	Draft policy.Draft // the policy
	Added policy.Draft // what of it is from the host's rules, to be added to another policy
}

// Count returns how many rules have an outcome.
func (i *Import) Count(o Outcome) int {
	n := 0
	for j := range i.Rules {
		if i.Rules[j].Outcome == o {
			n++
		}
	}
	return n
}

// format is what is known of the rules of a host.
type format struct {
	name, about string
	ours        []string // endings of the paths of its files
	project     []string // where they lie in a project
	// has reports whether a file of another name has its rules.
	has func(f *File) bool
	// free is what the host documents that it lets run without a rule, as our rules.
	free []string
	read func(c *collector, files []File) error
}

// The formats, in the order in which a file is tried.
var formats = []format{
	{"claude", "Claude Code", []string{".claude/settings.json", ".claude/settings.local.json", "managed-settings.json"}, []string{".claude/settings.json", ".claude/settings.local.json"}, hasKey("permissions"),
		[]string{"Read(**)", "Bash(ls:*)", "Bash(pwd)", "Bash(echo:*)", "Bash(which:*)"}, readClaude},
	{"codex", "Codex", []string{".rules", ".codexpolicy"}, []string{".codex/rules/*.rules"}, nil,
		[]string{"Read(**)", "Bash(cat:*)", "Bash(echo:*)", "Bash(grep:*)", "Bash(head:*)", "Bash(ls:*)", "Bash(pwd)", "Bash(tail:*)", "Bash(wc:*)", "Bash(which:*)"}, readCodex},
	{"gemini", "Gemini CLI", []string{".toml"}, []string{".gemini/policies/*.toml"}, nil, nil, readGemini},
	{"opencode", "OpenCode", []string{"opencode.json", "opencode.jsonc"}, []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"}, hasKey("permission"), nil, readOpenCode},
	{"vscode", "VS Code", []string{".vscode/settings.json", ".code-workspace", "devcontainer.json"}, []string{".vscode/settings.json"}, hasVSCode, []string{"Read(**)"}, readVSCode},
}

// Hosts returns the names of the formats.
func Hosts() []string {
	var names []string
	for i := range formats {
		names = append(names, formats[i].name)
	}
	return names
}

// InProject returns for each host the patterns of its files in a project's directory.
func InProject() [][]string {
	var all [][]string
	for i := range formats {
		all = append(all, formats[i].project)
	}
	return all
}

// MaxFile is the maximum size of a file in bytes.
const MaxFile = jsonc.MaxSize

// formatOf returns the format of a file, nil if it is none of a host.
func formatOf(f *File) *format {
	name := filepath.ToSlash(f.Name)
	for i := range formats {
		for _, end := range formats[i].ours {
			if strings.HasSuffix(name, end) {
				return &formats[i]
			}
		}
	}
	for i := range formats {
		if formats[i].has != nil && formats[i].has(f) {
			return &formats[i]
		}
	}
	return nil
}

// Read makes a policy of files of one host. The error says what is wrong with a file, with
// the place; then there is no policy.
func Read(files []File, o Options) (*Import, error) {
	host, err := hostOf(files, o.Host)
	if err != nil {
		return nil, err
	}
	c := &collector{options: o, out: &Import{Host: host.about}, first: map[string]string{}}
	for _, f := range files {
		c.out.Files = append(c.out.Files, f.Name)
	}
	if err := host.read(c, files); err != nil {
		return nil, err
	}
	c.free(host)
	c.finish()
	return c.out, nil
}

func hostOf(files []File, name string) (*format, error) {
	if name != "" {
		if i := slices.IndexFunc(formats, func(f format) bool { return f.name == name }); i >= 0 {
			return &formats[i], nil
		}
		return nil, fmt.Errorf("there is no host %q: write one of %s", name, strings.Join(Hosts(), ", "))
	}
	var host *format
	for i := range files {
		f := formatOf(&files[i])
		switch {
		case f == nil:
			return nil, fmt.Errorf("%s: this does not look like the rules of a host: say which with --from %s", files[i].Name, strings.Join(Hosts(), "|"))
		case host != nil && host != f:
			return nil, fmt.Errorf("%s has rules of %s, and %s of %s: import one host at a time, so that each policy allows what its host does", files[0].Name, host.about, files[i].Name, f.about)
		}
		host = f
	}
	if host == nil {
		return nil, fmt.Errorf("no file was given")
	}
	return host, nil
}

// collector collects the rules of a policy and the report.
type collector struct {
	options Options
	out     *Import
	first   map[string]string // "allow Bash(ls)": where it was first

	allow, ask, deny []string
	// what the host says without a rule
	freeAllow, freeAsk, freeDeny []string
	above                        []*entry // rules about all that is above the workspace
}

// entry is a rule of a host.
type entry struct {
	at   patterns.Source
	list patterns.List // what it is to us
	word string        // what its list or decision is called there
	text string        // as it stands there
	rank int64         // its priority, of a host whose rules have one
}

// report adds a line to the report.
func (c *collector) report(e *entry, o Outcome, why Reason, note string, became ...string) {
	c.out.Rules = append(c.out.Rules, Rule{
		File: e.at.Name, Line: e.at.Line, Col: e.at.Col, List: e.word, Rule: e.text, Outcome: o, Reason: why, Note: note, Became: became,
	})
}

// leave reports a rule that is left out.
func (c *collector) leave(e *entry, why Reason, note string) { c.report(e, LeftOut, why, note) }

// put adds rules to a list and reports them.
func (c *collector) put(e *entry, o Outcome, why Reason, note string, rules ...string) {
	c.putInto(e.list, e, o, why, note, rules...)
}

func (c *collector) putInto(list patterns.List, e *entry, o Outcome, why Reason, note string, rules ...string) {
	var became []string
	repeated := ""
	for _, rule := range rules {
		key := list.String() + " " + rule
		became = append(became, key)
		if at, found := c.first[key]; found {
			repeated = at
			continue
		}
		c.first[key] = fmt.Sprintf("%d:%d", e.at.Line, e.at.Col)
		into := map[patterns.List]*[]string{patterns.Allow: &c.allow, patterns.Ask: &c.ask, patterns.Deny: &c.deny}[list]
		*into = append(*into, rule)
		if list == patterns.Ask && (rule == "*" || rule == "Bash" || rule == "Bash(*)") {
			c.everyCommand()
		}
	}
	if repeated != "" && len(rules) == 1 {
		c.leave(e, whyRepeated, "it stands at "+repeated)
		return
	}
	c.report(e, o, why, note, became...)
}

// everyCommand asks about every command by a rule with a condition as well: a bare one does
// not count for what is destructive and an allow names.
func (c *collector) everyCommand() {
	const any = "."
	if !slices.ContainsFunc(c.out.Draft.Rules, func(r policy.RuleSpec) bool { return slices.Equal(r.Patterns, []string{any}) }) {
		c.granularRule(&entry{list: patterns.Ask}, any, "")
	}
}

// granular adds a granular rule for commands and reports it.
func (c *collector) granular(e *entry, o Outcome, why Reason, note, pattern, message string) {
	c.granularRule(e, pattern, message)
	c.report(e, o, why, note, e.list.String()+" Bash matching "+pattern)
}

func (c *collector) granularRule(e *entry, pattern, message string) {
	c.out.Draft.Rules = append(c.out.Draft.Rules, policy.RuleSpec{Tools: []string{"Bash"}, Patterns: []string{pattern}, Action: e.list.String(), Message: message})
}

// fault is why a text is no rule of ours.
type fault struct {
	dead bool // it never matches anything
	what string
}

// parse reads a rule of a list and returns it as it is printed.
func parse(text string, list patterns.List) (string, *fault) {
	r, warnings, err := patterns.Parse(text, list, patterns.Source{})
	for _, w := range warnings {
		if w.Kind == patterns.Dead {
			return "", &fault{true, strings.Replace(w.Text, ", so it never matches: ", "; ", 1)}
		}
	}
	if err == nil {
		return r.String(), nil
	}
	what := err.Error()
	if e, ok := err.(*patterns.Error); ok {
		what = e.What + "; " + e.Fix
	}
	if list != patterns.Allow { // what is dead in a list of allows is an error in others
		if _, f := parse(text, patterns.Allow); f != nil && f.dead {
			return "", &fault{true, f.what}
		}
	}
	return "", &fault{false, what}
}

// take puts rules that mean what the host's does, or less. What cannot be read is left out
// of a list of allows; of another list, everything that its tool does is asked about.
func (c *collector) take(e *entry, o Outcome, why Reason, note string, texts ...string) {
	var rules []string
	for _, text := range texts {
		rule, f := parse(text, e.list)
		if f == nil {
			rules = append(rules, rule)
			continue
		}
		switch {
		case f.dead:
			c.leave(e, whyNeverMatches, f.what)
		case e.list == patterns.Allow:
			c.leave(e, whyCannotBeSaid, f.what)
		default:
			c.closed(e, f.what, toolOf(text))
		}
		return
	}
	c.put(e, o, why, note, rules...)
}

// closed asks about all that tools do, since a rule about part of it cannot be said.
func (c *collector) closed(e *entry, what string, tools ...string) {
	var rules []string
	for _, tool := range tools {
		if rule, f := parse(tool, patterns.Ask); f == nil {
			rules = append(rules, rule)
		}
	}
	if len(rules) == 0 {
		rules = []string{"*"}
	}
	c.putInto(patterns.Ask, e, Tightened, whyAsksAll, what, rules...)
}

// closedBy asks about commands that have some text in a word, since what a rule says of the
// whole text of a command cannot be said; without such a text, about all commands.
func (c *collector) closedBy(e *entry, what, fragment string) {
	if len(fragment) < 2 {
		c.closed(e, what, "Bash")
		return
	}
	ask := *e
	ask.list = patterns.Ask
	c.granularRule(&ask, regexp.QuoteMeta(fragment), "")
	c.report(e, Tightened, whyWider, what, "ask Bash matching "+regexp.QuoteMeta(fragment))
}

// longest returns the longest part of texts that is within one word of a command and that a
// shell takes as it is.
func longest(texts ...string) string {
	best := ""
	for _, text := range texts {
		for _, part := range strings.FieldsFunc(text, func(r rune) bool { return special(r) }) {
			if len(part) > len(best) {
				best = part
			}
		}
	}
	return best
}

// toolOf returns the name of the tool of a rule.
func toolOf(text string) string {
	name, _, _ := strings.Cut(text, "(")
	return strings.TrimSpace(name)
}

// free adds what the host lets run without a rule, as far as none of its own rules is
// about the whole tool.
func (c *collector) free(host *format) {
	for _, rule := range host.free {
		if c.first["allow "+rule] == "" && c.first["allow "+toolOf(rule)] == "" {
			c.freeAllow = append(c.freeAllow, rule)
		}
	}
}

// freeRule is the weakest rule for a tool: what the host lets run without one.
func (c *collector) freeRule(tool, rule string) ordered {
	return ordered{e: &entry{list: patterns.Allow}, tool: tool, all: true, take: func() {
		c.freeAllow = append(c.freeAllow, rule)
	}}
}

// finish completes the draft.
func (c *collector) finish() {
	d := &c.out.Draft
	own, from := &c.out.Added, "from "+c.out.Host
	own.Allow, own.Ask, own.Deny, own.Rules = group(from, c.allow), group(from, c.ask), group(from, c.deny), d.Rules
	without := c.out.Host + " says so without a rule"
	d.Allow, d.Ask, d.Deny = append(group(without, c.freeAllow), own.Allow...), append(group(without, c.freeAsk), own.Ask...), append(group(without, c.freeDeny), own.Deny...)
	d.Unlisted = cmp.Or(c.options.Unlisted, "ask")
	if len(d.Allow) == 0 && d.Unlisted == "ask" {
		// The list of allows is a gate: without one, what is harmless would run.
		d.Allow = group("keeps the list from being empty, with which what is harmless would run", []string{"TodoWrite"})
	}
	d.About = append(d.About, "Made by agent-wrapper policy import, from rules of "+c.out.Host+":", strings.Join(c.out.Files, ", "), "Read it, then run: agent-wrapper trust "+policy.FileName)
	d.AboutUnlisted = []string{"What no rule allows is asked about. \"risk\" lets what is known to be harmless", "run as well (ls, grep, git log): fewer questions, but more than", c.out.Host + " allows."}
	if d.Unlisted != "ask" {
		d.AboutUnlisted = []string{"What is known to be harmless runs without a rule, which may be more than", c.out.Host + " allows. \"ask\" asks about it."}
	}
	slices.SortStableFunc(c.out.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(slices.Index(c.out.Files, a.File), slices.Index(c.out.Files, b.File)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	c.out.Rules = merged(c.out.Rules)
	c.blanket()
}

// blanket says of a rule which asks about every command or denies it, and which did not do so
// there, that the allows for commands never answer because of it.
func (c *collector) blanket() {
	commands := 0
	for _, rule := range c.allow {
		if strings.HasPrefix(rule, "Bash(") {
			commands++
		}
	}
	for i := range c.out.Rules {
		r := &c.out.Rules[i]
		if commands == 0 || r.Outcome != Tightened || !slices.ContainsFunc(r.Became, func(b string) bool {
			return slices.Contains([]string{"ask Bash", "ask Bash(*)", "ask *", "deny Bash", "deny Bash(*)", "deny *"}, b)
		}) {
			continue
		}
		if r.Note != "" {
			r.Note += "; "
		}
		r.Note += fmt.Sprintf("because of it, none of %d allows for commands answers", commands)
	}
}

// mcpTools returns our names of a tool that a host calls by its server, "_" and its own name.
// Either may have a "_" of its own, so that there are several; none if there is no "_". A
// final "*" is any tool of the server: of an allow, of one whose name ends there.
func mcpTools(name string, list patterns.List) (names []string) {
	if server, all := strings.CutSuffix(name, "_*"); all && server != "" {
		if list == patterns.Allow {
			return []string{"mcp__" + server + "__*"}
		}
		return []string{"mcp__" + server + "_*"}
	}
	for i := 1; i < len(name)-1 && len(names) < maxPrefixes; i++ {
		if name[i] == '_' {
			names = append(names, "mcp__"+name[:i]+"__"+name[i+1:])
		}
	}
	return names
}

// group returns rules under a comment.
func group(about string, rules []string) []policy.Group {
	if len(rules) == 0 {
		return nil
	}
	return []policy.Group{{About: about, Rules: rules}}
}

// merged joins the lines of the report about one rule, which may be about several tools. A
// rule of which something is taken is not left out.
func merged(rules []Rule) []Rule {
	var all []Rule
	for _, r := range rules {
		if len(all) == 0 {
			all = append(all, r)
			continue
		}
		last := &all[len(all)-1]
		if last.Place() != r.Place() || last.List != r.List || last.Rule != r.Rule {
			all = append(all, r)
			continue
		}
		became := append(slices.Clone(last.Became), r.Became...)
		switch {
		case last.Outcome == LeftOut && r.Outcome != LeftOut, last.Outcome == Taken && r.Outcome == Tightened:
			*last = r
		}
		last.Became = became
	}
	return all
}

// text returns the text of a file without a byte order mark.
func text(f *File) []byte { return bytes.TrimPrefix(f.Text, []byte("\ufeff")) }
