package hostrules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// OpenCode: {"permission": {"bash": {"*": "ask", "git *": "allow"}}}. The last rule that
// matches decides; "*" is any text, also across "/". What none matches is allowed there and
// asked about here.

var openCodeActions = map[string]patterns.List{"allow": patterns.Allow, "ask": patterns.Ask, "deny": patterns.Deny}

// openCodeTools are our names of its permissions.
var openCodeTools = map[string]string{
	"bash": "Bash", "read": "Read", "edit": "Edit", "glob": "Glob", "grep": "Grep", "list": "LS", "task": "Task", "skill": "Skill", "webfetch": "WebFetch", "websearch": "WebSearch", "codesearch": "",
	"todowrite": "TodoWrite", "todoread": "", "question": "", "lsp": "", "doom_loop": "", "external_directory": "",
}

// openCodeOutside are the commands of which OpenCode asks about paths outside.
const openCodeOutside = `^(?:cd|rm|cp|mv|mkdir|touch|chmod|chown|cat) (?:.* )?(?:/|~|(?:.*/)?\.\.(?:/| |$))`

// openCodeAnyOutside are the commands with a word that may be a path outside, alone or
// behind "=". Which of them lie in the project depends on where it is.
const openCodeAnyOutside = `^\S+ (?:.*[ =])?(?:/|~|(?:[^ ]*/)?\.\.(?:/| |$))`

func readOpenCode(c *collector, files []File) error {
	r := &openCode{collector: c}
	c.openCodeFree(r)
	for i := range files {
		s, err := tree(&files[i])
		if err != nil {
			return err
		}
		r.settings = s
		r.all(s.root, "")
		for _, key := range []string{"agent", "mode"} {
			if agents := s.root.Member(key); agents != nil {
				for j := range agents.Members {
					r.all(&agents.Members[j].Value, agents.Members[j].Name)
				}
			}
		}
	}
	c.takeOrdered(r.rules)
	if slices.ContainsFunc(c.allow, func(rule string) bool { return strings.HasPrefix(rule, "Bash") }) {
		r.outside()
	}
	return nil
}

type openCode struct {
	*collector
	*settings
	rules []ordered
	// noneOutside: external_directory asks about or denies every path outside.
	noneOutside bool
}

// openCodeFree adds what OpenCode says of tools that no rule is about, the weakest rules.
func (c *collector) openCodeFree(r *openCode) {
	for _, tool := range []string{"read", "glob", "grep", "list"} {
		r.rules = append(r.rules, c.freeRule(tool, openCodeTools[tool]+"(./**)"))
	}
	for _, of := range openCodeEnv {
		r.rules = append(r.rules, ordered{e: &entry{list: patterns.Deny}, tool: "read", take: func() {
			if !slices.ContainsFunc(r.rules, func(o ordered) bool { return o.allowsEnv(of.end) }) {
				c.freeDeny = append(c.freeDeny, of.rules...)
			}
		}})
	}
}

// openCodeEnv are the files that OpenCode does not read unless a rule names them, by how a
// pattern for some of them ends. A deny for all would overrule the rule here, so that the
// others of that kind are asked about as secrets are.
var openCodeEnv = []struct {
	end   string
	rules []string
}{{".env", []string{"Read(*.env)"}}, {".env.*", []string{"Read(*.env.*)", "Read(**/*.env.*/**)"}}}

// allowsEnv reports whether a rule of the file allows to read what a pattern with this end
// names.
func (o *ordered) allowsEnv(end string) bool {
	return o.tool == "read" && o.e.list == patterns.Allow && o.e.at.Name != "" && strings.HasSuffix(o.e.text, end)
}

// outside adds the question about paths outside.
func (r *openCode) outside() {
	e := &entry{list: patterns.Ask}
	pattern := openCodeOutside
	if r.noneOutside {
		pattern = openCodeAnyOutside
	}
	r.granularRule(e, pattern, "")
}

