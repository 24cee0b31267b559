package policy

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Digest returns a digest of the contents of the policy, not of its location:
// two files with the same rules in the same order have the same one. It may be
// "" for a policy that does not load.
func (s *Spec) Digest() string {
	if s.packed != nil {
		return s.packed.digest
	}
	type rule struct {
		Tools, Paths, Commands, Patterns, Domains []string
		Action, Message                           string
	}
	said := struct {
		Mode, Unlisted, Risk, Catastrophic string
		Allow, Ask, Deny, Approved, Gate   []string
		Rules                              []rule
		Programs                           map[string]any
		Tools                              map[string]any           `json:",omitempty"`
		Mapped                             map[string]tools.Mapping `json:",omitempty"`
		Further                            []string
		Whitelists, Escalation, Notify     []string `json:",omitempty"`
		WhitelistBypass                    string   `json:",omitempty"`
		Profile, SensitivePaths, Advice    string   `json:",omitempty"`
		InlineCode, Role, Sandbox          string   `json:",omitempty"`
		RiskOverrides                      [][]any  `json:",omitempty"`
		Protect, Reads, Limits, Approvals  []string `json:",omitempty"`
		ByRisk                             []string `json:",omitempty"`
	}{
		Mode: s.Mode, Unlisted: s.Unlisted, Risk: s.Risk, Catastrophic: s.Catastrophic, WhitelistBypass: s.WhitelistBypass,
		Allow: texts(s.Allow), Ask: texts(s.Ask), Deny: texts(s.Deny),
		Approved: texts(s.Approved), Gate: texts(s.Gate), Programs: map[string]any{},
	}
	said.Whitelists = texts(s.Whitelists)
	if s.Escalation.given() {
		said.Escalation = append([]string{s.Escalation.Webhook}, s.Escalation.Command...)
	}
	said.Notify = s.Notify.digest()
	said.Limits, said.Approvals = shown(s.Limits.show), shown(s.Approvals.show)
	said.Role, said.ByRisk = s.Role, s.answersByRisk()
	said.Protect, said.Reads = texts(s.Protect), texts(s.Reads)
	said.Profile, said.SensitivePaths, said.Advice, said.InlineCode = s.Profile, s.SensitivePaths, s.Advice, s.InlineCode
	said.Sandbox = s.Sandbox
	for _, o := range s.RiskOverrides {
		said.RiskOverrides = append(said.RiskOverrides, []any{o.Pattern, o.Path, o.Risk, o.Reason, o.narrow, o.kept})
	}
	for _, r := range s.Rules {
		said.Rules = append(said.Rules, rule{r.Tools, r.Paths, r.Commands, r.Patterns, r.Domains, r.Action, r.Message})
	}
	for _, p := range s.Programs {
		said.Programs[p.Name] = p.table
	}
	said.Mapped = s.Mapped
	for _, t := range s.Tools {
		if said.Tools == nil {
			said.Tools = map[string]any{}
		}
		said.Tools[t.Name] = t.table
	}
	for _, more := range s.Further {
		said.Further = append(said.Further, more.Digest())
	}
	data, err := json.Marshal(said)
	if err != nil {
		return "" // a program's entry has a value that no key can have, so it does not load
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}

// shown returns the lines of a table, nil if there are none.
func shown(show func(add func(key, text string, at patterns.Source))) []string {
	var lines []string
	show(func(key, text string, _ patterns.Source) { lines = append(lines, key+" "+text) })
	return lines
}

func texts(items []Item) []string {
	var list []string
	for _, item := range items {
		list = append(list, item.Text)
	}
	return list
}
