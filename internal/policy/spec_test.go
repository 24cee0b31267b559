package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

const full = `mode = "acceptEdits"
allow = ["Bash(git status)",
  "Read"]
ask = ["Bash(git push:*)"]
deny = ['Read(.env)']
unlisted = "risk"
risk = "off"
catastrophic = "off"

[[rules]]
tools = ["Bash"]
commands = ["rm"]
action = "deny"
message = "use trash"
match = ["Bash(rm -r x)"]
not_match = ["Bash(ls)"]

[[rules]]
tools = ["Edit"]
paths = ["gen/**"]
action = "ask"
`

var at1 = func(line, col int) patterns.Source { return patterns.Source{Name: "p.toml", Line: line, Col: col} }

func TestParse(t *testing.T) {
	got, err := Parse([]byte(full), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := &Spec{
		Mode: "acceptEdits", Unlisted: "risk", Risk: "off", Catastrophic: "off",
		Allow: []Item{{"Bash(git status)", at1(2, 11)}, {"Read", at1(3, 4)}},
		Ask:   []Item{{"Bash(git push:*)", at1(4, 9)}},
		Deny:  []Item{{"Read(.env)", at1(5, 10)}},
		Rules: []RuleSpec{
			{
				Tools: []string{"Bash"}, Commands: []string{"rm"}, Action: "deny", Message: "use trash", Source: at1(10, 1),
				Match: []Item{{"Bash(rm -r x)", at1(15, 11)}}, NotMatch: []Item{{"Bash(ls)", at1(16, 15)}},
			},
			{Tools: []string{"Edit"}, Paths: []string{"gen/**"}, Action: "ask", Source: at1(18, 1)},
		},
		places: map[string]patterns.Source{"mode": at1(1, 8), "unlisted": at1(6, 12), "risk": at1(7, 8), "catastrophic": at1(8, 16)},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Spec{})); diff != "" {
		t.Error(diff)
	}
}

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	os.WriteFile(path, []byte("mode = \"plan\"\nMODE = \"default\"\n"), 0o644)
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path+":2:1: unknown key MODE") {
		t.Errorf("a case twin: %v", err)
	}
	os.WriteFile(path, []byte("session_allow = ['Bash']"), 0o644)
	if _, err := ReadFile(path); err == nil {
		t.Error("a file may not hold rules of a session")
	}
	os.WriteFile(path, []byte("#"+strings.Repeat("x", 300<<10)), 0o644)
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("a long file: %v", err)
	}
	if _, err := ReadFile(filepath.Dir(path)); err == nil {
		t.Error("a directory passes for a policy")
	}
}

