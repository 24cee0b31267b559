package permission

// Still reports whether a tool use that was allowed when it would have been decided as was may
// run, now that it would be decided as d: it is allowed at the same place, or asked about for
// the same reason, for which a person has allowed it.
func (d *Decision) Still(was *Decision) bool {
	same := d.Behavior == was.Behavior && d.Rule == was.Rule && d.Reason == was.Reason
	return d.Walls == was.Walls && (d.Behavior == Allow || same)
}
