package permission

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/risk"
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
