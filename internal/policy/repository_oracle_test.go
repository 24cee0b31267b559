//go:build oracle && unix

package policy

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

var (
	repositories = flag.Int("repositories", 300, "hostile repositories to run git in")
	gitSeed      = flag.Uint64("seed", 0, "seed of the generator; 0 takes the time")
)

// gitPrograms are settings that name a program, and what a stub in its place does
// besides leaving a mark.
var gitPrograms = [][2]string{
	{"core.fsmonitor", "exit 1"}, {"filter.f.clean", "cat"}, {"filter.f.smudge", "cat"}, {"filter.f.process", "exit 1"}, {"diff.f.textconv", `cat "$1"`},
	{"diff.external", "exit 1"}, {"diff.f.command", "exit 1"}, {"core.editor", "exit 1"}, {"core.sshcommand", "exit 1"}, {"gpg.program", "exit 1"},
	{"merge.f.driver", "exit 1"}, {"alias.st", "exit 0"}, {"core.askpass", "exit 1"}, {"sequence.editor", "exit 1"}, {"tar.tar.gz.command", "cat"}, {"core.alternaterefscommand", "exit 1"},
}

// gitCommands are tried in the repositories. None leaves the directory: the only remote
// is one that the stub of core.sshCommand would have to reach.
var gitCommands = strings.Split(`status;status -s;status -v;diff;diff --stat;diff HEAD~1;log -1;log -p;log -1 --show-signature;show;show --stat;blame a.txt;ls-files -m;ls-files;grep one;describe --always --dirty;
rev-parse HEAD;stash list;stash show -p;diff-index HEAD;diff-files;add b.txt;commit -am x;checkout other;checkout b.txt;branch -v;fetch;ls-remote origin;config --list;archive HEAD;archive --format=tar.gz HEAD;st;
shortlog HEAD;for-each-ref;cat-file --textconv HEAD:a.txt;cat-file --filters HEAD:a.txt;merge other;reset --hard;restore .;tag -a x;rebase -i HEAD~1;check-ignore a.txt;update-index --refresh;-C sub status;-C sub diff;remote show origin`, ";")

// TestRepositoriesOfOthers makes repositories whose configuration names programs, in
// all the places and spellings that git has for it, and runs real git there. Where one
// of the programs ran, a rule for git's subcommand did not allow the command.
func TestRepositoriesOfOthers(t *testing.T) {
	if *gitSeed == 0 {
		*gitSeed = uint64(time.Now().UnixNano())
	}
	for _, name := range []string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "XDG_CONFIG_HOME"} {
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	g := &hostile{t: t, r: rand.New(rand.NewPCG(*gitSeed, 8)), top: t.TempDir()}
	g.template()
	ran, allowed, wrong := 0, 0, 0
	for range *repositories {
		g.make()
		command := strings.TrimSpace(g.pick(gitCommands...))
		permits := g.allows(command)
		marks := g.run(command)
		if len(marks) > 0 {
			ran++
		}
		if permits {
			allowed++
		}
		if permits && len(marks) > 0 {
			if wrong++; wrong <= 10 {
				t.Errorf("git %s was allowed and ran what %v names\n%s", command, marks, g.told)
			}
		}
	}
	t.Logf("seed %d: %d repositories; in %d git ran a program that they name; %d commands were allowed, %d wrongly", *gitSeed, *repositories, ran, allowed, wrong)
	if ran*20 < *repositories || allowed*8 < *repositories {
		t.Error("too few: the test shows little")
	}
}

// hostile makes repositories.
type hostile struct {
	t    *testing.T
	r    *rand.Rand
	top  string // of everything
	home string
	work string // where the command runs
	told string // the files of configuration
}

func (g *hostile) pick(from ...string) string { return from[g.r.IntN(len(from))] }

func (g *hostile) must(err error) {
	if err != nil {
		g.t.Fatal(err)
	}
}

func (g *hostile) file(name, text string, mode os.FileMode) {
	g.must(os.MkdirAll(filepath.Dir(name), 0o755))
	g.must(os.WriteFile(name, []byte(text), mode))
}

func (g *hostile) git(dir string, args ...string) {
	ctx, stop := context.WithTimeout(g.t.Context(), 20*time.Second)
	defer stop()
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.home, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b.example", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b.example",
	}
	cmd.Run() // a stub that fails makes git fail
}

