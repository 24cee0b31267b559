package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// maxLast is the number of patterns for names that a walk has at most: more name any file. The
// text of those that leave files out has a similar bound.
const maxLast = 256

// restrict names only the files with one of the given last names, nil for any, of those
// that were named before.
func (w *Walk) restrict(names []string) {
	if w.only == "" && names != nil && len(names) <= maxLast {
		w.only = strings.Join(names, "/") + "/"
	}
}

// leave leaves out files whose last name a pattern matches, "" for none.
func (w *Walk) leave(name string) {
	if name != "" && len(name)+len(w.leaves) <= maxLast*16 {
		w.leaves += name + "/"
	}
}

// lastNames returns patterns for the last names of the files that a pattern means, nil if
// these may be any. With slashes set, its wildcards stand for slashes as well, so that only
// what follows the last one tells.
func lastNames(pattern Word, slashes bool) []string {
	if len(pattern.Holes) > 0 && pattern.onlyGlobs() { // of the shell, which leaves them if there is no such file
		pattern = Word{Text: pattern.Filled("*")}
	}
	for i := range pattern.Text {
		if namesClass(pattern.Text[i:]) {
			return nil
		}
	}
	if !pattern.Known() {
		return nil
	}
	var names []string
	for _, text := range globBraces(strings.ReplaceAll(pattern.Text, "[!", "[^"), maxGlobs) {
		if slashes {
			if at := strings.LastIndexAny(text, "*?]"); at >= 0 {
				text = "*" + text[at+1:]
			}
		}
		name := text[strings.LastIndexByte(text, '/')+1:]
		if strings.Trim(name, "*") == "" || name != text && strings.HasSuffix(name, "*") {
			return nil
		}
		names = append(names, name)
	}
	return names
}

// lastNamesOfRegex is the same for a regular expression that may match a part of a path.
func lastNamesOfRegex(regex Word) []string {
	if !plainRegex(regex.Text) {
		return nil
	}
	regex.Text = globOfRegex(unanchored(regex.Text, hasChoices(regex.Text)))
	return lastNames(regex, true)
}

// plainRegex reports whether a regular expression means the same to every program, and
// globOfRegex knows all of it.
func plainRegex(text string) bool {
	repeated := false
	for i := 0; i < len(text); i++ {
		repeats := strings.IndexByte(regexRepeats, text[i]) >= 0
		switch rest := text[i+1:]; {
		case repeats && repeated, text[i] == '(' && strings.HasPrefix(rest, "?"):
			return false
		case text[i] == '[' && !plainClass(rest):
			return false
		case text[i] == '\\':
			if rest == "" || strings.IndexByte(`.^$/-_()|`, rest[0]) < 0 {
				return false
			}
			i++
		}
		repeated = repeats || text[i] == '}'
	}
	return true
}

// hasChoices reports whether a regular expression may have alternatives outside of
// parentheses.
func hasChoices(text string) bool {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
		case '|':
			if depth == 0 {
				return true
			}
		}
	}
	return depth != 0
}

// plainClass reports whether a class of characters ends at the first bracket in text.
func plainClass(text string) bool {
	end := strings.IndexByte(text, ']')
	return end > 0 && text[:end] != "^" && !strings.ContainsAny(text[:end], `[\&`)
}

// walkOfFind returns what of the files below its starting points find names: by -name and
// the like in every alternative, and without what is left out in all of them.
func walkOfFind(prog *program.Program, start findPaths, words []Word) Walk {
	tests, ok := findTests(prog, words[start.end:])
	if !ok {
		return Walk{}
	}
	walk := Walk{Depth: depthOfFind(tests), slashed: !slices.ContainsFunc(start.paths, func(p Word) bool { return !p.Known() })}
	only, choices, pruned, acted := true, slices.ContainsFunc(tests, findTest.or), true, false
	last := len(tests) - 1 // action
	for last > 0 && !tests[last].acts() {
		last--
	}
	var names, own []string // of the alternatives before, and of this one
	for i, t := range tests {
		negated := i > 0 && tests[i-1].not()
		switch {
		case t.or():
			only, pruned = only && own != nil, pruned && own != nil && len(own) == 0
			names, own, acted = append(names, own...), nil, false
		case acted: // on all that passed the tests before
		case t.acts():
			acted = true
			only = only && own != nil
		case negated && (t.text == "(" || t.not()):
			return Walk{Depth: walk.Depth, slashed: walk.slashed}
		case !t.valued:
		case negated && !choices:
			walk.leave(leftByFind(t.text, t.value))
		case pruned && i+3 <= last && prunes(tests, i):
			walk.leave(leftByFind(t.text, t.value))
			own = []string{} // it names nothing
		case !negated && own == nil:
			own = namesOfFindTest(t.text, t.value)
		}
	}
	if only && own != nil {
		walk.restrict(append(names, own...))
	}
	return walk
}

