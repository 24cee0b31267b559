package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Shown is one setting or rule of a policy, for people and programs to read.
type Shown struct {
	Key    string          `json:"key"`  // mode, allow, rules, programs …
	Text   string          `json:"text"` // its value
	Source patterns.Source `json:"-"`
	Place  string          `json:"source"` // file:line:col
}

// Show lists all settings and rules of a policy in the order in which they
// apply.
func (s *Spec) Show() []Shown {
	list := []Shown{}
	add := func(key, text string, at patterns.Source) {
		list = append(list, Shown{Key: key, Text: text, Source: at, Place: placed(at)})
	}
	for _, key := range []string{"mode", "unlisted", "risk", "profile", "sensitive_paths", "inline_code", "catastrophic", "whitelist_bypass", "advice", "sandbox", "role"} {
		if value := *s.settings()[key]; value != "" {
			add(key, value, s.places[key])
		}
	}
	for _, l := range []struct {
		key   string
		items []Item
	}{
		{"session_deny", s.SessionDeny}, {"deny", s.Deny}, {"session_allow", s.SessionAllow}, {"approved", s.Approved},
		{"allow", s.Allow}, {"gate", s.Gate}, {"ask", s.Ask}, {"protect", s.Protect}, {"reads.public", s.Reads},
	} {
		for _, item := range l.items {
			add(l.key, item.Text, item.Source)
		}
	}
	for _, item := range s.Whitelists {
		add("whitelist", item.Text, item.Source)
	}
	if e := s.Escalation; len(e.Command) > 0 {
		add("escalation.command", strings.Join(e.Command, " "), e.Source)
	}
	if e := s.Escalation; e.Webhook != "" {
		add("escalation.webhook", "(an address, not shown)", e.Source)
	}
	s.Notify.show(add)
	s.Limits.show(add)
	s.Approvals.show(add)
	s.showRisks(add)
	for _, r := range s.Rules {
		add("rules", r.String(), r.Source)
	}
	for _, o := range s.RiskOverrides {
		add("risk_overrides", o.String(), o.Source)
	}
	for _, p := range slices.Concat(s.Programs, s.Tools) {
		table, err := json.Marshal(p.table)
		if err != nil { // dates and similar values, which no key can have
			table = []byte(err.Error())
		}
		add(p.section, p.Name+" "+string(table), p.Source)
	}
	return list
}

// String returns a granular rule on one line: "ask tools=Bash commands=npm".
func (r *RuleSpec) String() string {
	out := r.Action
	for _, c := range []struct {
		key    string
		values []string
	}{{"tools", r.Tools}, {"paths", r.Paths}, {"commands", r.Commands}, {"patterns", r.Patterns}, {"domains", r.Domains}} {
		if len(c.values) > 0 {
			out += fmt.Sprintf(" %s=%s", c.key, strings.Join(c.values, ","))
		}
	}
	if r.Message != "" {
		out += fmt.Sprintf(" message=%q", r.Message)
	}
	return out
}
