package permission

import (
	"strings"
	"testing"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// TestNamesElsewhere checks which commands of git run in a repository outside the
// workspace by their tier: those that show no contents of files there and run nothing.
func TestNamesElsewhere(t *testing.T) {
	files := []string{
		"/home/dev/other/.git/config", "/home/dev/other/src/x.go", "/home/dev/proj/.git/config", "/home/dev/.hid/x/.git/config",
		"/home/eve/shared/repo/.git/config", "/home/dev/plain/x", "/home/dev/code/a/.git/config", "/tmp/evil/.git/config", "/home/dev/linked/x", "/home/dev/theirs/x",
	}
	env := fakeFS{
		files:  files,
		links:  map[string]string{"/home/dev/proj/out": "/home/dev/other", "/home/dev/linked/.git": "/home/dev/other/.git", "/home/dev/proj/far": "/home/eve/shared/repo"},
		others: []string{"/home/dev/theirs/.git", "/home/eve/shared", "/home"},
	}
	with := func(key, value string) fakeFS {
		e := env
		e.settings = []shell.Setting{{Key: key, Value: value}}
		return e
	}
	monitor := with("core.fsmonitor", "./x")
	for _, tt := range []struct {
		about, line string
		env         Env
		want        Behavior
	}{
		{"the state", "cd /home/dev/other && git status", env, Allow},
		{"by the option", "git -C /home/dev/other status -sb", env, Allow},
		{"below its top", "git -C /home/dev/other/src log --oneline -5 | head", env, Allow},
		{"a summary", "git -C /home/dev/other diff --stat HEAD~1", env, Allow},
		{"branches", "git -C /home/dev/other branch -a", env, Allow},
		{"through a link", "git -C out status", env, Ask},
		{"nothing there", "cd /home/dev/code/none && git log --oneline", env, Allow},

		{"a patch", "git -C /home/dev/other log -p", env, Ask},
		{"a patch beside a summary", "git -C /home/dev/other log --stat -p", env, Ask},
		{"lines", "git -C /home/dev/other log -L1,2:a.go", env, Ask},
		{"a difference", "git -C /home/dev/other diff", env, Ask},
		{"a difference beside a summary", "git -C /home/dev/other diff --stat -U3", env, Ask},
		{"a difference without a summary", "git -C /home/dev/other diff --cached", env, Ask},
		{"an object", "git -C /home/dev/other show --stat HEAD", env, Ask},
		{"a file", "git -C /home/dev/other show HEAD:a.go", env, Ask},
		{"a search", "git -C /home/dev/other grep x", env, Ask},
		{"the configuration", "git -C /home/dev/other config --list", env, Ask},
		{"a change", "git -C /home/dev/other branch x", env, Ask},
		{"other files", "git -C /home/dev/other diff --stat ../secret ../a", env, Ask},
		{"an option that is not known", "git -C /home/dev/other log --stat --pat", env, Ask},
		{"a word that is not known", "git -C /home/dev/other log $x", env, Ask},
		{"a directory that is not known", "git -C $x status", env, Ask},
		{"a variable of git", "GIT_DIR=/x git -C /home/dev/other status", env, Ask},
		{"another repository by name", "git -C /home/dev/other --git-dir=/x status", env, Ask},

		{"a setting that runs", "git -C /home/dev/other status", monitor, Ask},
		{"a setting that this does not obey", "git -C /home/dev/other log --oneline", monitor, Allow},
		{"a setting that another obeys", "git -C /home/dev/other diff --stat", with("diff.x.textconv", "./x"), Ask},
		{"not read", "git -C /home/dev/other status", unreadFS{env}, Ask},
		{"no file system", "git -C /home/dev/other status", nil, Ask},
		{"a repository of others", "git -C /home/dev/theirs status", env, Ask},
		{"a directory without a repository", "git -C /home/dev/plain status", env, Ask},
		{"own in one of others", "git -C /home/eve/shared/repo status", env, Allow},
		{"one of others through a link", "git -C far status", env, Ask},
		{"a link in place of the repository", "git -C /home/dev/linked status", env, Ask},
		{"below a directory with a dot", "git -C /home/dev/.hid/x status", env, Ask},
		{"nothing there, and others may make it", "cd /home/none && git log --oneline", env, Ask},
		{"with the temporary files", "cd /tmp/evil && git status", env, Ask},
		{"made by the line", "cp -r evil/.git /home/dev/code/none/ && git -C /home/dev/code/none status", env, Ask},
		{"made by an allowed line", "tar xf x.tar -C /home/dev/code/none; git -C /home/dev/code/none status", env, Ask},
	} {
		s := spec{allow: "Bash(tar:*); Edit(/home/dev/code/none/**)", risk: true, unlisted: UnlistedRisk}
		p := s.policy(t)
		use := using("Bash", tt.line)
		use.Dir = workspace
		d := Evaluate(p, nil, &use, tt.env, nil)
		if d.Behavior != tt.want {
			t.Errorf("%s: %v: %s", tt.about, d.Behavior, d.Reason)
		}
	}
}

// TestNamesElsewhereOnly checks that neither a rule nor a mode of a person's own
// terminal counts differently for it.
func TestNamesElsewhereOnly(t *testing.T) {
	env := fakeFS{files: []string{"/home/dev/other/.git/config"}}
	use := using("Bash", "cd /home/dev/other && git status")
	use.Dir = workspace
	for _, s := range []spec{
		{allow: "Bash(cd:*); Bash(git status:*)", risk: true, unlisted: UnlistedAsk},
		{ask: "Bash(git status:*)", risk: true, unlisted: UnlistedRisk},
	} {
		p := s.policy(t)
		if d := Evaluate(p, nil, &use, env, nil); d.Behavior == Allow || strings.Contains(d.Reason, "no contents") {
			t.Errorf("%+v: %v: %s", s, d.Behavior, d.Reason)
		}
	}
}
