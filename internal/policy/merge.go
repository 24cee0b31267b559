package policy

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Kind is the origin of a policy.
type Kind uint8

// The kinds in ascending precedence: of two values of a setting the later one
// counts.
const (
	Managed     Kind = iota + 1 // of the machine: its administrator's
	User                        // of the person, for all workspaces
	Named                       // given with --policy, in place of the workspace's
	Project                     // of the workspace, in its repository
	Local                       // of the workspace, kept out of the repository
	FrontMatter                 // at the head of a chat file
	Flags                       // of the command line
)

var kindNames = [...]string{"invalid", "managed", "user", "--policy", "project", "local", "front matter", "flags"}

// String returns the kind in words.
func (k Kind) String() string {
	if int(k) >= len(kindNames) {
		k = 0
	}
	return kindNames[k]
}

// Source is one of the policies of a run.
type Source struct {
	Kind Kind
	Name string // the file's path; of flags "flags"
	Spec *Spec
	// Trusted reports that all of the source counts. Otherwise it can only narrow.
	Trusted bool
	// Above is how many directories a project or local policy is above the
	// workspace.
	Above int
}

// byPrecedence compares two sources by precedence. A project policy comes before
// the local one beside it, and both before those of a nearer directory.
func byPrecedence(a, b Source) int {
	kind := func(s Source) int {
		if s.Kind == Local {
			return int(Project)
		}
		return int(s.Kind)
	}
	return cmp.Or(kind(a)-kind(b), b.Above-a.Above, int(a.Kind)-int(b.Kind))
}

// Ignored is a part of a source that has no effect.
type Ignored struct {
	At   patterns.Source
	What string // "allow Bash(x)", "mode acceptEdits"
	Why  string
}

// String returns "file:line:col: what is ignored: why".
func (i Ignored) String() string {
	return fmt.Sprintf("%s: %s is ignored: %s", placed(i.At), i.What, i.Why)
}

// Merge merges several sources into one policy. Deny, ask and granular rules
// add up, and so do the allow lists of trusted sources. Of a setting the later
// source's value counts, except that what a managed one narrows stays narrow.
// An untrusted source becomes a further policy, so that it can only narrow: its
// allow list is a further gate; its granular allows, approved rules and looser
// settings are ignored.
func Merge(sources []Source) (*Spec, []Ignored) {
	m := &merger{spec: &Spec{}}
	sources = slices.Clone(sources)
	slices.SortStableFunc(sources, byPrecedence)
	for _, src := range sources {
		if src.Trusted {
			m.trusted(src)
		}
	}
	for _, src := range sources {
		if src.Kind == Managed && src.Trusted {
			m.keep(src)
		}
	}
	for _, src := range sources {
		if !src.Trusted {
			m.untrusted(src)
		}
	}
	return m.spec, m.ignored
}

type merger struct {
	spec    *Spec
	ignored []Ignored
}

func (m *merger) ignore(at patterns.Source, why, format string, args ...any) {
	m.ignored = append(m.ignored, Ignored{At: at, What: fmt.Sprintf(format, args...), Why: why})
}

// trusted adds a trusted source.
func (m *merger) trusted(src Source) {
	said := *src.Spec
	said.places = said.from(src)
	if said.WhitelistBypass != "" && src.Kind != Managed {
		m.ignore(said.at(src, "whitelist_bypass"), "only a managed policy may set this", "whitelist_bypass = %q", said.WhitelistBypass)
		said.WhitelistBypass = ""
		said.places = without(said.places, "whitelist_bypass")
	}
	if said.Catastrophic == "off" && src.Kind > Named {
		m.ignore(said.at(src, "catastrophic"), "only a managed or user policy, or one given with --policy, may set this", `catastrophic = "off"`)
		said.Catastrophic = ""
		said.places = without(said.places, "catastrophic")
	}
	m.roles(src, &said)
	m.spec.Add(&said)
}

// from returns the places of the settings. Those without a place get the
// source.
func (s *Spec) from(src Source) map[string]patterns.Source {
	places := map[string]patterns.Source{}
	for key, setting := range s.settings() {
		if _, given := s.places[key]; given || *setting != "" {
			places[key] = s.at(src, key)
		}
	}
	return places
}

