package permission

// Still reports whether a tool use that was allowed when it would have been decided as was may
// run, now that it would be decided as d: it is allowed at the same place, or asked about for
// the same reason, for which a person has allowed it. Where the mode never asks, an answer that
// is used up is a denial in place of that question.
func (d *Decision) Still(was *Decision) bool {
	asked := d.Behavior == Ask || d.Behavior == Deny && d.never
	same := d.Behavior == was.Behavior && d.never == was.never && d.Rule == was.Rule && d.Reason == was.Reason
	return d.Sandbox == was.Sandbox && (d.Behavior == Allow || asked && same)
}
