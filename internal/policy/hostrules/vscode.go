package hostrules

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/jsonc"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// VS Code: "chat.tools.terminal.autoApprove": {"git status": true, "/^rm\\b/": false}. True
// allows and false asks, whatever else allows; null takes a default away. A key is the
// beginning of a command, up to the end of a word, or an expression between slashes.

const (
	vscodeTerminal = "chat.tools.terminal.autoApprove"
	vscodeEdits    = "chat.tools.edits.autoApprove"
	vscodeURLs     = "chat.tools.urls.autoApprove"
)

// vscodeTerminals are the names that the list of commands has had.
var vscodeTerminals = []string{vscodeTerminal, "chat.agent.terminal.autoApprove"}

// vscodeSettings returns the settings in a file of any of its forms.
func vscodeSettings(root *jsonc.Node) *jsonc.Node {
	for _, path := range [][]string{{"settings"}, {"customizations", "vscode", "settings"}} {
		n := root
		for _, key := range path {
			if n != nil {
				n = n.Member(key)
			}
		}
		if n != nil && n.Kind == '{' {
			return n
		}
	}
	return root
}

func hasVSCode(f *File) bool {
	root, err := jsonc.Tree(f.Name, text(f))
	if err != nil {
		return false
	}
	for _, m := range vscodeSettings(root).Members {
		if strings.HasPrefix(m.Name, "chat.tools.") || strings.HasPrefix(m.Name, "chat.agent.terminal.") {
			return true
		}
	}
	return false
}

func readVSCode(c *collector, files []File) error {
	r := vscode{collector: c, own: map[string]bool{}}
	var read []*settings
	for i := range files {
		s, err := tree(&files[i])
		if err != nil {
			return err
		}
		read = append(read, s)
		n := vscodeSettings(s.root)
		r.off = r.off || isFalse(n.Member("chat.tools.terminal.enableAutoApprove"))
		r.without = r.without || isTrue(n.Member("chat.tools.terminal.ignoreDefaultAutoApproveRules"))
		if writes := n.Member("chat.tools.terminal.blockDetectedFileWrites"); writes != nil && writes.Text == "all" {
			r.writes = true
		}
		for _, name := range vscodeTerminals {
			if list := n.Member(name); list != nil {
				for _, m := range list.Members {
					r.own[m.Name] = true
				}
			}
		}
	}
	for _, s := range read {
		r.settings = s
		for j := range vscodeSettings(s.root).Members {
			r.setting(&vscodeSettings(s.root).Members[j])
		}
	}
	r.defaults()
	r.prefixes()
	return nil
}

type vscode struct {
	*collector
	*settings                 // the file that is read
	off       bool            // nothing in the terminal is approved
	without   bool            // its default rules do not count
	writes    bool            // it asks about all that commands write
	own       map[string]bool // the keys for commands, which replace its defaults
	stops     []string
}

// vscodeFree are keys that VS Code approves by default, as our rules.
var vscodeFree = map[string]string{"pwd": "Bash(pwd)", "echo": "Bash(echo:*)", "which": "Bash(which:*)"}

