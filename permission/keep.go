package permission

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/strictjson"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Scope is how long an answer applies. The zero value is ScopeOnce.
type Scope uint8

// The scopes.
const (
	ScopeOnce    Scope = iota // for this tool use
	ScopeSession              // the answer's rules are added to the session
	ScopeUse                  // for exactly this tool use, whenever it comes again in the session
	ScopeAlways               // as ScopeSession; the rules were written to a policy as well
	ScopeEdits                // for all edits in the workspace: mode acceptEdits in the session
)

var scopeNames = [...]string{"once", "session", "use", "always", "edits"}

// MarshalText returns the name of the scope, for those who store answers.
func (s Scope) MarshalText() ([]byte, error) {
	if int(s) >= len(scopeNames) {
		return nil, fmt.Errorf("%d is not the scope of an answer", s)
	}
	return []byte(scopeNames[s]), nil
}

// UnmarshalText parses the name of a scope.
func (s *Scope) UnmarshalText(text []byte) error {
	i := slices.Index(scopeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is not the scope of an answer: want once, session or use", text)
	}
	*s = Scope(i)
	return nil
}

// Request is a question to a person.
type Request struct {
	Use      ToolUse
	Decision Decision
	// Place holds the directories to which relative patterns of a new rule refer.
	Place patterns.Place
	// Version is the version of the policy.
	Version string
	// Besides is what a person should know besides, a sentence each: whoever puts the
	// question elsewhere may add to it.
	Besides []string

	tools   *tools.Table
	suppose func(rules []*patterns.Rule) Decision
	reaches func(use *ToolUse) bool
	notes   *notes
	profile risk.Profile
	// accepting decides the tool use as if the session accepted edits.
	accepting func() Decision
	foreign   bool // what it runs is not in the tool use: see CanComeAgain
}

// Request returns the question that a person would be asked about a tool use,
// if its Decision is an ask. It asks nobody and records nothing.
func (v *Evaluator) Request(use ToolUse) Request {
	r, d, now := v.decide(&use, &seat{gone: true})
	return v.request(use, d, r, now)
}

// request returns the question about a tool use that was read and decided. Its
// suppositions are judged with the same reading.
func (v *Evaluator) request(use ToolUse, d Decision, read *reading, now *standing) Request {
	r := Request{Use: use, Decision: d}
	if v.Policy == nil {
		return r
	}
	r.Place, r.Version, r.tools = v.Policy.Place, v.Policy.Version, v.Policy.Tools
	r.profile = v.Policy.Profile
	r.notes = new(notes)
	r.notes.forget()
	if read != nil {
		r.notes.text = strings.Join(read.lines(), "\n")
		r.foreign = read.runsForeign()
	}
	var one sync.Mutex // a reading caches results
	r.suppose = func(rules []*patterns.Rule) (d Decision) {
		one.Lock()
		defer one.Unlock()
		defer denying(&d, nil)
		said, err := now.with(v.place(), rules)
		if err != nil {
			return refused(err.Error())
		}
		read.wordless = true
		return judge(read, v.Policy, said, nil)
	}
	r.accepting = func() (d Decision) {
		one.Lock()
		defer one.Unlock()
		defer denying(&d, nil)
		said := *now
		said.edits = newModed(modes.AcceptEdits)
		read.wordless = true
		return judge(read, v.Policy, &said, nil)
	}
	r.reaches = func(use *ToolUse) bool { return v.Policy.reachesTier3(use, v.Env) }
	return r
}

// place returns the place to which the rules of the session are relative.
func (v *Evaluator) place() patterns.Place {
	if v.Session == nil {
		return v.Policy.Place
	}
	return v.Session.place
}

// forget drops what is cached, so that a request may wait for long.
func (r *Request) forget() {
	if r.notes != nil {
		r.notes.forget()
	}
}

// notes caches results about a request: about rules that might be kept, and
// about the decisions under sets of them.
type notes struct {
	mu     sync.Mutex
	rules  map[listed]*keepable
	then   map[listed]Decision // under several rules, one per line
	secret map[string]bool     // whether the text of a rule contains a secret
	// text is the command line of the tool use, or else its input; masked is its
	// recorded form. "" means not computed yet.
	text, masked string
}

// forget drops what is cached; it is found out anew when it is needed.
func (n *notes) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.rules, n.then, n.secret = map[listed]*keepable{}, map[listed]Decision{}, map[string]bool{}
}

// listed is the text of a rule with its list.
type listed struct {
	list patterns.List
	text string
}

// keepable is a rule that might be kept, or the reason why it cannot, whatever
// it would match.
type keepable struct {
	rule     *patterns.Rule
	warnings []patterns.Warning
	err      error
	secret   bool
}

