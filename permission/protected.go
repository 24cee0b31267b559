package permission

import (
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// protectedPaths lists files that make something run or change what is trusted.
// No mode applies to writes to them or below them, at any depth, and such a
// write is held unless a rule names them. Letter case is ignored, but they stand as
// programs look for them. (design section 5)
var protectedPaths = []string{
	// repositories: hooks, filters, what git runs
	".git", ".gitmodules", ".gitattributes", ".gitconfig", ".config/git", ".husky", ".githooks", ".hg", ".hgrc", ".svn",
	".pre-commit-config.yaml", ".pre-commit-config.yml", ".overcommit.yml",
	"lefthook.yml", "lefthook.yaml", "lefthook-local.yml", ".lefthook.yml", ".lefthook.yaml", ".lefthook", ".lefthook-local",
	// what runs on build and release machines
	".github/workflows", ".github/actions", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab/ci", ".circleci", "Jenkinsfile",
	"azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines", ".azuredevops", "bitbucket-pipelines.yml", ".travis.yml",
	"appveyor.yml", ".appveyor.yml", ".drone.yml", ".drone.star", ".woodpecker", ".woodpecker.yml", ".woodpecker.yaml",
	".buildkite", ".cirrus.yml", ".cirrus.star", ".semaphore", ".gitea/workflows", ".gitea/actions", ".forgejo/workflows", ".forgejo/actions",
	".teamcity", ".builds", ".build.yml", "cloudbuild.yaml", "cloudbuild.yml", "buildspec.yml", "buildspec.yaml", "codemagic.yaml",
	"bitrise.yml", ".tekton", "wercker.yml", "screwdriver.yaml",
	// agents: settings, servers, instructions that run programs
	".mcp.json", ".claude", ".claude.json", ".agent-wrapper", "agent-wrapper.toml", "agent-wrapper.local.toml", ".smartergpt",
	".cursor", ".gemini", ".qwen", ".codex", ".copilot", ".windsurf", ".continue", ".opencode", ".crush", ".factory", ".kiro", ".roo", ".amazonq",
	".config/agent-wrapper", ".config/opencode", ".config/crush", ".vibing", "opencode.json", "opencode.jsonc", "crush.json", ".crush.json",
	// editors: tasks and settings that run programs
	".vscode", ".vscode/tasks.json", ".vscode/settings.json", ".vscode/launch.json", ".vscode/mcp.json", ".vscode/extensions.json",
	".idea", ".zed", ".fleet", ".devcontainer", ".devcontainer.json", ".nvim.lua", ".nvimrc", ".exrc", ".vimrc", ".vim", ".emacs", ".emacs.d",
	".dir-locals.el", ".config/nvim", ".gdbinit", ".lldbinit",
	// shells and what starts with them
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".oh-my-zsh", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".xonshrc",
	".config/fish", ".config/zsh", ".config/nushell", ".config/powershell", "Microsoft.PowerShell_profile.ps1",
	".inputrc", ".envrc", ".direnvrc", ".config/direnv", ".mise.toml", "mise.toml", ".mise.local.toml", "mise.local.toml", ".config/mise",
	".tmux.conf", ".screenrc", ".pam_environment",
	".xinitrc", ".xprofile", ".xsession", ".xsessionrc", ".config/autostart", ".config/systemd", ".config/environment.d",
	"Library/LaunchAgents", ".local/bin",
	// keys, and settings of tools
	".ssh", ".gnupg", ".netrc", ".npmrc", ".yarnrc", ".yarnrc.yml", ".yarnrc.yaml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.cjs", ".pnpmfile.mjs",
	".bunfig.toml", "bunfig.toml", ".pypirc", ".pip", ".config/pip", "pip.conf", "pip.ini", "uv.toml", "poetry.toml", "pdm.toml",
	".bundle/config", "nuget.config",
	// what searches leave out: a line can bring in files with secrets
	".ignore", ".rgignore", ".agignore", ".ackrc", ".fdignore",
	// what chooses the toolchain that is downloaded and run
	"rust-toolchain.toml", "rust-toolchain", ".tool-versions", ".nvmrc",
	".pythonrc", ".pythonstartup", ".pdbrc", ".irbrc", ".cargo/config", ".cargo/config.toml", ".bazelrc", ".m2/settings.xml",
	".poetry", ".mvn",
	".gradle/init.gradle", ".gradle/init.d", ".aws", ".kube", ".docker/config.json", ".terraformrc", ".curlrc", ".wgetrc",
}

// systemPaths lists the start-up files of the machine, which are protected as
// well.
var systemPaths = []string{
	"/etc/profile", "/etc/profile.d", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh", "/etc/zshenv", "/etc/environment",
	"/etc/crontab", "/etc/cron.d", "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.weekly", "/etc/cron.monthly",
	"/var/spool/cron", "/etc/sudoers", "/etc/sudoers.d", "/etc/pam.d", "/etc/passwd", "/etc/shadow", "/etc/ld.so.preload",
	"/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/systemd", "/etc/init.d", "/etc/rc.local", "/etc/ssh", "/etc/gitconfig",
	"/library/launchagents", "/library/launchdaemons",
}

// settingsPaths lists the settings of the agent CLI, wherever it is started, those of
// other hosts of our hook with what switches it off, and the policies and state of this
// program. A write to them is held in every mode. (design section 8; docs/hosts.md)
var settingsPaths = []string{
	".local/state/agent-wrapper", ".config/agent-wrapper/agent-wrapper.toml", ".smartergpt/allowed-commands.json",
	".claude/settings.json", ".claude/settings.local.json", ".claude/managed-settings.json", ".claude.json",
	"claude-code/managed-settings.json", "claude-code/managed-settings.d",
	".codex/hooks.json", ".codex/config.toml", "codex/requirements.toml",
	".gemini/settings.json", ".gemini/trustedFolders.json", "gemini-cli/settings.json",
	".qwen/settings.json", "qwen-code/settings.json",
	".copilot/hooks", ".copilot/settings.json", ".copilot/config.json",
	".config/opencode/plugins", ".config/opencode/opencode.json", ".opencode/plugins", "opencode.json",
	".config/crush/crush.json", "crush.json", ".crush.json",
}

// names holds the paths of a table in lower case, split at their slashes, by their first
// name.
type names map[string][][]string

func namesOf(paths []string) func() names {
	return sync.OnceValue(func() names {
		table := names{}
		for _, path := range paths {
			cut := strings.Split(lower(path), "/")
			table[cut[0]] = append(table[cut[0]], cut)
		}
		return table
	})
}

// foundNames are the protected names, and what git obeys of its own directory: a search that
// changes what it finds names no directory.
var foundNames = namesOf(append(gitPaths(), protectedPaths...))

// gitPaths lists the files of a repository that git obeys: gitrepository-layout(5), githooks(5).
func gitPaths() (paths []string) {
	for _, name := range strings.Fields(`config config.worktree info/attributes info/exclude HEAD
		hooks/applypatch-msg hooks/pre-applypatch hooks/post-applypatch hooks/pre-commit hooks/pre-merge-commit
		hooks/prepare-commit-msg hooks/commit-msg hooks/post-commit hooks/pre-rebase hooks/post-checkout hooks/post-merge
		hooks/pre-push hooks/pre-receive hooks/update hooks/proc-receive hooks/post-receive hooks/post-update
		hooks/reference-transaction hooks/push-to-checkout hooks/pre-auto-gc hooks/post-rewrite hooks/sendemail-validate
		hooks/fsmonitor-watchman hooks/post-index-change`) {
		paths = append(paths, ".git/"+name)
	}
	return paths
}

var (
	protectedNames = namesOf(protectedPaths)
	settingsNames  = namesOf(settingsPaths)
)

// belowSettings reports whether a file, by its path below the home directory, lies at or
// below a protected path.
func belowSettings(name string) bool {
	cut := strings.Split(lower(name), "/")
	return slices.ContainsFunc(protectedNames()[cut[0]], func(at []string) bool {
		return len(cut) >= len(at) && slices.Equal(at, cut[:len(at)])
	})
}

// policyFile is the name of the policy file in the workspace.
const policyFile = "agent-wrapper.toml"

// protects reports whether a write may go to a protected path, to which no mode
// applies.
func (e *evaluation) protects(a *act) bool {
	if a.does != nil && a.does.Unnamed {
		return false
	}
	place, tree := e.policy.Place, a.wholeTree()
	for _, form := range a.forms {
		if protectedIn(form) || tree && a.finds(form, foundNames()) || makesRepository(form, place.Fold) || e.policyProtects(form, tree) {
			return true
		}
		for _, name := range systemPaths {
			if reaches(form, name, tree) {
				return true
			}
		}
		if tree && holdsWhole(form, &place) {
			return true
		}
	}
	return false
}

// headFile is the file that, together with config, makes a directory a
// repository.
const headFile = "HEAD"

// makesRepository reports whether a write makes its directory a repository: git
// obeys the file config next to a file HEAD, even without .git (git(1),
// safe.bareRepository).
func makesRepository(form shell.Word, fold bool) bool {
	name := form.Text[strings.LastIndexByte(form.Text, '/')+1:]
	return len(form.Holes) == 0 && (name == headFile || fold && strings.EqualFold(name, headFile))
}

// wholeTree reports whether a write changes everything below its path, as rm -r
// does, rather than some files in a directory, like a formatter.
func (a *action) wholeTree() bool { return a.does.Recursive && (a.does.Purpose || a.does.Sweep) }

// guarded returns the file among those that determine what the agent may do
// that a write would change, "" if there is none.
func (e *evaluation) guarded(a *act) string {
	if a.sub.Kind != patterns.WritePath || a.does != nil && a.does.Unnamed {
		return ""
	}
	tree := a.wholeTree()
	for _, form := range a.forms {
		for _, name := range e.guardedFiles() {
			if reaches(form, name, tree && a.chooses(form, name)) {
				return name
			}
		}
		if a.reachesPolicy(form, &e.policy.Place) {
			return policyFile
		}
		if named(form, settingsNames(), tree) || tree && a.finds(form, settingsNames()) {
			return "the agent's settings"
		}
	}
	return ""
}

// chooses reports whether a write below form includes a file there, although a search
// chooses names: the file's own, or that of a directory, with which all in it goes. Guarded
// directories count whole.
func (a *action) chooses(form shell.Word, name string) bool {
	if len(a.does.Chosen) == 0 || !isFile(name) || !subpath.BelowFold(name, form.Text) {
		return true
	}
	segments := strings.Split(name[strings.LastIndexByte(strings.TrimSuffix(form.Text, "/"), '/')+1:], "/")
	return slices.ContainsFunc(segments, func(segment string) bool {
		return slices.ContainsFunc(a.does.Chosen, func(chosen shell.Word) bool { return fits(chosen, segment) })
	})
}

// finds reports whether a search below form that changes what it finds may find a name of the
// table: it knows the names, and not the directories.
func (a *action) finds(form shell.Word, table names) bool {
	return slices.ContainsFunc(a.does.Chosen, func(chosen shell.Word) bool {
		var room [8]shell.Word
		segments := split(form, room[:0])
		return namedIn(append(segments[worktree(segments):], shell.Word{Holes: []shell.Hole{{Kind: shell.AnyText}}}, chosen), table, false)
	})
}

// isFile reports whether a guarded name is one of a file, by its ending.
func isFile(name string) bool {
	switch path.Ext(name) {
	case ".toml", ".json", ".jsonl":
		return true
	}
	return false
}

// reachesPolicy reports whether a write may change the policy of the workspace.
func (a *action) reachesPolicy(form shell.Word, place *patterns.Place) bool {
	in := func(dir string) bool {
		name := dir + "/" + policyFile
		return dir != "" && reaches(form, name, a.wholeTree() && a.chooses(form, name))
	}
	return in(place.Workspace) || slices.ContainsFunc(place.Roots, in)
}

// guardedFiles returns the guarded files under their given names, and these and
// the agent's settings under the names to which links lead.
func (e *evaluation) guardedFiles() []string {
	if e.watched.guarded != nil {
		return e.watched.guarded
	}
	e.watched.guarded = []string{}
	for _, name := range e.policy.Guarded {
		e.watched.guarded = append(e.watched.guarded, path.Clean(name))
		e.guardTarget(path.Clean(name))
	}
	for _, name := range e.settings.at(e.policy.Place) {
		e.guardTarget(name)
	}
	return e.watched.guarded
}

// settings holds the paths of the agent's settings at a place. They are cached
// between tool uses, since the place rarely changes.
type settings struct {
	home, workspace string
	roots           []string
	names           []string
}

func (s *settings) at(place patterns.Place) []string {
	if s.names == nil || s.home != place.Home || s.workspace != place.Workspace || !slices.Equal(s.roots, place.Roots) {
		*s = settings{home: place.Home, workspace: place.Workspace, roots: place.Roots, names: []string{}}
		for _, dir := range append([]string{place.Home, place.Workspace}, place.Roots...) {
			for _, name := range settingsPaths {
				if dir != "" {
					s.names = append(s.names, dir+"/"+name)
				}
			}
		}
	}
	return s.names
}

// guardTarget also guards the target of a link.
func (e *evaluation) guardTarget(name string) {
	if real, ok := e.lookUp(name); ok && !same(real, name) {
		e.watched.guarded = append(e.watched.guarded, real)
	}
}

// reaches reports whether a write to form may change the file or directory
// name, or something below it; with tree set, also if name is below form. The
// known part of an unknown path must match.
func reaches(form shell.Word, name string, tree bool) bool {
	if name == "" || name == "/" {
		return false
	}
	if len(form.Holes) > 0 {
		known := form.Text[:form.Holes[0].At]
		return strings.Trim(form.Text, "/") != "" && fits(form, name) || same(known, name+"/") || subpath.BelowFold(known, name)
	}
	return same(form.Text, name) || subpath.BelowFold(form.Text, name) || tree && subpath.BelowFold(name, form.Text)
}

// holds reports whether dir is the known path form or below it.
func holds(form shell.Word, dir string) bool {
	return dir != "" && len(form.Holes) == 0 && (same(form.Text, dir) || subpath.BelowFold(dir, form.Text))
}

// holdsWhole reports whether a directory of the workspace or the home is the known
// path form or below it.
func holdsWhole(form shell.Word, place *patterns.Place) bool {
	return holds(form, place.Workspace) || holds(form, place.Home) ||
		slices.ContainsFunc(place.Roots, func(root string) bool { return holds(form, root) })
}

// named reports whether consecutive segments of form are a name of the table;
// with parents set, also if form ends in the directories that lead to one.
// After unknown directories, the rest of a name suffices.
func named(form shell.Word, table names, parents bool) bool {
	var room [8]shell.Word
	return namedIn(split(form, room[:0]), table, parents)
}

// protectedIn is named for the protected paths of the table: those of a copy of the
// workspace, if form lies in one.
func protectedIn(form shell.Word) bool {
	var room [8]shell.Word
	segments := split(form, room[:0])
	return namedIn(segments[worktree(segments):], protectedNames(), true)
}

// namedIn is named for the segments of a path.
func namedIn(segments []shell.Word, table names, parents bool) bool {
	for at := range segments {
		found := false
		table.each(segments[at:], func(want []string, n int) {
			found = found || n == len(want) || parents && at+n == len(segments)
		})
		if found || segments[at].Text == "" && table.endIn(segments[at+1:]) {
			return true
		}
	}
	return false
}

// each calls f with the names of the table that begin with the first segment of
// a path, and with the number of their segments that the path has.
func (t names) each(segments []shell.Word, f func(want []string, n int)) {
	if len(segments[0].Holes) == 0 {
		t.begin(lower(segments[0].Text), segments, f)
		return
	}
	for first := range t {
		if fits(segments[0], first) && tells(segments[0], first, len(segments) == 1) {
			t.begin(first, segments, f)
		}
	}
}

// tells reports whether a segment that may be a name is evidence for it. At
// least half of a name without a leading dot must be known, or every *.yml and
// build* would match. A pattern of a program's own that begins with a wildcard may mean the
// dot: it must tell more than a letter at the end of the name, and not only an extension. If
// it ends in a wildcard as well, or names a directory, it must tell all behind the dot, or two
// thirds of a name without one: *config* means neither .gitconfig nor kubeconfig.
func tells(segment shell.Word, name string, last bool) bool {
	text, holes := segment.Text, segment.Holes
	own := holes[0].At == 0 && holes[0].Kind == shell.Pattern
	switch {
	case own && text[0] != '.' && (!last || holes[len(holes)-1].At == len(text)):
		return len(text)+1 >= len(name) || name[0] != '.' && len(text)*3 >= len(name)*2
	case name[0] != '.':
		return len(text)*2 >= len(name)
	case !own:
		return true
	case text[0] == '.':
		return len(text) > 1 && strings.HasPrefix(name, strings.ToLower(text))
	}
	return len(text) > 1
}

func (t names) begin(first string, segments []shell.Word, f func(want []string, n int)) {
	for _, want := range t[first] {
		if n := fitting(segments, want); n > 0 {
			f(want, n)
		}
	}
}

// lower returns a name in lower case, equal for all names that differ only in
// case.
func lower(name string) string {
	for i := range len(name) {
		if name[i] >= utf8.RuneSelf {
			return strings.ToLower(strings.ToUpper(name))
		}
	}
	return strings.ToLower(name)
}

// endIn reports whether the segments begin with the end of a name of the table.
func (t names) endIn(segments []shell.Word) bool {
	for _, all := range t {
		for _, want := range all {
			for i := 1; i < len(want); i++ {
				if fitting(segments, want[i:]) == len(want)-i {
					return true
				}
			}
		}
	}
	return false
}

// fitting returns the number of leading wanted names with which the segments
// begin.
func fitting(segments []shell.Word, want []string) int {
	for i, name := range want {
		if i == len(segments) || !fits(segments[i], name) {
			return i
		}
	}
	return len(want)
}

// split appends the segments of a path. A hole that may contain slashes stays
// in the segment in which it begins.
func split(form shell.Word, segments []shell.Word) []shell.Word {
	holes := form.Holes
	for start := 0; start <= len(form.Text); {
		end := strings.IndexByte(form.Text[start:], '/')
		if end < 0 {
			end = len(form.Text)
		} else {
			end += start
		}
		seg := shell.Word{Text: form.Text[start:end]}
		for len(holes) > 0 && holes[0].At <= end {
			seg.Holes = append(seg.Holes, shell.Hole{At: holes[0].At - start, Kind: holes[0].Kind})
			holes = holes[1:]
		}
		switch known := len(seg.Holes) == 0; {
		case known && (seg.Text == "" || seg.Text == "."):
		case known && seg.Text == "..": // after unknown text
			segments = segments[:max(len(segments)-1, 0)]
		default:
			segments = append(segments, taken(seg))
		}
		start = end + 1
	}
	return segments
}

// taken returns a name as tools and file systems may interpret it: without
// surrounding spaces, trailing dots and invisible characters, and with the
// short name or a stream of .git as .git.
func taken(seg shell.Word) shell.Word {
	if len(seg.Holes) > 0 || plain(seg.Text) {
		return seg
	}
	text, _, _ := strings.Cut(seg.Text, ":")
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, text)
	if text = strings.TrimRightFunc(strings.TrimLeftFunc(text, blank), func(r rune) bool { return blank(r) || r == '.' }); same(text, "git~1") {
		text = ".git"
	}
	if text == "" {
		return seg
	}
	return shell.Word{Text: text}
}

