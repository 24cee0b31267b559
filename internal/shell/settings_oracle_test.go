//go:build oracle && unix

package shell

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// gitStubs are settings of a hostile repository; each value is a program that leaves a
// mark of the setting's name and does no more than its text.
var gitStubs = map[string]string{
	"core.fsmonitor": "exit 1", "filter.f.clean": "cat", "filter.f.smudge": "cat", "diff.f.textconv": `cat "$1"`, "merge.f.driver": "exit 1",
	"gpg.program": "exit 1", "core.editor": "exit 1", "sequence.editor": "exit 1", "core.pager": "cat", "core.sshCommand": "exit 1", "core.askPass": "exit 1",
	"credential.helper": "exit 1", "interactive.diffFilter": "cat", "core.alternateRefsCommand": "exit 1", "man.x.cmd": "exit 1", "gc.recentObjectsHook": "exit 1",
	"trailer.x.cmd": "echo x", "tar.tar.gz.command": "cat", "diff.external": "exit 1", "diff.f.command": "exit 1",
}

// gitLines are what is run in that repository. Nothing there leaves it: its only remote
// is one that the stub of core.sshCommand would have to reach.
var gitLines = `status;status -s;status -v;status -vv;status --porcelain=v2 --branch;diff;diff --cached;diff HEAD~1 HEAD;diff --stat;diff --name-only;diff --no-index a.txt b.txt
log;log -p;log -U1;log --stat;log -S more;log -G more;log -L1,1:a.txt;log --cc;log --name-status --oneline --graph;log -1 --format=%G?;log -n 1 --show-signature;log -m -1;log --remerge-diff;log --word-diff
show;show HEAD:a.txt;show --stat;show v2;rev-parse HEAD;blame a.txt;blame b.txt;annotate b.txt;shortlog HEAD;describe;describe --dirty;describe --broken;describe --tags --long
cat-file -p HEAD;cat-file --filters HEAD:a.txt;cat-file --textconv HEAD:a.txt;ls-files;ls-files -m;ls-files -o;ls-tree HEAD;for-each-ref;for-each-ref --format=%(signature);rev-list HEAD
name-rev HEAD;grep one;grep --cached one;grep --textconv one;grep one HEAD;count-objects;var GIT_EDITOR;version;--version;help status;status --help;show-ref;show-branch;merge-base HEAD other
diff-tree -p HEAD;diff-files;diff-files -p;diff-index HEAD;diff-index -p HEAD;range-diff HEAD~1..HEAD other..HEAD;cherry other;check-ignore a.txt;check-attr -a a.txt;verify-commit HEAD;verify-tag v2
fsck;worktree list;stash list;stash list -p;stash show;stash show -p;remote;remote -v;remote show origin;remote get-url origin;reflog;reflog -p;config --list;config --get core.pager;config -e;branch;branch -v
branch --edit-description;tag;tag -l;tag -v v2;tag -a x;ls-remote;fetch;add b.txt;add -e;add -p;commit -m x;commit -am x;commit -v;checkout b.txt;checkout other;switch other;restore b.txt;reset;stash;merge other
rebase other;cherry-pick other;archive HEAD;archive --format=tar.gz HEAD;hash-object b.txt;merge-tree HEAD other;symbolic-ref HEAD;update-index --refresh;bisect log;format-patch -1 --stdout;clean -n;rm --cached a.txt
mv a.txt z.txt;gc;prune -n;repack;push origin main;pull;difftool --no-prompt;submodule status;submodule update;am --show-current-patch;interpret-trailers a.txt;notes list;notes show;fast-export HEAD;bundle create x HEAD`

// TestObeyedByGit runs real git in a repository whose settings name programs: what one
// of them ran for, Obeyed says.
func TestObeyedByGit(t *testing.T) {
	ran := map[string]bool{}
	for _, without := range []string{"", "diff.external diff.f.command"} { // they stand before textconv
		for line := range strings.FieldsFuncSeq(gitLines, func(r rune) bool { return r == ';' || r == '\n' }) {
			settings, marks, _ := gitRuns(t, line, strings.Fields(without))
			a := Analyze("git "+line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}).Actions[0]
			for _, mark := range marks {
				ran[mark] = true
				if mark == "hooks/post-index-change" && (a.obeys()&byChange != 0 || strings.HasPrefix(line, "add")) {
					continue // the hooks of what changes something belong to it
				}
				at := slices.IndexFunc(settings, func(s Setting) bool { return s.Key == mark })
				if _, obeyed := a.Obeyed(settings[at : at+1]); !obeyed {
					t.Errorf("git %s ran what %s names", line, mark)
				}
			}
		}
	}
	if len(ran) < 10 {
		t.Errorf("only %d settings were obeyed at all: %v", len(ran), ran)
	}
}