// supposed returns what the decision would be if the session, in its state at
// the time of the request, had further rules of a list, allow or deny. It only
// sets the behavior and the layer of the decision and, of its parts, what
// identifies them, their behavior and whether they are sealed. Each set of rules
// is evaluated once. An error names a rule that is invalid, or reports that the
// request does not come from an Evaluator.
func (r *Request) supposed(list patterns.List, rules ...string) (Decision, error) {
	parsed, err := r.parse(list, rules)
	if err != nil {
		return Decision{}, err
	}
	key := listed{list, strings.Join(rules, "\n")}
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	then, asked := r.notes.then[key]
	if !asked {
		then = r.suppose(parsed)
		r.notes.then[key] = then
	}
	return then, nil
}

// parse parses rules of a list.
func (r *Request) parse(list patterns.List, rules []string) ([]*patterns.Rule, error) {
	if r.suppose == nil {
		return nil, errors.New("the request does not come from an evaluator")
	}
	parsed := make([]*patterns.Rule, len(rules))
	for i, text := range rules {
		k := r.keepable(list, text)
		if k.err != nil {
			return nil, k.err
		}
		parsed[i] = k.rule
	}
	return parsed, nil
}

// keepable parses a rule, once.
func (r *Request) keepable(list patterns.List, text string) *keepable {
	key := listed{list, text}
	r.notes.mu.Lock()
	defer r.notes.mu.Unlock()
	k := r.notes.rules[key]
	if k == nil {
		k = new(keepable)
		k.rule, k.warnings, k.err = sessionRule(r.tools, text, list)
		k.secret = k.err == nil && r.holdsSecret(text)
		r.notes.rules[key] = k
	}
	return k
}

// CanKeep returns why a rule may not be kept for the session as an answer to
// the request, nil if it may.
//
// An allow rule must prove a part that caused the ask, and none that is sealed:
// of tier 3, opaque or held. A deny rule must deny the tool use. Neither may
// contain a secret.
func (r *Request) CanKeep(list patterns.List, rule string) error {
	then, err := r.supposed(list, rule)
	if err != nil {
		return err
	}
	k := r.keepable(list, rule)
	switch {
	case k.secret:
		return errors.New("it contains what looks like a secret")
	case list == patterns.Deny && then.Behavior == Deny && then.Layer == LayerSessionDeny:
		return nil
	case list == patterns.Deny:
		return errors.New("it would not reliably deny this tool use")
	case r.Decision.Held:
		return errors.New(heldPart)
	}
	for _, w := range k.warnings {
		if w.Kind == patterns.Danger {
			return errors.New("it allows too much: " + w.Text)
		}
	}
	return r.proves(then)
}

// CanKeepUpTo returns why an allow rule may not be kept for the session as CanKeep has it,
// to answer up to a grade. It must answer that way for all that the rule alone would.
func (r *Request) CanKeepUpTo(rule string, upTo risk.Grade) error {
	if err := r.CanKeep(patterns.Allow, rule); err != nil {
		return err
	}
	left := r.Left(rule)
	for i := range r.Decision.Parts {
		p := &r.Decision.Parts[i]
		if p.Behavior == Ask && !slices.Contains(left, i) && (p.Grade == 0 || p.Grade > upTo) {
			return fmt.Errorf("it would not answer for %s, which may be of a higher risk", p.Action)
		}
	}
	return nil
}

// Graver returns the options that make a command which begins with the first words of a
// part graver than a grade, as risk.Graver does.
func (r *Request) Graver(p *Part, words int, from risk.Grade) (options []string, more, ok bool) {
	return risk.Graver(beginning(p, words), from, r.profile)
}

// Mildest returns the lowest grade of the commands that begin with the first words of a
// part, as risk.Mildest does.
func (r *Request) Mildest(p *Part, words int) risk.Grade {
	return risk.Mildest(beginning(p, words), r.profile)
}

// beginning returns the command of the first words of a part.
func beginning(p *Part, words int) *shell.Action {
	return &shell.Action{Kind: shell.Command, Words: p.Words[:words], Program: p.Program}
}

// holdsSecret reports whether a rule contains text that is masked, by itself or
// in the tool use. It is computed once, whatever the list of the rule.
func (r *Request) holdsSecret(rule string) bool {
	found, known := r.notes.secret[rule]
	if !known {
		found = secret(rule) || r.spills(rule)
		r.notes.secret[rule] = found
	}
	return found
}

// secret reports whether the record would mask a part of the rule, either as
// text or as a command line.
func secret(rule string) bool {
	_, n := mask.Text(rule)
	_, spec, _ := strings.Cut(rule, "(")
	_, m := mask.Command(strings.TrimSuffix(spec, ")"))
	return n+m > 0
}

