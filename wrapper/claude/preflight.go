package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
)

// preflight verifies, before the prompt is sent, that the CLI will ask about
// every tool use. Each step takes one answer of the CLI.
type preflight struct {
	acceptManaged bool
	ours          string // the settings that we passed
	version       version
	// listed has the reports that the CLI has given.
	listed map[string]bool
	// hooked are the commands of managed hooks that were accepted.
	hooked []string
}

// The reports of the CLI about itself. Every accepted version has get_settings;
// the others were added by 2.1.329 at the latest.
const (
	askSettings = "get_settings"
	askRules    = "list_permission_rules"
	askHooks    = "get_hooks_listing"
)

// initialized is the answer to initialize.
type initialized struct {
	Version      string `json:"claude_code_version"`
	Mode         string `json:"current_permission_mode"`
	HooksApplied *bool  `json:"hooks_applied"`
	OnFailure    *bool  `json:"hook_on_failure_supported"`
}

// begin checks the answer to initialize. The version is the one that the CLI
// reports, there or by --version.
func (f *preflight) begin(in initialized, v version) error {
	f.version = v
	f.listed = map[string]bool{}
	if v.before(oldest) {
		return fmt.Errorf("the agent CLI is version %s, and at least %s is needed: update it (npm install -g @anthropic-ai/claude-code@latest)", v, oldest)
	}
	needed := !v.before(lists)
	switch {
	case in.Mode != "default" && (in.Mode != "" || needed):
		return distrusted("the agent CLI started in permission mode %q, not default", in.Mode)
	case in.HooksApplied == nil && needed, in.HooksApplied != nil && !*in.HooksApplied:
		return distrusted("the agent CLI did not take our PreToolUse hook")
	case in.OnFailure == nil && needed, in.OnFailure != nil && !*in.OnFailure:
		return distrusted("the agent CLI would run tools when our PreToolUse hook fails")
	}
	return nil
}

// take checks one report.
func (f *preflight) take(kind string, r *response) error {
	if r.Kind != "success" {
		if kind != askSettings && f.version.before(lists) && strings.HasPrefix(r.Error, "Unsupported control request") {
			return nil
		}
		return distrusted("the agent CLI did not answer %s: %.200s", kind, r.Error)
	}
	f.listed[kind] = true
	switch kind {
	case askSettings:
		return f.settings(r.Content)
	case askRules:
		return f.rules(r.Content)
	case askHooks:
		return f.hooks(r.Content)
	}
	return fmt.Errorf("%s was not asked for", kind)
}

type settingsAnswer struct {
	Effective struct {
		Permissions permissions `json:"permissions"`
	} `json:"effective"`
	Sources []struct {
		Source   string          `json:"source"`
		Settings json.RawMessage `json:"settings"`
	} `json:"sources"`
}

// settings checks that the CLI has our settings, and of others only managed ones
// that cannot decide a tool use.
func (f *preflight) settings(body []byte) error {
	var a settingsAnswer
	if err := decodeLoose(body, &a); err != nil {
		return distrusted("the agent CLI's get_settings cannot be read: %w", err)
	}
	ours, others := false, false
	for _, s := range a.Sources {
		switch s.Source {
		case "flagSettings":
			same := sameJSON(s.Settings, []byte(f.ours))
			ours, others = ours || same, others || !same
		case "policySettings":
			if err := f.managed(s.Settings); err != nil {
				return err
			}
		default:
			return distrusted("the agent CLI loaded settings from %s although it was told to load none", s.Source)
		}
	}
	if !ours || others || !slices.Contains(a.Effective.Permissions.Ask, "*") {
		return distrusted("our settings are not in force in the agent CLI: it would run tools without asking")
	}
	return nil
}

func sameJSON(a, b []byte) bool {
	x, errA := strictjson.Object(a)
	y, errB := strictjson.Object(b)
	return errA == nil && errB == nil && reflect.DeepEqual(x, y)
}

// harmless are the keys of managed settings that cannot let a tool run without
// us.
var harmless = []string{
	"$schema", "permissions", "model", "availableModels", "companyAnnouncements", "cleanupPeriodDays",
	"forceLoginMethod", "forceLoginOrgUUID", "includeCoAuthoredBy", "attribution",
	"disableAllHooks", "disableSkillShellExecution",
}

// harmlessPermissions are the harmless keys below permissions.
var harmlessPermissions = []string{"deny", "ask", "disableBypassPermissionsMode", "disableAutoMode"}

