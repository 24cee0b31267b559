package hostrules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// The law: a policy that is made of a host's rules allows nothing that the host's own rules
// would not allow. TestLaw draws settings and uses of tools; the policy decides each use,
// and so does a reading of what the host documents that has nothing in common with the
// importer. A use is drawn as what it does, so that no oracle parses a shell.

const (
	lawDir  = "/home/dev/proj"
	lawHome = "/home/dev"
)

// command is a command of a line, with what our rules take as the same command: a wrapper
// and a harmless variable before it, and options that only say where.
type command struct {
	before   string // "", "timeout 5 ", "CI=1 "
	words    []string
	inner    *command // in a substitution, its last word
	redirect string   // " > ", " >> "
	target   string   // of a redirection, "" if there is none
}

// text returns the command as its host compares it: quoted where it must be.
func (c *command) text() string {
	if c.inner != nil {
		outer := command{words: c.words}
		return outer.text() + " $(" + c.inner.text() + ")"
	}
	out := make([]string, len(c.words))
	for i, w := range c.words {
		out[i] = w
		if strings.ContainsAny(w, " ;") {
			out[i] = "'" + w + "'"
		}
	}
	return strings.Join(out, " ")
}

// writes returns the redirection as it is written.
func (c *command) writes() string { return cmp.Or(c.redirect, " > ") + c.target }

// use is a use of a tool.
type use struct {
	tool     string
	commands []command
	joints   []string // between the commands
	path     string   // as it is given, of a tool for files
	url      string
	name     string // of a skill; the query of a search
}

func (u *use) line() string {
	var b strings.Builder
	for i := range u.commands {
		c := &u.commands[i]
		if i > 0 {
			b.WriteString(u.joints[i-1])
		}
		b.WriteString(c.before + c.text())
		if c.target != "" {
			b.WriteString(c.writes())
		}
	}
	return b.String()
}

// unredirected returns the use without redirections: one is a write, unless a rule has one
// itself.
func (u *use) unredirected() *use {
	v := *u
	v.commands = slices.Clone(u.commands)
	for i := range v.commands {
		v.commands[i].target = ""
	}
	return &v
}

// all returns the commands of a line with those in substitutions.
func (u *use) all() (all []*command) {
	for i := range u.commands {
		all = append(all, &u.commands[i])
		if u.commands[i].inner != nil {
			all = append(all, u.commands[i].inner)
		}
	}
	return all
}

func (u *use) input() map[string]any {
	switch u.tool {
	case "Bash":
		return map[string]any{"command": u.line()}
	case "Read", "Write", "Edit":
		in := map[string]any{"file_path": u.path}
		switch u.tool {
		case "Write":
			in["content"] = "x"
		case "Edit":
			in["old_string"], in["new_string"] = "a", "b"
		}
		return in
	case "Grep":
		return map[string]any{"pattern": u.name, "path": u.path}
	case "WebFetch":
		return map[string]any{"url": u.url, "prompt": "x"}
	case "Skill":
		return map[string]any{"skill": u.name}
	}
	return map[string]any{"query": u.name}
}

// absolute returns where a path leads.
func absolute(p string) string {
	switch {
	case strings.HasPrefix(p, "~"):
		return lawHome + p[1:]
	case strings.HasPrefix(p, "/"):
		return path.Clean(p)
	}
	return path.Join(lawDir, p)
}

// within returns a path relative to the project, and whether it lies in it.
func within(p string) (rel string, inside bool) {
	return strings.CutPrefix(absolute(p), lawDir+"/")
}

// The vocabulary of uses and of rules.
var (
	programs = []string{"git", "git", "npm", "rm", "ls", "cat", "echo", "curl", "make", "rm-old", "sh", "mkdir", "find", "xargs", "sudo", "env", "scripts/a.sh", "./scripts/a.sh", "scripts/../x", "cp"}
	words    = []string{"status", "log", "push", "run", "test", "test:unit", "-rf", "--force", "src/a.go", ".env", "/etc/hosts", "main", "x", "a b", "build", "git", "rm", "-exec", "-delete", "-c", "../other/x", "--", ";", "-", "$HOME/x", "~/x"}
	files    = []string{"src/a.go", "src/x/b.go", ".env", "x/.env", ".env.local", "a.md", "docs/a.md", "/etc/hosts", "~/.zshrc", "../other/x", "secrets/k", "src/secrets/k", "foo", "src",
		"./src/a.go", "src/../.env", lawDir + "/src/a.go", lawDir + "/../other/x", "src/x/../a.go", "SRC/a.go", ".ENV", "secretsx/k", ".env.d/k", "foo/../../other/x", "docs/x/y.md", "foo/k", "x.md/k", ".env/k"}
	hosts   = []string{"example.com", "api.example.com", "evil.com", "localhost", "github.com"}
	servers = []string{"mcp__github__get", "mcp__github__push", "mcp__fs__read", "mcp__a_b__c"}
)

