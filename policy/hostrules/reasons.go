package hostrules

// Reason is why a rule has its outcome.
type Reason string

// The reasons. Taken: Same, Rewritten. Tightened: from Narrower on. Left out: from
// NeverMatches on.
const (
	Same      Reason = "same"
	Rewritten Reason = "rewritten"

	Narrower  Reason = "narrower"
	Workspace Reason = "workspace"
	Meant     Reason = "meant"
	AsksAll   Reason = "asks-all"
	Wider     Reason = "wider"
	Overruled Reason = "overruled"

	NeverMatches Reason = "never-matches"
	NotARule     Reason = "not-a-rule"
	UnknownTool  Reason = "unknown-tool"
	NoEquivalent Reason = "no-equivalent"
	UnknownKey   Reason = "unknown-key"
	CannotBeSaid Reason = "cannot-be-said"
	TooMuch      Reason = "too-much"
	Condition    Reason = "condition"
	Overridden   Reason = "overridden"
	IsDefault    Reason = "default"
	Repeated     Reason = "repeated"
)

// reasons says each reason to people.
var reasons = map[Reason]string{
	Same:         "means the same here",
	Rewritten:    "means the same here, written differently",
	Narrower:     "covers less here",
	Workspace:    "holds in the workspace only",
	Meant:        "never matched there; here it does what it seems to say",
	AsksAll:      "cannot be said here, so everything that the tool does is asked about",
	Wider:        "asks about or denies more here",
	Overruled:    "a rule that asks or denies, and that it overrides there, still counts here",
	NeverMatches: "never matches anything",
	NotARule:     "is no rule that the host reads",
	UnknownTool:  "names a tool that does not exist",
	NoEquivalent: "is about a tool that has no equivalent here",
	UnknownKey:   "is a setting that the host does not read",
	CannotBeSaid: "means more there than a rule here can say",
	TooMuch:      "allows everything",
	Condition:    "holds under a condition that rules here do not have",
	Overridden:   "is overridden there by a later or stronger rule",
	IsDefault:    "is what happens here without a rule",
	Repeated:     "stands there twice",
}

// String returns the reason as words for people.
func (r Reason) String() string {
	if text, ok := reasons[r]; ok {
		return text
	}
	return string(r)
}
