package hook_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/audit"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// machine is a person's machine with one project, whose policy is the user's.
type machine struct {
	project, state, user string
	env                  map[string]string
	noSync               bool
	ask                  func(*engine.Engine) (hook.Asker, error)
}

func newMachine(t testing.TB, policy string) *machine {
	t.Helper()
	root := t.TempDir()
	m := &machine{project: root + "/repo", state: root + "/state", user: root + "/config", env: map[string]string{}}
	for _, dir := range []string{m.project, m.user} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write(t, m.user+"/agent-wrapper.toml", policy)
	return m
}

func (m *machine) write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// hears runs the hook of a host on a payload.
func (m *machine) hears(t testing.TB, host, payload string) hook.Output {
	t.Helper()
	var out, errs bytes.Buffer
	o := hook.Options{
		Host: hosts.Named(host), Dir: m.project, Env: func(name string) string { return m.env[name] },
		Engine: engine.Options{Dirs: &engine.Dirs{User: m.user, State: m.state}}, Ask: m.ask,
	}
	if m.noSync {
		o.Engine.Sync = audit.SyncNone
	}
	code := hook.Main(t.Context(), o, strings.NewReader(payload), &out, &errs)
	return hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}
}

// runs reports whether a host would let a tool run after an answer, as measured: see
// docs/hosts.md.
func runs(host string, o hook.Output) bool {
	said := strings.TrimSpace(string(o.Stderr)) != ""
	var answer map[string]any
	isJSON := json.Unmarshal(o.Stdout, &answer) == nil
	inner, _ := answer["hookSpecificOutput"].(map[string]any)
	switch host {
	case hook.Claude:
		_, dialect := answer["decision"]
		return o.Code != 2 && !(o.Code == 0 && isJSON && !dialect && (inner["permissionDecision"] == "deny" || inner["permissionDecision"] == "ask"))
	case hook.Codex, hook.Qwen:
		return !(o.Code == 2 && said && len(o.Stdout) == 0)
	case hook.Gemini:
		return !(o.Code == 2 && said && len(o.Stdout) == 0)
	case hook.Copilot:
		return !(o.Code == 2 || o.Code == 0 && isJSON && answer["permissionDecision"] == "deny")
	case hook.Crush:
		return !(o.Code == 2 || o.Code == 0 && isJSON && answer["decision"] == "deny")
	case hook.OpenCode:
		return o.Code == 0 && isJSON && answer["decision"] == "allow"
	}
	panic("unknown host " + host)
}

// payload is a payload that was recorded.
type payload struct{ name, folder, text string }

// hostOf returns the host of the folder of a payload, "" for one that no hook is sent.
func (p *payload) hostOf() string {
	folder := map[string]string{"claude-code": hook.Claude, "copilot-cli": hook.Copilot}
	host := p.folder
	if known := folder[host]; known != "" {
		host = known
	}
	base := filepath.Base(p.name)
	switch {
	case p.folder == "acp" || strings.HasPrefix(base, "app-server.") || strings.HasPrefix(base, "acp."):
		return ""
	case p.folder == hook.OpenCode && !strings.HasPrefix(base, "plugin.before-"):
		return ""
	}
	return host
}

// lab is the project in payloads that were recorded elsewhere.
var lab = regexp.MustCompile(`"(/home/dev/lab|/tmp/hosts1)/[a-z]+/runs/[^/"]+/w`)