// moreNames are further lines of git that show no contents, or might seem to.
const moreNames = `log --stat --oneline -5;log --numstat -m -1;log -1 --format=%B%n%ad%N;log --graph --all --decorate;diff --stat HEAD~1;diff --numstat HEAD~1 HEAD;diff --name-status HEAD~1 -- a.txt
diff --stat -w HEAD~1;diff --shortstat --cached;diff --summary -M HEAD~1;diff -s HEAD~1;diff --dirstat HEAD~1;diff --stat HEAD~1:a.txt HEAD:a.txt;diff --compact-summary HEAD~1;diff --stat -U3 HEAD~1
branch -a -vv;branch --show-current;tag -l -n5;remote -v;ls-files -s;ls-files -m --eol;ls-tree -r -l HEAD;rev-parse --show-toplevel;show-ref --head;for-each-ref --format=%(contents)%(objectsize)
describe --always --long;name-rev --all;count-objects -vH;show-branch --list;cherry -v main other;stash list --stat;reflog --stat;reflog show -2;merge-base --all HEAD other;status -s -b --ignored -u;status --long --show-stash`

// TestNamesElsewhereOfGit runs real git: what NamesElsewhere says shows no contents of
// files prints none.
func TestNamesElsewhereOfGit(t *testing.T) {
	quiet := 0
	for line := range strings.FieldsFuncSeq(gitLines+";"+moreNames, func(r rune) bool { return r == ';' || r == '\n' }) {
		a := Analyze("git -C /other "+line, Options{Dir: "/p", Home: "/h", Workspace: "/p"}).Actions[0]
		if !a.NamesElsewhere() {
			continue
		}
		quiet++
		_, _, printed := gitRuns(t, line, nil)
		for _, text := range []string{"one\nmore", "+more", " more", "changed\n", "stashed\n"} {
			if strings.Contains(printed, text) {
				t.Errorf("git %s printed %q:\n%s", line, text, printed)
			}
		}
	}
	if quiet < 50 {
		t.Errorf("only %d lines show no contents", quiet)
	}
}

// gitRuns makes the repository anew, runs git there and returns its settings, the
// keys of those that were obeyed, and what git printed.
func gitRuns(t *testing.T, line string, without []string) (settings []Setting, marks []string, printed string) {
	t.Helper()
	top := t.TempDir()
	repo := filepath.Join(top, "repo")
	for _, dir := range []string{repo, top + "/bin", top + "/marks", top + "/home"} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	git := func(args ...string) string {
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
		defer stop()
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = repo
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + top + "/home", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example",
		}
		out, err := os.Create(filepath.Join(top, "out")) // what stays in the background would hold a pipe
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		cmd.Run() // a stub that fails makes git fail
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	file := func(name, text string) { write(filepath.Join(repo, name), text, 0o644) }
	git("init", "-q", "-b", "main")
	file(".gitattributes", "* filter=f diff=f merge=f\n")
	file("a.txt", "one\n")
	file("b.txt", "two\n")
	git("add", ".")
	git("commit", "-qm", "one")
	git("branch", "other")
	file("a.txt", "one\nmore\n")
	git("commit", "-qam", "two")
	git("tag", "-a", "-m", "x", "v2")
	file("b.txt", "stashed\n")
	git("stash", "-q")
	file("b.txt", "changed\n")
	os.Chtimes(filepath.Join(repo, "a.txt"), time.Now(), time.Unix(1, 0))
	for key, does := range gitStubs {
		if slices.Contains(without, key) {
			continue
		}
		at := filepath.Join(top, "bin", key)
		write(at, "#!/bin/sh\n: >'"+top+"/marks/"+strings.ToLower(key)+"'\n"+does+"\n", 0o755)
		git("config", key, at)
		settings = append(settings, Setting{strings.ToLower(key), at})
	}
	git("config", "remote.origin.url", "ssh://nowhere.invalid/x")
	git("config", "man.viewer", "x")
	git("config", "help.format", "man")
	git("config", "trailer.x.key", "X")
	hook := filepath.Join(repo, ".git/hooks/post-index-change")
	write(hook, "#!/bin/sh\nmkdir -p '"+top+"/marks/hooks' && : >'"+top+"/marks/hooks/post-index-change'\n", 0o755)
	settings = append(settings, Setting{"hooks/post-index-change", hook})
	os.RemoveAll(top + "/marks")
	os.Mkdir(top+"/marks", 0o755)
	printed = git(strings.Fields(line)...)
	for _, s := range settings {
		if _, err := os.Stat(filepath.Join(top, "marks", s.Key)); err == nil {
			marks = append(marks, s.Key)
		}
	}
	return settings, marks, printed
}
