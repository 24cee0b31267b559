package claude

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/permission"
	"github.com/agent-wrapper/agent-wrapper/wrapper"
	"github.com/agent-wrapper/agent-wrapper/wrapper/claude/prefix"
)

// outsideGuard is a guard of commands that run outside the sandbox, as decide says when they begin.
func outsideGuard(t *testing.T, found func(string) string, decide func() permission.Decision) *guard {
	t.Helper()
	g := newGuard(t, func(o *launch) {
		o.Scratch, o.Sandbox = t.TempDir(), &wrapper.Sandbox{Found: found}
		if decide != nil {
			o.Explain = func(permission.ToolUse) permission.Decision { return decide() }
		}
	})
	g.work = filepath.Join(g.o.Scratch, agentName)
	return g
}

func (g *guard) allowsOutside(command, dir string) {
	g.allow(&permission.ToolUse{ID: "id", Tool: "Bash", Dir: dir}, nil, &permission.Result{
		Decision: permission.Decision{Behavior: permission.Allow, Sandbox: permission.Outside}, UpdatedInput: []byte(`{"command":"` + command + `"}`),
	})
}

// TestShellsOutward: a command outside the sandbox that would not be decided again as it was does
// not run; one that a person has allowed does, as long as it is asked about for the same reason.
func TestShellsOutward(t *testing.T) {
	outside := func(b permission.Behavior, why string) permission.Decision {
		return permission.Decision{Behavior: b, Sandbox: permission.Outside, Reason: why}
	}
	inside := permission.Decision{Behavior: permission.Allow, Sandbox: permission.Inside}
	for _, tt := range []struct {
		name     string
		was, now permission.Decision
		runs     bool
	}{
		{"as it was", outside(permission.Allow, "a"), outside(permission.Allow, "a"), true},
		{"for another reason", outside(permission.Allow, "a"), outside(permission.Allow, "b"), true},
		{"asked about now", outside(permission.Allow, "a"), outside(permission.Ask, "a"), false},
		{"denied now", outside(permission.Allow, "a"), outside(permission.Deny, "a"), false},
		{"planted meanwhile", outside(permission.Allow, "a"), inside, false},
		{"a person's", outside(permission.Ask, "a"), outside(permission.Ask, "a"), true},
		{"a person's, about something else", outside(permission.Ask, "a"), outside(permission.Ask, "b"), false},
		{"a person's, denied now", outside(permission.Ask, "a"), outside(permission.Deny, "a"), false},
		{"denied by now and then", outside(permission.Deny, "a"), outside(permission.Deny, "a"), false},
		{"nothing", permission.Decision{}, permission.Decision{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var decides atomic.Pointer[permission.Decision]
			decides.Store(&tt.was)
			g := outsideGuard(t, nil, func() permission.Decision { return *decides.Load() })
			g.allowsOutside("echo ran", "")
			decides.Store(&tt.now)
			code, said := g.runs(g.o.Scratch, nil, g.text("echo ran"))
			if (code == 0) != tt.runs || strings.Contains(said, "ran\n") != tt.runs {
				t.Errorf("%d, %q", code, said)
			}
			if !tt.runs && (code != 126 || !strings.Contains(said, "has changed since")) {
				t.Errorf("%d, %q", code, said)
			}
		})
	}
}

// TestShellsUndecidable: a command outside that nobody can decide again does not run.
func TestShellsUndecidable(t *testing.T) {
	g := outsideGuard(t, nil, nil)
	g.allowsOutside("echo ran", "")
	if code, said := g.runs(g.o.Scratch, nil, g.text("echo ran")); code != 126 || !strings.Contains(said, "nobody decides it again") {
		t.Errorf("%d, %q", code, said)
	}
}

