package hostrules

// Reason is why a rule has its outcome.
type Reason string

// The reasons. Taken: whySame, whyRewritten. Tightened: from whyNarrower on. Left out: from
// whyNeverMatches on.
const (
	whySame      Reason = "same"
	whyRewritten Reason = "rewritten"

	whyNarrower  Reason = "narrower"
	whyWorkspace Reason = "workspace"
	whyMeant     Reason = "meant"
	whyAsksAll   Reason = "asks-all"
	whyWider     Reason = "wider"
	whyOverruled Reason = "overruled"

	whyNeverMatches Reason = "never-matches"
	whyNotARule     Reason = "not-a-rule"
	whyUnknownTool  Reason = "unknown-tool"
	whyNoEquivalent Reason = "no-equivalent"
	whyUnknownKey   Reason = "unknown-key"
	whyCannotBeSaid Reason = "cannot-be-said"
	whyTooMuch      Reason = "too-much"
	whyCondition    Reason = "condition"
	whyOverridden   Reason = "overridden"
	whyIsDefault    Reason = "default"
	whyRepeated     Reason = "repeated"
)

// reasons says each reason to people.
var reasons = map[Reason]string{
	whySame:         "means the same here",
	whyRewritten:    "means the same here, written differently",
	whyNarrower:     "covers less here",
	whyWorkspace:    "holds in the workspace only",
	whyMeant:        "never matched there; here it does what it seems to say",
	whyAsksAll:      "cannot be said here, so everything that the tool does is asked about",
	whyWider:        "asks about or denies more here",
	whyOverruled:    "also counts where a rule that overrides it there allows",
	whyNeverMatches: "never matches anything",
	whyNotARule:     "is no rule that the host reads",
	whyUnknownTool:  "names a tool that does not exist",
	whyNoEquivalent: "is about a tool that has no equivalent here",
	whyUnknownKey:   "is a setting that the host does not read",
	whyCannotBeSaid: "means more there than a rule here can say",
	whyTooMuch:      "allows everything",
	whyCondition:    "holds under a condition that rules here do not have",
	whyOverridden:   "is overridden there by a later or stronger rule",
	whyIsDefault:    "is what happens here without a rule",
	whyRepeated:     "stands there twice",
}

// String returns the reason as words for people.
func (r Reason) String() string {
	if text, ok := reasons[r]; ok {
		return text
	}
	return string(r)
}
