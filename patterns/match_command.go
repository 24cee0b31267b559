package patterns

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// bind returns the rule's words for a place, with home directories filled in.
func (c *commandRule) bind(place Place, list List) *commandRule {
	b := *c
	b.exact = nil
	for _, words := range c.exact {
		if known := fillHome(words, place.Home, list); known != nil {
			b.exact = append(b.exact, known)
			b.shapes = append(b.shapes, &shape{words: known})
		}
	}
	if c.words != nil {
		b.bindWords(place, list)
	}
	b.shapes = append(b.shapes, respelledShapes(b.shapes)...)
	return &b
}

// bindWords fills in the words of a prefix or wildcard rule.
func (c *commandRule) bindWords(place Place, list List) {
	if c.words = fillHome(c.words, place.Home, list); c.words == nil {
		c.words = []string{homeMark} // no word of a command contains this byte
		c.open, c.gaps = false, false
	}
	c.gaps = c.gaps || strings.IndexByte(strings.Join(c.words, ""), wild) >= 0
	if c.gaps {
		c.text = newTextPattern(c.words, c.open, list != Allow)
	}
	if list == Allow {
		c.urls = urlWords(c.words)
	} else {
		c.shapes = append(c.shapes, shapesOf(c.words, c.open)...)
	}
}

// fillHome fills in the home directory. If that is unknown, it may be any text
// for ask and deny; an allow rule then matches nothing, and fillHome returns
// nil.
func fillHome(words []string, dir string, list List) []string {
	if !strings.Contains(strings.Join(words, ""), homeMark) {
		return words
	}
	if dir == "" {
		if list == Allow {
			return nil
		}
		dir = wildcard
	}
	filled := make([]string, len(words))
	for i, w := range words {
		filled[i] = strings.ReplaceAll(w, homeMark, dir)
	}
	return filled
}

// matchLine reports whether the rule matches exactly the line of the subject.
// For a simple command this includes exact rules.
func (c *commandRule) matchLine(sub *Subject) bool {
	if len(c.lines) == 0 || sub.Line == "" || !sub.Simple && !c.hasCompound() {
		return false
	}
	line := trimBlanks(sub.Line)
	for _, l := range c.lines {
		if l == line {
			return true
		}
	}
	return false
}

// hasCompound reports whether one of the lines is not a simple command.
func (c *commandRule) hasCompound() bool { return len(c.lines) > len(c.exact) }

// allows matches an allow rule against a command.
func (c *commandRule) allows(sub *Subject, q Query, workspace string) Match {
	m := c.allowsOne(sub, q)
	for _, other := range sub.placed(workspace) {
		if m == Yes {
			break
		}
		m = c.allowsOne(other, q)
	}
	return m
}

// allowsOne matches it against one spelling of the path of its program.
func (c *commandRule) allowsOne(sub *Subject, q Query) Match {
	if q.Reach > 0 && c.words != nil && c.literal <= q.Reach {
		return No // an exact rule reaches beyond everything
	}
	a := sub.Command
	if c.matchLine(sub) && !(a != nil && a.Elsewhere && (sub.Simple || sub.Outside)) {
		return Yes
	}
	if a == nil || sub.Kind != RunCommand || a.Elsewhere || !harmless(a.Assigns) {
		return No
	}
	for _, words := range c.exact {
		if equal(words, a.Words) {
			return Yes
		}
	}
	if c.words == nil || a.Unproven() || len(a.Words) == 0 || !a.Words[0].Known() {
		return No
	}
	if c.allowsWords(sub) {
		return Yes
	}
	return yesIf(q.Reach == 0 && slices.ContainsFunc(sub.plainer(), c.allowsWords))
}

// allowsWords reports whether the rule covers the words of the subject's command.
func (c *commandRule) allowsWords(sub *Subject) bool {
	if c.gaps {
		return c.allowsText(sub) && c.allowsURLs(sub)
	}
	return begins(c.words, sub.Command.Words, c.open) && c.allowsURLs(sub)
}

func harmless(assigns []shell.Assign) bool {
	for i := range assigns {
		if assigns[i].Class != shell.Harmless {
			return false
		}
	}
	return true
}

func equal(want []string, words []shell.Word) bool {
	return len(want) == len(words) && begins(want, words, false)
}

// begins reports whether words begin with the wanted ones, all of which must be
// known. Unless open is set, no words may follow.
func begins(want []string, words []shell.Word, open bool) bool {
	if len(words) < len(want) || len(words) > len(want) && !open {
		return false
	}
	for i := range want {
		if !words[i].Known() || words[i].Text != want[i] {
			return false
		}
	}
	return true
}

// allowsText matches a pattern with wildcards against the joined words.
func (c *commandRule) allowsText(sub *Subject) bool {
	words := sub.Command.Words
	first := c.words[0]
	if strings.IndexByte(first, wild) >= 0 && !strings.Contains(first, "/") && strings.Contains(words[0].Text, "/") {
		return false // "py*" matches names of programs, not paths
	}
	if c.inPath() && climbs(c.extended(words)) {
		return false
	}
	if !c.rest() && mayFallApart(words) {
		return false
	}
	return c.text.match(sub.joined(false))
}

