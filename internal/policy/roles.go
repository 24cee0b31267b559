package policy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// RisksSpec says what is answered about actions that no rule names, by their risk: see
// permission.RiskAnswer. An empty text is the answer of the tier.
type RisksSpec struct {
	Safe, Moderate, High Item // allow, ask or deny
}

// riskKeys are the risks that a policy may answer for, with the answers, from the
// loosest. What is high never runs by its risk; what is forbidden is tier 3.
var riskKeys = []struct {
	name    string
	class   risk.Class
	answers []string
}{
	{"safe", risk.Safe, []string{"allow", "ask"}},
	{"moderate", risk.Moderate, []string{"allow", "ask", "deny"}},
	{"high", risk.High, []string{"ask", "deny"}},
}

var behaviors = map[string]permission.Behavior{"allow": permission.Allow, "ask": permission.Ask, "deny": permission.Deny}

// builtinRoles are the roles of seed 4 that every policy knows. Two of them differ in
// name only until a policy says more.
var builtinRoles = map[string]RisksSpec{
	"chat":       {Moderate: Item{Text: "ask"}, High: Item{Text: "ask"}},
	"automation": {Moderate: Item{Text: "allow"}, High: Item{Text: "ask"}},
	"system":     {Moderate: Item{Text: "allow"}, High: Item{Text: "ask"}},
	"admin":      {Moderate: Item{Text: "allow"}, High: Item{Text: "ask"}},
}

// RoleSpec is what a policy says of a role.
type RoleSpec struct {
	Name  string
	Risks RisksSpec
}

type risksTable struct {
	Safe     string `toml:"safe" json:"-"`
	Moderate string `toml:"moderate" json:"-"`
	High     string `toml:"high" json:"-"`
}

// spec returns the answers of the table at a path.
func (t *risksTable) spec(path string, place func(string) patterns.Source) RisksSpec {
	var s RisksSpec
	text := map[string]string{"safe": t.Safe, "moderate": t.Moderate, "high": t.High}
	for key, item := range s.items() {
		if at := place(path + "." + key); at.Line > 0 {
			*item = Item{text[key], at}
		}
	}
	return s
}

func roleSpecs(tables map[string]risksTable, place func(string) patterns.Source) []RoleSpec {
	var all []RoleSpec
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		t := tables[name]
		all = append(all, RoleSpec{name, t.spec(stricttoml.Path("roles", name), place)})
	}
	return all
}

// items returns pointers to the answers, by their keys.
func (s *RisksSpec) items() map[string]*Item {
	return map[string]*Item{"safe": &s.Safe, "moderate": &s.Moderate, "high": &s.High}
}

// rank returns how strict an answer is. One that is none is the strictest, so that no
// other source hides it.
func rank(answer Item) int {
	switch b, known := behaviors[answer.Text]; {
	case answer == Item{}:
		return 0
	case known:
		return int(b)
	}
	return int(permission.Deny) + 1
}

// narrow adds the answers of another source: of each, the strictest counts.
func (s *RisksSpec) narrow(other *RisksSpec) {
	own := s.items()
	for key, answer := range other.items() {
		if rank(*answer) > rank(*own[key]) {
			*own[key] = *answer
		}
	}
}

// untrusted adds the answers of an untrusted source that are stricter than what counts,
// and returns the others.
func (s *RisksSpec) untrusted(other *RisksSpec) []Item {
	var out []Item
	usual := RisksSpec{Safe: Item{Text: "allow"}, Moderate: Item{Text: "ask"}, High: Item{Text: "ask"}}
	for _, k := range riskKeys {
		own, answer := s.items()[k.name], other.items()[k.name]
		least := rank(*usual.items()[k.name]) // a role may be looser
		switch {
		case rank(*answer) > max(rank(*own), int(permission.Allow)) && rank(*answer) >= least:
			*own = *answer
		case *answer != Item{} && rank(*answer) < max(rank(*own), least):
			out = append(out, Item{fmt.Sprintf("risks.%s = %q", k.name, answer.Text), answer.Source})
		}
	}
	return out
}

// untrustedRisks adds the answers by risk of an untrusted source, and returns those that
// do not count: all, where a trusted one has no tiers.
func (m *merger) untrustedRisks(other *RisksSpec) []Item {
	if m.spec.Risk != "off" {
		return m.spec.Risks.untrusted(other)
	}
	var out []Item
	other.show("risks", func(key, text string, at patterns.Source) {
		out = append(out, Item{fmt.Sprintf("%s = %q", key, text), at})
	})
	return out
}

