package program

// Secret says where among a program's words a secret stands of which no name
// says so.
type Secret struct {
	Form SecretForm
	// Command is a word that has to be there; "" for none.
	Command string
	// Names are the options, the words behind which the secret stands, or the
	// reader. An option of User and Cookies that has one letter may stand in a
	// cluster.
	Names []string
	// Skip is how many operands stand before an Operand.
	Skip int
	// Sign stands between the name and the password of a User.
	Sign string
}

// SecretForm is the way in which a secret is given.
type SecretForm uint8

// The forms.
const (
	Value    SecretForm = iota // the value of an option, in the same word or the next
	Attached                   // what follows in the word that begins so
	Operand                    // an operand, behind one of the names if there are any
	Last                       // the last word
	Named                      // the second word behind the option, if the first is a name of secrets
	User                       // the part behind the sign of an option's value
	Cookies                    // an option's value, if it is cookies and no file
	Reader                     // what a reader in Go finds
)

// Secrets is the number of a list of them, 0 for none.
type Secrets uint8

// SecretsOf returns where a program takes secrets, by its name in small letters.
func SecretsOf(name string) []Secret {
	if p := find(name); p != nil {
		return secrets[p.Secrets]
	}
	return nil
}
