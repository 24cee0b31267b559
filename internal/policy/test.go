package policy

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/atomicfile"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// TestOptions modify RunTests.
type TestOptions struct {
	// Update writes the decisions of the cases into their files where they differ
	// from the expectation or there is none.
	Update bool
	// Evaluator returns the evaluator for a case, complete except for its file
	// system. spec is the policy in file with the additions of the case. An error
	// says why they cannot be used. If Evaluator is nil, the policy alone decides,
	// and one that names a whitelist is an error.
	Evaluator func(file string, spec *Spec, place patterns.Place) (*permission.Evaluator, error)
}

// Report is the outcome of the tests of a directory.
type Report struct {
	Results []Result
	// Untouched lists the rules of the policies that have no effect in any case.
	Untouched []Item
	Rules     int // of the policies, including untouched ones
	Updated   int // expectations that were rewritten
}

// Result is the outcome of one case.
type Result struct {
	Case
	Got    Expectation
	Reason string // of the decision
	Advice []permission.Advice
	// Diff has a line for the expectation and one for the decision; "" if they agree.
	Diff string
}

// Failed returns the results that are not as expected.
func (r *Report) Failed() []Result {
	var failed []Result
	for _, result := range r.Results {
		if result.Diff != "" {
			failed = append(failed, result)
		}
	}
	return failed
}

// casesPattern matches the names of files of cases.
const casesPattern = "*.cases.toml"

// RunTests decides the cases in all *.cases.toml files below dir, except in
// hidden directories and node_modules. The policy of a file is the
// agent-wrapper.toml in the same directory, or else in the nearest parent up to
// dir. The error reports what could not be read; a decision other than the
// expected one is not an error.
func RunTests(dir string, opt TestOptions) (Report, error) {
	files, err := caseFiles(dir)
	if err != nil {
		return Report{}, err
	}
	if opt.Evaluator == nil {
		opt.Evaluator = byItself
	}
	t := &tester{root: dir, opt: opt, policies: map[string]*underTest{}}
	var errs []error
	for _, file := range files {
		if err := t.file(file); err != nil {
			errs = append(errs, err)
		}
	}
	for _, p := range t.order {
		rules, untouched := p.coverage()
		t.report.Rules += rules
		t.report.Untouched = append(t.report.Untouched, untouched...)
	}
	return t.report, errors.Join(errs...)
}

func caseFiles(dir string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() && path != dir && (strings.HasPrefix(name, ".") || name == "node_modules") {
			return fs.SkipDir
		}
		if ok, _ := filepath.Match(casesPattern, name); ok && !d.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("no %s files in %s: write one beside the policy, with a [[case]] with use and expect for each case", casesPattern, dir)
	}
	return files, err
}

// tester runs the cases of one tree.
type tester struct {
	root     string
	opt      TestOptions
	policies map[string]*underTest // by path
	order    []*underTest
	report   Report
}

// byItself returns an evaluator of the policy alone.
func byItself(_ string, spec *Spec, place patterns.Place) (*permission.Evaluator, error) {
	for _, item := range spec.Whitelists {
		return nil, at(item.Source, errors.New("the policy names a whitelist, which policy test does not read"))
	}
	p, session, _, err := spec.Compile(place)
	if err != nil {
		return nil, err
	}
	return &permission.Evaluator{Policy: p, Session: session}, nil
}

// underTest is one policy file with its coverage.
type underTest struct {
	spec *Spec
	// evaluator returns an evaluator of the policy, possibly with more.
	evaluator func(spec *Spec, place patterns.Place) (*permission.Evaluator, error)
	// err is why the policy does not load; told is set once that was reported.
	err     error
	told    bool
	cases   []Case
	touched map[patterns.Source]bool
}

func (t *tester) file(path string) error {
	p, err := t.policyFor(filepath.Dir(path))
	if err != nil {
		return err
	}
	if p.err != nil {
		if p.told {
			return nil
		}
		p.told = true
		return fmt.Errorf("the policy cannot be loaded: %w", p.err)
	}
	data, err := readFile(path)
	if err != nil {
		return err
	}
	cases, err := ParseCases(data, path)
	if err == nil && len(cases) == 0 {
		err = fmt.Errorf("%s has no cases: write each as [[case]] with use and expect", path)
	}
	if err = errors.Join(err, p.slips(cases)); err != nil {
		return err
	}
	var changed []Case
	for _, c := range cases {
		result, err := p.run(c)
		if err != nil {
			return err
		}
		if t.opt.Update && result.Diff != "" {
			result.Want, result.Diff = result.Got, ""
			changed = append(changed, result.Case)
		}
		result.Diff += misadvised(c.Advice, result.Advice)
		t.report.Results = append(t.report.Results, result)
	}
	t.report.Updated += len(changed)
	return update(path, data, changed)
}

