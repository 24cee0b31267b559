package permission

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/mask"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Grant is a lasting answer of a person: a rule of the session, one tool use that may
// come again, or a rule that was remembered beyond a session.
type Grant struct {
	ID       int      // unique in the session, from 1; 0 for one that is remembered
	Behavior Behavior // Allow or Deny
	Rule     string   // "" if it is about one tool use
	Use      string   // that tool use, shortened and without secrets; "" for a rule
	Exactly  string   // its digest, as Request.Exactly returns it; "" for a rule
	// Until is when it ends; the zero time means with the session.
	Until time.Time
	// Left is the number of tool uses that it still allows if it is Counted.
	Left    int
	Counted bool
	// From is the id of a remembered approval, "" for an answer of the session. Most is
	// the highest risk for which it answers.
	From string
	Most risk.Class
	// UpTo is the highest grade for which a rule of the session answers; 0 is no limit.
	UpTo risk.Grade
	// Edits says that it is about all edits in the workspace, see ScopeEdits.
	Edits bool
	// Always says that the rule was written to a policy as well, see ScopeAlways.
	Always bool
}

// String returns the grant for a person: what it is about, and how long.
func (g Grant) String() string {
	about := g.Rule
	switch {
	case g.Edits:
		about = "all edits in the workspace, except of protected files"
	case about == "":
		about = "exactly " + g.Use
	}
	if g.Always {
		about += ", always"
	}
	return g.Behavior.String() + " " + about + g.limits()
}

// limits returns how long a grant applies, "" for the whole session.
func (g Grant) limits() string {
	text := ""
	switch {
	case g.From != "":
		text = fmt.Sprintf(", remembered until %s for at most %s (%s)", g.Until.Format(time.DateOnly), g.Most, g.From)
	case !g.Until.IsZero():
		text = " until " + g.Until.Format(time.TimeOnly)
	}
	switch {
	case g.UpTo == 0:
	case g.UpTo.Destroys():
		text += ", at most " + g.UpTo.Class().String()
	default:
		text += ", at most " + g.UpTo.Class().String() + " and nothing destructive"
	}
	switch {
	case !g.Counted:
	case g.Left == 1:
		text += ", once more"
	default:
		text += fmt.Sprintf(", %d more times", g.Left)
	}
	return text
}

// granted is a grant of a session. It is not modified.
type granted struct {
	Grant
	rule *patterns.Rule // nil: it is about one tool use
}

// grantSource is the name in the source of a grant's rule; the line is its ID.
const grantSource = "session answer"

// maxGrants is the maximum number of grants of a session.
const maxGrants = 1000

// limited reports whether a grant ends before the session.
func (g *granted) limited() bool { return g.Counted || !g.Until.IsZero() }

// Grants returns the lasting answers that apply now, in the order in which they were
// given.
func (s *Session) Grants() []Grant { return s.standing().all() }

// all returns the grants in the order in which they were given.
func (now *standing) all() []Grant {
	var all []Grant
	for _, g := range now.grants {
		all = append(all, g.Grant)
	}
	slices.SortFunc(all, func(a, b Grant) int { return a.ID - b.ID })
	return all
}

// Revoke ends a grant. It reports whether there was one.
func (s *Session) Revoke(id int) bool {
	return s.drop(func(g *granted) bool { return g.ID == id && g.From == "" })
}

// drop ends grants, and reports whether there were any. They end also if Changed
// fails.
func (s *Session) drop(which func(*granted) bool) bool {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.grants = slices.DeleteFunc(slices.Clone(next.grants), which)
	next.recalled = slices.DeleteFunc(slices.Clone(next.recalled), which)
	own := len(next.grants) < len(s.present().grants)
	if !own && len(next.recalled) == len(s.present().recalled) {
		return false
	}
	next.rebuild(s.place)
	if own {
		_ = s.tell(&next)
	}
	s.state.Store(&next)
	return true
}

// change replaces the grants in the state, and reports what edit returned. Without
// true, and with an error of Changed, nothing is changed.
func (s *Session) change(edit func(next *standing) bool) (bool, error) {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.grants = slices.Clone(next.grants)
	if !edit(&next) {
		return false, nil
	}
	next.rebuild(s.place)
	if err := s.tell(&next); err != nil {
		return false, err
	}
	s.state.Store(&next)
	return true, nil
}

// tell passes the grants of the next state to Changed.
func (s *Session) tell(next *standing) error {
	if s.Changed == nil {
		return nil
	}
	return s.Changed(next.all())
}

