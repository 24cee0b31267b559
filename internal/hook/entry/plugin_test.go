package entry

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
)

// driver loads the plugin as OpenCode does and runs one hook. It prints the arguments
// that the tool would run with, or what was thrown.
const driver = `
const plugin = await import(process.argv[2])
const names = Object.keys(plugin)
const hooks = await plugin[names[0]]({ directory: "/repo", worktree: "/" })
const output = { args: JSON.parse(process.argv[3]) }
const given = output.args
try {
  await hooks["tool.execute.before"]({ tool: "bash", sessionID: "ses_1", callID: "call_1" }, output)
  console.log(JSON.stringify({ exports: names, runs: given, same: given === output.args, pure: Object.getPrototypeOf(given) === Object.prototype }))
} catch (err) {
  console.log(JSON.stringify({ exports: names, thrown: err.message, is: err instanceof Error }))
}
`

// write writes a file.
func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// pluginResult is what the driver prints.
type pluginResult struct {
	Exports  []string
	Runs     map[string]any
	Same     bool
	Pure     bool
	Thrown   string
	Is       bool
	question string // what the hook was asked
}

// runPlugin runs the plugin with a hook that is a script.
func runPlugin(t *testing.T, hook string) (r pluginResult) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("there is no node")
	}
	if err != nil {
		t.Skip("there is no node")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "it's \"odd\"", "agent-wrapper")
	if hook != "" {
		script(t, binary, hook)
	}
	write(t, filepath.Join(dir, "agent-wrapper.mjs"), Plugin(binary, Limit))
	write(t, filepath.Join(dir, "driver.mjs"), driver)
	cmd := exec.CommandContext(t.Context(), node, filepath.Join(dir, "driver.mjs"), filepath.Join(dir, "agent-wrapper.mjs"), `{"command":"ls","timeout":5}`)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	question, _ := os.ReadFile(filepath.Join(dir, "question"))
	r.question = string(question)
	return r
}

// TestPluginAllows: a tool runs, with the arguments that came back.
func TestPluginAllows(t *testing.T) {
	t.Parallel()
	r := runPlugin(t, `[ "$*" = 'hook opencode' ] && cat > question && echo '{"decision":"allow"}'`)
	if r.Thrown != "" || r.Runs["command"] != "ls" || len(r.Exports) != 1 {
		t.Errorf("%+v", r)
	}
	if want := `{"opencode":{"tool":"bash","sessionID":"ses_1","callID":"call_1","args":{"command":"ls","timeout":5},"directory":"/repo","worktree":"/"}}` + "\n"; r.question != want {
		t.Errorf("the question is %s", r.question)
	}
	r = runPlugin(t, `echo '{"decision":"allow","args":{"command":"ls -l","__proto__":{"x":1}},"more":1}'`)
	if r.Thrown != "" || r.Runs["command"] != "ls -l" || r.Runs["timeout"] != nil || !r.Same || !r.Pure {
		t.Errorf("%+v", r)
	}
	r = runPlugin(t, `echo '{"decision":"allow","args":{}}'`)
	if r.Thrown != "" || len(r.Runs) != 0 || !r.Same {
		t.Errorf("%+v", r)
	}
}

// TestPluginThrows: everything else throws, and the words of the hook are those of the
// error.
func TestPluginThrows(t *testing.T) {
	slow.Test(t)
	t.Parallel()
	for hook, want := range map[string]string{
		"":                                        "cannot be started",
		`cat >/dev/null; echo no >&2; exit 2`:     "no",
		`exit 1`:                                  "exit code 1",
		`exit 127`:                                "exit code 127",
		`kill -9 $$`:                              "SIGKILL",
		`echo '{"decision":"allow"}'; exit 3`:     "exit code 3",
		`echo '{"decision":"allow"}'; kill $$`:    "SIGTERM",
		`exit 0`:                                  "no usable answer",
		`echo allow`:                              "no usable answer",
		`echo '{"decision":"allow"'`:              "no usable answer",
		`echo x; echo '{"decision":"allow"}'`:     "no usable answer",
		`echo '[{"decision":"allow"}]'`:           "did not allow",
		`echo '"allow"'`:                          "did not allow",
		`echo null`:                               "did not allow",
		`echo '{"decision":"deny"}'`:              "did not allow",
		`echo '{"decision":"ask"}'`:               "did not allow",
		`echo '{"decision":"Allow"}'`:             "did not allow",
		`echo '{"decision":["allow"]}'`:           "did not allow",
		`echo '{}'`:                               "did not allow",
		`echo '{"decision":"allow","args":1}'`:    "no usable arguments",
		`echo '{"decision":"allow","args":[]}'`:   "no usable arguments",
		`echo '{"decision":"allow","args":null}'`: "no usable arguments",
	} {
		r := runPlugin(t, hook)
		if !strings.Contains(r.Thrown, want) || !r.Is || r.Runs != nil {
			t.Errorf("%s: %+v, want %q", hook, r, want)
		}
	}
}

// TestOfPlugin: our plugin is known, with its binary.
func TestOfPlugin(t *testing.T) {
	t.Parallel()
	if binary, ok := OfPlugin([]byte(Plugin(`/a "b"`, Limit))); !ok || binary != `/a "b"` {
		t.Error(binary, ok)
	}
	if _, ok := OfPlugin([]byte("// mine\n" + Plugin("/a", Limit))); ok {
		t.Error("somebody else's is ours")
	}
}
