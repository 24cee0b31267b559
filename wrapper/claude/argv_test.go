package claude

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	got, err := arguments(&Options{
		Model: "sonnet", Session: "s-1", AppendSystemPrompt: "be brief\n--bare",
		MCPConfig: []string{"/a.json", `{"mcpServers":{}}`}, AddDirs: []string{"/b"},
		Disallowed: []string{"WebSearch", "Bash(rm:*)", "Bash(git * main)", "*"},
	})
	want := []string{
		"--output-format=stream-json", "--verbose", "--input-format=stream-json",
		"--permission-prompt-tool=stdio", "--permission-mode=default",
		"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands",
		`--settings={"permissions":{"ask":["*"]},"disableAllHooks":true,"disableSkillShellExecution":true}`,
		"--model=sonnet", "--resume=s-1", "--append-system-prompt=be brief\n--bare",
		"--mcp-config=/a.json", `--mcp-config={"mcpServers":{}}`, "--add-dir=/b",
		"--disallowedTools=WebSearch", "--disallowedTools=Bash(rm:*)",
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

func TestPathsMadeAbsolute(t *testing.T) {
	got, err := arguments(&Options{MCPConfig: []string{"mcp.json"}, AddDirs: []string{"../x"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, arg := range got[len(got)-2:] {
		if _, value, _ := strings.Cut(arg, "="); !filepath.IsAbs(value) {
			t.Errorf("%s", arg)
		}
	}
}

// mayBe are the only options that ever reach the agent CLI.
var mayBe = []string{
	"--output-format", "--verbose", "--input-format", "--permission-prompt-tool", "--permission-mode",
	"--setting-sources", "--strict-mcp-config", "--disable-slash-commands", "--settings", "--model", "--resume",
	"--append-system-prompt", "--mcp-config", "--add-dir", "--disallowedTools",
}

// FuzzArguments: whatever the options hold, no argument is another option than
// those of mayBe, the fixed ones have their fixed values and stand once, and a
// deny is never said as anything else. So the CLI is never told to allow tools
// by itself.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "x", "--allowedTools", "--allowedTools=Bash", "=", "\x00", "a\n--bare", "Bash(x)\n--y", "Bash) --allowedTools Bash(", `{"a":1}`} {
		f.Add(seed, seed, seed, seed, seed, seed)
	}
	f.Fuzz(func(t *testing.T, model, session, system, mcp, dir, deny string) {
		got, err := arguments(&Options{
			Prompt: system, Model: model, Session: session, AppendSystemPrompt: system,
			MCPConfig: []string{mcp, deny}, AddDirs: []string{dir, model}, Disallowed: []string{deny, "Bash(" + deny + ")", mcp},
		})
		if err != nil {
			return
		}
		fixed, _ := arguments(&Options{})
		if !slices.Equal(got[:len(fixed)], fixed) {
			t.Errorf("the fixed arguments became %q", got[:len(fixed)])
		}
		for _, arg := range got[len(fixed):] {
			option, value, found := strings.Cut(arg, "=")
			if !found || !slices.Contains(mayBe, option) || slices.Contains(fixed, option) {
				t.Errorf("argument %q", arg)
			}
			if option == "--disallowedTools" && strings.ContainsAny(value, ",\n=") {
				t.Errorf("deny %q", value)
			}
		}
	})
}

// TestOnlyArguments: the agent is started with what arguments makes and with
// nothing else, and no other source speaks of an option of its.
func TestOnlyArguments(t *testing.T) {
	o := Options{
		Prompt: "--allowedTools=Bash", Dir: "/w", Decider: byWord, Model: "m", Session: "s", AppendSystemPrompt: "--allowedTools",
		MCPConfig: []string{"--allowedTools"}, AddDirs: []string{"--allowedTools=Bash"}, Disallowed: []string{"Bash(rm:*)"},
	}
	var got []string
	o.Start = func(args []string) (Process, error) {
		got = args
		return nil, errors.New("enough")
	}
	Run(t.Context(), o)
	want, err := arguments(&o)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) < 10 {
		t.Fatal(sources, err)
	}
	for _, name := range sources {
		if text := source(t, name); name != "argv.go" && !strings.HasSuffix(name, "_test.go") && strings.Contains(strings.ToLower(text), "allowedtools") {
			t.Errorf("%s speaks of allowedTools", name)
		}
	}
	if n := strings.Count(strings.ToLower(source(t, "argv.go")), "allowedtools"); n != 2 { // --disallowedTools, and the options that are refused
		t.Errorf("argv.go speaks %d times of allowedTools", n)
	}
}

func source(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIsolationIsJSON: the settings are what they look like.
func TestIsolationIsJSON(t *testing.T) {
	var s struct {
		Permissions struct{ Ask []string }
	}
	if err := json.Unmarshal([]byte(isolation), &s); err != nil || !slices.Equal(s.Permissions.Ask, []string{"*"}) {
		t.Errorf("%v %v", s, err)
	}
}

func TestSayable(t *testing.T) {
	for rule, want := range map[string]string{
		"Bash": "Bash", "WebSearch": "WebSearch", "mcp__server__tool": "mcp__server__tool", "mcp__my-server": "mcp__my-server",
		"Bash(rm:*)": "Bash(rm:*)", "Bash(git push)": "Bash(git push)", "Bash(git push:*)": "Bash(git push:*)",
		"Read(./.env)": "Read(./.env)", "Read(/etc/**)": "Read(//etc/**)", "Read(//etc/**)": "Read(//etc/**)",
		"Edit(~/x)": "Edit(~/x)", "Read(*.secret)": "Read(*.secret)", "Read(a b)": "Read(a b)",
		"WebFetch(evil.com)": "WebFetch(domain:evil.com)", "WebFetch(domain:evil.com)": "WebFetch(domain:evil.com)",
		// read differently, or not at all
		"*": "", "mcp__*": "", "": "", "Bash(": "", "Bash()": "", "Bash(git * main)": "", "Bash(npm run test*)": "",
		"Bash(a:b:*)": "", "Bash(echo 'x')": "", "Bash(a,b)": "", "Bash(a) --allowedTools Bash(b)": "", "Read( x)": "",
		"Write(x)": "", "Skill(x)": "", "WebFetch(*.evil.com)": "", "WebFetch(http://x/)": "", "Bash(x)\n": "", "Bash(a\nb)": "",
		"--bare": "", "-x": "",
	} {
		if got := sayable(rule); got != want {
			t.Errorf("%q: got %q, want %q", rule, got, want)
		}
	}
}

func TestCheckCommand(t *testing.T) {
	for _, good := range [][]string{{"claude"}, {"/opt/claude code/claude"}, {"node", "cli.js"}, {"claude", "--debug"}} {
		if err := checkCommand(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range [][]string{
		{"claude", "--allowedTools", "Bash"}, {"claude", "--allowed-tools=Bash"}, {"claude", "--ALLOWEDTOOLS=x"},
		{"sh", "-c", `claude --allowedTools Bash "$@"`}, {"claude", "--dangerously-skip-permissions"},
		{"claude", "--permission-mode=bypassPermissions"}, {"claude", "--settings", "x"}, {"claude", "--bare"},
	} {
		if err := checkCommand(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestCleaned(t *testing.T) {
	env, left := cleaned([]string{
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_SIMPLE=1", "CLAUDE_CODE_SHELL_PREFIX=evil", "CLAUDE_ENV_FILE=/x", "claude_code_simple=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=0", "CLAUDE_CODE_SHELL=/bin/zsh", "CLAUDECODE=1", "BUN_OPTIONS=--preload=x",
	}, "/bin/bash")
	want := []string{
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_SHELL=/bin/bash",
	}
	if !cmp.Equal(want, env) {
		t.Error(cmp.Diff(want, env))
	}
	wantLeft := []string{
		"BUN_OPTIONS", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SIMPLE",
		"CLAUDE_ENV_FILE", "claude_code_simple",
	}
	if !cmp.Equal(wantLeft, left) {
		t.Error(cmp.Diff(wantLeft, left))
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]string{
		"2.1.197": "2.1.197", "2.1.329 (Claude Code)\n": "2.1.329", "10.0.0-beta": "10.0.0",
		"": "", "v2.1.1": "", "2.1": "", "2.1.x": "", "99999999.1.1": "", "2.1.1970000000": "",
	} {
		v, err := parseVersion(text)
		if (err == nil) != (want != "") || err == nil && v.String() != want {
			t.Errorf("%q: got %v, %v", text, v, err)
		}
	}
	order := []version{{1, 9, 9}, {2, 0, 0}, {2, 1, 196}, {2, 1, 197}, {2, 2, 0}, {3, 0, 0}}
	for i, v := range order {
		for j, w := range order {
			if v.before(w) != (i < j) {
				t.Errorf("%v before %v: %v", v, w, v.before(w))
			}
		}
	}
	if oldest.String() != MinVersion {
		t.Errorf("MinVersion is %s, and %v is checked", MinVersion, oldest)
	}
}