// all reads what is permitted to all agents, or to one. An older tools entry does not count
// where there is a permission of the same name. Nothing says how it stands to one for "*", so
// that one which denies is read as the stronger, and one which allows as the weaker.
func (r *openCode) all(n *jsonc.Node, agent string) {
	permission, tools := n.Member("permission"), n.Member("tools")
	r.legacy(tools, permission, true, agent)
	r.permission(permission, agent)
	r.legacy(tools, permission, false, agent)
}

// permission reads the permissions of all agents, or of one.
func (r *openCode) permission(n *jsonc.Node, agent string) {
	switch {
	case n == nil:
	case n.Kind == '"':
		r.add(&entry{at: r.settings.place(n), text: "*"}, "*", "*", n, agent)
	case n.Kind != '{':
		r.leave(&entry{at: r.settings.place(n), word: "permission", text: shown(n)}, whyNotARule, "it must be a text or an object")
	default:
		for i := range n.Members {
			m := &n.Members[i]
			if m.Value.Kind != '{' {
				r.add(&entry{at: r.key(m), text: m.Name}, m.Name, "*", &m.Value, agent)
				continue
			}
			for j := range m.Value.Members {
				p := &m.Value.Members[j]
				r.add(&entry{at: r.key(p), text: m.Name + " " + p.Name}, m.Name, p.Name, &p.Value, agent)
			}
		}
	}
}

// openCodeChanges are tools about which OpenCode asks as edit.
var openCodeChanges = []string{"write", "patch", "multiedit", "apply_patch"}

// legacy reads entries of the older {"tools": {"bash": false}} that allow, or the others.
func (r *openCode) legacy(n, permission *jsonc.Node, allow bool, agent string) {
	if n == nil {
		return
	}
	for i := range n.Members {
		m := &n.Members[i]
		if isTrue(&m.Value) != allow {
			continue
		}
		key, action := m.Name, "deny"
		if slices.Contains(openCodeChanges, key) {
			key = "edit"
		}
		e := &entry{at: r.key(m), word: shown(&m.Value), text: "tools " + m.Name}
		switch {
		case isTrue(&m.Value):
			action = "allow"
		case !isFalse(&m.Value):
			r.leave(e, whyNotARule, "write true or false")
			continue
		}
		if permission != nil && permission.Kind == '{' && permission.Member(key) != nil {
			r.leave(e, whyOverridden, "")
			continue
		}
		r.add(e, key, "*", &jsonc.Node{Kind: '"', Text: action}, agent)
	}
}

// add adds a rule for the permissions that a key names.
func (r *openCode) add(e *entry, key, pattern string, action *jsonc.Node, agent string) {
	e.word, e.list = action.Text, openCodeActions[action.Text]
	switch {
	case action.Kind != '"' || e.list == 0:
		e.word = shown(action)
		r.leave(e, whyNotARule, `write "allow", "ask" or "deny"`)
		return
	case agent != "" && e.list == patterns.Allow:
		r.leave(e, whyCondition, "it holds for the agent "+agent+" only")
		return
	case agent != "": // of one agent, so that it overrides nothing; others are asked about it
		e.list = patterns.Ask
		before := len(r.out.Rules)
		names := r.tools(key)
		if key == "*" {
			names = append(names, "mcp_*")
		}
		for _, tool := range names {
			r.one(e, tool, pattern)
		}
		for i := range r.out.Rules[before:] {
			if got := &r.out.Rules[before+i]; got.Outcome != LeftOut {
				got.Outcome, got.Reason, got.Note = Tightened, whyWider, "for every agent, not for "+agent+" only"
			}
		}
		return
	}
	names := r.tools(key)
	switch {
	case key == "*" && e.list != patterns.Allow:
		names = append(names, "mcp_*")
	case key == "*" && pattern == "*":
		r.rules = append(r.rules, ordered{e: e, tool: "mcp_*", all: true, take: func() {
			r.report(e, Tightened, whyNarrower, "not the tools of MCP servers: add mcp__server__* of each")
		}})
	}
	for _, tool := range names {
		fixed, exact := begin(pattern)
		r.rules = append(r.rules, ordered{e: e, tool: tool, all: pattern == "*", fixed: fixed, exact: exact, take: func() { r.one(e, tool, pattern) }})
	}
}

