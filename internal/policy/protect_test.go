package policy

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestProtect checks that the paths that a policy protects are held until a
// rule names them.
func TestProtect(t *testing.T) {
	for text, want := range map[string]string{
		`allow = ["Edit", "Bash"]`:                                                          "allow",
		"allow = [\"Edit\", \"Bash\"]\nprotect = [\"Makefile\"]":                            "ask",
		"allow = [\"Edit(*)\", \"Bash\"]\nprotect = [\"Makefile\"]":                         "ask",
		"mode = \"bypassPermissions\"\nprotect = [\"Makefile\"]":                            "ask",
		"mode = \"acceptEdits\"\nprotect = [\"Makefile\"]":                                  "ask",
		"approved = [\"Edit\", \"Bash\"]\nprotect = [\"Makefile\"]":                         "ask",
		"allow = [\"Edit\", \"Edit(Makefile)\", \"Bash\"]\nprotect = [\"Makefile\"]":        "allow",
		"approved = [\"Edit(Makefile)\"]\nallow = [\"Bash\"]\nprotect = [\"Makefile\"]":     "allow",
		"mode = \"dontAsk\"\nallow = [\"Edit\", \"Bash\"]\nprotect = [\"Makefile\"]":        "deny",
		"allow = [\"Edit\", \"Edit(Makefile)\", \"Bash\"]\nprotect = [\"~/proj\"]":          "ask",
		"allow = [\"Edit\", \"Bash\"]\nprotect = [\"/home/dev/proj/Makefile\"]":             "ask",
		"allow = [\"Edit\", \"Bash\"]\nprotect = [\"proj/Makefile\"]":                       "ask",
		"allow = [\"Edit\", \"Bash\"]\nprotect = [\"x/Makefile\", \"make\", \"/Makefile\"]": "allow",
	} {
		spec := sourceOf(t, User, true, text).Spec
		for _, use := range []string{"Edit(Makefile)", "Bash(echo x > Makefile)"} {
			if d := decided(t, spec, use); d.Behavior.String() != want {
				t.Errorf("%s under %q: %s (%s)", use, text, d.Behavior, d.Reason)
			}
		}
	}
}

// TestProtectIsSaidWhere checks that a meaningless entry prevents the policy
// from loading and is reported with its place.
func TestProtectIsSaidWhere(t *testing.T) {
	spec, err := Parse([]byte("protect = [\n  \"Makefile\",\n  \"src/**\", \"\",\n]\n"), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = spec.Compile(mergePlace)
	want := `p.toml:3:4: protect "src/**": patterns are not supported here: name a directory to protect everything below it, or write one entry for each file
p.toml:3:14: protect "": it names nothing: write a file (Makefile), a directory (deploy/prod), ~/x or /x`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	if p, _, _, _ := spec.Compile(mergePlace); p.Mode.Valid() {
		t.Error("the policy allows something")
	}
}

// TestProtectAddsUp checks that the entries of every source apply, trusted or
// not, and that they are shown and contribute to the digest.
func TestProtectAddsUp(t *testing.T) {
	user := sourceOf(t, User, true, "allow = [\"Edit\", \"Edit(a)\", \"Edit(b)\"]\nprotect = [\"a\"]")
	project := sourceOf(t, Project, false, "allow = [\"Edit\", \"Edit(c)\"]\napproved = [\"Edit(c)\"]\nprotect = [\"b\", \"c\"]")
	spec, ignored := Merge([]Source{user, project})
	for use, want := range map[string]string{"Edit(a)": "allow", "Edit(b)": "allow", "Edit(c)": "ask", "Edit(d)": "allow"} {
		if d := decided(t, spec, use); d.Behavior.String() != want {
			t.Errorf("%s: %s (%s)", use, d.Behavior, d.Reason)
		}
	}
	for _, i := range ignored {
		if strings.Contains(i.What, "protect") {
			t.Error(i)
		}
	}
	var shown []string
	for _, s := range spec.Show() {
		if s.Key == "protect" {
			shown = append(shown, s.Text+" "+s.Place)
		}
	}
	if got := strings.Join(shown, ", "); got != "a user.toml:2:13, b project.toml:3:13, c project.toml:3:18" {
		t.Error(got)
	}
	seen := map[string]string{}
	for _, text := range []string{"", `protect = ["a"]`, `protect = ["a", "b"]`, `protect = ["ab"]`, `allow = ["a"]`} {
		s, err := Parse([]byte(text), "p")
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[s.Digest()]; twice {
			t.Errorf("%q and %q have one digest", text, other)
		}
		seen[s.Digest()] = text
	}
}

// TestExamplesOfProtected checks that a granular rule about a protected path
// may have that path as an example, although the guard asks first.
func TestExamplesOfProtected(t *testing.T) {
	rule := func(action, examples string) string {
		return "[[rules]]\ntools = [\"Edit\"]\npaths = [\".github/**\"]\naction = \"" + action + "\"\n" + examples
	}
	for text, want := range map[string]string{
		rule("ask", `match = ["Edit(.github/workflows/ci.yml)"]`):     "",
		rule("deny", `match = ["Edit(.github/workflows/ci.yml)"]`):    "",
		rule("ask", `not_match = ["Edit(.gitlab-ci.yml)"]`):           "",
		rule("ask", `match = ["Edit(.gitlab-ci.yml)"]`):               "the rule does not ask",
		rule("ask", `not_match = ["Edit(.github/workflows/ci.yml)"]`): "the rule matches",
		rule("allow", `match = ["Edit(.github/workflows/ci.yml)"]`):   "the rule does not allow",
		rule("allow", `match = ["Edit(.github/x)"]`):                  "",
	} {
		spec, err := Parse([]byte(text), "p")
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = spec.Compile(mergePlace)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestTrustOfProtect checks that a policy that only protects needs trust like
// any other, but applies in full even without it.
func TestTrustOfProtect(t *testing.T) {
	src := sourceOf(t, Project, false, `protect = ["a"]`)
	if src.Spec.Digest() == new(Spec).Digest() {
		t.Error("it says nothing")
	}
	spec, _ := Merge([]Source{sourceOf(t, Flags, true, `allow = ["Edit"]`), src})
	if d := decided(t, spec, "Edit(a)"); d.Behavior != permission.Ask || !d.Held {
		t.Errorf("%s (%s)", d.Behavior, d.Reason)
	}
}
