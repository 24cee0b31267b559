package decide_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/run/engine"
)

// TestSandbox: what was decided to run inside the sandbox is answered with what runs it there, once,
// for a client that runs what it is answered; for any other client, the sandbox in the policy
// changes nothing.
func TestSandbox(t *testing.T) {
	const sandboxed = "sandbox = \"on\"\nallow = [\"Bash(ls)\", \"Bash\"]\nask = [\"Bash(touch x)\", \"Bash(git push)\"]\ndeny = [\"Bash(curl:*)\"]\n"
	within := func(o engine.Options) (*engine.Engine, error) {
		o.Within = "/bin/agent-wrapper"
		r, err := engine.Load(o)
		if err == nil {
			err = r.Within()
		}
		if err != nil {
			return nil, err
		}
		return r.Open()
	}
	for _, tt := range []struct {
		name string
		open func(engine.Options) (*engine.Engine, error)
	}{{"a client that runs its own input", engine.Open}, {"one that runs what it is answered", within}} {
		t.Run(tt.name, func(t *testing.T) {
			applies := tt.name != "a client that runs its own input"
			c := start(t, options{rules: sandboxed, open: tt.open})
			for _, line := range []string{"ls", "make", "git push", "touch x", "curl https://a.example"} {
				c.bash(line, line)
				l := c.next()
				if l.Method == "approve" {
					c.respond(l.ID, `{"choice":"once"}`)
					l = c.next()
				}
				got := l.answer(t)
				var in struct{ Command string }
				_ = json.Unmarshal(got.UpdatedInput, &in) // a denial has none
				inside := applies && line != "git push" && line != "curl https://a.example"
				if (got.Behavior == "allow") != (line != "curl https://a.example") {
					t.Errorf("%s: %s", line, l.text)
					continue
				}
				id, rewritten := strings.CutPrefix(in.Command, "/bin/agent-wrapper within ")
				if rewritten != inside || !rewritten && got.Behavior == "allow" && in.Command != line {
					t.Errorf("%s: runs %q", line, in.Command)
				}
				if !rewritten {
					continue
				}
				if p, err := c.dirs.TakePermit(id, c.dir); err != nil || p.Line != line {
					t.Errorf("%s: %+v, %v", line, p, err)
				}
				if _, err := c.dirs.TakePermit(id, c.dir); err == nil {
					t.Errorf("%s runs twice", line)
				}
			}
		})
	}
}
