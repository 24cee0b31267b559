package patterns

import "strings"

// SplitList splits a list of rules as given on the command line: "Bash(git
// push:*),Read,Edit(a,b)" holds three rules. Commas inside parentheses belong
// to the rule; "\(" and "\)" do not count as parentheses. Empty items are
// omitted.
func SplitList(text string) ([]string, error) {
	var items []string
	depth, start, opened := 0, 0, 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '(':
			if depth == 0 {
				opened = i
			}
			depth++
		case ')':
			depth--
			if depth < 0 {
				return nil, listError(text, i, `")" without "("`)
			}
		case ',':
			if depth == 0 {
				items = appendItem(items, text[start:i])
				start = i + 1
			}
		}
	}
	if depth > 0 {
		return nil, listError(text, opened, `"(" is not closed`)
	}
	return appendItem(items, text[start:]), nil
}

func appendItem(items []string, item string) []string {
	if item = strings.TrimSpace(item); item == "" {
		return items
	}
	return append(items, item)
}

func listError(text string, at int, what string) error {
	return &Error{
		Rule: text, Col: column(text, at), What: what,
		Fix: "write rules as Tool or Tool(specifier), separated by commas; a rule with unbalanced parentheses needs its own flag or a policy file",
	}
}
