package claude

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/wrapper"
)

func TestArguments(t *testing.T) {
	got, err := arguments(&launch{Agent: Agent{
		Model: "sonnet", AppendSystemPrompt: "be brief\n--bare",
		MCPConfig: []string{"/a.json", `{"mcpServers":{}}`}, AddDirs: []string{"/b"},
		MaxTurns: 7, MaxBudgetUSD: 0.25, OutputSchema: `{"type":"object"}`, Options: []string{"--effort", "high", "--no-session-persistence"},
	}, Task: wrapper.Task{
		Session: "s-1", Disallowed: []string{"WebSearch", "Bash(rm:*)", "Bash(git * main)", "*"},
	}})
	want := []string{
		"--output-format=stream-json", "--verbose", "--input-format=stream-json",
		"--permission-prompt-tool=stdio", "--permission-mode=default",
		"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands",
		`--settings={"permissions":{"ask":["*"],"additionalDirectories":["/b"]},"disableAllHooks":true,"disableSkillShellExecution":true,"crossSessionInbound":"refuse","disableRemoteControl":true}`,
		"--model=sonnet", "--resume=s-1",
		"--mcp-config=/a.json", `--mcp-config={"mcpServers":{}}`,
		"--disallowedTools=WebSearch", "--disallowedTools=Bash(rm:*)",
		"--max-turns=7", "--max-budget-usd=0.25", `--json-schema={"type":"object"}`, "--effort=high", "--no-session-persistence",
	}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
}

// TestFork: a session is forked only if there is one.
func TestFork(t *testing.T) {
	for session, want := range map[string]bool{"": false, "s-1": true} {
		got, err := arguments(&launch{Task: wrapper.Task{Session: session, Fork: true}})
		if err != nil || slices.Contains(got, "--fork-session") != want {
			t.Errorf("%q: %q, %v", session, got, err)
		}
	}
}

func TestPathsMadeAbsolute(t *testing.T) {
	o := launch{Agent: Agent{MCPConfig: []string{"mcp.json"}, AddDirs: []string{"../x", "1", ""}}}
	got, err := arguments(&o)
	if err != nil {
		t.Fatal(err)
	}
	if _, value, _ := strings.Cut(got[len(got)-1], "="); !filepath.IsAbs(value) {
		t.Errorf("%q", got)
	}
	var s settings
	if err := json.Unmarshal([]byte(isolation(&o)), &s); err != nil || len(s.Permissions.AdditionalDirectories) != 2 {
		t.Fatal(s, err)
	}
	for _, dir := range s.Permissions.AdditionalDirectories {
		if !filepath.IsAbs(dir) {
			t.Errorf("%s", dir)
		}
	}
}

// mayBe are the only options that may be passed to the agent CLI.
var mayBe = []string{
	"--output-format", "--verbose", "--input-format", "--permission-prompt-tool", "--permission-mode",
	"--setting-sources", "--strict-mcp-config", "--disable-slash-commands", "--settings", "--model", "--resume",
	"--mcp-config", "--disallowedTools", "--max-turns", "--max-budget-usd", "--json-schema",
	"--autocompact", "--betas", "--effort", "--exclude-dynamic-system-prompt-sections", "--fallback-model", "--name",
	"--no-session-persistence", "--system-prompt", "--thinking",
}

// FuzzArguments: whatever the options hold, every argument is one of mayBe, the
// fixed ones occur once with their fixed values, and a deny rule never becomes
// another option. So the CLI is never told to allow tools by itself.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{"", "x", "--allowedTools", "--allowedTools=Bash", "=", "\x00", "a\n--bare", "Bash(x)\n--y", "Bash) --allowedTools Bash(", `{"a":1}`} {
		f.Add(seed, seed, seed, seed, seed, seed)
	}
	f.Add("", "", "", "--effort", "", "--bare")
	f.Add("", "", "", "--name=x", "", "--no-session-persistence")
	f.Fuzz(func(t *testing.T, model, session, system, mcp, dir, deny string) {
		got, err := arguments(&launch{
			Agent: Agent{Model: model, AppendSystemPrompt: system, MCPConfig: []string{mcp, deny}, AddDirs: []string{dir, model}, OutputSchema: session},
			Task:  wrapper.Task{Prompt: system, Session: session, Disallowed: []string{deny, "Bash(" + deny + ")", mcp}},
		})
		if err != nil {
			return
		}
		if further, err := arguments(&launch{Agent: Agent{AddDirs: []string{dir, model}, Options: []string{mcp, deny, session}}}); err == nil {
			got = append(got, further[len(isolated(dir, model)):]...)
		}
		fixed := isolated(dir, model)
		if !slices.Equal(got[:len(fixed)], fixed) {
			t.Errorf("the fixed arguments became %q", got[:len(fixed)])
		}
		for _, arg := range got[len(fixed):] {
			option, value, found := strings.Cut(arg, "=")
			found = found || slices.Contains([]string{"--no-session-persistence", "--exclude-dynamic-system-prompt-sections"}, arg)
			if !found || !slices.Contains(mayBe, option) || slices.Contains(fixed, option) {
				t.Errorf("argument %q", arg)
			}
			if option == "--disallowedTools" && strings.ContainsAny(value, ",\n=") {
				t.Errorf("deny %q", value)
			}
		}
	})
}

