package approval

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Grant is an approval that is remembered beyond a session: a rule that a person keeps
// for a project, until it ends or is revoked.
type Grant struct {
	ID, Person, Project, Rule, Risk string    // Risk is the highest that it answers for
	Created, Expires, Revoked       time.Time // Revoked is zero if it is not
}

// rememberFor is how long an approval is remembered.
const rememberFor = 30 * 24 * time.Hour

// Remember returns the grants for "and from now on", without IDs: of the rules of one
// rung of the Ladder that the person has seen and chosen or, with nil, of exactly what is
// asked about. Each is for the risk of what its rule answers
// now. The error says why there is none, as for Ladder; what is high or higher is never
// remembered.
func Remember(r *permission.Request, rules []string, person, project string, now time.Time) ([]Grant, error) {
	rungs, err := Ladder(r)
	switch {
	case err != nil:
		return nil, err
	case r.Decision.Risk >= risk.High:
		return nil, fmt.Errorf("it is %s, which is asked about each time", r.Decision.Risk)
	case person == "" || project == "":
		return nil, errors.New("the person who answered or the project is unknown")
	case rules == nil && !exact(r, rungs[0].Rules):
		return nil, errors.New("no rule matches exactly this use: choose one that was offered")
	case rules == nil:
		rules = rungs[0].Rules
	case !slices.ContainsFunc(rungs, func(o Rung) bool { return slices.Equal(o.Rules, rules) }):
		return nil, errors.New("choose rules that were offered together")
	}
	var all []Grant
	for _, rule := range rules {
		all = append(all, grantOf(rule, answeredRisk(r, rule), person, project, now))
	}
	return all, nil
}

// exact reports whether rules are exactly what is asked about.
func exact(r *permission.Request, rules []string) bool {
	return !slices.ContainsFunc(rules, func(rule string) bool {
		return !slices.ContainsFunc(r.Decision.Parts, func(p permission.Part) bool { return p.Exact == rule })
	})
}

func grantOf(rule string, class risk.Class, person, project string, now time.Time) Grant {
	return Grant{Person: person, Project: project, Rule: rule, Risk: class.String(), Created: now, Expires: now.Add(rememberFor)}
}

// answeredRisk returns the highest risk of what a rule answers of a request.
func answeredRisk(r *permission.Request, rule string) risk.Class {
	class, left := risk.Class(0), r.Left(rule)
	for i := range r.Decision.Parts {
		if p := &r.Decision.Parts[i]; p.Behavior == permission.Ask && !slices.Contains(left, i) {
			class = max(class, p.Risk)
		}
	}
	if class == 0 { // it answers only together with others
		return r.Decision.Risk
	}
	return class
}

// Counts reports whether a grant is one of a person for a project that counts now.
func (g *Grant) Counts(person, project string, now time.Time) bool {
	return g.Person == person && g.Project == project && g.Revoked.IsZero() && now.Before(g.ends())
}

// ends returns when a grant ends, whatever was stored.
func (g *Grant) ends() time.Time {
	if last := g.Created.Add(rememberFor); g.Expires.After(last) {
		return last
	}
	return g.Expires
}

// ForSession returns a grant as permission.Session.Recall takes it. The error is about a
// risk that is not remembered.
func (g *Grant) ForSession() (permission.Grant, error) {
	class, known := risk.ParseClass(g.Risk)
	if !known || class >= risk.High {
		return permission.Grant{}, fmt.Errorf("remembered approval %q: answers about risk %q are never remembered", g.ID, g.Risk)
	}
	return permission.Grant{From: g.ID, Behavior: permission.Allow, Rule: g.Rule, Until: g.ends(), Most: class}, nil
}