// vscodeAsks are keys that VS Code asks about by default, whatever else approves. For those
// that are expressions, words is one for the words of a command.
var vscodeAsks = []struct{ key, words string }{
	{key: "rm"}, {key: "rmdir"}, {key: "del"}, {key: "ri"}, {key: "rd"}, {key: "erase"}, {key: "dd"}, {key: "kill"}, {key: "ps"}, {key: "top"}, {key: "curl"}, {key: "wget"}, {key: "irm"}, {key: "iwr"},
	{key: "chmod"}, {key: "chown"}, {key: "sp"}, {key: "jq"}, {key: "xargs"}, {key: "eval"}, {key: "iex"},
	{`/^git(\s+(-C\s+\S+|--no-pager))*\s+log\b.*\s--output(=|\s|$)/`, `^git .*\blog\b.* --output`},
	{`/^git(\s+(-C\s+\S+|--no-pager))*\s+branch\b.*\s-(d|D|m|M|-delete|-force)\b/`, `^git .*\bbranch\b.* -(?:d|D|m|M|-delete|-force)\b`},
	{`/^column\b.*\s-c\s+[0-9]{4,}/`, `^column\b.* -c [0-9]{4,}`},
	{`/^date\b.*\s(-s|--set)\b/`, `^date\b.* (?:-s|--set)\b`},
	{`/^find\b.*\s-(delete|exec|execdir|fprint|fprintf|fls|ok|okdir)\b/`, `^find\b.* -(?:delete|exec|execdir|fprint|fprintf|fls|ok|okdir)\b`},
	{`/^rg\b.*\s(--pre|--hostname-bin)\b/`, `^rg\b.* (?:--pre|--hostname-bin)\b`},
	{`/^sed\b.*\s(-[a-zA-Z]*(e|f)[a-zA-Z]*|--expression|--file)\b/`, `^sed\b.* (?:-[a-zA-Z]*[ef][a-zA-Z]*|--expression|--file)\b`},
	{`/^sed\b.*s\/.*\/.*\/[ew]/`, `^sed\b.*s/.*/.*/[ew]`},
	{`/^sort\b.*\s-(o|S)\b/`, `^sort\b.* -[oS]\b`},
	{`/^tree\b.*\s-o\b/`, `^tree\b.* -o\b`},
}

// defaults adds what VS Code says without a rule: what it approves, unless a key of the same
// name says otherwise, and what it asks about, where a rule of ours may allow it.
func (r *vscode) defaults() {
	if r.off || r.without {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(vscodeFree)) {
		if !r.own[key] {
			r.freeAllow = append(r.freeAllow, vscodeFree[key])
		}
	}
	for _, asks := range vscodeAsks {
		program := strings.TrimPrefix(asks.key, "/^")
		program = program[:strings.IndexFunc(program+".", func(c rune) bool { return c < 'a' || c > 'z' })]
		switch {
		case r.own[asks.key] || !slices.ContainsFunc(r.allow, func(rule string) bool { return mayAllow(rule, program) }):
		case asks.words != "":
			r.granularRule(&entry{list: patterns.Ask}, asks.words, "")
		default:
			r.stops = append(r.stops, asks.key)
			r.freeAsk = append(r.freeAsk, "Bash("+asks.key+":*)")
		}
	}
}

// mayAllow reports whether a rule may allow commands whose text begins with the name of a
// program.
func mayAllow(rule, program string) bool {
	spec, ok := strings.CutPrefix(rule, "Bash(")
	first := strings.FieldsFunc(spec, func(c rune) bool { return c == ' ' || c == ':' || c == ')' })
	switch {
	case rule == "Bash" || ok && len(first) == 0:
		return true
	case !ok:
		return false
	}
	fixed, _, star := strings.Cut(first[0], "*")
	return strings.HasPrefix(fixed, program) || star && strings.HasPrefix(program, fixed)
}

// setting reads a setting.
func (r *vscode) setting(m *jsonc.Member) {
	e := &entry{at: r.key(m), word: "setting", text: m.Name}
	switch {
	case m.Name == vscodeEdits:
		r.each(m, r.edit)
	case m.Name == vscodeURLs:
		r.each(m, r.url)
	case m.Name == vscodeTerminals[0] || m.Name == vscodeTerminals[1]:
		r.each(m, r.command)
	case m.Name == "chat.tools.global.autoApprove" || m.Name == "chat.tools.autoApprove":
		if isTrue(&m.Value) {
			r.leave(e, whyTooMuch, "use run --mode bypassPermissions where you mean it")
		}
	case m.Name == "chat.tools.terminal.enableAutoApprove" && r.off:
		r.report(e, Taken, whySame, "commands are asked about")
	}
}