// isolated returns the arguments that are always passed.
func isolated(dirs ...string) []string {
	args, _ := arguments(&launch{Agent: Agent{AddDirs: dirs}})
	return args
}

// TestOptions: a closed list of options is handed on, with or without = before the
// value. Any other is refused by name, with what to use instead.
func TestOptions(t *testing.T) {
	for words, want := range map[string]string{
		"":              "",
		"--effort high": "--effort=high", "--effort=high": "--effort=high", "--effort=": "--effort=",
		"-n x --betas a --betas=b":                     "--name=x --betas=a --betas=b",
		"--no-session-persistence --effort=--bare":     "--no-session-persistence --effort=--bare",
		"--exclude-dynamic-system-prompt-sections":     "--exclude-dynamic-system-prompt-sections",
		"--fallback-model a,b --thinking disabled":     "--fallback-model=a,b --thinking=disabled",
		"--system-prompt=a=b --autocompact auto":       "--system-prompt=a=b --autocompact=auto",
		"--system-prompt=--allowedTools --effort=Bash": "--system-prompt=--allowedTools --effort=Bash",
	} {
		got, err := handedOn(strings.Fields(words))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v", words, got, err)
		}
	}
	for words, why := range map[string]string{
		"--effort":                          "--effort needs a value: write --effort=VALUE",
		"--effort --bare":                   "--effort needs a value",
		"--no-session-persistence=1":        "--no-session-persistence takes no value",
		"x":                                 `"x" is not passed on to the agent CLI, only options are`,
		"--effort high x":                   `"x" is not passed on`,
		"--":                                "-- is not passed on",
		"-":                                 "- is not passed on",
		"--Effort high":                     "--Effort is not passed on to the agent CLI: did you mean --effort?",
		"--allowedTools Bash":               "agent-wrapper decides permissions; use --allow",
		"--effort high --allowed-tools=x":   "--allowed-tools is not passed on",
		"--permission-mode=plan":            "use --mode",
		"--dangerously-skip-permissions":    "use --mode",
		"--settings={}":                     "use a policy file",
		"--setting-sources=user":            "use a policy file",
		"--bare":                            "use agent-wrapper's --bare",
		"--resume x":                        "--session ID",
		"-r x":                              "--session ID",
		"--max-turns 3":                     "give it before --",
		"--output-format json":              "--output text, jsonl or json",
		"--remote-control":                  "use one of",
		"--chrome":                          "use one of",
		"--ide":                             "use one of",
		"--file a:b":                        "use one of",
		"--worktree":                        "use one of",
		"--replay-user-messages":            "use one of",
		"--include-hook-events":             "use one of",
		"--prompt-suggestions":              "use one of",
		"--bg":                              "use one of",
		"--thinking-display":                "use one of",
		"--dangerously-load-development-xy": "use one of",
	} {
		if err := CheckOptions(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v", words, err)
		}
	}
	for name, want := range map[string]string{"--effort": "after --", "--allowedTools": "use --allow", "-p": "--prompt", "--nonsense": ""} {
		if got := Hint(name); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	seen := map[string]bool{}
	for _, o := range cliOptions {
		if o.on == (o.instead != "") || o.value && !o.on {
			t.Errorf("%q: handed on or something instead", o.names)
		}
		for _, name := range o.names {
			if seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
	}
}

// TestOnlyArguments: the agent is started with what arguments returns and nothing
// else, and no other source file names an option.
func TestOnlyArguments(t *testing.T) {
	o := launch{
		Agent: Agent{Model: "m", AppendSystemPrompt: "--allowedTools", MCPConfig: []string{"--allowedTools"}, AddDirs: []string{"--allowedTools=Bash"}},
		Task:  wrapper.Task{Prompt: "--allowedTools=Bash", Dir: "/w", Decider: byWord, Session: "s", Disallowed: []string{"Bash(rm:*)"}},
	}
	var got []string
	o.Start = func(args []string) (wrapper.Process, error) {
		got = args
		return nil, errors.New("enough")
	}
	drive(t.Context(), o)
	want, err := arguments(&o)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, got))
	}
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) < 10 {
		t.Fatal(sources, err)
	}
	for _, name := range sources {
		if text := source(t, name); name != "argv.go" && name != "handed_on.go" && !strings.HasSuffix(name, "_test.go") && strings.Contains(strings.ToLower(text), "allowedtools") {
			t.Errorf("%s speaks of allowedTools", name)
		}
	}
	for name, want := range map[string]int{"argv.go": 2, "handed_on.go": 2} { // --disallowedTools, and the options that are rejected
		if n := strings.Count(strings.ToLower(source(t, name)), "allowedtools"); n != want {
			t.Errorf("%s speaks %d times of allowedTools", name, n)
		}
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

// TestIsolation: whatever the options hold, the settings are ours; only
// directories are taken from the options.
func TestIsolation(t *testing.T) {
	for _, dir := range []string{"/b", `/"},"permissions":{"allow":["*"]`, "/\xff", "/a\n"} {
		var s settings
		if err := json.Unmarshal([]byte(isolation(&launch{Agent: Agent{AddDirs: []string{dir}}})), &s); err != nil {
			t.Fatal(err)
		}
		want := settings{
			Permissions:     permissions{Ask: []string{"*"}, AdditionalDirectories: []string{strings.ToValidUTF8(dir, "\ufffd")}},
			DisableAllHooks: true, DisableSkillShellExecution: true, CrossSessionInbound: "refuse", DisableRemoteControl: true,
		}
		if !cmp.Equal(want, s) {
			t.Error(cmp.Diff(want, s))
		}
	}
}

// TestDocs: docs/agents.md lists every setting and variable that isolates the CLI, and
// every option that is handed on.
func TestDocs(t *testing.T) {
	page := source(t, "../../docs/agents.md")
	var keys map[string]any
	if err := json.Unmarshal([]byte(isolation(&launch{Agent: Agent{AddDirs: []string{"/b"}}})), &keys); err != nil {
		t.Fatal(err)
	}
	names := []string{"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands", "core.fsmonitor", "permissions.additionalDirectories"}
	for _, v := range variables.ours {
		names = append(names, v.name)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS" }) // isolates nothing
	names = append(names, handedOnNames()...)
	for _, name := range append(names, slices.Collect(maps.Keys(keys))...) {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("it does not name %s", name)
		}
	}
}

func TestSayable(t *testing.T) {
	for rule, want := range map[string]string{
		"Bash": "Bash", "WebSearch": "WebSearch", "mcp__server__tool": "mcp__server__tool", "mcp__my-server": "mcp__my-server",
		"Bash(rm:*)": "Bash(rm:*)", "Bash(git push)": "Bash(git push)", "Bash(git push:*)": "Bash(git push:*)",
		"Read(./.env)": "Read(./.env)", "Read(/etc/**)": "Read(//etc/**)", "Read(//etc/**)": "Read(//etc/**)",
		"Edit(~/x)": "Edit(~/x)", "Read(*.secret)": "Read(*.secret)", "Read(a b)": "Read(a b)",
		"WebFetch(evil.com)": "WebFetch(domain:evil.com)", "WebFetch(domain:evil.com)": "WebFetch(domain:evil.com)",
		// the CLI reads it differently, or not at all
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
		"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1", "BUN_INSTALL=/b", "CLAUDE_CODE_MAX_RETRIES=2",
		"CLAUDE_CODE_SIMPLE=1", "CLAUDE_CODE_SHELL_PREFIX=evil", "CLAUDE_ENV_FILE=/x", "claude_code_simple=1", "BASH_ENV=/x",
		"CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=0", "CLAUDE_CODE_DISABLE_CRON=", "DISABLE_GROWTHBOOK=0", "CLAUDE_CODE_SHELL=/bin/zsh", "CLAUDECODE=1",
		"BUN_OPTIONS=--preload=x", "BUN_INSPECT=9229", "BUN_INSPECT_PRELOAD=x", "BUN_BE_BUN=1", "TMPDIR=/var/tmp",
	}, "/bin/bash")
	want := []string{"PATH=/bin", "HOME=/h", "ANTHROPIC_API_KEY=k", "CLAUDE_CONFIG_DIR=/c", "CLAUDE_CODE_USE_BEDROCK=1", "BUN_INSTALL=/b", "CLAUDE_CODE_MAX_RETRIES=2", "TMPDIR=/var/tmp"}
	want = append(want,
		"AGENT_WRAPPER_RUN=1", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1", "CLAUDE_CODE_DISABLE_CRON=1", "CLAUDE_CODE_DISABLE_DEFERRED_TOOL_RESUME=1",
		"CLAUDE_CODE_DISABLE_AUTO_MEMORY=1", "CLAUDE_CODE_DISABLE_CLAUDE_MDS=1", "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS=1",
		"CLAUDE_CODE_DISABLE_FEATURE_FLAGS=1", "DISABLE_GROWTHBOOK=1", "CLAUDE_CODE_SHELL=/bin/bash", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false")
	if !cmp.Equal(want, env) {
		t.Error(cmp.Diff(want, env))
	}
	wantLeft := []string{
		"BASH_ENV", "BUN_BE_BUN", "BUN_INSPECT", "BUN_INSPECT_PRELOAD", "BUN_OPTIONS", "CLAUDE_CODE_SHELL_PREFIX", "CLAUDE_CODE_SIMPLE",
		"CLAUDE_ENV_FILE", "claude_code_simple",
	}
	if !cmp.Equal(wantLeft, left) {
		t.Error(cmp.Diff(wantLeft, left))
	}
}

// TestWithScratch: the run's directory takes the place of the user's.
func TestWithScratch(t *testing.T) {
	env := []string{"TMPDIR=/a", "X=1", "TMPDIR=/b"}
	o := &launch{}
	if got := o.withScratch(slices.Clone(env)); !cmp.Equal(env, got) {
		t.Error(got)
	}
	o.Scratch, o.ShellEnv = "/s/tmp", "/s/env"
	if got := o.withScratch(slices.Clone(env)); !cmp.Equal([]string{"X=1", "TMPDIR=/s/tmp", "CLAUDE_ENV_FILE=/s/env"}, got) {
		t.Error(got)
	}
	o.Sandbox = &wrapper.Sandbox{} // where commands inside do not see it
	if got := o.withScratch(env); !cmp.Equal([]string{"X=1", "CLAUDE_CODE_TMPDIR=/s/tmp/.agent", "TMPDIR=/s/tmp/.agent", "CLAUDE_ENV_FILE=/s/env"}, got) {
		t.Error(got)
	}
}

// TestSystem: the agent is told of its directory after what the user adds, and that
// after what the project says.
func TestSystem(t *testing.T) {
	for _, x := range []struct{ project, add, dir, want string }{
		{"", "be brief", "", "be brief"},
		{"", "", "/s/tmp", "Put temporary files into /s/tmp, which is also $TMPDIR."},
		{"", "be brief", "/s/tmp", "be brief\n\nPut temporary files into /s/tmp, which is also $TMPDIR."},
		{"use tabs", "", "", "use tabs"},
		{"use tabs", "be brief", "/s/tmp", "use tabs\n\nbe brief\n\nPut temporary files into /s/tmp"},
	} {
		o := launch{Agent: Agent{AppendSystemPrompt: x.add}, Task: wrapper.Task{Scratch: x.dir}}
		o.told.Instructions = x.project
		if got := o.system(); !strings.HasPrefix(got, x.want) || x.dir == "" && got != x.want {
			t.Errorf("%q", got)
		}
	}
}

// TestGitConfig: the user's git configuration in the environment is kept, and
// ours follows it.
func TestGitConfig(t *testing.T) {
	theirs := []string{"GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=x"}
	ours := func(n string) []string {
		return []string{"GIT_CONFIG_KEY_" + n + "=core.fsmonitor", "GIT_CONFIG_VALUE_" + n + "=false"}
	}
	for _, x := range []struct {
		name  string
		given []string
		want  []string
	}{
		{"none", nil, slices.Concat([]string{"GIT_CONFIG_COUNT=1"}, ours("0"))},
		{"one", append(theirs, "GIT_CONFIG_COUNT=1"), slices.Concat(theirs, []string{"GIT_CONFIG_COUNT=2"}, ours("1"))},
		{"the last counts", []string{"GIT_CONFIG_COUNT=7", "GIT_CONFIG_COUNT=2"}, slices.Concat([]string{"GIT_CONFIG_COUNT=3"}, ours("2"))},
		{"no number", []string{"GIT_CONFIG_COUNT=x"}, slices.Concat([]string{"GIT_CONFIG_COUNT=1"}, ours("0"))},
		{"negative", []string{"GIT_CONFIG_COUNT=-3"}, slices.Concat([]string{"GIT_CONFIG_COUNT=1"}, ours("0"))},
	} {
		if got := unmonitored(x.given); !cmp.Equal(x.want, got) {
			t.Errorf("%s: %s", x.name, cmp.Diff(x.want, got))
		}
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
	if oldest.String() != minVersion {
		t.Errorf("minVersion is %s, and %v is checked", minVersion, oldest)
	}
}
