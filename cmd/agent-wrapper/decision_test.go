package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/policy"
	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

// decided is the decision about a tool use.
type decided struct{ Behavior, Layer, Rule string }

// matrixUses are the tool uses that every command decides.
var matrixUses = []struct{ tool, input string }{
	{"Bash", `{"command":"npm test"}`},
	{"Bash", `{"command":"npm run build"}`},
	{"Bash", `{"command":"npm publish"}`},
	{"Bash", `{"command":"git push"}`},
	{"Bash", `{"command":"eslint src"}`},
	{"Bash", `{"command":"npm test && npm run build"}`},
	{"Bash", `{"command":"deploy --to prod"}`},
	{"Bash", `{"command":"cat .env"}`},
	{"Monitor", `{"command":"npm publish"}`},
	{"Edit", `{"file_path":"src/a.go","old_string":"a","new_string":"b"}`},
	{"Edit", `{"file_path":"ci/list.json","old_string":"a","new_string":"b"}`},
	{"Edit", `{"file_path":"agent-wrapper.local.toml","old_string":"a","new_string":"b"}`},
	{"Edit", `{"file_path":".smartergpt/logs/hallucinations.jsonl","old_string":"a","new_string":"b"}`},
	{"Read", `{"file_path":"README.md"}`},
	{"WebFetch", `{"url":"https://example.com","prompt":"x"}`},
}

// The whitelists of the fixtures.
const (
	someList = `"defaults":{"npm":{"commands":["test","run build"],"allow_args":[],"deny_args":[]},` +
		`"git":{"commands":["push"],"allow_args":[],"deny_args":[]}},` +
		`"custom":{"eslint":{"binary":"node_modules/.bin/eslint","allow_positionals":true}}`
	strictList     = `{"version":"1.0.0","mode":"strict",` + someList + `,"policy":{"hallucination_threshold":100}}`
	permissiveList = `{"version":"1.0.0","mode":"permissive",` + someList + `,"policy":{"hallucination_threshold":100}}`
	rehearsalList  = `{"version":"1.0.0","mode":"strict",` + someList + `,"policy":{"dry_run_mode":true}}`
	rules          = "allow = [\"Bash\", \"Edit(**)\"]\nask = [\"Bash(npm run build:*)\"]\ndeny = [\"Bash(git push:*)\"]\n"
)

// matrixFixtures are policies with their whitelists, and the behavior for each of
// matrixUses: a (allow), k (ask), d (deny).
var matrixFixtures = []struct {
	name, policy, list, usual string
	want                      string
}{
	{name: "rules alone", policy: rules, want: "akadakakaaakkak"},
	{name: "a whitelist that the policy names", policy: rules + `whitelist = "ci/list.json"`, list: strictList, want: "akddaddddakkkak"},
	{name: "one in its usual place", policy: rules, usual: strictList, want: "akddaddddaakkak"},
	{name: "both", policy: rules + `whitelist = "ci/list.json"`, list: permissiveList, usual: strictList, want: "akddaddddakkkak"},
	{name: "a permissive one", policy: rules + `whitelist = "ci/list.json"`, list: permissiveList, want: "akkdadkkkakkkak"},
	{name: "a dry run", policy: rules + `whitelist = "ci/list.json"`, list: rehearsalList, want: "akadakakaakkkak"},
	{name: "settings", policy: "mode = \"dontAsk\"\nunlisted = \"deny\"\nrisk = \"off\"\n" + rules, want: "adadadaaaaadddd"},
	{name: "tables", policy: "profile = \"terminal\"\nsensitive_paths = \"ask\"\n" + tables, list: strictList, want: "kkkkkkakkkkkkak"},
}

// tables is the part of a policy about programs and risk.
const tables = `
[programs.deploy]
operands = "text"
options = ["--to="]

[[risk_overrides]]
pattern = "deploy:*"
risk = "safe"
`

// TestOneDecision: the same tool use under the same policy gets the same decision
// from every command that decides tool uses of agents.
func TestOneDecision(t *testing.T) {
	slow.Test(t)
	for _, f := range matrixFixtures {
		t.Run(f.name, func(t *testing.T) {
			dir := layFixture(t, f.policy, f.list, f.usual)
			file := filepath.Join(dir, policy.FileName)
			named := []string{"--cwd", dir, "--policy", file}
			want := byCheck(t, named...)
			letters := ""
			for _, d := range want {
				letters += map[string]string{"allow": "a", "ask": "k", "deny": "d"}[d.Behavior]
			}
			if letters != f.want {
				t.Fatalf("check says %s, want %s: %+v", letters, f.want, want)
			}
			for name, got := range map[string][]decided{
				"test":              byTest(t, dir, want),
				"run":               byRun(t, named...),
				"explain":           byExplain(t, named...),
				"check of a folder": byTrust(t, dir, file),
			} {
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("check and %s differ (-check +%s):\n%s", name, name, diff)
				}
			}
		})
	}
}