// Restore replaces the grants by those that Grants returned in another process, for
// the same session; last is the highest ID that one of the session had. Changed is not
// called. What cannot be restored is left out, and the error says why; what has ended
// is left out too.
func (s *Session) Restore(grants []Grant, last int) error {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.grants, next.last = nil, max(next.last, last)
	var errs []error
	for _, g := range grants {
		if !g.Until.IsZero() && (s.Now == nil || !s.Now().Before(g.Until)) {
			continue
		}
		restored, err := s.restored(g)
		if err == nil && (len(next.grants) >= maxGrants || slices.ContainsFunc(next.grants, func(o *granted) bool { return o.ID == g.ID })) {
			err = errors.New("there are too many answers, or two have the same number")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("answer %d: %w", g.ID, err))
			continue
		}
		next.grants, next.last = append(next.grants, restored), max(next.last, g.ID)
	}
	next.rebuild(s.place)
	s.state.Store(&next)
	return errors.Join(errs...)
}

// restored returns a grant with its rule.
func (s *Session) restored(g Grant) (*granted, error) {
	list := patterns.Allow
	switch {
	case g.Edits && g.ID > 0 && g.alone():
		return &granted{Grant: g}, nil
	case g.Edits, g.UpTo != 0 && !g.mayBeBounded(), g.ID <= 0, (g.Rule == "") == (g.Exactly == ""), g.Counted && (g.Left <= 0 || g.Rule != "" && g.Behavior != Allow), !g.Counted && g.Left != 0:
		return nil, errors.New("it is not one that a session can keep")
	case g.Behavior == Deny:
		list = patterns.Deny
	case g.Behavior != Allow:
		return nil, errors.New("it neither allows nor denies")
	}
	if g.Rule == "" {
		return &granted{Grant: g}, nil
	}
	rule, _, err := patterns.ParseWith(s.Tools, g.Rule, list, patterns.Source{Name: grantSource, Line: g.ID})
	return &granted{Grant: g, rule: rule}, err
}

// rebuild makes the rule sets from the session's own rules and the grants. Those
// without a limit come first, so that no limited one is used up beside them.
func (now *standing) rebuild(place patterns.Place) {
	slices.SortStableFunc(now.grants, func(a, b *granted) int {
		switch {
		case a.limited() == b.limited():
			return a.ID - b.ID
		case b.limited():
			return -1
		}
		return 1
	})
	accepted := now.edits
	now.ends, now.bounds, now.edits = time.Time{}, nil, nil
	allow, deny := slices.Clone(now.own.allow), slices.Clone(now.own.deny)
	for _, g := range now.grants {
		switch {
		case g.Edits:
			if now.edits = accepted; accepted == nil {
				now.edits = newModed(modes.AcceptEdits)
			}
		case g.rule == nil:
		case g.UpTo != 0:
			now.bind(place, g)
		case g.Behavior == Allow:
			allow = append(allow, g.rule)
		default:
			deny = append(deny, g.rule)
		}
		if !g.Until.IsZero() && (now.ends.IsZero() || g.Until.Before(now.ends)) {
			now.ends = g.Until
		}
	}
	now.allow, now.deny = patterns.NewSet(place, allow...), patterns.NewSet(place, deny...)
	now.rebuildRecalled(place)
}

// bound is the rules of grants that answer up to one grade.
type bound struct {
	upTo  risk.Grade
	rules *patterns.Set
}

// bind adds the rule of a grant to those of its grade.
func (now *standing) bind(place patterns.Place, g *granted) {
	at := slices.IndexFunc(now.bounds, func(b bound) bool { return b.upTo == g.UpTo })
	if at < 0 {
		now.bounds = append(now.bounds, bound{g.UpTo, patterns.NewSet(place, g.rule)})
		return
	}
	now.bounds[at].rules = extended(place, now.bounds[at].rules, []*patterns.Rule{g.rule})
}

// alone reports whether a grant of all edits says nothing else.
func (g *Grant) alone() bool { return *g == (Grant{ID: g.ID, Behavior: Allow, Edits: true}) }

// mayBeBounded reports whether a grant may have a highest grade: it is an allow rule that
// the session alone has, and the grade is one for which rules of a session answer.
func (g *Grant) mayBeBounded() bool {
	class := g.UpTo.Class()
	return g.Behavior == Allow && g.Rule != "" && !g.Always && class >= risk.Safe && class.Tier() < 3
}