// payloads returns what was recorded, with the machine's project as theirs.
func payloads(t testing.TB, project string) []payload {
	t.Helper()
	var all []payload
	err := filepath.WalkDir("testdata/payloads", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		p := payload{path, filepath.Base(filepath.Dir(path)), string(data)}
		if p.hostOf() == hook.OpenCode {
			p.text = plugin(t, data, project)
		}
		p.text = strings.ReplaceAll(lab.ReplaceAllString(p.text, `"/repo`), `"/repo`, `"`+project)
		all = append(all, p)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// plugin returns the payload that our plugin for OpenCode makes of what it is given.
func plugin(t testing.TB, data []byte, project string) string {
	t.Helper()
	var given struct {
		Input struct {
			Tool      string `json:"tool"`
			SessionID string `json:"sessionID"`
			CallID    string `json:"callID"`
		} `json:"input"`
		Output struct {
			Args json.RawMessage `json:"args"`
		} `json:"output"`
	}
	if err := json.Unmarshal(data, &given); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"opencode": hook.PluginUse{
		Tool: given.Input.Tool, Session: given.Input.SessionID, Use: given.Input.CallID, Args: given.Output.Args, Directory: project, Worktree: project,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// projectPolicy is that of the recorded payloads.
const projectPolicy = `
allow = ["Bash(touch:*)", "Bash(sleep:*)", "Write", "mcp__m__rw"]
ask = ["Bash(touch t1)"]
deny = ["Read(.env)", "mcp__m__del", "m_rw", "Bash(rm:*)"]
`

// What is recorded of hosts is read, decided and answered; the golden has each.
func TestPayloads(t *testing.T) {
	m := newMachine(t, projectPolicy)
	m.noSync = true
	var text strings.Builder
	count := 0
	for _, p := range payloads(t, m.project) {
		host := p.hostOf()
		if host == "" {
			continue
		}
		count++
		use, err := hook.Reads(hosts.Named(host), p.text)
		fmt.Fprintf(&text, "== %s\n", strings.TrimPrefix(p.name, "testdata/payloads/"))
		fmt.Fprintf(&text, "%s\n", strings.ReplaceAll(use, m.project, "/repo"))
		if err != nil {
			fmt.Fprintf(&text, "error: %v\n", err)
		}
		o := m.hears(t, host, p.text)
		fmt.Fprintf(&text, "> %d%s%s\n", o.Code, shown(" ", o.Stdout, m.project), shown(" ! ", o.Stderr, m.project))
	}
	if count < 130 {
		t.Errorf("only %d payloads", count)
	}
	golden.Check(t, "testdata/payloads.golden", text.String())
}

func shown(mark string, text []byte, project string) string {
	if len(text) == 0 {
		return ""
	}
	return mark + strings.ReplaceAll(strings.TrimRight(string(text), "\n"), project, "/repo")
}

// Whatever is sent to the hook of another host, or is no payload of a hook at all, does
// not run.
func TestOtherHosts(t *testing.T) {
	m := newMachine(t, `allow = ["Bash", "Read", "Edit", "Write"]`)
	m.noSync = true
	for _, p := range payloads(t, m.project) {
		for _, h := range hosts.All() {
			if h.Name == p.hostOf() {
				continue
			}
			if o := m.hears(t, h.Name, p.text); runs(h.Name, o) {
				t.Errorf("%s runs %s: %d %s%s", h.Name, p.name, o.Code, o.Stdout, o.Stderr)
			}
		}
	}
}

// What can be no payload of any host does not run in any of them.
func TestGarbage(t *testing.T) {
	m := newMachine(t, `allow = ["Bash"]`)
	m.noSync = true
	for _, text := range []string{
		"", " ", "null", "[]", "1", `"x"`, "{}", "{", `{"hook_event_name":"PreToolUse"}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":"ls"}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":[]}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","Session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls","command":"ls"}}`,
		`{"session_id":"","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","hook_event_name":"PreToolUsed","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}}`,
		`{"session_id":"s","hook_event_name":"PreToolUse","transcript_path":"/t","cwd":"/","tool_name":"Bash","tool_input":{"command":"ls"}} x`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 100_000), "\x00\x01\x02", "log line\n{}",
	} {
		for _, h := range hosts.All() {
			if o := m.hears(t, h.Name, text); runs(h.Name, o) {
				t.Errorf("%s runs %.100q: %d %s%s", h.Name, text, o.Code, o.Stdout, o.Stderr)
			}
		}
	}
}

// Every host is named once, and has what it is answered by.
func TestHosts(t *testing.T) {
	var names []string
	for _, h := range hosts.All() {
		names = append(names, h.Name)
		if h.Title == "" || h.Limit < 30e9 || h.Read == nil || h.Answer == nil || len(h.Tools) == 0 || len(h.Events) == 0 {
			t.Errorf("%s lacks something", h.Name)
		}
		if hosts.Named(h.Name) == nil {
			t.Errorf("%s is not found by its name", h.Name)
		}
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != 7 {
		t.Errorf("hosts: %q", names)
	}
	if hosts.Named("vscode") != nil {
		t.Error("a host that there is not is found")
	}
}

// sent is a payload of a host about a tool of its own.
func sent(host, project, tool, input string) string {
	switch host {
	case hook.Gemini:
		return fmt.Sprintf(`{"session_id":"s","transcript_path":"/t","cwd":%q,"hook_event_name":"BeforeTool","timestamp":"2026","tool_name":%q,"tool_input":%s}`, project, tool, input)
	case hook.Copilot:
		return fmt.Sprintf(`{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026","cwd":%q,"tool_name":%q,"tool_input":%s}`, project, tool, input)
	case hook.Codex:
		return fmt.Sprintf(`{"session_id":"s","turn_id":"t","model":"m","transcript_path":"/t","cwd":%q,"hook_event_name":"PreToolUse","tool_name":%q,"tool_input":%s}`, project, tool, input)
	}
	return fmt.Sprintf(`{"event":"PreToolUse","session_id":"s","cwd":%q,"tool_name":%q,"tool_input":%s}`, project, tool, input)
}

// A tool of a host that is in no table has no name of ours, and what is named twice, or
// may be anywhere, is not what it seems to be.
func TestForeignTools(t *testing.T) {
	for _, tt := range []struct{ host, tool, input, want string }{
		{hook.Gemini, "run_shell_command", `{"command":"ls","dir_path":"sub"}`, "Bash dir=/repo/sub"},
		{hook.Gemini, "run_shell_command", `{"command":"ls","dir_path":"/etc"}`, "Bash dir=/etc"},
		{hook.Gemini, "run_shell_command", `{"command":"ls","dir_path":"a/../../x"}`, "Bash dir="},
		{hook.Gemini, "run_shell_command", `{"command":"ls","dir_path":"~/x"}`, "Bash dir="},
		{hook.Gemini, "run_shell_command", `{"command":"ls","dir_path":1}`, "error"},
		{hook.Gemini, "run_shell_command", `{"command":"cat x","working_directory":"/etc"}`, "Bash dir="},
		{hook.Gemini, "glob", `{"pattern":"*","search_root":"/etc"}`, "gemini.glob dir=/repo"},
		{hook.Gemini, "grep_search", `{"pattern":"x","dir_path":"/etc","context":5}`, "Grep dir=/repo"},
		{hook.Crush, "ls", `{"paths":["/etc"]}`, "crush.ls dir=/repo"},
		{hook.Gemini, "Bash", `{"command":"ls"}`, "gemini.Bash dir=/repo"},
		{hook.Gemini, "TodoWrite", `{"todos":[]}`, "gemini.TodoWrite dir=/repo"},
		{hook.Gemini, "todowrite", `{"todos":[]}`, "gemini.todowrite dir=/repo"},
		{hook.Gemini, "mcp__m__x", `{}`, "gemini.mcp__m__x dir=/repo"},
		{hook.Gemini, "mcp_m_x", `{}`, "mcp_m_x dir=/repo"},
		{hook.Gemini, "activate_skill", `{"name":"a","skill":"b"}`, "error"},
		{hook.Gemini, "web_fetch", `{"prompt":"read https://a.example/x, and http://b.example."}`, "web_fetch dir=/repo"},
		{hook.Gemini, "web_fetch", `{"prompt":"read nothing"}`, "error"},
		{hook.Gemini, "web_fetch", `{"prompt":"https://a.example/x,https://evil.example"}`, "error"},
		{hook.Codex, "mcp__m__x", `{}`, "mcp__m__x dir=/repo"},
		{hook.Codex, "Read", `{}`, "codex.Read dir=/repo"},
		{hook.Codex, "apply_patch", `{"command":"rm"}`, "error"},
		{hook.Crush, "Bash", `{"command":"ls"}`, "crush.Bash dir=/repo"},
		{hook.Crush, "agent", `{"prompt":"x"}`, "crush.agent dir=/repo"},
		{hook.Crush, "lsp_references", `{}`, "lsp_references dir=/repo"},
		{hook.Copilot, "canary-mark", `{}`, "mcp__canary__mark dir=/repo"},
		{hook.Copilot, "canary-_mark", `{}`, "mcp__canary___mark dir=/repo"},
		{hook.Copilot, "a-b-mark", `{}`, "a-b-mark dir=/repo"}, // of a, or of a-b
		{hook.Copilot, "a__b-mark", `{}`, "a__b-mark dir=/repo"},
		{hook.Copilot, "a_-mark", `{}`, "a_-mark dir=/repo"},
		{hook.Copilot, "-mark", `{}`, "-mark dir=/repo"},
		{hook.Copilot, "canary-", `{}`, "canary- dir=/repo"},
		{hook.Copilot, "mcp__m-x", `{}`, "copilot.mcp__m-x dir=/repo"},
		{hook.Copilot, "nosuch", `{}`, "nosuch dir=/repo"},
	} {
		read, err := hook.Reads(hosts.Named(tt.host), sent(tt.host, "/repo", tt.tool, tt.input))
		got := "error"
		if err == nil {
			words := strings.Fields(read)
			got = words[2] + " " + words[slices.IndexFunc(words, func(w string) bool { return strings.HasPrefix(w, "dir=") })]
		}
		if got != tt.want {
			t.Errorf("%s %s %s: %s (%s, %v), want %s", tt.host, tt.tool, tt.input, got, read, err, tt.want)
		}
	}
}

// The rules for our tools meet those of a host, each of the files of a patch, and what a
// prompt fetches.
func TestRulesMeetHosts(t *testing.T) {
	m := newMachine(t, `
allow = ["Bash(go test:*)", "Edit(src/**)", "WebFetch(a.example)", "mcp__m"]
deny = ["Edit(secret/**)", "WebFetch(evil.example)", "mcp__m__del"]
`)
	m.noSync = true
	patch := func(files ...string) string {
		text := "*** Begin Patch\n"
		for _, file := range files {
			text += "*** Add File: " + file + "\n+x\n"
		}
		in, _ := json.Marshal(map[string]string{"command": text + "*** End Patch"})
		return string(in)
	}
	for _, tt := range []struct {
		host, tool, input string
		runs              bool
	}{
		{hook.Gemini, "run_shell_command", `{"command":"go test ./..."}`, true},
		{hook.Gemini, "run_shell_command", `{"command":"go test ./...; npm install x"}`, false},
		{hook.Codex, "Bash", `{"command":"go test ./..."}`, true},
		{hook.Codex, "apply_patch", patch("src/a.go"), true},
		{hook.Codex, "apply_patch", patch("src/a.go", "src/b/c.go"), true},
		{hook.Codex, "apply_patch", patch("src/a.go", "secret/key"), false},
		{hook.Codex, "apply_patch", patch("src/a.go", "other.go"), false},
		{hook.Codex, "apply_patch", patch("src/../secret/key"), false},
		{hook.Gemini, "web_fetch", `{"prompt":"https://a.example/x"}`, true},
		{hook.Gemini, "web_fetch", `{"prompt":"https://a.example/x and https://evil.example"}`, false},
		{hook.Gemini, "web_fetch", `{"prompt":"https://a.example/x","url":"https://evil.example"}`, false},
		{hook.Crush, "download", `{"url":"https://a.example/x","file_path":"src/x"}`, true},
		{hook.Crush, "download", `{"url":"https://a.example/x","file_path":".git/hooks/pre-commit"}`, false},
		{hook.Crush, "download", `{"url":"https://evil.example/x","file_path":"src/x"}`, false},
		{hook.Crush, "download", `{}`, false},
		{hook.Crush, "download", `{"timeout":1}`, false},
		{hook.Codex, "get_goal", `{}`, true},
		{hook.Codex, "get_goal", `{"more":"rm -rf x"}`, false},
		{hook.Crush, "write", `{"file_path":"src/x","content":""}`, true},
		{hook.Crush, "write", `{"file_path":"secret/x","content":""}`, false},
		{hook.Copilot, "m-rw", `{}`, true},
		{hook.Copilot, "m-del", `{}`, false},
		{hook.Copilot, "m-x-rw", `{}`, false},
	} {
		if o := m.hears(t, tt.host, sent(tt.host, m.project, tt.tool, tt.input)); runs(tt.host, o) != tt.runs {
			t.Errorf("%s %s %s: %d %s%s", tt.host, tt.tool, tt.input, o.Code, o.Stdout, o.Stderr)
		}
	}
}

// TestShellOfHosts: what a line leaves for the next one runs unasked only where a host is
// known to start a shell for each line.
func TestShellOfHosts(t *testing.T) {
	m := newMachine(t, `mode = "dontAsk"`)
	m.noSync = true
	for _, tt := range []struct {
		host, tool string
		own        bool
	}{
		{hook.Gemini, "run_shell_command", true}, {hook.Codex, "Bash", false}, {hook.Copilot, "bash", false}, {hook.Crush, "bash", false},
	} {
		if hosts.Named(tt.host).OwnShell != tt.own {
			t.Errorf("%s: has a shell for each line: %v", tt.host, !tt.own)
		}
		for line, want := range map[string]bool{"export GOCACHEPROG=./x": tt.own, "f() { ls; }": tt.own, "export TZ=UTC": true, "cd src": true} {
			input, _ := json.Marshal(map[string]string{"command": line})
			if o := m.hears(t, tt.host, sent(tt.host, m.project, tt.tool, string(input))); runs(tt.host, o) != want {
				t.Errorf("%s: %s: %d %s%s", tt.host, line, o.Code, o.Stdout, o.Stderr)
			}
		}
	}
}

// An allowed command of Codex gets no standard input: the model could type into it.
func TestCodexCloses(t *testing.T) {
	m := newMachine(t, `allow = ["Bash(bash --norc)"]`)
	o := m.hears(t, hook.Codex, sent(hook.Codex, m.project, "Bash", `{"command":"bash --norc"}`))
	want := `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"exec \u003c/dev/null\nbash --norc"}}}` + "\n"
	if string(o.Stdout) != want || o.Code != 0 {
		t.Errorf("%d %s%s", o.Code, o.Stdout, o.Stderr)
	}
}

// silent is an input that does not come.
type silent struct{ ctx context.Context }

func (s silent) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// A hook whose payload does not come ends with a denial, and so does one that panics.
func TestLate(t *testing.T) {
	for _, h := range hosts.All() {
		var out, errs bytes.Buffer
		code := hook.Main(t.Context(), hook.Options{Host: h, Env: func(string) string { return "" }, Limit: 20 * time.Millisecond}, silent{t.Context()}, &out, &errs)
		if o := (hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}); runs(h.Name, o) {
			t.Errorf("%s: %+v", h.Name, o)
		}
		broken := *h
		broken.Read = func(*hook.Payload, func(string) string) (*hook.Event, error) { panic("broken") }
		out.Reset()
		errs.Reset()
		m := newMachine(t, "")
		code = hook.Main(t.Context(), hook.Options{Host: &broken, Dir: m.project, Env: func(string) string { return "" }}, strings.NewReader(first(t, h.Name, m.project)), &out, &errs)
		if o := (hook.Output{Stdout: out.Bytes(), Stderr: errs.Bytes(), Code: code}); runs(h.Name, o) || !strings.Contains(errs.String(), "internal error") {
			t.Errorf("%s: %d %s%s", h.Name, code, out.String(), errs.String())
		}
	}
}

// first returns a recorded payload of a host.
func first(t *testing.T, host, project string) string {
	t.Helper()
	for _, p := range payloads(t, project) {
		if p.hostOf() == host && !strings.Contains(p.name, "ermission") {
			return p.text
		}
	}
	t.Fatalf("%s has no payload", host)
	return ""
}