// spills reports whether a rule contains a word that is hidden when the tool
// use as a whole is masked: what precedes a secret may identify it, and a rule
// may name it alone.
func (r *Request) spills(rule string) bool {
	n := r.notes
	if n.masked == "" {
		n.text = cmp.Or(n.text, r.text())
		n.masked, _ = mask.Command(n.text)
	}
	if n.text == n.masked {
		return false
	}
	for _, word := range strings.FieldsFunc(rule, func(c rune) bool { return strings.ContainsRune(" \t\n\"'`()/:=,;&|\\", c) }) {
		if strings.Contains(n.text, word) && !strings.Contains(n.masked, word) {
			return true
		}
	}
	return false
}

// text returns the command line of the tool use, or else its input.
func (r *Request) text() string {
	if input, err := strictjson.Object(r.Use.Input, strictjson.MaxSize(maxInput)); err == nil {
		if line, ok := input["command"].(string); ok {
			return line
		}
	}
	return string(r.Use.Input)
}

// Answers reports whether nothing that caused the ask would be asked about if
// the session had further allow rules. About what is held no rule answers.
func (r *Request) Answers(rules ...string) bool {
	if r.Decision.Held {
		return false
	}
	then, err := r.supposed(patterns.Allow, rules...)
	if err != nil || !r.comparable(&then) {
		return false
	}
	return then.Behavior == Allow || len(r.open(&then)) == 0
}

// Left returns the indexes in Decision.Parts of the parts that would still be
// asked about if the session had a further allow rule.
func (r *Request) Left(rule string) []int {
	then, err := r.supposed(patterns.Allow, rule)
	switch {
	case err != nil || !r.comparable(&then):
		return r.open(&r.Decision)
	case then.Behavior == Allow:
		return nil
	}
	return r.open(&then)
}

// open returns the parts that were asked about and still are in another
// decision.
func (r *Request) open(then *Decision) []int {
	var asked []int
	for i := range then.Parts {
		if r.Decision.Parts[i].Behavior == Ask && then.Parts[i].Behavior == Ask {
			asked = append(asked, i)
		}
	}
	return asked
}

// Reaches reports whether a command line contains something of tier 3, or would
// if its commands continued with other words. A rule for all commands that
// begin so would match actions for which session rules do not count, or run
// them if the tiers are off. What is catastrophic only because of its operands
// is not included, since it is denied whatever is kept.
func (r *Request) Reaches(line string) bool { return r.reach("Bash", "command", line) }

// ReachesBelow reports whether the policy has something below a directory in
// tier 3, like Reaches for commands.
func (r *Request) ReachesBelow(dir string) bool { return r.reach("Grep", "path", dir) }

func (r *Request) reach(tool, field, text string) bool {
	input, _ := json.Marshal(map[string]string{field: text}) // a string can always be encoded
	use := r.Use
	use.Tool, use.Input = tool, input
	return r.reaches == nil || r.reaches(&use)
}

// reachesTier3 implements Reaches for a policy and its further policies. What
// cannot be read may reach tier 3.
func (p *Policy) reachesTier3(use *ToolUse, env Env) (found bool) {
	defer func() {
		if recover() != nil {
			found = true
		}
	}()
	if env != nil {
		env = whatMayCome{env}
	}
	r := newReading(use, p.knowledge(), env, nil)
	for _, one := range append([]*Policy{p}, p.Further...) {
		as := r.as(one)
		if as.err != nil {
			return true
		}
		e := begin(as, one, &noStanding)
		if e.reachesTier3() {
			return true
		}
		e.end()
	}
	r.release()
	return false
}

// whatMayCome is a file system in which every path may exist later.
type whatMayCome struct{ Env }

func (whatMayCome) Below(string, *patterns.Rule, bool) bool { return true }

func (e *evaluation) reachesTier3() bool {
	for i := range e.acts {
		a, class := &e.acts[i], e.acts[i].class
		if a.sub.Kind == patterns.RunCommand {
			class = max(class, risk.Worst(a.does, e.policy.Profile))
		}
		if class.Tier() == 3 {
			return true
		}
	}
	return false
}

// comparable reports whether a decision is about the tool use as a whole, or
// asks about the same actions in the same order. A policy with another
// catalogue may have other actions.
func (r *Request) comparable(then *Decision) bool {
	return then.Behavior == Allow || then.Behavior == Ask && slices.EqualFunc(then.Parts, r.Decision.Parts, sameAction)
}

// proves returns why the decision with a further allow rule is not the original
// one with another part allowed.
func (r *Request) proves(then Decision) error {
	if !r.comparable(&then) {
		return errors.New("the question would still be asked: " + then.Reason)
	}
	covers := false
	for i := range r.Decision.Parts {
		p := &r.Decision.Parts[i]
		if p.Behavior != Ask || then.Behavior == Ask && then.Parts[i].Behavior == Ask {
			continue
		}
		if p.Sealed != "" {
			return fmt.Errorf("it would cover %s: %s", p.Action, p.Sealed)
		}
		covers = true
	}
	if !covers {
		return fmt.Errorf("it covers nothing that is asked about%s", r.unkept())
	}
	return nil
}

