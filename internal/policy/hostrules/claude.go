package hostrules

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/spelling"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Claude Code: {"permissions": {"allow": [...], "ask": [...], "deny": [...]}}. A deny of
// any file counts before an ask, and an ask before an allow, as here.

// claudeLists are the lists of its permissions.
var claudeLists = map[string]patterns.List{"allow": patterns.Allow, "ask": patterns.Ask, "deny": patterns.Deny}

// claudeKeys are the other keys of its permissions.
var claudeKeys = []string{"defaultMode", "additionalDirectories", "disableBypassPermissionsMode", "disableAutoMode"}

// claudeEdits is what its mode acceptEdits documents to accept. Ours accepts more.
var claudeEdits = []string{"Edit(**)", "Bash(mkdir:*)", "Bash(touch:*)", "Bash(cp:*)", "Bash(mv:*)"}

func readClaude(c *collector, files []File) error {
	for i := range files {
		s, err := tree(&files[i])
		if err != nil {
			return err
		}
		r := claudeFile{collector: c, settings: s, scope: c.scope(&files[i])}
		r.misplaced()
		p := s.root.Member("permissions")
		if p == nil {
			continue
		}
		if p.Kind != '{' {
			c.leave(&entry{at: s.place(p), word: "permissions", text: shown(p)}, whyNotARule, "it must be an object")
			continue
		}
		for j := range p.Members {
			r.member(&p.Members[j])
		}
	}
	c.aboveAll()
	return nil
}

// misplaced reports keys that count in the permissions only.
func (r *claudeFile) misplaced() {
	for i := range r.root.Members {
		m := &r.root.Members[i]
		if _, isList := claudeLists[m.Name]; isList || slices.Contains(claudeKeys, m.Name) {
			r.leave(&entry{at: r.key(m), word: "settings", text: m.Name}, whyUnknownKey, "it counts in permissions only")
		}
	}
}

// aboveAll takes rules that ask about or deny everything above the workspace, such as
// Read(../**). What no rule allows is asked about anyway, and what one allows outside, by its
// own pattern; if one allows everything, so is everything.
func (c *collector) aboveAll() {
	for _, e := range c.above {
		tool := toolOf(e.text)
		var outside []string
		for _, rule := range c.allow {
			switch {
			case rule == tool, rule == "Edit" && tool == "Write":
				outside = []string{tool}
			case strings.HasPrefix(rule, tool+"(/"), strings.HasPrefix(rule, tool+"(~"):
				outside = append(outside, rule)
			}
		}
		if len(outside) == 0 {
			c.leave(e, whyIsDefault, "no rule allows anything above the workspace, so that it is asked about")
			continue
		}
		c.putInto(patterns.Ask, e, Tightened, whyWider, "what other rules allow outside is asked about", outside...)
	}
}

// scope says where the pattern "/x" of a settings file begins.
type scope struct {
	project bool   // at the root of the project, whatever one reads
	dir     string // or at the file, of other settings
}

func (c *collector) scope(f *File) scope {
	dir := filepath.ToSlash(filepath.Dir(cmp.Or(f.Path, f.Name)))
	home := filepath.ToSlash(c.options.Home)
	switch {
	case home != "" && dir == home+"/.claude":
		return scope{dir: "~/.claude"}
	case strings.HasPrefix(filepath.Base(f.Name), "managed-settings") || strings.HasSuffix(dir, "managed-settings.d"):
		return scope{dir: rooted(dir)}
	}
	return scope{project: true}
}

type claudeFile struct {
	*collector
	*settings
	scope scope
}

// member reads a member of the permissions.
func (r *claudeFile) member(m *jsonc.Member) {
	e := &entry{at: r.key(m), word: "permissions", text: m.Name}
	list, isList := claudeLists[m.Name]
	switch {
	case isList && m.Value.Kind == '[':
		for i := range m.Value.Items {
			item := &m.Value.Items[i]
			e := &entry{at: r.settings.place(item), list: list, word: m.Name, text: shown(item)}
			if item.Kind != '"' {
				r.leave(e, whyNotARule, "it must be a text")
				continue
			}
			r.rule(e)
		}
	case isList:
		r.leave(e, whyNotARule, "it must be an array")
	case m.Name == "defaultMode":
		r.mode(&entry{at: r.settings.place(&m.Value), word: m.Name, text: shown(&m.Value)})
	case m.Name == "additionalDirectories":
		r.directories(&m.Value)
	case slices.Contains(claudeKeys, m.Name):
		r.leave(e, whyIsDefault, "a mode that skips permissions needs a flag of the run here")
	default:
		note := ""
		if near := spelling.Nearest(m.Name, slices.Values(append(slices.Clone(claudeKeys), "allow", "ask", "deny"))); near != "" {
			note = "did you mean " + near + "? Nothing in it counts there"
		}
		r.leave(e, whyUnknownKey, note)
	}
}

