package permission

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// recallSource begins the name in the source of the rule of a remembered approval.
const recallSource = "remembered approval "

// Recall makes the remembered approvals of a person count as allow rules of the session,
// in place of those of the last call. Each has a From, a Rule, an end, and a Most below
// tier 3. It answers for no action whose risk is higher than Most by what is known now,
// and lifts no more than another rule of the session. What has ended is left out, and so
// is what cannot be read, with an error. Changed is not called.
func (s *Session) Recall(grants []Grant) error {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.recalled = nil
	var errs []error
	for _, g := range grants {
		recalled, err := s.recalled(g, next.recalled)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("remembered approval %q: %w", g.From, err))
		case s.Now().Before(g.Until):
			next.recalled = append(next.recalled, recalled)
		}
	}
	next.rebuild(s.place)
	s.state.Store(&next)
	return errors.Join(errs...)
}

// recalled returns a remembered approval with its rule.
func (s *Session) recalled(g Grant, others []*granted) (*granted, error) {
	switch {
	case s.Now == nil:
		return nil, errors.New("the session has no clock")
	case g.From == "" || g.ID != 0 || g.Behavior != Allow || g.Rule == "" || g.Exactly != "" || g.Until.IsZero() || g.Counted || g.Left != 0:
		return nil, errors.New("it is not one that can be remembered")
	case g.Most < risk.Safe || g.Most.Tier() == 3:
		return nil, fmt.Errorf("answers about %s risk are never remembered", g.Most.Word())
	case len(others) >= maxGrants || slices.ContainsFunc(others, func(o *granted) bool { return o.From == g.From }):
		return nil, errors.New("there are too many approvals, or two have the same id")
	}
	rule, warnings, err := patterns.ParseWith(s.Tools, g.Rule, patterns.Allow, patterns.Source{Name: recallSource + g.From})
	for _, w := range warnings {
		if w.Kind == patterns.Danger {
			return nil, errors.New("it allows too much: " + w.Text)
		}
	}
	return &granted{Grant: g, rule: rule}, err
}

// rebuildRecalled makes the rule sets of the remembered approvals.
func (now *standing) rebuildRecalled(place patterns.Place) {
	now.upTo = [risk.Forbidden + 1]*patterns.Set{}
	for class := risk.Safe; class < risk.Forbidden && len(now.recalled) > 0; class++ {
		var rules []*patterns.Rule
		for _, g := range now.recalled {
			if g.Most >= class {
				rules = append(rules, g.rule)
			}
		}
		now.upTo[class] = patterns.NewSet(place, rules...)
	}
	for _, g := range now.recalled {
		if now.ends.IsZero() || g.Until.Before(now.ends) {
			now.ends = g.Until
		}
	}
}

// recalled returns the remembered approvals of a decision.
func (d *Decision) recalled() []Grant {
	var all []Grant
	for _, g := range d.Grants {
		if g.From != "" {
			all = append(all, g)
		}
	}
	return all
}
