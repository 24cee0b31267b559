//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// layUpward lays a policy two directories above the workspace, one between that
// nobody trusts and that would loosen everything, and a repository that hides both
// if it may.
func layUpward(t *testing.T, b *box, forged bool) {
	t.Helper()
	b.Work = b.Dir + "/repo/npm/src"
	b.write("repo/agent-wrapper.toml", "allow = [\"Read\", \"Bash\"]\nask = [\"Bash(rm:*)\"]\ndeny = [\"Read(.env)\", \"Edit(./npm/lib/**)\"]\n")
	b.write("repo/npm/agent-wrapper.local.toml", "mode = \"bypassPermissions\"\nallow = [\"Bash\", \"Read\", \"Edit\"]\napproved = [\"Bash(rm:*)\"]\n")
	b.write("repo/.env", "TOKEN=secret-above\n")
	b.write("repo/npm/.env", "TOKEN=secret-between\n")
	b.write("repo/npm/src/a.js", "secret-of-js\n")
	b.write("repo/npm/lib/b.js", "old\n")
	if forged {
		b.write("repo/npm/src/.git/HEAD", "ref: refs/heads/main\n")
	}
	cmd := exec.Command(binary(t), "trust", "--yes", b.Dir+"/repo/agent-wrapper.toml")
	cmd.Dir, cmd.Env = b.Dir, b.env()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestUpward: a policy two directories up binds the agent, whatever is on the way.
func TestUpward(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	eachRelease(t, func(t *testing.T, r release) {
		for _, forged := range []bool{false, true} {
			b := newBox(t)
			layUpward(t, b, forged)
			read := func(name, path string) call {
				return call{Name: name, Tool: "Read", Input: in{"file_path": b.Dir + "/repo/" + path}}
			}
			rows := []row{
				{call: bash("list", "cat a.js"), Says: "secret-of-js"},
				{call: read("file", "npm/src/a.js"), Says: "secret-of-js"},
				{call: bash("between", "cat ../.env"), Says: "secret-between"},
				{call: bash("above", "cat ../../.env"), Says: "secret-above"},
				{call: read("read-between", "npm/.env"), Says: "secret-between"},
				{call: read("read-above", ".env"), Says: "secret-above"},
				{call: bash("remove", "rm ../lib/b.js"), Gone: "repo/npm/lib/b.js"},
				{call: bash("change", "touch ../lib/new.js"), Mark: "repo/npm/lib/new.js"},
				{call: bash("policy", "rm ../../agent-wrapper.toml"), Gone: "repo/agent-wrapper.toml"},
				{call: call{Name: "new-policy", Tool: "Write", Input: in{"file_path": b.Dir + "/repo/npm/agent-wrapper.toml", "content": "x"}}, Mark: "repo/npm/agent-wrapper.toml"},
				{call: bash("mark", "touch done"), Mark: "repo/npm/src/done"},
			}
			allowed := map[string]bool{"list": true, "file": true, "mark": true}
			s := script{}
			for _, x := range rows {
				s["main"] = append(s["main"], turn{x.call})
			}
			m := startModel(t, s)
			before := b.snapshot()
			x := wrapped{release: r}
			x.run(t, b, m, startWeb(t, b))
			v := judge(b, m, rows, before, record(t, b), func(r row) bool { return allowed[r.Name] })
			report(t, v)
			if text, err := os.ReadFile(b.Dir + "/repo/agent-wrapper.toml"); err != nil || !strings.Contains(string(text), "Read(.env)") {
				t.Errorf("the policy became %s, %v", text, err)
			}
		}
	})
}