// mode takes the mode in which the agent begins.
func (r *claudeFile) mode(e *entry) {
	switch e.text {
	case "default":
		r.leave(e, whyIsDefault, "")
	case "plan", "dontAsk":
		r.out.Draft.Mode = e.text
		r.report(e, Taken, whySame, "", "mode "+e.text)
	case "acceptEdits":
		e.list = patterns.Allow
		r.take(e, Taken, whyRewritten, "as rules, because the mode here accepts more commands", claudeEdits...)
	case "bypassPermissions", "auto":
		r.leave(e, whyTooMuch, "use run --mode bypassPermissions where you mean it")
	default:
		r.leave(e, whyNotARule, "")
	}
}

// directories takes further directories, which may be read.
func (r *claudeFile) directories(n *jsonc.Node) {
	for i := range n.Items {
		item := &n.Items[i]
		e := &entry{at: r.settings.place(item), list: patterns.Allow, word: "additionalDirectories", text: shown(item)}
		dir := strings.TrimRight(item.Text, "/")
		switch {
		case item.Kind != '"' || dir == "":
			r.leave(e, whyNotARule, "")
		case strings.ContainsAny(dir, `*?[]{}\`) || !strings.HasPrefix(dir, "/") && !strings.HasPrefix(dir, "~/"):
			r.leave(e, whyCannotBeSaid, "name it with --add-dir when you run the agent")
		default:
			r.take(e, Tightened, whyNarrower, "reading is allowed there; edits need --add-dir", "Read("+rooted(dir)+"/**)")
		}
	}
}

// rooted returns an absolute path as both we and Claude Code write it.
func rooted(path string) string {
	if strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "//") {
		return "/" + path
	}
	return path
}

// rule takes a rule.
func (r *claudeFile) rule(e *entry) {
	if strings.TrimSpace(e.text) == "" {
		r.leave(e, whyNotARule, "it is empty")
		return
	}
	text := r.mended(e)
	if text == "" {
		return
	}
	why, o := whySame, Taken
	if text != strings.TrimSpace(e.text) {
		why, o = whyMeant, Tightened
	}
	name, spec, hasSpec := cutRule(text)
	switch {
	case strings.Contains(name, "*"):
		r.globbed(e, o, why, name, hasSpec)
	case !hasSpec:
		r.take(e, o, why, "", text)
	case r.parameter(e, name, spec):
	case name == "Bash":
		r.command(e, o, why, spec)
	case name == "PowerShell" && strings.Trim(spec, "* ") != "":
		r.powerShell(e, spec)
	case name == "WebFetch":
		r.fetch(e, o, why, spec)
	case tools.Builtin(name) != nil && (tools.Builtin(name).Does == tools.Read || tools.Builtin(name).Does == tools.Write):
		r.path(e, o, why, name, spec)
	default:
		r.take(e, o, why, "", text)
	}
}

// cutRule splits Tool(specifier).
func cutRule(text string) (name, spec string, hasSpec bool) {
	name, spec, hasSpec = strings.Cut(text, "(")
	return strings.TrimSpace(name), strings.TrimSuffix(spec, ")"), hasSpec
}

// mended returns the text of a rule, or, of a rule that asks or denies and that Claude Code
// cannot read, what it seems to say. It is "" if there is nothing to take.
func (r *claudeFile) mended(e *entry) string {
	text := strings.TrimSpace(e.text)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	what, better := "", ""
	switch {
	case open >= 0 && end > open && end != len(text)-1:
		what, better = `there is text after the closing ")"`, text[:end+1]
	case open >= 0 && end < open:
		what, better = `"(" is not closed`, text+")"
	case open == 0:
		what = "it names no tool"
	case open > 0 && strings.TrimSpace(strings.Trim(text[open+1:end], " ")) == "":
		what, better = "the parentheses are empty", text[:open]
	case open < 0 && end >= 0:
		what = `there is ")" without "("`
	default:
		return r.named(e, text)
	}
	if e.list == patterns.Allow || better == "" {
		r.leave(e, whyNeverMatches, what)
		return ""
	}
	return r.named(e, better)
}

// named returns the text of a rule with the tool that it means, "" if there is none.
func (r *claudeFile) named(e *entry, text string) string {
	name, _, _ := strings.Cut(text, "(")
	if strings.Contains(name, ":") {
		return r.colon(e, text)
	}
	if strings.HasPrefix(name, "mcp__") || strings.Contains(name, "*") || tools.Builtin(strings.TrimSpace(name)) != nil {
		return text
	}
	_, f := parse(strings.TrimSpace(name), patterns.Deny)
	if f == nil {
		return text
	}
	if better := suggested(f.what); better != "" && e.list != patterns.Allow && strings.HasPrefix(text, name) {
		return better + text[len(name):]
	}
	r.leave(e, whyUnknownTool, f.what)
	return ""
}

// colon returns what a rule of the form Tool:expression seems to say, if it asks or denies.
func (r *claudeFile) colon(e *entry, text string) string {
	_, f := parse(text, e.list)
	if f == nil {
		return text
	}
	better := suggested(f.what)
	if _, bad := parse(better, patterns.Ask); e.list != patterns.Allow && better != "" && bad == nil {
		return better
	}
	r.leave(e, whyNotARule, f.what)
	return ""
}

var didYouMean = lazyregexp.New(`did you mean (.+)\?$`)

// suggested returns the tool, or the rule, that a message suggests.
func suggested(what string) string {
	if m := didYouMean.FindStringSubmatch(what); m != nil {
		return m[1]
	}
	return ""
}

// globbed takes a rule with a wildcard in the name of its tool.
func (r *claudeFile) globbed(e *entry, o Outcome, why Reason, name string, hasSpec bool) {
	anchored := strings.HasPrefix(name, "mcp__") && !strings.Contains(strings.SplitN(name, "__", 3)[1], "*")
	switch {
	case hasSpec:
		r.leave(e, whyNeverMatches, "a tool with a wildcard takes no specifier")
	case name == "*" && e.list == patterns.Allow:
		r.leave(e, whyNeverMatches, `Claude Code skips an allow for "*"`)
	case e.list == patterns.Allow && !anchored:
		r.leave(e, whyNeverMatches, "Claude Code skips an allow with a wildcard, except behind the name of an MCP server")
	case name == "*" || strings.HasPrefix(name, "mcp__"):
		r.take(e, o, why, "", name)
	default:
		names := matching(name)
		if len(names) == 0 {
			r.leave(e, whyNeverMatches, "no tool has such a name")
			return
		}
		r.take(e, Taken, whyRewritten, "", names...)
	}
}

// matching returns the tools whose names a pattern with stars matches.
func matching(pattern string) []string {
	re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
	var names []string
	tools.Builtins(func(name string) {
		if re.MatchString(name) {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}

// claudeFields are fields of tools with which a rule may be about one of their values.
var claudeFields = map[string][]string{
	"Bash":  {"run_in_background", "timeout", "description", "dangerouslyDisableSandbox"},
	"Agent": {"model", "isolation", "subagent_type", "run_in_background", "name", "mode"},
	"Task":  {"model", "isolation", "subagent_type", "run_in_background", "name", "mode"},
}

// claudeIgnored are fields that a rule names in vain.
var claudeIgnored = map[string]string{
	"Bash": "command", "PowerShell": "command", "Read": "file_path", "Edit": "file_path", "Write": "file_path", "Grep": "path", "Glob": "path", "WebFetch": "url",
}

// parameter takes a rule about the value of a field, Tool(field:value).
func (r *claudeFile) parameter(e *entry, name, spec string) bool {
	field, value, ok := strings.Cut(spec, ":")
	field = strings.TrimSpace(field)
	switch {
	case !ok || strings.TrimSpace(value) == "":
		return false
	case claudeIgnored[name] == field && value != "*":
		r.leave(e, whyNeverMatches, "Claude Code does not read a rule about "+field+"; write "+name+"("+strings.TrimSpace(value)+")")
	case !slices.Contains(claudeFields[name], field) || value == "*" && name == "Bash":
		return false
	case e.list == patterns.Allow:
		r.leave(e, whyCondition, "the value of "+field)
	default:
		r.closed(e, "the value of "+field+" is no part of a rule", name)
	}
	return true
}

// command takes a rule for Bash.
func (r *claudeFile) command(e *entry, o Outcome, why Reason, spec string) {
	text := "Bash(" + spec + ")"
	rule, f := parse(text, e.list)
	switch {
	case f == nil && lineWithStar(e, spec):
		r.leave(e, whyNeverMatches, "a wildcard matches inside one command, and this is several")
	case f == nil:
		if rule != strings.TrimSpace(e.text) && why == whySame {
			why = whyRewritten
		}
		r.put(e, o, why, "", rule)
	case e.list == patterns.Allow && f.dead && !assigned.MatchString(spec):
		r.leave(e, whyNeverMatches, f.what)
	case e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, f.what)
	case assigned.MatchString(spec):
		r.assigning(e, assigned.ReplaceAllString(spec, ""), f)
	default:
		r.stopCommand(e, spec, f)
	}
}

// assigned is the beginning of a command with variables that are set for it.
var assigned = lazyregexp.New(`^(?:[A-Za-z_][A-Za-z0-9_]*=\S*\s+)+`)

// assigning takes an ask or a deny for a command with variables: it is asked about without
// them as well.
func (r *claudeFile) assigning(e *entry, spec string, f *fault) {
	if rule, bad := parse("Bash("+spec+")", patterns.Ask); bad == nil {
		r.putInto(patterns.Ask, e, Tightened, whyWider, "with whatever variables", rule)
		return
	}
	r.closed(e, f.what, "Bash")
}

// lineWithStar reports an allow with a wildcard for several commands. Ours would take the
// line by its letter.
func lineWithStar(e *entry, spec string) bool {
	return e.list == patterns.Allow && strings.Contains(spec, "*") && strings.ContainsAny(unquoted(spec), "|&;<>\n")
}

// unquoted returns a command line without what stands in quotes.
func unquoted(spec string) string {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(spec); i++ {
		switch ch := spec[i]; {
		case quote != 0:
			if ch == quote {
				quote = 0
			}
		case ch == '\'' || ch == '"':
			quote = ch
		default:
			b.WriteByte(ch)
		}
	}
	return b.String()
}

var (
	operators = lazyregexp.New(`\|\||&&|[|;&\n]`)
	redirects = lazyregexp.New(`[0-9&]?>>?&?\s*([^\s<>|;&]+)`)
)

// stopCommand takes an ask or a deny for commands that cannot be written as it is. Of a line of
// several commands the last is asked about; of a line that writes, what is written counts.
func (r *claudeFile) stopCommand(e *entry, spec string, f *fault) {
	spec = strings.TrimSuffix(spec, ":*")
	parts := strings.Split(operators.ReplaceAllString(spec, "\x00"), "\x00")
	last := strings.TrimSpace(parts[len(parts)-1])
	if m := redirects.FindStringSubmatch(last); m != nil {
		target := strings.TrimRight(m[1], "*")
		if rule, bad := parse("Edit("+rooted(m[1])+")", e.list); bad == nil && strings.Trim(target, "/") != "" {
			r.put(e, Tightened, whyWider, "whatever writes there", rule)
			return
		}
	}
	if len(parts) > 1 && strings.Trim(last, "* ") != "" {
		for _, text := range []string{last, strings.TrimRight(last, "* ") + ":*"} {
			if rule, bad := parse("Bash("+text+")", patterns.Ask); bad == nil {
				r.putInto(patterns.Ask, e, Tightened, whyWider, "the last of its commands is asked about, whatever comes before it", rule)
				return
			}
		}
	}
	if f.dead {
		r.leave(e, whyNeverMatches, f.what)
		return
	}
	if !strings.ContainsAny(spec, "|&;<>\n$`\"'\\()") {
		r.granular(e, Taken, whyRewritten, "", "^"+strings.ReplaceAll(regexp.QuoteMeta(spec), `\*`, ".*")+"( |$)", "")
		return
	}
	r.closedBy(e, f.what, longest(strings.ReplaceAll(spec, "*", "|")))
}

// powerShell takes a rule for PowerShell, of whose lines we know nothing.
func (r *claudeFile) powerShell(e *entry, spec string) {
	switch {
	case e.list == patterns.Allow && strings.Contains(spec, "*"):
		r.leave(e, whyCannotBeSaid, "PowerShell lines are not analysed here, so that a pattern proves nothing")
		return
	case e.list == patterns.Allow:
		r.take(e, Taken, whySame, "", "PowerShell("+spec+")")
		return
	}
	r.closed(e, "PowerShell lines are not analysed here", "PowerShell")
}

// fetch takes a rule for hosts.
func (r *claudeFile) fetch(e *entry, o Outcome, why Reason, spec string) {
	host, ok := strings.CutPrefix(strings.TrimSpace(spec), "domain:")
	host = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))
	switch {
	case spec == "*" || host == "*":
		r.take(e, Taken, whyRewritten, "", "WebFetch")
	case !ok && e.list == patterns.Allow:
		r.leave(e, whyNeverMatches, "Claude Code reads hosts behind domain: only; write WebFetch(domain:"+spec+")")
	case !ok:
		if rule, f := parse("WebFetch("+spec+")", e.list); f == nil {
			r.put(e, Tightened, whyMeant, "Claude Code reads hosts behind domain: only", rule)
			return
		}
		r.leave(e, whyNeverMatches, "Claude Code reads hosts behind domain: only")
	case e.list == patterns.Allow && local(host):
		r.leave(e, whyCannotBeSaid, "here a rule for this machine also allows curl and the like; add WebFetch("+host+") if you want that")
	default:
		r.take(e, o, why, "", "WebFetch(domain:"+host+")")
	}
}

