package program

// Class is the risk of an action. The zero value is invalid and treated as Forbidden.
type Class uint8

// The classes, in order. Their names are safe, moderate, high, forbidden.
const (
	Safe Class = iota + 1
	Moderate
	High
	Forbidden
)

// Tier returns the approval tier of the class: 1 runs without asking (safe), 2 needs
// approval (moderate, high), 3 never runs (forbidden and invalid classes).
func (c Class) Tier() int {
	switch c {
	case Safe:
		return 1
	case Moderate, High:
		return 2
	}
	return 3
}

// String returns the name of the class. That of an invalid class is forbidden.
func (c Class) String() string {
	switch c {
	case Safe:
		return "safe"
	case Moderate:
		return "moderate"
	case High:
		return "high"
	}
	return "forbidden"
}

// Word returns the class as a person reads it: its name, but destructive for forbidden,
// since a rule may allow what is forbidden otherwise.
func (c Class) Word() string {
	if word := c.String(); word != "forbidden" {
		return word
	}
	return "destructive"
}

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Row gives the class of some uses of a program. Among the rows that match, those
// with the longest subcommand path count, and the first of these.
type Row struct {
	// Subs holds the subcommand paths that the row applies to: "get config/view
	// */describe-*". Empty stands for the program itself. A * stands for any text in
	// one path element.
	Subs string
	// With lists conditions, all of which must hold: "-f|--force" is an option in any
	// of these spellings, "+1" at least one operand behind the path, "+0" none,
	// "@pattern" an operand of this form, "!destroys" a word that is a statement that
	// removes data from a database.
	With  string
	Class Class
	Cause Cause
	// Free lists options that may be present although the catalogue does not list
	// them.
	Free string
}

// Cause is why a use has its class, in words. Causes that decide something are
// constants of package risk.
type Cause string

// RiskOf returns the risk of a program by its name, nil if it is unknown. It is the same
// list at each call.
func RiskOf(name string) []Row {
	if p := find(name); p != nil {
		return p.Risk
	}
	return nil
}
