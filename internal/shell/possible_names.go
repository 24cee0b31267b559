package shell

import (
	"slices"
	"strings"
)

// NamesElsewhere reports whether the Command is unproven only because git would run
// in a directory outside the workspace, and shows names, states and messages of the
// repository there, but no contents of its files (git status, git log --oneline, git
// diff --stat). A subcommand or option that the tables do not name may show them, and
// so may git show, which prints whatever object it is given.
func (a *Action) NamesElsewhere() bool {
	if a.Kind != Command || a.Why.Cause != causeConfigElsewhere || a.Program == nil || a.Program.Special != "git" {
		return false
	}
	scan := ScanWords(a.Program, a.Words)
	verb := strings.Join(scan.Path, " ")
	options, listed := namesOptions[verb]
	summary := verb != "diff"
	for i := range scan.Args {
		arg, w := &scan.Args[i], &a.Words[scan.Args[i].Word]
		if !listed || !w.Known() || arg.Kind == ArgOperand && leadsOut(w) {
			return false
		}
		switch arg.Kind {
		case ArgOption:
			summary = summary || arg.named(summaries)
			listed = options == nil || arg.named(options) || arg.named(globalGit)
		case ArgUnlisted, ArgUnsure:
			return false
		}
	}
	return listed && summary
}

// named reports whether one of an option's names is in a set.
func (a *Arg) named(in nameSet) bool {
	return slices.ContainsFunc(a.Option.Names, func(name string) bool { return in.has(name) })
}

// namesOptions holds the subcommands of git that show no contents of files with these
// options; nil stands for all that the catalogue lists (git-status(1) and the others).
var namesOptions = map[string]nameSet{
	"status": set(
		"-s", "-b", "--show-stash", "--porcelain", "--long", "-u", "--ignored", "--ignore-submodules", "-z", "--column", "--no-column",
		"--ahead-behind", "--no-ahead-behind", "--renames", "--no-renames", "--find-renames",
	),
	"log": quietLog, "stash list": quietLog, "reflog": quietLog, "reflog show": quietLog,
	"diff": set(
		"--stat", "--shortstat", "--numstat", "--dirstat", "--summary", "--compact-summary", "--name-only", "--name-status", "-s",
		"--stat-width", "--stat-name-width", "--stat-count", "--cached", "--merge-base", "--diff-filter", "-M", "-C", "-z", "--relative", "--no-relative",
		"--no-renames", "--no-color", "--color", "--no-ext-diff", "--no-textconv", "--ignore-submodules", "-b", "-w",
	),
	"branch": set(
		"-a", "-r", "-l", "-v", "-vv", "--show-current", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format",
		"--abbrev", "--no-abbrev", "--color", "--no-color", "--column", "--no-column", "-i",
	),
	"tag":    set("-l", "-n", "--contains", "--no-contains", "--merged", "--no-merged", "--points-at", "--sort", "--format", "--column", "--no-column"),
	"remote": set("-v"), "remote get-url": set("--all", "--push"), "worktree list": nil,
	"rev-parse": nil, "ls-files": nil, "ls-tree": nil, "show-ref": nil, "for-each-ref": nil, "describe": nil, "merge-base": nil, "name-rev": nil,
	"count-objects": nil, "show-branch": nil, "cherry": nil,
}

// summaries are the options of git diff in place of which it shows contents.
var summaries = set("--stat", "--shortstat", "--numstat", "--dirstat", "--summary", "--compact-summary", "--name-only", "--name-status", "-s")
