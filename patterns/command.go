package patterns

import (
	"fmt"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// commandRule is the specifier of a Bash rule.
type commandRule struct {
	// lines are whole command lines: the rule matches a line that equals one of
	// them, including everything that it does.
	lines []string
	// exact are argument lists: the rule matches a command with these words.
	exact [][]string

	// words are those of a prefix or wildcard rule, nil for other rules; the bytes
	// wild and home are not literal. If open is set, any words may follow.
	words []string
	open  bool
	// literal is the number of leading words without a wildcard.
	literal int
	// gaps is set if there is a wildcard other than the open end.
	gaps bool

	urls   []urlWord   // the URLs among the words of an allow rule
	shapes []*shape    // the words and the exact lists as interpreted for ask and deny
	text   textPattern // the words as one text with wildcards
}

// The limits of patterns with wildcards.
const (
	maxPattern = 4 << 10 // bytes of a command pattern
	maxStars   = 64
)

// keywords begin or continue a compound command. On their own they are
// fragments of one, not programs.
var keywords = map[string]bool{
	"if": true, "then": true, "elif": true, "else": true, "fi": true, "for": true, "while": true,
	"until": true, "do": true, "done": true, "case": true, "esac": true, "select": true,
	"function": true, "coproc": true, "{": true, "}": true, "!": true,
}

// commandSpec parses the specifier of a Bash rule.
func (p *parser) commandSpec(r *Rule, spec string) (string, error) {
	if strings.Trim(spec, "*") == "" {
		r.bare = true
		return spec, nil
	}
	r.command = &commandRule{}
	body, prefix := strings.CutSuffix(spec, ":*")
	if prefix {
		if trimmed := strings.TrimRight(body, " \t\n"); trimmed != body {
			p.warn(Note, p.from+len(trimmed), `spaces before ":*" are ignored`)
			body, spec = trimmed, trimmed+":*"
		}
		if body == "" {
			return "", p.fail(p.from, `":*" without a command before it`, "write Bash or name the command")
		}
	}
	t := splitText(body, p.list == Allow)
	if err := p.earlyColon(body, t); err != nil {
		return "", err
	}
	switch {
	case strings.HasPrefix(spec, "__NEW_LINE"):
		return spec, p.dead(p.from, "the rule was saved with a line-break mark instead of a program", "remove it, or write Bash("+afterMark(spec)+")")
	case t.open >= 0 && (prefix || t.stars):
		return spec, p.openQuote(r, body, prefix, t)
	case !prefix && !t.stars:
		return spec, p.exactSpec(r, spec)
	case !t.plain():
		return spec, p.wildLine(r, spec, body, t)
	case keywords[t.words[0]]:
		return spec, p.keyword(spec, t)
	}
	return spec, p.wildSpec(r, t, prefix)
}

func afterMark(spec string) string {
	if _, rest, ok := strings.Cut(spec, " "); ok {
		return strings.TrimSpace(rest)
	}
	return "…"
}

// earlyColon rejects ":*" before the end, which may be mistaken for a wildcard.
func (p *parser) earlyColon(body string, t *ruleText) error {
	if !t.stars || t.here {
		return nil
	}
	for _, w := range splitText(body, true).words {
		if strings.Contains(w, ":"+wildcard) {
			at := max(strings.Index(body, ":*"), 0)
			return p.fail(p.from+at, `":*" is only valid at the end`, `write "*" for any characters`)
		}
	}
	return nil
}

// keyword reports a fragment of a compound command.
func (p *parser) keyword(spec string, t *ruleText) error {
	return p.dead(p.from, fmt.Sprintf("%q is a shell keyword, and a rule matches one simple command", t.words[0]),
		"remove it, or name the command itself")
}

// exactSpec parses a specifier without wildcards. Text saved by the agent CLI
// is parsed both unchanged and with its escapes undone.
func (p *parser) exactSpec(r *Rule, spec string) error {
	texts := []string{spec}
	if plain := unescape(spec); plain != spec {
		texts = []string{plain, spec}
	}
	for _, text := range texts {
		t := splitText(text, true)
		switch {
		case t.plain() && !keywords[t.words[0]]:
			r.command.exact = append(r.command.exact, p.timed(t.words))
			r.command.lines = append(r.command.lines, text)
		case !fragment(text, t) && shell.Readable(text):
			r.command.lines = append(r.command.lines, text)
		}
	}
	switch {
	case len(r.command.lines) == 0:
		return p.unreadable(spec, splitText(texts[0], true))
	case len(r.command.exact) == 0:
		p.lineOnly(splitText(texts[0], true))
	}
	return nil
}

// lineOnly warns that an ask or deny rule matches a single line only.
func (p *parser) lineOnly(t *ruleText) {
	if p.list != Allow {
		p.warn(Note, p.from+max(t.operator, t.dynamic, 0), "the rule matches only this exact line, not the same command within another line")
	}
}

// fragment reports whether text, which is not a simple command, can never be a
// complete line although it may parse.
func fragment(text string, t *ruleText) bool {
	switch {
	case len(t.words) == 0 || t.comment >= 0 && len(t.words) > 0 && strings.HasPrefix(t.words[0], "#"):
		return true
	case t.assigned == len(t.words) && t.operator < 0:
		return true
	case keywords[t.words[0]] && t.operator < 0:
		return true
	}
	return t.here && len(t.words) > 0 && t.assigned == 0 && hereTarget(t.words[0], text)
}

// hereTarget reports whether text is the rest of "cat > FILE <<EOF" without its
// beginning: a path in place of the program, and a here-document.
func hereTarget(word, text string) bool {
	name := word[strings.LastIndexByte(word, '/')+1:]
	return strings.Contains(name, ".") && strings.HasPrefix(strings.TrimLeft(text[min(len(word), len(text)):], " "), "<<")
}

// unreadable returns an error if a specifier can never be a command line.
func (p *parser) unreadable(spec string, t *ruleText) error {
	switch {
	case len(t.words) > 0 && keywords[t.words[0]]:
		return p.keyword(spec, t)
	case t.here && len(t.words) > 0 && t.assigned == 0:
		return p.dead(p.from, "it is a path and a here-document, but no command", "name the command, or write Edit("+printable(t.words[0])+") for the file")
	case t.open >= 0:
		return p.dead(p.from+t.open, "a quote is not closed", "close it, or remove the rule")
	case t.comment >= 0:
		return p.dead(p.from+t.comment, "it begins a comment", "remove it, or name the command")
	case t.assigned > 0 && t.assigned == len(t.words):
		return p.dead(p.from, "it only sets a variable and runs no command", "remove it; setting a variable needs no rule")
	}
	return p.dead(p.from, "a shell cannot read this as a command line", "name the command, as in Bash(git status)")
}

// wildLine handles wildcards in a specifier that is not a simple command.
func (p *parser) wildLine(r *Rule, spec, body string, t *ruleText) error {
	fix := "write a rule for each command, as in " + p.parts(body)
	switch {
	case len(t.words) > 0 && keywords[t.words[0]]:
		return p.keyword(spec, t)
	case len(t.words) == 0 || t.comment >= 0 && strings.HasPrefix(t.words[0], "#"):
		return p.unreadable(spec, t)
	case t.operator < 0 && t.assigned > 0:
		if t.assigned == len(t.words) {
			return p.unreadable(spec, t)
		}
		return p.dead(p.from, "a variable assignment before a command is not part of the command", "write "+p.parts(body))
	case t.operator < 0 && t.dynamic >= 0:
		return p.dead(p.from+t.dynamic, "this expansion is known only when the line runs", `write "*" for it`)
	case p.list != Allow:
		return p.fail(p.from+max(t.operator, 0), "a rule with a wildcard must be one simple command, without pipes, lists or redirections", fix)
	}
	r.command.lines = []string{spec}
	if strings.HasSuffix(spec, ":*") || strings.HasSuffix(spec, " *") || !shell.Readable(spec) {
		r.command.lines = nil
		return p.dead(p.from+max(t.operator, 0), "a rule with a wildcard must be one simple command", fix)
	}
	p.warn(Note, p.from+max(t.operator, 0), `the rule matches only this exact line, and "*" is not a wildcard here; `+fix)
	return nil
}

// parts lists the rules that may have been meant by a compound line.
func (p *parser) parts(body string) string {
	var rules []string
	for _, part := range strings.FieldsFunc(body, func(r rune) bool { return strings.ContainsRune("|&;()\n", r) }) {
		command, target, writes := strings.Cut(part, ">")
		if writes {
			command = strings.TrimRight(command, "0123456789")
		}
		if name := leading(splitText(command, false)); name != "" {
			rules = append(rules, "Bash("+name+":*)")
		}
		if target = strings.Trim(target, ">& \t"); target != "" && target != "/dev/null" && len(rules) < 4 {
			rules = append(rules, "Edit("+target+")")
		}
		if len(rules) >= 4 {
			break
		}
	}
	if len(rules) == 0 {
		return "Bash(git push:*)"
	}
	return strings.Join(rules, " and ")
}

// leading returns the program and subcommand with which a part of a line
// begins, "" if they are not clear.
func leading(t *ruleText) string {
	words := t.words[t.assigned:]
	if len(words) == 0 {
		return ""
	}
	name := withoutStars(words[0])
	if len(words) > 1 && program.Is(name, program.BySubcommand) && isName(words[1]) {
		name += " " + words[1]
	}
	return printable(name)
}

func isName(word string) bool {
	for i := 0; i < len(word); i++ {
		if !isAlnum(word[i]) && (i == 0 || word[i] != '-') {
			return false
		}
	}
	return word != ""
}

// printable replaces the marks in a word of a rule by their source text.
func printable(word string) string {
	return strings.NewReplacer(wildcard, "*", homeMark, "~").Replace(word)
}

// openQuote parses Bash(python3 -c ' *) and Bash(python3 -c ":*): the quote
// opens an argument that may be anything.
func (p *parser) openQuote(r *Rule, body string, prefix bool, t *ruleText) error {
	rest := body[t.open+1:]
	head := splitText(body[:t.open], p.list == Allow)
	if t.assigned > 0 && t.assigned < len(t.words) {
		return p.wildLine(r, body, body, t)
	}
	if strings.Trim(rest, " *") != "" || !head.plain() || t.open == 0 || body[t.open-1] != ' ' {
		if t.operator < 0 && t.dynamic < 0 && len(t.words) > 1 && !keywords[t.words[0]] {
			p.warn(Danger, p.from+t.open, "a quote is not closed: anything may follow")
			return p.wildSpec(r, t, prefix)
		}
		return p.unreadable(body, t)
	}
	p.warn(Danger, p.from+t.open, "a quote is not closed: any argument matches")
	head.words = append(head.words, wildcard)
	head.stars = true
	return p.wildSpec(r, head, true)
}

// wildSpec parses a prefix or a pattern: the words of one simple command with
// wildcards.
func (p *parser) wildSpec(r *Rule, t *ruleText, prefix bool) error {
	c := r.command
	c.words, c.open = p.timed(t.words), prefix
	if !prefix && len(c.words) > 1 && c.words[len(c.words)-1] == wildcard {
		c.words, c.open = c.words[:len(c.words)-1], true
	}
	stars, size := 0, 0
	for _, w := range c.words {
		stars += strings.Count(w, wildcard)
		size += len(w) + 1
	}
	switch {
	case stars > 0 && size > maxPattern:
		return p.fail(p.from, fmt.Sprintf("the pattern is longer than %d bytes", maxPattern), "write a shorter one")
	case stars > maxStars:
		return p.fail(p.from, fmt.Sprintf("the pattern has more than %d wildcards", maxStars), "write a simpler one")
	case p.list == Allow && withoutStars(c.words[0]) == "":
		return p.fail(p.from, "the rule would match any program", "name it, as in Bash(node --version)")
	}
	c.gaps = stars > 0
	for c.literal < len(c.words) && strings.IndexByte(c.words[c.literal], wild) < 0 {
		c.literal++
	}
	p.wildWarnings(r, prefix)
	return nil
}

// timed removes the keyword time, which is not a word of the timed command.
func (p *parser) timed(words []string) []string {
	if len(words) < 2 || words[0] != "time" || strings.HasPrefix(words[1], "-") || strings.HasPrefix(words[1], wildcard) {
		return words
	}
	p.warn(Note, p.from, `"time" is a shell keyword: the rule is about `+printable(words[1]))
	return words[1:]
}

func (p *parser) wildWarnings(r *Rule, prefix bool) {
	c := r.command
	last := c.words[len(c.words)-1]
	if strings.HasPrefix(last, "http://") || strings.HasPrefix(last, "https://") {
		if host := last[strings.Index(last, "//")+2:]; prefix && !c.gaps && !strings.Contains(host, "/") {
			p.warn(Note, p.from, fmt.Sprintf(`":*" matches further words, not a port or a path: %s:3000/ is a different word; write %s:3000/*`, last, last))
		}
	}
	if p.list != Allow {
		return
	}
	if len(c.words) == 1 && c.gaps && !c.open && strings.HasSuffix(last, wildcard) && !strings.HasSuffix(last, "/"+wildcard) {
		p.warn(Note, p.from, `there is no space before "*", so this matches every program whose name begins this way; write "`+printable(last[:len(last)-1])+` *" for one program`)
	}
	if why := broad(c); why != "" {
		p.warn(Danger, p.from, why)
	}
}

// runners are programs that run what their arguments say, or remove files
// without asking: a rule that allows them with any argument allows nearly
// everything. It omits find, awk, xargs, env and the plain wrappers, since what
// they run must be allowed itself.
var runners = map[string]string{
	"sh": "", "bash": "", "zsh": "", "dash": "", "ksh": "", "fish": "", "eval": "", "exec": "", "source": "", ".": "",
	"python": "", "python2": "", "python3": "", "node": "", "deno": "", "bun": "", "ruby": "", "perl": "", "php": "", "lua": "",
	"osascript": "", "powershell": "", "pwsh": "", "powershell.exe": "", "cmd": "", "cmd.exe": "",
	"sudo": "", "doas": "", "su": "", "ssh": "", "npx": "", "docker": "",
	"rm": "removes whatever it is given",
	"dd": "overwrites whatever it is given",
}

// broad returns why an allow rule allows far more than it seems to, "" if it
// does not.
func broad(c *commandRule) string {
	name := c.words[0][strings.LastIndexByte(c.words[0], '/')+1:]
	starred := strings.HasSuffix(name, wildcard)
	name = strings.TrimSuffix(name, wildcard)
	what, known := runners[name]
	if !known || !c.open && !starred {
		return ""
	}
	for _, w := range c.words[1:] {
		if what == "" && strings.HasPrefix(w, wildcard+".") {
			return "" // "python *.py *": a file, by its extension
		}
		if w == "--version" || w == "--help" || name != "sudo" && name != "doas" && !strings.HasPrefix(w, "-") && !strings.HasPrefix(w, wildcard) {
			return ""
		}
	}
	if what == "" {
		what = "runs whatever it is given"
	}
	return name + " " + what + ": allow the specific commands instead"
}

// onlyLines reports whether the rule matches whole lines only.
func (c *commandRule) onlyLines() bool { return c.words == nil && len(c.exact) == 0 }

// withoutStars removes the wildcards of a word.
func withoutStars(word string) string { return strings.ReplaceAll(word, wildcard, "") }