func drawUse(t *rapid.T) *use {
	u := &use{tool: rapid.SampledFrom([]string{"Bash", "Bash", "Bash", "Read", "Write", "Edit", "Grep", "WebFetch", "Skill", "WebSearch", "mcp"}).Draw(t, "tool")}
	switch u.tool {
	case "Bash":
		for i := range rapid.IntRange(1, 3).Draw(t, "commands") {
			if i > 0 {
				u.joints = append(u.joints, rapid.SampledFrom([]string{" && ", "; ", " | ", " || ", "\n"}).Draw(t, "joint"))
			}
			c := command{words: []string{rapid.SampledFrom(programs).Draw(t, "program")}}
			for range rapid.IntRange(0, 3).Draw(t, "words") {
				c.words = append(c.words, rapid.SampledFrom(words).Draw(t, "word"))
			}
			if rapid.IntRange(0, 9).Draw(t, "inner") == 0 {
				c.inner = &command{words: []string{rapid.SampledFrom(programs).Draw(t, "program"), rapid.SampledFrom(words).Draw(t, "word")}}
			}
			c.before = rapid.SampledFrom([]string{"", "", "", "timeout 5 ", "CI=1 "}).Draw(t, "before")
			c.redirect = rapid.SampledFrom([]string{" > ", " >> ", " 2> ", " &> ", " >| "}).Draw(t, "redirect")
			c.target = rapid.SampledFrom([]string{"", "", "", "", "out", "src/a.go", ".env", "/dev/sda", "~/.zshrc", "src/../../x"}).Draw(t, "target")
			u.commands = append(u.commands, c)
		}
	case "WebFetch":
		u.url = rapid.SampledFrom([]string{"https://", "http://"}).Draw(t, "scheme") + rapid.SampledFrom(hosts).Draw(t, "host") + rapid.SampledFrom([]string{"", "/a", "/b/c"}).Draw(t, "page")
	case "Skill":
		u.name = rapid.SampledFrom([]string{"deploy", "review", "deploy:x"}).Draw(t, "skill")
	case "mcp":
		u.tool = rapid.SampledFrom(servers).Draw(t, "mcp")
	default:
		u.path, u.name = rapid.SampledFrom(files).Draw(t, "file"), "x"
	}
	return u
}

// spellings returns the forms of a line that our rules take as the same.
func spellings(u *use) []*use {
	all := []*use{u}
	for i := range u.commands {
		add := func(set func(c *command)) {
			for _, u := range all[:len(all):len(all)] {
				v := *u
				v.commands = slices.Clone(u.commands)
				set(&v.commands[i])
				all = append(all, &v)
			}
		}
		for _, other := range respelled(u.commands[i].words) {
			add(func(c *command) { c.words = other })
		}
		if inner := u.commands[i].inner; inner != nil {
			for _, other := range respelled(inner.words) {
				add(func(c *command) { one := *inner; one.words = other; c.inner = &one })
			}
		}
	}
	for _, u := range all[:len(all):len(all)] { // without what stands before the commands
		v := *u
		v.commands = slices.Clone(u.commands)
		for i := range v.commands {
			v.commands[i].before = ""
		}
		all = append(all, &v)
	}
	return all
}

// respelled returns the other forms of a command: "npm run test" is "npm test", and
// "./a/b" is "a/b".
func respelled(w []string) (others [][]string) {
	switch {
	case len(w) > 1 && w[0] == "npm" && w[1] == "run":
		return [][]string{append([]string{"npm"}, w[2:]...)}
	case len(w) > 1 && w[0] == "npm":
		return [][]string{append([]string{"npm", "run"}, w[1:]...)}
	case !strings.Contains(w[0], "/") || strings.Contains(w[0], ".."):
		return nil
	}
	name := strings.TrimPrefix(strings.TrimPrefix(w[0], lawDir+"/"), "./")
	for _, before := range []string{"", "./", lawDir + "/"} {
		if other := before + name; other != w[0] && !strings.HasPrefix(name, "/") {
			others = append(others, append([]string{other}, w[1:]...))
		}
	}
	return others
}

// law is a host: settings as its file, and what it allows.
type law struct {
	host, file string
	draw       func(t *rapid.T) (text string, allows func(u *use) bool)
}

var laws = []law{
	{"claude", lawDir + "/.claude/settings.json", drawClaude},
	{"codex", "/home/dev/.codex/rules/default.rules", drawCodex},
	{"gemini", "/home/dev/.gemini/policies/p.toml", drawGemini},
	{"opencode", lawDir + "/opencode.json", drawOpenCode},
	{"vscode", lawDir + "/.vscode/settings.json", drawVSCode},
}

func TestLaw(t *testing.T) {
	for _, l := range laws {
		t.Run(l.host, func(t *testing.T) {
			t.Parallel()
			uses, ours, theirs := 0, 0, 0
			rapid.Check(t, func(t *rapid.T) {
				text, allows := l.draw(t)
				decide := imported(t, &l, text)
				for range 40 {
					u := drawUse(t)
					theirAllow := slices.ContainsFunc(spellings(u), allows)
					d := decide(u)
					uses++
					if theirAllow {
						theirs++
					}
					if d.Behavior != permission.Allow {
						continue
					}
					ours++
					if !theirAllow {
						input, _ := json.Marshal(u.input())
						t.Fatalf("allowed here (%s) and not there: %s %s\n%s", d.Reason, u.tool, input, text)
					}
				}
			})
			t.Logf("%d uses: %d allowed here, %d there", uses, ours, theirs)
			if ours == 0 {
				t.Error("nothing is allowed: the test shows nothing")
			}
		})
	}
}

type failer interface{ Fatalf(string, ...any) }

// imported returns the decider of the policy that is made of settings.
func imported(t failer, l *law, text string) func(u *use) permission.Decision {
	made, err := Read([]File{{Name: l.file, Text: []byte(text)}}, Options{Host: l.host, Home: lawHome})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	file, err := made.Draft.Text()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return decider(t, file)
}