// without returns places without the key.
func without(places map[string]patterns.Source, key string) map[string]patterns.Source {
	left := map[string]patterns.Source{}
	for k, at := range places {
		if k != key {
			left[k] = at
		}
	}
	return left
}

// keep protects what a managed source narrows against later sources.
func (m *merger) keep(managed Source) {
	s := managed.Spec
	for i := range m.spec.RiskOverrides {
		if slices.ContainsFunc(s.RiskOverrides, m.spec.RiskOverrides[i].same) {
			m.spec.RiskOverrides[i].kept = true
		}
	}
	if stricterUnlisted(s.Unlisted, m.spec) {
		m.hold(managed, "unlisted")
	}
	if s.Role != "" && s.Role != m.spec.Role {
		m.hold(managed, "role")
	}
	// With off more is asked than with on; require runs nothing without a sandbox, where on does.
	if s.Sandbox != "" && s.Sandbox != m.spec.Sandbox && !(s.Sandbox == "on" && m.spec.Sandbox == "require") {
		m.hold(managed, "sandbox")
	}
	for _, held := range [...][2]string{{"risk", "on"}, {"catastrophic", "on"}, {"profile", "default"}, {"sensitive_paths", "ask"}, {"inline_code", "off"}} {
		if key, narrow := held[0], held[1]; *s.settings()[key] == narrow && *m.spec.settings()[key] != narrow {
			m.hold(managed, key)
		}
	}
	if !unchanged(s.Programs, m.spec.Programs) || !unchanged(s.Tools, m.spec.Tools) {
		m.further(managed, func(f *Spec) { f.Programs, f.Tools = withTables(f.Programs, s.Programs), withTables(f.Tools, s.Tools) })
	}
	switch {
	case !narrows(s.Mode):
	case s.Mode == m.spec.Mode:
		m.spec.ownMode = true
	default:
		m.further(managed, func(f *Spec) { f.setMode(s) })
	}
}

// hold restores a setting of a managed source that a later one has replaced.
func (m *merger) hold(managed Source, key string) {
	setting, value := m.spec.settings()[key], *managed.Spec.settings()[key]
	m.ignore(m.spec.places[key], managed.Name+" sets "+value, "%s = %q", key, *setting)
	*setting = value
	m.spec.place(key, managed.Spec.places[key])
}

// unchanged reports whether the entries of a managed source come before all
// others, so that no later one has replaced them.
func unchanged(managed, all []TableSpec) bool {
	same := func(a, b TableSpec) bool { return a.Name == b.Name && a.Source == b.Source }
	return slices.EqualFunc(managed, all[:min(len(managed), len(all))], same)
}

// narrows reports whether a mode can only forbid.
func narrows(mode string) bool {
	m, err := modes.Parse(mode)
	return err == nil && m.Narrows()
}

// setMode gives a further policy a mode of its own.
func (s *Spec) setMode(from *Spec) {
	s.Mode, s.ownMode = from.Mode, true
	s.place("mode", from.places["mode"])
}

// further adds a further policy: a changed copy of the merged one.
func (m *merger) further(src Source, change func(f *Spec)) {
	f := *m.spec
	f.Further, f.places = nil, without(m.spec.places, "")
	f.Allow, f.Ask, f.Deny, f.Rules = slices.Clip(f.Allow), slices.Clip(f.Ask), slices.Clip(f.Deny), slices.Clip(f.Rules)
	f.RiskOverrides = slices.Clip(f.RiskOverrides)
	change(&f)
	m.spec.Further = append(m.spec.Further, &f)
}

