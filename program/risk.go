package program

// Class is the risk of an action. The zero value is invalid and counts as
// Forbidden wherever it is read.
type Class uint8

// The classes, in order. Their names are safe, moderate, high, forbidden.
const (
	Safe Class = iota + 1
	Moderate
	High
	Forbidden
)

// Tier returns what the class means for approval: 1 runs without asking (safe),
// 2 needs approval (moderate, high), 3 never runs (forbidden, and whatever is
// not a class).
func (c Class) Tier() int {
	switch c {
	case Safe:
		return 1
	case Moderate, High:
		return 2
	}
	return 3
}

// String returns the name of the class; what is not a class is forbidden.
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

// MarshalText returns the name of the class.
func (c Class) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Row gives the class of some uses of a program. Of the rows that hold, those
// that name the longest subcommand path count, and of these the first.
type Row struct {
	// Subs are the subcommand paths that the row speaks of: "get config/view
	// */describe-*". Empty stands for the program itself. A * stands for any
	// text of one path segment.
	Subs string
	// With must all be there: "-f|--force" is an option in any of its
	// spellings, "+1" at least one operand behind the path, "+0" none,
	// "@pattern" an operand of this form, "!destroys" a word that is a statement
	// that removes data from a database. Empty asks for nothing.
	With  string
	Class Class
	Cause Cause
	// Free are options that may be there as well although the catalogue
	// does not list them.
	Free string
}

// Cause is why a use has its class, in words. The few that decide something are
// constants of package risk.
type Cause string

// Risk is the number of a list of rows, so that what is made of a list can be
// kept by it. 0 is the empty list: the risk is not known.
type Risk uint16

// Rows returns the list.
func (r Risk) Rows() []Row { return risks[r] }

// RiskOf returns the risk of a program by its name.
func RiskOf(name string) Risk {
	if p := find(name); p != nil {
		return p.Risk
	}
	return 0
}
