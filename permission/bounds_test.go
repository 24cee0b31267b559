package permission

import (
	"slices"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// boundsOf returns the bounds of a policy with rules.
func boundsOf(t *testing.T, deny, ask, allow string) *Bounds {
	p := (spec{risk: true}).policy(t)
	p.SensitiveAsks = true
	set := func(list patterns.List, text string) *patterns.Set {
		if text == "" {
			return nil
		}
		return patterns.NewSet(place, parseRules(t, list, text, "x")...)
	}
	p.Deny, p.Ask, p.Allow = set(patterns.Deny, deny), set(patterns.Ask, ask), set(patterns.Allow, allow)
	p.Guarded = []string{workspace + "/policy.toml"}
	p.Credentials = []string{"/state/credentials.json"}
	return p.Bounds(nil)
}

// TestBounds: what nobody may do while nobody is asked.
func TestBounds(t *testing.T) {
	const deny, ask, allow = "Read(secrets/**); Edit(lock.json); Read(/srv/x); Bash(rm:*); Read", "Read(asked.txt); Edit(*.gen)", "Read(a/.env); Edit(.github/workflows/**); Bash; WebFetch(x.org)"
	b := boundsOf(t, deny, ask, allow)
	tests := []struct {
		path            string
		dir             bool
		noRead, noWrite bool
		ruled           bool
	}{
		{path: workspace + "/a.go"},
		{path: workspace + "/src", dir: true},
		{path: workspace + "/secrets/k", noRead: true, ruled: true},
		{path: workspace + "/secrets", dir: true, noRead: true, ruled: true}, // everything in it
		{path: workspace + "/secrets.go"},
		{path: workspace + "/x/asked.txt", noRead: true, ruled: true},
		{path: workspace + "/lock.json", noWrite: true},
		{path: workspace + "/x.gen", noWrite: true},
		{path: "/srv/x", noRead: true, ruled: true},
		{path: "/srv/x/y", noRead: true, ruled: true},
		{path: workspace + "/.env", noRead: true},
		{path: workspace + "/b/.env.production", noRead: true},
		{path: workspace + "/.env.example"},
		{path: workspace + "/a/.env"}, // a rule names it
		{path: workspace + "/key.pem", noRead: true},
		{path: workspace + "/.venv/lib/python3/site-packages/certifi/cacert.pem"},
		{path: workspace + "/certs/cacert.pem", noRead: true},
		{path: "/home/me/.ssh", dir: true, noRead: true, noWrite: true},
		{path: "/home/me/.gitconfig", noWrite: true},
		{path: "/etc/passwd"},
		{path: "/etc/shadow", noRead: true},
		{path: "/state/credentials.json", noRead: true},
		{path: "/x/.local/state/agent-wrapper/credentials.json", noRead: true},
		{path: workspace + "/policy.toml", noWrite: true},
		{path: workspace + "/.claude/settings.json", noWrite: true},
		{path: workspace + "/.vscode", dir: true, noWrite: true},
		{path: workspace + "/.VSCode", dir: true, noWrite: true},
		{path: workspace + "/.github/workflows/ci.yml"},
	}
	for _, tt := range tests {
		got := b.At(tt.path, tt.dir)
		if (got.Read != "") != tt.noRead || (got.Write != "") != tt.noWrite && !tt.noRead || got.Ruled != tt.ruled {
			t.Errorf("%s: %+v", tt.path, got)
		}
	}
}

// TestBoundsReadOnly: what denies all edits makes the whole sandbox read-only, and no other
// rule does.
func TestBoundsReadOnly(t *testing.T) {
	for deny, want := range map[string]string{"Edit": "deny Edit", "Edit(lock.json)": "", "Read": "", "Bash": ""} {
		if got := boundsOf(t, deny, "", "").ReadOnly(); got != want {
			t.Errorf("deny %s: %q, want %q", deny, got, want)
		}
	}
}

// TestBoundsAddUp: a further policy withholds too, and loosens nothing.
func TestBoundsAddUp(t *testing.T) {
	p := (spec{risk: true}).policy(t)
	more := (spec{risk: true}).policy(t)
	p.Deny = patterns.NewSet(place, parseRules(t, patterns.Deny, "Read(one)", "x")...)
	more.Deny = patterns.NewSet(place, parseRules(t, patterns.Deny, "Read(two)", "x")...)
	more.Allow = patterns.NewSet(place, parseRules(t, patterns.Allow, "Read(one)", "x")...)
	p.Further = []*Policy{more}
	b := p.Bounds(nil)
	for _, name := range []string{"one", "two"} {
		if got := b.At(workspace+"/"+name, false); got.Read == "" {
			t.Errorf("%s can be read", name)
		}
	}
	var rules []string
	for _, root := range b.Roots() {
		rules = append(rules, root.Rule)
	}
	if !slices.Contains(rules, "deny Read(one)") || !slices.Contains(rules, "deny Read(two)") {
		t.Errorf("roots %v", rules)
	}
	p.Deny, p.SensitiveAsks = nil, true
	more.Deny = patterns.NewSet(place, parseRules(t, patterns.Deny, "Read(.env)", "x")...)
	if got := p.Bounds(nil).At(workspace+"/.env", false); !got.Ruled || got.Read != "deny Read(.env)" {
		t.Errorf("a rule of the second policy, beside a secret file: %+v", got)
	}
}

// TestBoundsOfSession: what a person denied for the session counts.
func TestBoundsOfSession(t *testing.T) {
	p := (spec{risk: true}).policy(t)
	s := NewSession(place)
	if err := s.Deny("Read(notes/**)"); err != nil {
		t.Fatal(err)
	}
	if got := p.Bounds(s).At(workspace+"/notes/a", false); !got.Ruled {
		t.Errorf("%+v", got)
	}
}

// TestBoundPlaced: what a policy names where it is says so, whatever else protects it by its
// name.
func TestBoundPlaced(t *testing.T) {
	p := &Policy{Place: patterns.Place{Workspace: "/w", Home: "/h"}, SensitiveAsks: true, Guarded: []string{"/w/team/agent-wrapper.toml"}, Credentials: []string{"/w/.npmrc"}}
	b := p.Bounds(nil)
	for name, want := range map[string]bool{
		"/w/team/agent-wrapper.toml": true, "/w/agent-wrapper.toml": false, "/w/.npmrc": true, "/w/sub/.npmrc": false, "/w/.env": false, "/etc/shadow": true, "/w/a.go": false,
	} {
		if got := b.At(name, false); got.Placed != want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
