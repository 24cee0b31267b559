package shell

import (
	"slices"
	"strings"
)

// Setting is one setting of a repository's own configuration, as git-config(1) names
// it: the section and the last part of the key in lower case, the part between them
// as it is. "hooks/NAME" is the hook of that name.
type Setting struct{ Key, Value string }

// Obeyed returns the first setting that makes the Command run a program, and whether
// there is one. Which command obeys which setting stands in the tables of this file;
// what they do not name obeys, and is obeyed, as far as is not known otherwise.
func (a *Action) Obeyed(settings []Setting) (Setting, bool) {
	if len(settings) == 0 || !a.ObeysRepository() {
		return Setting{}, false
	}
	obeys := a.obeys() | byUse
	if slices.ContainsFunc(settings, promises) {
		obeys |= byNet // any command may fetch an object that is missing (gitrepository-layout(5))
	}
	for _, s := range settings {
		if s.runs(a)&obeys != 0 {
			return s, true
		}
	}
	return Setting{}, false
}

// ObeysRepository reports whether the Command obeys the configuration of the git
// repository that it runs in.
func (a *Action) ObeysRepository() bool {
	if a.Kind != Command || a.Program == nil {
		return false
	}
	return a.Program.Special == "git" || a.Program.Name == "go"
}

// obedience is a set of the occasions on which git runs what a setting names.
type obedience uint16

// The occasions.
const (
	byIndex  obedience = 1 << iota // it compares the index with the files
	byHook                         // it only looks, and writes the index it has compared
	byTree                         // it turns objects into files
	byDiff                         // it shows differences
	bySign                         // it checks signatures
	byNet                          // it speaks to another repository
	byHelp                         // it shows a manual page
	byChange                       // it does more than look
	byUse                          // it runs

	byAny obedience = 1<<iota - 1
)

// promises reports whether a setting lets git fetch objects when they are needed.
func promises(s Setting) bool {
	key := gitKey(s.Key)
	return key == "remote.*.promisor" || key == "remote.*.partialclonefilter" || key == "extensions.partialclone"
}

// runs returns when git runs what the setting names.
func (s Setting) runs(a *Action) obedience {
	key := gitKey(s.Key)
	section, _, _ := strings.Cut(key, ".")
	value := Word{Text: s.Value}
	switch {
	case strings.TrimSpace(s.Value) == "", quietSettings.has(key), quietSections.has(section):
		return 0
	case section == "alias":
		return s.aliased(a)
	case (key == "core.fsmonitor" || section == "pager") && gitBool.has(strings.ToLower(s.Value)):
		return 0
	case key == "submodule.*.update" && !strings.HasPrefix(s.Value, "!"), section == "url" && !s.rewritesToHelper():
		return 0
	case gitHarmless(&Word{Text: s.Key}, &value):
		return 0
	}
	if by, listed := runSettings[key]; listed {
		return by
	}
	return runSections[section]
}

// aliased returns when an alias is run: by a command that names it and no subcommand.
func (s Setting) aliased(a *Action) obedience {
	name := strings.TrimPrefix(s.Key, "alias.")
	if text := strings.TrimSpace(s.Value); !strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "-") {
		return 0
	}
	for _, arg := range ScanWords(a.Program, a.Words).Args {
		if w := &a.Words[arg.Word]; (arg.Kind == ArgUnlisted || arg.Kind == ArgUnsure) && (!w.Known() || strings.EqualFold(w.Text, name)) {
			return byUse
		}
	}
	return 0
}

// rewritesToHelper reports whether url.BASE.insteadOf makes an address one that runs a
// program.
func (s Setting) rewritesToHelper() bool {
	first, last := strings.IndexByte(s.Key, '.'), strings.LastIndexByte(s.Key, '.')
	if first == last {
		return true
	}
	base := s.Key[first+1 : last]
	scheme := strings.Trim(base, schemeBytes)
	return gitHelper(base) || strings.HasPrefix(base, "-") || scheme == "" || scheme == ":"
}

// runSettings says of settings that name a program, or something that stands for one,
// when git runs it (git-config(1), gitattributes(5), githooks(5)).
var runSettings = map[string]obedience{
	"core.fsmonitor": byIndex, "hooks/post-index-change": byHook,
	"filter.*.clean": byIndex, "filter.*.smudge": byTree, "filter.*.process": byIndex | byTree,
	"diff.external": byDiff, "diff.*.command": byDiff, "diff.*.textconv": byDiff,
	"diff.tool": byChange, "diff.guitool": byChange, "merge.tool": byChange, "merge.guitool": byChange, "merge.*.driver": byChange,
	"core.sshcommand": byNet, "core.askpass": byNet, "core.gitproxy": byNet, "core.alternaterefscommand": byNet,
	"branch.*.remote": byNet, "branch.*.pushremote": byNet,
	"core.editor": byChange, "core.pager": byUse,
	"gc.recentobjectshook": byChange | byNet,
	"hook.*.command":       byHook | byChange | byNet,
}