// each reads the members of a setting.
func (r *vscode) each(m *jsonc.Member, read func(e *entry, key string, line bool)) {
	if m.Value.Kind != '{' {
		r.leave(&entry{at: r.key(m), word: "setting", text: m.Name}, whyNotARule, "it must be an object")
		return
	}
	for i := range m.Value.Members {
		item := &m.Value.Members[i]
		e := &entry{at: r.key(item), word: shown(&item.Value), text: item.Name}
		value, line := &item.Value, false
		if value.Kind == '{' {
			approve := value.Member("approve")
			line = isTrue(value.Member("matchCommandLine"))
			for _, field := range value.Members {
				switch field.Name {
				case "approve", "matchCommandLine":
				case "approveRequest", "approveResponse":
					if approve == nil || isFalse(&field.Value) {
						approve = &field.Value
					}
				default:
					line = true // it says something that we do not know
				}
			}
			value = approve
		}
		switch {
		case value != nil && value.Kind == 'n':
			e.word = "null"
			r.leave(e, whyIsDefault, "it takes a default away, and what no rule allows is asked about")
		case isTrue(value):
			e.list, e.word = patterns.Allow, "true"
			read(e, item.Name, line)
		case isFalse(value):
			e.list, e.word = patterns.Ask, "false"
			read(e, item.Name, line)
		default:
			r.leave(e, whyNotARule, "write true or false")
		}
	}
}

var slashed = lazyregexp.New(`^/(.+)/([dgimsuvy]*)$`)

// command takes a rule for commands; line is set if it is about the whole line. An allow for a
// line says nothing of its commands in another line.
func (r *vscode) command(e *entry, key string, line bool) {
	m := slashed.FindStringSubmatch(key)
	switch {
	case r.off && e.list == patterns.Allow:
		r.leave(e, whyOverridden, "chat.tools.terminal.enableAutoApprove is false")
	case key == "":
		r.leave(e, whyNeverMatches, "")
	case m != nil && slices.Contains(anyCommand, m[1]) && e.list == patterns.Allow:
		r.leave(e, whyTooMuch, "here it would allow writes outside the workspace too: add Bash to the allow list where you mean it")
	case m != nil && slices.Contains(anyCommand, m[1]):
		r.take(e, Taken, whyRewritten, "", "Bash")
	case m != nil:
		r.expression(e, m[1], m[2], line)
	case strings.ContainsAny(key, "*'\"$`|&;<>()\n"):
		if e.list == patterns.Allow {
			r.leave(e, whyNeverMatches, "the key is no pattern there: its characters stand for themselves")
			return
		}
		r.closedBy(e, "it is compared with the text of a command there, and with its words here", longest(key))
	case e.list == patterns.Allow && line:
		r.leave(e, whyCannotBeSaid, "it is about lines that begin so, and a rule here is about each command")
	case e.list == patterns.Allow:
		r.beginning(e, key)
	default:
		r.stops = append(r.stops, key)
		var rules []string
		for _, text := range written(key) {
			if wordByte(text[len(text)-1]) {
				rules = append(rules, "Bash("+text+":*)")
			} else {
				rules = append(rules, "Bash("+text+"*)")
			}
		}
		r.take(e, Taken, whyRewritten, "", rules...)
	}
}

// anyCommand are expressions that match every command.
var anyCommand = []string{".*", "^", "$"}

