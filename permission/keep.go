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
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Scope is how long an answer applies. The zero value is ScopeOnce.
type Scope uint8

// The scopes.
const (
	ScopeOnce    Scope = iota // for this tool use
	ScopeSession              // the answer's rules are added to the session
	ScopeUse                  // for exactly this tool use, whenever it comes again in the session
)

var scopeNames = [...]string{"once", "session", "use"}

// MarshalText returns the name of the scope, for those who store answers.
func (s Scope) MarshalText() ([]byte, error) {
	if int(s) >= len(scopeNames) {
		return nil, fmt.Errorf("%d is no scope of an answer", s)
	}
	return []byte(scopeNames[s]), nil
}

// UnmarshalText parses the name of a scope.
func (s *Scope) UnmarshalText(text []byte) error {
	i := slices.Index(scopeNames[:], string(text))
	if i < 0 {
		return fmt.Errorf("%q is no scope of an answer", text)
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

	tools   *tools.Table
	suppose func(rules []*patterns.Rule, wordless bool) Decision
	reaches func(use *ToolUse) bool
	notes   *notes
	foreign bool // what it runs is not in the tool use: see CanComeAgain
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
	r.notes = new(notes)
	r.notes.forget()
	if read != nil {
		r.notes.text = strings.Join(read.lines(), "\n")
		r.foreign = read.runsForeign()
	}
	var one sync.Mutex // a reading caches results
	r.suppose = func(rules []*patterns.Rule, wordless bool) (d Decision) {
		one.Lock()
		defer one.Unlock()
		defer denying(&d, nil)
		said, err := now.with(v.place(), rules)
		if err != nil {
			return refused(err.Error())
		}
		read.wordless = wordless
		return judge(read, v.Policy, said, nil)
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

// Suppose returns what the decision would be if the session, in its state at
// the time of the request, had further rules of a list, allow or deny. It
// changes nothing. An error names a rule that is invalid, or reports that the
// request does not come from an Evaluator.
func (r *Request) Suppose(list patterns.List, rules ...string) (Decision, error) {
	parsed, err := r.parse(list, rules)
	if err != nil {
		return Decision{}, err
	}
	return r.suppose(parsed, false), nil
}

// supposed is Suppose without texts: it only sets the behavior and the layer of
// the decision and, of its parts, what identifies them, their behavior and
// whether they are sealed. Each set of rules is evaluated once.
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
		then = r.suppose(parsed, true)
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
		return errors.New("it holds what looks like a secret")
	case list == patterns.Deny && then.Behavior == Deny && then.Layer == LayerSessionDeny:
		return nil
	case list == patterns.Deny:
		return errors.New("it would not deny this tool use for certain")
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
		return errors.New("it would not answer: " + then.Reason)
	}
	covers := false
	for i := range r.Decision.Parts {
		p := &r.Decision.Parts[i]
		if p.Behavior != Ask || then.Behavior == Ask && then.Parts[i].Behavior == Ask {
			continue
		}
		if p.Sealed != "" {
			return fmt.Errorf("it would cover %s, and %s", p.Action, p.Sealed)
		}
		covers = true
	}
	if !covers {
		return fmt.Errorf("it would not answer for what is asked about%s", r.unkept())
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

// keep adds the rules of an answer to the session. It returns which rules could
// not be kept and why, as an addition to the reason.
func (v *Evaluator) keep(r Request, ans Answer) string {
	if ans.Scope == ScopeOnce {
		return ""
	}
	list, once := patterns.Allow, "; approved once"
	if ans.Behavior != Allow {
		list, once = patterns.Deny, "; denied once"
	}
	switch {
	case v.Session == nil:
	case ans.Scope == ScopeUse && list == patterns.Allow:
		return v.keepUse(r, ans)
	case ans.Scope == ScopeSession && len(ans.Rules) > 0:
		said := ""
		for _, rule := range ans.Rules {
			if err := v.keepRule(r, ans, list, rule); err != nil {
				said += fmt.Sprintf("%s, rule %s is not kept: %v", once, rule, err)
			}
		}
		return said
	}
	return once + ", not for the session"
}

// keepRule adds a rule of an answer to the session.
func (v *Evaluator) keepRule(r Request, ans Answer, list patterns.List, text string) error {
	if err := r.CanKeep(list, text); err != nil {
		return err
	}
	return v.Session.grant(&r, ans, text, func(source patterns.Source) (*patterns.Rule, error) {
		rule, _, err := patterns.ParseWith(v.Session.Tools, text, list, source)
		return rule, err
	})
}

// keepUse lets a tool use come again in the session. It returns an addition to the
// reason.
func (v *Evaluator) keepUse(r Request, ans Answer) string {
	err := r.CanComeAgain()
	if err == nil {
		err = v.Session.grant(&r, ans, "", nil)
	}
	if err != nil {
		return "; approved once, it may not come again: " + err.Error()
	}
	return "; approved for this session, as exactly this tool use"
}
