package patterns

import "testing"

func TestSource(t *testing.T) {
	for want, s := range map[string]Source{
		"p.toml:3:9": {Name: "p.toml", Line: 3, Col: 9}, "p.toml:3": {Name: "p.toml", Line: 3}, "--deny": {Name: "--deny"}, "": {},
	} {
		if got := s.String(); got != want {
			t.Errorf("%#v is written %q, want %q", s, got, want)
		}
	}
}