// TestShellsPinned: a program is where it was found when the command was decided, whatever
// lies on PATH by then.
func TestShellsPinned(t *testing.T) {
	dir := t.TempDir()
	lay := func(at, says string) string {
		file := filepath.Join(dir, at)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("#!/bin/sh\necho "+says+"\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		return file
	}
	real := lay("usr/tool", "real")
	lay("w/tool", "planted")
	decided := permission.Decision{Behavior: permission.Allow, Sandbox: permission.Outside, Programs: []string{"tool"}}
	g := outsideGuard(t, func(name string) string {
		return map[string]string{"tool": real}[name]
	}, func() permission.Decision { return decided })
	path := "PATH=" + dir + "/w:" + dir + "/usr:" + os.Getenv("PATH")
	unhashed := filepath.Join(dir, "bashrc")
	if err := os.WriteFile(unhashed, []byte("set +h\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{{path}, {path, "BASH_ENV=" + unhashed}} {
		for _, command := range []string{"tool", "cd / && tool", "(tool)", "tool | cat"} {
			g.allowsOutside(command, "")
			if code, said := g.runs(dir, env, g.text(command)); code != 0 || said != "real\n" {
				t.Errorf("%s with %q: %d, %q", command, env[1:], code, said)
			}
		}
	}
}

// TestShellsTemp: temporary files of what runs outside are not among those of commands inside,
// also if the line names the directory of these; nor is the file with that of its shell.
func TestShellsTemp(t *testing.T) {
	g := outsideGuard(t, nil, func() permission.Decision {
		return permission.Decision{Behavior: permission.Allow, Sandbox: permission.Outside}
	})
	g.envText = "export TMPDIR=" + g.o.Scratch + "\n"
	text := func(command string) string { return strings.TrimSpace(g.envText) + "\n: && " + g.text(command) }
	const child = "env | grep ^T[M]P || echo none"
	for command, want := range map[string]string{child: "TMPDIR=" + g.work, "echo $TMPDIR": g.o.Scratch, child + " # TMPDIR": "none"} {
		g.allowsOutside(command, "")
		if code, said := g.runs("/", []string{"TMPDIR=" + g.work}, text(command)); code != 0 || said != want+"\n" {
			t.Errorf("%s: %d, %q", command, code, said)
		}
	}
	g.allowsOutside("cd /usr", "")
	if code, said := g.runs("/", nil, text("cd /usr")); code != 0 {
		t.Errorf("%d, %q", code, said)
	}
	if left, err := os.ReadFile(filepath.Join(g.work, "claude-0000-cwd")); string(left) != "/usr\n" {
		t.Errorf("%q, %v", left, err)
	}
}

// TestShellsReplaced: a command runs in the directory in which it was decided, and not in one
// that is in its place by then.
func TestShellsReplaced(t *testing.T) {
	g := newGuard(t, nil)
	work := t.TempDir()
	sub := filepath.Join(work, "sub")
	if err := os.Mkdir(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	g.allows("id", "pwd", sub, "")
	if err := errors.Join(os.Rename(sub, sub+"2"), os.Symlink("/usr", sub)); err != nil {
		t.Fatal(err)
	}
	if code, said := g.runs(sub, nil, g.text("pwd")); code != 126 {
		t.Errorf("%d, %q", code, said)
	}
	if code, said := g.runs(sub+"2", nil, g.text("pwd")); code != 0 {
		t.Errorf("%d, %q", code, said)
	}
}

// TestShellsExact: one that was allowed in any directory is left for others while there is one
// for this directory.
func TestShellsExact(t *testing.T) {
	g := newGuard(t, nil)
	work := t.TempDir()
	g.allows("any", "pwd", "", "")
	g.allows("exact", "pwd", work, "")
	for _, dir := range []string{work, "/usr"} {
		if code, said := g.runs(dir, nil, g.text("pwd")); code != 0 {
			t.Errorf("%s: %d, %q", dir, code, said)
		}
	}
}

// TestAskedExact: names and values have any bytes.
func TestAskedExact(t *testing.T) {
	work := filepath.Join(t.TempDir(), "d\xff")
	if err := os.Mkdir(work, 0o700); err != nil {
		t.Fatal(err)
	}
	g := newGuard(t, nil)
	g.work = t.TempDir()
	g.allows("id", "pwd; echo $X", work, "")
	if code, said := g.runs(work, []string{"X=a\xffb"}, g.text("pwd; echo $X")); code != 0 || said != work+"\na\xffb\n" {
		t.Errorf("%d, %q", code, said)
	}
	var asked prefix.Asked
	if err := asked.UnmarshalJSON([]byte(`{"Text":"YQ==","Env":["YT0x"]}`)); err != nil || asked.Text != "a" || len(asked.Env) != 1 || asked.Env[0] != "a=1" {
		t.Errorf("%+v, %v", asked, err)
	}
}

// TestReplaceableAgent: an agent CLI that a command inside could replace is not started.
func TestReplaceableAgent(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("CLAUDE_CONFIG_DIR", "")
	o := options(nil, byWord, &recorder{})
	o.Dir, o.Command = t.TempDir(), []string{"/bin/true"}
	o.Sandbox = &wrapper.Sandbox{Replaceable: func(program string) bool { return program == "/bin/true" }}
	if _, err := drive(t.Context(), o); err == nil || !strings.Contains(err.Error(), "a command inside the sandbox has written: /bin/true: ") {
		t.Errorf("%v", err)
	}
}

// TestFindBash: bash is none that a command inside the sandbox can replace.
func TestFindBash(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	planted, real := filepath.Join(dir, "bash"), filepath.Join(other, "bash")
	for _, name := range []string{planted, real} {
		if err := os.WriteFile(name, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+other)
	below := &wrapper.Sandbox{Planted: func(program string) bool { return strings.HasPrefix(program, dir) }}
	if got := findBash(nil); got != planted {
		t.Errorf("without a sandbox: %s", got)
	}
	if got := findBash(below); got != real {
		t.Errorf("with a sandbox: %s", got)
	}
	t.Setenv("PATH", dir+":.")
	if got := findBash(below); got != "" {
		t.Errorf("with no other: %s", got)
	}
}
