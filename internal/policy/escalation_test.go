package policy

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
)

func TestEscalationAndWhitelist(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "",
		`whitelist = "a.json"`:                  "",
		`whitelist = ""`:                        "p.toml:1:13: whitelist is empty: name a file",
		`whitelist = ["a.json"]`:                "must be a string",
		"[escalation]":                          "p.toml:1:1: escalation has no recipient",
		"[escalation]\nwebhok = \"x\"":          "unknown key webhok",
		"[escalation]\ncommand = []":            "p.toml:1:1: escalation has no recipient",
		"[escalation]\ncommand = [\"\", \"x\"]": "the command is empty",
		"[escalation]\ncommand = [\"notify\"]":  "",
		"[escalation]\nwebhook = \"https://chat.example/x\"":              "",
		"[escalation]\nwebhook = \"http://localhost:8080/x\"":             "",
		"[escalation]\nwebhook = \"http://127.0.0.1/x\"":                  "",
		"[escalation]\nwebhook = \"http://[::1]:9/x\"":                    "",
		"[escalation]\nwebhook = \"http://chat.example/x\"":               "must be an https URL",
		"[escalation]\nwebhook = \"https:///x\"":                          "must be an https URL",
		"[escalation]\nwebhook = \"file:///etc/passwd\"":                  "must be an https URL",
		"[escalation]\nwebhook = \"chat.example\"":                        "must be an https URL",
		"[escalation]\nwebhook = \"http://localhost.evil.example/x\"":     "must be an https URL",
		"[escalation]\nwebhook = \"https://user:hunter2@%zz\"":            "is not a URL",
		"[escalation]\ncommand = [\"notify\"]\nwebhook = \"http://a.b/\"": "must be an https URL",
	} {
		s, err := Parse([]byte(text), "p.toml")
		if err == nil {
			_, _, _, err = s.Compile(patterns.Place{})
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%q: the error shows the address: %v", text, err)
		}
	}
}

// TestMergeWhitelists checks that the whitelists of all sources apply,
// including those of untrusted files, since they only narrow. Only trusted
// files may set an escalation, since it starts programs.
func TestMergeWhitelists(t *testing.T) {
	const user = "whitelist = \"u.json\"\n[escalation]\ncommand = [\"notify\"]"
	const project = "whitelist = \"p.json\"\n[escalation]\nwebhook = \"https://p.example/\""
	for _, trusted := range []bool{true, false} {
		spec, ignored := Merge([]Source{sourceOf(t, User, true, user), sourceOf(t, Project, trusted, project)})
		if got := strings.Join(texts(spec.Whitelists), " "); got != "u.json p.json" {
			t.Errorf("trusted %v: whitelists %s", trusted, got)
		}
		if e := spec.Escalation; trusted != (e.Webhook == "https://p.example/" && len(e.Command) == 0) || !trusted && (e.Webhook != "" || len(e.Command) != 1) {
			t.Errorf("trusted %v: %+v", trusted, e)
		}
		if told := len(ignored) == 1 && ignored[0].What == "escalation"; told == trusted {
			t.Errorf("trusted %v: ignored %v", trusted, ignored)
		}
	}
}

// TestDigestOfEscalation checks that an escalation or a whitelist changes the
// digest, since trust covers everything that a file says, and that the digest of
// a policy without them stays the same.
func TestDigestOfEscalation(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"", `whitelist = "a.json"`, `whitelist = "b.json"`, "[escalation]\ncommand = [\"a\"]", "[escalation]\ncommand = [\"a\", \"b\"]",
		"[escalation]\nwebhook = \"https://a.example/\"", "[escalation]\nwebhook = \"https://b.example/\"",
	} {
		s, err := Parse([]byte(text), "p.toml")
		if err != nil {
			t.Fatal(err)
		}
		if other, twice := seen[s.Digest()]; twice {
			t.Errorf("%q and %q have one digest", text, other)
		}
		seen[s.Digest()] = text
	}
	const before = "sha256:a5ae3618ae4bbe2008dfb463d95146159f27a4faff5f70bf8e93e15d228fd821"
	if got := new(Spec).Digest(); got != before {
		t.Errorf("a policy without rules: %s, of old %s", got, before)
	}
}

func TestShowEscalation(t *testing.T) {
	s, err := Parse([]byte("whitelist = \"a.json\"\n[escalation]\ncommand = [\"notify\", \"me\"]\nwebhook = \"https://a.example/secret\""), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, one := range s.Show() {
		got = append(got, one.Key+"="+one.Text+"@"+one.Place)
	}
	want := "whitelist=a.json@p.toml:1:13 escalation.command=notify me@p.toml:2:1 escalation.webhook=(an address, not shown)@p.toml:2:1"
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s\nwant %s", text, want)
	}
}
