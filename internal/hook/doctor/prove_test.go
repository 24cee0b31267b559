package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/slow"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
)

// roleVar makes the test binary play a host.
const roleVar = "AW_DOCTOR_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVar) == "host" {
		if err := playHost(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// testBox makes a box for a person without configuration.
func testBox(t *testing.T, s state) *box {
	t.Helper()
	b, err := newBox(&Machine{Home: t.TempDir(), Dir: t.TempDir()}, s, patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(b.dir) })
	return b
}

// runWith runs a program with an input and returns its output.
func runWith(t *testing.T, in string, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(in)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v: %s", command, err, out)
	}
	return string(out)
}

// person makes a person who has a host that is played, and this hook in its settings:
// "" for none. The words @PROGRAM@ in it are the path of a program, whose text is given.
func person(t *testing.T, settings, program string) *Machine {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir+"/hosts/claude", "#!/bin/sh\n"+roleVar+"=host exec "+shellword.Single(self)+" \"$@\"\n")
	put(t, dir+"/prog/agent-wrapper", program)
	put(t, dir+"/home/.claude/settings.json", strings.ReplaceAll(settings, "@PROGRAM@", dir+"/prog/agent-wrapper"))
	return &Machine{Home: dir + "/home", Dir: t.TempDir(), Root: dir + "/root", Env: []string{"PATH=" + dir + "/hosts:" + os.Getenv("PATH"), "ANTHROPIC_API_KEY=real", "SECRET=x", "AWS_PROFILE=y"}}
}

