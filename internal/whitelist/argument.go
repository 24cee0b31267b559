package whitelist

import "strings"

// argument is an entry of allow_args or deny_args: one word, or an option with
// its value. * matches any text.
type argument struct {
	word  string
	value string // of an option, if pair
	pair  bool
}

// newArgument parses an entry, or returns what is wrong with it.
func newArgument(text string) (argument, string) {
	word, value, pair := strings.Cut(text, " ")
	value = strings.TrimSpace(value)
	switch {
	case strings.TrimSpace(text) == "":
		return argument{}, "is empty"
	case strings.ContainsFunc(text, control):
		return argument{}, "contains a control character"
	case text[0] == ' ' || pair && value == "":
		return argument{}, "begins or ends with a space"
	case pair && word[0] != '-':
		return argument{}, "contains a space: write an option and its value, or one word"
	}
	return argument{word, value, pair}, ""
}

// allows returns how many of the words, from the first on, the entry allows; 0
// for none.
func (a *argument) allows(words []string) int {
	w := words[0]
	if !a.pair {
		return count(optionLike(w, a.word) && glob(a.word, w))
	}
	if name, value, ok := strings.Cut(w, "="); ok && a.long() && glob(a.word, name) {
		return count(glob(a.value, value))
	}
	if len(words) > 1 && optionLike(w, a.word) && glob(a.word, w) && optionLike(words[1], a.value) && glob(a.value, words[1]) {
		return 2
	}
	return 0
}

func count(one bool) int {
	if one {
		return 1
	}
	return 0
}

// long reports whether a value may be attached with =. Behind a dash and a
// single letter, the = would be part of the value.
func (a *argument) long() bool { return len(a.word) > 2 }

// optionLike prevents that a lone * matches a word that begins with a dash.
func optionLike(word, pattern string) bool {
	return !strings.HasPrefix(word, "-") || strings.HasPrefix(pattern, "-")
}

// denies reports whether the entry forbids the first of words. allowed reports
// names that are complete options, hence no abbreviations; clusters says
// whether the program accepts several letters behind one dash.
func (a *argument) denies(words []string, clusters bool, allowed func(string) bool) bool {
	w := words[0]
	if !strings.HasPrefix(w, "-") || len(w) < 2 {
		return !a.pair && glob(a.word, w)
	}
	name, value, attached := strings.Cut(w, "=")
	if !a.pair {
		return glob(a.word, w) || a.names(name, clusters, allowed) || attached && glob(a.word, value) || len(w) > 2 && w[1] != '-' && glob(a.word, w[2:])
	}
	if !a.names(name, clusters, allowed) {
		return false
	}
	return attached && glob(a.value, value) || len(w) > 2 && w[1] != '-' && glob(a.value, w[2:]) || len(words) > 1 && glob(a.value, words[1])
}

// names reports whether the option of a word may be that of the entry: with one
// dash or two, in a cluster, or abbreviated. It accepts more spellings than
// programs do.
func (a *argument) names(name string, clusters bool, allowed func(string) bool) bool {
	if !strings.HasPrefix(a.word, "-") {
		return false
	}
	if len(name) < 2 || glob(a.word, name) {
		return glob(a.word, name)
	}
	bare, pattern := strings.TrimLeft(name, "-"), strings.TrimLeft(a.word, "-")
	if len(bare) > 1 && len(pattern) > 1 && glob(pattern, bare) {
		return true
	}
	if clusters && name[1] != '-' && len(pattern) == 1 && strings.Contains(bare, pattern) {
		return true
	}
	literal, _, _ := strings.Cut(pattern, "*")
	return len(bare) > 0 && len(literal) > 1 && strings.HasPrefix(name, "--") && strings.HasPrefix(literal, bare) && !allowed(name)
}

// glob reports whether text matches a pattern in which * stands for any text.
func glob(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}
