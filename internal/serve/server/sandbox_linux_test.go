package server

import (
	"os"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
	"github.com/agent-wrapper/agent-wrapper/internal/sandbox/kernel"
)

// TestTerminalInSandbox: a command of a terminal session runs inside the sandbox, and who looks on
// is told of a protected file that it has made.
func TestTerminalInSandbox(t *testing.T) {
	if err := kernel.Probe(t.Context()); err != nil {
		t.Skip(err)
	}
	dir := workspace(t)
	p := meet(t, Options{Workspace: dir, Open: opener(t, dir, "sandbox = \"require\"\n"), Enclose: func(r *engine.Rules) error { return r.Within() }})
	session := p.begin()
	if err := os.WriteFile(dir+"/make.sh", []byte(": > .envrc\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := p.execute(session, "sh make.sh")
	c := p.finished(p.post(session+"/approve", p.ann, `{"approved":true,"approval_id":`+quote(asked["approval_id"].(string))+`}`, 200))
	same(t, c, "status", "completed")
	if _, err := os.Lstat(dir + "/.envrc"); err != nil {
		t.Fatal(err)
	}
	for {
		for _, m := range p.get(session+"/chat", p.agent)["messages"].([]any) {
			if text := m.(map[string]any)["text"].(string); strings.Contains(text, "agent-wrapper: the command made "+dir+"/.envrc") {
				return
			}
		}
	}
}
