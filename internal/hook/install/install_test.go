package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-wrapper/agent-wrapper/internal/golden"
)

const testBinary = "/opt/agent-wrapper/agent-wrapper"

// testMachine returns a machine of its own, on which all hosts are.
func testMachine(t testing.TB) *Machine {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return machineIn(t, dir)
}

// machineIn returns the machine below a directory.
func machineIn(t testing.TB, dir string) *Machine {
	t.Helper()
	m := &Machine{
		Home: filepath.Join(dir, "home"), State: filepath.Join(dir, "state"), Binary: testBinary, root: filepath.Join(dir, "root"),
		Getenv:   func(string) string { return "" },
		LookPath: func(string) (string, error) { return "", exec.ErrNotFound },
	}
	for _, h := range hosts() {
		if err := os.MkdirAll(h.dir(m), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// install installs the hook of a host, and fails the test if that fails.
func (m *Machine) install(t testing.TB, name string, scope Scope, o Options) *Plan {
	t.Helper()
	p, err := m.Install(name, scope, o)
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// uninstall takes the hook of a host out.
func (m *Machine) uninstall(t testing.TB, name string, scope Scope) *Plan {
	t.Helper()
	p, err := m.Remove(name, scope)
	if err == nil {
		err = p.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tree returns all files below a directory, with their modes; links as what they name.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String() + "\n"
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			text += link
			all[path] = text
			return err
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(data)
		}
		all[path] = text
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// script writes a program for the shell.
func script(t testing.TB, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text+"\n")
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

func contentsOf(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// sample is a configuration of testdata/configs: HOST.SCOPE[+OPTION].NAME.EXT.
type sample struct {
	file, host string
	scope      Scope
	options    Options
	ext        string
	text       string
	left       string // after uninstall, if a hook of ours was there before
}

func samples(t testing.TB) (all []sample) {
	t.Helper()
	names, err := filepath.Glob("testdata/configs/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if ext := filepath.Ext(name); ext != ".json" && ext != ".toml" {
			continue
		}
		parts := strings.Split(filepath.Base(name), ".")
		scope, option, _ := strings.Cut(parts[1], "+")
		s := sample{file: name, host: parts[0], scope: Scope(scope), ext: filepath.Ext(name), text: contentsOf(t, name)}
		s.options = Options{NoAutoMode: option == "auto", NoWebSearch: option == "web"}
		s.left = s.text
		if left, err := os.ReadFile(name + ".left"); err == nil {
			s.left = string(left)
		}
		all = append(all, s)
	}
	if len(all) < 20 {
		t.Fatalf("%d configurations", len(all))
	}
	return all
}

// path returns the file of a host that a sample is for.
func (s *sample) path(t testing.TB, m *Machine) string {
	t.Helper()
	for _, h := range hosts() {
		for _, f := range h.files(m, s.scope, s.options) {
			if h.name == s.host && filepath.Ext(f.path) == s.ext {
				return f.path
			}
		}
	}
	t.Fatalf("%s is for no file", s.file)
	return ""
}

var madeUpName = regexp.MustCompile(hookName + `[a-z2-7]{10}`)

// TestConfigurations: install gives what the golden file has, and changes nothing the
// second time; uninstall gives the text from before.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(filepath.Base(s.file), func(t *testing.T) {
			t.Parallel()
			m := testMachine(t)
			path := s.path(t, m)
			write(t, path, s.text)
			m.install(t, s.host, s.scope, s.options)
			once := contentsOf(t, path)
			golden.Check(t, s.file+".golden", madeUpName.ReplaceAllString(once, hookName+"NAME"))
			before := tree(t, m.Home)
			if p := m.install(t, s.host, s.scope, s.options); len(p.Changes) > 0 {
				t.Errorf("the second time it changes %s", p.Changes[0].Diff())
			}
			if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
				t.Error(diff)
			}
			m.uninstall(t, s.host, s.scope)
			if diff := cmp.Diff(s.left, contentsOf(t, path)); diff != "" {
				t.Errorf("after uninstall (-want +got):\n%s", diff)
			}
			if left := tree(t, m.installedDir()); len(left) > 1 {
				t.Errorf("records are left: %v", left)
			}
		})
	}
}

