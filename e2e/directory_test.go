//go:build e2e

package e2e

import "testing"

// TestDirectory: after a cd, relative paths of the next call are decided in
// the directory that the agent's shell is in.
func TestDirectory(t *testing.T) {
	bash := func(name, command string) call {
		return call{Name: name, Tool: "Bash", Input: in{"command": command, "description": name}}
	}
	rows := []row{
		{call: bash("top-read", "cat b.txt"), Says: "No such file"},
		{call: bash("down", "cd sub"), Passes: true},
		{call: bash("read", "cat b.txt"), Says: "secret-of-b"},
		{call: bash("write", "touch z1"), Mark: "repo/sub/z1"},
		{call: bash("redirect", "echo z > z2"), Mark: "repo/sub/z2"},
		{call: bash("up", "cd .."), Passes: true},
		{call: bash("up-write", "touch z3"), Mark: "repo/z3"},
		{call: bash("up-read", "cat sub/b.txt"), Says: "secret-of-b"},
		{call: bash("out", "cd .."), Passes: true},
		{call: bash("out-write", "touch z4"), Mark: "repo/z4"},
		{call: bash("out-read", "cat sub/b.txt"), Says: "secret-of-b"},
	}
	denied := map[string]bool{"read": true, "write": true, "redirect": true, "up-read": true, "out-read": true}
	for _, r := range releases() {
		t.Run(r.Version, func(t *testing.T) {
			need(t, r)
			b := newBox(t)
			s := script{}
			for _, x := range rows {
				s["main"] = append(s["main"], turn{x.call})
			}
			m := startModel(t, s)
			before := b.snapshot()
			x := wrapped{release: r, Policy: []string{"--allow", "Bash", "--deny", "Read(sub/b.txt),Edit(sub/**)"}}
			x.run(t, b, m, startWeb(t, b))
			v := judge(b, m, rows, before, record(t, b), func(r row) bool { return !denied[r.Name] })
			report(t, v)
		})
	}
}