// plain reports whether every file system takes a name literally.
func plain(name string) bool {
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c >= utf8.RuneSelf || c == ':' || c == '~' {
			return false
		}
	}
	return !strings.HasSuffix(name, ".")
}

// fits reports whether a word can be name, ignoring case, once its holes are
// filled. A leading glob does not match a dot.
func fits(w shell.Word, name string) bool {
	switch {
	case len(w.Holes) == 0:
		return same(w.Text, name)
	case w.Text == "":
		return false // there is no evidence for it
	}
	first, last := w.Holes[0], w.Holes[len(w.Holes)-1]
	if first.At == 0 && first.Kind == shell.Glob && strings.HasPrefix(name, ".") {
		return false
	}
	name, text := strings.ToLower(name), strings.ToLower(w.Text)
	if len(text) != len(w.Text) || !strings.HasPrefix(name, text[:first.At]) {
		return false
	}
	name = name[first.At:]
	tail := text[last.At:]
	if !strings.HasSuffix(name, tail) {
		return false
	}
	name = name[:len(name)-len(tail)]
	for i := 1; i < len(w.Holes); i++ {
		piece := text[w.Holes[i-1].At:w.Holes[i].At]
		at := strings.Index(name, piece)
		if at < 0 {
			return false
		}
		name = name[at+len(piece):]
	}
	return true
}

func same(a, b string) bool { return a == b || strings.EqualFold(a, b) }
