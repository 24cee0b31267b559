package policy

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
)

const someCases = `home = "/home/eva"

[[case]]
use = 'Bash(echo "a)" \)' # a comment
expect = "ask ask-list  Bash(echo:*)"

[[case]]
id = "whole"
tool = "Grep"
input = { pattern = "x", head_limit = 5 }
cwd = "/srv/x"
symlinks = { "src/link" = "/etc/passwd" }
fs = "case-insensitive"
shell = "zsh"
expect = "deny"
[case.with]
mode = "plan"
session_allow = ["Bash"]

[[case]]
use = "TodoWrite"
`

func TestParseCases(t *testing.T) {
	got, err := ParseCases([]byte(someCases), "c.cases.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := []Case{
		{
			Name: `Bash(echo "a)" \)`, File: "c.cases.toml", Line: 3, Tool: "Bash", Input: []byte(`{"command":"echo \"a)\" \\"}`),
			Setting: Setting{Cwd: "/home/dev/proj", Home: "/home/eva"},
			Want:    Expectation{"ask", "ask-list", "Bash(echo:*)"},
		},
		{
			ID: "whole", Name: "whole", File: "c.cases.toml", Line: 7, Tool: "Grep", Input: []byte(`{"head_limit":5,"pattern":"x"}`),
			Setting: Setting{Cwd: "/srv/x", Home: "/home/eva", Symlinks: map[string]string{"src/link": "/etc/passwd"}, FS: "case-insensitive", Shell: "zsh"},
			Want:    Expectation{Behavior: "deny"}, With: got[1].With,
		},
		{
			Name: "TodoWrite", File: "c.cases.toml", Line: 20, Tool: "TodoWrite", Input: []byte(`{}`),
			Setting: Setting{Cwd: "/home/dev/proj", Home: "/home/eva"},
		},
	}
	if diff := cmp.Diff(want, got, ignorePlace, cmp.AllowUnexported(Spec{})); diff != "" {
		t.Error(diff)
	}
	with := got[1].With
	if with.Mode != "plan" || len(with.SessionAllow) != 1 || with.SessionAllow[0].Source.Line != 18 {
		t.Errorf("with: %+v", with)
	}
}

func TestParseUse(t *testing.T) {
	for _, tt := range []struct{ use, tool, input string }{
		{"Bash(ls -l)", "Bash", `{"command":"ls -l"}`},
		{"Bash()", "Bash", `{"command":""}`},
		{"Bash((ls); echo ')')", "Bash", `{"command":"(ls); echo ')'"}`},
		{"WebFetch(https://a.example/?x=(1))", "WebFetch", `{"url":"https://a.example/?x=(1)"}`},
		{"mcp__a-z__A_Z09", "mcp__a-z__A_Z09", `{}`},
	} {
		tool, input, err := parseUse(tt.use)
		if err != nil || tool != tt.tool || string(input) != tt.input {
			t.Errorf("%s: %s %s, %v", tt.use, tool, input, err)
		}
	}
	for _, use := range []string{"", "(x)", "ls -l", "Bäsh", "Bash(ls", "a.b", "Bash(ls) ", "mcp__x__y(z)"} {
		if tool, _, err := parseUse(use); err == nil {
			t.Errorf("%q is a use of %s", use, tool)
		}
	}
}