// live returns the state without grants whose time is over.
func (s *Session) live(now *standing) *standing {
	if now.ends.IsZero() || s.Now == nil || s.Now().Before(now.ends) {
		return now
	}
	at := s.Now()
	s.drop(func(g *granted) bool { return !g.Until.IsZero() && !at.Before(g.Until) })
	return s.state.Load()
}

// grant adds a grant for an answer to a request: of a rule or, if that is nil, of its
// tool use.
func (s *Session) grant(r *Request, ans Answer, text string, rule func(patterns.Source) (*patterns.Rule, error)) error {
	g := &granted{Grant: Grant{Behavior: ans.Behavior, Rule: text, Always: ans.Scope == ScopeAlways, UpTo: ans.UpTo}}
	var err error
	switch {
	case ans.For < 0 || ans.Times < 0 || ans.Times > 0 && ans.Behavior != Allow:
		return errors.New("its time or count is not valid")
	case ans.UpTo != 0 && !g.mayBeBounded():
		return errors.New("only a rule of the session can have a highest risk")
	case ans.Scope == ScopeEdits && (ans.For != 0 || ans.Times != 0):
		return errors.New("edits are accepted until the session ends or the answer is revoked")
	case ans.For > 0 && s.Now == nil:
		return errors.New("the session has no clock")
	case ans.For > 0:
		g.Until = s.Now().Add(ans.For)
	}
	if ans.Times == 1 {
		return errors.New("one time is the answer itself, so there is nothing to keep")
	}
	g.Left, g.Counted = max(0, ans.Times-1), ans.Times > 0 // the answer itself is one
	g.Edits = ans.Scope == ScopeEdits
	if rule == nil && !g.Edits {
		g.Use = summary(&r.Use)
		if g.Exactly, err = r.Exactly(); err != nil {
			return err
		}
	}
	_, lost := s.change(func(next *standing) bool {
		if len(next.grants) >= maxGrants {
			err = fmt.Errorf("a session keeps at most %d answers", maxGrants)
			return false
		}
		next.last++
		g.ID = next.last
		if rule != nil {
			if g.rule, err = rule(patterns.Source{Name: grantSource, Line: g.ID}); err != nil {
				return false
			}
		}
		next.grants = append(next.grants, g)
		return true
	})
	return errors.Join(err, lost)
}

// spend uses up one use of each grant, and returns them as they are then. It is not
// ok, and changes nothing, if one has ended. With an error of Changed nothing is
// changed either.
func (s *Session) spend(ids []int) (after []Grant, ok bool, err error) {
	if s == nil || len(ids) == 0 {
		return nil, len(ids) == 0, nil
	}
	s.live(s.state.Load())
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.grants = slices.Clone(next.grants)
	counted, ended := false, false
	for _, id := range ids {
		at := slices.IndexFunc(next.grants, func(g *granted) bool { return g.ID == id })
		if at < 0 {
			return nil, false, nil
		}
		g := *next.grants[at]
		if g.Counted {
			g.Left--
			next.grants[at], counted = &g, true
		}
		if after = append(after, g.Grant); g.Counted && g.Left == 0 {
			next.grants, ended = slices.Delete(next.grants, at, at+1), true
		}
	}
	if ended {
		next.rebuild(s.place)
	}
	if counted {
		if err := s.tell(&next); err != nil {
			return nil, false, err
		}
	}
	s.state.Store(&next)
	return after, true, nil
}

// grantOf returns the grant that a rule of the session is from, nil if it is none.
func (now *standing) grantOf(source patterns.Source) *granted {
	for _, g := range now.grants {
		if g.rule != nil && g.ID == source.Line && source.Name == grantSource {
			return g
		}
	}
	for _, g := range now.recalled {
		if g.rule.Source() == source {
			return g
		}
	}
	return nil
}

// grants returns the grants by which the actions are allowed.
func (e *evaluation) grants() []Grant {
	var all []Grant
	for i := 0; i < len(e.acts) && len(e.session.grants)+len(e.session.recalled) > 0; i++ {
		switch a := e.first(i); {
		case a.layer == LayerSessionAllow:
			all = withGrant(all, e.session.grantOf(a.rule.source()))
		case a.reason == allowedByMode && e.policy.Mode == modes.AcceptEdits:
			all = withGrant(all, e.session.editsGrant())
		}
	}
	return all
}

// editsGrant returns the grant of all edits, nil if there is none or a mode was set.
func (now *standing) editsGrant() *granted {
	if i := slices.IndexFunc(now.grants, func(g *granted) bool { return g.Edits }); i >= 0 {
		return now.grants[i]
	}
	return nil
}

