package p

import "testing"

func TestGuarded(t *testing.T) {
	c := &counter{}
	for _, tt := range []struct {
		name string
		root bool
		want bool
	}{{"", false, false}, {"home", true, false}, {"home", false, true}} {
		if c.guarded(tt.name, tt.root) != tt.want {
			t.Error(tt.name)
		}
	}
	if c.n != 3 {
		t.Error(c.n)
	}
}
