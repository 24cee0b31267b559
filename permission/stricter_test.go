package permission

import "testing"

// A decision without a behavior, or with an invalid one, counts as a deny: it
// is as strict as any further policy's decision, and stricter than all others.
func TestStricterFailsClosed(t *testing.T) {
	odd := []Decision{{}, {Behavior: Deny + 1}, {Behavior: 255}}
	for _, o := range odd {
		for _, b := range []Behavior{Allow, Ask} {
			for _, held := range []bool{false, true} {
				d := Decision{Behavior: b, Held: held}
				if d.stricter(&o) {
					t.Errorf("%v takes the place of behavior %d", b, o.Behavior)
				}
				if !o.stricter(&d) {
					t.Errorf("behavior %d does not take the place of %v", o.Behavior, b)
				}
			}
		}
		deny := Decision{Behavior: Deny}
		if o.stricter(&deny) || deny.stricter(&o) {
			t.Errorf("behavior %d is no deny", o.Behavior)
		}
	}
	ask, held := Decision{Behavior: Ask}, Decision{Behavior: Ask, Held: true}
	if !held.stricter(&ask) || ask.stricter(&held) || held.stricter(&held) {
		t.Error("a held ask is stricter than one that a rule lifts")
	}
}
