//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agent-wrapper/agent-wrapper/internal/ask/approval"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/broker"
	"github.com/agent-wrapper/agent-wrapper/internal/ask/desk"
	"github.com/agent-wrapper/agent-wrapper/internal/test/screen"
)

// hooked prepares a box in which the agent CLI, started by a person, asks our hook.
func (b *box) hooked(t testing.TB, policy string) {
	t.Helper()
	entry := func(more in) []any {
		h := in{"type": "command", "command": binary(t), "args": []string{"hook", "claude"}, "timeout": 600}
		for key, value := range more {
			h[key] = value
		}
		return []any{in{"hooks": []any{h}}}
	}
	block := in{"onFailure": "block"}
	hooks := in{}
	for _, event := range []string{"PreToolUse", "ConfigChange", "UserPromptExpansion"} {
		hooks[event] = entry(block)
	}
	for _, event := range []string{"PermissionRequest", "PostToolUse", "PostToolUseFailure", "PermissionDenied", "UserPromptSubmit", "SessionEnd"} {
		hooks[event] = entry(nil)
	}
	settings, err := json.Marshal(in{"hooks": hooks, "permissions": in{"disableAutoMode": "disable", "defaultMode": "default"}})
	if err != nil {
		t.Fatal(err)
	}
	b.write("home/.claude/settings.json", string(settings))
	global, err := json.Marshal(in{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": in{"approved": []string{"dummy-key"}},
		"projects": in{b.Work: in{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	b.write("home/.claude.json", string(global))
	b.write("home/.config/agent-wrapper/agent-wrapper.toml", policy)
}

// servesMarks gives the person of a hooked box an MCP server.
func (b *box) servesMarks(t testing.TB) {
	t.Helper()
	var global, servers in
	for path, into := range map[string]*in{b.Home + "/.claude.json": &global, b.mcpConfig(): &servers} {
		data, err := os.ReadFile(path)
		if err == nil {
			err = json.Unmarshal(data, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	global["mcpServers"] = servers["mcpServers"]
	b.write("home/.claude.json", marshal(global))
}

// window is the agent CLI in its own window, with a person before it.
type window struct {
	t    testing.TB
	tty  *os.File
	cmd  *exec.Cmd
	mu   sync.Mutex
	seen *screen.Terminal
	over bool
}

// opens starts the agent CLI in a window.
func (b *box) opens(t testing.TB, r release, m *model, args ...string) *window {
	t.Helper()
	cmd := exec.Command(r.Path, args...)
	cmd.Dir = b.Work
	cmd.Env = append(b.env("ANTHROPIC_BASE_URL="+m.URL), "TERM=xterm-256color")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 120})
	if err != nil {
		t.Fatal(err)
	}
	w := &window{t: t, tty: tty, cmd: cmd, seen: screen.New(120, 40)}
	t.Cleanup(func() {
		cmd.Process.Kill()
		tty.Close()
		cmd.Wait()
	})
	go w.watch()
	return w
}

func (w *window) watch() {
	buf := make([]byte, 1<<16)
	for {
		n, err := w.tty.Read(buf)
		w.mu.Lock()
		w.seen.Write(buf[:n])
		w.over = err != nil
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (w *window) shows() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return screen.Text(w.seen.Shown())
}

// sees waits until the window shows texts.
func (w *window) sees(texts ...string) string {
	w.t.Helper()
	var text string
	all := func() bool {
		text = w.shows()
		for _, want := range texts {
			if !strings.Contains(text, want) {
				return false
			}
		}
		return true
	}
	if !until(60*time.Second, all) {
		w.t.Fatalf("%q was not seen:\n%s", texts, text)
	}
	return text
}

func (w *window) types(text string) {
	w.t.Helper()
	if _, err := w.tty.WriteString(text); err != nil {
		w.t.Fatal(err)
	}
}

// says sends a message to the agent.
func (w *window) says(text string) {
	w.t.Helper()
	w.sees("❯")
	w.types(text)
	w.sees(text)
	w.types("\r")
}

// TestHookInWindow: in an ordinary session of a person, what the policy allows runs
// without a question, what it asks is asked in the agent's own dialog with our reason,
// and what it denies is told to the model in our words.
func TestHookInWindow(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.hooked(t, "allow = [\"Bash(touch allowed)\", \"Skill(medlar)\", \"mcp__marks__poke\"]\nask = [\"Bash(touch asked*)\"]\ndeny = [\"Bash(touch denied)\", \"mcp__marks__peek\"]\n")
		b.write("repo/CLAUDE.md", "the word of this project is quince\n")
		b.write("repo/.claude/skills/medlar/SKILL.md", "---\nname: medlar\ndescription: for medlars\n---\nthe text of the skill is bletted\n")
		b.servesMarks(t)
		m := startModel(t, script{
			"go": {
				{{Name: "one", Tool: "Bash", Input: in{"command": "touch allowed", "description": "d"}}},
				{{Name: "two", Tool: "Bash", Input: in{"command": "touch denied", "description": "d"}}},
				{{Name: "skill", Tool: "Skill", Input: in{"skill": "medlar"}}},
				{{Name: "poke", Tool: "mcp__marks__poke", Input: in{"mark": "poked"}}},
				{{Name: "peek", Tool: "mcp__marks__peek", Input: in{"mark": "peeked"}}},
				{{Name: "three", Tool: "Bash", Input: in{"command": "touch asked", "description": "d"}}},
				{{Name: "four", Tool: "Bash", Input: in{"command": "touch asked-too", "description": "d"}}},
			},
		})
		w := b.opens(t, r, m)
		w.says("[[go]]")
		text := w.sees("asked by rule Bash(touch asked*)", "Do you want to proceed?")
		t.Log("\n" + text)
		if !b.has("repo/allowed") || b.has("repo/denied") || b.has("repo/asked") {
			t.Errorf("allowed %v, denied %v, asked %v", b.has("repo/allowed"), b.has("repo/denied"), b.has("repo/asked"))
		}
		w.types("1")
		if !until(60*time.Second, func() bool { return b.has("repo/asked") }) {
			t.Fatalf("what was approved did not run:\n%s", w.shows())
		}
		w.sees("touch asked-too", "Do you want to proceed?")
		w.types("\x1b")
		until(20*time.Second, func() bool { _, back := m.result("three"); return back })
		if res, back := m.result("two"); !back || !res.Error || !strings.Contains(res.Text, "agent-wrapper: Denied: denied by rule Bash(touch denied)") {
			t.Errorf("the model was told %q", res.Text)
		}
		if b.has("repo/asked-too") {
			t.Error("what was refused has run")
		}
		if !m.heard("quince") {
			t.Error("CLAUDE.md did not reach the model")
		}
		if !m.heard("for medlars") || !m.heard("the text of the skill is bletted") {
			t.Error("the skill is not there, or did not run")
		}
		if !b.has("marks/poked") || b.has("marks/peeked") {
			t.Errorf("the MCP server: poked %v, peeked %v", b.has("marks/poked"), b.has("marks/peeked"))
		}
		if res, _ := m.result("peek"); !strings.Contains(res.Text, "denied by rule mcp__marks__peek") {
			t.Errorf("of a denied tool of the MCP server the model was told %q", res.Text)
		}
	})
}

// headless runs the agent CLI without a window on a message.
func (b *box) headless(t testing.TB, r release, m *model, message string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(r.Path, "-p", "--output-format", "stream-json", "--verbose", message)
	cmd.Dir = b.Work
	cmd.Env = b.env("ANTHROPIC_BASE_URL=" + m.URL)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

// approvals runs agent-wrapper approvals as the person of the box.
func (b *box) approvals(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(binary(t), append([]string{"approvals"}, args...)...)
	cmd.Dir, cmd.Env = b.Dir, b.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("approvals %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// TestHookHolds: where the agent has no window, a question waits for an answer from
// another terminal; a subagent's too. The agent itself cannot answer.
func TestHookHolds(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.hooked(t, "allow = [\"Bash("+binary(t)+" approvals:*)\"]\nask = [\"Bash(touch:*)\"]\n")
		m := startModel(t, script{
			"go": {
				{{Name: "one", Tool: "Bash", Input: in{"command": "touch one", "description": "d"}}},
				{{Name: "two", Tool: "Bash", Input: in{"command": "touch two", "description": "d"}}},
				{{Name: "sub", Tool: "Agent", Input: in{"description": "d", "prompt": "[[sub]]", "subagent_type": "general-purpose"}}},
			},
			"sub": {{{Name: "three", Tool: "Bash", Input: in{"command": "touch three", "description": "d"}}}},
		})
		cmd := b.headless(t, r, m, "[[go]]")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for _, answer := range [][]string{{"one", "allow"}, {"two", "deny"}, {"three", "allow"}} {
			id := ""
			found := until(60*time.Second, func() bool {
				for line := range strings.Lines(b.approvals(t)) {
					if strings.Contains(line, "touch "+answer[0]) {
						id = strings.Fields(line)[0]
					}
				}
				return id != ""
			})
			if !found {
				t.Fatalf("%s is not asked:\n%s\n%s", answer[0], b.approvals(t), out.String())
			}
			b.approvals(t, answer[1], id)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
		for name, want := range map[string]bool{"one": true, "two": false, "three": true} {
			if b.has("repo/"+name) != want {
				t.Errorf("%s has run: %v\n%s", name, !want, out.String())
			}
		}
	})
}

// TestHookInline: what a command of the person's runs before the model sees it is
// decided, too.
func TestHookInline(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.hooked(t, "allow = [\"Bash(touch allowed)\"]\ndeny = [\"Bash(touch denied)\"]\n")
		for _, name := range []string{"allowed", "denied"} {
			b.write("repo/.claude/commands/"+name+".md", "---\nallowed-tools: Bash(touch:*)\n---\n!`touch "+name+"`\nthe text of "+name+"\n")
			m := startModel(t, script{})
			out, _ := b.headless(t, r, m, "/"+name).CombinedOutput()
			if ran := b.has("repo/" + name); ran != (name == "allowed") || m.heard("the text of "+name) != ran {
				t.Errorf("%s: ran %v, the model heard %v\n%s", name, ran, m.heard("the text of "+name), out)
			}
		}
		m := startModel(t, script{}) // the agent's own
		if out, _ := b.headless(t, r, m, "/init").CombinedOutput(); !m.heard("analyze this codebase") {
			t.Errorf("/init does not reach the model:\n%s", out)
		}
	})
}

// TestHookStays: an agent that takes the hook out of the settings, or switches all hooks
// off, changes nothing while it runs.
func TestHookStays(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.hooked(t, "allow = [\"Bash\"]\ndeny = [\"Bash(touch denied*)\"]\n")
		m := startModel(t, script{"go": {
			{{Name: "first", Tool: "Bash", Input: in{"command": "touch denied1", "description": "d"}}},
			{{Name: "second", Tool: "Bash", Input: func(*model) any {
				b.write("repo/.claude/settings.local.json", `{"disableAllHooks":true}`)
				b.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash"]}}`)
				return in{"command": "touch denied2", "description": "d"}
			}}},
			{{Name: "third", Tool: "Bash", Input: in{"command": "touch denied3", "description": "d"}, Pause: 2 * time.Second}},
		}})
		out, err := b.headless(t, r, m, "[[go]]").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		for _, name := range []string{"denied1", "denied2", "denied3"} {
			if b.has("repo/" + name) {
				t.Errorf("%s has run\n%s", name, out)
			}
		}
		for _, name := range []string{"first", "second", "third"} {
			if res, back := m.result(name); !back || !strings.Contains(res.Text, "agent-wrapper: Denied") {
				t.Errorf("%s: the model was told %q", name, res.Text)
			}
		}
	})
}

// packaged writes the plugin for the agent CLI, and a directory for PATH with our program
// in it.
func (b *box) packaged(t testing.TB) (plugin, path string) {
	t.Helper()
	plugin, path = b.Dir+"/plugin", b.Dir+"/bin"
	b.run(binary(t), "install", "claude", "--package", plugin)
	b.write("bin/x", "")
	if err := os.Symlink(binary(t), path+"/agent-wrapper"); err != nil {
		t.Fatal(err)
	}
	return plugin, path
}

// TestHookPlugin: as a plugin, the hook decides as it does from the settings, and what
// is missing or does not answer denies; what a plugin leaves open is open.
func TestHookPlugin(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		for _, tt := range []struct {
			name    string
			prepare func(b *box, path string)
			ran     string // of the two calls
			words   string // that the model is told of the second
		}{
			{"in force", func(*box, string) {}, "allowed", "agent-wrapper: Denied: denied by rule Bash(touch denied)"},
			{"settings change", func(b *box, _ string) {
				b.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash(touch:*)"]},"theme":"light"}`)
			}, "allowed", "agent-wrapper: Denied: denied by rule Bash(touch denied)"},
			{"missing", func(_ *box, path string) { os.Remove(path + "/agent-wrapper") }, "", `onFailure is "block"`},
			{"a repository switches hooks off", func(b *box, _ string) {
				b.write("repo/.claude/settings.json", `{"disableAllHooks":true}`)
			}, "allowed denied", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				b := newBox(t)
				plugin, path := b.packaged(t)
				b.write("home/.claude/settings.json", `{"permissions":{"allow":["Bash(touch:*)"]}}`)
				b.write("home/.config/agent-wrapper/agent-wrapper.toml", "allow = [\"Bash(touch allowed)\"]\ndeny = [\"Bash(touch denied)\"]\n")
				if tt.name != "settings change" {
					tt.prepare(b, path)
				}
				if tt.name == "missing" && r.Version != versions[0] {
					tt.ran, tt.words = "allowed denied", "" // the door that install tells of: they do not know onFailure
				}
				m := startModel(t, script{"go": {
					{{Name: "one", Tool: "Bash", Input: func(*model) any {
						if tt.name == "settings change" { // while it runs
							tt.prepare(b, path)
						}
						return in{"command": "touch allowed", "description": "d"}
					}}},
					{{Name: "two", Tool: "Bash", Input: in{"command": "touch denied", "description": "d"}, Pause: time.Second}},
				}})
				cmd := b.headless(t, r, m, "[[go]]")
				cmd.Args = append(cmd.Args, "--plugin-dir", plugin)
				cmd.Env = append(cmd.Env, "PATH="+path+":/usr/bin:/bin")
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v\n%s", err, out)
				}
				for _, name := range []string{"allowed", "denied"} {
					if ran := b.has("repo/" + name); ran != strings.Contains(tt.ran, name) {
						t.Errorf("%s has run: %v\n%s", name, ran, out)
					}
				}
				if res, back := m.result("two"); !back || !strings.Contains(res.Text, tt.words) {
					t.Errorf("the model was told %q", res.Text)
				}
			})
		}
	})
}

