package shell

import (
	"slices"
	"strings"
)

// git handles what the table does not describe, first of all URLs of the form
// ext::COMMAND, which run a command, also as the value of an option (--repo=URL).
func (e *effector) git() {
	for i := range e.words[1:] {
		t := e.words[i+1].Text
		if option, value, ok := strings.Cut(t, "="); ok && strings.HasPrefix(option, "--") {
			t = value
		}
		if strings.HasPrefix(t, "ext::") || strings.HasPrefix(t, "fd::") {
			e.odd(causeGitURL)
		}
	}
	e.gitRemote()
	e.gitShows()
	e.gitSearches()
	e.gitShowsAdded()
	e.gitConfig()
	e.gitBundle()
	e.gitRestores()
	e.gitPatches()
	e.gitSkipsHooks()
	e.gitForces()
	e.gitMoves()
}

// gitMoves writes what git mv -f replaces.
func (e *effector) gitMoves() {
	n := len(e.operands)
	if strings.Join(e.scan.Path, " ") != "mv" || n < 2 || !e.has("--force") || e.has("--dry-run") {
		return
	}
	target := e.words[e.operands[n-1]]
	e.write(target, NeedCover, false, "git mv -f replaces it")
	for _, source := range e.operandWords(0)[:n-1] {
		name := cutWord(source, strings.LastIndexByte(source.Text, '/')+1)
		e.write(joinPath(target, name), NeedCover, false, "git mv -f replaces it")
	}
}

// gitSkipsHooks requires a rule that names the option with which a command leaves out the
// hooks of the repository, as core.hooksPath would have to be named.
func (e *effector) gitSkipsHooks() {
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || !slices.Contains(a.Option.Names, "--no-verify") {
			continue
		}
		if text := e.words[a.Word].Text; e.index >= 0 && !strings.HasPrefix(text, "--v") {
			own := &e.w.facts.Actions[e.index]
			own.Reach = max(own.Reach, a.Word)
		}
	}
}

// repositoryAt maps subcommands to the place of the repository among their operands.
var repositoryAt = map[string]int{
	"fetch": 0, "pull": 0, "push": 0, "clone": 0, "ls-remote": 0, "remote show": 0, "remote update": 0, "remote add": 1, "remote set-url": 1,
	"submodule add": 0, "fetch-pack": 0, "send-pack": 0,
}

// gitRemote fetches a repository that is named as HOST:PATH: git-fetch(1), "GIT URLS". A
// rule that does not name it says nothing of a host that has an address for its name.
func (e *effector) gitRemote() {
	if len(e.scan.Path) == 0 {
		return
	}
	sub := strings.Join(e.scan.Path, " ")
	if e.scan.Path[0] == "remote" {
		sub = "remote " + e.words[e.subcommandAt()].Text
	}
	at, found := repositoryAt[sub]
	rest := e.operandWords(0)
	if !found || at >= len(rest) {
		return
	}
	if host := hostBeforePath(&rest[at]); host != "" {
		address := strings.HasPrefix(host, "[") || '0' <= host[0] && host[0] <= '9' && !strings.Contains(host, ".")
		if e.fetch(Word{Text: "ssh://" + host + "/", Pos: rest[at].Pos, End: rest[at].End}, "operand of git "+sub); address {
			e.unprovenLate(causeRemoteSource, "the operand of git "+sub)
		}
	}
}

// hostBeforePath returns HOST of [USER@]HOST:PATH, "" if a word is not of that form.
func hostBeforePath(w *Word) string {
	text := w.Text
	if strings.Contains(text, "://") || strings.Contains(text, "::") && !strings.Contains(text, "[") {
		return ""
	}
	if at := strings.IndexByte(text, '@'); at >= 0 && !strings.Contains(text[:at], "/") && !strings.Contains(text[:at], ":") {
		text = text[at+1:]
	}
	end := strings.IndexByte(text, ':')
	if strings.HasPrefix(text, "[") {
		end = strings.IndexByte(text, ']') + 1
	}
	if end <= 0 || strings.Contains(text[:end], "/") || len(w.Holes) > 0 && w.Holes[0].At < end+len(w.Text)-len(text) {
		return ""
	}
	return text[:end]
}

// gitBundle writes the first operand of git bundle create. The others are revisions.
func (e *effector) gitBundle() {
	if rest := e.operandWords(0); strings.Join(e.scan.Path, " ") == "bundle create" && len(rest) > 0 && rest[0].Text != "-" {
		e.write(rest[0], NeedCover, false, "operand of git bundle create")
	}
}

