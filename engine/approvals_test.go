package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/policy"
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
