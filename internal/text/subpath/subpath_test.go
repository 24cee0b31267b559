package subpath

import "testing"

func TestBelow(t *testing.T) {
	for _, tt := range []struct {
		name, dir           string
		within, below, fold bool
		rest                string
	}{
		{"/a", "/a", true, false, false, ""},
		{"/a/b", "/a", true, true, true, "b"},
		{"/a/b/c", "/a", true, true, true, "b/c"},
		{"/a/b", "/a/", true, true, true, "b"},
		{"/a/", "/a", true, false, false, ""},
		{"/ab", "/a", false, false, false, ""},
		{"/a", "/a/b", false, false, false, ""},
		{"/", "/a", false, false, false, ""},
		{"/a", "/", true, true, true, "a"},
		{"/", "/", true, false, false, ""},
		{"/a", "", true, true, true, "a"},
		{"a", "", false, false, false, ""},
		{"", "", true, false, false, ""},
		{"", "/a", false, false, false, ""},
		{"a/b", "a", true, true, true, "b"},
		{"/A/b", "/a", false, false, true, ""},
		{"/a", "/A", false, false, false, ""},
		{"/Ä/b", "/ä", false, false, true, ""},
	} {
		rest, below := Below(tt.name, tt.dir)
		if within := Within(tt.name, tt.dir); within != tt.within || below != tt.below || below && rest != tt.rest || BelowFold(tt.name, tt.dir) != tt.fold {
			t.Errorf("%q in %q: within %v, below %v, rest %q, fold %v", tt.name, tt.dir, within, below, rest, BelowFold(tt.name, tt.dir))
		}
	}
}

func TestRel(t *testing.T) {
	for _, tt := range []struct {
		name, dir, rel string
		within         bool
	}{
		{"/a/b", "/a", "b", true}, {"/a", "/a", ".", true}, {"/a/../b", "/a", "", false}, {"/ab", "/a", "", false},
		{"/a/..b", "/a", "..b", true}, {"/", "/a", "", false}, {"/a", "/", "a", true}, {"a", "/", "", false}, {"/a/b/", "/a/./", "b", true},
	} {
		if rel, within := Rel(tt.name, tt.dir); within != tt.within || within && rel != tt.rel || Inside(tt.name, tt.dir) != within {
			t.Errorf("%q from %q: %q, %v", tt.name, tt.dir, rel, within)
		}
	}
}

// TestAllocs: a decision asks it often.
func TestAllocs(t *testing.T) {
	dir, name := "/home/someone/with/a/long/name/of/a/workspace", "/home/someone/with/a/long/name/of/a/workspace/file"
	all := false
	if n := testing.AllocsPerRun(10, func() {
		_, below := Below(name, dir)
		all = Within(name, dir) && below && BelowFold(name, dir)
	}); n > 0 || !all {
		t.Errorf("%v allocations", n)
	}
}
