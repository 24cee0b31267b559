package approval_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// asDocumented has the Go of docs/approvals.md, so that it compiles.
func asDocumented(request permission.Request, now time.Time, id, shown, user string) (permission.Answer, error) {
	digest, err := approval.Digest(&request)
	if err != nil {
		return permission.Answer{}, err
	}
	state, err := approval.Step(approval.State{}, approval.Event{Kind: approval.Ask, At: now, Terms: approval.Terms{
		ID: id, Digest: digest, Asker: approval.Principal{Role: approval.Agent, Name: "main"},
		Expires: now.Add(10 * time.Minute), Version: request.Version,
	}})
	if err != nil {
		return permission.Answer{}, err
	}
	rungs, err := approval.Ladder(&request) // err: why there is none, for the person
	if err != nil {
		return permission.Answer{}, err
	}

	// a person answers
	state, err = approval.Step(state, approval.Event{Kind: approval.Approve, At: now, ID: id, Digest: shown,
		By:    approval.Principal{Role: approval.Person, Name: user},
		Scope: permission.ScopeSession, Rules: rungs[1].Rules})
	if err != nil {
		return permission.Answer{}, err
	}

	// the approver returns what it comes to
	answer, err := state.Answer()
	if err != nil {
		return permission.Answer{}, err
	}
	state, err = approval.Step(state, approval.Event{Kind: approval.Consume, At: now, ID: id, Digest: digest})
	_ = state
	return answer, err
}

func demandsAsDocumented(rules interface{ Demands() approval.Demands }, request permission.Request, id string, asker approval.Principal, now time.Time) (approval.Terms, error) {
	demands := rules.Demands() // engine.Rules
	terms, err := demands.Terms(&request, id, asker, now)
	return terms, err
}

var _, _ = asDocumented, demandsAsDocumented

// TestDocs checks that each line of Go in docs/approvals.md is one of the lines above,
// which compile.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("docs_test.go")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(string(source)) {
		there[strings.Join(strings.Fields(line), " ")] = true
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(blocks) != 2 {
		t.Errorf("%d blocks of Go found", len(blocks))
	}
	for _, block := range blocks {
		for line := range strings.Lines(block[1]) {
			if !there[strings.Join(strings.Fields(line), " ")] {
				t.Errorf("docs/approvals.md has a line that does not compile anywhere: %s", line)
			}
		}
	}
}
