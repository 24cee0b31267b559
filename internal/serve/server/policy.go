package server

import (
	"net/http"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// policyRoutes are the routes of the policy in force, which the server never changes.
func policyRoutes() []route {
	return []route{
		{method: "GET", path: "/api/policy", access: people, about: "get the policy in force: its source, the answer for each risk and role, timeouts and approvers",
			action: to((*Server).policy), errors: []int{503}},
	}
}

// policyInfo is the policy in force, as its files are now.
type policyInfo struct {
	Workspace string          `json:"workspace"`
	Version   string          `json:"version"`
	Mode      string          `json:"mode"`
	Sources   []policySource  `json:"sources"`
	Settings  []policySetting `json:"settings"` // and rules, in the order in which they apply
	Ignored   []string        `json:"ignored"`
	Warnings  []string        `json:"warnings"`
	// Roles are the answers about what no rule names, by role and risk; none without tiers
	// (risk = "off").
	Roles     []policyRole   `json:"roles"`
	Approvals approvalsAsked `json:"approvals"`
}

// policySource is a file or other source of the policy.
type policySource struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Trusted bool   `json:"trusted"`
}

// policySetting is a setting or rule, with its place.
type policySetting struct {
	Key    string `json:"key"`
	Text   string `json:"text"`
	Source string `json:"source"`
}

// policyRole says what is answered for agents of a role where no rule names it.
type policyRole struct {
	Name    string             `json:"name"`
	Answers []policyRiskAnswer `json:"answers"`
}

// policyRiskAnswer is the answer for a risk.
type policyRiskAnswer struct {
	Risk   string `json:"risk"`
	Answer string `json:"answer"` // allow, ask, deny
	By     string `json:"by"`     // who says so: "role chat", "the tier"
}

// approvalsAsked is what answers have to meet.
type approvalsAsked struct {
	TimeoutSeconds int            `json:"timeout_seconds"` // 0: none
	People         []string       `json:"people"`          // who may answer; null: anyone but the asker
	Quorum         map[string]int `json:"quorum"`          // how many have to approve, by risk
}

// policy tells what is in force.
func (s *Server) policy(_ *call, _ *none) (policyInfo, error) {
	if s.options.Rules == nil {
		return policyInfo{}, fail(http.StatusServiceUnavailable, "unavailable", "this server cannot show its policy")
	}
	out := policyInfo{Sources: []policySource{}, Settings: []policySetting{}, Roles: []policyRole{}}
	for _, role := range agentRoles {
		rules, err := s.options.Rules(role)
		if err != nil {
			return policyInfo{}, err
		}
		if !rules.Policy.RiskOff {
			out.Roles = append(out.Roles, answersOf(role, rules.Policy))
		}
		if role != triedRole {
			continue
		}
		shown, demands := rules.Show(), rules.Demands()
		out.Workspace, out.Version, out.Mode = shown.Workspace, shown.Version, rules.Policy.Mode.String()
		out.Ignored, out.Warnings = shown.Ignored, append([]string{}, shown.Warnings...)
		for _, src := range shown.Sources {
			out.Sources = append(out.Sources, policySource{src.Kind, src.Name, src.Trusted})
		}
		for _, set := range shown.Counts {
			out.Settings = append(out.Settings, policySetting{set.Key, set.Text, set.Place})
		}
		out.Approvals = approvalsAsked{int(demands.Within / time.Second), demands.People, map[string]int{}}
		for class, people := range demands.Quorum {
			out.Approvals.Quorum[class.String()] = people
		}
	}
	return out, nil
}

// tiers are what the tiers answer, by risk.
var tiers = []policyRiskAnswer{
	{"safe", "allow", "the tier"}, {"moderate", "ask", "the tier"}, {"high", "ask", "the tier"}, {"forbidden", "deny", "the tier"},
}

// answersOf returns the answers by risk of a policy.
func answersOf(name string, p *permission.Policy) policyRole {
	out := policyRole{Name: name, Answers: slices.Clone(tiers)}
	for i := range out.Answers {
		a := &out.Answers[i]
		class, known := risk.ParseClass(a.Risk)
		if known && int(class) < len(p.ByRisk) && p.ByRisk[class].Behavior != 0 {
			a.Answer, a.By = p.ByRisk[class].Behavior.String(), p.ByRisk[class].By
		}
	}
	return out
}
