package patterns

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// ExactRule returns the text of the narrowest allow rule that covers the
// subject. It is "" if there is none, because a part of the subject is only
// known at run time or it is not clear what the subject names.
func ExactRule(sub *Subject) string {
	text := exactText(sub)
	if text == "" {
		return ""
	}
	r, _, err := ParseWith(sub.Known, text, Allow, Source{})
	if err != nil {
		return ""
	}
	fresh := *sub
	place := Place{}
	if sub.Path != nil {
		place = sub.Path.place
	}
	if r.bound(place, 0).match(&fresh, Query{}) != Yes {
		return ""
	}
	return text
}

func exactText(sub *Subject) string {
	switch sub.Kind {
	case RunCommand:
		return exactCommand(sub.Command)
	case ReadPath:
		return exactPath("Read", sub.Path)
	case WritePath:
		return exactPath("Edit", sub.Path)
	case FetchURL:
		if sub.URL == nil || sub.URL.host == "" {
			return ""
		}
		return "WebFetch(domain:" + sub.URL.host + ")"
	case UseTool:
		return exactUse(sub)
	}
	return ""
}

func exactCommand(a *shell.Action) string {
	if a == nil {
		return ""
	}
	return CommandRule(a.Words, false)
}

// CommandRule returns the text of the rule for commands of exactly these words
// or, if open is set, for those that begin with them. It is "" if a word is not
// known or the rule cannot be written.
func CommandRule(words []shell.Word, open bool) string {
	if len(words) == 0 || !allKnown(words) {
		return ""
	}
	parts := make([]string, len(words))
	for i := range words {
		parts[i] = quoted(words[i].Text)
	}
	text := strings.Join(parts, " ")
	if unescape(text) != text {
		return ""
	}
	if open {
		text += ":*"
	}
	return "Bash(" + text + ")"
}

// quoted returns a word quoted for a shell, avoiding what parses as an escape
// of a saved rule.
func quoted(word string) string {
	if word != "" && strings.Trim(word, safeBytes) == "" && !assigns(word) {
		return word
	}
	if word != "" && !strings.Contains(word, "'") && unescape(word) == word {
		return "'" + word + "'"
	}
	return `"` + doubleQuoted.Replace(word) + `"`
}

var doubleQuoted = strings.NewReplacer(
	`\(`, `\\""(`, `\)`, `\\"")`, "'", `'""`, `\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`",
)

const safeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%^"

// exactPath returns a rule for a path, "" for one that leads through a symbolic
// link: its target would have to be named as well, which no single pattern
// does.
func exactPath(tool string, p *Path) string {
	if p == nil || p.odd != "" || p.lost || len(p.forms) != 1 || p.forms[0].text == "" {
		return ""
	}
	return tool + "(/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`, "}", `\}`).Replace(p.forms[0].text) + ")"
}

func exactUse(sub *Subject) string {
	if len(names(sub.Tool)) == 0 && !sub.Known.Names(sub.Tool) {
		return sub.Tool
	}
	if sub.Name == "" || strings.ContainsAny(sub.Name, "*\n") || strings.TrimSpace(sub.Name) != sub.Name {
		return ""
	}
	return sub.Tool + "(" + sub.Name + ")"
}

// Nearest returns the rule, of rules taken from a set, that is most similar to
// a rule for exactly the subject, nil if none is similar.
func Nearest(rules []*Rule, sub *Subject) *Rule {
	var best *Rule
	most, want := 0, ExactRule(sub)
	for _, r := range rules {
		if n := r.near(sub, want); n > most {
			best, most = r, n
		}
	}
	return best
}

// near returns how much a rule has in common with the subject: bytes with the
// rule for exactly it, or the leading directories of a path.
func (r *Rule) near(sub *Subject, want string) int {
	switch {
	case !r.family.path():
		return max(0, alike(r.text, want)-len(r.tool)-1)
	case !r.about(sub) || sub.Path == nil:
		return 0
	}
	most := 0
	for i := range r.globs {
		most = max(most, r.globs[i].common(&sub.Path.forms[0]))
	}
	return most
}

