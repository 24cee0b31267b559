package shell

import (
	"slices"
	"strings"
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
	if !pattern.Known() || strings.Contains(pattern.Text, "[:") {
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
func walkOfFind(words []Word) Walk {
	tests := findTests(words)
	walk := Walk{slashed: true}
	only, choices, pruned, acted := true, slices.ContainsFunc(tests, isOr), true, false
	last := len(tests) - 1 // action
	for last > 0 && !acts(tests[last]) {
		last--
	}
	var names, own []string // of the alternatives before, and of this one
	for i, t := range tests {
		negated := i > 0 && isNot(tests[i-1])
		switch {
		case isOr(t):
			only, pruned = only && own != nil, pruned && own != nil && len(own) == 0
			names, own, acted = append(names, own...), nil, false
		case acted: // on all that passed the tests before
		case acts(t):
			acted = true
			only = only && own != nil
		case negated && (t.Text == "(" || isNot(t)):
			return Walk{Depth: walk.Depth, slashed: true}
		case i+1 == len(tests):
		case t.Text == "-maxdepth" && tests[i+1].Known():
			walk.Depth = maxDepth(tests[i+1].Text)
		case negated && !choices:
			walk.leave(leftByFind(t.Text, tests[i+1]))
		case pruned && i+4 <= last && prunes(tests, i):
			walk.leave(leftByFind(t.Text, tests[i+1]))
			own = []string{} // it names nothing
		case !negated && own == nil:
			own = namesOfFindTest(t.Text, tests[i+1])
		}
	}
	if only && own != nil {
		walk.restrict(append(names, own...))
	}
	return walk
}

// findTests returns the words of the expression of find without the commands that it runs.
func findTests(words []Word) []Word {
	var tests []Word
	for i := 0; i < len(words); i++ {
		tests = append(tests, words[i])
		switch words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
			for i+1 < len(words) && words[i].Text != ";" && !(words[i].Text == "+" && words[i-1].Text == "{}") {
				i++
			}
		}
	}
	return tests
}

// isOr reports whether a word of find separates alternatives.
func isOr(w Word) bool { return w.Text == "-o" || w.Text == "-or" || w.Text == "," }

func isNot(w Word) bool { return w.Text == "!" || w.Text == "-not" }

// prunes reports whether an alternative of find is one test that prunes what it is for. What
// is named is then what another one acts on.
func prunes(tests []Word, at int) bool {
	return (at == 0 || isOr(tests[at-1])) && tests[at+2].Text == "-prune" && isOr(tests[at+3])
}

// acts reports whether a word of find prints names or runs a command on them.
func acts(w Word) bool {
	return strings.HasPrefix(w.Text, "-print") || w.Text == "-exec" || w.Text == "-execdir" || w.Text == "-ok" || w.Text == "-okdir"
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
