//go:build e2e

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/test/neovim"
)

// TestNeovim: a person at a real Neovim answers what the real agent CLI wants to do, in
// two turns of one process.
func TestNeovim(t *testing.T) {
	bash := func(name string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": "touch " + name, "description": "x"}}
	}
	vims := neovim.Releases("../.cache/neovim")
	if len(vims) == 0 {
		t.Fatal("no Neovim is installed: make install")
	}
	eachRelease(t, func(t *testing.T, r release) {
		b := newBox(t)
		m := startModel(t, script{"main": {{bash("once")}, {bash("denied")}, {}, {bash("session")}, {bash("session-2")}, {}}})
		w := startWeb(t, b)
		n := vims[len(vims)-1].Start(t, neovim.Options{
			Dir: b.Work, Args: []string{"-u", b.vimrc(t, r)}, Width: 80, Height: 24,
			Env: b.env(append(w.env(), "ANTHROPIC_BASE_URL="+m.URL, "XDG_DATA_HOME="+b.Dir+"/data", "XDG_STATE_HOME="+b.Dir+"/state")...),
		})
		press := func(command, key string) {
			n.See("| " + command)
			n.Lua("require('agent-wrapper').answer()")
			n.Wait("a key that counts", func(screen string) bool {
				return strings.Contains(screen, "| "+command) && strings.Contains(screen, "│ >  ")
			})
			n.Type(key)
		}
		n.Type(":AgentWrapper " + plainPrompt + "<CR>")
		press("touch once", "o")
		press("touch denied", "d")
		n.See("## You\n\n", "ok")
		n.Type(":AgentWrapper go on<CR>")
		press("touch session", "s")
		press("touch session-2", "o")
		if !m.await("session-2", time.Minute) {
			t.Fatalf("the model did not hear of the last tool use:\n%s", n.Screen())
		}
		if !b.has("repo/once") || b.has("repo/denied") || !b.has("repo/session") || !b.has("repo/session-2") {
			t.Errorf("once %v, denied %v, session %v, session-2 %v", b.has("repo/once"), b.has("repo/denied"), b.has("repo/session"), b.has("repo/session-2"))
		}
		if got := b.decided(t); got != "allow deny allow allow" {
			t.Errorf("a person decided %s", got)
		}
		n.Type(":qall!<CR>")
		if took, dead := gone(r.Path, 20*time.Second); !dead {
			t.Errorf("the agent CLI is there %v after its editor", took)
		}
	})
}

// vimrc writes the configuration of Neovim and returns its path.
func (b *box) vimrc(t *testing.T, r release) string {
	t.Helper()
	plugin, err := filepath.Abs("../editors/nvim")
	if err != nil {
		t.Fatal(err)
	}
	quoted := func(s string) string { data, _ := json.Marshal(s); return string(data) }
	b.write("init.lua", "vim.opt.runtimepath:prepend("+quoted(plugin)+")\nvim.o.swapfile = false\nvim.cmd('runtime plugin/agent-wrapper.lua')\n"+
		"require('agent-wrapper').setup({ command = "+quoted(binary(t))+", args = { '--isolated', '--ask', 'Bash(touch:*)', '--agent-command', "+
		quoted(r.Path)+", '--audit', "+quoted(b.Dir+"/audit.jsonl")+" } })\n")
	return b.Dir + "/init.lua"
}

// decided returns what a person decided, in order.
func (b *box) decided(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(b.Dir + "/audit.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range strings.Lines(string(data)) {
		var d struct{ Kind, Behavior, By string }
		if json.Unmarshal([]byte(line), &d) == nil && d.Kind == "decision" && d.By == "person" {
			all = append(all, d.Behavior)
		}
	}
	return strings.Join(all, " ")
}