// TestChangedSince: of a file that was changed after the installation, only what is ours
// is taken out.
func TestChangedSince(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(filepath.Base(s.file), func(t *testing.T) {
			t.Parallel()
			m := testMachine(t)
			path := s.path(t, m)
			write(t, path, s.text)
			m.install(t, s.host, s.scope, s.options)
			edit := func(text string) string { return "# mine\n" + text }
			if s.ext == ".json" {
				edit = func(text string) string {
					if text = strings.TrimSpace(text); text == "" || text == "{}" {
						return "{\"mine\": 1}"
					}
					return strings.Replace(text, "{", "{\"mine\": 1,", 1)
				}
			}
			write(t, path, edit(contentsOf(t, path)))
			m.uninstall(t, s.host, s.scope)
			want, got := strings.TrimSpace(edit(s.left)), strings.TrimSpace(contentsOf(t, path))
			if empty([]byte(s.text)) { // the brace has a line of its own now
				want, got = strings.Join(strings.Fields(want), ""), strings.Join(strings.Fields(got), "")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestLineEnds: a file with CRLF stays one.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	for _, s := range samples(t) {
		if s.ext != ".json" || !strings.Contains(strings.TrimSpace(s.text), "\n") {
			continue
		}
		m, other := testMachine(t), testMachine(t)
		path, plain := s.path(t, m), s.path(t, other)
		write(t, path, crlf(s.text))
		write(t, plain, s.text)
		m.install(t, s.host, s.scope, s.options)
		other.install(t, s.host, s.scope, s.options)
		same := func(text string) string { return madeUpName.ReplaceAllString(text, hookName) }
		if diff := cmp.Diff(same(crlf(contentsOf(t, plain))), same(contentsOf(t, path))); diff != "" {
			t.Errorf("%s: %s", s.file, diff)
		}
		m.uninstall(t, s.host, s.scope)
		if contentsOf(t, path) != crlf(s.left) {
			t.Errorf("%s: after uninstall it is %q", s.file, contentsOf(t, path))
		}
	}
}

// TestNoFileBefore: what install makes, uninstall removes, directories included.
func TestNoFileBefore(t *testing.T) {
	t.Parallel()
	for _, h := range hosts() {
		for _, scope := range []Scope{User, Managed} {
			if scope == Managed && !h.managed {
				continue
			}
			m := testMachine(t)
			before := tree(t, filepath.Dir(m.Home))
			p := m.install(t, h.name, scope, Options{NoWebSearch: scope == User, NoAutoMode: true})
			if len(p.Changes) == 0 || p.Changes[0].Existed {
				t.Errorf("%s %s: %+v", h.name, scope, p.Changes)
			}
			for _, c := range p.Changes {
				text := contentsOf(t, c.Path)
				if !strings.Contains(text, testBinary) && !strings.Contains(text, "web_search") {
					t.Errorf("%s does not name the binary:\n%s", c.Path, text)
				}
				if scope == User && h.name == "copilot" {
					golden.Check(t, "testdata/copilot.golden", text)
				}
			}
			m.uninstall(t, h.name, scope)
			after := tree(t, filepath.Dir(m.Home))
			for path := range after {
				if strings.HasPrefix(path, m.State) || strings.HasPrefix(path, m.root) && scope == User {
					delete(after, path)
				}
			}
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("%s %s: %s", h.name, scope, diff)
			}
		}
	}
}

// TestUnparsable: what cannot be read is an error with its position, and nothing is
// written.
func TestUnparsable(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ host, text, want string }{
		{"claude", "{\n  \"a\": 1\n  \"b\": 2\n}", "settings.json:3:3: this is not JSON: invalid character"},
		{"claude", "{\"a\": tru}", "settings.json:1:7: this is not JSON: invalid literal: tru"},
		{"claude", "{\"a\": 1", "settings.json:1:8: this is not JSON: "},
		{"claude", "[]", "settings.json:1:1: the file must be an object"},
		{"claude", "\"x\"", "settings.json:1:1: the file must be an object"},
		{"claude", "{} {}", "settings.json:1:4: this is not JSON: "},
		{"claude", "\xef\xbb\xbf{}", "settings.json:1:1: this is not JSON: "},
		{"claude", "{\n  // mine\n  \"a\": 1\n}", "settings.json:2:3: comments are not accepted here"},
		{"claude", "{\"a\": 1 /* x */}", "settings.json:1:9: comments are not accepted here"},
		{"claude", "{\"a\": [1, 2,]}", "settings.json:1:12: a comma after the last item"},
		{"claude", "{\"hooks\": null}", "settings.json:1:11: hooks must be an object"},
		{"claude", "{\"hooks\": {\"PreToolUse\": {}}}", "settings.json:1:26: hooks.PreToolUse must be an array"},
		{"claude", "{\"hooks\": {}, \"hooks\": {}}", "settings.json:1:15: \"hooks\" stands here twice"},
		{"claude", "{\"hooks\": {\"Stop\": [], \"Stop\": []}}", "settings.json:1:24: \"Stop\" stands here twice"},
		{"gemini", "{\"a\": 1, // x\n}", "settings.json:1:8: a comma after the last item"},
		{"gemini", "{ /* never closed", "settings.json:1:3: this is not JSON: "},
		{"gemini", "{\"hooksConfig\": true}", "settings.json:1:17: this must be an object, to hold \"enabled\""},
		{"qwen", "{'a': 1}", "settings.json:1:2: this is not JSON: "},
		{"crush", "{\"hooks\": []}", "crush.json:1:11: hooks must be an object"},
		{"codex", "{\"hooks\": {\"PreToolUse\": 1}}", "hooks.json:1:26: hooks.PreToolUse must be an array"},
		{"copilot", "#!/bin/sh\n", "agent-wrapper.json:1:1: this is not JSON: "},
		{"opencode", "export const Mine = 1\n", "agent-wrapper.js is not a file that agent-wrapper wrote"},
	} {
		m := testMachine(t)
		h, err := m.host(tt.host, User)
		if err != nil {
			t.Fatal(err)
		}
		write(t, h.files(m, User, Options{})[0].path, tt.text)
		refused(t, m, tt.host, User, Options{}, tt.want)
	}
}

// TestUnparsableTOML is TestUnparsable for TOML.
func TestUnparsableTOML(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		scope      Scope
		text, want string
	}{
		{Managed, "a = 1\nb = = 2\n", "requirements.toml:2:5: "},
		{Managed, "[features]\nhooks = false\n", "requirements.toml:2:9: features.hooks: is set already: make it true"},
		{Managed, "features = { web = true }\n", "requirements.toml:1:12: features: is written without a header [features]"},
		{Managed, "features.web = true\n", "features: is written without a header [features]"},
		{Managed, "features = 1\n", "requirements.toml:1:12: features: must be a table"},
		{Managed, "a = 1\n" + blockBegin + "\n[features]\nhooks = true\n", "requirements.toml:2:1: the line"},
		{User, "[a\n", "config.toml:1:"},
		{User, "# x\nweb_search = \"live\"\n", "config.toml:2:14: web_search: is set already: make it \"disabled\""},
	} {
		m := testMachine(t)
		s := sample{host: "codex", scope: tt.scope, options: Options{NoWebSearch: tt.scope == User}, ext: ".toml"}
		write(t, s.path(t, m), tt.text)
		refused(t, m, "codex", tt.scope, s.options, tt.want)
	}
}

