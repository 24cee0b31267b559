package catalogfile

import (
	"fmt"
	"strings"
)

// Secret is the place of a secret in the arguments of a program; see
// program.Secret.
type Secret struct {
	Form    string // a key of SecretForms
	Command string
	Names   []string
	Skip    int
	Sign    string
}

// SecretForms are the forms of secrets and the corresponding constants of
// package program.
var SecretForms = map[string]string{
	"value": "Value", "attached": "Attached", "operand": "Operand", "last": "Last", "named": "Named", "user": "User", "cookies": "Cookies", "reader": "Reader",
}

// readSecrets parses the key secrets.
func (e *Entry) readSecrets(value any) error {
	list, err := e.words("secrets", value)
	if err != nil {
		return err
	}
	for i, text := range list {
		s, ok := parseSecret(strings.Fields(text))
		if !ok || len(e.Path) > 0 {
			return e.where.fault(fmt.Sprintf("secrets[%d]", i), text, fmt.Sprintf("secret %q: no such form", text))
		}
		e.Secrets = append(e.Secrets, s)
	}
	return nil
}

// parseSecret parses the words of one secret; see the package comment.
func parseSecret(words []string) (s Secret, ok bool) {
	n := len(words)
	if n == 0 {
		return s, false
	}
	last := words[n-1]
	switch {
	case n == 2 && words[0] == "by":
		return Secret{Form: "reader", Names: words[1:]}, true
	case n == 1 && last != "SECRET" && strings.HasSuffix(last, "SECRET"):
		return Secret{Form: "attached", Names: []string{strings.TrimSuffix(last, "SECRET")}}, true
	case n == 3 && words[1] == "..." && last == "SECRET":
		return Secret{Form: "last", Command: words[0]}, true
	case n == 3 && words[1] == "NAME" && last == "SECRET" && option(words[0]):
		return Secret{Form: "named", Names: words[:1]}, true
	case n == 2 && option(words[0]) && last == "COOKIES":
		return Secret{Form: "cookies", Names: strings.Split(words[0], "|")}, true
	case n == 2 && option(words[0]) && strings.HasPrefix(last, "NAME") && strings.HasSuffix(last, "SECRET"):
		s = Secret{Form: "user", Names: strings.Split(words[0], "|"), Sign: strings.TrimSuffix(last[len("NAME"):], "SECRET")}
		return s, len(s.Sign) == 1
	case n > 1 && n < 4 && option(words[n-2]) && last == "SECRET":
		return Secret{Form: "value", Command: strings.Join(words[:n-2], ""), Names: words[n-2 : n-1]}, n == 2 || !option(words[0])
	case last != "SECRET":
		return s, false
	}
	s.Form = "operand"
	if words[0] != "_" && n > 1 {
		s.Names = strings.Split(words[0], "|")
		words = words[1:]
	}
	for _, w := range words[:len(words)-1] {
		if w != "_" {
			return s, false
		}
		s.Skip++
	}
	return s, true
}

func option(word string) bool { return word[0] == '-' }