// template makes the repository that all others are copies of, and the stubs.
func (g *hostile) template() {
	g.home = filepath.Join(g.top, "home")
	repo := filepath.Join(g.top, "template")
	g.must(os.MkdirAll(repo, 0o755))
	g.must(os.MkdirAll(g.home, 0o755))
	g.git(repo, "init", "-q", "-b", "main", "--template=")
	g.file(repo+"/.gitattributes", "* filter=f diff=f merge=f\n", 0o644)
	g.file(repo+"/a.txt", "one\n", 0o644)
	g.file(repo+"/b.txt", "two\n", 0o644)
	g.file(repo+"/sub/c.txt", "c\n", 0o644)
	g.git(repo, "add", ".")
	g.git(repo, "commit", "-qm", "one")
	g.git(repo, "branch", "other")
	g.file(repo+"/a.txt", "one\nmore\n", 0o644)
	g.git(repo, "commit", "-qam", "two")
	g.file(repo+"/b.txt", "stashed\n", 0o644)
	g.git(repo, "stash", "-q")
	g.git(repo, "remote", "add", "origin", "ssh://nowhere.invalid/x")
	for _, p := range gitPrograms {
		g.file(g.stub(p[0]), "#!/bin/sh\n: >>'"+g.top+"/marks/"+p[0]+"'\n"+p[1]+"\n", 0o755)
	}
}

func (g *hostile) stub(key string) string { return filepath.Join(g.top, "bin", key) }

// make makes a repository anew, with one or two programs named in its configuration.
func (g *hostile) make() {
	repo := filepath.Join(g.top, "repo")
	for _, dir := range []string{repo, g.top + "/store", g.top + "/linked", g.home, g.top + "/marks"} {
		g.must(os.RemoveAll(dir))
	}
	g.must(os.MkdirAll(g.home, 0o755))
	g.must(os.MkdirAll(g.top+"/marks", 0o755))
	g.must(os.CopyFS(repo, os.DirFS(g.top+"/template")))
	g.file(repo+"/b.txt", "changed\n", 0o644)
	g.must(os.Chtimes(repo+"/a.txt", time.Now(), time.Unix(1, 0)))
	g.work, g.told = repo, ""
	store := repo + "/.git"
	config := store + "/config"
	switch g.r.IntN(8) {
	case 0: // the files of git lie elsewhere
		g.must(os.Rename(store, g.top+"/store"))
		g.file(store, "gitdir: "+g.pick("../serve/store", g.top+"/store")+"\n", 0o644)
		store, config = g.top+"/store", g.top+"/store/config"
	case 1: // a linked worktree, with its own configuration or that of all
		g.git(repo, "worktree", "add", "-q", "-f", "../linked", "other")
		g.file(g.top+"/linked/b.txt", "changed\n", 0o644)
		g.work = g.top + "/linked"
		if g.r.IntN(2) == 0 {
			g.git(repo, "config", "extensions.worktreeConfig", "true")
			config = store + "/worktrees/linked/config.worktree"
		}
	case 2:
		g.git(repo, "config", "extensions.worktreeConfig", "true")
		config = store + "/config.worktree"
	}
	if g.r.IntN(4) == 0 { // the person has the same key, with another value
		g.file(g.home+"/.gitconfig", g.entry("core.fsmonitor", "false")+g.entry("diff.external", ""), 0o644)
	}
	text := g.pick("", "# a comment \\\n", "[user]\n\tname = \"x ; y\" # [core]\n", "[alias]\n\tco = checkout\n")
	for range 1 + g.r.IntN(2) {
		key := gitPrograms[g.r.IntN(len(gitPrograms))][0]
		value := g.stub(key)
		if key == "alias.st" {
			value = "!" + value
		}
		if g.r.IntN(6) == 0 {
			text += g.entry(key, g.pick("", "false", "/nowhere/x")) // the last one counts
		}
		text += g.entry(key, value)
		if g.r.IntN(12) == 0 {
			text += g.entry(key, "")
		}
	}
	g.place(config, store, text, 0)
}

// place writes configuration to a file, or to one that it includes.
func (g *hostile) place(config, store, text string, depth int) {
	if depth < 3 && g.r.IntN(3) == 0 {
		file, named := g.elsewhere(filepath.Dir(config), depth)
		g.place(file, store, text, depth+1)
		text = g.included(store, named)
	}
	old, err := os.ReadFile(config)
	if err != nil && !os.IsNotExist(err) {
		g.t.Fatal(err)
	}
	if len(old) == 0 && g.r.IntN(4) == 0 {
		text = "\ufeff" + text
	}
	if g.r.IntN(6) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	text = string(old) + text
	if g.r.IntN(40) == 0 { // longer than what is read of a file
		text += strings.Repeat("# "+strings.Repeat("x", 1000)+"\n", 1100)
	}
	g.file(config, text, 0o644)
	g.told += fmt.Sprintf("-- %s\n%s", strings.TrimPrefix(config, g.top), text[:min(len(text), 2000)])
}