// TestTableHeader: a value goes below the header of its table, however it is written, or
// with a header of its own into the block; uninstall takes it out again.
func TestTableHeader(t *testing.T) {
	t.Parallel()
	const line, block = "hooks = true" + lineMark + "\n", blockBegin + "\n[features]\nhooks = true\n\n" + blockEnd + "\n"
	for text, want := range map[string]string{
		"[features]\nweb = true\n":               "[features]\n" + line + "web = true\n",
		"a = 1\n [ features ] # x\n":             "a = 1\n [ features ] # x\n" + line,
		"[\"features\"]\n":                       "[\"features\"]\n" + line,
		"[features.sub]\nx = 1\n[features]\n":    "[features.sub]\nx = 1\n[features]\n" + line,
		"[features]\n[features.sub]\nx = 1\n":    "[features]\n" + line + "[features.sub]\nx = 1\n",
		"[features.sub]\nx = 1\n":                "[features.sub]\nx = 1\n" + block,
		"[[features.list]]\nx = 1\n":             "[[features.list]]\nx = 1\n" + block,
		"a = '''\n[features]\n'''\n":             "a = '''\n[features]\n'''\n" + block,
		"a = '''\n[features]\n'''\n[features]\n": "a = '''\n[features]\n'''\n[features]\n" + line,
	} {
		editor := &tomlLines{host: "codex", values: []tomlValue{{table: "features", key: "hooks", value: "true"}}}
		got, _, err := editor.add("config.toml", []byte(text))
		if err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v, want %q", text, got, err, want)
			continue
		}
		if back, err := editor.strip("config.toml", got, notes{}); err != nil || string(back) != text {
			t.Errorf("%q is left of %q: %v", back, text, err)
		}
	}
}

// refused tests that an installation is refused and writes nothing.
func refused(t *testing.T, m *Machine, name string, scope Scope, o Options, want string) {
	t.Helper()
	before := tree(t, filepath.Dir(m.Home))
	_, err := m.Install(name, scope, o)
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want %q", name, err, want)
	}
	if diff := cmp.Diff(before, tree(t, filepath.Dir(m.Home))); diff != "" {
		t.Errorf("%s: something was written: %s", name, diff)
	}
}

