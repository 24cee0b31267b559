package hostrules

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Gemini CLI: [[rule]] with toolName, commandPrefix and so on. Of the rules that match, the
// one with the highest priority decides. Of rules with the same priority, ours lets the one
// that asks or denies count.

var geminiDecisions = map[string]patterns.List{"allow": patterns.Allow, "ask_user": patterns.Ask, "deny": patterns.Deny}

// geminiTools are our names of its tools: of an allow, which holds in the workspace, and of
// an ask or a deny.
var geminiTools = map[string]struct{ allow, stop string }{
	"run_shell_command": {"Bash", "Bash"}, "read_file": {"Read(**)", "Read"}, geminiReadMany: {"Read(**)", "Read"}, "write_file": {"Write(**)", "Write"},
	"replace": {"", "Edit"}, "glob": {"Glob(./**)", "Glob"}, "grep_search": {"Grep(./**)", "Grep"}, "list_directory": {"LS(./**)", "LS"},
	"web_fetch": {"WebFetch", "WebFetch"}, "google_web_search": {"WebSearch", "WebSearch"}, "activate_skill": {"Skill", "Skill"}, "write_todos": {"TodoWrite", "TodoWrite"}, "enter_plan_mode": {"EnterPlanMode", "EnterPlanMode"},
}

// geminiAliases are names that tools had, and that still mean them.
var geminiAliases = map[string]string{"search_file_content": "grep_search"}

const (
	geminiShell = "run_shell_command"
	// geminiReadMany reads each of several files, so that a rule for all tools which a rule
	// for read_file overrides is overridden for it as well.
	geminiReadMany = "read_many_files"
)

// readGemini reads policies, which count together.
func readGemini(c *collector, files []File) error {
	var all []geminiRule
	for i := range files {
		var top map[string]any
		lines, err := stricttoml.Decode(text(&files[i]), files[i].Name, &top)
		if err != nil {
			return err
		}
		rules, _ := top["rule"].([]any)
		if maps, ok := top["rule"].([]map[string]any); ok {
			for _, m := range maps {
				rules = append(rules, m)
			}
		}
		for j, r := range rules {
			table, _ := r.(map[string]any)
			path := stricttoml.Path("rule") + "[" + strconv.Itoa(j) + "]"
			at := lines[path]
			all = append(all, geminiRule{table, patterns.Source{Name: files[i].Name, Line: at.Line, Col: at.Col}})
		}
		for key := range top {
			if key != "rule" {
				at := lines[stricttoml.Path(key)]
				c.leave(&entry{at: patterns.Source{Name: files[i].Name, Line: max(at.Line, 1), Col: max(at.Col, 1)}, word: key, text: key}, whyUnknownKey, "only [[rule]] is read")
			}
		}
	}
	list := c.geminiFree()
	for _, r := range all {
		list = append(list, c.gemini(r)...)
	}
	c.takeOrdered(byPriority(list))
	return nil
}

// geminiFree is what Gemini CLI allows without a rule, the weakest rules.
func (c *collector) geminiFree() []ordered {
	var list []ordered
	for _, tool := range []string{"read_file", "glob", "grep_search", "list_directory", "google_web_search"} {
		list = append(list, c.freeRule(tool, geminiTools[tool].allow))
		list[len(list)-1].e.rank = -1
	}
	return list
}

type geminiRule struct {
	table map[string]any
	at    patterns.Source
}

// byPriority orders rules from the weakest to the strongest.
func byPriority(list []ordered) []ordered {
	slices.SortStableFunc(list, func(a, b ordered) int {
		strict := func(o ordered) int {
			if o.e.list == patterns.Allow {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.e.rank, b.e.rank), cmp.Compare(strict(a), strict(b)))
	})
	return list
}

// texts returns a text or a list of texts; ok is false for anything else.
func (r *geminiRule) texts(key string) (list []string, ok bool) {
	switch v := r.table[key].(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case []any:
		for _, x := range v {
			s, ok := x.(string)
			if !ok {
				return nil, false
			}
			list = append(list, s)
		}
		return list, true
	}
	return nil, false
}

var geminiKeys = []string{
	"toolName", "mcpName", "argsPattern", "commandPrefix", "commandRegex", "decision", "priority", "denyMessage", "deny_message", "modes", "interactive", "subagent", "toolAnnotations", "allowRedirection", "allow_redirection", "name",
}

// geminiConditions are keys that narrow a rule in a way that rules here do not have.
var geminiConditions = []string{"subagent", "toolAnnotations", "interactive"}

