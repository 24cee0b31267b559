package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// unreadFS is a file system whose repositories cannot be read.
type unreadFS struct{ fakeFS }

func (unreadFS) Settings(string) ([]shell.Setting, bool) { return nil, false }

// TestRepository checks that a command that runs what the repository's own configuration names
// is proven by no prefix and by no tier, and the question names the setting.
func TestRepository(t *testing.T) {
	monitor := fakeFS{settings: []shell.Setting{{Key: "core.fsmonitor", Value: "./x"}}}
	for _, tt := range []struct {
		about, allow, line string
		env                Env
		want               Behavior
		says               string
	}{
		{"by tier", "", "git status", monitor, Ask, "git runs what core.fsmonitor names in the repository's own configuration"},
		{"by a prefix", "Bash(git status:*)", "git status -s", monitor, Ask, "core.fsmonitor"},
		{"by a wider prefix", "Bash(git:*)", "git diff", monitor, Ask, "core.fsmonitor"},
		{"by the very words", "Bash(git status)", "git status", monitor, Ask, "core.fsmonitor"},
		{"behind words", "Bash(timeout 5 git status)", "timeout 5 git status", monitor, Ask, "core.fsmonitor"},
		{"by the tool", "Bash", "git status", monitor, Allow, ""},
		{"another subcommand", "", "git log --oneline", monitor, Allow, ""},
		{"another program", "", "ls", monitor, Allow, ""},
		{"another setting", "", "git status", fakeFS{settings: []shell.Setting{{Key: "user.name", Value: "x"}}}, Allow, ""},
		{"unread", "", "git log", unreadFS{}, Ask, "the repository's own configuration cannot be read, and may name a program for git"},
		{"no file system", "", "git log", nil, Ask, ""},
		{"in a list", "", "ls && git status | head", monitor, Ask, "core.fsmonitor"},
		{"behind a wrapper", "", "timeout 5 git status", monitor, Ask, "core.fsmonitor"},
		{"in a subdirectory", "", "cd src && git -C deep status", monitor, Ask, "core.fsmonitor"},
		{"by a tool", "Bash(go build:*)", "go build ./...", monitor, Ask, "go runs what core.fsmonitor names"},
	} {
		s := spec{allow: tt.allow, risk: true}
		p := s.policy(t)
		use := using("Bash", tt.line)
		use.Dir = workspace
		d := Evaluate(p, nil, &use, tt.env, nil)
		if d.Behavior != tt.want || !strings.Contains(d.Reason, tt.says) {
			t.Errorf("%s: %v: %s", tt.about, d.Behavior, d.Reason)
		}
	}
}

// TestAnsweredForProject: a rule that an answer has left covers what the question was about, and
// no rule of a policy is said to.
func TestAnsweredForProject(t *testing.T) {
	monitor := fakeFS{settings: []shell.Setting{{Key: "core.fsmonitor", Value: "./x"}}}
	asked := spec{risk: true, env: monitor}.decideOn(t, using("Bash", "git status"))
	if asked.Behavior != Ask || len(asked.Parts) == 0 || asked.Parts[0].Exact != "Bash(git status)" || asked.Parts[0].Allows {
		t.Errorf("the question: %+v", asked)
	}
	if d := (spec{risk: true, env: monitor, sessionAllow: "Bash(git status)"}).decideOn(t, using("Bash", "git status")); d.Behavior != Allow {
		t.Errorf("after the answer: %v: %s", d.Behavior, d.Reason)
	}
}

// countedFS counts what is asked about repositories.
type countedFS struct {
	fakeFS
	asked *int
}

func (f countedFS) Settings(string) ([]shell.Setting, bool) { *f.asked++; return nil, true }

// TestRepositoryOnce checks that the repository of a directory is read once for a tool use.
func TestRepositoryOnce(t *testing.T) {
	for line, want := range map[string]int{"git status; git diff; git log": 1, "git status; git -C x status": 2, "ls": 0} {
		asked := 0
		spec{env: countedFS{asked: &asked}}.decideOn(t, using("Bash", line))
		if asked != want {
			t.Errorf("%q: asked %d times, want %d", line, asked, want)
		}
	}
}
