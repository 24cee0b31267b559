package sandbox

import (
	"slices"
	"strings"
	"testing"
)

// moving are files that a command beside moves while they are looked at: steps has what they
// become as soon as a directory is listed for the first time.
type moving struct {
	fake
	steps map[string]fake
	of    map[string]uint64 // the inodes of directories, by what lies in them
}

func (m *moving) List(dir string) (*Listing, error) {
	l, err := m.fake.List(dir)
	if err == nil {
		for _, e := range l.Entries {
			l.Of.Ino = max(l.Of.Ino, m.of[e.Name])
		}
	}
	if then, ok := m.steps[dir]; ok {
		delete(m.steps, dir)
		m.fake = then
	}
	return l, err
}

func (m *moving) Again(dir string) (*Listing, error) { return m.List(dir) }

// TestMovedMeanwhile: what a command moves, while the plan is made, to where somebody has
// already looked is withheld all the same, and the plan says in which directory it was.
func TestMovedMeanwhile(t *testing.T) {
	const ws = "/home/me/ws/"
	of := map[string]uint64{".env": 7, "x": 8}
	for name, tt := range map[string]struct {
		first fake
		steps map[string]fake
		want  string
	}{
		"to where it was looked": {
			fake{ws + "1/f", ws + "2/a/.env", ws + "2/g"}, map[string]fake{ws + "1": {ws + "1/f", ws + "1/a/.env", ws + "2/g"}}, ws + "1/a/.env",
		},
		"exchanged": { // both are seen as the one without it
			fake{ws + "a/x", ws + "b/.env"}, map[string]fake{ws + "a": {ws + "a/.env", ws + "b/x"}}, ws + "a/.env",
		},
		"exchanged again": {
			fake{ws + "a/x", ws + "b/.env", ws + "c/y"}, map[string]fake{ws + "a": {ws + "a/.env", ws + "b/x", ws + "c/y"}, ws + "c": {ws + "a/x", ws + "b/.env", ws + "c/y"}}, ws + "b/.env",
		},
	} {
		p, err := new(Planner).Make(policy(t, "", ""), nil, &Machine{}, &moving{tt.first, tt.steps, of})
		if err != nil {
			t.Fatal(err)
		}
		if !masked(p, tt.want) {
			t.Errorf("%s: %s is not withheld: %v", name, tt.want, p.Denied)
		}
		if !slices.ContainsFunc(p.Found, func(f Found) bool { return string(f.Path) == tt.want && f.In.Ino == 7 }) {
			t.Errorf("%s: found is %v", name, p.Found)
		}
		if !slices.ContainsFunc(p.Denied, func(p Path) bool { return strings.HasSuffix(p.Path, ".env") }) {
			t.Errorf("%s: %v", name, p.Denied)
		}
	}
}