// gemini returns the rules that a [[rule]] stands for, and reports what is left out.
func (c *collector) gemini(r geminiRule) []ordered {
	e := &entry{at: r.at, word: "rule", text: r.shown()}
	decision, _ := r.table["decision"].(string)
	list, ok := geminiDecisions[decision]
	e.list, e.word = list, decision
	priority, _ := r.table["priority"].(int64)
	e.rank = priority
	tools, okTools := r.texts("toolName")
	prefixes, okPrefixes := r.texts("commandPrefix")
	regexes, okRegexes := r.texts("commandRegex")
	modes, okModes := r.texts("modes")
	if !ok || !okTools || !okPrefixes || !okRegexes || !okModes {
		c.leave(e, whyNotARule, "Gemini CLI refuses it")
		return nil
	}
	for i, name := range tools {
		tools[i] = cmp.Or(geminiAliases[name], name)
	}
	if len(prefixes)+len(regexes) > 0 && len(tools) > 0 && !slices.ContainsFunc(tools, geminiRuns) {
		c.leave(e, whyNeverMatches, "commandPrefix and commandRegex are about run_shell_command only")
		return nil
	}
	if len(modes) > 0 && !slices.Contains(modes, "default") {
		c.leave(e, whyCondition, "it holds in the mode "+strings.Join(modes, ", ")+" only")
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(r.table)) {
		if list == patterns.Allow && (slices.Contains(geminiConditions, key) || !slices.Contains(geminiKeys, key)) {
			c.leave(e, whyCondition, key)
			return nil
		}
	}
	return c.geminiParts(e, &r, tools, prefixes, regexes)
}

// geminiRuns reports whether a name, which may have wildcards, is that of the tool that runs
// commands.
func geminiRuns(name string) bool { return wildcard(name).MatchString(geminiShell) }

// shown returns the conditions of a rule for the report.
func (r *geminiRule) shown() string {
	var parts []string
	for _, key := range []string{"mcpName", "toolName", "commandPrefix", "commandRegex", "argsPattern"} {
		if list, ok := r.texts(key); ok && len(list) > 0 {
			parts = append(parts, key+" "+strings.Join(list, ", "))
		}
	}
	if len(parts) == 0 {
		return "every tool"
	}
	return strings.Join(parts, "; ")
}

// geminiParts returns one rule for each tool, prefix or expression.
func (c *collector) geminiParts(e *entry, r *geminiRule, tools, prefixes, regexes []string) []ordered {
	var list []ordered
	add := func(tool, fixed string, all bool, take func()) {
		list = append(list, ordered{e: e, tool: tool, fixed: fixed, all: all, take: take})
	}
	narrowed := r.table["argsPattern"] != nil || r.table["toolAnnotations"] != nil
	if narrowed && e.list == patterns.Allow {
		c.leave(e, whyCannotBeSaid, "an expression for the arguments as JSON")
		return nil
	}
	redirects, _ := r.table["allowRedirection"].(bool)
	server, _ := r.table["mcpName"].(string)
	switch {
	case server != "":
		for _, name := range mcpNames(server, tools) {
			add(name, "", !narrowed, func() { c.mcp(e, name) })
		}
	case len(prefixes) > 0:
		for _, p := range prefixes {
			add(geminiShell, p, false, func() { c.geminiPrefix(e, p) })
		}
	case len(regexes) > 0: // next to a prefix it does not count
		for _, p := range regexes {
			add(geminiShell, "", false, func() { c.geminiRegex(e, p) })
		}
	case len(tools) == 0 && narrowed:
		c.closed(e, "annotations of a tool are not known here", "*")
	case len(tools) == 0 || slices.Contains(tools, "*"):
		for _, name := range geminiNames() {
			add(name, "", !narrowed, func() { c.geminiTool(e, name, narrowed, redirects) })
		}
		if e.list != patterns.Allow {
			add("mcp__*", "", !narrowed, func() { c.take(e, Taken, whyRewritten, "", "mcp__*") })
		}
	default:
		for _, name := range tools {
			if full, ok := strings.CutPrefix(name, "mcp_"); ok {
				names := mcpTools(full, e.list)
				if len(names) == 0 {
					names = []string{"mcp__*"}
				}
				for _, name := range names {
					add(name, "", !narrowed, func() { c.mcp(e, name) })
				}
				continue
			}
			add(name, "", !narrowed, func() { c.geminiTool(e, name, narrowed, redirects) })
		}
	}
	return list
}

