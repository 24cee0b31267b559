package install

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
)

// fakeCodex is an app-server: what it says of the hook, and what it was told.
type fakeCodex struct {
	io.Reader // what the server writes
	io.Writer // what it reads
}

func (f *fakeCodex) Close() error { return nil }

// codexThat returns a machine whose codex answers with a function: the result of a
// method, or an error.
func codexThat(t *testing.T, answer func(method string, params json.RawMessage) (any, error)) *Machine {
	t.Helper()
	m := testMachine(t)
	m.LookPath = func(name string) (string, error) { return "/bin/" + name, nil }
	m.Codex = func(context.Context, string) (io.ReadWriteCloser, error) {
		toServer, fromClient := io.Pipe()
		toClient, fromServer := io.Pipe()
		t.Cleanup(func() { fromClient.Close(); toClient.Close() })
		go serveCodex(toServer, fromServer, answer)
		return &fakeCodex{Reader: toClient, Writer: fromClient}, nil
	}
	return m
}

func serveCodex(in io.Reader, out *io.PipeWriter, answer func(string, json.RawMessage) (any, error)) {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var call struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(lines.Bytes(), &call) != nil || call.ID == 0 {
			continue
		}
		result, err := answer(call.Method, call.Params)
		switch {
		case errors.Is(err, io.EOF):
			out.Close()
			return
		case err != nil:
			fmt.Fprintf(out, "{\"id\":%d,\"error\":{\"message\":%q}}\n", call.ID, err)
		default:
			fmt.Fprintf(out, "{\"method\":\"some/notification\"}\nnot JSON\n{\"id\":%d,\"result\":%s}\n", call.ID, encode(result))
		}
	}
}

// hookList is an answer to hooks/list with one hook.
func hookList(m *Machine, status string) any {
	h := codexHook{
		Key: filepath.Join(m.Home, ".codex", "hooks.json") + ":pre_tool_use:0:0", Command: entry.Guard(testBinary, "codex", entry.Guarded),
		SourcePath: filepath.Join(m.Home, ".codex", "hooks.json"), CurrentHash: "sha256:abc", TrustStatus: status,
	}
	foreign := codexHook{Key: "other", Command: "/opt/other", CurrentHash: "sha256:def", TrustStatus: "untrusted"}
	return map[string]any{"data": []any{map[string]any{"cwd": m.Home, "hooks": []codexHook{foreign, h}}}}
}

// TestTrust: the hash that codex says is the one that is stored, for our hook only.
func TestTrust(t *testing.T) {
	t.Parallel()
	var m *Machine
	status, written := "untrusted", ""
	m = codexThat(t, func(method string, params json.RawMessage) (any, error) {
		switch method {
		case "hooks/list":
			return hookList(m, status), nil
		case "config/batchWrite":
			status, written = "trusted", string(params)
			return map[string]any{"status": "ok"}, nil
		}
		return map[string]any{}, nil
	})
	p := m.install(t, "codex", User, Options{})
	if done, err := p.Trust(t.Context()); !done || err != nil {
		t.Fatal(done, err)
	}
	want := `{"edits":[{"keyPath":"hooks.state","mergeStrategy":"upsert","value":{"` + m.Home + `/.codex/hooks.json:pre_tool_use:0:0":{"trusted_hash":"sha256:abc"}}}],"reloadUserConfig":true}`
	if written != want {
		t.Errorf("%s\nwant\n%s", written, want)
	}
	written = ""
	if done, err := p.Trust(t.Context()); done || err != nil || written != "" {
		t.Errorf("the second time: %v, %v, %s", done, err, written)
	}
	for _, other := range []*Plan{m.install(t, "claude", User, Options{}), m.install(t, "codex", Managed, Options{}), m.uninstall(t, "codex", User)} {
		if done, err := other.Trust(t.Context()); done || err != nil || written != "" {
			t.Errorf("%s %s: %v, %v", other.Host, other.Scope, done, err)
		}
	}
}

// TestNoTrust: whatever goes wrong, the error says how to trust by hand.
func TestNoTrust(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(m *Machine, method string) (any, error){
		"ends":          func(*Machine, string) (any, error) { return nil, io.EOF },
		"refuses":       func(*Machine, string) (any, error) { return nil, errors.New("unknown method") },
		"lists nothing": func(*Machine, string) (any, error) { return map[string]any{}, nil },
		"does not store": func(m *Machine, method string) (any, error) {
			if method == "hooks/list" {
				return hookList(m, "untrusted"), nil
			}
			return map[string]any{"status": "ok"}, nil
		},
		"says not ok": func(m *Machine, method string) (any, error) {
			if method == "hooks/list" {
				return hookList(m, "modified"), nil
			}
			return map[string]any{"status": "okOverridden"}, nil
		},
		"odd result": func(*Machine, string) (any, error) { return 1, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var m *Machine
			m = codexThat(t, func(method string, _ json.RawMessage) (any, error) { return answer(m, method) })
			p := m.install(t, "codex", User, Options{})
			if done, err := p.Trust(t.Context()); done || !errors.Is(err, errNotTrusted) || !strings.Contains(err.Error(), "2, Trust all and continue") {
				t.Errorf("%v, %v", done, err)
			}
		})
	}
}

// TestTrustStarts: codex that is not there, or cannot be started.
func TestTrustStarts(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	p := m.install(t, "codex", User, Options{})
	if _, err := p.Trust(t.Context()); !errors.Is(err, errNotTrusted) || !strings.Contains(err.Error(), "no program codex on PATH") {
		t.Error(err)
	}
	m.LookPath = func(string) (string, error) { return filepath.Join(m.Home, "none"), nil }
	if _, err := p.Trust(t.Context()); !errors.Is(err, errNotTrusted) {
		t.Error(err)
	}
	program := filepath.Join(m.Home, "codex")
	script(t, program, `[ "$1" = app-server ] && read line && echo "$line" >"$0.in"; echo '{"id":1,"error":{"code":-1}}'`)
	m.LookPath = func(string) (string, error) { return program, nil }
	if _, err := p.Trust(t.Context()); !errors.Is(err, errNotTrusted) || !strings.Contains(err.Error(), `initialize: {"code":-1}`) {
		t.Error(err)
	}
	if text := contentsOf(t, program+".in"); !strings.Contains(text, `"method":"initialize"`) || strings.Contains(text, "jsonrpc") {
		t.Error(text)
	}
}