// begin returns what every text that a pattern matches begins with.
func begin(pattern string) (fixed string, exact bool) {
	at := strings.IndexAny(pattern, "*?~$")
	if at < 0 {
		return pattern, true
	}
	if strings.HasSuffix(pattern, " *") && at == len(pattern)-1 {
		at-- // the blank need not be there
	}
	return pattern[:at], false
}

// tools returns the permissions that a key means.
func (r *openCode) tools(key string) []string {
	if !strings.ContainsAny(key, "*?") {
		return []string{key}
	}
	re := wildcard(key)
	var names []string
	for name := range openCodeTools {
		if re.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) == 0 || key != "*" {
		names = append(names, key)
	}
	return names
}

// wildcard returns a pattern of OpenCode as an expression.
func wildcard(pattern string) *regexp.Regexp {
	text := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
	if rest, ok := strings.CutSuffix(text, " .*"); ok {
		text = rest + "( .*)?"
	}
	return regexp.MustCompile("(?s)^" + text + "$")
}

// one takes a rule for one permission.
func (r *openCode) one(e *entry, tool, pattern string) {
	ours, known := openCodeTools[tool]
	if o := (&ordered{e: e, tool: tool}); o.allowsEnv(".env") || o.allowsEnv(".env.*") {
		before := len(r.out.Rules)
		defer func() {
			for i := range r.out.Rules[before:] {
				if got := &r.out.Rules[before+i]; got.Outcome == Taken && got.Note == "" {
					got.Note = "other .env files are asked about here; OpenCode denies them"
				}
			}
		}()
	}
	switch {
	case !known:
		r.other(e, tool, pattern)
	case tool == "external_directory":
		r.external(e, pattern)
	case ours == "":
		r.leave(e, whyNoEquivalent, "")
	case tool == "bash":
		r.bash(e, pattern)
	case ours == "Read" || ours == "Edit":
		r.files(e, ours, pattern)
	case ours == "Glob" || ours == "Grep" || ours == "LS":
		r.searches(e, ours, pattern)
	case pattern == "*":
		r.take(e, Taken, whyRewritten, "", ours)
	case ours == "WebFetch":
		r.fetches(e, pattern)
	case strings.Contains(pattern, "?") && e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, `"?" is no wildcard in a name here`)
	default:
		r.take(e, Taken, whyRewritten, "", ours+"("+strings.ReplaceAll(pattern, "?", "*")+")")
	}
}

// other takes a rule for a tool that is none of OpenCode's own: one of an MCP server, whose
// name is its server, "_" and the tool, or one that somebody has added, which has no "_".
func (r *openCode) other(e *entry, name, pattern string) {
	server, isServer := strings.CutSuffix(name, "_*")
	_, bad := parse(name, e.list)
	switch {
	case slices.Contains(openCodeChanges, name):
		r.change(e, pattern)
	case isServer && server == "mcp" && e.list != patterns.Allow:
		r.take(e, Taken, whyRewritten, "", "mcp__*")
	case isServer && !strings.ContainsAny(server, "*?"):
		o, why, note := Taken, whyRewritten, ""
		if e.list == patterns.Allow {
			o, why, note = Tightened, whyNarrower, "the server "+server
		}
		r.take(e, o, why, note, mcpTools(name, e.list)...)
	case !strings.ContainsAny(name, "*?") && len(mcpTools(name, e.list)) > 0:
		r.take(e, Taken, whyRewritten, "", mcpTools(name, e.list)...)
	case e.list == patterns.Allow:
		r.leave(e, whyNoEquivalent, "a tool of an MCP server is mcp__server__tool here")
	case !strings.ContainsAny(name, "*?") && bad == nil:
		r.take(e, Taken, whySame, "", name)
	default:
		r.take(e, Tightened, whyWider, "it may be a tool of any server", "mcp__*")
	}
}

// change takes a rule for a tool that changes files, of which OpenCode never asks by its name.
func (r *openCode) change(e *entry, pattern string) {
	const note = "OpenCode asks about every tool that changes files as edit"
	if e.list == patterns.Allow {
		r.leave(e, whyNeverMatches, note)
		return
	}
	before := len(r.out.Rules)
	r.files(e, "Edit", pattern)
	for i := range r.out.Rules[before:] {
		if got := &r.out.Rules[before+i]; got.Outcome != LeftOut {
			got.Outcome, got.Reason, got.Note = Tightened, whyMeant, note
		}
	}
}

