package engine

import (
	"errors"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Demands returns what the policies demand of the answers to questions that are put to
// others than the person at the agent: [approvals].
func (r *Rules) Demands() approval.Demands {
	s := &r.Spec.Approvals
	return approval.Demands{Within: s.Timeout(), Quorum: s.Needed(), People: s.People}
}

// Recall makes the remembered approvals of a person for this workspace count in the
// session, in place of those of the last call. Each counts until it ends, for what is of
// its risk or a lower one by what is known now. Those of others, and what is revoked,
// are left out; the error says which of the rest cannot count.
func (r *Rules) Recall(person string, grants []approval.Grant) error {
	var all []permission.Grant
	var errs []error
	for i := range grants {
		if !grants[i].Counts(person, r.Place.Workspace, r.Session.Now()) {
			continue
		}
		one, err := grants[i].ForSession()
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, one)
	}
	return errors.Join(append(errs, r.Session.Recall(all))...)
}