func TestAdd(t *testing.T) {
	file, err := Parse([]byte(full), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	flags := &Spec{Mode: "plan", Deny: []Item{{Text: "Bash(rm:*)"}}, SessionAllow: []Item{{Text: "Edit"}}}
	file.Add(flags)
	if file.Mode != "plan" || file.Risk != "off" || len(file.Deny) != 2 || len(file.SessionAllow) != 1 || len(file.Rules) != 2 {
		t.Errorf("%+v", file)
	}
	if err := file.fault("mode", errors.New("x")); err.Error() != "x" {
		t.Errorf("the mode is no longer that of the file: %v", err)
	}
}

func TestParseRules(t *testing.T) {
	got, err := ParseRules("[\n {\"tools\":[\"Bash\"],\"patterns\":[\"^rm\"],\"action\":\"ask\",\"match\":[\"rm x\"]},\n\n{\"tools\":[\"Read\"],\"action\":\"deny\"}]", patterns.Source{Name: "--rules"})
	if err != nil {
		t.Fatal(err)
	}
	src := func(line, col int) patterns.Source { return patterns.Source{Name: "--rules", Line: line, Col: col} }
	want := []RuleSpec{
		{Tools: []string{"Bash"}, Patterns: []string{"^rm"}, Action: "ask", Match: []Item{{"rm x", src(2, 64)}}, Source: src(2, 2)},
		{Tools: []string{"Read"}, Action: "deny", Source: src(4, 1)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for text, want := range map[string]string{
		`{}`:                              "--rules:1:1: must be an array, not an object",
		`[{"tool":["Bash"]}]`:             "--rules:1:3: [0]: unknown key tool (did you mean tools?)",
		`[{"Tools":["Bash"]}]`:            "--rules:1:3: [0]: unknown key Tools (did you mean tools?)",
		`[{"paths":null}]`:                "--rules:1:11: [0].paths: must be an array, not null",
		`[{"action":"ask","action":"x"}]`: "--rules:1:18: [0]: key action appears twice in one object",
		`[] []`:                           "--rules:1:4: text after the end of the value",
		``:                                "--rules:1:1: the text ends where a value is expected",
	} {
		if _, err := ParseRules(text, patterns.Source{Name: "--rules"}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

var place = patterns.Place{Workspace: "/home/dev/proj", Home: "/home/dev"}

func TestCompile(t *testing.T) {
	spec, err := Parse([]byte(full), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	spec.SessionDeny = []Item{{Text: "WebFetch", Source: patterns.Source{Name: "--session-deny"}}}
	p, session, warnings, err := spec.Compile(place)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	if p.Mode.String() != "acceptEdits" || p.Unlisted != permission.UnlistedRisk || !p.RiskOff || !p.NoCatastrophic || len(p.Rules) != 2 {
		t.Errorf("%+v", p)
	}
	if p.Allow.Len() != 2 || p.Ask.Len() != 1 || p.Deny.Len() != 1 {
		t.Errorf("%d allow, %d ask, %d deny", p.Allow.Len(), p.Ask.Len(), p.Deny.Len())
	}
	use := permission.ToolUse{Tool: "Read", Input: []byte(`{"file_path":".env"}`), Dir: place.Workspace}
	if d := permission.Evaluate(p, session, &use, workspace.Fake{}, nil); d.RuleSource != at1(5, 10) {
		t.Errorf("the rule comes from %+v", d.RuleSource)
	}
	use = permission.ToolUse{Tool: "WebFetch", Input: []byte(`{"url":"https://a.example/"}`)}
	if d := permission.Evaluate(p, session, &use, workspace.Fake{}, nil); d.Layer != permission.LayerSessionDeny {
		t.Errorf("the session's rule does not answer: %+v", d)
	}
}

// TestCompileErrors checks that all errors are reported, each with its place,
// and that the resulting policy denies everything.
func TestCompileErrors(t *testing.T) {
	spec, err := Parse([]byte(`mode = "yolo"
allow = ["bash", "Read", "bashful("]
ask = ["Bash(git:*x)"]
deny = ["Read("]
unlisted = "perhaps"
risk = ""
catastrophic = "no"
[[rules]]
tools = ["Bash"]
action = "forbid"
[[rules]]
tools = ["Bash"]
patterns = ["("]
action = "deny"
[[rules]]
tools = ["Bash"]
commands = ["rm"]
action = "deny"
match = ["rm x", "Bash(ls)", "Frob(x)"]
not_match = ["Bash(/bin/rm y)", "Bash($X y)"]
`), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	p, session, _, err := spec.Compile(place)
	if err == nil {
		t.Fatal("the policy loads")
	}
	text := err.Error()
	for _, want := range []string{
		`p.toml:1:8: unknown permission mode "yolo"`,
		`p.toml:2:11: rule bash`, `: rule bashful(`, `p.toml:3:`, `p.toml:4:`,
		`p.toml:5:12: unlisted is "perhaps": write ask, deny or risk`,
		`p.toml:6:8: risk is "": write on or off`,
		`p.toml:7:16: catastrophic is "no": write on or off`,
		`p.toml:8:1: action is "forbid": write allow, ask or deny`,
		`p.toml:11:1: `,
		`p.toml:19:19: match: the rule does not deny Bash(ls)`,
		`p.toml:19:31: match: tool use Frob(...)`,
		`p.toml:20:15: not_match: the rule matches Bash(/bin/rm y)`,
		`p.toml:20:34: not_match: the rule matches Bash($X y), or may match it`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no word of %s", want)
		}
	}
	if strings.Contains(text, "does not deny rm x") {
		t.Error("a match that is one is reported")
	}
	if t.Failed() {
		t.Log(text)
	}
	use := permission.ToolUse{Tool: "Read", Input: []byte(`{"file_path":"x"}`), Dir: place.Workspace}
	if d := permission.Evaluate(p, session, &use, workspace.Fake{}, nil); d.Behavior != permission.Deny {
		t.Errorf("a policy that does not load gives %v", d.Behavior)
	}
}

func TestExamples(t *testing.T) {
	tests := []struct {
		rule RuleSpec
		good bool
	}{
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "ask", Match: []Item{{Text: "ls; npm i"}}}, true},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "ask", Match: []Item{{Text: "ls"}}}, false},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "ask", Match: []Item{{Text: "$X i"}}}, true},   // $X may be npm, so it is asked about
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "deny", Match: []Item{{Text: "$X i"}}}, false}, // … but it is not denied
		{RuleSpec{Tools: []string{"Read"}, Paths: []string{"gen/**"}, Action: "deny", NotMatch: []Item{{Text: "Rad(x)"}}}, false},
		{RuleSpec{Tools: []string{"Read"}, Paths: []string{"gen/**"}, Action: "deny", NotMatch: []Item{{Text: "genx"}}}, true},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "allow", Match: []Item{{Text: "npm i; ls"}}}, false},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "allow", Match: []Item{{Text: "npm i && npm t"}}}, true},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"npm"}, Action: "allow", NotMatch: []Item{{Text: "npm i; ls"}}}, true},
		{RuleSpec{Tools: []string{"Read", "Edit"}, Paths: []string{"gen/**"}, Action: "deny", Match: []Item{{Text: "Read(gen/x)"}}, NotMatch: []Item{{Text: "Edit(src/x)"}}}, true},
		{RuleSpec{Tools: []string{"Read", "Edit"}, Paths: []string{"gen/**"}, Action: "deny", Match: []Item{{Text: "gen/x"}}}, false},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"rm"}, Action: "deny", Match: []Item{{Text: "rm -rf /"}}}, true},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"rm"}, Action: "deny", Match: []Item{{Text: "(rm x)"}, {Text: "echo $(rm x)"}, {Text: "echo 'a(' ; rm x"}}}, true},
		{RuleSpec{Tools: []string{"Bash"}, Commands: []string{"rm"}, Action: "deny", Match: []Item{{Text: "Bash(rm x"}}}, false},
		{RuleSpec{Tools: []string{"WebFetch"}, Domains: []string{"*.evil.com"}, Action: "deny", Match: []Item{{Text: "https://a.evil.com/x"}}, NotMatch: []Item{{Text: "https://evil.org"}}}, true},
	}
	for i, tt := range tests {
		_, _, _, err := (&Spec{Rules: []RuleSpec{tt.rule}}).Compile(place)
		if (err == nil) != tt.good {
			t.Errorf("rule %d: %v", i, err)
		}
	}
}

