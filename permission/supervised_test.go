package permission

import (
	"strings"
	"testing"
)

// An agent gains nothing by running its commands through agent-wrapper exec,
// with any flags: what is run needs its own cover, and deny rules match it.
func TestSupervised(t *testing.T) {
	s := spec{allow: "Bash(agent-wrapper:*); Bash(ls:*)", deny: "Bash(touch y:*)"}
	for _, tt := range []struct{ line, want string }{
		{"agent-wrapper exec -- ls -l", "allow"},
		{"agent-wrapper exec -- 'ls -l; ls'", "allow"},
		{"agent-wrapper exec --allow Bash --timeout 5s -- ls", "allow"},
		{"agent-wrapper exec history --json", "allow"},
		{"agent-wrapper exec session list", "allow"},
		{"agent-wrapper exec -- touch x", "ask"},
		{"agent-wrapper exec --allow Bash -- touch x", "ask"},
		{"agent-wrapper exec -- 'ls; touch x'", "ask"},
		{"agent-wrapper exec -- 'touch x'", "ask"},
		{"agent-wrapper exec -- history x", "ask"}, // another program with that name
		{"agent-wrapper exec -- session list", "ask"},
		{"agent-wrapper exec --session -- -- touch x", "ask"},
		{"agent-wrapper exec -- $x", "ask"},
		{`agent-wrapper exec -- "$x"`, "ask"},
		{"agent-wrapper exec -- ls $x", "ask"}, // $x may be the only argument, and then a command line
		{"agent-wrapper exec --shell zsh -- ls", "ask"},
		{"agent-wrapper exec --temp-dir -- ls", "ask"},
		{"agent-wrapper exec --kubeconfig k -- ls", "ask"},
		{"agent-wrapper exec --policy p.toml -- ls", "ask"},
		{"agent-wrapper exec --cwd /etc -- ls", "ask"},
		{"agent-wrapper exec --audit log -- ls", "ask"},
		{"agent-wrapper run --prompt x", "ask"},
		{"agent-wrapper --agent-command ./x --prompt y", "ask"},
		{"agent-wrapper exec -- touch y", "deny"},
		{"agent-wrapper exec -- 'ls && touch y'", "deny"},
		{"./agent-wrapper exec -- sh -c 'touch y'", "deny"},
		{"agent-wrapper exec -- agent-wrapper exec -- touch y", "deny"},
	} {
		d := s.decideOn(t, using("Bash", tt.line))
		if got, _, _ := strings.Cut(outcome(d), " "); got != tt.want {
			t.Errorf("%s: %s (%s), want %s", tt.line, got, d.Reason, tt.want)
		}
	}
}