// TestLink: the target of a link is changed, with its mode, and the link stays.
func TestLink(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	path := filepath.Join(m.Home, ".claude", "settings.json")
	real := filepath.Join(m.Home, "dotfiles", "claude.json")
	write(t, real, "{\n  \"a\": 1\n}\n")
	if err := errors.Join(os.Chmod(real, 0o640), os.Symlink("../dotfiles/claude.json", path)); err != nil {
		t.Fatal(err)
	}
	before := tree(t, m.Home)
	p := m.install(t, "claude", User, Options{})
	if diff := p.Changes[0].Diff(); !strings.Contains(diff, "a link to "+real) {
		t.Error(diff)
	}
	if link, err := os.Readlink(path); err != nil || link != "../dotfiles/claude.json" {
		t.Errorf("the link is %q, %v", link, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode() != 0o640 || !strings.Contains(contentsOf(t, real), testBinary) {
		t.Errorf("%v, %v", info, err)
	}
	m.uninstall(t, "claude", User)
	if diff := cmp.Diff(before, tree(t, m.Home)); diff != "" {
		t.Error(diff)
	}
}

// TestAnotherBinary: a hook that starts another binary is replaced, and the text from
// before the first installation comes back.
func TestAnotherBinary(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		m := testMachine(t)
		path := s.path(t, m)
		write(t, path, s.text)
		m.install(t, s.host, s.scope, s.options)
		m.Binary = "/home/dev/it's here/agent-wrapper"
		if p := m.install(t, s.host, s.scope, s.options); len(p.Changes) == 0 && s.host != "codex" {
			t.Errorf("%s: the old binary stays", s.file)
		}
		if s.options.NoWebSearch {
			continue // this file names no binary
		}
		if text := contentsOf(t, path); strings.Contains(text, testBinary+"'") || strings.Contains(text, testBinary+`"`) || !strings.Contains(text, "s here/agent-wrapper") {
			t.Errorf("%s: %s", s.file, text)
		}
		m.uninstall(t, s.host, s.scope)
		if diff := cmp.Diff(s.left, contentsOf(t, path)); diff != "" {
			t.Errorf("%s: %s", s.file, diff)
		}
	}
}

// TestChangedBetween: a file that changes between the question and the answer is not
// written over.
func TestChangedBetween(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	path := filepath.Join(m.Home, ".claude", "settings.json")
	p, err := m.Install("claude", User, Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, "{}")
	if err := p.Apply(); err == nil || !strings.Contains(err.Error(), "was changed in the meantime") {
		t.Error(err)
	}
	if contentsOf(t, path) != "{}" {
		t.Error("it was written over")
	}
}

// TestLostRecord: without the record, what is ours is found by what it is.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	for _, h := range hosts() {
		m.install(t, h.name, User, Options{})
	}
	if err := os.RemoveAll(m.State); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Hosts(), m.Installed(User)); diff != "" {
		t.Error(diff)
	}
	for _, h := range hosts() {
		m.uninstall(t, h.name, User)
	}
	for path, text := range tree(t, m.Home) {
		if strings.Contains(text, testBinary) {
			t.Errorf("%s: %s", path, text)
		}
	}
	if left := m.Installed(User); len(left) > 0 {
		t.Error(left)
	}
}