// decider returns the decider of a policy.
func decider(t failer, file []byte) func(u *use) permission.Decision {
	spec, err := policy.Parse(file, "p")
	if err != nil {
		t.Fatalf("%v", err)
	}
	place := patterns.Place{Workspace: lawDir, Home: lawHome}
	p, session, _, err := spec.Compile(place)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return func(u *use) permission.Decision {
		input, err := json.Marshal(u.input())
		if err != nil {
			t.Fatalf("%v", err)
		}
		return permission.Evaluate(p, session, &permission.ToolUse{Tool: u.tool, Input: input, Dir: lawDir}, workspace.Fake{Dir: lawDir}, nil)
	}
}

// glob returns a pattern in which "*" is any text as an expression; open says that a final
// " *" need not match.
func glob(pattern, star string) *regexp.Regexp {
	text := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, star)
	if rest, ok := strings.CutSuffix(text, " "+star); ok {
		text = rest + "( " + star + ")?"
	}
	return regexp.MustCompile("(?s)^" + text + "$")
}

// Claude Code, by its page on permissions.

// ignores reports whether a pattern of gitignore, below a directory, matches a path or a
// directory above it.
func ignores(pattern, dir, p string) bool {
	rel, ok := strings.CutPrefix(p, strings.TrimSuffix(dir, "/")+"/")
	if !ok {
		return false
	}
	whole := strings.TrimSuffix(pattern, "/")
	floating := !strings.Contains(strings.TrimPrefix(whole, "./"), "/")
	whole = strings.TrimPrefix(strings.TrimPrefix(whole, "./"), "/")
	var b strings.Builder
	b.WriteString("^")
	if floating && !strings.HasPrefix(pattern, "./") {
		b.WriteString("(.*/)?")
	}
	for i, seg := range strings.Split(whole, "/") {
		switch {
		case seg == "**" && i == strings.Count(whole, "/"):
			b.WriteString(".+")
		case seg == "**":
			b.WriteString("(.*/)?")
		default:
			b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(seg), `\*`, "[^/]*"))
			if i < strings.Count(whole, "/") {
				b.WriteString("/")
			}
		}
	}
	re := regexp.MustCompile(b.String() + "$")
	for at := rel; at != "." && at != "/"; at = path.Dir(at) {
		if re.MatchString(at) && (at != rel || !strings.HasSuffix(pattern, "/")) {
			return true
		}
	}
	return false
}

// claudePath reports whether a path rule is about a path.
func claudePath(spec, p string) bool {
	at := absolute(p)
	switch {
	case strings.HasPrefix(spec, "//"):
		return ignores("/"+strings.TrimPrefix(spec[1:], "/"), "/", at)
	case strings.HasPrefix(spec, "~/"):
		return ignores(spec[1:], lawHome, at)
	case strings.HasPrefix(spec, "/"):
		return ignores(spec, lawDir, at)
	}
	return ignores(spec, lawDir, at)
}

var claudeRules = []string{
	"Bash(git status)", "Bash(git:*)", "Bash(git log *)", "Bash(git push:*)", "Bash(npm run test:*)", "Bash(npm*)", "Bash(rm *)", "Bash(rm:*)", "Bash(rm-old *)", "Bash(cat:*)", "Bash(cat *)",
	"Bash(* main)", "Bash(git * main)", "Bash(echo x)", "Bash(curl *)", "Bash(ls && git status)", "Bash(curl * | sh)", "Bash(*>.env)", "Bash(> /dev/*)", "Bash(make)", "Bash(make *)", "Bash", "Bash(*)",
	"Bash(xargs *)", "Bash(find *)", "Bash(find:*)", "Bash(sudo *)", "Bash(env:*)", "Bash(scripts/*)", "Bash(./scripts/a.sh:*)", "Bash(cp *)", "Bash(sh -c *)", "Edit(src/**/*.go)", "Read(./**/*secret*)", "Read(secrets*)", "Edit(.env.*)", "Read(SRC/**)",
	"Bash(rm -rf *)*", "Bash(done)", "Bash(git:* push)", "Bash(npm run test:unit)", "Bash(mkdir *)", "Bash(ls:*)", "Bash(git push --force:*)", "Bash(*x*)", "Bash(npm run 'a b')",
	"Read", "Edit", "Write", "Read(.env)", "Read(**/.env)", "Read(./.env)", "Read(src/**)", "Read(/src/**)", "Read(//etc/**)", "Read(~/.zshrc)", "Read(secrets/)", "Read(secrets/**)", "Read(*.md)", "Edit(src/**)",
	"Edit(/docs/*)", "Edit(*.md)", "Write(src/**)", "Edit(.env)", "Read(src)", "Edit(foo)", "Read(*)", "Edit(./**)", "Edit(src/*.{go,md})", "Read(../other/**)", "Grep", "Read(/etc/hosts)", "Read(.env*)", "Read(//**/.env)",
	"WebFetch", "WebFetch(domain:example.com)", "WebFetch(domain:*.example.com)", "WebFetch(domain:*)", "WebFetch(domain:localhost)", "WebFetch(domain:example.*)", "WebFetch(github.com)",
	"mcp__github", "mcp__github__*", "mcp__github__get", "mcp__github__g*", "mcp__*", "mcp__a_b__c", "*", "W*", "Skill(deploy)", "Skill(deploy:*)", "Skill", "WebSearch", "Bsh(git *)", "Agent(model:opus)",
}

