package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Finding is a problem that a check found in a policy.
type Finding struct {
	Check  string // the name of the check
	Level  string // danger, warning or note
	Source patterns.Source
	Rule   string // the text of the rule, or key = value of a setting
	Why    string
	Fix    string // what to do about it
	// Instead lists narrower rules that would suffice. Each of them loads without
	// a finding.
	Instead []Suggestion
}

// Suggestion is a rule with the list to which it should be added.
type Suggestion struct {
	List string `json:"list"` // allow, ask or deny
	Rule string `json:"rule"`
}

// The levels of findings, the worst first: the policy allows more than a person
// can oversee; a rule does not do what it seems to; worth knowing.
const (
	LevelDanger  = "danger"
	LevelWarning = "warning"
	LevelNote    = "note"
)

// LintCheck looks for one kind of problem.
type LintCheck struct {
	Name string // "runs-program"
	Doc  string // one sentence
	run  func(*linter)
}

// LintChecks returns all checks in the order in which they run. A check may
// skip the rules for which an earlier one has a finding.
func LintChecks() []LintCheck {
	return []LintCheck{
		{"no-effect", "a rule that can never match, or that matches but allows nothing", noEffect},
		{"duplicate", "a rule that appears twice, possibly spelled differently", duplicates},
		{"overruled", "an allow rule that an ask or deny rule always overrules", overruled},
		{"shadowed", "a rule already covered by a wider one in its list or by a stronger list", shadowed},
		{"everything", "an allow rule for everything a tool can do, or for every file or host", everything},
		{"whole-program", "an allow rule for a program with all its subcommands, some of which make changes", wholeProgram},
		{"runs-program", "an allow rule for an interpreter or shell with any program file", runsProgram},
		{"runs-script", "an allow rule for any script or target that files in the workspace define", runsScript},
		{"wrapper", "an allow rule for a program that runs others: it does not cover what they do", wrappers},
		{"destroys", "an allow rule for destructive commands", destroys},
		{"any-host", "an allow rule for commands that fetch from any host, or whose host is cut short", anyHost},
		{"host-in-command", "an ask or deny rule that names a host in a command: other programs reach it too", hostInCommand},
		{"one-tool", "an ask or deny rule for a path and only one tool: other tools reach it too", oneTool},
		{"unreachable", "a granular rule after one that always answers first", unreachable},
		{"protected", "an allow rule for a protected file, or a protect entry that is built in", protects},
		{"secrets", "an allow rule that does not cover secrets, or a rule for .env files that covers .env.example", secrets},
		{"setting", "a setting that turns off a safeguard", settings},
		{"limits", "a session limit that is never reached, or limits.then without a limit", limits},
		{"approvals", "an approval requirement that never takes effect", approvals},
		{"notify", "a notice of questions where nobody is asked", notifications},
		{"reads-differently", "a rule that does not mean what it seems to", readsDifferently},
	}
}

// Lint reports rules that allow more than they seem to, and rules that have no
// effect. The findings are in the order of the file. A policy that does not
// load is an error: see Validate.
func Lint(s *Spec) ([]Finding, error) {
	l, err := newLinter(s)
	if err != nil {
		return nil, err
	}
	l.run()
	slices.SortStableFunc(l.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Source.Line, b.Source.Line), cmp.Compare(a.Source.Col, b.Source.Col))
	})
	return l.findings, nil
}

// LintOf returns the findings of Lint about the rules of one source, by its name.
func LintOf(s *Spec, name string) ([]Finding, error) {
	l, err := newLinter(s)
	if err != nil {
		return nil, err
	}
	for _, r := range l.rules {
		l.done[r] = r.item.Source.Name != name
	}
	l.run()
	return slices.DeleteFunc(l.findings, func(f Finding) bool { return f.Source.Name != name }), nil
}