func TestParseCasesRefused(t *testing.T) {
	for text, want := range map[string]string{
		`expect = "ask"`:                                  "no tool use: give use, or tool and input",
		`use = "Bash(ls"`:                                 "has no ) at its end",
		`use = "ls -l"`:                                   "write Tool(text)",
		`use = "TodoWrite(x)"`:                            `this tool needs its whole input: tool = "TodoWrite", input = { … }`,
		"use = 'Bash'\ntool = 'Bash'":                     "give only one",
		`tool = "Bash"`:                                   "tool needs input",
		"use = 'Bash'\nexpect = 'maybe'":                  "write allow, ask or deny",
		"use = 'Bash'\nexpect = 'ask the-list'":           `there is no layer "the-list": write guard, session-deny,`,
		"use = 'Bash'\nId = 'x'":                          "unknown key Id (did you mean id?)",
		"use = 'Bash'\nwith = { modes = 'plan' }":         "unknown key modes (did you mean mode?)",
		"use = 'Bash'\nid='x'\n[[case]]\nuse='A'\nid='x'": `the id "x" is used twice`,
	} {
		_, err := ParseCases([]byte("[[case]]\n"+text), "c")
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "c:") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// write creates the files of a tree, given as name, text, name, text …
func write(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const samplePolicy = `allow = ["Bash"]
ask = ["Bash(git push:*)", "Bash(npm publish:*)"]
deny = ["Bash(rm:*)"]
[[rules]]
tools = ["Bash"]
commands = ["curl"]
action = "ask"
`

const sampleCases = `# the cases
[[case]]
use = "Bash(git status)"
expect = "allow"

[[case]]
use = "Bash(git push)" # pushes
expect = "deny" # no

[[case]]
use = "Bash(rm 'x y')"
[case.with]
mode = "plan"

[[case]]
use = "Bash(curl https://a.example)"
expect = "ask rules"
`

func TestRunTests(t *testing.T) {
	dir := write(t, FileName, samplePolicy, "sub/deep/x.cases.toml", sampleCases,
		".git/y.cases.toml", "broken", "node_modules/a/y.cases.toml", "broken")
	report, err := RunTests(dir, TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	failed := report.Failed()
	if len(report.Results) != 4 || len(failed) != 2 {
		t.Fatal(report.Text(true))
	}
	if f := failed[0]; f.Line != 6 || f.Diff != "-want deny\n+got  ask\n" {
		t.Errorf("the diff: %s", f.Diff)
	}
	if f := failed[1]; !strings.Contains(f.Diff, `the case has no expect; the decision is "deny deny-list Bash(rm:*)"`) {
		t.Errorf("the diff: %s", f.Diff)
	}
	text := report.Text(true)
	for _, want := range []string{
		"FAIL " + filepath.Join(dir, "sub/deep/x.cases.toml") + ":6: Bash(git push)", "reason: ", "cases: 2 passed, 2 failed (50 %)\n",
		FileName + ":2:29: Bash(npm publish:*)", "rules: 4 of 5 tested by a case",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
	if len(report.Untouched) != 1 {
		t.Errorf("untouched: %v", report.Untouched)
	}
	if got := readText(t, dir, "sub/deep/x.cases.toml"); got != sampleCases {
		t.Error("without Update a file was changed")
	}
}

func TestUpdate(t *testing.T) {
	dir := write(t, FileName, samplePolicy, "x.cases.toml", sampleCases)
	report, err := RunTests(dir, TestOptions{Update: true})
	if err != nil || report.Updated != 2 || len(report.Failed()) != 0 {
		t.Fatal(err, report.Text(false))
	}
	want := strings.Replace(sampleCases, `expect = "deny" # no`, `expect = "ask ask-list Bash(git push:*)" # no`, 1)
	want = strings.Replace(want, `use = "Bash(rm 'x y')"`, "use = \"Bash(rm 'x y')\"\nexpect = \"deny deny-list Bash(rm:*)\"", 1)
	if diff := cmp.Diff(want, readText(t, dir, "x.cases.toml")); diff != "" {
		t.Error(diff)
	}
	again, err := RunTests(dir, TestOptions{})
	if err != nil || len(again.Failed()) != 0 {
		t.Error(err, again.Text(false))
	}
	left, _ := filepath.Glob(filepath.Join(dir, ".cases-*"))
	if len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// TestUpdateRefused checks that a file is left unchanged if its form has no
// place for a new line.
func TestUpdateRefused(t *testing.T) {
	inline := `case = [ { use = "Bash(rm x)" }, { use = "Bash(ls)", expect = "allow" } ]`
	dir := write(t, FileName, samplePolicy, "x.cases.toml", inline)
	if _, err := RunTests(dir, TestOptions{Update: true}); err == nil || !strings.Contains(err.Error(), "cannot write expectations") {
		t.Errorf("%v", err)
	}
	if got := readText(t, dir, "x.cases.toml"); got != inline {
		t.Errorf("the file is now %s", got)
	}
}

func TestQuote(t *testing.T) {
	for _, text := range []string{`ask rules Bash(a)`, `ask rules Bash("a b")`, `ask rules Bash("a" 'b' \)`, "deny rules Bash(\x01\n'\"é)"} {
		cases, err := ParseCases([]byte("[[case]]\nuse='Bash'\nexpect = "+stricttoml.Quote(text)), "c")
		if err != nil || cases[0].Want.String() != text {
			t.Errorf("%s: %v, %+v", text, err, cases)
		}
	}
}

func TestRunTestsErrors(t *testing.T) {
	tests := []struct{ name, want string }{
		{write(t), "no *.cases.toml files"},
		{filepath.Join(t.TempDir(), "none"), "no such file"},
		{write(t, "x.cases.toml", sampleCases), "no agent-wrapper.toml here or above"},
		{write(t, FileName, "deny = ['bash']", "x.cases.toml", sampleCases), "the policy cannot be loaded"},
		{write(t, FileName, "denny = []", "x.cases.toml", sampleCases), "unknown key denny"},
		{write(t, FileName, "", "x.cases.toml", "[[case]]\nuse='Bash'\ncwd='x'"), `cwd "x" must be an absolute path`},
		{write(t, FileName, "", "x.cases.toml", "[[case]]\nuse='Bash'\nwith={deny=['bash']}"), "did you mean Bash"},
		// Without an evaluator, a policy that names a whitelist is an error.
		{write(t, FileName, "whitelist = 'l.json'", "x.cases.toml", sampleCases), "agent-wrapper.toml:1:13: the policy names a whitelist, which policy test does not read"},
		{write(t, FileName, "", "x.cases.toml", "[[case]]\nuse='Bash'\nwith={whitelist='l.json'}"), "x.cases.toml:1: the policy cannot be loaded: "},
	}
	for _, tt := range tests {
		if _, err := RunTests(tt.name, TestOptions{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}

// TestBrokenPolicyOnce checks that a policy that does not load is reported
// once, however many files of cases use it.
func TestBrokenPolicyOnce(t *testing.T) {
	dir := write(t, FileName, "deny = ['bash']", "a.cases.toml", sampleCases, "b.cases.toml", sampleCases)
	_, err := RunTests(dir, TestOptions{})
	if err == nil || strings.Count(err.Error(), "did you mean Bash") != 1 {
		t.Error(err)
	}
}

// TestNearestPolicy checks that the nearest policy inside the tree is used, and
// none above the tree.
func TestNearestPolicy(t *testing.T) {
	cases := "[[case]]\nuse='Bash(ls)'\nexpect='deny deny-list Bash(ls)'\n"
	dir := write(t,
		FileName, `allow = ["Bash"]`,
		"a/"+FileName, `deny = ["Bash(ls)"]`, "a/b/x.cases.toml", cases,
		"c/x.cases.toml", strings.Replace(cases, "deny deny-list Bash(ls)", "allow", 1))
	if report, err := RunTests(dir, TestOptions{}); err != nil || len(report.Failed()) > 0 || len(report.Results) != 2 {
		t.Error(err, report.Text(false))
	}
	if _, err := RunTests(filepath.Join(dir, "c"), TestOptions{}); err == nil {
		t.Error("a policy above the directory is taken")
	}
}

func TestJUnit(t *testing.T) {
	dir := write(t, FileName, samplePolicy, "x.cases.toml", sampleCases+"\n[[case]]\nuse=\"Bash(echo \\u0001 <b>)\"\nexpect='deny'\n")
	report, err := RunTests(dir, TestOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := report.JUnit(&b); err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal([]byte(b.String()), &got); err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	if got.Tests != 5 || got.Failures != 3 || len(got.Suites) != 1 || got.Suites[0].Failures != 3 {
		t.Errorf("%+v", got)
	}
	c := got.Suites[0].Cases[1]
	if c.Name != "Bash(git push)" || c.Line != 6 || c.Failure == nil || c.Failure.Message != "want deny, got ask ask-list Bash(git push:*)" {
		t.Errorf("%+v", c)
	}
	if got.Suites[0].Cases[0].Failure != nil {
		t.Error("a case that passed has a failure")
	}
}

// TestCaseAdvice: a case that expects advice fails without it, also when the
// expectations are rewritten.
func TestCaseAdvice(t *testing.T) {
	for _, tt := range []struct {
		use, advice string
		fails       bool
	}{
		{`cat "$f"`, "name the file", false},
		{`cat "$f"`, "use rg", true},
		{"cat .env", "name the file", true},
		{`cat "$f"`, "", false},
	} {
		for _, update := range []bool{false, true} {
			dir := t.TempDir()
			for name, text := range map[string]string{
				FileName:       `deny = ["Read(.env)"]`,
				"a.cases.toml": "[[case]]\ntool = \"Bash\"\ninput = { command = '" + tt.use + "' }\nexpect = \"" + map[bool]string{true: "deny", false: "ask"}[tt.use == "cat .env"] + "\"\nadvice = \"" + tt.advice + "\"\n",
			} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			report, err := RunTests(dir, TestOptions{Update: update})
			if err != nil || len(report.Failed()) > 0 != tt.fails {
				t.Errorf("%s with advice %q, rewritten %v: %+v, %v", tt.use, tt.advice, update, report.Failed(), err)
			}
		}
	}
}