// findTest is a test, an action, an option or an operator of find, with its value.
type findTest struct {
	text   string
	value  Word
	valued bool
}

// findTests returns the expression of find without the commands that it runs. It is not ok
// if a word may be something else: an argument that looks like a test is none.
func findTests(prog *program.Program, words []Word) (tests []findTest, ok bool) {
	for i := 0; i < len(words); i++ {
		t := findTest{text: words[i].Text}
		values, listed := findValues(prog, t.text)
		if !listed || !words[i].Known() || i+values >= len(words) {
			return nil, false
		}
		if values > 0 {
			t.value, t.valued = words[i+1], true
			i += values
		}
		tests = append(tests, t)
		switch t.text {
		case "-exec", "-execdir", "-ok", "-okdir":
			for i+1 < len(words) && words[i].Text != ";" && !(words[i].Text == "+" && words[i-1].Text == "{}") {
				i++
			}
		}
	}
	return tests, true
}

// findValues returns the number of words that belong to a word of find, and whether the
// catalogue lists that.
func findValues(prog *program.Program, text string) (n int, listed bool) {
	switch text {
	case "(", ")", "!", ",":
		return 0, true
	}
	for i := range prog.Options {
		if o := &prog.Options[i]; slices.Contains(o.Names, text) {
			switch o.Value {
			case program.NoValue:
				return 0, true
			case program.Required:
				return 1, true
			case program.Pair:
				return 2, true
			}
			return 0, false
		}
	}
	return 0, false
}

// or reports whether it separates alternatives.
func (t findTest) or() bool { return t.text == "-o" || t.text == "-or" || t.text == "," }

func (t findTest) not() bool { return t.text == "!" || t.text == "-not" }

// acts reports whether it prints names or runs a command on them.
func (t findTest) acts() bool {
	return strings.HasPrefix(t.text, "-print") || t.text == "-exec" || t.text == "-execdir" || t.text == "-ok" || t.text == "-okdir"
}

// prunes reports whether an alternative of find is one test that prunes what it is for. What
// is named is then what another one acts on.
func prunes(tests []findTest, at int) bool {
	return (at == 0 || tests[at-1].or()) && tests[at+1].text == "-prune" && tests[at+2].or()
}

// depthOfFind returns the number of levels that find searches, 0 for any. The last option
// counts, for the whole expression.
func depthOfFind(tests []findTest) int {
	depth := 0
	for _, t := range tests {
		if t.text == "-maxdepth" {
			depth = 0
			if t.value.Known() {
				depth = maxDepth(t.value.Text)
			}
		}
	}
	return depth
}

// namesOfFindTest returns patterns for the last names that a test of find is for, nil if
// these may be any.
func namesOfFindTest(test string, pattern Word) []string {
	switch strings.TrimPrefix(strings.TrimPrefix(test, "-"), "i") {
	case "name":
		if strings.Contains(pattern.Text, "{") {
			return nil
		}
		return lastNames(pattern, false)
	case "path", "wholename":
		return lastNames(pattern, true)
	case "regex":
		if plainRegex(pattern.Text) {
			pattern.Text = globOfRegex(pattern.Text)
			return lastNames(pattern, true)
		}
	}
	return nil
}

// leftByFind returns the pattern of last names that a negated test of find leaves out, "" if
// it does not tell any.
func leftByFind(test string, pattern Word) string {
	name := pattern.Text
	switch test {
	case "-name":
	case "-path", "-wholename":
		rest, anywhere := strings.CutPrefix(name, "*/")
		if name = rest; !anywhere || strings.Contains(name, "/") {
			return ""
		}
	default:
		return ""
	}
	if !pattern.Known() || strings.ContainsAny(name, `[\/`) {
		return ""
	}
	return name
}

// maxDepth returns the number of levels that an option allows, 0 for any.
func maxDepth(text string) int {
	if len(text) == 1 && text[0] >= '1' && text[0] <= '9' {
		return int(text[0] - '0')
	}
	return 0
}

// leaveMatched leaves out the names in which a regular expression finds one of some texts.
func (w *Walk) leaveMatched(regex string, extended bool) {
	choices := []string{regex}
	if extended {
		choices = strings.Split(regex, "|")
	}
	for _, text := range choices {
		text, ends := strings.CutSuffix(strings.ReplaceAll(text, `\.`, "."), "$")
		name, begins := strings.CutPrefix(text, "/")
		if strings.ContainsAny(name, `\^$*+?[]{}()|/`) || name == "" || begins && !w.slashed {
			continue
		}
		if !begins {
			name = "*" + name
		}
		if !ends {
			name += "*"
		}
		w.leave(name)
	}
}