// runSections says the same of settings that runSettings does not name, by their
// section. Other sections name no program, or are those of other programs.
var runSections = map[string]obedience{
	"core": byUse, "hook": byUse, "pager": byUse, "filter": byIndex | byTree, "diff": byDiff, "merge": byChange, "gpg": bySign | byChange,
	"remote": byNet, "url": byNet, "credential": byNet, "submodule": byNet | byChange, "lfs": byNet | byIndex | byTree,
	"sequence": byChange, "interactive": byChange, "difftool": byChange, "mergetool": byChange, "guitool": byChange, "trailer": byChange,
	"tar": byChange, "sendemail": byNet, "imap": byNet, "svn": byNet, "svn-remote": byNet, "git-p4": byNet, "man": byHelp, "help": byHelp, "browser": byHelp, "web": byHelp, "instaweb": byHelp,
}

// quietSections are the sections of git's own whose settings name no program that a
// repository's configuration could bring in.
var quietSections = set("extensions", "http", "protocol", "safe", "trace2", "transfer", "receive", "uploadpack", "uploadarchive", "user", "author", "committer")

// quietSettings are further settings that name no program. Unlike those that
// gitHarmless passes, they may redirect, relax or write something.
var quietSettings = set(
	"core.repositoryformatversion", "core.bare", "core.worktree", "core.hookspath", "core.attributesfile", "core.protectntfs", "core.protecthfs",
	"core.sharedrepository", "core.usereplacerefs", "core.packedrefstimeout", "core.filesreflocktimeout", "core.createobject", "core.sparsecheckout",
	"core.sparsecheckoutcone", "core.maxtreedepth", "core.restrictinheritedhandles", "core.unsetenvvars", "core.lockfilepid", "core.deltabasecachelimit",
	"core.trustlooserefs", "core.prefersymlinkrefs", "core.ignorestat", "core.useprompt", "core.delta", "core.packedrefs", "core.hideddotfiles",
	"filter.*.required", "diff.*.cachetextconv", "diff.*.trustexitcode", "diff.trustexitcode", "diff.nopatch", "merge.*.name", "merge.*.recursive",
	"remote.*.mirror", "remote.*.push", "remote.*.proxy", "remote.*.proxyauthmethod", "remote.*.followremotehead", "remote.*.serveroption",
	"remote.*.promisor", "remote.*.partialclonefilter", "remote.*.gh-resolved", "remote.*.lfsurl", "credential.*.provider", "lfs.repositoryformatversion",
	"lfs.url", "lfs.*.access", "trailer.*.key", "trailer.*.where", "trailer.*.ifexists", "trailer.*.ifmissing", "trailer.separators", "submodule.*.path", "submodule.*.shallow", "help.autocorrect", "help.format", "help.htmlpath",
)

// gitBool are the words for true and false (git-config(1)).
var gitBool = set("true", "false", "yes", "no", "on", "off", "0", "1")

// obeyRow says when git runs what settings name in a subcommand.
type obeyRow struct {
	by   obedience
	more obedience // with an option of with, or with any that is not in unless
	// At most one is set.
	with, unless nameSet
}

