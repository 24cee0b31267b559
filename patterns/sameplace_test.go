package patterns

import "testing"

// TestAllowCoversTheSameFile checks that an allow rule covers the file that it names by any
// path to it, and nothing else.
func TestAllowCoversTheSameFile(t *testing.T) {
	t.Parallel()
	ws := here.Workspace
	for _, test := range []struct {
		rule, line string
		want       Match
	}{
		{"Bash(./scripts/a.sh:*)", "scripts/a.sh -x", Yes},
		{"Bash(./scripts/a.sh:*)", ws + "/scripts/a.sh", Yes},
		{"Bash(scripts/a.sh)", "./scripts/a.sh", Yes},
		{"Bash(scripts/a.sh)", ws + "/scripts/./a.sh", Yes},
		{"Bash(" + ws + "/scripts/a.sh:*)", "./scripts/a.sh", Yes},
		{"Bash(./a.sh:*)", ws + "/a.sh", Yes},
		{"Bash(.claude/scripts/*)", ws + "/.claude/scripts/hello", Yes},
		{"Bash(scripts/*)", "./scripts/a.sh x", Yes},
		{"Bash(./scripts/*)", "scripts/a.sh", Yes},
		{"Bash(python3 scripts/a.py:*)", "python3 ./scripts/a.py", Yes},
		{"Bash(python3 ./a.py)", "python3 " + ws + "/a.py", Yes},
		{"Bash(python3 ./a.py)", "python3 a.py", No},
		{"Bash(bash a.sh)", "bash ./a.sh", No},
		{"Bash(bun run build)", "bun run ./build", No},
		{"Bash(bash -c 'a/b c')", "bash -c './a/b c'", No},
		{"Bash(bash ./scripts/a.sh)", "bash " + ws + "/scripts/a.sh", Yes},
		{"Bash(./scripts/a.sh:*)", "scripts/../scripts/a.sh", No},
		{"Bash(./scripts/a.sh:*)", "/other/scripts/a.sh", No},
		{"Bash(./scripts/a.sh:*)", "a.sh", No},
		{"Bash(./a.sh:*)", "a.sh", No},
		{"Bash(a.sh:*)", "./a.sh", No},
		{"Bash(.claude/scripts/*)", ws + "/.claude/scripts/../x", No},
		{"Bash(python3 -m pytest:*)", "python3 ./-m pytest", No},
		{"Bash(python3 -c x)", "python3 ./-c x", No},
		{"Bash(python3 -m x ./y)", "python3 -m x y", No},
		{"Bash(awk x:*)", "awk ./x", No},
		{"Bash(rm x)", "rm ./x", No},
		{"Bash(node a.js x)", "node a.js ./x", No},
		{"Bash(./scripts/a.sh:*)", "cd /tmp; ./scripts/a.sh", No},
		{"Bash(scripts/a.sh:*)", "(cd /tmp && scripts/a.sh)", No},
		{"Bash(./scripts/a.sh:*)", "cd $x; ./scripts/a.sh", No},
		{"Bash(./scripts/a.sh:*)", "env -C /tmp ./scripts/a.sh", No},
		{"Bash(bash scripts/a.sh:*)", "cd /tmp && bash scripts/a.sh", No},
		{"Bash(perl x.pl:*)", "cd /tmp; perl x.pl", No},
		{"Bash(perl x.pl:*)", "cd sub && perl x.pl", Yes},
		{"Bash(./scripts/a.sh:*)", "cd sub && ./scripts/a.sh", Yes},
		{"Bash(cd /tmp && ./a.sh)", "cd /tmp && ./a.sh", Yes},
	} {
		subs := commands(test.line)
		last := subs[len(subs)-1]
		if m := rule(t, test.rule, Allow).match(last, Query{}); m != test.want {
			t.Errorf("allow %s on %q: %v, want %v", test.rule, test.line, m, test.want)
		}
		if m := rule(t, test.rule, Deny).match(last, Query{}); test.want == Yes && m != Yes {
			t.Errorf("deny %s on %q: %v, but allow covers it", test.rule, test.line, m)
		}
	}
}
