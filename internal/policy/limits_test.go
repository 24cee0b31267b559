package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

func limitsOf(t *testing.T, text, name string) *Spec {
	t.Helper()
	s, err := Parse([]byte(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// compiledLimits returns the limits of a policy's session on one line.
func compiledLimits(t *testing.T, s *Spec) string {
	t.Helper()
	_, session, _, err := s.Compile(patterns.Place{Workspace: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	l, text := session.Limits, ""
	for _, one := range []permission.Limit{l.DenialsInARow, l.QuestionsAnHour, l.ToolUses} {
		text += fmt.Sprintf("%d %s, ", one.Most, one.Source)
	}
	return text + fmt.Sprint(l.Then)
}

func TestLimits(t *testing.T) {
	s := limitsOf(t, "[limits]\ndenials_in_a_row = 20\nquestions_an_hour = 60\ntool_uses = 500\nthen = \"pause\"\n", "p.toml")
	if got, want := compiledLimits(t, s), "20 p.toml:2:20, 60 p.toml:3:21, 500 p.toml:4:13, 2"; got != want {
		t.Error(got)
	}
	if got := compiledLimits(t, limitsOf(t, "[limits]\ntool_uses = 5", "p.toml")); !strings.HasSuffix(got, "5 p.toml:2:13, 1") {
		t.Error("the default is to ask:", got)
	}
	var shown []string
	for _, one := range s.Show() {
		shown = append(shown, one.Key+" "+one.Text+" "+one.Place)
	}
	if want := "[limits.denials_in_a_row 20 p.toml:2:20 limits.questions_an_hour 60 p.toml:3:21 limits.tool_uses 500 p.toml:4:13 limits.then pause p.toml:5:8]"; fmt.Sprint(shown) != want {
		t.Error(shown)
	}
	if s.Digest() == limitsOf(t, "", "p.toml").Digest() || s.Digest() == limitsOf(t, "[limits]\ntool_uses = 500", "p.toml").Digest() {
		t.Error("limits are not part of the digest")
	}
	for _, bad := range []string{"tool_uses = 0", "tool_uses = -1", "tool_uses = 1.5", `tool_uses = "5"`, `then = "stop"`, `then = ""`, "uses = 5", "tool_uses = 99999999999999999999"} {
		if found := Validate([]byte("[limits]\n"+bad), "p.toml"); len(found) == 0 || found[0].Warning || !strings.Contains(found[0].String(), "2") {
			t.Errorf("%s: %v", bad, found)
		}
	}
}

// TestLimitsAreMerged: of each limit, and of what is done, the strictest source counts,
// whichever it is and whether it is trusted.
func TestLimitsAreMerged(t *testing.T) {
	loose := "[limits]\ntool_uses = 500\ndenials_in_a_row = 5\n"
	strict := "[limits]\ntool_uses = 50\nquestions_an_hour = 9\ndenials_in_a_row = 6\nthen = \"end\"\n"
	const want = "5 loose.toml:3:20, 9 strict.toml:3:21, 50 strict.toml:2:13, 3"
	for _, trusted := range []bool{true, false} {
		for _, kinds := range [][2]Kind{{User, Project}, {Project, User}, {Managed, Flags}, {Local, FrontMatter}} {
			merged, ignored := Merge([]Source{
				{Kind: kinds[0], Name: "loose.toml", Spec: limitsOf(t, loose, "loose.toml"), Trusted: true},
				{Kind: kinds[1], Name: "strict.toml", Spec: limitsOf(t, strict, "strict.toml"), Trusted: trusted},
			})
			if got := compiledLimits(t, merged); got != want {
				t.Errorf("%v, trusted %v: %s", kinds, trusted, got)
			}
			if told := fmt.Sprint(ignored); !trusted && told != "[strict.toml:4:20: limits.denials_in_a_row = 6 is ignored: the file is not trusted]" {
				t.Error(told)
			}
		}
	}
	merged, ignored := Merge([]Source{
		{Kind: User, Name: "strict.toml", Spec: limitsOf(t, strict, "strict.toml"), Trusted: true},
		{Kind: Project, Name: "wide.toml", Spec: limitsOf(t, "[limits]\ntool_uses = 9999\nthen = \"ask\"", "wide.toml")},
	})
	if got := compiledLimits(t, merged); got != "6 strict.toml:4:20, 9 strict.toml:3:21, 50 strict.toml:2:13, 3" || len(ignored) != 2 {
		t.Error(got, ignored)
	}
	for _, bad := range []string{`then = "stop"`, "tool_uses = 0"} {
		merged, _ := Merge([]Source{
			{Kind: User, Name: "strict.toml", Spec: limitsOf(t, strict, "strict.toml"), Trusted: true},
			{Kind: Project, Name: "bad.toml", Spec: limitsOf(t, "[limits]\n"+bad, "bad.toml")},
		})
		if _, _, _, err := merged.Compile(patterns.Place{Workspace: "/w"}); err == nil {
			t.Error(bad, "is hidden by another source")
		}
	}
}

func TestLintLimits(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"[limits]\ntool_uses = 5\nthen = \"end\"", "[]"},
		{"[limits]\nthen = \"end\"", `[2: limits.then = "end": no limit is set]`},
		{"[limits]\ntool_uses = 5\ndenials_in_a_row = 6", "[3: limits.denials_in_a_row = 6: it is never reached: tool_uses = 5 is reached first]"},
		{"[limits]\ntool_uses = 5\ndenials_in_a_row = 5", "[]"},
		{"mode = \"dontAsk\"\n[limits]\nquestions_an_hour = 5\nthen = \"end\"", "[3: limits.questions_an_hour = 5: it is never reached: mode dontAsk never asks]"},
		{"mode = \"dontAsk\"\n[limits]\ntool_uses = 5", `[3: limits.then = "ask": mode dontAsk never asks: at a limit each tool use is denied, and the agent goes on]`},
	} {
		findings, err := Lint(limitsOf(t, c.text, "p.toml"))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, f := range findings {
			got = append(got, fmt.Sprintf("%d: %s: %s", f.Source.Line, f.Rule, f.Why))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v", c.text, got)
		}
	}
}

// TestLimitsOfSandbox: what a command inside the sandbox may use is checked, shown and merged like
// the limits of a session, although it is none of them.
func TestLimitsOfSandbox(t *testing.T) {
	const text = "[limits.sandbox]\nmemory_mb = 4096\nprocesses = 500\ntimeout_seconds = 600\n"
	s := limitsOf(t, text, "p.toml")
	if w := s.Limits.Sandbox; w.MemoryMB.Most != 4096 || w.Processes.Most != 500 || w.TimeoutSeconds.Most != 600 {
		t.Errorf("%+v", w)
	}
	if got := compiledLimits(t, s); got != "0 , 0 , 0 , 1" {
		t.Error("the session has limits:", got)
	}
	var shown []string
	for _, one := range s.Show() {
		shown = append(shown, one.Key+" "+one.Text+" "+one.Place)
	}
	if want := "[limits.sandbox.memory_mb 4096 p.toml:2:13 limits.sandbox.processes 500 p.toml:3:13 limits.sandbox.timeout_seconds 600 p.toml:4:19]"; fmt.Sprint(shown) != want {
		t.Error(shown)
	}
	if s.Digest() == limitsOf(t, "", "p.toml").Digest() || s.Digest() == limitsOf(t, "[limits.sandbox]\nprocesses = 500", "p.toml").Digest() {
		t.Error("limits are not part of the digest")
	}
	for _, bad := range []string{"memory_mb = 0", "processes = -1", "timeout_seconds = 1.5", `memory_mb = "4GiB"`, "memory = 5", "memory_mb = 1073741825", "processes = 99999999999999999999"} {
		if found := Validate([]byte("[limits.sandbox]\n"+bad), "p.toml"); len(found) == 0 || found[0].Warning || !strings.Contains(found[0].String(), "2") {
			t.Errorf("%s: %v", bad, found)
		}
	}
	for _, trusted := range []bool{true, false} {
		merged, ignored := Merge([]Source{
			{Kind: User, Name: "p.toml", Spec: s, Trusted: true},
			{Kind: Project, Name: "o.toml", Spec: limitsOf(t, "[limits.sandbox]\nmemory_mb = 9000\nprocesses = 50", "o.toml"), Trusted: trusted},
		})
		if w := merged.Limits.Sandbox; w.MemoryMB.Most != 4096 || w.Processes.Most != 50 || w.TimeoutSeconds.Most != 600 {
			t.Errorf("trusted %v: %+v", trusted, w)
		}
		if told := fmt.Sprint(ignored); !trusted && told != "[o.toml:2:13: limits.sandbox.memory_mb = 9000 is ignored: the file is not trusted]" {
			t.Error(told)
		}
	}
	findings, err := Lint(limitsOf(t, "[limits]\nthen = \"end\"\n[limits.sandbox]\nprocesses = 5", "p.toml"))
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].String(), "no limit is set") {
		t.Errorf("%v, %v", findings, err)
	}
}

// TestManagedSandbox: what a managed policy says of the sandbox stays, except that a later one may
// require it.
func TestManagedSandbox(t *testing.T) {
	for _, tt := range []struct{ managed, user, want string }{
		{"on", "off", "on"}, {"on", "require", "require"}, {"off", "on", "off"}, {"off", "require", "off"},
		{"require", "off", "require"}, {"require", "on", "require"}, {"", "require", "require"}, {"on", "", "on"},
	} {
		said := func(sandbox string) string {
			if sandbox == "" {
				return ""
			}
			return `sandbox = "` + sandbox + `"`
		}
		if got, _ := Merge([]Source{sourceOf(t, Managed, true, said(tt.managed)), sourceOf(t, User, true, said(tt.user))}); got.Sandbox != tt.want {
			t.Errorf("managed %q, user %q: %q, want %q", tt.managed, tt.user, got.Sandbox, tt.want)
		}
	}
}