// TestOneDecisionUpward: so it is below the directory of a policy, where all commands
// find the same files.
func TestOneDecisionUpward(t *testing.T) {
	dir := layFixture(t, rules, "", "")
	sub := filepath.Join(dir, "src", "deep")
	for _, name := range []string{filepath.Join(dir, ".git"), sub} {
		if err := os.MkdirAll(name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	narrower := "ask = [\"WebFetch\"]\ndeny = [\"Read(README.md)\"]"
	if err := os.WriteFile(filepath.Join(dir, "src", policy.FileName), []byte(narrower), 0o600); err != nil {
		t.Fatal(err)
	}
	saidBy(t, "", "trust", "--yes", filepath.Join(dir, policy.FileName))
	at := []string{"--cwd", sub}
	want := byCheck(t, at...)
	letters := ""
	for _, d := range want {
		letters += map[string]string{"allow": "a", "ask": "k", "deny": "d"}[d.Behavior]
	}
	if letters != "akadakakaaakkdk" {
		t.Fatalf("check says %s: %+v", letters, want)
	}
	for name, got := range map[string][]decided{"run": byRun(t, at...), "explain": byExplain(t, at...)} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("check and %s differ (-check +%s):\n%s", name, name, diff)
		}
	}
}

// TestRowsDecideAlike: a row of check --jsonl, whose policy is JSON, gets the
// decision of check. A row that names a whitelist or programs is rejected.
func TestRowsDecideAlike(t *testing.T) {
	dir := layFixture(t, rules, "", "")
	want := byCheck(t, "--cwd", dir, "--policy", filepath.Join(dir, policy.FileName))
	const asRow = `{"allow":["Bash","Edit(**)"],"ask":["Bash(npm run build:*)"],"deny":["Bash(git push:*)"]%s}`
	rows := func(more string) []decided {
		var in strings.Builder
		for i, use := range matrixUses {
			fmt.Fprintf(&in, `{"id":"%d","policy":`+asRow+`,"tool":%q,"input":%s}`+"\n", i, more, use.tool, use.input)
		}
		out, _ := saidBy(t, in.String(), "check", "--jsonl")
		var all []decided
		for line := range strings.Lines(out) {
			all = append(all, answerOf(t, line))
		}
		return all
	}
	got := rows("")
	for i := range want {
		// Rows have no files but that of the policy, so other guarded files are
		// ordinary paths to them.
		if want[i].Layer == "guard" && got[i] == (decided{"allow", "default", "Edit(**)"}) {
			got[i] = want[i]
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("check and check --jsonl differ (-check +row):\n%s", diff)
	}
	for _, more := range []string{`,"whitelist":"ci/list.json"`, `,"whitelist":""`, `,"programs":{}`, `,"approved":[]`} {
		for i, d := range rows(more) {
			if d != (decided{Behavior: "deny", Layer: "guard"}) {
				t.Errorf("a row with %s: %s %s is %+v", more, matrixUses[i].tool, matrixUses[i].input, d)
			}
		}
	}
}

// TestGatesDecideAlike: commands that check gates or command lines against the
// whitelists agree with those that decide tool uses, except where the
// documentation says so: commands that only use the whitelist see no rule
// (validate-commands, whitelist validate), and exec runs a person's own command, to
// which no whitelist applies.
func TestGatesDecideAlike(t *testing.T) {
	dir := layFixture(t, rules+`whitelist = "ci/list.json"`, strictList, "")
	for _, tt := range []struct {
		line                      string
		agent, gate, listed, here string
	}{
		{"npm test", "allow", "run", "allowed", "allowed"},
		{"npm run build", "ask", "ask", "allowed", "allowed"},
		{"git push", "deny", "block", "allowed", "allowed"},
		{"npm publish", "deny", "block", "blocked", "not_whitelisted"},
		{"npm test && npm run build", "deny", "block", "blocked", "shell_operators"},
		{"eslint src", "allow", "run", "allowed", "allowed"},
	} {
		input, err := json.Marshal(map[string]string{"command": tt.line})
		if err != nil {
			t.Fatal(err)
		}
		plan := filepath.Join(dir, "plan.json")
		text := fmt.Sprintf(`{"schemaVersion":"1.0.0","items":[{"name":"a","gates":[{"name":"g","run":%q}]}]}`, tt.line)
		if err := os.WriteFile(plan, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := []string{"--cwd", dir, "--policy", filepath.Join(dir, policy.FileName)}
		with := func(args ...string) string { out, _ := saidBy(t, "", append(args, at...)...); return out }
		agent := answerOf(t, with("check", "Bash", string(input), "--output", "jsonl"))
		gate := foundIn(t, `"would":"(\w+)"`, with("execute", plan, "--dry-run", "--json"))
		listed := foundIn(t, `"result":"(\w+)"`, with("security", "validate-commands", "--plan", plan, "--json"))
		out, _ := saidBy(t, "", "whitelist", "validate", "--cwd", dir, tt.line)
		got := []string{agent.Behavior, gate, listed, foundIn(t, `^(\w+)\n`, out)}
		if diff := cmp.Diff([]string{tt.agent, tt.gate, tt.listed, tt.here}, got); diff != "" {
			t.Errorf("%s: check, execute --dry-run, validate-commands, whitelist validate (-want +got):\n%s", tt.line, diff)
		}
	}
	for line, code := range map[string]int{"echo not listed": codeDone, "git push": codeDenied} {
		if _, got := saidBy(t, "", "exec", "--no-input", "--cwd", dir, "--policy", filepath.Join(dir, policy.FileName), "--", line); got != code {
			t.Errorf("exec -- %s: exit code %d, want %d", line, got, code)
		}
	}
}

// layFixture creates the directory of a fixture and an empty home directory.
func layFixture(t *testing.T, text, list, usual string) string {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{policy.FileName: text, "ci/list.json": list, ".smartergpt/allowed-commands.json": usual} {
		if text == "" {
			continue
		}
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// saidBy runs a command line and returns its output and exit code.
func saidBy(t *testing.T, stdin string, args ...string) (string, int) {
	t.Helper()
	var out, complaints strings.Builder
	a := &app{in: strings.NewReader(stdin), out: &out, err: &complaints}
	code := a.run(t.Context(), args)
	if code == codeInternal || code == codeUsage {
		t.Fatalf("%q: exit code %d: %s%s", args, code, out.String(), complaints.String())
	}
	return out.String(), code
}

func answerOf(t *testing.T, line string) decided {
	t.Helper()
	var a policy.Answer
	if err := json.Unmarshal([]byte(line), &a); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	return decided{a.Behavior, a.Layer, a.Rule}
}

// foundIn returns the first group of a pattern's match.
func foundIn(t *testing.T, pattern, text string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("nothing matches %s in %q", pattern, text)
	}
	return m[1]
}

// byCheck returns the decisions of check.
func byCheck(t *testing.T, flags ...string) []decided {
	t.Helper()
	var all []decided
	for _, use := range matrixUses {
		out, _ := saidBy(t, "", append([]string{"check", use.tool, use.input, "--output", "jsonl"}, flags...)...)
		all = append(all, answerOf(t, out))
	}
	return all
}

// byTrust returns the decisions of check with a policy that is found in the
// workspace, once it is trusted.
func byTrust(t *testing.T, dir, file string) []decided {
	t.Helper()
	saidBy(t, "", "trust", "--yes", file)
	return byCheck(t, "--cwd", dir)
}

// byExplain returns the decisions of explain.
func byExplain(t *testing.T, flags ...string) []decided {
	t.Helper()
	t.Setenv("COLUMNS", "1000") // the length of the workspace's path does not matter
	ends := regexp.MustCompile(`(?m)^(ALLOW|ASK|DENY), by ([a-z-]+)(?: (.*?)(?: \([^()]*:\d+:\d+\))?)?: `)
	var all []decided
	for _, use := range matrixUses {
		out, _ := saidBy(t, "", append([]string{"explain", use.tool, use.input}, flags...)...)
		m := ends.FindStringSubmatch(out)
		if m == nil {
			t.Fatalf("no decision in %q", out)
		}
		all = append(all, decided{strings.ToLower(m[1]), m[2], m[3]})
	}
	return all
}

// byRun returns the decisions of a run of an agent. Nobody can be asked, so an
// ask ends as a deny that says so.
func byRun(t *testing.T, flags ...string) []decided {
	t.Helper()
	var prompt []string
	for _, use := range matrixUses {
		prompt = append(prompt, fmt.Sprintf(`{"tool":%q,"input":%s}`, use.tool, use.input))
	}
	out, _ := saidBy(t, "", append([]string{"run", "--prompt", strings.Join(prompt, "\n"), "--agent-command", "pretend-agent", "--advice", "off", "--output", "jsonl"}, flags...)...)
	var all []decided
	for line := range strings.Lines(out) {
		var e struct{ Type, Behavior, Layer, Rule, Reason string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Type != wrapper.DecisionEvent {
			continue
		}
		if strings.Contains(e.Reason, "there is nobody to ask") {
			e.Behavior = "ask"
		}
		all = append(all, decided{e.Behavior, e.Layer, e.Rule})
	}
	return all
}

// byTest returns the decisions of test. It expects those of check, and reports a
// case with another one.
func byTest(t *testing.T, dir string, want []decided) []decided {
	t.Helper()
	var cases strings.Builder
	for i, use := range matrixUses {
		var input map[string]string
		if err := json.Unmarshal([]byte(use.input), &input); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&cases, "[[case]]\nid = \"%d\"\ntool = %q\nexpect = 'allow guard nothing'\n[case.input]\n", i, use.tool)
		for key, value := range input {
			fmt.Fprintf(&cases, "%s = %q\n", key, value)
		}
	}
	path := filepath.Join(dir, "matrix.cases.toml")
	if err := os.WriteFile(path, []byte(cases.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	saidBy(t, "", "test", dir, "--update")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all, err := policy.ParseCases(text, path)
	if err != nil || len(all) != len(want) {
		t.Fatalf("%d cases, %v", len(all), err)
	}
	var got []decided
	for _, c := range all {
		got = append(got, decided(c.Want))
	}
	return got
}