func drawClaude(t *rapid.T) (string, func(u *use) bool) {
	lists := map[string][]string{}
	for _, name := range []string{"allow", "allow", "allow", "ask", "deny"} {
		lists[name] = append(lists[name], rapid.SliceOfN(rapid.SampledFrom(claudeRules), 0, 4).Draw(t, name)...)
	}
	mode := rapid.SampledFrom([]string{"", "", "acceptEdits", "bypassPermissions"}).Draw(t, "mode")
	permissions := map[string]any{"allow": lists["allow"], "ask": lists["ask"], "deny": lists["deny"]}
	if mode != "" {
		permissions["defaultMode"] = mode
	}
	text, _ := json.Marshal(map[string]any{"permissions": permissions})
	o := &claudeOracle{lists, mode}
	return string(text), o.allows
}

type claudeOracle struct {
	lists map[string][]string
	mode  string
}

// readOnly are commands that Claude Code documents to run without a rule.
var readOnly = regexp.MustCompile(`^(ls|cat|echo|pwd|head|tail|grep|find|wc|which|diff|stat|du)( |$)`)

func (o *claudeOracle) allows(u *use) bool {
	if o.mode == "bypassPermissions" { // the rules that ask and deny count there too
		return !o.any("deny", u) && !o.any("ask", u)
	}
	if o.any("deny", u) || o.any("ask", u) {
		return false
	}
	switch {
	case u.tool == "Bash":
		return o.line(u)
	case u.tool == "Read" || u.tool == "Grep":
		_, inside := within(u.path)
		return inside || o.any("allow", u)
	case u.tool == "Edit" || u.tool == "Write":
		_, inside := within(u.path)
		return o.any("allow", u) || o.mode == "acceptEdits" && inside
	}
	return o.any("allow", u)
}

// line reports whether an allow covers a line: as a whole, or each of its commands.
func (o *claudeOracle) line(u *use) bool {
	for _, c := range u.all() {
		if c.target != "" && !o.any("allow", &use{tool: "Edit", path: c.target}) && !o.bare("Bash") {
			if _, inside := within(c.target); o.mode != "acceptEdits" || !inside {
				return false
			}
		}
		single := &use{tool: "Bash", commands: []command{{words: c.words, inner: c.inner}}}
		if !o.any("allow", single) && !readOnly.MatchString(c.text()) && !(o.mode == "acceptEdits" && regexp.MustCompile(`^(mkdir|touch|cp|mv)( |$)`).MatchString(c.text())) {
			return o.any("allow", u) && u.commands[0].before == "" && len(u.commands) > 1 && c.target == ""
		}
	}
	return true
}

func (o *claudeOracle) bare(tool string) bool {
	for _, rule := range o.lists["allow"] {
		if rule == tool || rule == tool+"(*)" {
			return true
		}
	}
	return false
}

// any reports whether a rule of a list matches a use: of a deny or an ask, also one of its
// commands, or what a command that is known to read reads.
func (o *claudeOracle) any(list string, u *use) bool {
	for _, rule := range o.lists[list] {
		whole := u
		if list != "allow" && !strings.Contains(rule, ">") {
			whole = u.unredirected()
		}
		if claudeMatches(list, rule, whole) {
			return true
		}
		if list == "allow" {
			continue
		}
		for _, c := range u.all() {
			if claudeMatches(list, rule, &use{tool: "Bash", commands: []command{{words: c.words, inner: c.inner}}}) || strings.Contains(rule, ">") && claudeMatches(list, rule, &use{tool: "Bash", commands: []command{{words: c.words, inner: c.inner, redirect: c.redirect, target: c.target}}}) {
				return true
			}
			if c.target != "" && claudeMatches(list, rule, &use{tool: "Edit", path: c.target}) {
				return true
			}
			for _, w := range c.words[1:] {
				if c.words[0] == "cat" && w[0] != '-' && claudeMatches(list, rule, &use{tool: "Read", path: w}) {
					return true
				}
			}
		}
	}
	return false
}

func claudeMatches(list, rule string, u *use) bool {
	name, spec, hasSpec := strings.Cut(rule, "(")
	if hasSpec && !strings.HasSuffix(rule, ")") {
		return false // text behind the parenthesis
	}
	spec = strings.TrimSuffix(spec, ")")
	if strings.Contains(name, "*") {
		if list == "allow" && !regexp.MustCompile(`^mcp__[^*]+?__`).MatchString(name) || hasSpec {
			return false
		}
		return glob(name, ".*").MatchString(u.tool)
	}
	tool := u.tool
	switch {
	case name == "Edit" && tool == "Write", name == "Read" && tool == "Grep":
		tool = name
	case strings.HasPrefix(name, "mcp__") && strings.Count(name, "__") == 1:
		return strings.HasPrefix(tool, name+"__")
	}
	switch {
	case name != tool:
		return false
	case !hasSpec:
		return true
	case name == "Bash":
		if rest, ok := strings.CutSuffix(spec, ":*"); ok {
			spec = rest + " *"
		}
		return spec == "*" || glob(spec, ".*").MatchString(u.line())
	case name == "WebFetch":
		host, ok := strings.CutPrefix(spec, "domain:")
		at, _ := url.Parse(u.url)
		if !ok {
			return false
		}
		if rest, ok := strings.CutPrefix(host, "*."); ok {
			return strings.HasSuffix(at.Hostname(), "."+rest)
		}
		return host == "*" || glob(host, "[^.]*").MatchString(at.Hostname())
	case name == "Skill":
		rest, open := strings.CutSuffix(spec, ":*")
		return u.name == rest || open && (strings.HasPrefix(u.name, rest+":") || strings.HasPrefix(u.name, rest+" "))
	}
	return claudePath(spec, u.path)
}

