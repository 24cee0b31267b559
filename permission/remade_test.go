package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// projectEnv is a workspace in which git ignores some directories, and node_modules of
// "linked" and all of "away" lead elsewhere.
var projectEnv = fakeFS{
	ignored: []string{workspace + "/build", workspace + "/web/dist", workspace + "/target", workspace + "/bin", workspace + "/out"},
	links:   map[string]string{workspace + "/linked/node_modules": home + "/store", workspace + "/away": home + "/other", workspace + "/alias": workspace + "/src"},
}

func TestRemade(t *testing.T) {
	for _, tt := range []struct {
		want  Behavior
		lines string
	}{
		{Ask, "rm -rf node_modules | rm -rf ./node_modules/ | rm -r -f -- node_modules | rm -Rf node_modules .next coverage | rm -rf " + workspace + "/packages/a/node_modules | cd web && rm -rf dist | rm -rf build web/dist target bin out"},
		{Ask, "rm -rf .venv | rm -rf src/__pycache__ .pytest_cache .mypy_cache .ruff_cache | rm -rf .turbo .parcel-cache .nyc_output && npm ci | rm --recursive --force node_modules | rm -rf 'node_modules' | cd packages/a; rm -rf node_modules"},
		// other directories, also beside one that is listed
		{Deny, "rm -rf src | rm -rf node_modules src | rm -rf node_modules/.bin/.. | rm -rf node_modules/lodash | rm -rf node_modules2 | rm -rf Node_Modules | rm -rf .cache | rm -rf node_modules/* | rm -rf . | rm -rf ./* | rm -rf .git"},
		// git does not ignore them
		{Deny, "rm -rf dist | rm -rf src/build | rm -rf src/out build | rm -rf web/bin | rm -rf web/../dist"},
		// "..", links, places outside, unknown words
		{Deny, "rm -rf src/../node_modules | rm -rf web/../build | rm -rf ../node_modules | rm -rf ~/node_modules | rm -rf /srv/node_modules | rm -rf linked/node_modules | rm -rf linked/node_modules/ | rm -rf away/node_modules | rm -rf alias/node_modules | cd away && rm -rf node_modules | cd ~ && rm -rf node_modules | rm -rf /tmp/build"},
		{Deny, "rm -rf $d/node_modules | rm -rf */node_modules | rm -rf **/node_modules | rm -rf {a,b*}/node_modules | rm -rf $(pwd)/node_modules | cd $d && rm -rf node_modules | rm -rf \"$d\" node_modules | rm $o -rf node_modules | rm -rf node_module?"},
		// other programs
		{Deny, "sudo rm -rf node_modules | find . -name node_modules -exec rm -rf {} + | ls -d node_modules|xargs rm -rf | /tmp/rm -rf node_modules | ./rm -rf node_modules"},
	} {
		for line := range strings.SplitSeq(tt.lines, " | ") {
			s := spec{unlisted: byMode, risk: true, env: projectEnv}
			switch d := s.decideOn(t, using("Bash", line)); {
			case tt.want == Ask && (d.Behavior != Ask || d.Held || d.Tier != 3):
				t.Errorf("%s: %v %s, tier %d", line, d.Behavior, d.Reason, d.Tier)
			case tt.want == Deny && d.Behavior == Allow, tt.want == Deny && strings.Contains(d.Reason, "makes anew"):
				t.Errorf("%s: %v %s", line, d.Behavior, d.Reason)
			}
		}
	}
}

