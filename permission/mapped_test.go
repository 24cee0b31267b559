package permission

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// mappings are the mapped tools of the tests.
func mappings(t testing.TB) *tools.Table {
	t.Helper()
	table, err := tools.NewTable(map[string]tools.Mapping{
		"run_shell":    {Command: []string{"cmd", "more[]"}, Directory: "cwd", Text: []string{"why"}},
		"copy":         {Read: []string{"from"}, Write: []string{"to"}},
		"open_page":    {URL: []string{"url"}},
		"mcp__x__find": {ReadTree: []string{"dir"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func (s spec) decideMapped(t testing.TB, tool, input string) (Decision, *Trace) {
	t.Helper()
	p := s.policy(t)
	p.Tools = mappings(t)
	use := ToolUse{Tool: tool, Input: json.RawMessage(input), Dir: workspace}
	var trace Trace
	return Evaluate(p, s.session(t), &use, fakeFS{}, &trace), &trace
}

// TestLawMapped checks that a use of a mapped tool is decided as the stricter of
// the use of the tool itself and that of the built-in tool that does the same.
func TestLawMapped(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := drawSpec(rt)
		s.allow = plus(s.allow, rapid.SampledFrom([]string{"", "run_shell", "copy", "open_page"}).Draw(rt, "own rule"))
		builtin, text, _ := strings.Cut(rapid.SampledFrom(append(slices.Clone(parts), "Read: src/a", "Read: .env", "Read: /etc/passwd", "Write: src/a", "Write: .git/config", "Write: /tmp/x", "WebFetch: https://github.com/x", "WebFetch: https://evil.example/")).Draw(rt, "use"), ": ")
		tool, field := map[string][2]string{"Read": {"copy", "from"}, "Write": {"copy", "to"}, "WebFetch": {"open_page", "url"}}[builtin][0], map[string]string{"Read": "from", "Write": "to", "WebFetch": "url"}[builtin]
		if tool == "" {
			builtin, text, tool, field = "Bash", builtin, "run_shell", "cmd"
		}
		input, _ := json.Marshal(map[string]string{field: text})
		mapped, _ := s.decideMapped(t, tool, string(input))
		want := s.decideOn(t, ToolUse{Tool: tool, Input: input}).Behavior.strength()
		want = max(want, s.decideOn(t, using(builtin, text)).Behavior.strength())
		if mapped.Behavior.strength() != want {
			rt.Errorf("%s %s under %+v: %v (%s), want %v", tool, input, s, mapped.Behavior, mapped.Reason, want)
		}
	})
}

// TestMapped checks known fields, unknown fields, and both together.
func TestMapped(t *testing.T) {
	t.Parallel()
	both := spec{allow: "run_shell; Bash(ls:*); Read(src/**); copy; Edit(out/**); mcp__x; open_page; WebFetch(github.com)", unlisted: UnlistedAsk}
	for _, test := range []struct {
		spec               spec
		tool, input        string
		want, reason, rule string
	}{
		{both, "run_shell", `{"cmd":"ls"}`, "allow", "run_shell", "run_shell"},
		{both, "run_shell", `{"cmd":"ls","more":["ls -l","npm i"]}`, "ask", "run npm i", ""},
		{both, "run_shell", `{"cmd":"ls","env":"x"}`, "ask", "the field env of run_shell", ""},
		{both, "run_shell", `{"cmd":"ls","env":null}`, "ask", "the field env of run_shell", ""},
		{both, "run_shell", `{"cmd":"ls","why":{"any":["thing"]}}`, "allow", "", "run_shell"},
		{both, "run_shell", `{"cmd":7}`, "ask", "the field cmd of run_shell", ""},
		{both, "run_shell", `{}`, "allow", "", "run_shell"},
		{both, "run_shell", `{"cmd":"ls","cmd":"npm i"}`, "deny", "twice", ""},
		{both, "run_shell", `{"cmd":"ls > x","cwd":"out"}`, "allow", "", "run_shell"},
		{both, "run_shell", `{"cmd":"ls > x","cwd":"/etc"}`, "ask", "write /etc/x", ""},
		{both, "run_shell", `{"cmd":"ls > x","cwd":"../.."}`, "ask", "write …/x", ""},
		{both, "run_shell", `{"cmd":"ls > x","cwd":"` + workspace + `/out/.."}`, "ask", "write …/x", ""},
		{both, "run_shell", `{"cmd":"ls > x","cwd":"~"}`, "ask", "write …/x", ""},
		{spec{allow: "Bash(ls:*)", unlisted: UnlistedAsk}, "run_shell", `{"cmd":"ls"}`, "ask", "use run_shell", ""},
		{spec{allow: "run_shell"}, "run_shell", `{"cmd":"rm -rf /"}`, "deny", "catastrophic", ""},
		{spec{mode: "bypassPermissions"}, "run_shell", `{"cmd":"rm -rf /"}`, "deny", "catastrophic", ""},
		{spec{allow: "run_shell; Bash"}, "run_shell", `{"more":[` + strings.Repeat(`"ls",`, 300) + `"rm -rf /"]}`, "deny", "too much at once", ""},
		{spec{allow: "run_shell; Bash", deny: "Bash(rm:*)"}, "run_shell", `{"cmd":"rm x"}`, "deny", "Bash(rm:*)", "Bash(rm:*)"},
		{spec{allow: "run_shell; Bash", deny: "Read(secret)"}, "run_shell", `{"x":1}`, "ask", "Read(secret)", "Read(secret)"},
		{spec{allow: "run_shell; Bash"}, "run_shell", `{"x":1}`, "allow", "", "run_shell"},
		{spec{allow: "*", mode: "plan"}, "run_shell", `{"cmd":"ls"}`, "deny", "plan", ""},
		{both, "copy", `{"from":"src/a","to":"out/b"}`, "allow", "", "copy"},
		{both, "copy", `{"from":"/etc/passwd","to":"out/b"}`, "ask", "read /etc/passwd", ""},
		{both, "copy", `{"from":"src/a","to":".git/hooks/x"}`, "ask", ".git/hooks/x", ""},
		{spec{allow: "copy; Read; Edit", deny: "Write(secret/**)"}, "copy", `{"from":"src/a","to":"secret/b"}`, "deny", "Write(secret/**)", "Write(secret/**)"},
		{both, "open_page", `{"url":"https://github.com/x"}`, "allow", "", "open_page"},
		{both, "open_page", `{"url":"https://evil.example"}`, "ask", "fetch https://evil.example", ""},
		{spec{allow: "open_page; WebFetch"}, "open_page", `{"url":"file:///etc/passwd"}`, "ask", "the field url", ""},
		// An MCP server is a separate process: the directory of a relative path is
		// unknown.
		{spec{allow: "mcp__x; Read(src/**)"}, "mcp__x__find", `{"dir":"src/a"}`, "ask", "read src/a", ""},
		{spec{allow: "mcp__x; Read(src/**)"}, "mcp__x__find", `{"dir":"` + workspace + `/src/a"}`, "allow", "", "mcp__x"},
	} {
		s := test.spec
		if s.allow == "*" {
			s.allow = ""
		}
		d, trace := s.decideMapped(t, test.tool, test.input)
		if d.Behavior.String() != test.want || !strings.Contains(d.Reason, test.reason) || test.rule != "" && d.Rule != test.rule {
			t.Errorf("%s %s: %v by %q, %s; want %s by %q, %s", test.tool, test.input, d.Behavior, d.Rule, d.Reason, test.want, test.rule, test.reason)
		}
		if trace.Decision.Behavior != d.Behavior || d.Layer != LayerGuard && len(trace.Actions) == 0 {
			t.Errorf("%s %s: the trace says %+v", test.tool, test.input, trace)
		}
	}
}

// recorded keeps the last record.
type recorded struct{ last Record }

func (r *recorded) Record(_ context.Context, rec Record) error { r.last = rec; return nil }

// approving is an approver that calls a function.
type approving func(Request) (Answer, error)

func (a approving) Approve(_ context.Context, r Request) (Answer, error) { return a(r) }

// TestMappedAsk checks that a person sees every part with its field, that rules
// kept for the session apply to the parts that they name, and that the record
// has what was decided.
func TestMappedAsk(t *testing.T) {
	t.Parallel()
	p := spec{}.policy(t)
	p.Tools = mappings(t)
	session := NewSession(place)
	session.Tools = p.Tools
	var kept recorded
	asks := 0
	v := &Evaluator{Policy: p, Session: session, Env: fakeFS{}, Recorder: &kept}
	v.Approver = approving(func(r Request) (Answer, error) {
		asks++
		var fields, exact []string
		for _, part := range r.Decision.Unapproved() {
			fields, exact = append(fields, part.Field), append(exact, part.Exact)
		}
		if !slices.Equal(fields, []string{"", "cmd", "more[0]"}) || !slices.Equal(exact, []string{"run_shell", "Bash(npm install)", "Bash(make x)"}) {
			t.Errorf("asked about %q, to be kept as %q", fields, exact)
		}
		for _, rule := range exact {
			if err := r.CanKeep(patterns.Allow, rule); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
		if r.Answers(exact[:2]...) || !r.Answers(exact...) {
			t.Error("it takes all three rules to answer")
		}
		return Answer{Behavior: Allow, Scope: ScopeSession, Rules: exact}, nil
	})
	use := ToolUse{Tool: "run_shell", Input: json.RawMessage(`{"cmd":"npm install","more":["make x"],"why":"so"}`), Dir: workspace}
	for range 2 {
		if res, err := v.CanUseTool(t.Context(), use); err != nil || res.Behavior != Allow {
			t.Fatalf("%v %s %v", res.Behavior, res.Reason, err)
		}
	}
	if asks != 1 {
		t.Errorf("asked %d times", asks)
	}
	if m := kept.last.Mapped; len(m) != 2 || m[1].Field != "more[0]" || m[1].Facts.Source != "make x" {
		t.Errorf("recorded: %+v", m)
	}
	v.Approver = approving(func(Request) (Answer, error) { return Answer{}, errors.New("nobody") })
	use.Input = json.RawMessage(`{"cmd":"npm install","more":["make y"]}`)
	if res, err := v.CanUseTool(t.Context(), use); err != nil || res.Behavior != Deny {
		t.Fatalf("%v %s %v", res.Behavior, res.Reason, err)
	}
}

// nothingRuns is a gate that refuses every command line.
type nothingRuns struct{}

func (nothingRuns) Forbid(string, *shell.Facts) Refusal {
	return Refusal{Behavior: Deny, Kind: "test", Reason: "nothing runs"}
}

func TestMappedGate(t *testing.T) {
	t.Parallel()
	p := spec{allow: "run_shell; Bash"}.policy(t)
	p.Tools = mappings(t)
	v := &Evaluator{Policy: p, Env: fakeFS{}, CommandGate: nothingRuns{}}
	d := v.Explain(ToolUse{Tool: "run_shell", Input: json.RawMessage(`{"cmd":"ls"}`), Dir: workspace}, nil)
	if d.Behavior != Deny || d.Refusal.Kind != "test" {
		t.Errorf("%v: %s", d.Behavior, d.Reason)
	}
}
