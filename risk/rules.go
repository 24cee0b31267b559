package risk

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// Rule is one line of the tables, for a person who wants to know them.
type Rule struct {
	// Kind is what the line speaks of: "command", "path" (a write to it),
	// "device" (a write to it) or "removal" (recursive).
	Kind       string `json:"kind"`
	Program    string `json:"program,omitempty"`    // of a command
	Subcommand string `json:"subcommand,omitempty"` // words with blanks between; * is any text
	// Options are what a command must have for the line to hold: "-f|--force"
	// one of these options, "+1" one operand at least, "+0" none, "@x*" an operand
	// of that form, "!destroys" a word that is a statement that removes data from a
	// database. Separate words must all be there.
	Options string   `json:"options,omitempty"`
	Path    string   `json:"path,omitempty"` // of a path, device or removal; **/ is any directory, a device any name that begins so
	Risk    Class    `json:"risk"`
	Tier    int      `json:"tier"`
	Reason  string   `json:"reason"`
	Factors []string `json:"factors,omitempty"`
}

// Rules returns the tables of a profile, in the order in which they are asked:
// of the lines for a program those with the longest subcommand count, and of
// these the first.
func Rules(p Profile) []Rule {
	var out []Rule
	for _, name := range listed() {
		out = (&rated{name, lookup(name, p).rows}).appendRules(out)
	}
	return append(append(out, spotRules(p)...), deviceRules()...)
}

// listed returns the names of the programs whose risk the catalogue knows, sorted.
func listed() []string {
	var names []string
	for p := range program.Builtin {
		if p.Risk != 0 {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}

// appendRules appends the rows of a program, one rule for each subcommand.
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