func geminiNames() []string {
	var names []string
	for name := range geminiTools {
		if name != geminiReadMany {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// mcpNames returns our names of tools of an MCP server.
func mcpNames(server string, tools []string) []string {
	if server == "*" {
		return []string{"mcp__*"}
	}
	if len(tools) == 0 || slices.Contains(tools, "*") {
		return []string{"mcp__" + server + "__*"}
	}
	var names []string
	for _, tool := range tools {
		names = append(names, "mcp__"+server+"__"+tool)
	}
	return names
}

// mcp takes a rule for tools of MCP servers.
func (c *collector) mcp(e *entry, name string) {
	if e.list == patterns.Allow && name == "mcp__*" {
		c.leave(e, whyTooMuch, "name the server")
		return
	}
	c.take(e, Taken, whyRewritten, "", name)
}

// geminiTool takes a rule for a tool.
func (c *collector) geminiTool(e *entry, name string, narrowed, redirects bool) {
	ours, known := geminiTools[name]
	switch {
	case !known && e.list == patterns.Allow:
		c.leave(e, whyNoEquivalent, name)
	case !known:
		c.take(e, Tightened, whyWider, "", name)
	case narrowed:
		c.closed(e, "an expression for the arguments as JSON", ours.stop)
	case e.list == patterns.Allow && name == geminiShell && !redirects:
		c.leave(e, whyTooMuch, "here it would allow redirections too, of which Gemini CLI asks: add Bash to the allow list where you mean it")
	case e.list == patterns.Allow && ours.allow == "":
		c.leave(e, whyCannotBeSaid, "a rule for Edit is about every tool that edits here")
	case e.list == patterns.Allow && strings.Contains(ours.allow, "("):
		c.take(e, Taken, whyWorkspace, "", ours.allow)
	case e.list == patterns.Allow:
		c.take(e, Taken, whyRewritten, "", ours.allow)
	default:
		c.take(e, Taken, whyRewritten, "", ours.stop)
	}
}

// geminiPrefix takes a rule for commands that begin with a text, at the end of a word.
func (c *collector) geminiPrefix(e *entry, prefix string) {
	trimmed := strings.TrimRight(prefix, " ")
	switch {
	case trimmed == "":
		c.leave(e, whyNotARule, "the prefix is empty")
	case trimmed != prefix && e.list == patterns.Allow:
		c.leave(e, whyNeverMatches, "another blank would have to follow the one at the end")
	case strings.ContainsAny(trimmed, "*'\"\\$`|&;<>\n") && e.list == patterns.Allow:
		c.leave(e, whyCannotBeSaid, "the prefix is compared with the text of the line there, and with words here")
	case strings.ContainsAny(trimmed, "*'\"\\$`|&;<>\n"):
		c.closedBy(e, "the prefix is compared with the text of the line there, and with words here", longest(trimmed))
	default:
		c.take(e, Taken, whyRewritten, "", "Bash("+trimmed+":*)")
	}
}

// geminiRegex takes a rule for commands by an expression, which matches at their beginning:
// it stands behind "command":" there, so that with a "^" of its own it never matches.
func (c *collector) geminiRegex(e *entry, expression string) {
	const behind = `it is tried behind "command":", so that nothing begins there: take the "^" away`
	never := strings.HasPrefix(expression, "^")
	if never && e.list == patterns.Allow {
		c.leave(e, whyNeverMatches, behind)
		return
	}
	if e.list != patterns.Allow {
		pattern, ok := loose(expression, false)
		if !ok {
			c.closedBy(e, "the expression looks at more than words", longest(literals(parseExpression(expression))...))
			return
		}
		why, note := whyWider, ""
		if never {
			why, note = whyMeant, behind
		}
		c.granular(e, Tightened, why, note, "^"+strings.TrimPrefix(pattern, "^"), "")
		return
	}
	if strings.ContainsAny(expression, "\"'^") {
		c.leave(e, whyCannotBeSaid, "it is tried on JSON there, where quotes and the beginning of a line look different")
		return
	}
	specs, why := specifiers(expression, false)
	if why != "" {
		c.leave(e, whyCannotBeSaid, why)
		return
	}
	rules := make([]string, len(specs))
	for i, spec := range specs {
		rules[i] = "Bash(" + spec + ")"
	}
	c.take(e, Tightened, whyNarrower, "words end where they end here", rules...)
}
