package shell

import (
	"strings"
	"testing"
)

// gitDangers are settings, with a value, that make git run, obey, contact or write
// something else and are therefore not harmless (git-config(1)).
var gitDangers = []string{
	"core.pager x", "core.editor x", "core.fsmonitor ./x", "core.sshCommand x", "core.hooksPath .x", "core.askPass x", "core.gitProxy x",
	"core.alternateRefsCommand x", "core.attributesFile x", "core.worktree /x", "core.bare true", "core.protectNTFS false", "core.protectHFS false",
	"difftool.x.path ./x", "difftool.x.cmd x", "diff.tool ./x", "diff.guitool ./x", "diff.external x", "diff.x.command x", "diff.x.textconv x",
	"mergetool.x.path ./x", "mergetool.x.cmd x", "merge.tool x", "merge.guitool x", "merge.x.driver x", "filter.x.clean x", "filter.x.smudge x", "filter.x.process x",
	"gpg.program x", "gpg.ssh.program x", "gpg.ssh.defaultKeyCommand ./x", "sendemail.headerCmd x", "sendemail.toCmd x", "sendemail.smtpServer ./x",
	"instaweb.httpd x", "instaweb.modulePath x", "browser.x.path ./x", "browser.x.cmd x", "web.browser x", "help.browser x", "help.autoCorrect immediate",
	"man.x.path ./x", "man.x.cmd x", "man.viewer ./x", "interactive.diffFilter x", "imap.tunnel x", "remote.x.vcs ext", "remote.x.uploadpack x", "remote.x.receivepack x",
	"remote.x.proxy x", "remote.x.push +refs/*:refs/*", "remote.x.mirror true", "url.x.insteadOf y", "url.x.pushInsteadOf y", "submodule.x.update !x",
	"protocol.ext.allow always", "protocol.allow always", "gc.recentObjectsHook ./x", "uploadpack.packObjectsHook x", "svn.authorsProg x",
	"lfs.customtransfer.x.path ./x", "lfs.standalonetransferagent x", "lfs.url https://x.example/", "lfs.extension.x.clean x",
	"trace2.normalTarget /x", "trace2.eventTarget x", "trace2.perfTarget x", "credential.helper x", "credential.https://x.helper x", "sequence.editor x",
	"include.path x", "includeIf.gitdir:x.path y", "pager.log x", "init.templateDir x", "safe.directory *", "safe.bareRepository all",
	"http.proxy x", "http.sslVerify false", "http.extraHeader x", "http.cookieFile x", "clean.requireForce false", "branch.x.mergeOptions -sx", "pull.twohead x",
	"format.outputDirectory x", "extensions.worktreeConfig true", "ssh.variant x", "guitool.x.cmd x", "alias.x !x", "alias.x -c", "remote.x.url ext::x", "remote.x.url x::y",
	"remote.x.pushurl x::y", "submodule.x.url x::y", "branch.x.remote x::y", "x.y z", "core.unheard z", "user.hookspath z", "a.b.c z",
}

// gitSpellings are ways to write a setting: %k is its name, %v its value.
var gitSpellings = []string{
	"git config %k %v", "git config set %k %v", "git config --local %k %v", "git config --add %k %v", "git config --replace-all %k %v", "git config --worktree %k %v",
	"git config --local --add %k %v", "git config set --all %k %v", "git -C sub config %k %v", "git config --type=path %k %v", "git config --fixed-value %k %v",
	"git -p config %k %v", "cd sub && git config %k %v", "command git config %k %v", "env git config %k %v", "bash -c \"git config %k %v\"",
}

// TestGitSettings checks that any setting not known to be harmless, however it is
// written, is a write to the repository's settings and may run a program.
func TestGitSettings(t *testing.T) {
	for _, danger := range gitDangers {
		key, value, _ := strings.Cut(danger, " ")
		for _, name := range []string{key, strings.ToUpper(key), "'" + key + "'"} {
			if strings.Count(key, ".") > 1 && name == strings.ToUpper(key) {
				continue // the part in the middle is another name then
			}
			for _, spelling := range gitSpellings {
				line := strings.NewReplacer("%k", name, "%v", "'"+value+"'").Replace(spelling)
				if found := ownWrites(line); len(found) != 1 || !strings.HasSuffix(found[0], "/.git/config") || !mayRun(line) {
					t.Errorf("%s: writes %q, opaque %v", line, found, mayRun(line))
				}
			}
		}
	}
	for _, line := range []string{
		"git config $k v", "git config user.$k v", "git config --rename-section color core", "git config rename-section a b", "git config remote.x.url $v", "git config alias.x $v",
	} {
		if found := ownWrites(line); len(found) != 1 || !mayRun(line) {
			t.Errorf("%s: writes %q, opaque %v", line, found, mayRun(line))
		}
	}
	for line, want := range map[string]string{
		"git config --global core.pager x": "/h/.gitconfig", "git config --system core.pager x": "/etc/gitconfig", "npm config set registry x": "/h/.npmrc",
	} {
		if found := ownWrites(line); len(found) != 1 || found[0] != want {
			t.Errorf("%s: writes %q, want %s", line, found, want)
		}
	}
}

// TestHarmlessGitSettings checks that settings that git itself writes routinely need
// no attention.
func TestHarmlessGitSettings(t *testing.T) {
	for _, line := range []string{
		"git config user.name me", "git config set user.email me@x.example", "git config --local core.autocrlf input", "git config branch.main.merge refs/heads/main",
		"git config branch.main.remote origin", "git config remote.origin.url https://x.example/y.git", "git config remote.origin.url git@x.example:y.git",
		"git config remote.origin.url 'ssh://git@[::1]/y'", "git config color.ui auto", "git config color.diff.meta 'yellow bold'", "git config alias.st status",
		"git config alias.lg 'log --oneline'", "git config USER.NAME me", "git config pull.rebase true", "git config submodule.x.branch main",
		"git config --unset core.pager", "git config unset core.pager", "git config --remove-section alias", "git config --get core.pager x", "git config get core.pager",
		"git config core.pager", "git config --list", "git config user.name $name", "git remote add origin https://x.example/y.git", "git remote set-url origin git@x.example:y",
		"git commit -m x", "git init", "git branch -u origin/main", "git fetch", "git gc",
	} {
		if found := ownWrites(line); len(found) != 0 || mayRun(line) {
			t.Errorf("%s: writes %q, opaque %v", line, found, mayRun(line))
		}
	}
	for _, line := range []string{"git config --global user.name me", "npm config set fund false", "npm config delete editor", "git config --global --unset core.pager"} {
		if found := ownWrites(line); len(found) != 0 || mayRun(line) {
			t.Errorf("%s: writes %q that is not harmless", line, found)
		}
	}
}

// ownWrites returns the settings files that a line writes in a way that is not
// harmless.
func ownWrites(line string) []string {
	var paths []string
	for _, a := range Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}).Actions {
		if a.Kind == Write && a.Own && !a.Harmless {
			paths = append(paths, a.Path.Text)
		}
	}
	return paths
}

func mayRun(line string) bool {
	return hasOpaque(Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}), MayRun)
}