// TestRemadeUnderRules: nothing but a rule for the very words lets it run.
func TestRemadeUnderRules(t *testing.T) {
	for _, tt := range []struct {
		name string
		spec spec
		line string
		want Behavior
		by   Layer
	}{
		{"no list", spec{}, "rm -rf node_modules", Ask, LayerDefault},
		{"bare list", spec{allow: "Bash"}, "rm -rf node_modules", Ask, LayerDefault},
		{"unlisted", spec{allow: "Read", unlisted: UnlistedDeny}, "rm -rf node_modules", Deny, LayerAllowList},
		{"rule of the policy", spec{allow: "Bash(rm -rf node_modules)"}, "rm -rf node_modules", Allow, LayerDefault},
		{"deny", spec{deny: "Bash(rm:*)"}, "rm -rf node_modules", Deny, LayerDenyList},
		{"acceptEdits", spec{mode: "acceptEdits"}, "rm -rf node_modules", Ask, LayerDefault},
		{"bypassPermissions", spec{mode: "bypassPermissions"}, "rm -rf node_modules", Ask, LayerDefault},
		{"dontAsk", spec{mode: "dontAsk"}, "rm -rf node_modules", Deny, LayerDefault},
		{"plan", spec{mode: "plan"}, "rm -rf node_modules", Deny, LayerMode},
		{"session, bare", spec{sessionAllow: "Bash"}, "rm -rf node_modules", Ask, LayerDefault},
		{"session, rm", spec{sessionAllow: "Bash(rm:*); Bash(rm -rf:*)"}, "rm -rf node_modules", Ask, LayerDefault},
		{"session, exact", spec{sessionAllow: "Bash(rm -rf node_modules)"}, "rm -rf node_modules", Allow, LayerSessionAllow},
		{"session, exact, in a line", spec{sessionAllow: "Bash(rm -rf node_modules)", allow: "Bash(npm ci)"}, "rm -rf node_modules && npm ci", Allow, LayerSessionAllow},
		{"session, other words", spec{sessionAllow: "Bash(rm -rf node_modules)"}, "rm -rf node_modules .next", Ask, LayerDefault},
		{"session, another directory", spec{sessionAllow: "Bash(rm -rf src)"}, "rm -rf src", Deny, LayerDefault},
		{"session, elsewhere", spec{sessionAllow: "Bash(rm -rf node_modules)"}, "cd ~/x && rm -rf node_modules", Deny, LayerDefault},
	} {
		tt.spec.risk, tt.spec.env = true, projectEnv
		if tt.spec.unlisted == 0 {
			tt.spec.unlisted = byMode
		}
		if d := tt.spec.decideOn(t, using("Bash", tt.line)); d.Behavior != tt.want || d.Layer != tt.by {
			t.Errorf("%s: %v by %v, want %v by %v: %s", tt.name, d.Behavior, d.Layer, tt.want, tt.by, d.Reason)
		}
	}
}

// TestRemadeNowhere: where a person types, and where the policy says so, it is refused
// like all of tier 3.
func TestRemadeNowhere(t *testing.T) {
	for name, change := range map[string]func(*Policy){
		"terminal":  func(p *Policy) { p.Profile = risk.Terminal },
		"no answer": func(p *Policy) { p.NoRemoval = true },
	} {
		s := spec{unlisted: byMode, risk: true, sessionAllow: "Bash(rm -rf node_modules)"}
		p, use := s.policy(t), using("Bash", "rm -rf node_modules")
		change(p)
		use.Dir = workspace
		if d := Evaluate(p, s.session(t), &use, projectEnv, nil); d.Behavior != Deny {
			t.Errorf("%s: %v %s", name, d.Behavior, d.Reason)
		}
	}
}

// TestRemadeIsKept: only the rule for the very words may be kept.
func TestRemadeIsKept(t *testing.T) {
	v, _ := evaluator(t, spec{unlisted: byMode, risk: true}, nil)
	v.Env = projectEnv
	use := using("Bash", "rm -rf node_modules")
	use.Dir = workspace
	r := v.Request(use)
	for rule, want := range map[string]bool{"Bash(rm -rf node_modules)": true, "Bash(rm -rf:*)": false, "Bash(rm:*)": false, "Bash": false, "Edit(node_modules/**)": false} {
		if err := r.CanKeep(patterns.Allow, rule); (err == nil) != want {
			t.Errorf("%s: %v", rule, err)
		}
	}
}