// obeyRows holds the subcommands that only look. Every other one obeys whatever
// there is, and its hooks are part of what it is for.
var obeyRows = map[string]obeyRow{
	"":         {}, // git --version
	"status":   {by: byIndex | byHook, more: byTree | byDiff, with: set("-v")},
	"diff":     {by: byIndex | byHook | byTree | byDiff},
	"log":      {by: bySign, more: byTree | byDiff, unless: quietLog},
	"show":     {by: bySign | byTree | byDiff},
	"blame":    {by: byIndex | byHook | byTree | byDiff},
	"annotate": {by: byIndex | byHook | byTree | byDiff},
	"describe": {more: byIndex | byHook, with: set("--dirty", "--broken")},
	"cat-file": {more: byTree | byDiff, with: set("--filters", "--textconv", "--path")},
	"ls-files": {by: byIndex | byHook}, "check-ignore": {by: byIndex}, "check-attr": {by: byIndex}, "fsck": {by: byIndex},
	"grep":       {by: byIndex, more: byTree | byDiff, with: set("--textconv")},
	"diff-files": {by: byIndex | byHook | byTree | byDiff}, "diff-index": {by: byIndex | byHook | byTree | byDiff}, "diff-tree": {by: byIndex | bySign | byTree | byDiff},
	"range-diff": {by: bySign | byTree | byDiff}, "whatchanged": {by: bySign | byTree | byDiff}, "stash show": {by: byTree | byDiff}, "stash list": {by: bySign | byTree | byDiff},
	"shortlog": {by: bySign}, "rev-list": {by: bySign}, "for-each-ref": {by: bySign}, "reflog": {by: bySign | byTree | byDiff}, "reflog show": {by: bySign | byTree | byDiff},
	"verify-commit": {by: bySign}, "verify-tag": {by: bySign}, "show-branch": {}, "cherry": {}, "merge-base": {}, "name-rev": {}, "rev-parse": {}, "show-ref": {},
	"ls-tree": {}, "count-objects": {}, "check-ref-format": {}, "var": {}, "version": {}, "worktree list": {}, "bisect log": {}, "remote get-url": {},
	"config get": {}, "config list": {}, "config": {more: byAny, with: set("-e", "--edit")}, "submodule status": {by: byIndex | byHook}, "help": {by: byHelp},
	"remote": {more: byAny, unless: set("-v", "--verbose")}, "branch": {by: bySign | byChange}, "tag": {by: bySign | byChange},
	"add": {by: byIndex, more: byAny, with: set("-i", "-p", "-e")}, "commit": {by: byIndex | byTree | byDiff | bySign | byChange},
}

// quietLog are options of git log that show no differences.
var quietLog = set(
	"-n", "-#", "--since", "--until", "--author", "--committer", "--min-parents", "--max-parents", "--no-min-parents", "--no-max-parents",
	"--pretty", "--format", "--decorate", "--no-decorate", "--decorate-refs", "--clear-decorations", "--source", "--follow", "--abbrev-commit", "--no-abbrev-commit",
	"--oneline", "--date", "--graph", "--skip", "--grep", "--all-match", "-i", "-E", "-F", "-P", "--merges", "--no-merges", "--first-parent", "--not", "--all", "--branches",
	"--tags", "--remotes", "--date-order", "--author-date-order", "--topo-order", "--reverse", "--left-right", "--cherry-pick", "--cherry-mark", "--cherry", "--boundary",
	"--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--summary", "-s", "--no-color", "--color", "-z", "--no-notes", "--relative-date", "--parents",
	"--diff-filter", "--no-renames", "--no-ext-diff", "--no-textconv", "--full-history", "--simplify-merges", "--ancestry-path", "--no-walk", "--show-linear-break", "--mailmap",
)

// globalGit are options before the subcommand that show and run nothing.
var globalGit = set("-C", "-P", "--no-replace-objects", "--no-lazy-fetch", "--no-optional-locks", "--no-advice", "--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs")

// goStamps are the subcommands of go that ask git for the state of the files
// (go help buildvcs).
var goStamps = set("build", "install", "run", "list")

// obeys returns when the Command runs what settings name.
func (a *Action) obeys() obedience {
	scan := ScanWords(a.Program, a.Words)
	var verbs []string
	for _, arg := range scan.Args {
		if w := &a.Words[arg.Word]; arg.Kind == ArgSubcommand && w.Known() {
			verbs = append(verbs, w.Text)
		}
	}
	verb := strings.Join(verbs, " ")
	stray := slices.ContainsFunc(scan.Args, func(arg Arg) bool { return arg.Kind != ArgOption && arg.Kind != ArgSubcommand })
	if a.Program.Special != "git" {
		if goStamps.has(verb) {
			return byIndex | byHook
		}
		return 0
	}
	row, looks := obeyRows[verb]
	if !looks || stray && (verb == "" || verb == "remote") {
		return byAny &^ byHook
	}
	by := row.by
	for _, arg := range scan.Args {
		by |= row.option(&arg, &a.Words[arg.Word])
	}
	return by
}

// option returns what an argument adds to a subcommand.
func (r *obeyRow) option(arg *Arg, word *Word) obedience {
	switch arg.Kind {
	case ArgOperand, ArgSubcommand, ArgDashes:
		return 0
	case ArgOption:
		names := arg.Option.Names
		listed := func(in nameSet) bool {
			return slices.ContainsFunc(names, func(name string) bool { return in.has(name) })
		}
		switch {
		case listed(set("--help")):
			return byHelp
		case listed(globalGit), r.with == nil && r.unless == nil:
			return 0
		case listed(r.with), r.unless != nil && !listed(r.unless):
			return r.more
		}
		return 0
	}
	if word.Text == "--help" {
		return byHelp
	}
	return r.more | byHelp
}
