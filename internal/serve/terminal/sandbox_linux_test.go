package terminal

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/sandbox"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
	"github.com/agent-wrapper/agent-wrapper/internal/serve/store"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// inSandbox decides that all commands run inside the sandbox, which it does not build.
type inSandbox struct{ rules }

func (d inSandbox) CanUseTool(ctx context.Context, use permission.ToolUse) (permission.Result, error) {
	res, err := d.rules.CanUseTool(ctx, use)
	res.Sandbox = permission.Inside
	return res, err
}

// builder builds them: only a directory is writable.
type builder struct {
	inSandbox
	dir string
}

func (d builder) Enclose(_ *permission.ToolUse, cmd *exec.Cmd, scratch string) (over func() ([]string, error), err error) {
	plan := &sandbox.Plan{Writable: []sandbox.Path{{Path: d.dir}, {Path: scratch}}}
	if d.dir == "" {
		plan.ReadOnly = []sandbox.Path{{Path: "/nowhere/at/all"}} // a layer that cannot be built
	}
	held, done := kernel.Around(plan, nil)
	ended, err := held.Hand(cmd)
	return func() ([]string, error) { defer done(); return []string{"it is over"}, ended() }, err
}

// enclosed returns a bench whose commands run inside the sandbox that d builds.
func enclosed(t *testing.T, d func(inSandbox) Decider) *bench {
	t.Helper()
	return newBench(t, func(o *Options) {
		plain := o.Decider
		o.Decider = func(s store.Session, a permission.Approver) (Decider, error) {
			one, err := plain(s, a)
			if err != nil {
				return nil, err
			}
			return d(inSandbox{one.(rules)}), nil
		}
	})
}

// beginIn creates a session in a directory.
func (b *bench) beginIn(dir string) string {
	b.t.Helper()
	info, err := b.Create(b.t.Context(), store.Session{AgentID: "bot", AgentRole: "chat_agent", ConversationID: "talk", Dir: dir})
	if err != nil {
		b.t.Fatal(err)
	}
	return info.ID
}

// TestSandbox: a command that was decided to run inside the sandbox does, on its terminal, and the
// next one begins where it ended.
func TestSandbox(t *testing.T) {
	if err := kernel.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(filepath.Dir(dir), "outside")
	b := enclosed(t, func(d inSandbox) Decider { return builder{d, dir} })
	id := b.beginIn(dir)
	const told = `eval "set -- $(trap -p EXIT)"; eval "f=${3##*|}"; trap - EXIT; ` // f is the file with the directory
	for _, tt := range []struct{ line, shows string }{
		{"mkdir sub && touch made && test -t 0 && echo made it", "made it"},
		{"touch " + outside + "; echo then", "Read-only file system"},
		{"cd sub; echo moved", "agent-wrapper: it is over"},
		{"pwd; echo here", dir + "/sub"},
		{"cd /; " + told + "mkfifo $f; echo piped", "piped"},
		{"pwd; echo after a pipe", dir + "/sub\r\nafter a pipe"},
		{told + "echo / >../root; ln -s " + dir + "/root $f; echo linked", "linked"},
		{"pwd; echo after a link", dir + "/sub\r\nafter a link"},
		{"exit 7", "$ exit 7"},
		{"setsid sleep 98765.5 & echo left", "left"},
		{"echo last", "last"},
	} {
		b.idle(id)
		b.execute(id, tt.line)
		b.shows(id, tt.shows)
	}
	b.idle(id)
	if _, err := os.Lstat(outside); err == nil {
		t.Error("it has written outside")
	}
	if _, err := os.Lstat(dir + "/made"); err != nil {
		t.Error("it has not written inside")
	}
	if out, _ := exec.Command("pgrep", "-f", "sleep 98765.5").Output(); len(out) > 0 {
		t.Errorf("what it left behind runs on: %s", out)
	}
	exits := map[string]int{}
	for _, c := range b.store.commands {
		if c.Exit != nil {
			exits[c.Command] = *c.Exit
		}
	}
	if exits["exit 7"] != 7 || exits["echo last"] != 0 {
		t.Errorf("%v", exits)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "agent-wrapper-terminal-*")); len(left) > 0 {
		t.Errorf("%q are still there", left)
	}
}

// idle waits until nothing runs in a session.
func (b *bench) idle(id string) {
	b.t.Helper()
	s, err := b.session(id)
	if err != nil {
		b.t.Fatal(err)
	}
	s.mu.Lock()
	c := s.at
	s.mu.Unlock()
	if c == nil {
		return
	}
	select {
	case <-c.ended:
	case <-time.After(20 * time.Second):
		b.t.Fatal("a command does not end")
	}
}

// TestNoSandbox: what was decided to run inside the sandbox does not run where nobody builds it,
// or where it cannot be built.
func TestNoSandbox(t *testing.T) {
	missing := kernel.Probe(t.Context()) != nil
	for name, decider := range map[string]func(inSandbox) Decider{
		"nobody builds it":   func(d inSandbox) Decider { return d },
		"it cannot be built": func(d inSandbox) Decider { return builder{d, ""} },
	} {
		dir := t.TempDir()
		b := enclosed(t, decider)
		id := b.beginIn(dir)
		r, err := b.Execute(t.Context(), id, Request{Command: "touch made"})
		b.idle(id)
		if _, made := os.Lstat(dir + "/made"); made == nil || err == nil && r.Status == statusExecuted && name == "nobody builds them" {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		state := b.store.commands[len(b.store.commands)-1].State
		b.mu.Lock()
		said := ""
		for _, o := range b.outcomes {
			said += o.Note
		}
		b.mu.Unlock()
		if state != store.CommandFailed || !missing && !strings.Contains(said, "not started") {
			t.Errorf("%s: %s, %q", name, state, said)
		}
	}
}