// unkept returns the first part for which no rule may be kept, with the reason.
func (r *Request) unkept() string {
	for _, p := range r.Decision.Parts {
		if p.Behavior == Ask && p.Sealed != "" {
			return fmt.Sprintf(" (%s: %s)", p.Action, p.Sealed)
		}
	}
	return ""
}

// sessionRule parses a rule of the session.
func sessionRule(known *tools.Table, text string, list patterns.List) (*patterns.Rule, []patterns.Warning, error) {
	if list != patterns.Allow && list != patterns.Deny {
		return nil, nil, fmt.Errorf("session rule %q: a session has only allow and deny rules", text)
	}
	rule, warnings, err := patterns.ParseWith(known, text, list, patterns.Source{Name: "session"})
	if err != nil {
		return nil, nil, fmt.Errorf("session rule %q: %w", text, err)
	}
	return rule, warnings, nil
}

// keep adds the rules of an answer to the session. It returns how long the answer
// applies, which rules could not be kept and why, as an addition to who gave it.
func (v *Evaluator) keep(r Request, ans Answer) string {
	switch {
	case ans.Scope == ScopeOnce:
		return ""
	case v.Session == nil:
	case ans.Scope == ScopeUse && ans.Behavior == Allow:
		return v.keepUse(r, ans)
	case ans.Scope == ScopeEdits && ans.Behavior == Allow:
		return v.keepEdits(r, ans)
	case (ans.Scope == ScopeSession || ans.Scope == ScopeAlways) && len(ans.Rules) > 0:
		return v.keepRules(r, ans)
	}
	return " once, not for the session"
}

// keepRules adds the rules of an answer to the session, see keep.
func (v *Evaluator) keepRules(r Request, ans Answer) string {
	list := patterns.Allow
	if ans.Behavior != Allow {
		list = patterns.Deny
	}
	said := ""
	for _, rule := range ans.Rules {
		if err := v.keepRule(r, ans, list, rule); err != nil {
			said += fmt.Sprintf(" once, rule %s was not kept: %v", rule, err)
		}
	}
	switch {
	case said != "":
		return said
	case ans.Scope == ScopeAlways:
		return ", always"
	case ans.For > 0 || ans.Times > 0:
		return " for a while"
	}
	return " for this session"
}

// keepRule adds a rule of an answer to the session.
func (v *Evaluator) keepRule(r Request, ans Answer, list patterns.List, text string) error {
	err := r.CanKeep(list, text)
	if ans.UpTo != 0 {
		err = r.CanKeepUpTo(text, ans.UpTo)
	}
	if err != nil {
		return err
	}
	return v.Session.grant(&r, ans, text, func(source patterns.Source) (*patterns.Rule, error) {
		rule, _, err := patterns.ParseWith(v.Session.Tools, text, list, source)
		return rule, err
	})
}

// CanAcceptEdits returns why an answer to the request may not accept edits in the workspace
// for the session (ScopeEdits), nil if it may. It may where a tool would edit a file there
// and the mode would allow that: the mode in force is default, and neither a hold nor a
// rule that names the file nor another policy's own mode is in the way.
func (r *Request) CanAcceptEdits() error {
	d := &r.Decision
	switch {
	case r.accepting == nil:
		return errors.New("the request does not come from an evaluator")
	case d.Behavior != Ask || d.Held || d.Question:
		return errors.New(heldPart)
	}
	for i := range d.Parts {
		if p := &d.Parts[i]; p.Behavior == Ask && (p.Kind != patterns.WritePath || p.Tool == tools.Bash) {
			return fmt.Errorf("it asks about more than an edit: %s", p.Action)
		}
	}
	if then := r.accepting(); then.Behavior != Allow {
		return errors.New("accepting edits would not answer it")
	}
	return nil
}

// keepEdits has the session accept edits. It returns an addition to the reason.
func (v *Evaluator) keepEdits(r Request, ans Answer) string {
	err := r.CanAcceptEdits()
	if err == nil {
		err = v.Session.grant(&r, ans, "", nil)
	}
	if err != nil {
		return " once, edits are not accepted: " + err.Error()
	}
	return ", with all edits in the workspace for this session"
}

// keepUse lets a tool use come again in the session. It returns an addition to the
// reason.
func (v *Evaluator) keepUse(r Request, ans Answer) string {
	err := r.CanComeAgain()
	if err == nil {
		err = v.Session.grant(&r, ans, "", nil)
	}
	if err != nil {
		return " once only, not for the session: " + err.Error()
	}
	return " for this session, for exactly this tool use"
}