// untrusted adds the restrictions of a source as a further policy.
func (m *merger) untrusted(src Source) {
	s := src.Spec
	const why = "the file is not trusted"
	for _, item := range append(slices.Clip(s.SessionAllow), s.Approved...) {
		m.ignore(item.Source, why, "approved %s", item.Text)
	}
	var rules []RuleSpec
	for _, r := range s.Rules {
		if r.Action == "allow" {
			m.ignore(r.Source, why, "an allow rule")
			continue
		}
		rules = append(rules, r)
	}
	if s.Escalation.given() {
		m.ignore(s.Escalation.Source, why, "escalation")
	}
	if s.Notify.given() {
		m.ignore(s.Notify.Source, why, "notify")
	}
	for _, item := range s.Reads {
		m.ignore(item.Source, why, "reads.public %s", item.Text)
	}
	for _, item := range m.spec.Limits.loosens(&s.Limits) {
		m.ignore(item.Source, why, "%s", item.Text)
	}
	m.spec.Limits.narrow(&s.Limits)
	for _, item := range m.untrustedRisks(&s.Risks) {
		m.ignore(item.Source, why, "%s", item.Text)
	}
	given := *s
	m.roles(src, &given)
	for _, item := range m.spec.Approvals.untrusted(&s.Approvals) {
		m.ignore(item.Source, why, "%s", item.Text)
	}
	m.spec.Whitelists = append(m.spec.Whitelists, s.Whitelists...) // a whitelist only narrows
	m.spec.Protect = append(m.spec.Protect, s.Protect...)          // and so does this
	if s.WhitelistBypass != "" {
		m.ignore(s.at(src, "whitelist_bypass"), "only a managed policy may set this", "whitelist_bypass = %q", s.WhitelistBypass)
	}
	var raising []OverrideSpec
	for _, o := range s.RiskOverrides {
		if o.Risk != "forbidden" {
			m.ignore(o.Source, why, "the lower risk of risk_overrides %s", o.name())
		}
		o.narrow = true
		raising = append(raising, o)
	}
	m.settings(src, why)
	m.further(src, func(f *Spec) {
		f.Ask = append(f.Ask, s.Ask...)
		f.Deny = append(f.Deny, append(slices.Clip(s.Deny), s.SessionDeny...)...)
		f.Rules = append(rules, f.Rules...)
		f.RiskOverrides = append(f.RiskOverrides, raising...)
		f.Gate = s.Allow
		f.Programs, f.Tools = withTables(f.Programs, s.Programs), withTables(f.Tools, s.Tools)
		if narrows(s.Mode) {
			f.setMode(s)
		}
		if stricterUnlisted(s.Unlisted, f) {
			f.Unlisted = s.Unlisted
			f.place("unlisted", s.places["unlisted"])
		}
		if s.Catastrophic == "on" {
			f.Catastrophic = "on"
		}
		if s.Profile == "default" {
			f.Profile = "default"
		}
		if s.SensitivePaths == "ask" {
			f.SensitivePaths = "ask"
		}
		if s.InlineCode == "off" {
			f.InlineCode = "off"
		}
	})
}

// stricterUnlisted reports whether a value of unlisted lets less run than that of
// a policy.
func stricterUnlisted(value string, f *Spec) bool {
	strict := []string{"risk", "ask", "deny"}
	now := f.Unlisted
	if now == "" && f.Mode == modes.DontAsk.String() {
		now = "deny"
	}
	return slices.Index(strict, value) > max(slices.Index(strict, now), 0)
}

// defaults holds the values of settings that are not given. That of unlisted
// depends on the mode.
var defaults = map[string]string{"mode": "default", "risk": "on", "catastrophic": "on", "profile": "default", "sensitive_paths": "ask", "advice": "on", "inline_code": "off", "sandbox": "off"}

// narrow holds the values of settings that count in an untrusted source. For
// mode there are two.
var narrow = map[string]string{"unlisted": "deny", "catastrophic": "on", "profile": "default", "sensitive_paths": "ask", "inline_code": "off"}

// settings records the settings of an untrusted source that do not count.
func (m *merger) settings(src Source, why string) {
	s := src.Spec
	for _, key := range []string{"mode", "unlisted", "risk", "profile", "sensitive_paths", "inline_code", "catastrophic", "advice", "sandbox"} {
		value := *s.settings()[key]
		counts := value == "" || key == "unlisted" && stricterUnlisted(value, m.spec) || key == "mode" && narrows(value) || value == narrow[key]
		if !counts && value != cmp.Or(*m.spec.settings()[key], defaults[key]) {
			m.ignore(s.at(src, key), why, "%s = %q", key, value)
		}
	}
}

// at returns the place of a setting, or the source if it has none.
func (s *Spec) at(src Source, key string) patterns.Source {
	if at, ok := s.places[key]; ok && at.Name != "" {
		return at
	}
	return patterns.Source{Name: src.Name}
}