// lintPlace is where rules are tried. Any place would do, since the paths of
// rules are relative to it.
var lintPlace = patterns.Place{Workspace: defaultDir, Home: defaultHome}

// linter is one run of the checks over a policy.
type linter struct {
	spec     *Spec
	catalog  *program.Catalog
	rules    []*linted
	check    string // the name of the current check
	findings []Finding
	// done holds the rules that later checks skip.
	done map[*linted]bool
	// trial is set while a suggestion is tried, whose own suggestions are not
	// needed.
	trial bool
}

func newLinter(s *Spec) (*linter, error) {
	compiled, _, _, err := s.Compile(lintPlace)
	if err != nil {
		return nil, err
	}
	l := &linter{spec: s, catalog: compiled.Catalog, done: map[*linted]bool{}}
	for _, key := range listNames() {
		for _, item := range *s.listed(key) {
			l.rules = append(l.rules, newLinted(key, item, compiled))
		}
	}
	return l, nil
}

func (l *linter) run() {
	for _, check := range LintChecks() {
		l.check = check.Name
		check.run(l)
	}
}

// linted is one rule of a list.
type linted struct {
	key      string
	list     patterns.List
	item     Item
	rule     *patterns.Rule
	warnings []patterns.Warning
	cmd      *commandShape // nil unless the rule is about one simple command
	set      *patterns.Set // the rule alone, ready to match
	policy   *trialPolicy  // for an allow rule: see linter.allows
}

func newLinted(key string, item Item, by *permission.Policy) *linted {
	r := &linted{key: key, list: listKeys[key], item: item}
	r.rule, r.warnings, _ = patterns.ParseWith(by.Tools, item.Text, r.list, item.Source) // the policy has been compiled, so there is no error
	r.cmd = newCommandShape(r.rule, by.Catalog)
	r.set = patterns.NewSet(lintPlace, r.rule)
	return r
}

// each calls f with the rules of a list that are not done.
func (l *linter) each(list patterns.List, f func(r *linted)) {
	for _, r := range l.rules {
		if r.list == list && !l.done[r] {
			f(r)
		}
	}
}

// find adds a finding about a rule, without those suggestions that would
// themselves have a finding.
func (l *linter) find(level string, r *linted, why, fix string, instead ...Suggestion) {
	f := Finding{Check: l.check, Level: level, Source: r.item.Source, Rule: r.rule.String(), Why: why, Fix: fix}
	for _, s := range instead {
		if !l.trial && l.clean(r, s) {
			f.Instead = append(f.Instead, s)
		}
	}
	l.findings = append(l.findings, f)
}

// clean reports whether the policy has no finding about the suggested rule when
// it replaces the old one.
func (l *linter) clean(old *linted, s Suggestion) bool {
	if _, err := l.spec.usableRule(s.Rule, listKeys[s.List]); err != nil {
		return false
	}
	mark := patterns.Source{Name: "suggestion", Line: 1}
	next := *l.spec
	list := next.listed(old.key)
	*list = slices.DeleteFunc(slices.Clone(*list), func(i Item) bool { return i.Text == old.item.Text })
	list = next.listed(s.List)
	*list = append(slices.Clone(*list), Item{Text: s.Rule, Source: mark})
	t, err := newLinter(&next)
	if err != nil {
		return false
	}
	t.trial = true
	for _, r := range t.rules {
		t.done[r] = r.item.Source != mark
	}
	t.run()
	return !slices.ContainsFunc(t.findings, func(f Finding) bool { return f.Source == mark })
}

// String returns the finding on two or three lines, for a person.
func (f *Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s [%s]\n", at(f.Source, fmt.Errorf("%s: %s: %s", f.Level, f.Rule, f.Why)), f.Check)
	fmt.Fprintf(&b, "    %s\n", f.Fix)
	for _, s := range f.Instead {
		fmt.Fprintf(&b, "    %s = [%s]\n", s.List, stricttoml.Quote(s.Rule))
	}
	return b.String()
}
