package program

// Secret describes where a secret stands among a program's words, if its name does
// not show it.
type Secret struct {
	Form SecretForm
	// Command is a word that must be present, "" for none.
	Command string
	// Names holds the options, the words before the secret, or the name of the
	// reader. An option of User and Cookies with one letter may be part of a cluster.
	Names []string
	// Skip is the number of operands before an Operand.
	Skip int
	// Sign separates the name and the password of a User.
	Sign string
}

// SecretForm is the form in which a secret is given.
type SecretForm uint8

// The forms.
const (
	Value    SecretForm = iota // the value of an option, in the same word or the next
	Attached                   // the rest of a word that begins with the name
	Operand                    // an operand, after one of the names if there are any
	Last                       // the last word
	Named                      // the second word after the option, if the first is a name used for secrets
	User                       // the part of an option's value after the sign
	Cookies                    // an option's value, if it is cookies rather than a file
	Reader                     // found by a Go function
)

// SecretsOf returns where a program takes secrets. The name is in lower case.
func SecretsOf(name string) []Secret {
	if p := find(name); p != nil {
		return p.Secrets
	}
	return nil
}