// gitPatches records that a patch, a stash or a reset changes files below the
// workspace that no word names. Since that is the purpose of these subcommands, only
// ask and deny rules consider the write.
func (e *effector) gitPatches() {
	if len(e.scan.Path) == 0 {
		return
	}
	sub := strings.Join(e.scan.Path, " ")
	switch sub {
	case "apply":
		looks := e.has("--stat") || e.has("--numstat") || e.has("--summary") || e.has("--check")
		if e.has("--cached") || looks && !e.has("--apply") {
			return
		}
	case "reset":
		if !e.has("--hard") && !e.has("--merge") && !e.has("--keep") {
			return
		}
	case "stash pop":
		if verb := e.words[e.subcommandAt()].Text; verb != "pop" && verb != "apply" && verb != "branch" {
			return
		}
	case "am":
	default:
		return
	}
	from := len(e.w.facts.Actions)
	for _, dir := range append([]string{e.w.opt.Workspace}, e.w.opt.Roots...) {
		e.write(joinPath(known(dir), Word{Holes: []Hole{{Kind: AnyText}}}), NeedNone, false, "git "+sub)
	}
	for i := from; i < len(e.w.facts.Actions); i++ {
		e.w.facts.Actions[i].Unnamed = true
	}
}

// gitRestores records that checked-out paths are overwritten, and removed, moved or
// cleaned ones lost. Since that is the purpose of these subcommands, only ask and
// deny rules consider the writes.
func (e *effector) gitRestores() {
	if len(e.scan.Path) == 0 || e.has("--dry-run") || e.has("--cached") {
		return
	}
	sub := e.scan.Path[0]
	switch sub {
	case "checkout", "restore", "rm", "clean", "mv":
	default:
		return
	}
	rest, what := e.operandWords(0), "operand of git "+sub
	switch sub {
	case "clean":
		if len(rest) == 0 {
			rest = []Word{{Text: "."}}
		}
	case "mv":
		if n := len(rest) - 1; n > 0 {
			for _, src := range rest[:n] {
				e.write(joinPath(rest[n], last(src)), NeedNone, false, what)
			}
		}
		return // the catalogue entry covers the operands themselves
	}
	for _, path := range rest {
		e.inPlaceWrite(path, NeedNone, what)
	}
}

// gitSearches reads what git grep searches beside tracked files, below the working
// directory: files that are ignored with --no-index and --no-exclude-standard, else
// those that are not.
func (e *effector) gitSearches() {
	if len(e.scan.Path) == 0 || e.scan.Path[0] != "grep" || !e.has("--no-index") && !e.has("--untracked") {
		return
	}
	defer func(before bool) { e.recursive = before }(e.recursive)
	e.recursive = true
	e.read(Word{Text: "."}, NeedNone, "git grep beside tracked files")
}

// gitShows reads the files that git prints.
func (e *effector) gitShows() {
	if len(e.scan.Path) == 0 || !e.gitPrints(e.scan.Path[0]) {
		return
	}
	defer func(before bool) { e.recursive = before }(e.recursive)
	named := e.operandWords(0)
	apart := e.has("--no-index") || e.gitDiffsFiles(named)
	e.recursive = e.recursive || apart
	for _, a := range e.scan.Args {
		if e.scan.Path[0] == "log" && a.Kind == ArgOption && slices.Contains(a.Option.Names, "-L") {
			named = append(named, a.Value) // -L 1,3:FILE
		}
	}
	if e.scan.Path[0] == "grep" {
		named = behind(named, e.has("-e") || e.has("-f"))
	}
	for _, r := range named {
		if !r.onlyGlobs() {
			continue // nearly always a revision
		}
		if at := strings.LastIndexByte(r.Text, ':'); at > 0 && !strings.Contains(r.Text, "[:") {
			r = cutWord(r, at+1)
		}
		for _, file := range pathspec(r) {
			file.matched = !file.Known()
			e.read(file, NeedNone, "operand of git "+e.scan.Path[0])
		}
		if apart && !r.Known() { // of the shell, which finds any file
			e.read(r, NeedNone, "operand of git "+e.scan.Path[0])
		}
	}
}

