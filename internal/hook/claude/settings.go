package claude

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/hook"
	"github.com/agent-wrapper/agent-wrapper/internal/hook/entry"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
)

// settings are the keys of a settings file that decide whether our hook is asked, and
// whether its ask reaches a person.
type settings struct {
	DisableAllHooks bool `json:"disableAllHooks"`
	Permissions     struct {
		DefaultMode string   `json:"defaultMode"`
		Deny        []string `json:"deny"`
		Ask         []string `json:"ask"`
	} `json:"permissions"`
	EnabledPlugins map[string]any `json:"enabledPlugins"`
	Hooks          struct {
		PreToolUse []struct {
			Matcher string    `json:"matcher"`
			Hooks   []handler `json:"hooks"`
		} `json:"PreToolUse"`
	} `json:"hooks"`
}

func parse(data []byte) (*settings, error) {
	s := new(settings)
	if len(data) == 0 {
		return s, nil
	}
	return s, strictjson.Decode(data, s, strictjson.IgnoreUnknown, strictjson.NullAbsent)
}

// handler is one hook.
type handler struct {
	Type      string   `json:"type"`
	Command   string   `json:"command"`
	Args      []string `json:"args"`
	OnFailure string   `json:"onFailure"`
	If        string   `json:"if"`
	Async     bool     `json:"async"`
}

// ours reports whether the settings start this program as the hook before every tool use,
// and run nothing if it fails.
func (s *settings) ours() bool {
	for _, group := range s.Hooks.PreToolUse {
		if group.Matcher == "" || group.Matcher == "*" {
			if slices.ContainsFunc(group.Hooks, handler.ours) {
				return true
			}
		}
	}
	return false
}

func (h handler) ours() bool {
	self, err := os.Executable()
	if err != nil || h.Type != "command" || h.OnFailure != "block" || h.If != "" || h.Async {
		return false
	}
	named, err := os.Stat(h.Command)
	if err != nil || !entry.Starts(h.Args, hook.Claude) {
		return false
	}
	for _, program := range entry.Programs(self) {
		if one, err := os.Stat(program); err == nil && os.SameFile(one, named) {
			return true
		}
	}
	return false
}

// loosens returns why a change of a settings file must not count, "" if it may.
func loosens(e *hook.Event, project, home string, data []byte) string {
	s, err := parse(data)
	switch {
	case err != nil:
		return "it cannot be read, and Claude Code would ignore all of it: " + err.Error()
	case s.DisableAllHooks:
		return "disableAllHooks switches agent-wrapper off"
	case slices.Contains([]string{"bypassPermissions", "auto", "dontAsk"}, s.Permissions.DefaultMode):
		return fmt.Sprintf("permissions.defaultMode %q lets questions pass by a person", s.Permissions.DefaultMode)
	case e.Plugin:
		return s.unplugs()
	case !s.ours() && !elsewhere(e.File, project, home):
		return "it takes agent-wrapper's hook out: run agent-wrapper uninstall claude in a terminal of yours instead"
	}
	return ""
}

// unplugs returns why settings must not count beside our plugin, "" if they may.
func (s *settings) unplugs() string {
	for name, on := range s.EnabledPlugins {
		if plugin, _, _ := strings.Cut(name, "@"); plugin == entry.Program && on != true {
			return fmt.Sprintf("enabledPlugins switches %s off", name)
		}
	}
	return ""
}

// elsewhere reports whether our hook is in another settings file than the one that has
// changed.
func elsewhere(changed, project, home string) bool {
	for _, file := range settingsFiles(project, filepath.Join(home, ".claude")) {
		if file == changed {
			continue
		}
		text, err := workspace.ReadText(file)
		if err != nil {
			continue
		}
		if s, err := parse([]byte(text)); err == nil && s.ours() {
			return true
		}
	}
	return false
}

// settingsFiles returns the settings files of a project, of a user with a directory for
// them, and of the machine.
func settingsFiles(project, user string) []string {
	files := []string{
		filepath.Join(user, "settings.json"), "/etc/claude-code/managed-settings.json",
		filepath.Join(project, ".claude", "settings.json"), filepath.Join(project, ".claude", "settings.local.json"),
	}
	more, _ := filepath.Glob("/etc/claude-code/managed-settings.d/*.json") // the pattern is one
	return append(files, more...)
}

// ruled returns why a command must not be answered with another: rules of the host's own
// that deny or ask would be matched against that one (measured on 2.1.330).
func ruled(project, home string, env func(string) string) string {
	user := cmp.Or(env("CLAUDE_CONFIG_DIR"), filepath.Join(home, ".claude"))
	for _, file := range settingsFiles(project, user) {
		text, err := workspace.ReadText(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		s := new(settings)
		if err == nil {
			s, err = parse([]byte(text))
		}
		if err != nil {
			return fmt.Sprintf("%s cannot be read: %v", file, err)
		}
		for _, rule := range slices.Concat(s.Permissions.Deny, s.Permissions.Ask) {
			if strings.Contains(rule, "(") {
				return fmt.Sprintf("rule %s of %s would not meet a command that runs inside: take it into your policy (agent-wrapper policy import), and out of there", rule, file)
			}
		}
	}
	return ""
}
