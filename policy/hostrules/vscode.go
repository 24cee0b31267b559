package hostrules

import (
	"regexp"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/jsonc"
	"github.com/agent-wrapper/agent-wrapper/internal/lazyregexp"
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
	for i := range files {
		s, err := tree(&files[i])
		if err != nil {
			return err
		}
		r := vscode{collector: c, settings: s, off: isFalse(vscodeSettings(s.root).Member("chat.tools.terminal.enableAutoApprove"))}
		for j := range vscodeSettings(s.root).Members {
			r.setting(&vscodeSettings(s.root).Members[j])
		}
		r.prefixes()
	}
	return nil
}

type vscode struct {
	*collector
	*settings
	off   bool // nothing in the terminal is approved
	stops []string
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
	case m != nil && m[1] == ".*" && e.list == patterns.Allow:
		r.leave(e, whyTooMuch, "here it would allow writes outside the workspace too: add Bash to the allow list where you mean it")
	case m != nil && m[1] == ".*":
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
	default:
		if e.list != patterns.Allow {
			r.stops = append(r.stops, key)
		}
		r.take(e, Taken, whyRewritten, "", "Bash("+key+":*)")
	}
}

// expression takes a rule by an expression.
func (r *vscode) expression(e *entry, text, flags string, line bool) {
	if matchesNothing(text) {
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
		continued := false
		for _, rule := range r.allow {
			rest, ok := strings.CutPrefix(rule, "Bash("+key)
			continued = continued || ok && !wordByte(rest[0]) && !strings.HasPrefix(rest, ":*") && rest[0] != ' ' && rest[0] != ')'
		}
		if continued {
			r.granularRule(&entry{list: patterns.Ask}, "^"+regexp.QuoteMeta(key)+`\b`, "")
		}
	}
}

// edit takes a rule for files that are edited.
func (r *vscode) edit(e *entry, glob string, _ bool) {
	switch {
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
