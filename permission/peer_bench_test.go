package permission

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cedar-policy/cedar-go"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// peerRule is one rule of the policies that are compared: 60 % command
// prefixes, 25 % paths, 15 % hosts, every tenth of each a deny.
type peerRule struct {
	tool, spec string // as a rule of this package: Bash(tool7 run:*)
	like       string // as a pattern of Cedar's like
	deny       bool
}

func peerRules(n int) []peerRule {
	out := make([]peerRule, 0, n+1)
	for i := range n {
		r := peerRule{deny: i%10 == 9}
		switch {
		case i%20 < 12:
			r.tool, r.spec, r.like = "Bash", fmt.Sprintf("tool%d run:*", i), fmt.Sprintf("tool%d run*", i)
		case i%20 < 17:
			r.tool, r.spec, r.like = "Edit", fmt.Sprintf("//srv/p%d/**", i), fmt.Sprintf("/srv/p%d/*", i)
		default:
			r.tool, r.spec, r.like = "WebFetch", fmt.Sprintf("domain:h%d.example", i), fmt.Sprintf("h%d.example", i)
		}
		out = append(out, r)
	}
	return append(out, peerRule{tool: "Bash", spec: "git status:*", like: "git status*"})
}

func peerPolicy(b *testing.B, rules []peerRule) *Policy {
	lists := map[patterns.List][]*patterns.Rule{}
	for _, r := range rules {
		list := patterns.Allow
		if r.deny {
			list = patterns.Deny
		}
		rule, _, err := patterns.Parse(r.tool+"("+r.spec+")", list, patterns.Source{Name: "bench"})
		if err != nil {
			b.Fatal(err)
		}
		lists[list] = append(lists[list], rule)
	}
	p := (spec{risk: true}).policy(b)
	p.Allow = patterns.NewSet(place, lists[patterns.Allow]...)
	p.Deny = patterns.NewSet(place, lists[patterns.Deny]...)
	return p
}

func cedarPolicy(b *testing.B, rules []peerRule) *cedar.PolicySet {
	var sb strings.Builder
	for _, r := range rules {
		effect := "permit"
		if r.deny {
			effect = "forbid"
		}
		fmt.Fprintf(&sb, "%s(principal, action == Action::%q, resource) when { context.subject like %q };\n", effect, r.tool, r.like)
	}
	set, err := cedar.NewPolicySetFromBytes("bench.cedar", []byte(sb.String()))
	if err != nil {
		b.Fatal(err)
	}
	return set
}

// BenchmarkPeers decides "git status" under equivalent policies: here from the
// JSON of the tool use to the decision, with the command line parsed; with
// Cedar and a linear scan on the text alone.
func BenchmarkPeers(b *testing.B) {
	for _, n := range []int{10, 100, 1000, 10000} {
		rules := peerRules(n)
		ours := peerPolicy(b, rules)
		use := using("Bash", "git status")
		use.Dir = workspace
		b.Run(fmt.Sprintf("ours/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Evaluate(ours, nil, &use, fakeFS{}, nil); d.Behavior != Allow {
					b.Fatal(outcome(d))
				}
			}
		})
		theirs := cedarPolicy(b, rules)
		req := cedar.Request{
			Principal: cedar.NewEntityUID("Agent", "a"), Action: cedar.NewEntityUID("Action", "Bash"),
			Resource: cedar.NewEntityUID("Workspace", "w"),
			Context:  cedar.NewRecord(cedar.RecordMap{"subject": cedar.String("git status")}),
		}
		b.Run(fmt.Sprintf("cedar-go/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got, _ := cedar.Authorize(theirs, nil, req); got != cedar.Allow {
					b.Fatal(got)
				}
			}
		})
		b.Run(fmt.Sprintf("linear/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !linear(rules, "Bash", "git status") {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

// linear is the linear scan.
func linear(rules []peerRule, tool, subject string) bool {
	allowed := false
	for i := range rules {
		r := &rules[i]
		if r.tool != tool || !strings.HasPrefix(subject, strings.TrimSuffix(r.like, "*")) {
			continue
		}
		if r.deny {
			return false
		}
		allowed = true
	}
	return allowed
}