// bash takes a rule for commands.
func (r *openCode) bash(e *entry, pattern string) {
	allow := e.list == patterns.Allow
	switch {
	case pattern == "*":
		r.take(e, Taken, whyRewritten, "", "Bash")
	case strings.ContainsAny(pattern, "|&;<>\n\"'`$\\()") && allow:
		r.leave(e, whyCannotBeSaid, "it is compared with the text of a command there, and with its words here")
	case strings.ContainsAny(pattern, "|&;<>\n\"'`$\\()"):
		r.closedBy(e, "it is compared with the text of a command there, and with its words here", longest(strings.NewReplacer("*", "|", "?", "|").Replace(pattern)))
	case strings.Contains(pattern, ":*") && allow:
		r.leave(e, whyCannotBeSaid, `":*" means further words here; write `+`Bash(`+strings.ReplaceAll(pattern, ":*", "*")+`) if that is not too much`)
	case strings.Contains(pattern, "?") && allow:
		r.leave(e, whyCannotBeSaid, `"?" is no wildcard in a command here`)
	case strings.Contains(pattern, ":*"):
		r.granular(e, Taken, whyRewritten, "", strings.TrimPrefix(wildcard(pattern).String(), "(?s)"), "")
	default:
		r.take(e, Taken, whySame, "", "Bash("+strings.ReplaceAll(pattern, "?", "*")+")")
	}
}