// gitDiffsFiles reports whether git diff may compare files as with --no-index, which it also
// does for two paths of which one lies outside the working tree.
func (e *effector) gitDiffsFiles(operands []Word) bool {
	if sub := e.scan.Path[0]; sub != "diff" && sub != "difftool" || len(operands) < 2 {
		return false
	}
	return slices.ContainsFunc(operands, func(w Word) bool {
		if relative(&w) {
			return strings.Contains("/"+w.Text+"/", "/../")
		}
		inside := func(dir Word) bool { return dir.Known() && dir.Text != "/" && strings.HasPrefix(w.Text, dir.Text+"/") }
		return w.onlyGlobs() && !slices.ContainsFunc(e.dirs, inside)
	})
}

// gitPrints reports whether a subcommand prints the contents of what its operands
// name. git log does so as a patch, and git cat-file unless it is asked for less.
func (e *effector) gitPrints(sub string) bool {
	switch sub {
	case "log", "reflog", "whatchanged", "diff-tree", "diff-index":
		return e.has("--patch") || e.has("-L") || e.said("-p") || e.said("-u")
	case "cat-file":
		return !e.has("-t") && !e.has("-s") && !e.has("-e")
	}
	return gitPrinters.has(sub)
}

var gitPrinters = set("diff", "show", "blame", "annotate", "difftool", "diff-files", "range-diff", "format-patch", "grep", "archive")

// gitConfig handles git config. A setting may be a command that git runs later, name
// a file that it obeys, or redirect it. Writing any setting not known to be harmless
// counts as a write to the settings file, like one by an editor.
func (e *effector) gitConfig() {
	if len(e.scan.Path) == 0 || e.scan.Path[0] != "config" {
		return
	}
	rest := e.operandWords(0)
	verb, writes := e.gitConfigVerb(rest)
	if !writes {
		return
	}
	file, harmless := e.gitConfigFile(), true
	switch verb {
	case "set":
		harmless = len(rest) < 2 || gitHarmless(&rest[0], &rest[1])
	case "rename-section":
		harmless = false // its keys get a meaning under the new name
	}
	if !harmless {
		key := "that is only known when it runs"
		if len(rest) > 0 && rest[0].Known() {
			key = strings.ToLower(rest[0].Text)
		}
		e.odd(causeGitSetting, key)
	}
	if verb == "set" && len(rest) > 1 && rest[1].Known() && strings.HasPrefix(strings.ToLower(rest[0].Text), "alias.") {
		e.gitAlias(&rest[1])
	}
	if e.has("--file") || harmless && file.Text == gitLocal {
		return // the option has its own write, or the settings are the repository's
	}
	e.ownWrite(file, NeedCover, harmless, "settings file of git config")
}

// gitAlias reads what an alias stands for as a command: from then on another word
// runs it, which no rule names.
func (e *effector) gitAlias(value *Word) {
	words := []Word{{Text: e.words[0].Text, Pos: value.Pos, End: value.End}}
	for _, text := range strings.Fields(value.Text) {
		words = append(words, Word{Text: text, Pos: value.Pos, End: value.End})
	}
	if len(words) > 1 && !strings.HasPrefix(words[1].Text, "!") {
		e.part(words, -1)
	}
}

// gitConfigVerb returns what git config does to a setting (set, unset,
// rename-section, remove-section), and whether it writes at all.
func (e *effector) gitConfigVerb(rest []Word) (verb string, writes bool) {
	if len(e.scan.Path) > 1 {
		verb = e.words[e.subcommandAt()].Text
		return verb, gitConfigWriters.has(verb)
	}
	verb, writes = "set", len(rest) > 1
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption {
			continue
		}
		switch name := a.Option.Names[0]; name {
		case "--get", "--get-all", "--get-regexp", "--get-urlmatch":
			return "", false
		case "--unset", "--unset-all", "--remove-section", "--rename-section":
			verb, writes = strings.TrimPrefix(name, "--"), true
		case "--add", "--replace-all":
			writes = true
		}
	}
	return verb, writes
}

var gitConfigWriters = set("set", "unset", "rename-section", "remove-section", "edit")

// gitLocal is the settings file of the repository in which git runs.
const gitLocal = ".git/config"

// gitConfigFile returns the settings file that git config writes.
func (e *effector) gitConfigFile() Word {
	switch {
	case e.has("--global"):
		return joinPath(known(e.w.opt.Home), Word{Text: ".gitconfig"})
	case e.has("--system"):
		return Word{Text: "/etc/gitconfig"}
	}
	return Word{Text: gitLocal}
}