// written returns the texts that a key stands for: of a path, also the one behind "./". Either
// slash separates its names.
func written(key string) []string {
	if !strings.ContainsAny(key, `/\`) {
		return []string{key}
	}
	key = strings.ReplaceAll(key, `\`, "/")
	return []string{key, "./" + key}
}

// beginning takes an allow for commands that begin with a key, up to the end of a word. Behind
// a key that ends in no word, a word has to begin: what does not is asked about.
func (r *vscode) beginning(e *entry, key string) {
	var rules []string
	for _, text := range written(key) {
		switch {
		case wordByte(text[len(text)-1]):
			rules = append(rules, "Bash("+text+":*)")
			continue
		case strings.HasSuffix(text, " "):
			r.leave(e, whyCannotBeSaid, "take the blank at its end away")
			return
		}
		rules = append(rules, "Bash("+text+"*)")
	}
	if texts := written(key); !wordByte(key[len(key)-1]) {
		pattern := regexp.QuoteMeta(texts[0]) + `(?:\W|$)`
		if len(texts) > 1 {
			pattern = `(?:\./)?` + pattern
		}
		r.granularRule(&entry{list: patterns.Ask}, "^"+pattern, "")
	}
	r.take(e, Taken, whyRewritten, "", rules...)
}

// expression takes a rule by an expression.
func (r *vscode) expression(e *entry, text, flags string, line bool) {
	if matchesNothing(text) || slices.Contains([]string{"^$", `^\s*$`}, text) {
		r.leave(e, whyNeverMatches, "VS Code ignores an expression that matches the empty text")
		return
	}
	if strings.Trim(flags, "gi") != "" && e.list == patterns.Allow {
		r.leave(e, whyCannotBeSaid, "the flags "+flags)
		return
	}
	if e.list != patterns.Allow {
		pattern, ok := loose(text, strings.Contains(flags, "i"))
		if line || !ok || strings.Trim(flags, "gi") != "" {
			r.closedBy(e, "it looks at more than the words of one command", longest(literals(parseExpression(text))...))
			return
		}
		r.granular(e, Tightened, whyWider, "", pattern, "")
		return
	}
	if line {
		r.leave(e, whyCannotBeSaid, "it is about lines, and a rule here is about each command")
		return
	}
	specs, why := specifiers(text, true)
	if why != "" {
		r.leave(e, whyCannotBeSaid, why)
		return
	}
	rules := make([]string, len(specs))
	for i, spec := range specs {
		rules[i] = "Bash(" + spec + ")"
	}
	r.take(e, Taken, whyRewritten, "", rules...)
}

// prefixes asks about keys as they count there, up to the end of a word: "rm" is also about
// "rm-old", if an allow may be.
func (r *vscode) prefixes() {
	for _, key := range r.stops {
		for _, text := range written(key) {
			continued := false
			for _, rule := range r.allow {
				rest, ok := strings.CutPrefix(rule, "Bash("+text)
				continued = continued || ok && !wordByte(rest[0]) && !strings.HasPrefix(rest, ":*") && rest[0] != ' ' && rest[0] != ')'
			}
			if continued {
				r.granularRule(&entry{list: patterns.Ask}, "^"+regexp.QuoteMeta(text)+`\b`, "")
			}
		}
	}
}

// edit takes a rule for files that are edited.
func (r *vscode) edit(e *entry, glob string, _ bool) {
	switch {
	case e.list == patterns.Allow && r.writes:
		r.leave(e, whyCannotBeSaid, "a rule for Edit is about what commands write as well, and VS Code asks about that here")
	case e.list == patterns.Allow && (glob == "**/*" || glob == "**" || glob == "*"):
		r.take(e, Taken, whyWorkspace, "", "Edit(./**)")
	case e.list == patterns.Allow && !strings.HasPrefix(glob, "**/"):
		r.leave(e, whyCannotBeSaid, `begin it with "**/"`)
	case strings.HasPrefix(glob, "**/") || strings.HasPrefix(glob, "/"):
		r.take(e, Taken, whySame, "", "Edit("+rooted(glob)+")")
	default:
		r.take(e, Tightened, whyWider, "", "Edit(**/"+glob+")")
	}
}

// url takes a rule for a URL.
func (r *vscode) url(e *entry, pattern string, _ bool) {
	host := strings.TrimPrefix(pattern, "https://")
	host = strings.TrimPrefix(host, "http://")
	host, _, _ = strings.Cut(host, "/")
	switch {
	case e.list == patterns.Allow:
		r.leave(e, whyCannotBeSaid, "a rule here is about a host with all its addresses: write WebFetch(domain:"+host+")")
	default:
		if rule, f := parse("WebFetch(domain:"+host+")", e.list); f == nil {
			r.put(e, Tightened, whyWider, "the host with all its addresses", rule)
			return
		}
		r.closed(e, "a rule here is about a host", "WebFetch")
	}
}
