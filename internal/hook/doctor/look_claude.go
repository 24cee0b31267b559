package doctor

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// claudeFiles returns the settings of Claude Code.
func claudeFiles(m *Machine) files {
	home := m.variable("CLAUDE_CONFIG_DIR")
	if home == "" {
		home = filepath.Join(m.Home, ".claude")
	}
	f := files{
		event: "PreToolUse",
		user:  []doc{m.json(filepath.Join(home, "settings.json"))},
		project: []doc{
			m.json(filepath.Join(m.Dir, ".claude", "settings.json")),
			m.json(filepath.Join(m.Dir, ".claude", "settings.local.json")),
		},
	}
	managed := "/etc/claude-code"
	if runtime.GOOS == "darwin" {
		managed = "/Library/Application Support/ClaudeCode"
	}
	f.managed = []doc{m.json(m.system(managed + "/managed-settings.json"))}
	drops, _ := filepath.Glob(m.system(managed + "/managed-settings.d/*.json"))
	for _, path := range drops {
		f.managed = append(f.managed, m.json(path))
	}
	return f
}

// lookClaude finds out about Claude Code.
func lookClaude(l *look) {
	f := claudeFiles(l.Machine)
	managed, user := l.usual(f)
	for _, e := range append(slices.Clone(managed), user...) {
		l.claudeFailure(e)
	}
	if len(managed) == 0 && len(user) > 0 {
		l.claudeSwitches(f)
	}
	l.claudeModes(f)
	if !anyIs(f.managed, true, "allowManagedHooksOnly") {
		l.others(f)
	}
	if !anyIs(append(slices.Clone(f.managed), f.user...), true, "disableSkillShellExecution") {
		l.doors([2]string{
			"a command line in a skill that the model loads runs without a hook of its own; the use of Skill is decided.",
			`Set "disableSkillShellExecution": true in the managed settings.`,
		})
	}
}

// claudeFailure tells what happens if our hook fails.
func (l *look) claudeFailure(e handler) {
	switch v := e.fields["onFailure"]; v {
	case "block":
		if !knowsOnFailure(l.version) {
			l.red(fmt.Sprintf("this version (%s) is not known to obey onFailure, as %s does; up to 2.1.268 a hook that fails, hangs or is missing lets the tool run.", cmp.Or(l.version, "unknown"), onFailureFrom), "Update Claude Code.")
			return
		}
		l.ok("A hook that fails, hangs or is missing stops the tool (onFailure).")
	case nil, "continue":
		l.red(e.doc.shown+": a hook that fails, hangs or is missing lets the tool run.", `Set "onFailure": "block" in the hook. `+l.install())
	default:
		l.red(fmt.Sprintf("%s: onFailure is %v, which voids the whole file.", e.doc.shown, v), `Set "onFailure": "block". `+l.install())
	}
}

// onFailureFrom is the oldest version of Claude Code that obeys onFailure in a proof:
// 2.1.197 and 2.1.268 do not.
const onFailureFrom = "2.1.330"

// knowsOnFailure reports whether a version, as claude --version prints it, is that one or a
// later one.
func knowsOnFailure(version string) bool {
	var now, from [3]int
	if n, err := fmt.Sscanf(version, "%d.%d.%d", &now[0], &now[1], &now[2]); n != 3 || err != nil {
		return false
	}
	_, _ = fmt.Sscanf(onFailureFrom, "%d.%d.%d", &from[0], &from[1], &from[2])
	return slices.Compare(now[:], from[:]) >= 0
}

// claudeSwitches tells what switches the hook off in the settings of the person.
func (l *look) claudeSwitches(f files) {
	const toManaged = "Install the hook in the managed settings: agent-wrapper install claude --scope managed."
	pinned := anyIs(f.managed, false, "disableAllHooks")
	off := false
	for _, d := range append(slices.Clone(f.user), f.project...) {
		if d.is(true, "disableAllHooks") && !pinned {
			off = true
			l.red(d.shown+" has disableAllHooks: the hook is not called here.", "Remove disableAllHooks. "+toManaged)
		}
		if d.at("env", "CLAUDE_CODE_SIMPLE") != nil && slices.ContainsFunc(f.user, func(u doc) bool { return u.path == d.path }) {
			l.red(d.shown+" sets CLAUDE_CODE_SIMPLE, which switches hooks off.", "Remove it.")
		}
	}
	if l.variable("CLAUDE_CODE_SIMPLE") != "" {
		l.red("CLAUDE_CODE_SIMPLE is set in this shell, which switches hooks off.", "Unset it.")
	}
	if anyIs(f.managed, true, "disableAllHooks") || anyIs(f.managed, true, "allowManagedHooksOnly") {
		l.red("The managed settings let no hook of the person be called.", toManaged)
	}
	if !pinned && !off {
		l.warn("The hook is in the person's settings: a repository switches it off with disableAllHooks in .claude/settings.json, and so do --bare and --settings.", toManaged)
	}
	if len(ours("ConfigChange", f.user...)) == 0 {
		l.warn("No hook guards the settings: an agent that writes disableAllHooks in the midst of a session is rid of the hook.", l.install())
	}
}

// modesAnswering are the modes in which Claude Code answers a question of ours itself.
var modesAnswering = map[string]string{
	"auto":              "a model answers what agent-wrapper would ask you",
	"bypassPermissions": "what agent-wrapper would ask you about may run unasked",
	"dontAsk":           "what agent-wrapper would ask you is denied",
}

// claudeModes tells of modes that answer before us.
func (l *look) claudeModes(f files) {
	all := slices.Concat(f.managed, f.user, f.project)
	for _, d := range all {
		mode := d.text("permissions", "defaultMode")
		if what := modesAnswering[mode]; what != "" {
			l.warn(fmt.Sprintf("%s starts in mode %s: %s. A denial of agent-wrapper holds in every mode.", d.shown, mode, what), `Set "defaultMode": "default" in permissions.`)
		}
	}
	for _, x := range [][2]string{{"disableAutoMode", "auto"}, {"disableBypassPermissionsMode", "bypassPermissions"}} {
		key, mode := x[0], x[1]
		if !anyIs(all, "disable", key) && !anyIs(all, "disable", "permissions", key) {
			l.warn(fmt.Sprintf("Mode %s can be chosen: %s.", mode, modesAnswering[mode]), fmt.Sprintf(`Set "%s": "disable" in permissions.`, key))
		}
	}
}

// anyIs reports whether one of the files has this value below keys.
func anyIs(docs []doc, want any, keys ...string) bool {
	return slices.ContainsFunc(docs, func(d doc) bool { return d.is(want, keys...) })
}

// exists reports whether there is such a file.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
