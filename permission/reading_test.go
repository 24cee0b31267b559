package permission

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
)

// TestReadingJudgedAgain checks that a reading gives the same decision after it
// has been judged under other policies and sessions, and with suppositions.
func TestReadingJudgedAgain(t *testing.T) {
	own := claims(t)
	rapid.Check(t, func(rt *rapid.T) {
		use := drawUse(rt)
		use.Dir = workspace
		var policies []*Policy
		var sessions []*Session
		for range 3 {
			s := drawSpec(rt)
			s.guarded = rapid.SampledFrom([][]string{nil, {workspace + "/src"}, {workspace + "/a"}}).Draw(rt, "guarded")
			p := s.policy(t)
			p.Profile = rapid.SampledFrom([]risk.Profile{risk.Default, risk.Terminal}).Draw(rt, "profile")
			policies, sessions = append(policies, p), append(sessions, s.session(t))
		}
		if rapid.Bool().Draw(rt, "claims") {
			more := drawSpec(rt).policy(t)
			more.Catalog = own
			policies[0].Further = []*Policy{more}
		}
		env := fakeFS{links: map[string]string{workspace + "/link": "/etc"}}
		r := newReading(&use, policies[0].knowledge(), env, nil)
		for i := range 2 * len(policies) {
			p, said := policies[i%len(policies)], sessions[i/2].standing()
			want := decide(p, said, &use, env, nil, nil)
			if got := judge(r, p, said, nil); !reflect.DeepEqual(got, want) {
				rt.Fatalf("%s, judged %d times before: %+v, want %+v", use.Input, i, got, want)
			}
			r.wordless = true
			quiet := judge(r, p, said, nil)
			r.wordless = false
			if quiet.Behavior != want.Behavior || quiet.Layer != want.Layer || quiet.Held != want.Held || len(quiet.Parts) != len(want.Parts) {
				rt.Fatalf("%s: without words %+v, want %+v", use.Input, quiet, want)
			}
			for n := range quiet.Parts {
				q, w := quiet.Parts[n], want.Parts[n]
				if !sameAction(q, w) || q.Behavior != w.Behavior || q.Sealed != w.Sealed {
					rt.Fatalf("%s: part %d without words %+v, want %+v", use.Input, n, q, w)
				}
			}
		}
	})
}

// TestStraysByOnePolicy: that a read may leave the workspace by a link, which only a policy
// with tiers looks up, changes nothing for the next policy.
func TestStraysByOnePolicy(t *testing.T) {
	use := ToolUse{Tool: "Bash", Input: []byte(`{"command":"git ls-files | xargs grep x"}`), Dir: workspace}
	env := fakeFS{links: map[string]string{workspace + "/link": "/etc"}}
	tiers, rules := spec{risk: true}, spec{ask: "Read"}
	said := rules.session(t).standing()
	first, then := tiers.policy(t), rules.policy(t)
	r := newReading(&use, first.knowledge(), env, nil)
	if d := judge(r, first, said, nil); !strings.Contains(d.Reason, "a link that leads out of the workspace") {
		t.Fatalf("no link is looked up: %s", d.Reason)
	}
	want := decide(then, said, &use, env, nil, nil)
	if got := judge(r, then, said, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
