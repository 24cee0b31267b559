package hook_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/audit"
	"github.com/agent-wrapper/agent-wrapper/engine"
	"github.com/agent-wrapper/agent-wrapper/hook"
	"github.com/agent-wrapper/agent-wrapper/hook/hosts"
	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

// machine is a person's machine with one project, whose policy is the user's.
type machine struct {
	project, state, user string
	env                  map[string]string
	noSync               bool
	ask                  func(*engine.Engine, func(string)) (hook.Asker, error)
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
