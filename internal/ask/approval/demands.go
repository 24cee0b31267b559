package approval

import (
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Demands are what a policy demands of the answers to its questions: [approvals] of a
// policy file. The zero value demands one answer, of anyone but the asker, at any time.
type Demands struct {
	// Within is the time in which to answer, and to use the answer; 0 is no limit.
	Within time.Duration
	// Quorum is how many different people have to approve, by the risk of the tool use.
	// A higher risk needs at least as many as a lower one.
	Quorum map[risk.Class]int
	// People are the names of those who may answer; nil means anyone but the asker.
	People []string
}

// Terms returns the terms of an approval with an ID, about a request that is asked now.
// The asker is nobody's voter. An answer to the agent's own question needs one person.
// The error is that of Digest.
func (d *Demands) Terms(r *permission.Request, id string, asker Principal, now time.Time) (Terms, error) {
	digest, err := Digest(r)
	if err != nil {
		return Terms{}, err
	}
	t := Terms{ID: id, Digest: digest, Asker: asker, Version: r.Version}
	if d.Within > 0 {
		t.Expires = now.Add(d.Within)
	}
	for class, people := range d.Quorum {
		if class <= r.Decision.Risk && !r.Decision.Question {
			t.Quorum = max(t.Quorum, people)
		}
	}
	if d.People != nil {
		t.Voters = []Principal{}
	}
	for _, name := range d.People {
		if p := (Principal{Role: Person, Name: name}); p != asker {
			t.Voters = append(t.Voters, p)
		}
	}
	return t, nil
}
