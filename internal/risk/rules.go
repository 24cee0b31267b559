package risk

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// Rule is one row of the tables, for display.
type Rule struct {
	// Kind is what the row is about: "command", "path" (a write to it),
	// "device" (a write to it) or "removal" (recursive).
	Kind       string `json:"kind"`
	Program    string `json:"program,omitempty"`    // of a command
	Subcommand string `json:"subcommand,omitempty"` // words separated by blanks; * matches any text
	// Options are the conditions of the row, separated by blanks; all must
	// hold: "-f|--force" is one of these options, "+1" at least one operand,
	// "+0" none, "@x*" an operand of that form, "!destroys" a word with an SQL
	// statement that removes data.
	Options string   `json:"options,omitempty"`
	Path    string   `json:"path,omitempty"` // of a path, device or removal; **/ matches any directory, a device is a prefix
	Risk    Class    `json:"risk"`
	Tier    int      `json:"tier"`
	Reason  string   `json:"reason"`
	Factors []string `json:"factors,omitempty"`
}

// Rules returns the tables of a profile in the order of lookup: of the rows of
// a program, those with the longest subcommand apply, and of these the first.
func Rules(p Profile) []Rule {
	var out []Rule
	for _, name := range listed() {
		out = (&rated{name, lookup(name, p).rows}).appendRules(out)
	}
	return append(append(out, spotRules(p)...), deviceRules()...)
}

// listed returns the sorted names of the programs whose risk the catalogue
// knows.
func listed() []string {
	var names []string
	for p := range program.Builtin {
		if p.Risk != nil {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// appendRules appends the rows of a program, one rule per subcommand.
func (p *rated) appendRules(out []Rule) []Rule {
	for i := range p.rows {
		r := &p.rows[i]
		rule := Rule{Kind: "command", Program: p.name, Options: r.With, Risk: r.Class, Tier: r.Class.Tier(), Reason: string(r.Cause)}
		if r.Cause == environment {
			rule.Factors = alone(FactorSensitive)
		}
		if r.Subs == "" {
			out = append(out, rule)
		}
		for path := range strings.FieldsSeq(r.Subs) {
			rule.Subcommand = strings.ReplaceAll(path, "/", " ")
			out = append(out, rule)
		}
	}
	return out
}

func spotRules(p Profile) []Rule {
	var out []Rule
	for i := range spots {
		for one := range strings.FieldsSeq(spots[i].paths) {
			f := spots[i].writing(p)
			out = append(out, Rule{Kind: "path", Path: one, Risk: f.Class, Tier: f.Class.Tier(), Reason: f.Reason, Factors: f.Factors})
		}
	}
	return out
}

func deviceRules() []Rule {
	var out []Rule
	for _, one := range devices {
		out = append(out, Rule{"device", "", "", "", one, Forbidden, Forbidden.Tier(), string(disks), alone(FactorDevice)})
	}
	for _, one := range system {
		out = append(out, Rule{"removal", "", "", "", one, Forbidden, Forbidden.Tier(), string(destructive), alone(FactorCatastrophic)})
	}
	return out
}