// managed checks the machine's managed settings.
func (f *preflight) managed(settings []byte) error {
	keys, err := strictjson.Object(settings)
	if err != nil {
		return fmt.Errorf("managed settings: %w", err)
	}
	if only, _ := keys["allowManagedPermissionRulesOnly"].(bool); only {
		return errors.New("the machine's managed settings switch every permission rule off but their own (allowManagedPermissionRulesOnly): the agent would not ask, so it is not started; have that setting removed")
	}
	found := besides(keys, harmless, "")
	if own, ok := keys["permissions"].(map[string]any); ok {
		found = append(found, besides(own, harmlessPermissions, "permissions.")...)
	}
	if f.acceptManaged {
		f.hooked = commandsOf(keys["hooks"])
		return nil
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("the machine's managed settings hold %s, which might decide before us: have them removed, or accept them with --accept-managed", strings.Join(found, ", "))
}

// commandsOf returns what hooks in settings have the shell run.
func commandsOf(hooks any) (commands []string) {
	switch hooks := hooks.(type) {
	case []any:
		for _, one := range hooks {
			commands = append(commands, commandsOf(one)...)
		}
	case map[string]any:
		for name, one := range hooks {
			if command, ok := one.(string); ok && name == "command" {
				commands = append(commands, command)
			}
			commands = append(commands, commandsOf(one)...)
		}
	}
	return commands
}

// besides returns the keys that are not in known, sorted and with a prefix.
func besides(keys map[string]any, known []string, prefix string) []string {
	var found []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if !slices.Contains(known, key) {
			found = append(found, fmt.Sprintf("%.60q", prefix+key))
		}
	}
	return found
}

// distrusted returns the error for an agent CLI that does not follow our
// settings.
func distrusted(format string, args ...any) error {
	return fmt.Errorf(format+"; it is not given the task: see what --agent-command starts, update the agent CLI (npm install -g @anthropic-ai/claude-code@latest), or see with --log FILE what it says", args...)
}

// acceptable returns a hint for the error about managed settings, "" for other
// sources.
func acceptable(source string) string {
	if source == "policySettings" {
		return ", or accept it with --accept-managed"
	}
	return ""
}

type rulesAnswer struct {
	State struct {
		Rules []struct {
			Behavior    string `json:"behavior"`
			Source      string `json:"source"`
			Rule        string `json:"rule"`
			NotInEffect bool   `json:"notInEffect"`
		} `json:"rules"`
		ManagedOnly *bool `json:"managedOnly"`
	} `json:"state"`
}

// rules checks that our ask rule is in effect.
func (f *preflight) rules(body []byte) error {
	var a rulesAnswer
	if err := decodeLoose(body, &a); err != nil {
		return distrusted("the agent CLI's list_permission_rules cannot be read: %w", err)
	}
	if a.State.ManagedOnly == nil || *a.State.ManagedOnly {
		return distrusted("the agent CLI follows managed permission rules only: it would not ask us")
	}
	for _, r := range a.State.Rules {
		if r.Behavior == "ask" && r.Source == "flagSettings" && r.Rule == "*" && !r.NotInEffect {
			return nil
		}
	}
	return distrusted("the rule that makes the agent CLI ask about everything is not in effect")
}

type hooksAnswer struct {
	Hooks *[]struct {
		Event  string `json:"event"`
		Source string `json:"source"`
	} `json:"hooks"`
	Policy struct {
		Count int `json:"policyHookCount"`
	} `json:"policy"`
}

// hooks checks that there are no hooks but ours.
func (f *preflight) hooks(body []byte) error {
	var a hooksAnswer
	if err := decodeLoose(body, &a); err != nil {
		return distrusted("the agent CLI's get_hooks_listing cannot be read: %w", err)
	}
	if a.Hooks == nil {
		return distrusted("the agent CLI does not tell which hooks it has")
	}
	for _, h := range *a.Hooks {
		if h.Source != "policySettings" || !f.acceptManaged {
			return fmt.Errorf("the agent CLI has a %s hook from %s, which might decide before us: have it removed%s", h.Event, h.Source, acceptable(h.Source))
		}
	}
	if a.Policy.Count > 0 && !f.acceptManaged {
		return fmt.Errorf("the machine's managed settings hold %d hooks, which might decide before us: have them removed, or accept them with --accept-managed", a.Policy.Count)
	}
	return nil
}