// inPath reports whether there is a wildcard in a word with a slash: such a
// word names a directory, which ".." must not leave.
func (c *commandRule) inPath() bool {
	for _, w := range c.words {
		if strings.Contains(w, "/") && strings.IndexByte(w, wild) >= 0 {
			return true
		}
	}
	return false
}

// extended returns the words into which a wildcard in a path may extend: its
// own word, if no word of the rule follows.
func (c *commandRule) extended(words []shell.Word) []shell.Word {
	if n := len(c.words); c.rest() && n <= len(words) {
		return words[n-1 : n]
	}
	return words
}

// climbs reports whether a word has a ".." segment, or may have one.
func climbs(words []shell.Word) bool {
	for i := range words {
		if text := words[i].Text; strings.Contains(text, "..") && strings.Contains("/"+text+"/", "/../") {
			return true
		}
		if len(words[i].Holes) > 0 && !globOnly(words[i].Holes) {
			return true
		}
	}
	return false
}

// rest reports whether the only wildcard is at the very end.
func (c *commandRule) rest() bool {
	return len(c.text.chunks) == 2 && c.text.chunks[1] == ""
}

func mayFallApart(words []shell.Word) bool {
	for i := range words {
		if words[i].Split {
			return true
		}
	}
	return false
}

// joined returns the words of the subject's command as one text.
func (sub *Subject) joined(loose bool) string {
	cache := &sub.strictText
	if loose {
		cache = &sub.looseText
	}
	if *cache == "" {
		*cache = joinWords(sub.Command.Words, loose)
	}
	return *cache
}

// possible matches an ask or deny rule against a command in all its spellings.
func (c *commandRule) possible(sub *Subject, place Place) Match {
	best := c.possibly(sub, place)
	for _, other := range sub.placed(place.Workspace) {
		best = max(best, c.possibly(other, place))
	}
	if best == No && sub.Command != nil && sub.Kind == RunCommand {
		best = c.someRef(sub, place)
	}
	if best == Yes || !sub.reach().meets(c, place) {
		return best
	}
	for _, other := range sub.spellings() {
		if other.script && c.wholeProgram() {
			continue
		}
		best = max(best, min(other.sure, c.possibly(other.sub, place)))
		if best == No {
			best = c.someRef(other.sub, place)
		}
	}
	if sub.cut {
		best = max(best, Maybe)
	}
	return best
}

// wholeProgram reports whether the rule names a program and no word more.
func (c *commandRule) wholeProgram() bool { return len(c.words) == 1 && c.open }

// possibly matches it against one spelling.
func (c *commandRule) possibly(sub *Subject, place Place) Match {
	if c.matchLine(sub) {
		return Yes
	}
	a := sub.Command
	if a == nil || sub.Kind != RunCommand || len(a.Words) == 0 {
		return No
	}
	best := No
	for _, s := range c.shapes {
		best = max(best, s.match(sub, place))
	}
	if c.gaps && best < Yes {
		best = max(best, c.possibleText(sub))
	}
	return best
}

// possibleText matches a pattern with wildcards against the joined words, with
// the program as written and by its last path segment.
func (c *commandRule) possibleText(sub *Subject) Match {
	words := sub.Command.Words
	if allKnown(words) {
		text := sub.joined(true)
		if c.text.match(text) {
			return Yes
		}
		if name := lastSegment(words[0].Text); name != words[0].Text && !strings.Contains(c.words[0], "/") {
			return yesIf(c.text.match(name + text[len(words[0].Text):]))
		}
		return No
	}
	if c.text.match(sub.joined(true)) {
		return Yes // the wildcards cover what is unknown
	}
	if c.text.meets(c.steps(words, false)) {
		return Maybe
	}
	return maybeIf(!strings.Contains(c.words[0], "/") && c.text.meets(c.steps(words, true)))
}

// steps converts the words to steps. With base set, the program is reduced to
// its last path segment.
func (c *commandRule) steps(words []shell.Word, base bool) []step {
	var steps []step
	for i := range words {
		if i > 0 {
			steps = append(steps, step{byte: border})
		}
		from := len(steps)
		steps = wordSteps(steps, &words[i], true)
		if i == 0 && base {
			steps = append(steps[:from], lastSteps(steps[from:])...)
		}
	}
	return steps
}

// lastSteps reduces the steps of a program's name to those of its last segment.
// A run that may contain a slash may be the beginning of the segment.
func lastSteps(steps []step) []step {
	for i := len(steps) - 1; i >= 0; i-- {
		if !steps[i].any && steps[i].byte == '/' {
			return steps[i+1:]
		}
		if steps[i].any && steps[i].admits('/') {
			return steps[i:]
		}
	}
	return steps
}

func allKnown(words []shell.Word) bool {
	for i := range words {
		if !words[i].Known() {
			return false
		}
	}
	return true
}

// lastSegment returns the last name in a program's path.
func lastSegment(text string) string {
	at := strings.LastIndexByte(text, '/')
	if at < 0 {
		return text
	}
	switch name := text[at+1:]; name {
	case "", ".", "..":
		return path.Base(path.Clean(text))
	default:
		return name
	}
}

// trimBlanks removes what the shell skips around a line. A carriage return
// would be part of a word, so it stays.
func trimBlanks(line string) string { return strings.Trim(line, " \t\n") }
