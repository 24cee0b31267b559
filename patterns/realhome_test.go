package patterns

import (
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestRealHome: what a rule says of a home that is reached by a link it says of where that
// leads too, in every list.
func TestRealHome(t *testing.T) {
	place := Place{Workspace: "/var/home/me/ws", Home: "/home/me", RealHome: "/var/home/me"}
	asIs := func(name string) (string, bool) { return name, true }
	for _, tt := range []struct {
		rule, path string
		want       bool
	}{
		{"Read(~/a/**)", "/home/me/a/x", true}, {"Read(~/a/**)", "/var/home/me/a/x", true}, {"Read(~/a/*.{key,pem})", "/var/home/me/a/x.pem", true},
		{"Read(//home/me/a)", "/var/home/me/a", true}, {"Read(//home/*/a)", "/var/home/me/a", false}, {"Read(//home/me2/a)", "/var/home/me/a", false},
		{"Read(~/a/**)", "/var/home/you/a/x", false}, {"Read(~/a/**)", "/var/home/me/b/x", false}, {"Read(~/**)", "/var/home/me/b/x", true}, {"Read(b/x)", "/var/home/me/b/x", false},
	} {
		for _, list := range []List{Allow, Ask, Deny} {
			rule, _, err := Parse(tt.rule, list, Source{})
			if err != nil {
				t.Fatal(err)
			}
			set := NewSet(place, rule)
			sub := Subject{Kind: ReadPath, Tool: "Read", Path: NewPath(shell.Word{Text: tt.path}, "", place, asIs)}
			if _, m := set.Match(&sub, Query{}); (m == Yes) != tt.want {
				t.Errorf("%v %s: %s: %v", list, tt.rule, tt.path, m)
			}
		}
	}
	if other := (Place{Workspace: place.Workspace, Home: place.Home}); place.Equal(&other) {
		t.Error("places with another home are the same")
	}
}