// withRoles adds the roles of another source, by the strictest answer of each.
func withRoles(roles, more []RoleSpec) []RoleSpec {
	roles = slices.Clone(roles)
	for _, r := range more {
		if i := slices.IndexFunc(roles, func(o RoleSpec) bool { return o.Name == r.Name }); i >= 0 {
			roles[i].Risks.narrow(&r.Risks)
			continue
		}
		roles = append(roles, r)
	}
	return roles
}

// mayGiveRoles reports whether a source may say what a role may do, and which one is
// meant: the machine's, the person's, one that was named, or the caller. A repository
// may not, whoever trusts it: it is written by those whom roles are for.
func mayGiveRoles(k Kind) bool { return k <= Named || k == Flags }

// roles drops what a source may not say of roles.
func (m *merger) roles(src Source, said *Spec) {
	if mayGiveRoles(src.Kind) {
		return
	}
	const why = "only a managed or user policy, or one given with --policy, may set this"
	for _, r := range said.Roles {
		at := cmp.Or(r.Risks.Safe.Source, r.Risks.Moderate.Source, r.Risks.High.Source, patterns.Source{Name: src.Name})
		m.ignore(at, why, "roles.%s", r.Name)
	}
	said.Roles = nil
	if said.Role != "" {
		m.ignore(said.at(src, "role"), why, "role = %q", said.Role)
		said.Role = ""
		said.places = without(said.places, "role")
	}
}

// byRisk compiles the answers by risk, of the role if there is one.
func (c *compiler) byRisk() (out [risk.Forbidden]permission.RiskAnswer) {
	s := c.spec
	s.Risks.check(c, "risks")
	for i := range s.Roles {
		s.Roles[i].Risks.check(c, "roles."+s.Roles[i].Name)
		if strings.TrimSpace(s.Roles[i].Name) == "" {
			c.fail(errors.New("roles: a role has no name"))
		}
	}
	if s.Risk == "off" && (s.Risks != RisksSpec{} || s.Role != "") {
		c.fail(s.fault("risk", errors.New(`risk is "off", but risks or role answers by risk: remove one of them`)))
	}
	role, by := s.roleAnswers(c)
	for _, k := range riskKeys {
		answer, own := *role.items()[k.name], *s.Risks.items()[k.name]
		said := by
		if rank(own) > rank(answer) {
			answer, said = own, "risks."+k.name
		}
		if answer.Text == "" {
			continue
		}
		if answer.Source == (patterns.Source{}) {
			answer.Source = patterns.Source{Name: by}
		}
		out[k.class] = permission.RiskAnswer{Behavior: behaviors[answer.Text], By: said, Source: answer.Source}
	}
	return out
}

// check reports answers that are none.
func (s *RisksSpec) check(c *compiler, path string) {
	for _, k := range riskKeys {
		if answer := *s.items()[k.name]; answer != (Item{}) && !slices.Contains(k.answers, answer.Text) {
			c.fail(at(answer.Source, fmt.Errorf("%s.%s is %q: write %s", path, k.name, answer.Text, orList(k.answers))))
		}
	}
}

// roleAnswers returns what is answered for the policy's role, and its name in reasons.
// What a policy says of a role replaces what is built in, key by key.
func (s *Spec) roleAnswers(c *compiler) (RisksSpec, string) {
	if _, given := s.places["role"]; s.Role == "" && !given {
		return RisksSpec{}, ""
	}
	name := strings.TrimSuffix(s.Role, "_agent")
	answers, known := builtinRoles[name]
	for _, r := range s.Roles {
		if r.Name != name {
			continue
		}
		known = true
		for key, answer := range r.Risks.items() {
			if *answer != (Item{}) {
				*answers.items()[key] = *answer
			}
		}
	}
	if !known {
		names := slices.Collect(maps.Keys(builtinRoles))
		for _, r := range s.Roles {
			names = append(names, r.Name)
		}
		slices.Sort(names)
		c.fail(s.fault("role", fmt.Errorf("role is %q: write %s", s.Role, orList(slices.Compact(names)))))
	}
	return answers, "role " + name
}

// show calls add for each answer.
func (s *RisksSpec) show(path string, add func(key, text string, at patterns.Source)) {
	for _, k := range riskKeys {
		if answer := *s.items()[k.name]; answer.Text != "" {
			add(path+"."+k.name, answer.Text, answer.Source)
		}
	}
}

// answersByRisk returns the answers by risk for Spec.Digest, nil if there are none.
func (s *Spec) answersByRisk() []string {
	var out []string
	s.showRisks(func(key, text string, _ patterns.Source) { out = append(out, key+" "+text) })
	return out
}

func (s *Spec) showRisks(add func(key, text string, at patterns.Source)) {
	s.Risks.show("risks", add)
	for i := range s.Roles {
		s.Roles[i].Risks.show("roles."+s.Roles[i].Name, add)
	}
}