// Codex, by the page on execpolicy.

func drawCodex(t *rapid.T) (string, func(u *use) bool) {
	type rule struct {
		pattern  [][]string
		decision string
	}
	var rules []rule
	var b strings.Builder
	for range rapid.IntRange(0, 6).Draw(t, "rules") {
		r := rule{decision: rapid.SampledFrom([]string{"allow", "allow", "prompt", "forbidden", ""}).Draw(t, "decision")}
		n := rapid.IntRange(1, 3).Draw(t, "length")
		var parts []string
		for i := range n {
			from := words
			if i == 0 {
				from = programs
			}
			alts := rapid.SliceOfN(rapid.SampledFrom(from), 1, 3).Draw(t, "word")
			r.pattern = append(r.pattern, alts)
			quoted := make([]string, len(alts))
			for j, a := range alts {
				quoted[j] = fmt.Sprintf("%q", a)
			}
			if part := strings.Join(quoted, ", "); len(alts) > 1 {
				parts = append(parts, "["+part+"]")
			} else {
				parts = append(parts, part)
			}
		}
		rules = append(rules, r)
		fmt.Fprintf(&b, "prefix_rule(pattern = [%s]", strings.Join(parts, ", "))
		if r.decision != "" {
			fmt.Fprintf(&b, ", decision = %q", r.decision)
		}
		b.WriteString(")\n")
	}
	safe := regexp.MustCompile(`^(cat|echo|grep|head|ls|pwd|tail|wc|which)( |$)`)
	decision := func(c *command) string {
		strictest := ""
		for _, r := range rules {
			if len(c.words) < len(r.pattern) {
				continue
			}
			match := true
			for i, alts := range r.pattern {
				one := false
				for _, a := range alts {
					one = one || a == c.words[i]
				}
				match = match && one
			}
			rank := map[string]int{"": 0, "allow": 1, "prompt": 2, "forbidden": 3}
			d := r.decision
			if d == "" {
				d = "allow"
			}
			if match && rank[d] > rank[strictest] {
				strictest = d
			}
		}
		return strictest
	}
	return b.String(), func(u *use) bool {
		if u.tool == "Read" || u.tool == "Grep" {
			return true // its sandbox may read everything
		}
		if u.tool != "Bash" {
			return false
		}
		for _, c := range u.all() {
			d := decision(c)
			if d == "" && safe.MatchString(c.text()) {
				d = "allow"
			}
			if d != "allow" || c.target != "" {
				return false
			}
		}
		return true
	}
}

// Gemini CLI, by the page on its policy engine.

