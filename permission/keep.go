package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/strictjson"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
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

	suppose func(use *ToolUse, rules []*patterns.Rule) Decision
	reaches func(use *ToolUse) bool
}

// Request returns what a person would be asked about a tool use, if its
// Decision is an ask. Nobody is asked, and nothing is recorded.
func (v *Evaluator) Request(use ToolUse) Request {
	return v.request(use, v.evaluate(&use))
}

func (v *Evaluator) request(use ToolUse, d Decision) Request {
	r := Request{Use: use, Decision: d}
	if v.Policy == nil {
		return r
	}
	r.Place, r.Version = v.Policy.Place, v.Policy.Version
	now := v.standing()
	r.suppose = func(use *ToolUse, rules []*patterns.Rule) Decision {
		said, err := now.with(v.place(), rules)
		if err != nil {
			return refused(err.Error())
		}
		return decide(v.Policy, said, use, v.Env, v.Ceiling, nil)
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

// Suppose returns what the decision would be if the session, as it was when it
// was asked, had further rules of a list, allow or deny. It decides nothing and
// keeps nothing. An error says which rule cannot be one, or that the request
// does not come from an Evaluator.
func (r *Request) Suppose(list patterns.List, rules ...string) (Decision, error) {
	return r.supposing(&r.Use, list, rules)
}

func (r *Request) supposing(use *ToolUse, list patterns.List, rules []string) (Decision, error) {
	if r.suppose == nil {
		return Decision{}, errors.New("the request does not come from an evaluator")
	}
	parsed := make([]*patterns.Rule, len(rules))
	for i, text := range rules {
		rule, _, err := sessionRule(text, list)
		if err != nil {
			return Decision{}, err
		}
		parsed[i] = rule
	}
	return r.suppose(use, parsed), nil
}

// CanKeep says why a rule may not be kept for the session as an answer to the
// request, nil if it may.
//
// An allow has to prove a part that caused the ask, and none that is sealed:
// of tier 3, opaque or held. A deny has to deny the tool use. Neither may hold
// a secret.
func (r *Request) CanKeep(list patterns.List, rule string) error {
	_, warnings, err := sessionRule(rule, list)
	if err != nil {
		return err
	}
	if secret(rule) || r.spills(rule) {
		return errors.New("it holds what looks like a secret")
	}
	then, err := r.Suppose(list, rule)
	switch {
	case err != nil:
		return err
	case list == patterns.Deny && then.Behavior == Deny && then.Layer == LayerSessionDeny:
		return nil
	case list == patterns.Deny:
		return errors.New("it would not deny this tool use for certain")
	case r.Decision.Held:
		return errors.New("only an answer to this very tool use counts")
	}
	for _, w := range warnings {
		if w.Kind == patterns.Danger {
			return errors.New("it allows too much: " + w.Text)
		}
	}
	return r.proves(then)
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
	text := string(r.Use.Input)
	if input, err := strictjson.Object(r.Use.Input, strictjson.MaxSize(maxInput)); err == nil {
		if line, ok := input["command"].(string); ok {
			text = line
		}
	}
	masked, _ := mask.Command(text)
	for _, word := range strings.FieldsFunc(rule, func(c rune) bool { return strings.ContainsRune(" \t\n\"'`()/:=,;&|\\", c) }) {
		if strings.Contains(text, word) && !strings.Contains(masked, word) {
			return true
		}
	}
	return false
}

// Answers reports whether nothing that caused the ask would be asked about any
// more if the session had further allow rules.
func (r *Request) Answers(rules ...string) bool {
	then, err := r.Suppose(patterns.Allow, rules...)
	if err != nil || !r.comparable(&then) {
		return false
	}
	for i := range then.Parts {
		if r.Decision.Parts[i].Behavior == Ask && then.Parts[i].Behavior == Ask {
			return false
		}
	}
	return true
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
	for _, one := range append([]*Policy{p}, p.Further...) {
		e := begin(one, &noStanding, use, env, nil)
		if err := e.read(); err != nil || e.reachesTier3() {
			return true
		}
		e.end()
	}
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
func sessionRule(text string, list patterns.List) (*patterns.Rule, []patterns.Warning, error) {
	if list != patterns.Allow && list != patterns.Deny {
		return nil, nil, fmt.Errorf("session rule %q: a session has only allow and deny rules", text)
	}
	rule, warnings, err := patterns.Parse(text, list, patterns.Source{Name: "session"})
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