// edits answers the question about a command as an editor or the server's page does: with
// another input.
func (b *box) edits(t testing.TB, about string, input in) {
	t.Helper()
	local, err := broker.OpenLocal(b.Home+"/.local/state/agent-wrapper/approvals", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	var e approval.Entry
	if !until(60*time.Second, func() bool {
		all, err := local.List(t.Context(), approval.Filter{Status: []approval.Status{approval.Pending}})
		for _, one := range all {
			if strings.Contains(string(one.Question), about) {
				e = one
			}
		}
		return err == nil && e.ID != ""
	}) {
		t.Fatalf("%s is not asked", about)
	}
	r := desk.Reply{ID: e.ID, Digest: e.Digest, By: "anna", Choice: desk.Edit, Input: json.RawMessage(marshal(input))}
	_, err = local.Answer(t.Context(), approval.Event{
		Kind: desk.Kind(r.Choice), ID: e.ID, Digest: e.Digest, By: approval.Principal{Role: approval.Person, Name: "anna"}, Input: r.Input,
	}, json.RawMessage(marshal(r)))
	if err != nil {
		t.Fatal(err)
	}
}

// TestHookEdited: what a person edits is what runs, where the agent has no window.
func TestHookEdited(t *testing.T) {
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		b.hooked(t, "allow = [\"Bash(touch edited)\"]\nask = [\"Bash(touch one)\"]\n")
		m := startModel(t, script{"go": {{{Name: "one", Tool: "Bash", Input: in{"command": "touch one", "description": "d"}}}}})
		cmd := b.headless(t, r, m, "[[go]]")
		var out strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		b.edits(t, "touch one", in{"command": "touch edited", "description": "d"})
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, out.String())
		}
		if b.has("repo/one") || !b.has("repo/edited") {
			t.Errorf("one %v, edited %v\n%s", b.has("repo/one"), b.has("repo/edited"), out.String())
		}
	})
}