// policyFor returns the policy of the cases in a directory.
func (t *tester) policyFor(dir string) (*underTest, error) {
	for at := dir; ; at = filepath.Dir(at) {
		path := filepath.Join(at, FileName)
		if _, err := os.Stat(path); err == nil {
			return t.policyAt(path), nil
		}
		if at == filepath.Clean(t.root) || at == filepath.Dir(at) {
			return nil, fmt.Errorf("%s: no %s here or above: put the policy beside its cases", dir, FileName)
		}
	}
}

func (t *tester) policyAt(path string) *underTest {
	if p := t.policies[path]; p != nil {
		return p
	}
	p := &underTest{touched: map[patterns.Source]bool{}}
	p.evaluator = func(spec *Spec, place patterns.Place) (*permission.Evaluator, error) {
		return t.opt.Evaluator(path, spec, place)
	}
	p.spec, p.err = ReadFile(path)
	if p.err == nil {
		_, p.err = p.evaluator(p.spec, patterns.Place{Workspace: defaultDir, Home: defaultHome})
	}
	t.policies[path] = p
	t.order = append(t.order, p)
	return p
}

// coverage counts the rules of the policy and lists those that have no effect
// in any case, even when no other rule precedes them.
func (p *underTest) coverage() (rules int, untouched []Item) {
	if p.err != nil {
		return 0, nil
	}
	for _, alone := range p.spec.singles() {
		rules++
		if !p.touched[alone.item.Source] && !p.touches(alone) {
			untouched = append(untouched, alone.item)
		}
	}
	return rules, untouched
}

// single is a policy with the settings of another and only one of its rules.
type single struct {
	item Item
	spec *Spec
}

func (s *Spec) singles() []single {
	var all []single
	settings := func() *Spec {
		return &Spec{Mode: s.Mode, Unlisted: s.Unlisted, Risk: s.Risk, Catastrophic: s.Catastrophic, Profile: s.Profile, SensitivePaths: s.SensitivePaths, InlineCode: s.InlineCode, Sandbox: s.Sandbox, Programs: s.Programs, Tools: s.Tools, Mapped: s.Mapped, RiskOverrides: s.RiskOverrides, Protect: s.Protect, Reads: s.Reads}
	}
	for _, item := range s.Allow {
		all = append(all, single{item, settings()})
		all[len(all)-1].spec.Allow = []Item{item}
	}
	for _, item := range s.Ask {
		all = append(all, single{item, settings()})
		all[len(all)-1].spec.Ask = []Item{item}
	}
	for _, item := range s.Deny {
		all = append(all, single{item, settings()})
		all[len(all)-1].spec.Deny = []Item{item}
	}
	for i, rule := range s.Rules {
		item := Item{Text: fmt.Sprintf("rules[%d] (%s)", i, rule.Action), Source: rule.Source}
		all = append(all, single{item, settings()})
		all[len(all)-1].spec.Rules = []RuleSpec{rule}
	}
	return all
}

// touches reports whether the rule, as the only one of its policy, has an
// effect in one of the cases.
func (p *underTest) touches(alone single) bool {
	only := &underTest{evaluator: func(spec *Spec, place patterns.Place) (*permission.Evaluator, error) {
		return byItself("", spec, place)
	}}
	for _, c := range p.cases {
		if _, trace, err := only.decide(alone.spec, c); err == nil && sourcesOf(trace)[alone.item.Source] {
			return true
		}
	}
	return false
}

// sourcesOf returns the sources of the rules in a trace.
func sourcesOf(trace *permission.Trace) map[patterns.Source]bool {
	sources := map[patterns.Source]bool{trace.Whole.Source: true}
	for _, action := range trace.Actions {
		for _, step := range action.Steps {
			sources[step.Source] = true
		}
	}
	return sources
}

// specOf returns the policy of one case.
func (p *underTest) specOf(c Case) *Spec {
	spec := &Spec{}
	spec.Add(p.spec)
	if c.With != nil {
		spec.Add(c.With)
	}
	return spec
}

// slips returns an error for cases whose tool has nearly the name of a known
// tool.
func (p *underTest) slips(cases []Case) error {
	var errs []error
	for _, c := range cases {
		if _, _, err := p.specOf(c).ParseRule(c.Tool, patterns.Ask, patterns.Source{}); err != nil {
			errs = append(errs, at(patterns.Source{Name: c.File, Line: c.Line, Col: 1}, err))
		}
	}
	return errors.Join(errs...)
}