// local reports whether a host is this machine, for which an allow rule of ours means
// commands as well.
func local(host string) bool {
	return host == "localhost" || strings.HasPrefix(host, "127.") || strings.HasSuffix(host, ".localhost") || strings.Contains(host, ":") || host == "0.0.0.0" || host == "*.localhost"
}

// path takes a rule for files.
func (r *claudeFile) path(e *entry, o Outcome, why Reason, tool, spec string) {
	spec = strings.TrimSpace(spec)
	specs, note := []string{spec}, ""
	switch {
	case windows.MatchString(spec):
		specs, why = []string{"//" + strings.ToLower(spec[:1]) + strings.ReplaceAll(spec[2:], `\`, "/")}, whyRewritten
	case strings.HasPrefix(spec, "//") || spec == "~" || strings.HasPrefix(spec, "~/"):
	case strings.HasPrefix(spec, "/"):
		if !r.scope.project && e.list == patterns.Allow {
			r.leave(e, whyCannotBeSaid, `"/" was the directory of these settings, and later the root of a project: write //x for an absolute path`)
			return
		}
		if why == whySame {
			why = whyRewritten
		}
		specs, note = []string{"." + spec}, `"/" is the root of the project there; an absolute path is "//"`
		if !r.scope.project {
			specs = append(specs, r.scope.dir+spec)
		}
	case strings.HasPrefix(spec, "../") && strings.Trim(spec, "./*") == "" && e.list != patterns.Allow:
		r.above = append(r.above, e)
		return
	case strings.HasPrefix(spec, "../") && e.list != patterns.Allow:
		o, why, specs = Tightened, whyWider, []string{"//**/" + strings.TrimLeft(spec, "./")}
	case strings.HasSuffix(spec, "/") && strings.Count(spec, "/") == 1:
		specs, why = []string{"**/" + spec}, whyRewritten
	}
	if more := below(specs); e.list != patterns.Allow && len(more) > 0 {
		specs = append(specs, more...)
		if why == whySame {
			why, note = whyRewritten, "it is about directories of such names, too"
		}
	}
	if e.list == patterns.Allow {
		if strings.ContainsAny(spec, "{}") {
			r.leave(e, whyNeverMatches, "patterns there have no braces: write a rule for each")
			return
		}
		if strings.Trim(spec, "*") == "" {
			specs = []string{"./**"} // "*" of some tools is all files there are
			if why == whySame {
				why = whyRewritten
			}
		}
	}
	texts := make([]string, len(specs))
	for i, s := range specs {
		texts[i] = tool + "(" + s + ")"
	}
	r.take(e, o, why, note, texts...)
}

// below returns patterns for what lies in directories whose names patterns with a "*" match:
// there, a pattern is about them as well.
func below(specs []string) (more []string) {
	for _, spec := range specs {
		name := spec[strings.LastIndexByte(spec, '/')+1:]
		switch {
		case !strings.Contains(name, "*") || name == "**":
		case name == spec:
			more = append(more, "**/"+spec+"/**")
		default:
			more = append(more, spec+"/**")
		}
	}
	return more
}

var windows = lazyregexp.New(`^[A-Za-z]:[\\/]`)