func drawGemini(t *rapid.T) (string, func(u *use) bool) {
	type rule struct {
		tools      []string
		server     string
		prefix, re string
		args, mode string
		decision   string
		priority   int
	}
	var rules []rule
	var b strings.Builder
	for range rapid.IntRange(0, 7).Draw(t, "rules") {
		r := rule{
			decision: rapid.SampledFrom([]string{"allow", "allow", "ask_user", "deny"}).Draw(t, "decision"),
			priority: rapid.IntRange(0, 4).Draw(t, "priority"),
		}
		b.WriteString("[[rule]]\n")
		// A rule for commands with another tool is kept, and never matches.
		shells := [][]string{{"run_shell_command"}, {"run_shell_command"}, {"run_shell_command"}, {"read_file"}, {"web_fetch"}, {"read_file", "run_shell_command"}}
		tool := func() string {
			r.tools = rapid.SampledFrom(shells).Draw(t, "shell")
			list, _ := json.Marshal(r.tools)
			if len(r.tools) == 1 {
				list, _ = json.Marshal(r.tools[0])
			}
			return fmt.Sprintf("toolName = %s\n", list)
		}
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			r.prefix = rapid.SampledFrom([]string{"git", "git status", "git push", "npm run test", "rm", "cat", "git ", "echo x", "ls", "make *"}).Draw(t, "prefix")
			fmt.Fprintf(&b, "%scommandPrefix = %q\n", tool(), r.prefix)
			if rapid.IntRange(0, 5).Draw(t, "both") == 0 { // of both, the prefix counts
				b.WriteString("commandRegex = \"x\"\n")
			}
		case 1:
			r.re = rapid.SampledFrom([]string{"git (status|log)", "git", "npm run (test|build)", "rm( -rf)?", "rm .*x", "(git|npm) ", "echo$", "git.*push", "[a-z]+ x", "cat [^/]*", "rm\\\\b", "^git (status|log)( |$)", "^rm", "(^| )rm", "scripts/.*", "find( |$)"}).Draw(t, "regex")
			fmt.Fprintf(&b, "%scommandRegex = \"%s\"\n", tool(), r.re)
			r.re = strings.ReplaceAll(r.re, `\\`, `\`)
		case 2:
			r.server = rapid.SampledFrom([]string{"github", "fs", "*"}).Draw(t, "server")
			fmt.Fprintf(&b, "mcpName = %q\n", r.server)
			if rapid.Bool().Draw(t, "one") {
				r.tools = []string{"get"}
				b.WriteString("toolName = \"get\"\n")
			}
		default:
			r.tools = rapid.SliceOfN(rapid.SampledFrom([]string{"run_shell_command", "read_file", "write_file", "replace", "grep_search", "web_fetch", "google_web_search", "activate_skill", "*", "mcp_github_get", "mcp_github_*", "mcp_*", "mcp_a_*", "mcp_a_b_c", "search_file_content"}), 1, 3).Draw(t, "tools")
			list, _ := json.Marshal(r.tools)
			fmt.Fprintf(&b, "toolName = %s\n", list)
			if rapid.IntRange(0, 4).Draw(t, "args") == 0 {
				r.args = `"file_path":"src`
				fmt.Fprintf(&b, "argsPattern = '%s'\n", r.args)
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "mode") == 0 {
			r.mode = rapid.SampledFrom([]string{"plan", "default", "yolo"}).Draw(t, "modes")
			fmt.Fprintf(&b, "modes = [%q]\n", r.mode)
		}
		fmt.Fprintf(&b, "decision = %q\npriority = %d\n", r.decision, r.priority)
		rules = append(rules, r)
	}
	names := map[string]string{"Bash": "run_shell_command", "Read": "read_file", "Write": "write_file", "Edit": "replace", "Grep": "grep_search", "WebFetch": "web_fetch", "WebSearch": "google_web_search", "Skill": "activate_skill"}
	matches := func(r *rule, tool, server, mcp, args string) bool {
		if r.mode != "" && r.mode != "default" {
			return false
		}
		if r.server != "" {
			if server == "" || r.server != "*" && r.server != server || len(r.tools) > 0 && r.tools[0] != mcp {
				return false
			}
		} else {
			full := tool
			if server != "" {
				full = "mcp_" + server + "_" + mcp
			}
			one := false
			for _, name := range r.tools {
				if name == "search_file_content" { // as it was called
					name = "grep_search"
				}
				one = one || name == "*" || glob(name, ".*").MatchString(full)
			}
			if !one {
				return false
			}
		}
		if r.prefix != "" {
			text, _ := json.Marshal(r.prefix)
			if !regexp.MustCompile(`"command":` + regexp.QuoteMeta(strings.TrimSuffix(string(text), `"`)) + `(?:[\s"]|\\")`).MatchString(args) {
				return false
			}
		}
		if r.re != "" && !regexp.MustCompile(`"command":"`+r.re).MatchString(args) {
			return false
		}
		return r.args == "" || strings.Contains(args, r.args)
	}
	// Of rules with the same priority any may decide, so that allows must be none's.
	decide := func(tool, server, mcp, args string) bool {
		best, allow := -1, true
		for i := range rules {
			r := &rules[i]
			if !matches(r, tool, server, mcp, args) {
				continue
			}
			switch {
			case r.priority > best:
				best, allow = r.priority, r.decision == "allow"
			case r.priority == best:
				allow = allow && r.decision == "allow"
			}
		}
		if best < 0 {
			return tool == "read_file" || tool == "grep_search" || tool == "google_web_search"
		}
		return allow
	}
	return b.String(), func(u *use) bool {
		switch {
		case u.tool == "Bash":
			for _, c := range u.all() {
				args, _ := json.Marshal(map[string]string{"command": c.text()})
				if c.target != "" || !decide("run_shell_command", "", "", string(args)) {
					return false
				}
			}
			return true
		case strings.HasPrefix(u.tool, "mcp__"):
			parts := strings.SplitN(u.tool, "__", 3)
			return decide("", parts[1], parts[2], "{}")
		}
		if _, inside := within(u.path); u.path != "" && u.tool != "Skill" && u.tool != "WebSearch" && !inside {
			return false
		}
		args, _ := json.Marshal(map[string]string{"file_path": u.path})
		return decide(names[u.tool], "", "", string(args))
	}
}

// OpenCode, by its page on permissions.