const (
	hookBlock    = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"@PROGRAM@","args":["hook","claude"],"timeout":600,"onFailure":"block"}]}]}}`
	hookContinue = `{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"@PROGRAM@","args":["hook","claude"],"timeout":600}]}]}}`
)

func standIn(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/stand-in.sh")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// proved runs a proof and returns the outcome and the mark of each canary and state.
func proved(t *testing.T, m *Machine, only ...string) map[string]string {
	t.Helper()
	p := &Proof{Machine: *m, Hosts: []string{"claude"}, Limit: 30 * time.Second, patience: 300 * time.Millisecond, only: only, Tell: func(line string) { t.Log(line) }}
	results, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range results {
		if r.Why != "" {
			t.Logf("%s, %s: %s: %s", r.Canary, r.Hook, r.Outcome, r.Why)
		}
		got[r.Canary+", "+r.Hook] = string(r.Outcome) + ", " + string(r.Mark)
	}
	return got
}

// expect checks the outcomes of canaries for each state.
func expect(t *testing.T, got map[string]string, want map[state]string, of ...string) {
	t.Helper()
	if len(got) != len(of)*len(states()) {
		t.Errorf("%d results", len(got))
	}
	for _, c := range of {
		for s, outcome := range want {
			if key := c + ", " + string(s); got[key] != outcome {
				t.Errorf("%s: %q, want %q", key, got[key], outcome)
			}
		}
	}
}

// TestProveOpen: a hook that allows everything, none at all, and one that others stop
// the tools for, are found out.
func TestProveOpen(t *testing.T) {
	slow.Test(t)
	t.Run("allows everything", func(t *testing.T) {
		m := person(t, hookBlock, "#!/bin/sh\necho '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'\n")
		expect(t, proved(t, m, byShell, bySubagent), map[state]string{allowing: "got through, ok", answering: "RAN, red", killed: "stopped, ok"}, byShell, bySubagent)
	})
	t.Run("none", func(t *testing.T) {
		expect(t, proved(t, person(t, `{}`, "")), map[state]string{
			answering: "RAN, red", allowing: "not run, warn", killed: "not run, warn",
		}, canaries()...)
	})
	t.Run("denies everything", func(t *testing.T) {
		m := person(t, hookBlock, "#!/bin/sh\necho '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"deny\",\"permissionDecisionReason\":\"no\"}}'\n")
		got := proved(t, m, byShell)
		for s, want := range map[state]string{allowing: "not run, red", answering: "not proven, red", killed: "not proven, warn"} {
			if key := "shell, " + string(s); got[key] != want {
				t.Errorf("%s: %q, want %q", key, got[key], want)
			}
		}
	})
	t.Run("fails open", func(t *testing.T) {
		expect(t, proved(t, person(t, hookContinue, standIn(t))), map[state]string{
			allowing: "got through, ok", answering: "stopped, ok",
			killed: "RAN, red", hanging: "RAN, red", missing: "RAN, red", failing: "RAN, red", garbage: "RAN, warn",
		}, canaries()...)
	})
	t.Run("switched off by the repository", func(t *testing.T) {
		m := person(t, hookBlock, standIn(t))
		put(t, m.Dir+"/.claude/settings.json", `{"disableAllHooks":true}`)
		expect(t, proved(t, m, byShell), map[state]string{answering: "RAN, red", missing: "RAN, red"}, byShell)
	})
}

func TestProve(t *testing.T) {
	slow.Test(t)
	m := person(t, hookBlock, standIn(t))
	before := listed(t, m.Home)
	expect(t, proved(t, m), map[state]string{
		allowing: "got through, ok", answering: "stopped, ok",
		killed: "stopped, ok", hanging: "stopped, ok", missing: "stopped, ok", failing: "stopped, ok", garbage: "RAN, warn",
	}, canaries()...)
	if after := listed(t, m.Home); after != before {
		t.Errorf("the person's files: %s, before %s", after, before)
	}
}

// A hook in the settings of the machine is tried as it is.
func TestProveManaged(t *testing.T) {
	m := person(t, `{}`, standIn(t))
	put(t, m.Root+"/etc/claude-code/managed-settings.json", strings.ReplaceAll(hookBlock, "@PROGRAM@", "/usr/bin/agent-wrapper"))
	got := proved(t, m, byShell)
	if got["shell, "+string(answering)] != "RAN, red" || got["shell, "+string(killed)] != "not run, warn" {
		t.Errorf("%v", got) // the host that is played does not read them
	}
}

// TestProveHostFails: a host that does not come to a call proves nothing.
func TestProveHostFails(t *testing.T) {
	m := person(t, hookBlock, standIn(t))
	put(t, strings.Split(m.variable("PATH"), ":")[0]+"/claude", "#!/bin/sh\necho 'no such model' >&2\nexit 3\n")
	expect(t, proved(t, m, byShell), map[state]string{allowing: "not run, red", answering: "not run, warn", killed: "not run, warn"}, byShell)
}

func TestDriveLimit(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	if said := drive(context.Background(), exec.Command(sleep, "60"), 50*time.Millisecond); !strings.Contains(said, "longer than") {
		t.Errorf("%q", said)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if said := drive(ctx, exec.Command(sleep, "60"), time.Minute); said != "interrupted" {
		t.Errorf("%q", said)
	}
	if said := drive(context.Background(), exec.Command(sleep), time.Minute); !strings.HasPrefix(said, "exit status") {
		t.Errorf("%q", said)
	}
}

// listed returns the files below a directory with their contents.
func listed(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, _ := os.ReadFile(path)
			fmt.Fprintf(&out, "%s %s\n", path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// played is a host that behaves as was measured of Claude Code 2.1.330: it asks the
// model, calls the hook before each tool, and runs what is not stopped.
type played struct {
	url  string
	hook struct {
		Command   string
		Args      []string
		Timeout   float64
		OnFailure string
	}
	off bool
}

func playHost(args []string) error {
	if len(args) == 1 {
		fmt.Println("0.0.0 (played)")
		return nil
	}
	for _, name := range []string{"SECRET", "AWS_PROFILE"} {
		if os.Getenv(name) != "" {
			return errors.New(name + " came with the person's environment")
		}
	}
	if os.Getenv("ANTHROPIC_API_KEY") != "dummy-key" {
		return errors.New("this is a real key")
	}
	h := &played{url: os.Getenv("ANTHROPIC_BASE_URL")}
	for _, name := range []string{".claude/settings.json", os.Getenv("HOME") + "/.claude/settings.json"} {
		var settings struct {
			DisableAllHooks bool
			Hooks           struct {
				PreToolUse []struct{ Hooks []json.RawMessage }
			}
		}
		if data, err := os.ReadFile(name); err == nil {
			if err := json.Unmarshal(data, &settings); err != nil {
				return err
			}
		}
		h.off = h.off || settings.DisableAllHooks
		if groups := settings.Hooks.PreToolUse; len(groups) > 0 {
			if err := json.Unmarshal(groups[0].Hooks[0], &h.hook); err != nil {
				return err
			}
		}
	}
	return h.talk(args[1])
}

// talk has a conversation with the model.
func (h *played) talk(prompt string) error {
	messages := []any{object{"role": "user", "content": prompt}}
	for {
		body := encode(object{"model": "m", "tools": []any{object{"name": "Bash"}}, "messages": messages})
		res, err := http.Post(h.url+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			return err
		}
		data, err := io.ReadAll(res.Body)
		res.Body.Close()
		var answer struct {
			Content []struct {
				Type, ID, Name string
				Input          map[string]any
			}
		}
		if err := errors.Join(err, json.Unmarshal(data, &answer)); err != nil {
			return err
		}
		use := answer.Content[0]
		if use.Type != "tool_use" {
			return nil
		}
		result := h.use(use.Name, use.Input)
		messages = append(messages, object{"role": "assistant", "content": answer.Content},
			object{"role": "user", "content": []any{object{"type": "tool_result", "tool_use_id": use.ID, "content": result}}})
	}
}

// use calls the hook and runs a tool, and returns what the model is told.
func (h *played) use(tool string, input map[string]any) string {
	if words := h.stopped(tool, input); words != "" {
		return words
	}
	var err error
	switch tool {
	case "Bash":
		err = exec.Command("sh", "-c", fmt.Sprint(input["command"])).Run()
	case "Write":
		err = os.WriteFile(fmt.Sprint(input["file_path"]), nil, 0o600)
	case "Agent":
		err = h.talk(fmt.Sprint(input["prompt"]))
	default:
		err = callServer()
	}
	return fmt.Sprint("done ", err)
}

// stopped calls the hook and returns why a tool does not run, "" if it does.
func (h *played) stopped(tool string, input map[string]any) string {
	if h.off || h.hook.Command == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(h.hook.Timeout*float64(time.Second)))
	defer cancel()
	cmd := exec.CommandContext(ctx, h.hook.Command, h.hook.Args...)
	cmd.Stdin = strings.NewReader(encode(object{"tool_name": tool, "tool_input": input}))
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil && h.hook.OnFailure == "block" {
		return "failed; blocking because onFailure is \"block\""
	}
	var answer struct {
		HookSpecificOutput struct{ PermissionDecision, PermissionDecisionReason string }
	}
	if json.Unmarshal(out.Bytes(), &answer) == nil && answer.HookSpecificOutput.PermissionDecision == "deny" {
		return "hook error: " + answer.HookSpecificOutput.PermissionDecisionReason
	}
	return ""
}

// callServer calls the tool of the MCP server.
func callServer() error {
	var config struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	data, err := os.ReadFile("../mcp.json")
	if err := errors.Join(err, json.Unmarshal(data, &config)); err != nil {
		return err
	}
	s := config.MCPServers["canary"]
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Stdin = strings.NewReader(`{"method":"tools/call","jsonrpc":"2.0","id":1}` + "\n")
	return cmd.Run()
}