// TestDamagedRecord: a record that cannot be read is an error that says what to do.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.install(t, "claude", User, Options{})
	for text, want := range map[string]string{`{"host": 1}`: "is damaged: remove it", `{"schema_version": 9}`: "another version"} {
		write(t, filepath.Join(m.installedDir(), "claude-user.json"), text)
		_, errRemove := m.Remove("claude", User)
		_, errInstall := m.Install("claude", User, Options{})
		for _, err := range []error{errRemove, errInstall} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// TestLostBackup: if the text from before is gone or was changed, what is ours is taken
// out.
func TestLostBackup(t *testing.T) {
	t.Parallel()
	for _, spoil := range []func(path string) error{os.Remove, func(path string) error { return os.WriteFile(path, []byte("{}"), 0o600) }} {
		m := testMachine(t)
		path := filepath.Join(m.Home, ".claude", "settings.json")
		const before = "{\n  \"model\": \"opus\"\n}\n"
		write(t, path, before)
		m.install(t, "claude", User, Options{})
		backups, err := filepath.Glob(filepath.Join(m.installedDir(), "*.orig"))
		if err != nil || len(backups) != 1 {
			t.Fatal(backups, err)
		}
		if err := spoil(backups[0]); err != nil {
			t.Fatal(err)
		}
		m.uninstall(t, "claude", User)
		if got := contentsOf(t, path); got != before {
			t.Errorf("%q", got)
		}
	}
}

// TestWrongHost: a host that is not there, or has no such scope, is an error that says
// what there is.
func TestWrongHost(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	if err := os.RemoveAll(filepath.Join(m.Home, ".qwen")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		scope Scope
		want  string
	}{
		{"cluade", User, "there is no host \"cluade\": use claude, codex"},
		{"crush", Managed, "crush has no managed configuration"},
		{"claude", "project", "there is no scope \"project\""},
		{"qwen", User, "qwen is not on this machine: there is no program qwen on PATH, and no directory"},
	} {
		if _, err := m.Install(tt.name, tt.scope, Options{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
	if slices.Contains(m.Found(), "qwen") || !slices.Contains(m.Found(), "crush") {
		t.Error(m.Found())
	}
	m.LookPath = func(name string) (string, error) { return "/bin/" + name, nil }
	if !slices.Contains(m.Found(), "qwen") {
		t.Error(m.Found())
	}
}

// TestVariables: the variables that move a host's configuration are heeded.
func TestVariables(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]string{
		"CLAUDE_CONFIG_DIR": "settings.json", "CODEX_HOME": "hooks.json", "GEMINI_CLI_HOME": ".gemini/settings.json", "COPILOT_HOME": "hooks/agent-wrapper.json",
		"XDG_CONFIG_HOME": "opencode/plugins/agent-wrapper.js", "CRUSH_GLOBAL_CONFIG": "crush.json",
	} {
		m := testMachine(t)
		elsewhere := filepath.Join(m.Home, "elsewhere")
		m.Getenv = func(name string) string { return map[string]string{variable: elsewhere}[name] }
		found := false
		for _, h := range hosts() {
			found = found || h.files(m, User, Options{})[0].path == filepath.Join(elsewhere, want)
		}
		if !found {
			t.Errorf("%s moves nothing to %s", variable, want)
		}
	}
}

// TestMovedSince: a configuration that a variable has moved since is found by the record.
func TestMovedSince(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	write(t, filepath.Join(m.Home, ".codex", "hooks.json"), "{\"hooks\": {}}")
	m.install(t, "codex", User, Options{})
	m.Getenv = func(name string) string { return map[string]string{"CODEX_HOME": filepath.Join(m.Home, "new")}[name] }
	m.uninstall(t, "codex", User)
	if got := contentsOf(t, filepath.Join(m.Home, ".codex", "hooks.json")); got != "{\"hooks\": {}}" {
		t.Error(got)
	}
}

// TestEntriesAreValid: what is written is the JSON that the hosts were measured with.
func TestEntriesAreValid(t *testing.T) {
	t.Parallel()
	m := testMachine(t)
	m.install(t, "claude", User, Options{})
	var c struct {
		Hooks map[string][]struct{ Hooks []map[string]any }
	}
	if err := json.Unmarshal([]byte(contentsOf(t, filepath.Join(m.Home, ".claude", "settings.json"))), &c); err != nil {
		t.Fatal(err)
	}
	for name, groups := range c.Hooks {
		want := map[string]any{"type": "command", "command": testBinary, "args": []any{"hook", "claude"}, "timeout": 600.0}
		if name == "PreToolUse" || name == "ConfigChange" || name == "UserPromptExpansion" {
			want["onFailure"] = "block"
		}
		if diff := cmp.Diff(want, groups[0].Hooks[0]); diff != "" || len(groups) != 1 {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDiff: the difference is a unified diff that shows what a terminal would obey.
func TestDiff(t *testing.T) {
	t.Parallel()
	var long []string
	for i := range 30 {
		long = append(long, strings.Repeat("x", i))
	}
	before := strings.Join(long, "\n")
	long[3], long[28] = "new \x1b[2J", "last"
	c := Change{Path: "/h/a", Target: "/h/a", Before: []byte(before), After: []byte(strings.Join(long, "\n") + "\n"), Existed: true}
	golden.Check(t, "testdata/diff.golden", c.Diff())
	c.After = bytes.ReplaceAll(c.After, []byte("\x1b"), nil)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "x"), before)
	patch := exec.Command("patch", "-s", "x")
	if patch.Err != nil {
		return // there is no patch to try it with
	}
	patch.Dir, patch.Stdin = dir, strings.NewReader(c.Diff())
	if out, err := patch.CombinedOutput(); err != nil || contentsOf(t, filepath.Join(dir, "x")) != string(c.After) {
		t.Errorf("patch does not take it: %v\n%s", err, out)
	}
}