// alike returns the length of the common prefix of two texts in bytes.
func alike(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// common returns the number of leading names of a path that the pattern shares.
func (g *pathGlob) common(f *form) int {
	n := 0
	for n < len(f.segs) && n < len(g.names) && !g.names[n].many && g.names[n].match(&f.segs[n], g.fold, false) {
		n++
	}
	return n
}

// Explain returns a short reason why a rule, taken from a set, does not match a
// subject, "" if it does.
func Explain(r *Rule, sub *Subject) string {
	fresh := *sub
	switch m := r.match(&fresh, Query{}); {
	case m == Yes:
		return ""
	case m == Maybe:
		return "it may match"
	}
	switch {
	case r.family == ofLines && sub.Kind == RunCommand && sub.Command != nil && r.command != nil:
		return r.command.explain(&fresh)
	case r.family.path() && r.about(sub) && sub.Path != nil:
		return r.explainPath(sub.Path)
	case r.family == ofFetch && sub.Kind == FetchURL && sub.URL != nil:
		return r.explainURL(sub.URL)
	case r.family == ofTool && sameTool(r.tool, sub.Tool):
		return fmt.Sprintf("%s is asked for %q", sub.Tool, sub.Name)
	}
	return "it is about " + subjectOf(r.family, r.tool) + ", not about " + kindName(sub)
}

func subjectOf(f family, tool string) string {
	switch f {
	case ofLines:
		return "commands"
	case ofReads:
		return "reading"
	case ofEdits:
		return "writing"
	case ofReadsBy, ofEditsBy:
		return "the tool " + tool
	case ofFetch:
		return "fetching"
	}
	return "the tool " + tool
}

func kindName(sub *Subject) string {
	switch sub.Kind {
	case RunCommand:
		return "a command"
	case ReadPath:
		return "reading a path"
	case WritePath:
		return "writing a path"
	case FetchURL:
		return "fetching a URL"
	case Hidden:
		return "a part of a command line that cannot be analysed"
	}
	return "the tool " + sub.Tool
}

// explain returns why a command rule does not match a command.
func (c *commandRule) explain(sub *Subject) string {
	a := sub.Command
	want := c.words
	if want == nil {
		if len(c.exact) == 0 {
			return "it matches only one exact line"
		}
		want = c.exact[0]
	}
	for i := range want {
		if i >= len(a.Words) {
			return fmt.Sprintf("the command has no word %d, and the rule requires %q", i+1, printable(want[i]))
		}
		w := &a.Words[i]
		switch {
		case strings.IndexByte(want[i], wild) >= 0:
			return "the words do not match the pattern"
		case !w.Known():
			return fmt.Sprintf("word %d is known only when the line runs", i+1)
		case i == 0 && w.Text != want[i] && lastSegment(w.Text) == lastSegment(want[i]):
			return fmt.Sprintf("the program is %q, and the rule allows %q", w.Text, printable(want[i]))
		case w.Text != want[i]:
			return fmt.Sprintf("word %d is %q, and the rule requires %q", i+1, w.Text, printable(want[i]))
		}
	}
	switch {
	case c.words == nil && len(a.Words) > len(want):
		return fmt.Sprintf("the command has %d words, and the rule matches exactly %d", len(a.Words), len(want))
	case a.Unproven():
		return a.Why.String()
	case !harmless(a.Assigns):
		return "it sets a variable that may change what the program does"
	}
	return "the words do not match"
}

// explainPath returns why a path rule does not match a path.
func (r *Rule) explainPath(p *Path) string {
	switch {
	case len(r.globs) == 0:
		return "the directory that the pattern is relative to is unknown"
	case p.odd != "":
		return "the path cannot be checked: " + p.odd
	case p.lost:
		return "the file that the path leads to is unknown"
	}
	for i := range p.forms {
		matched := false
		for k := range r.globs {
			matched = matched || r.globs[k].match(&p.forms[i], true) == Yes
		}
		if matched {
			continue
		}
		if i > 0 {
			return "a symbolic link leads to " + p.forms[i].word.Text + ", which the pattern does not match"
		}
		return p.String() + " does not match the pattern"
	}
	return "the path does not match the pattern"
}

func (r *Rule) explainURL(u *URL) string {
	switch {
	case u.odd != "":
		return "the URL cannot be checked: " + u.odd
	case r.host.port != "" && r.host.port != u.port && r.host.allows(u.host):
		return "the port is " + cmp.Or(u.port, "unknown") + ", and the rule matches only port " + r.host.port
	case r.host.subs:
		return "the host is " + u.host + ", and the rule matches only subdomains of " + r.host.name
	}
	return "the host is " + u.host + ", and the rule matches only " + r.host.name
}