// elsewhere returns a file to include, and how a file in dir names it.
func (g *hostile) elsewhere(dir string, depth int) (file, named string) {
	name := fmt.Sprintf("more%d", depth)
	switch g.r.IntN(4) {
	case 0:
		return filepath.Join(g.home, name), "~/" + name
	case 1:
		return filepath.Join(g.top, "repo", name+" x"), filepath.Join(g.top, "repo", name+" x")
	case 2:
		return filepath.Join(dir, "d", name), "./d/../d/" + name
	}
	return filepath.Join(dir, name), name
}

// included returns a section that includes a file, on a condition or without.
func (g *hostile) included(store, named string) string {
	head := g.pick(
		"[include]", "[Include]", "[INCLUDE]", `[includeIf "gitdir:**"]`, `[includeif "gitdir:`+g.top+`/"]`, `[includeIf "gitdir/i:`+strings.ToUpper(g.top)+`/"]`, `[IncludeIf "onbranch:**"]`, `[includeIf "onbranch:main"]`,
		`[includeIf "hasconfig:remote.*.url:**"]`, `[includeIf "hasconfig:remote.*.url:ssh://nowhere.invalid/**"]`, `[includeIf "gitdir:`+store+`"]`,
	)
	return head + g.pick("\n\t", " ", "\n") + g.cased("path") + g.pick(" = ", "=", "\t=") + g.value(named) + "\n"
}

// cased changes the case of letters that git takes alike.
func (g *hostile) cased(text string) string {
	switch g.r.IntN(4) {
	case 0:
		return strings.ToUpper(text)
	case 1:
		out := []byte(text)
		for i := range out {
			if g.r.IntN(2) == 0 {
				out[i] = strings.ToUpper(text[i : i+1])[0]
			}
		}
		return string(out)
	}
	return text
}

// entry writes a setting in one of its spellings.
func (g *hostile) entry(key, value string) string {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	head := g.cased(key[:first])
	if sub := key[min(first+1, last):last]; first < last {
		switch g.r.IntN(4) {
		case 0:
			head += "." + g.cased(sub) // of old, in lower case
		case 1:
			head += ` "\` + sub + `"`
		case 2:
			head += "\t " + `"` + sub + `"`
		default:
			head += ` "` + sub + `"`
		}
	}
	head = g.pick("", "", " \t") + "[" + head + "]" + g.pick("\n", "\n\t", " ", "", " ; x\n", "# [x]\n")
	return head + g.cased(key[last+1:]) + g.pick(" = ", "=", "\t=\t", " =") + g.value(value) + g.pick("\n", "\n\n", " \n", " # x\n", ";x\n", "\t; \"\n")
}

// value writes a value in one of its spellings.
func (g *hostile) value(text string) string {
	if text == "" {
		return g.pick("", `""`)
	}
	at := g.r.IntN(len(text))
	switch g.r.IntN(6) {
	case 0:
		return `"` + text + `"`
	case 1:
		return text[:at] + "\\\n" + text[at:]
	case 2:
		return text[:at] + `"` + text[at:] + `"`
	case 3:
		return text[:at] + `""` + text[at:]
	case 4:
		return `"` + text[:at] + "\\\n" + text[at:] + `"`
	}
	return text
}

// allows reports whether the command is allowed under a rule for its subcommand.
func (g *hostile) allows(command string) bool {
	where := patterns.Place{Workspace: g.work, Home: g.home}
	spec := &Spec{Risk: "off", Allow: []Item{{Text: "Bash(git:*)"}}}
	compiled, session, _, err := spec.Compile(where)
	g.must(err)
	input, err := json.Marshal(map[string]string{"command": "git " + command})
	g.must(err)
	use := permission.ToolUse{Tool: "Bash", Input: input, Dir: g.work}
	return permission.Evaluate(compiled, session, &use, workspace.Env{Place: where}, nil).Behavior == permission.Allow
}

// run runs git and returns the keys of the programs that ran.
func (g *hostile) run(command string) (marks []string) {
	g.git(g.work, strings.Fields(command)...)
	found, err := os.ReadDir(g.top + "/marks")
	g.must(err)
	for _, f := range found {
		marks = append(marks, f.Name())
	}
	return marks
}
