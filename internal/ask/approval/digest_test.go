package approval

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func shown() permission.Request {
	return permission.Request{
		Use: permission.ToolUse{
			ID: "toolu_1", Tool: "Bash", Input: json.RawMessage(`{"command":"ls","timeout":1}`),
			Dir: "/w", Agent: "a", Session: "s", Dialect: shell.Bash,
		},
		Version: "v",
	}
}

func digest(t interface {
	Helper()
	Fatal(...any)
}, r permission.Request) string {
	t.Helper()
	d, err := Digest(&r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The format is part of records that outlive the program.
func TestDigestForm(t *testing.T) {
	const want = "1:f5c6f957fe53e5cf3bd5157e75b4abd08b8bf488959c020fe6e653b1d68c68de"
	if got := digest(t, shown()); got != want {
		t.Errorf("%s", got)
	}
}

func TestDigestOfEachField(t *testing.T) {
	seen := map[string]string{digest(t, shown()): "nothing"}
	for name, change := range map[string]func(*permission.Request){
		"tool":    func(r *permission.Request) { r.Use.Tool = "Monitor" },
		"input":   func(r *permission.Request) { r.Use.Input = json.RawMessage(`{"command":"ls -l","timeout":1}`) },
		"number":  func(r *permission.Request) { r.Use.Input = json.RawMessage(`{"command":"ls","timeout":1.0}`) },
		"type":    func(r *permission.Request) { r.Use.Input = json.RawMessage(`{"command":"ls","timeout":"1"}`) },
		"dir":     func(r *permission.Request) { r.Use.Dir = "/w/x" },
		"agent":   func(r *permission.Request) { r.Use.Agent = "" },
		"session": func(r *permission.Request) { r.Use.Session = "a" },
		"swapped": func(r *permission.Request) { r.Use.Session, r.Use.Agent = "a", "s" },
		"moved":   func(r *permission.Request) { r.Use.Dir, r.Use.Session = "/ws", "" },
		"dialect": func(r *permission.Request) { r.Use.Dialect = shell.Zsh },
		"version": func(r *permission.Request) { r.Version = "" },
		"demand":  func(r *permission.Request) { r.Use.ForceAsk = true },
	} {
		r := shown()
		change(&r)
		d := digest(t, r)
		if other, twice := seen[d]; twice {
			t.Errorf("a change of %s has the digest of a change of %s", name, other)
		}
		seen[d] = name
	}
}

func TestSameDigest(t *testing.T) {
	for _, input := range []string{`{"timeout":1,"command":"ls"}`, " {\n\"command\" : \"\\u006cs\",\t\"timeout\":1 } "} {
		r := shown()
		r.Use.Input = json.RawMessage(input)
		if digest(t, r) != digest(t, shown()) {
			t.Errorf("%s has another digest", input)
		}
	}
	r := shown()
	r.Use.ID, r.Decision.Reason = "toolu_2", "other words"
	if digest(t, r) != digest(t, shown()) {
		t.Error("what is not asked about is in the digest")
	}
}

func TestNoDigest(t *testing.T) {
	for _, input := range []string{"", "[]", `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{} {}`} {
		r := shown()
		r.Use.Input = json.RawMessage(input)
		if d, err := Digest(&r); err == nil {
			t.Errorf("%s has the digest %s", input, d)
		}
	}
}

// Requests with different fields have different digests, whatever the fields
// hold.
func TestDigestIsInjective(t *testing.T) {
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab\x00\x01\x08:/")), 0, 4, -1)
	some := func(t *rapid.T) permission.Request {
		r := shown()
		r.Use.Tool, r.Use.Dir, r.Use.Session = text.Draw(t, "tool"), text.Draw(t, "dir"), text.Draw(t, "session")
		r.Use.Agent, r.Version, r.Use.ForceAsk = text.Draw(t, "agent"), text.Draw(t, "version"), rapid.Bool().Draw(t, "demand")
		return r
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := some(t), some(t)
		same := a.Use.Tool == b.Use.Tool && a.Use.Dir == b.Use.Dir && a.Use.Session == b.Use.Session &&
			a.Use.Agent == b.Use.Agent && a.Version == b.Version && a.Use.ForceAsk == b.Use.ForceAsk
		if (digest(t, a) == digest(t, b)) != same {
			t.Fatalf("%+v and %+v", a, b)
		}
	})
}