// gitHarmless reports whether a setting is known not to make git run, obey or contact
// anything else.
func gitHarmless(key, value *Word) bool {
	if !key.Known() {
		return false
	}
	name := gitKey(key.Text)
	section, _, _ := strings.Cut(name, ".")
	switch {
	case gitQuiet.has(section) || gitKeys.has(name):
		return true
	case gitAddresses.has(name):
		return value.Known() && !strings.HasPrefix(value.Text, "-") && !gitHelper(value.Text)
	case section == "alias": // git runs what follows "!", and takes options before a subcommand
		text := strings.TrimSpace(value.Text)
		return value.Known() && !strings.HasPrefix(text, "!") && !strings.HasPrefix(text, "-")
	}
	return false
}

// gitHelper reports whether an address is x::y, which runs the program git-remote-x
// (gitremote-helpers(7)).
func gitHelper(address string) bool {
	scheme, _, found := strings.Cut(address, "::")
	return found && strings.Trim(scheme, schemeBytes) == ""
}

const schemeBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."

// gitKey returns the name of a setting as in the tables: in lower case, with "*" for
// a subsection.
func gitKey(key string) string {
	key = strings.ToLower(key)
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first == last {
		return key
	}
	return key[:first] + ".*" + key[last:]
}

// gitQuiet lists the sections whose settings only change the appearance of output
// (git-config(1)).
var gitQuiet = set("advice", "color", "column", "pretty")

// gitAddresses lists the settings that are harmless if their value is a plain address
// or name.
var gitAddresses = set(
	"remote.*.url", "remote.*.pushurl", "branch.*.remote", "branch.*.pushremote", "submodule.*.url", "remote.pushdefault", "checkout.defaultremote",
)

