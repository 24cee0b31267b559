package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestDemands: the demands of all policies reach the terms of an approval.
func TestDemands(t *testing.T) {
	said, err := policy.Parse([]byte("ask = [\"Bash\"]\n[approvals]\ntimeout_seconds = 60\npeople = [\"anna\", \"ben\"]\nquorum.moderate = 2"), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(Options{Dir: t.TempDir(), Dirs: &Dirs{}, Isolated: true, Settings: said, Unbound: true})
	if err != nil {
		t.Fatal(err)
	}
	ask := r.Evaluator().Request(permission.ToolUse{Tool: "Bash", Input: []byte(`{"command":"npm i"}`), Dir: r.Place.Workspace})
	now, demands := time.Unix(1000, 0), r.Demands()
	terms, err := demands.Terms(&ask, "1", approval.Principal{Role: approval.Agent, Name: "main"}, now)
	if err != nil || terms.Quorum != 2 || !terms.Expires.Equal(now.Add(time.Minute)) || len(terms.Voters) != 2 || terms.Version != r.Policy.Version {
		t.Errorf("%+v, %v", terms, err)
	}
	if open, err := Load(Options{Dir: t.TempDir(), Dirs: &Dirs{}, Isolated: true, Unbound: true}); err != nil || fmt.Sprint(open.Demands()) != fmt.Sprint(approval.Demands{}) {
		t.Error(err)
	}
}

// TestRecallOfAnotherDay: what a person remembered counts for that person and workspace,
// and no more once it is revoked or the policy calls it high.
func TestRecallOfAnotherDay(t *testing.T) {
	open := func(text string) *Rules {
		said, err := policy.Parse([]byte(text), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		r, err := Load(Options{Dir: t.TempDir(), Dirs: &Dirs{}, Isolated: true, Settings: said, Unbound: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open("")
	use := permission.ToolUse{Tool: "Bash", Input: []byte(`{"command":"npm install x"}`), Dir: r.Place.Workspace}
	ask, now := r.Evaluator().Request(use), time.Now()
	kept, err := approval.Remember(&ask, nil, "anna", r.Place.Workspace, now)
	if err != nil {
		t.Fatal(err)
	}
	kept[0].ID = "g1"
	said := func(r *Rules, person string, change func(*approval.Grant)) permission.Behavior {
		g := kept[0]
		g.Project = r.Place.Workspace
		change(&g)
		_ = r.Recall(person, []approval.Grant{g})
		use.Dir = r.Place.Workspace
		return r.Explain(use, nil).Behavior
	}
	as := func(*approval.Grant) {}
	if got := said(r, "anna", as); got != permission.Allow {
		t.Error("it does not count:", got)
	}
	for name, change := range map[string]func(*approval.Grant){
		"revoked":         func(g *approval.Grant) { g.Revoked = now },
		"over":            func(g *approval.Grant) { g.Expires = now },
		"another project": func(g *approval.Grant) { g.Project = "/other" },
		"of a high risk":  func(g *approval.Grant) { g.Risk = "high" },
		"without an id":   func(g *approval.Grant) { g.ID = "" },
	} {
		if got := said(r, "anna", change); got != permission.Ask {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := said(r, "ben", as); got != permission.Ask {
		t.Error("it counts for others:", got)
	}
	if got := said(open("[[risk_overrides]]\npattern = \"npm install:*\"\nrisk = \"high\""), "anna", as); got != permission.Ask {
		t.Error("it counts for what is high now:", got)
	}
}