// files takes a rule for files. An allow holds in the workspace.
func (r *openCode) files(e *entry, tool, pattern string) {
	pattern = strings.TrimPrefix(strings.Replace(pattern, "$HOME", "~", 1), "./")
	switch {
	case pattern == "*" && e.list == patterns.Allow:
		r.take(e, Taken, whyWorkspace, "", tool+"(./**)")
	case pattern == "*":
		r.take(e, Taken, whyRewritten, "", tool)
	case strings.ContainsAny(pattern, `[]{}!\`) && e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, "its characters mean something else here")
	case e.list == patterns.Allow && (strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~")):
		r.leave(e, whyNeverMatches, "paths are relative to the project there")
	case e.list == patterns.Allow && suffix.MatchString(pattern):
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	case e.list == patterns.Allow && strings.Contains(pattern, "?"):
		r.take(e, Tightened, whyNarrower, `"*" and "?" stay in one name here`, tool+"("+anchored(pattern)+")")
	case e.list == patterns.Allow:
		r.crossing(e, tool, pattern)
	default:
		r.stopFiles(e, tool, pattern)
	}
}

// crossing takes a rule for files whose "*" may cross "/".
func (r *openCode) crossing(e *entry, tool, pattern string) {
	texts, ok := crossings(anchored(pattern))
	if !ok {
		if e.list == patterns.Allow {
			r.leave(e, whyCannotBeSaid, `it has too many "*"`)
			return
		}
		r.closed(e, `it has too many "*"`, tool)
		return
	}
	why := whySame
	if len(texts) > 1 || texts[0] != pattern {
		why = whyRewritten
	}
	for i, text := range texts {
		texts[i] = tool + "(" + text + ")"
	}
	r.take(e, Taken, why, "", texts...)
}

// crossings returns the patterns in which "*" stays in one name that together are a pattern
// in which it may cross "/"; ok is false if they are too many.
func crossings(pattern string) (all []string, ok bool) {
	pieces := strings.Split(stars.ReplaceAllString(pattern, "*"), "*")
	all = []string{pieces[0]}
	for i, piece := range pieces[1:] {
		last := i == len(pieces)-2 && piece == ""
		ways := []string{"*", "*/**/*"}
		switch whole := strings.HasSuffix(pieces[i], "/"); {
		case whole && last:
			ways = []string{"**"}
		case whole:
			ways = []string{"**/*"}
		case last:
			ways = []string{"*", "*/**"}
		}
		if len(all)*len(ways) > maxCrossings {
			return nil, false
		}
		var next []string
		for _, head := range all {
			for _, way := range ways {
				next = append(next, head+way+piece)
			}
		}
		all = next
	}
	return all, true
}

// maxCrossings is how many patterns one may become.
const maxCrossings = 8

var stars = lazyregexp.New(`\*+`)

// stopFiles takes an ask or a deny for files. Where our patterns have no equal, it is all below
// the directory in which a name is no longer known.
func (r *openCode) stopFiles(e *entry, tool, pattern string) {
	at := strings.IndexAny(pattern, "*?[]{}!\\")
	switch {
	case at < 0:
		r.take(e, Taken, whySame, "", tool+"("+anchored(pattern)+")")
	case suffix.MatchString(pattern): // *.env: at any depth
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	case infix.MatchString(pattern):
		r.take(e, Taken, whyRewritten, "", tool+"("+pattern+")", tool+"(**/"+pattern+"/**)")
	case beneath.MatchString(pattern):
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	case !strings.ContainsAny(pattern, `?[]{}!\`):
		r.crossing(e, tool, pattern)
	default:
		dir := pattern[:strings.LastIndexByte(pattern[:at], '/')+1]
		if dir == "" {
			r.closed(e, "its characters mean something else here", tool)
			return
		}
		r.take(e, Tightened, whyWider, "its characters mean something else here", tool+"("+anchored(dir)+"**)")
	}
}

// Patterns for files that mean the same here, or less there.
var (
	suffix  = lazyregexp.New(`^\*[^*?/\[\]{}!\\]+$`)
	infix   = lazyregexp.New(`^\*[^*?/\[\]{}!\\]+\*$`)
	beneath = lazyregexp.New(`^\*\*/[^*?\[\]{}!\\]+(/\*\*)?$`)
)

// anchored returns a path that begins in the workspace.
func anchored(path string) string {
	if strings.HasPrefix(path, "/") || strings.HasPrefix(path, "~") {
		return rooted(path)
	}
	return "./" + path
}

// searches takes a rule for a tool whose pattern is what is searched for.
func (r *openCode) searches(e *entry, tool, pattern string) {
	switch {
	case pattern == "*" && e.list == patterns.Allow:
		r.take(e, Taken, whyWorkspace, "", tool+"(./**)")
	case pattern == "*":
		r.take(e, Taken, whyRewritten, "", tool)
	case e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, "it is about what is searched for")
	default:
		r.closed(e, "it is about what is searched for", tool)
	}
}

var wholeHost = lazyregexp.New(`^(?:https?|\*)://([A-Za-z0-9.-]+)(?:/\*?\*?)?$`)

// fetches takes a rule for a URL.
func (r *openCode) fetches(e *entry, pattern string) {
	m := wholeHost.FindStringSubmatch(pattern)
	switch {
	case e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, "a rule here is about a host with all its addresses")
	case m != nil:
		r.take(e, Tightened, whyWider, "the host with all its addresses", "WebFetch(domain:"+m[1]+")")
	default:
		r.closed(e, "a rule here is about a host", "WebFetch")
	}
}

// external takes a rule for directories outside, which another rule has to allow too.
func (r *openCode) external(e *entry, pattern string) {
	if e.list != patterns.Allow && pattern == "*" {
		r.noneOutside = true
		note := "files outside are asked about, and so is every command with a path that may lead outside"
		if e.list == patterns.Deny {
			note += ", not denied: which paths are outside depends on where the project is"
		}
		r.report(e, Tightened, whyWider, note)
		return
	}
	if e.list == patterns.Allow {
		r.leave(e, whyCannotBeSaid, "name the directory with --add-dir when you run the agent")
		return
	}
	at := strings.IndexAny(pattern, "*?")
	if at < 0 {
		at = len(pattern)
	}
	dir := strings.TrimRight(strings.Replace(pattern[:at], "$HOME", "~", 1), "/")
	if !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/") {
		r.closed(e, "it is about any directory outside", "Read", "Edit")
		return
	}
	r.take(e, Tightened, whyWider, "", "Read("+rooted(dir)+"/**)", "Edit("+rooted(dir)+"/**)")
}