func TestListedTwice(t *testing.T) {
	spec := &Spec{Allow: []Item{{Text: "Read"}, {Text: "Bash( git  push )"}, {Text: "Read"}, {Text: "Bash(git push)"}}}
	p, _, _, err := spec.Compile(place)
	if err != nil || p.Allow.Len() > 3 {
		t.Errorf("%v, %d rules", err, p.Allow.Len())
	}
	if n := p.Allow.Len(); n < 2 {
		t.Errorf("%d rules are left", n)
	}
}

func TestCompileTwice(t *testing.T) {
	spec, err := Parse([]byte(full), "p.toml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _, _ := spec.Compile(place)
	moved, err := Parse([]byte("# a comment\n"+full), "q.toml")
	if err != nil {
		t.Fatal(err)
	}
	second, _, _, _ := moved.Compile(place)
	if first.Version != second.Version || !strings.HasPrefix(first.Version, "sha256:") {
		t.Errorf("%s and %s for the same rules", first.Version, second.Version)
	}
	moved.Deny = append(moved.Deny, Item{Text: "Bash"})
	third, _, _, _ := moved.Compile(place)
	if third.Version == first.Version {
		t.Error("another rule, the same version")
	}
}

var ignorePlace = cmpopts.IgnoreUnexported(Case{})
