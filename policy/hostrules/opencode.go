package hostrules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/jsonc"
	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
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

func readOpenCode(c *collector, files []File) error {
	r := &openCode{collector: c}
	c.openCodeFree(r)
	for i := range files {
		s, err := tree(&files[i])
		if err != nil {
			return err
		}
		r.settings = s
		r.permission(s.root.Member("permission"), "")
		r.legacy(s.root.Member("tools"))
		for _, key := range []string{"agent", "mode"} {
			if agents := s.root.Member(key); agents != nil {
				for j := range agents.Members {
					r.permission(agents.Members[j].Value.Member("permission"), agents.Members[j].Name)
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
}

// openCodeFree adds what OpenCode says of tools that no rule is about, the weakest rules.
func (c *collector) openCodeFree(r *openCode) {
	for _, tool := range []string{"read", "glob", "grep", "list"} {
		r.rules = append(r.rules, c.freeRule(tool, openCodeTools[tool]+"(./**)"))
	}
	for _, name := range []string{"*.env", "*.env.*"} {
		e := &entry{list: patterns.Deny}
		r.rules = append(r.rules, ordered{e: e, tool: "read", take: func() {
			c.freeDeny = append(c.freeDeny, "Read("+name+")")
		}})
	}
}

// outside adds the question about paths outside.
func (r *openCode) outside() {
	e := &entry{list: patterns.Ask}
	r.granularRule(e, openCodeOutside, "")
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

// legacy reads the older {"tools": {"bash": false}}.
func (r *openCode) legacy(n *jsonc.Node) {
	if n == nil {
		return
	}
	for i := range n.Members {
		if m := &n.Members[i]; isFalse(&m.Value) {
			r.add(&entry{at: r.key(m), text: m.Name}, m.Name, "*", &jsonc.Node{Kind: '"', Text: "deny"}, "")
		}
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
		for _, tool := range r.tools(key) {
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
	if key == "*" && e.list != patterns.Allow {
		names = append(names, "mcp_*")
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
	switch {
	case !known:
		r.other(e, tool)
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
// name is its server, "_" and the tool.
func (r *openCode) other(e *entry, name string) {
	server, isServer := strings.CutSuffix(name, "_*")
	switch {
	case isServer && server == "mcp":
		r.take(e, Taken, whyRewritten, "", "mcp__*")
	case isServer && !strings.ContainsAny(server, "*?"):
		r.take(e, Tightened, whyNarrower, "the server "+server, "mcp__"+server+"__*")
	case e.list == patterns.Allow:
		r.leave(e, whyNoEquivalent, "a tool of an MCP server is mcp__server__tool here")
	default:
		r.take(e, Tightened, whyWider, "it may be a tool of any server", "mcp__*")
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

// files takes a rule for files. An allow holds in the workspace; where "*" of OpenCode
// crosses "/", it does not here.
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
	case e.list == patterns.Allow && strings.HasPrefix(pattern, "**/"):
		r.take(e, Tightened, whyNarrower, `"**/" is at least one directory there`, tool+"(*/"+pattern+")")
	case e.list == patterns.Allow && !strings.ContainsAny(pattern, "*?"):
		r.take(e, Taken, whySame, "", tool+"(./"+pattern+")")
	case e.list == patterns.Allow && strings.HasPrefix(pattern, "*") && !strings.Contains(pattern, "/"):
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	case e.list == patterns.Allow && !strings.Contains(pattern, "/"):
		r.take(e, Tightened, whyNarrower, `"*" stays in one name here`, tool+"(./"+pattern+")")
	case e.list == patterns.Allow:
		r.take(e, Tightened, whyNarrower, `"*" stays in one name here`, tool+"("+pattern+")")
	default:
		r.stopFiles(e, tool, pattern)
	}
}

// stopFiles takes an ask or a deny for files: all below the directory in which a "*" may
// cross "/", and the names that it ends in.
func (r *openCode) stopFiles(e *entry, tool, pattern string) {
	at := strings.IndexAny(pattern, "*?[]{}!\\")
	switch {
	case at < 0:
		r.take(e, Taken, whySame, "", tool+"("+anchored(pattern)+")")
	case suffix.MatchString(pattern): // *.env: at any depth
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	case infix.MatchString(pattern):
		r.take(e, Taken, whyRewritten, "", tool+"("+pattern+")", tool+"(**/"+pattern+"/**)")
	case below.MatchString(pattern):
		r.take(e, Taken, whySame, "", tool+"("+pattern+")")
	default:
		dir := pattern[:strings.LastIndexByte(pattern[:at], '/')+1]
		if dir == "" {
			r.take(e, Tightened, whyWider, `"*" may cross "/" there`, tool)
			return
		}
		r.take(e, Tightened, whyWider, `"*" may cross "/" there`, tool+"("+anchored(dir)+"**)")
	}
}

// Patterns for files that mean the same here, or less there.
var (
	suffix = lazyregexp.New(`^\*[^*?/\[\]{}!\\]+$`)
	infix  = lazyregexp.New(`^\*[^*?/\[\]{}!\\]+\*$`)
	below  = lazyregexp.New(`^\*\*/[^*?\[\]{}!\\]+(/\*\*)?$`)
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
		r.leave(e, whyIsDefault, "an allow holds in the workspace")
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