// gitKeys lists the settings that are harmless with any value: they make git run,
// find, relax, send or write nothing else (git-config(1), git-lfs-config(5)). Other
// settings can do so, or are unknown.
var gitKeys = set(
	"user.name", "user.email", "user.signingkey", "user.useconfigonly", "author.name", "author.email", "committer.name", "committer.email",
	"init.defaultbranch", "clone.defaultremotename", "clone.rejectshallow",
	"core.autocrlf", "core.eol", "core.safecrlf", "core.filemode", "core.ignorecase", "core.precomposeunicode", "core.quotepath", "core.abbrev",
	"core.compression", "core.loosecompression", "core.bigfilethreshold", "core.commentchar", "core.commentstring", "core.whitespace",
	"core.logallrefupdates", "core.preloadindex", "core.untrackedcache", "core.trustctime", "core.checkstat", "core.symlinks", "core.longpaths",
	"core.hidedotfiles", "core.excludesfile", "core.sparsecheckout", "core.sparsecheckoutcone", "core.commitgraph", "core.multipackindex",
	"core.deltabasecachelimit", "core.packedgitlimit", "core.packedgitwindowsize", "core.fsync", "core.fsyncmethod", "core.fsyncobjectfiles",
	"core.splitindex", "core.notesref", "core.warnambiguousrefs", "core.fscache",
	"add.ignoreerrors", "am.keepcr", "am.threeway", "apply.ignorewhitespace", "apply.whitespace",
	"blame.blankboundary", "blame.coloring", "blame.date", "blame.ignorerevsfile", "blame.markignoredlines", "blame.markunblamablelines",
	"blame.showemail", "blame.showroot",
	"branch.*.merge", "branch.*.rebase", "branch.*.description", "branch.autosetupmerge", "branch.autosetuprebase", "branch.sort",
	"checkout.guess", "checkout.workers", "checkout.thresholdforparallelism",
	"commit.cleanup", "commit.gpgsign", "commit.status", "commit.template", "commit.verbose", "commitgraph.maxnewfilters", "commitgraph.readchangedpaths",
	"credential.usehttppath", "credential.username", "credential.*.usehttppath", "credential.*.username",
	"diff.algorithm", "diff.autorefreshindex", "diff.colormoved", "diff.colormovedws", "diff.context", "diff.dirstat", "diff.ignoresubmodules",
	"diff.indentheuristic", "diff.interhunkcontext", "diff.mnemonicprefix", "diff.noprefix", "diff.orderfile", "diff.relative", "diff.renamelimit",
	"diff.renames", "diff.statgraphwidth", "diff.submodule", "diff.suppressblankempty", "diff.wordregex", "diff.wserrorhighlight",
	"diff.*.binary", "diff.*.wordregex", "diff.*.xfuncname", "difftool.prompt",
	"fetch.parallel", "fetch.prune", "fetch.prunetags", "fetch.recursesubmodules", "fetch.showforcedupdates", "fetch.output", "fetch.writecommitgraph",
	"fetch.negotiationalgorithm", "fetch.unpacklimit", "feature.manyfiles", "feature.experimental",
	"format.pretty", "format.signoff", "format.numbered", "format.subjectprefix", "format.thread", "format.coverletter", "format.useautobase",
	"gc.auto", "gc.autodetach", "gc.autopacklimit", "gc.bigpackthreshold", "gc.aggressivedepth", "gc.aggressivewindow", "gc.packrefs",
	"gc.rerereresolved", "gc.rerereunresolved", "gc.writecommitgraph",
	"gpg.format", "gpg.mintrustlevel", "gpg.*.allowedsignersfile",
	"grep.column", "grep.extendedregexp", "grep.fullname", "grep.linenumber", "grep.patterntype", "grep.threads",
	"http.postbuffer", "http.lowspeedlimit", "http.lowspeedtime", "http.maxrequests", "http.version",
	"i18n.commitencoding", "i18n.logoutputencoding", "index.sparse", "index.threads", "index.version", "interactive.singlekey",
	"lfs.locksverify", "lfs.*.locksverify", "lfs.fetchinclude", "lfs.fetchexclude", "lfs.concurrenttransfers", "lfs.skipdownloaderrors",
	"log.abbrevcommit", "log.date", "log.decorate", "log.diffmerges", "log.follow", "log.graphcolors", "log.initialdecorationset", "log.mailmap",
	"log.excludedecoration", "log.showroot", "log.showsignature", "mailmap.blob", "mailmap.file",
	"maintenance.auto", "maintenance.strategy", "maintenance.*.enabled", "maintenance.*.schedule", "maintenance.*.auto",
	"merge.autostash", "merge.branchdesc", "merge.conflictstyle", "merge.defaulttoupstream", "merge.directoryrenames", "merge.ff", "merge.log",
	"merge.renamelimit", "merge.renames", "merge.renormalize", "merge.stat", "merge.suppressdest", "merge.verbosity",
	"mergetool.prompt", "mergetool.keepbackup", "mergetool.hideresolved", "mergetool.keeptemporaries", "mergetool.writetotemp",
	"notes.displayref", "notes.mergestrategy", "notes.rewritemode", "notes.rewriteref", "notes.*.mergestrategy",
	"pack.compression", "pack.depth", "pack.threads", "pack.usesparse", "pack.window", "pack.windowmemory", "pack.writebitmaphashcache", "pack.writereverseindex",
	"pull.ff", "pull.rebase", "push.autosetupremote", "push.default", "push.followtags", "push.gpgsign", "push.negotiate", "push.recursesubmodules",
	"push.useforceifincludes", "rebase.abbreviatecommands", "rebase.autosquash", "rebase.autostash", "rebase.backend", "rebase.forkpoint",
	"rebase.instructionformat", "rebase.missingcommitscheck", "rebase.reschedulefailedexec", "rebase.stat", "rebase.updaterefs",
	"remote.*.fetch", "remote.*.prune", "remote.*.prunetags", "remote.*.tagopt", "remote.*.skipdefaultupdate", "remote.*.skipfetchall",
	"remote.*.promisor", "remote.*.partialclonefilter", "rerere.autoupdate", "rerere.enabled", "revert.reference", "showbranch.default",
	"stash.showincludeuntracked", "stash.showpatch", "stash.showstat",
	"status.aheadbehind", "status.branch", "status.displaycommentprefix", "status.relativepaths", "status.renamelimit", "status.renames",
	"status.short", "status.showstash", "status.showuntrackedfiles", "status.submodulesummary",
	"submodule.active", "submodule.fetchjobs", "submodule.propagatebranches", "submodule.recurse", "submodule.*.active", "submodule.*.branch",
	"submodule.*.ignore", "submodule.*.fetchrecursesubmodules", "tag.forcesignannotated", "tag.gpgsign", "tag.sort", "versionsort.suffix",
	"worktree.guessremote",
)
