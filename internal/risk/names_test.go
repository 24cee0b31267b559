package risk

import "testing"

func TestNamesOfClassesAndProfiles(t *testing.T) {
	for c := Safe; c <= Forbidden; c++ {
		if got, ok := ParseClass(c.String()); got != c || !ok {
			t.Errorf("%s: %v, %v", c, got, ok)
		}
	}
	for _, name := range []string{"", "SAFE", "critical", "safe "} {
		if got, ok := ParseClass(name); ok || got != 0 {
			t.Errorf("%q is the class %v", name, got)
		}
	}
	for name, want := range map[string]Profile{"": Default, "default": Default, "terminal": Terminal} {
		if got, ok := ParseProfile(name); got != want || !ok {
			t.Errorf("%q: %v, %v", name, got, ok)
		}
	}
	if _, ok := ParseProfile("Terminal"); ok {
		t.Error("Terminal is no name of a profile")
	}
}
