package engine

import "github.com/agent-wrapper/agent-wrapper/approval"

// Demands returns what the policies demand of the answers to questions that are put to
// others than the person at the agent: [approvals].
func (r *Rules) Demands() approval.Demands {
	s := &r.Spec.Approvals
	return approval.Demands{Within: s.Timeout(), Quorum: s.Needed(), People: s.People}
}