func withGrant(all []Grant, g *granted) []Grant {
	if g == nil || slices.ContainsFunc(all, func(o Grant) bool { return o.ID == g.ID && o.From == g.From }) {
		return all
	}
	return append(all, g.Grant)
}

// answeredBefore answers an ask about a tool use as a person has answered it for later. The
// tool use must be the same and so must the question, with all that it showed: where
// a link leads elsewhere now, or a rule is new, the person is asked.
func (now *standing) answeredBefore(use *ToolUse, d Decision) Decision {
	if d.Behavior != Ask || !slices.ContainsFunc(now.grants, func(g *granted) bool { return g.Exactly != "" }) {
		return d
	}
	digest, err := exactly(use, &d)
	if err != nil {
		return d
	}
	for _, g := range now.grants {
		if g.Exactly != digest {
			continue
		}
		then := Decision{
			Behavior: Allow, Layer: LayerSessionAllow, RuleSource: patterns.Source{Name: grantSource, Line: g.ID},
			Reason: "a person allowed exactly this tool use for this session" + g.limits(),
			Risk:   d.Risk, Tier: d.Tier, Refusal: d.Refusal, Grants: []Grant{g.Grant},
		}
		if g.Behavior == Deny {
			then.Behavior, then.Layer = Deny, LayerSessionDeny
			then.Reason = "a person denied exactly this tool use" + g.limits()
			then.Message = "Denied by the person who was asked."
		}
		return then
	}
	return d
}

// CanComeAgain returns why an answer to the request may not be kept for exactly this
// tool use (ScopeUse), nil if it may. It may not for what is of tier 3, for what the
// guard holds (changes to what decides, and to protected files), and where what runs
// is not in the tool use but comes from elsewhere each time.
func (r *Request) CanComeAgain() error {
	d := &r.Decision
	switch {
	case r.suppose == nil:
		return errors.New("the request does not come from an evaluator")
	case d.Behavior != Ask || d.Question || r.Use.Tool == tools.ExitPlan:
		return errors.New("it is itself a question to a person")
	case knownDir(r.Use.Dir) == "":
		return errors.New("its directory is unknown")
	case d.Tier == 3:
		return errors.New("tier 3 can only be approved once")
	case d.Held && d.Layer == LayerGuard:
		return errors.New(heldPart)
	case r.foreign:
		return errors.New("it runs code that it fetches, which may differ each time")
	}
	for i := range d.Parts {
		if p := &d.Parts[i]; p.Held && p.Layer == LayerGuard {
			return errors.New(heldPart)
		}
	}
	return nil
}

// runsForeign reports whether a line runs a program from its standard input or from
// what it fetches, which is another text each time.
func (r *reading) runsForeign() bool {
	fetches, input := false, false
	for _, m := range append([]*reading{r}, r.mapped...) {
		for i := range m.actions {
			a := &m.actions[i]
			fetches = fetches || a.sub.Kind == patterns.FetchURL
			input = input || a.does != nil && a.does.Kind == shell.Opaque && a.does.Why.Cause == shell.CauseStandardInput
		}
	}
	return fetches && input
}

// maxSummary is the maximum length of Grant.Use in bytes.
const maxSummary = 200

// summary returns a tool use for a list of grants.
func summary(use *ToolUse) string {
	text := (&Request{Use: *use}).text()
	if text == string(use.Input) {
		text, _ = mask.Text(use.Tool + " " + text)
	} else {
		text, _ = mask.Command(text)
	}
	if len(text) <= maxSummary {
		return text
	}
	at := maxSummary
	for !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + "…"
}

// allowedToo adds to an allow the grants of another decision on the same tool use.
func (d *Decision) allowedToo(more []Grant) {
	if d.Behavior != Allow {
		return
	}
	for _, g := range more {
		if !slices.Contains(d.Grants, g) {
			d.Grants = append(d.Grants, g)
		}
	}
}

// spent returns the IDs of the grants by which a decision, or the parts of an ask that
// a person has approved, are allowed.
func (d *Decision) spent() []int {
	var ids []int
	for _, g := range d.Grants {
		if g.From == "" { // nothing uses up what is remembered
			ids = append(ids, g.ID)
		}
	}
	for i := range d.Parts {
		p := &d.Parts[i]
		if p.Layer == LayerSessionAllow && p.RuleSource.Name == grantSource && !slices.Contains(ids, p.RuleSource.Line) {
			ids = append(ids, p.RuleSource.Line)
		}
	}
	return ids
}