func drawOpenCode(t *rapid.T) (string, func(u *use) bool) {
	type rule struct{ key, pattern, action string }
	var rules []rule
	action := func() string {
		return rapid.SampledFrom([]string{"allow", "allow", "ask", "deny"}).Draw(t, "action")
	}
	patternsOf := map[string][]string{
		"bash": {"*", "git *", "git status", "git push *", "npm run test:*", "npm *", "rm *", "rm -rf *", "cat *", "git*", "* main", "echo ?", "ls", "curl * | sh", "make *", "echo *", "npm run*"},
		"read": {"*", "*.env", "*.env.*", "src/*", "src/**", "*.md", "docs/a.md", "secrets/*", "**/secrets/**", "s*k", ".env.*", "secrets*", "src/*.go", "*/a.md", "docs/**/*.md", "s*/x/*"},
		"edit": {"*", "src/**", "*.md", "docs/*.md", "*.env*", "out", "**/a.go", "src/*", "s*/*.go", "src/x/*", ".e*v", "doc?/a.md"}, "write": {"*", "src/*"},
		"webfetch": {"*", "https://example.com/*", "https://*.example.com/*"}, "skill": {"*", "deploy", "dep*"}, "external_directory": {"*", "~/other/**"}, "grep": {"*", "x"},
	}
	var b strings.Builder
	b.WriteString(`{"permission": {`)
	keys := rapid.Permutation([]string{"*", "bash", "read", "edit", "webfetch", "skill", "github_*", "external_directory", "grep", "websearch", "github_get", "a_*", "a_b_c", "own-tool", "write", "glob"}).Draw(t, "keys")
	keys = keys[:rapid.IntRange(0, 8).Draw(t, "n")]
	for i, key := range keys {
		if i > 0 {
			b.WriteString(", ")
		}
		list := patternsOf[key]
		if len(list) == 0 || rapid.IntRange(0, 3).Draw(t, "plain") == 0 {
			a := action()
			fmt.Fprintf(&b, "%q: %q", key, a)
			rules = append(rules, rule{key, "*", a})
			continue
		}
		fmt.Fprintf(&b, "%q: {", key)
		for j, p := range rapid.Permutation(list).Draw(t, "patterns")[:rapid.IntRange(1, min(5, len(list))).Draw(t, "m")] {
			if j > 0 {
				b.WriteString(", ")
			}
			a := action()
			fmt.Fprintf(&b, "%q: %q", p, a)
			rules = append(rules, rule{key, p, a})
		}
		b.WriteString("}")
	}
	b.WriteString("}")
	// The older tools count where there is no permission of the same name, before the others.
	var older []rule
	b.WriteString(`, "tools": {`)
	for i, name := range rapid.Permutation([]string{"bash", "write", "webfetch", "github_get", "read"}).Draw(t, "tools")[:rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "older")] {
		if i > 0 {
			b.WriteString(", ")
		}
		on, key := rapid.Bool().Draw(t, "on"), name
		if name == "write" {
			key = "edit"
		}
		fmt.Fprintf(&b, "%q: %t", name, on)
		if !slices.Contains(keys, key) {
			older = append(older, rule{key, "*", map[bool]string{true: "allow", false: "deny"}[on]})
		}
	}
	b.WriteString("}")
	rules = append(older, rules...)
	// What one agent asks about or denies counts for all.
	var agent []rule
	if rapid.IntRange(0, 4).Draw(t, "agent") == 0 {
		key := rapid.SampledFrom([]string{"bash", "edit", "webfetch", "*"}).Draw(t, "key")
		a := action()
		agent = append(agent, rule{key, "*", a})
		fmt.Fprintf(&b, `, "agent": {"review": {"permission": {%q: %q}, "tools": {"read": false}}}`, key, a)
		agent = append([]rule{{"read", "*", "deny"}}, agent...)
	}
	b.WriteString("}")
	match := func(pattern, text string) bool {
		if rest, ok := strings.CutPrefix(pattern, "~"); ok {
			pattern = lawHome + rest
		}
		re := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern))
		if rest, ok := strings.CutSuffix(re, " .*"); ok {
			re = rest + "( .*)?"
		}
		return regexp.MustCompile("(?s)^" + re + "$").MatchString(text)
	}
	decide := func(key, text string) bool {
		last := "allow"
		switch {
		case key == "external_directory":
			last = "ask"
		case key == "read" && (match("*.env", text) || match("*.env.*", text)) && !match("*.env.example", text):
			last = "deny"
		}
		for _, r := range rules {
			if match(r.key, key) && match(r.pattern, text) {
				last = r.action
			}
		}
		all := last
		for _, r := range agent {
			if match(r.key, key) && match(r.pattern, text) {
				last = r.action
			}
		}
		return all == "allow" && last == "allow"
	}
	file := func(key, p string) bool {
		rel, inside := within(p)
		if !inside {
			return decide("external_directory", path.Dir(absolute(p))) && decide(key, absolute(p))
		}
		return decide(key, rel)
	}
	outside := regexp.MustCompile(`^(cd|rm|cp|mv|mkdir|touch|chmod|chown|cat)$`)
	return b.String(), func(u *use) bool {
		switch u.tool {
		case "Bash":
			for _, c := range u.all() {
				// A redirection is part of the command there, or an edit.
				if !decide("bash", c.text()) || c.target != "" && !file("edit", c.target) && !decide("bash", c.text()+c.writes()) {
					return false
				}
				for _, w := range c.words[1:] {
					if _, inside := within(w); outside.MatchString(c.words[0]) && !strings.HasPrefix(w, "-") && !inside && !decide("external_directory", path.Dir(absolute(w))) {
						return false
					}
				}
			}
			return true
		case "Read":
			return file("read", u.path)
		case "Write", "Edit":
			return file("edit", u.path)
		case "Grep":
			_, inside := within(u.path)
			return decide("grep", u.name) && (inside || decide("external_directory", absolute(u.path)))
		case "WebFetch":
			return decide("webfetch", u.url)
		case "Skill":
			return decide("skill", u.name)
		case "WebSearch":
			return decide("websearch", u.name)
		}
		parts := strings.SplitN(u.tool, "__", 3)
		return decide(parts[1]+"_"+parts[2], "*")
	}
}

// VS Code, by its pages on approvals.