// run decides one case.
func (p *underTest) run(c Case) (Result, error) {
	spec := p.specOf(c)
	d, trace, err := p.decide(spec, c)
	if err != nil {
		return Result{}, fmt.Errorf("%s:%d: %w", c.File, c.Line, err)
	}
	p.cases = append(p.cases, c)
	maps.Copy(p.touched, sourcesOf(trace))
	got := Expectation{Behavior: d.Behavior.String(), Layer: d.Layer.String(), Rule: d.Rule}
	return Result{Case: c, Got: got, Reason: d.Reason, Advice: d.Advice, Diff: difference(c.Want, got)}, nil
}

// misadvised returns what is wrong with the advice of a decision, "" if nothing is.
func misadvised(want string, got []permission.Advice) string {
	for _, a := range got {
		if strings.Contains(a.Text, want) {
			return ""
		}
	}
	if want == "" {
		return ""
	}
	return fmt.Sprintf("no advice contains %q; the advice is %v\n", want, got)
}

// decide returns the decision on a case by a policy, with its trace.
func (p *underTest) decide(spec *Spec, c Case) (permission.Decision, *permission.Trace, error) {
	set := c.Setting.or(Setting{})
	place, err := set.place()
	if err != nil {
		return permission.Decision{}, nil, err
	}
	v, err := p.evaluator(spec, place)
	if err != nil {
		return permission.Decision{}, nil, fmt.Errorf("the policy cannot be loaded: %w", err)
	}
	v.Env = set.fake()
	use := permission.ToolUse{Tool: c.Tool, Input: c.Input, Dir: place.Workspace, Dialect: dialect(set.Shell)}
	var trace permission.Trace
	return v.Explain(use, &trace), &trace, nil
}

func difference(want, got Expectation) string {
	if want == (Expectation{}) {
		return fmt.Sprintf("the case has no expect; the decision is %q\n", got)
	}
	if got = got.given(want); got == want {
		return ""
	}
	return fmt.Sprintf("-want %s\n+got  %s\n", want, got)
}

// update writes the changed expectations into a file of cases, after checking
// that the new text parses as intended.
func update(path string, data []byte, changed []Case) error {
	if len(changed) == 0 {
		return nil
	}
	next := rewrite(data, changed)
	if err := reads(next, path, data, changed); err != nil {
		return err
	}
	return atomicfile.Write(path, next, 0o644)
}

// reads checks that the new text has the changed expectations and otherwise the
// same cases.
func reads(next []byte, path string, data []byte, changed []Case) error {
	before, err := ParseCases(data, path)
	if err != nil {
		return err
	}
	byStart := map[int]Expectation{}
	for _, c := range changed {
		byStart[c.start] = c.Want
	}
	after, err := ParseCases(next, path)
	ok := err == nil && len(after) == len(before)
	for i := 0; ok && i < len(before); i++ {
		want, isNew := byStart[before[i].start]
		if !isNew {
			want = before[i].Want
		}
		ok = after[i].Want == want && after[i].Tool == before[i].Tool && bytes.Equal(after[i].Input, before[i].Input)
	}
	if !ok {
		return fmt.Errorf("%s: cannot write expectations to a file of this form; write each case as [[case]] with an expect line", path)
	}
	return nil
}

// Text returns the report for a person: each failure with its place, what was
// expected and what came out, and a line of totals.
func (r *Report) Text(coverage bool) string {
	var b strings.Builder
	for _, f := range r.Failed() {
		fmt.Fprintf(&b, "FAIL %s:%d: %s\n%s     reason: %s\n\n", f.File, f.Line, f.Name, indent(f.Diff), f.Reason)
	}
	if coverage {
		for _, item := range r.Untouched {
			fmt.Fprintf(&b, "not tested: %s\n", at(item.Source, errors.New(item.Text)))
		}
		fmt.Fprintf(&b, "rules: %d of %d tested by a case%s\n", r.Rules-len(r.Untouched), r.Rules, share(r.Rules-len(r.Untouched), r.Rules))
	}
	failed := len(r.Failed())
	fmt.Fprintf(&b, "cases: %d passed, %d failed%s", len(r.Results)-failed, failed, share(len(r.Results)-failed, len(r.Results)))
	if r.Updated > 0 {
		fmt.Fprintf(&b, ", %d expectations written", r.Updated)
	}
	return b.String() + "\n"
}

// Percent returns n of all in percent, rounded down, so that 100 means all; -1 of none.
func Percent(n, all int) int {
	if all == 0 {
		return -1
	}
	return n * 100 / all
}

// share returns a percentage in parentheses.
func share(n, all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d %%)", Percent(n, all))
}

func indent(text string) string {
	return "     " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n     ") + "\n"
}
