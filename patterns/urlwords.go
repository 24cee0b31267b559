package patterns

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// urlWord is a word of an allow rule with a URL in it, whose parts are texts
// with wildcards. A "*" in the host matches inside the host.
type urlWord struct {
	scheme, authority, rest textPattern
	// wild is set if the host has a wildcard. tail is set if that ends the word,
	// so that any path may follow.
	wild, tail bool
}

// urlWords returns the URLs among the words of a rule.
func urlWords(words []string) []urlWord {
	var urls []urlWord
	for _, w := range words {
		if scheme, authority, rest, ok := urlParts(w); ok {
			urls = append(urls, urlWord{
				scheme: wildText(scheme), authority: wildText(authority), rest: wildText(rest),
				wild: strings.IndexByte(authority, wild) >= 0,
				tail: rest == "" && strings.HasSuffix(authority, wildcard),
			})
		}
	}
	return urls
}

func wildText(text string) textPattern { return textPattern{chunks: strings.Split(text, wildcard)} }

// urlParts splits a word that is a URL, or an option with a URL after "=".
func urlParts(word string) (scheme, authority, rest string, ok bool) {
	scheme, authority, ok = strings.Cut(word, "://")
	scheme = scheme[strings.LastIndexByte(scheme, '=')+1:]
	if at := strings.IndexAny(authority, `/?#\`); at >= 0 {
		authority, rest = authority[:at], authority[at:]
	}
	return scheme, authority, rest, ok
}

// matches reports whether the rule's word matches a URL of a command.
func (u *urlWord) matches(w *shell.Word) bool {
	scheme, authority, rest, ok := urlParts(string(appendWord(nil, w, false)))
	if !ok || w.Split || !u.scheme.match(scheme) || !u.authority.match(authority) {
		return false
	}
	if u.wild && (strings.ContainsAny(authority, "@%") || strings.IndexByte(authority, gap) >= 0 || strings.HasPrefix(rest, `\`)) {
		return false
	}
	if len(u.rest.chunks) > 1 && strings.Contains(strings.ToLower(rest), "%2e") {
		return false // some programs take it for a dot, and go up
	}
	return u.tail || u.rest.match(rest)
}

// allowsURLs reports whether the rule, if it names a URL, names each URL that
// the command fetches.
func (c *commandRule) allowsURLs(sub *Subject) bool {
	if len(c.urls) == 0 {
		return true
	}
	for i := range sub.Fetches {
		named := false
		for k := range c.urls {
			named = named || c.urls[k].matches(&sub.Fetches[i])
		}
		if !named {
			return false
		}
	}
	return true
}