func drawVSCode(t *rapid.T) (string, func(u *use) bool) {
	keys := []string{
		"git", "git status", "npm run test", "rm", "rm-old", "cat", "echo", "ls", "make", "/^git (status|log)\\b/", "/^git push\\b/", "/x/", "/.*/", "/^rm( |$)/", "/^npm run (test|build)$/", "/^cat [^/]*$/", "/git/i",
		"/^echo .*$/", "/^(git|npm) /", "/push/", "/^make\\s+x/", "/-rf/", "*", "git *", "/^/", "/^curl.*x$/", "/[/", "/(?!x)/", "/main$/", "npm run test:unit",
		"/^$/", "/$/", "/^rm/", "/^find/", "/^curl/", "find", "xargs", "scripts/", "scripts/a", "./scripts", `scripts\a.sh`, "git -", "npm run ", "curl", "env", "sudo", "pwd", "which", "cp",
	}
	type rule struct {
		key     string
		approve bool
		line    bool
	}
	var rules []rule
	config := map[string]any{}
	for _, key := range rapid.Permutation(keys).Draw(t, "keys")[:rapid.IntRange(0, 9).Draw(t, "n")] {
		switch rapid.IntRange(0, 6).Draw(t, "value") {
		case 0, 1, 2:
			config[key] = true
			rules = append(rules, rule{key, true, false})
		case 3, 4:
			config[key] = false
			rules = append(rules, rule{key, false, false})
		case 5:
			config[key] = nil
		case 6:
			approve := rapid.Bool().Draw(t, "approve")
			config[key] = map[string]any{"approve": approve, "matchCommandLine": true}
			rules = append(rules, rule{key, approve, true})
		}
	}
	settings := map[string]any{"editor.tabSize": 2, "chat.tools.terminal.autoApprove": config}
	off, without, writes := rapid.IntRange(0, 9).Draw(t, "off") == 0, rapid.IntRange(0, 4).Draw(t, "without") == 0, rapid.IntRange(0, 4).Draw(t, "writes") == 0
	if off {
		settings["chat.tools.terminal.enableAutoApprove"] = false
	}
	if without {
		settings["chat.tools.terminal.ignoreDefaultAutoApproveRules"] = true
	}
	if writes {
		settings["chat.tools.terminal.blockDetectedFileWrites"] = "all"
	}
	edits := map[string]bool{}
	for _, g := range []string{"**/*", "**/.env", "**/*.md", "**/src/**"} {
		if v := rapid.IntRange(0, 2).Draw(t, g); v > 0 {
			edits[g] = v == 1
		}
	}
	settings["chat.tools.edits.autoApprove"] = edits
	text, _ := json.Marshal(settings)

	compile := func(key string) *regexp.Regexp {
		never := regexp.MustCompile(`[^\s\S]`)
		if m := regexp.MustCompile(`^/(.+)/([a-z]*)$`).FindStringSubmatch(key); m != nil {
			if m[1] == ".*" {
				return regexp.MustCompile(m[1])
			}
			if strings.Contains(m[2], "i") {
				m[1] = "(?i)" + m[1]
			}
			re, err := regexp.Compile(m[1])
			special := m[1] == "^" || m[1] == "$" || m[1] == "^$"
			if err != nil || re.MatchString("") && !special {
				return never
			}
			return re
		}
		if strings.ContainsAny(key, `/\`) {
			var parts []string
			for _, part := range strings.FieldsFunc(key+"\x00", func(c rune) bool { return c == '/' || c == '\\' }) {
				parts = append(parts, regexp.QuoteMeta(strings.TrimSuffix(part, "\x00")))
			}
			return regexp.MustCompile(`^(?:\.[/\\])?` + strings.Join(parts, `[/\\]`) + `\b`)
		}
		return regexp.MustCompile("^" + regexp.QuoteMeta(key) + `\b`)
	}
	if !without {
		for _, key := range []string{"rm", "curl", "xargs", "/^find\\b.*\\s-(delete|exec|execdir|fprint|fprintf|fls|ok|okdir)\\b/"} {
			if _, own := config[key]; !own {
				rules = append(rules, rule{key, false, false})
			}
		}
		for _, key := range []string{"cd", "echo", "ls", "pwd", "cat", "head", "tail", "wc", "which", "find"} {
			if _, own := config[key]; !own {
				rules = append(rules, rule{key, true, false})
			}
		}
	}
	decide := func(text string, line bool) int {
		approved := 0
		for _, r := range rules {
			if r.line != line || !compile(r.key).MatchString(text) {
				continue
			}
			if !r.approve {
				return -1
			}
			approved = 1
		}
		return approved
	}
	edit := func(p string) bool {
		rel, inside := within(p)
		if !inside {
			return false
		}
		approved := false
		for g, v := range edits {
			re := strings.NewReplacer(`\*\*/`, "(.*/)?", `/\*\*`, "/.*", `\*`, "[^/]*").Replace(regexp.QuoteMeta(g))
			if !regexp.MustCompile("^" + re + "$").MatchString(rel) {
				continue
			}
			if !v {
				return false
			}
			approved = true
		}
		return approved
	}
	return string(text), func(u *use) bool {
		switch u.tool {
		case "Bash":
			whole, each := decide(u.line(), true), 1
			if off {
				return false
			}
			for _, c := range u.all() {
				d := decide(c.text(), false)
				// It asks about the writes that it detects outside, or about all.
				if _, inside := within(c.target); d < 0 || c.target != "" && (writes || !inside) {
					return false
				}
				each = min(each, d)
			}
			return whole >= 0 && (whole == 1 || each == 1)
		case "Read", "Grep":
			_, inside := within(u.path)
			return inside
		case "Write", "Edit":
			return edit(u.path)
		}
		return false
	}
}
