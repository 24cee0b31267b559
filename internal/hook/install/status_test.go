package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// status returns how a host stands.
func (m *Machine) status(t *testing.T, name string) *Status {
	t.Helper()
	s, err := m.Status(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStatus: the states of a hook, in all hosts.
func TestStatus(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.Binary = filepath.Join(m.Home, "bin", "agent-wrapper")
	script(t, m.Binary, "exit 2")
	for _, h := range hosts() {
		if s := m.status(t, h.name); s.Hooks[0].State != stateMissing || len(s.Doors) > 0 || !s.Found || len(s.Hooks) != 1 {
			t.Errorf("%+v", s)
		}
		m.install(t, h.name, User, Options{})
		s := m.status(t, h.name)
		if s.Hooks[0].State != stateInForce || s.Hooks[0].Program != "this" || s.Hooks[0].Binary != m.Binary || len(s.Doors) == 0 {
			t.Errorf("%+v", s)
		}
		text := contentsOf(t, s.Hooks[0].File)
		write(t, s.Hooks[0].File, strings.NewReplacer(`: 600`, `: 60`, "LIMIT_MS = 600", "LIMIT_MS = 6").Replace(text))
		if s := m.status(t, h.name); s.Hooks[0].State != stateChanged || s.Hooks[0].Program != "this" {
			t.Errorf("%+v", s)
		}
		write(t, s.Hooks[0].File, "{ \"a\": ")
		if s := m.status(t, h.name); s.Hooks[0].State != stateUnreadable || s.Hooks[0].Problem == "" {
			t.Errorf("%+v", s)
		}
		write(t, s.Hooks[0].File, text)
		other := *m
		other.Binary = "/bin/sh"
		if s := other.status(t, h.name); s.Hooks[0].State != stateChanged || s.Hooks[0].Program != "another" {
			t.Errorf("%+v", s)
		}
	}
}

// TestBinaryIs: what a hook starts.
func TestBinaryIs(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.Binary = filepath.Join(m.Home, "b")
	write(t, m.Binary, "x")
	if is := m.binaryIs(m.Binary); is != "not executable" {
		t.Error(is)
	}
	if is := m.binaryIs(m.Home); is != "not executable" {
		t.Error(is)
	}
	if is := m.binaryIs(m.Home + "/none"); is != "missing" {
		t.Error(is)
	}
}

// TestManagedStatus: a managed hook is shown, and its doors count.
func TestManagedStatus(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	for _, name := range ManagedHosts() {
		m.install(t, name, Managed, Options{})
		s := m.status(t, name)
		if len(s.Hooks) != 2 || s.Hooks[1].State != stateInForce || s.Hooks[1].Scope != Managed || s.Doors[0].Scope != Managed {
			t.Errorf("%+v", s)
		}
	}
}

// TestOptionsCloseDoors: an option closes its door, and is remembered.
func TestOptionsCloseDoors(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	for name, o := range map[string]Options{"claude": {NoAutoMode: true}, "codex": {NoWebSearch: true}} {
		m.install(t, name, User, Options{})
		before := m.status(t, name)
		if p := m.install(t, name, User, o); len(p.Changes) != 1 {
			t.Errorf("%s: %d changes", name, len(p.Changes))
		}
		after := m.status(t, name)
		if len(after.Doors) != len(before.Doors)-1 {
			t.Errorf("%s: %d doors, then %d", name, len(before.Doors), len(after.Doors))
		}
		if p := m.install(t, name, User, Options{}); len(p.Changes) > 0 {
			t.Errorf("%s: the option is forgotten", name)
		}
	}
	for _, d := range doors() {
		if strings.Contains(d.What, "--no-auto-mode") || d.Closes == "" {
			t.Errorf("%+v", d)
		}
	}
}

// TestDoors: every host and scope has its doors, each with a source; none stands twice.
func TestDoors(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range doors() {
		key := fmt.Sprint(d.Host, d.Scope, d.What)
		if seen[key] || d.Host != anyHost && measured[d.Host] == "" {
			t.Errorf("%+v", d)
		}
		seen[key] = true
	}
	for _, h := range hosts() {
		if len(open(h.name, User, Options{})) < 2 || h.managed && len(open(h.name, Managed, Options{})) < 2 {
			t.Errorf("%s has no doors", h.name)
		}
	}
}

// TestCodexTrustNote: status says that codex does not trust the hook, as far as its
// configuration tells.
func TestCodexTrustNote(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	hooks := filepath.Join(m.Home, ".codex", "hooks.json")
	write(t, hooks, `{"hooks": {"PreToolUse": [{"hooks": []}]}}`)
	m.install(t, "codex", User, Options{})
	config := filepath.Join(m.Home, ".codex", "config.toml")
	for text, notes := range map[string]int{
		"": 1,
		"[hooks.state.\"" + hooks + ":pre_tool_use:0:0\"]\ntrusted_hash = \"sha256:x\"\n":                  1,
		"[hooks.state.\"" + hooks + ":pre_tool_use:1:0\"]\ntrusted_hash = \"sha256:x\"\n":                  0,
		"[hooks.state.\"" + hooks + ":pre_tool_use:1:0\"]\ntrusted_hash = \"sha256:x\"\nenabled = false\n": 1,
		"[a": 1,
	} {
		write(t, config, text)
		if s := m.status(t, "codex"); len(s.Notes) != notes {
			t.Errorf("%q: %q", text, s.Notes)
		}
	}
}

// TestOpenCodeNote: status says what the first start of opencode takes.
func TestOpenCodeNote(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.install(t, "opencode", User, Options{})
	if s := m.status(t, "opencode"); len(s.Notes) != 1 || !strings.Contains(s.Notes[0], "@opencode-ai/plugin") {
		t.Error(s.Notes)
	}
	write(t, filepath.Join(m.Home, ".config/opencode/node_modules/@opencode-ai/plugin/package.json"), "{}")
	if s := m.status(t, "opencode"); len(s.Notes) != 0 {
		t.Error(s.Notes)
	}
}

// TestVersion: a version is read from the path or the package of a program.
func TestVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "versions", "2.1.330"), "")
	write(t, filepath.Join(dir, "lib", "node_modules", "@openai", "codex", "package.json"), `{"name": "@openai/codex", "version": "0.169.0"}`)
	write(t, filepath.Join(dir, "lib", "node_modules", "@openai", "codex", "bin", "codex.js"), "")
	write(t, filepath.Join(dir, "bin", "other"), "")
	for link, to := range map[string]string{"claude": "versions/2.1.330", "codex": "lib/node_modules/@openai/codex/bin/codex.js"} {
		if err := os.Symlink(filepath.Join(dir, to), filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for program, want := range map[string]string{"claude": "2.1.330", "codex": "0.169.0", "bin/other": "", "none": ""} {
		if got := version(filepath.Join(dir, program)); got != want {
			t.Errorf("%s: %q, want %q", program, got, want)
		}
	}
	if version("") != "" {
		t.Error("no program has a version")
	}
}
