package shell

import (
	"strings"
	"testing"
)

// TestObeyed checks which command runs what a setting names: the subcommands that only
// look, each on its occasions, and whatever is not known on all of them.
func TestObeyed(t *testing.T) {
	for setting, lines := range map[string]string{ // lines that obey it, "!" before those that do not
		"core.fsmonitor ./x":               "git status;git diff;git diff --cached;git ls-files;git grep x;git blame a;git add .;git commit -m x;git describe --dirty;git describe --broken;git x;git checkout x;git stash;git diff-index HEAD;git -C sub status;git --no-pager diff;go build;go install ./...;go run .;!git log;!git show;!git rev-parse HEAD;!git describe;!git remote -v;!git --version;!git config --list;!git stash list;!go version;!go vet;!ls;!git worktree list",
		"core.fsmonitor true":              "!git status",
		"core.fsmonitor FALSE":             "!git status",
		"core.fsmonitor ":                  "!git status",
		"filter.f.clean x":                 "git status;git diff;git blame a;git add a;git commit -a;git x;go build;!git log;!git log -p;!git show;!git cat-file -p x",
		"filter.f.smudge x":                "git diff;git show;git log -p;git log -S x;git log --some;git checkout x;git archive x;git cat-file --filters x;git stash show;git status -v;!git status;!git log --stat -n 3;!git log --oneline --graph --all;!git ls-files;!git cat-file -p x",
		"filter.f.process x":               "git status;git show;git checkout x;!git log",
		"filter.f.required true":           "!git status",
		"filter.f.unheard x":               "git status;git show",
		"diff.f.textconv x":                "git diff;git show;git log -p;git log -U3;git log -G x;git blame a;git grep --textconv x;git cat-file --textconv x;git stash show -p;git x;!git status;!git log;!git grep x;!git cat-file -p x",
		"diff.external x":                  "git diff;git show;!git status;!git log",
		"diff.f.command x":                 "git diff;!git status",
		"diff.renames true":                "!git diff",
		"diff.f.xfuncname x":               "!git diff",
		"diff.unheard x":                   "git diff;!git status",
		"hooks/post-index-change /x":       "git status;git diff;git describe --dirty;go build;!git log;!git commit -m x;!git add a;!git checkout x",
		"gpg.program x":                    "git log;git show;git verify-tag v;git rev-list HEAD;git for-each-ref;git tag -v x;git commit -m x;!git status;!git diff;!git ls-files",
		"gpg.ssh.defaultkeycommand x":      "git commit -m x;git tag -s x",
		"gpg.format ssh":                   "!git log",
		"core.sshcommand x":                "git fetch;git push;git pull;git ls-remote;git remote show origin;git remote update;git x;!git status;!git log;!git commit -m x;!git remote -v;!git remote get-url origin",
		"remote.origin.url https://x/y":    "!git fetch;!git status",
		"remote.origin.url ext::x":         "git fetch;!git log",
		"remote.origin.vcs x":              "git fetch;!git log",
		"remote.origin.gh-resolved base":   "!git push",
		"branch.main.remote x::y":          "git pull;!git status",
		"branch.main.unheard x":            "!git push;!git pull",
		"url.git@x:.insteadof https://x/":  "!git push",
		"url.ext::x.insteadof https://x/":  "git push",
		"url.ext:.insteadof x":             "git push",
		"credential.helper x":              "git push;!git status",
		"credential.https://x.helper x":    "git push",
		"submodule.s.update !x":            "git submodule update;!git status",
		"submodule.s.update merge":         "!git submodule update",
		"core.editor x":                    "git commit;git rebase;git tag -a x;git branch --edit-description;git add -e;!git status;!git log;!git add a",
		"merge.f.driver x":                 "git merge x;git rebase x;git cherry-pick x;!git status",
		"core.pager x":                     "git log;git status;git rev-parse HEAD;git x",
		"pager.log x":                      "git log",
		"pager.branch false":               "!git branch",
		"core.unheard x":                   "git status;git log;git rev-parse HEAD",
		"core.bare true":                   "!git status",
		"core.hookspath .husky/_":          "!git status;!git commit -m x",
		"core.repositoryformatversion 1":   "!git status",
		"extensions.worktreeconfig true":   "!git status",
		"alias.st !x":                      "git st;git ST;git $x;!git status",
		"alias.st status":                  "!git st",
		"alias.st -c core.fsmonitor=x log": "git st",
		"man.x.cmd x":                      "git help status;git status --help;git x;!git status",
		"hook.x.command y":                 "git status;git commit -m x;git push;!git log",
		"lfs.https://x.access basic":       "!git push",
		"lfs.customtransfer.x.path y":      "git push;git status;!git log",
		"gitflow.prefix.feature x":         "!git status;!git push",
		"user.name x":                      "!git status",
	} {
		key, value, _ := strings.Cut(setting, " ")
		for line := range strings.SplitSeq(lines, ";") {
			line, not := strings.CutPrefix(line, "!")
			got := false
			for _, a := range Analyze(line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}).Actions {
				found, obeyed := a.Obeyed([]Setting{{"user.email", "x"}, {key, value}})
				got = got || obeyed
				if obeyed && found.Key != key {
					t.Errorf("%s names %s", line, found.Key)
				}
			}
			if got == not {
				t.Errorf("%s obeys %s: %v", line, setting, got)
			}
		}
	}
}

// TestObeyedByPromise checks that in a partial clone every command may fetch.
func TestObeyedByPromise(t *testing.T) {
	ssh := Setting{"core.sshcommand", "x"}
	for _, promise := range []string{"remote.origin.promisor", "extensions.partialclone", "remote.origin.partialclonefilter"} {
		a := Analyze("git log", Options{Dir: "/p", Workspace: "/p"}).Actions[0]
		if _, obeyed := a.Obeyed([]Setting{ssh, {promise, "true"}}); !obeyed {
			t.Errorf("git log fetches nothing under %s", promise)
		}
	}
}
