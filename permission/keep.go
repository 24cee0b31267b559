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

// Scope is how long an answer counts. The zero value is once.
type Scope uint8

// The scopes.
const (
	ScopeOnce    Scope = iota // for this tool use
	ScopeSession              // the answer's rules are kept for the session
)

// Request is what a person is asked.
type Request struct {
	Use      ToolUse
	Decision Decision
	// Place is what relative patterns of a rule would be relative to.
	Place patterns.Place
	// Version is that of the policy.
	Version string

	tools   *tools.Table
	suppose func(rules []*patterns.Rule, wordless bool) Decision
	reaches func(use *ToolUse) bool
	notes   *notes
}

// Request returns what a person would be asked about a tool use, if its
// Decision is an ask. Nobody is asked, and nothing is recorded.
func (v *Evaluator) Request(use ToolUse) Request {
	r, d := v.decide(&use)
	return v.request(use, d, r)
}

// request is what is asked about a tool use that was read and decided. What is
// supposed about it is judged by the same reading.
func (v *Evaluator) request(use ToolUse, d Decision, read *reading) Request {
	r := Request{Use: use, Decision: d}
	if v.Policy == nil {
		return r
	}
	r.Place, r.Version, r.tools = v.Policy.Place, v.Policy.Version, v.Policy.Tools
	now := v.standing()
	r.notes = &notes{rules: map[listed]*keepable{}, then: map[listed]Decision{}, secret: map[string]bool{}}
	if read != nil {
		r.notes.text = strings.Join(read.lines(), "\n")
	}
	var one sync.Mutex // a reading notes what it is asked
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

// place is what the rules of the session are relative to.
func (v *Evaluator) place() patterns.Place {
	if v.Session == nil {
		return v.Policy.Place
	}
	return v.Session.place
}

// notes are what was found out about a request: about rules that might be kept,
// and about what their sets would come to.
type notes struct {
	mu     sync.Mutex
	rules  map[listed]*keepable
	then   map[listed]Decision // of several rules, one a line
	secret map[string]bool     // whether the text of a rule holds a secret
	// text is the command line of the tool use, else its input, and masked what
	// is recorded of it; "" is not looked at yet.
	text, masked string
}

// listed is the text of a rule, in a list.
type listed struct {
	list patterns.List
	text string
}

// keepable is a rule that might be kept. Its error says why not, whatever it
// would answer.
type keepable struct {
	rule     *patterns.Rule
	warnings []patterns.Warning
	err      error
	secret   bool
}

// Suppose returns what the decision would be if the session, as it was when it
// was asked, had further rules of a list, allow or deny. It decides nothing and
// keeps nothing. An error says which rule cannot be one, or that the request
// does not come from an Evaluator.
func (r *Request) Suppose(list patterns.List, rules ...string) (Decision, error) {
	parsed, err := r.parse(list, rules)
	if err != nil {
		return Decision{}, err
	}
	return r.suppose(parsed, false), nil
}

// supposed is Suppose without words: of the decision only the behavior and the
// layer count, and of its parts what tells them from each other, their behavior
// and whether they are sealed. Each set of rules is supposed once.
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

// parse reads rules of a list.
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

// keepable reads a rule, once.
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

// CanKeep says why a rule may not be kept for the session as an answer to the
// request, nil if it may.
//
// An allow has to prove a part that caused the ask, and none that is sealed:
// of tier 3, opaque or held. A deny has to deny the tool use. Neither may hold
// a secret.
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

// holdsSecret reports whether a rule holds what is masked, by itself or in the
// tool use. It is looked at once, for whatever list the rule is read.
func (r *Request) holdsSecret(rule string) bool {
	found, known := r.notes.secret[rule]
	if !known {
		found = secret(rule) || r.spills(rule)
		r.notes.secret[rule] = found
	}
	return found
}

// secret reports whether a rule holds what has to be masked where it is kept,
// as a text or as a command line.
func secret(rule string) bool {
	_, n := mask.Text(rule)
	_, spec, _ := strings.Cut(rule, "(")
	_, m := mask.Command(strings.TrimSuffix(spec, ")"))
	return n+m > 0
}

// spills reports whether a rule holds a word of the tool use that is hidden
// where the tool use as a whole is masked: a secret may be told by what stands
// before it, and a rule may name it without that.
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

// text is the command line of the tool use, else its input.
func (r *Request) text() string {
	if input, err := strictjson.Object(r.Use.Input, strictjson.MaxSize(maxInput)); err == nil {
		if line, ok := input["command"].(string); ok {
			return line
		}
	}
	return string(r.Use.Input)
}

// Answers reports whether nothing that caused the ask would be asked about any
// more if the session had further allow rules.
func (r *Request) Answers(rules ...string) bool {
	then, err := r.supposed(patterns.Allow, rules...)
	if err != nil || !r.comparable(&then) {
		return false
	}
	return then.Behavior == Allow || len(r.open(&then)) == 0
}

// Left returns the parts, by their index in Decision.Parts, that would still be
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

// open are the parts that were asked about and are by a decision as well.
func (r *Request) open(then *Decision) []int {
	var asked []int
	for i := range then.Parts {
		if r.Decision.Parts[i].Behavior == Ask && then.Parts[i].Behavior == Ask {
			asked = append(asked, i)
		}
	}
	return asked
}

// Reaches reports whether a command line holds what is of tier 3, or would if
// its commands went on with other words: a rule for all that begins so would be
// about what no rule of a session answers for, or with the tiers off run it.
// What is catastrophic only for what it is done to does not count: it is denied
// whatever is kept.
func (r *Request) Reaches(line string) bool { return r.reach("Bash", "command", line) }

// ReachesBelow reports whether a policy has something below a directory in tier
// 3, as Reaches does for commands.
func (r *Request) ReachesBelow(dir string) bool { return r.reach("Grep", "path", dir) }

func (r *Request) reach(tool, field, text string) bool {
	input, _ := json.Marshal(map[string]string{field: text}) // text always can be
	use := r.Use
	use.Tool, use.Input = tool, input
	return r.reaches == nil || r.reaches(&use)
}

// reachesTier3 is what Reaches asks of a policy and of those that are asked
// beside it. What cannot be read may reach anything.
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

// whatMayCome is a file system in which every path may come to be.
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

// comparable reports whether a decision answers the request in whole, or asks
// about the same actions in the same order. Under another policy, with another
// catalogue, they may be others.
func (r *Request) comparable(then *Decision) bool {
	return then.Behavior == Allow || then.Behavior == Ask && slices.EqualFunc(then.Parts, r.Decision.Parts, sameAction)
}

// proves says why the decision with a further allow is not the one that was
// asked about with a part more allowed.
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

// unkept names the first part that no rule may be kept for, with the reason.
func (r *Request) unkept() string {
	for _, p := range r.Decision.Parts {
		if p.Behavior == Ask && p.Sealed != "" {
			return fmt.Sprintf(" (%s: %s)", p.Action, p.Sealed)
		}
	}
	return ""
}

// sessionRule reads a rule of the session.
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

// keep adds the rules of an answer to the session, and says what could not be
// kept and why: what it says is appended to the reason.
func (v *Evaluator) keep(r Request, ans Answer) string {
	if ans.Scope == ScopeOnce {
		return ""
	}
	list, once := patterns.Allow, "; approved once"
	if ans.Behavior != Allow {
		list, once = patterns.Deny, "; denied once"
	}
	if ans.Scope != ScopeSession || v.Session == nil || len(ans.Rules) == 0 {
		return once + ", not for the session"
	}
	said := ""
	for _, rule := range ans.Rules {
		err := r.CanKeep(list, rule)
		if err == nil {
			err = v.Session.parse(rule, list)
		}
		if err != nil {
			said += fmt.Sprintf("%s, rule %s is not kept: %v", once, rule, err)
		}
	}
	return said
}
