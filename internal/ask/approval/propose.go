package approval

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// proposeAfter is the number of approvals of one shape after which a person is offered a
// rule for it.
const proposeAfter = 3

// Proposal is a rule, or several that belong together, that a person may want to have
// remembered. It allows nothing: a person who has seen the Rules accepts it, or nobody.
type Proposal struct {
	Rules []string
	Risk  string // the highest of what was approved
	Times int    // how often
}

// Propose returns what the settled entries of the last 30 days say that a person
// approves again and again in a project: for each shape that was approved three
// times since the last denial of one, the narrowest rung that was offered each time,
// without those that are remembered already. What is high or higher is never proposed.
//
// What was offered comes from whoever asked, so a rule that allows too much, or that
// cannot be shown as it is, is left out.
func Propose(entries []Entry, person, project string, have []Grant, now time.Time) []Proposal {
	past := pastOf(entries, person, project, now)
	var out []Proposal
	for level := 0; level < deepest(past); level++ {
		for _, key := range keysAt(past, level) {
			p, approved := shapeOf(past, key)
			if p.Times < proposeAfter {
				continue
			}
			if p.sound() && !p.remembered(have, person, project, now) {
				out = append(out, p)
			}
			past = slices.DeleteFunc(past, func(o settled) bool { return slices.Contains(approved, o.id) })
		}
	}
	slices.SortStableFunc(out, func(a, b Proposal) int { return cmp.Compare(b.Times, a.Times) })
	return out
}

// Grants returns the grants, without IDs, of a proposal that a person has accepted.
func (p *Proposal) Grants(person, project string, now time.Time) []Grant {
	class, _ := risk.ParseClass(p.Risk)
	var all []Grant
	for _, rule := range p.Rules {
		all = append(all, grantOf(rule, class, person, project, now))
	}
	return all
}

// settled is a question that a person has answered.
type settled struct {
	id      string
	allowed bool
	class   risk.Class
	rungs   []string // the rules of each, one a line, from narrow to wide
}

// offered is what Propose reads of a question.
type offered struct {
	Risk    string `json:"risk"`
	Choices []struct {
		Name  string `json:"name"`
		Rungs []struct {
			Rules []string `json:"rules"`
		} `json:"rungs"`
	} `json:"choices"`
}

// lasting is the choice whose rungs are those of the Ladder.
const lasting = "session"

// pastOf returns what a person has answered, in order.
func pastOf(entries []Entry, person, project string, now time.Time) []settled {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Seq, b.Seq) })
	var past []settled
	for i := range entries {
		e := &entries[i]
		said := slices.ContainsFunc(e.Votes, func(v Vote) bool { return v.By == Principal{Role: Person, Name: person} })
		allowed := e.Status == Approved || e.Status == Consumed
		if !said || e.Project != project || !allowed && e.Status != Denied || e.Changed.Before(now.Add(-rememberFor)) {
			continue
		}
		var q offered
		if json.Unmarshal(e.Question, &q) != nil {
			continue
		}
		s := settled{id: e.ID, allowed: allowed}
		s.class, _ = risk.ParseClass(q.Risk)
		for _, c := range q.Choices {
			for _, r := range c.Rungs {
				if c.Name == lasting && len(r.Rules) > 0 {
					s.rungs = append(s.rungs, strings.Join(r.Rules, "\n"))
				}
			}
		}
		past = append(past, s)
	}
	return past
}

func deepest(past []settled) (deep int) {
	for i := range past {
		deep = max(deep, len(past[i].rungs))
	}
	return deep
}

// keysAt returns the rungs of a level, each once.
func keysAt(past []settled, level int) []string {
	var keys []string
	for i := range past {
		if level < len(past[i].rungs) && !slices.Contains(keys, past[i].rungs[level]) {
			keys = append(keys, past[i].rungs[level])
		}
	}
	return keys
}

// shapeOf returns the approvals of a rung since its last denial, with their IDs.
func shapeOf(past []settled, key string) (p Proposal, ids []string) {
	class := risk.Class(0)
	for i := range past {
		s := &past[i]
		switch {
		case !slices.Contains(s.rungs, key):
		case !s.allowed:
			ids, class = nil, 0
		case s.class >= risk.Safe && s.class < risk.High:
			ids, class = append(ids, s.id), max(class, s.class)
		}
	}
	return Proposal{Rules: strings.Split(key, "\n"), Risk: class.String(), Times: len(ids)}, ids
}

// sound reports whether all rules may be kept as they are shown.
func (p *Proposal) sound() bool {
	return !slices.ContainsFunc(p.Rules, func(text string) bool {
		rule, warnings, err := patterns.Parse(text, patterns.Allow, patterns.Source{})
		bare := err == nil && rule.Bare() && !strings.HasPrefix(text, "mcp__")
		return err != nil || bare || strings.Contains(text, `\`) || slices.ContainsFunc(warnings, func(w patterns.Warning) bool { return w.Kind == patterns.Danger })
	})
}

// remembered reports whether all rules are.
func (p *Proposal) remembered(have []Grant, person, project string, now time.Time) bool {
	return !slices.ContainsFunc(p.Rules, func(rule string) bool {
		return !slices.ContainsFunc(have, func(g Grant) bool { return g.Rule == rule && g.Counts(person, project, now) })
	})
}
