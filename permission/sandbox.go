package permission

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Sandbox says what the kernel holds the commands of a session to: see package sandbox.
// Whoever gives it to a session runs each command line as Decision.Sandbox says.
type Sandbox struct {
	// Writable are directories beside the workspace that can be written inside, be it that
	// what is written there is only seen inside.
	Writable []string
	// Held returns the rules with paths that nothing inside can act against, by the names
	// that Bounds.Roots gives them. An error says that there can be no sandbox. Held is called
	// when a line would be asked about, by several goroutines.
	Held func() ([]string, error)
	// Only has every command line run inside, even one that needs more than the sandbox lets it do.
	Only bool
	// Planted reports whether what starts under the name of a program, or at an absolute
	// path, may be a file that a command inside has put there. It is called as Held is;
	// without it any may be.
	Planted func(program string) bool
}

// Sandboxed says where a command line runs.
type Sandboxed uint8

// The places. The zero value is that nobody builds a sandbox.
const (
	Outside Sandboxed = iota + 1 // it needs more than the sandbox lets it do
	Inside                       // the sandbox lets it do its work
	Within                       // Inside, and nothing else allows it: without a sandbox it must not run
)

// String returns outside, inside or within, "" for the zero value.
func (w Sandboxed) String() string {
	return [...]string{"", "outside", "inside", "within"}[w]
}

// Held reports whether a command line runs inside the sandbox.
func (w Sandboxed) Held() bool { return w == Inside || w == Within }

// withinSandbox is the rule, and the beginning of the reason, of what is allowed because it runs
// inside the sandbox.
const withinSandbox = "inside the sandbox"

// Sandbox has the commands of the session run inside the sandbox. It must be called before the
// session is used.
func (s *Session) Sandbox(w *Sandbox) {
	s.write.Lock()
	defer s.write.Unlock()
	next := *s.present()
	next.sandbox = w
	s.state.Store(&next)
}

// enclosure is what the sandbox holds while a line is decided as what it is inside.
type enclosure struct {
	rules []string
	sets  map[*patterns.Set]*patterns.Set // without what is held
}

// sandboxed returns the decision on a tool use whose command line runs inside the sandbox: what
// is asked about is decided again, as what it can do there. It allows nothing that is
// denied without a sandbox, and nothing that a rule asks about. A question that remains names
// what the sandbox does not hold, rather than what it does.
func (r *reading) sandboxed(p *Policy, session *standing, d Decision, tr *Trace) Decision {
	if d.Behavior != Ask && !d.never || d.Sandbox == 0 {
		return d
	}
	now, steps, err := r.heldTo(p, session, tr)
	switch {
	case err != nil:
		return d.outsideIfAllowed(session)
	case now.Behavior == Allow && now.Sandbox == Inside && d.Sandbox == Inside && now.SandboxWhy == "" && d.SandboxWhy == "":
		tr.become(steps)
		now.Layer, now.Rule, now.RuleSource, now.Sandbox = LayerDefault, withinSandbox, patterns.Source{}, Within
		now.Reason = withinSandbox + ": " + now.Reason
		return now
	case now.Behavior == Ask && d.Behavior == Ask && (now.Held || !d.Held):
		d.said(&now)
	}
	tr.heldIn(steps, d.SandboxWhy == "")
	return d.outsideIfAllowed(session)
}

// insideToo makes a line run inside the sandbox if another policy has it run there.
func (d *Decision) insideToo(more *Decision) {
	d.Sandbox, d.SandboxWhy = max(d.Sandbox, more.Sandbox), cmp.Or(d.SandboxWhy, more.SandboxWhy)
}

// outsideIfAllowed has what is asked about, and cannot do its work inside the sandbox, run outside:
// a person who allows it has been told so.
func (d Decision) outsideIfAllowed(session *standing) Decision {
	if d.SandboxWhy != "" && d.Behavior == Ask && !session.sandbox.Only {
		d.Sandbox = Outside
	}
	return d
}

// heldTo decides anew what the sandbox holds the line to, with the steps if there is a trace. What
// the line leaves in doubt is that of the new decision, if that allows it.
func (r *reading) heldTo(p *Policy, session *standing, tr *Trace) (Decision, *Trace, error) {
	rules, err := session.sandbox.Held()
	if err != nil {
		return Decision{}, nil, err
	}
	doubts, stopped := slices.Clone(r.doubts), r.stopped
	r.forgetDoubts()
	r.holding = &enclosure{rules: rules, sets: map[*patterns.Set]*patterns.Set{}}
	steps := tr.another()
	now := judgeAll(r, p, session, steps)
	r.holding = nil
	if now.Behavior != Allow || now.Sandbox != Inside || now.SandboxWhy != "" {
		r.forgetDoubts()
		r.doubts, r.stopped = append(r.doubts, doubts...), stopped
	}
	return now, steps, nil
}

// heldIn says of each action that is asked about, and would be allowed in steps, that the sandbox
// holds it: where the line runs, or in a line of its own. An action that is only asked about
// there, since the sandbox and no rule would allow what has it as an effect, is as in steps.
func (tr *Trace) heldIn(steps *Trace, here bool) {
	if tr == nil || steps == nil || len(tr.Actions) != len(steps.Actions) {
		return
	}
	for i := range tr.Actions {
		was, now := tr.Actions[i].decided(), steps.Actions[i].decided()
		switch {
		case tr.Actions[i].Free && now != nil && now.Behavior == Ask:
			tr.Actions[i] = steps.Actions[i]
		case was == nil || now == nil || was.Behavior != Ask || now.Behavior != Allow || tr.Actions[i].Action != steps.Actions[i].Action:
		case here:
			was.Reason += "; the sandbox holds it"
		default:
			was.Reason += "; in a line of its own, the sandbox would hold it"
		}
	}
}

// where returns where the line runs, and why something in it cannot do its work inside the
// sandbox. Code that the line does not show runs inside although something else in the line then
// fails: otherwise whoever writes the line would choose where its code runs. So does what only a
// mode or a rule for a whole tool allows.
func (e *evaluation) where() (Sandboxed, string) {
	if e.session.sandbox == nil || e.facts == nil || e.use.Tool != tools.Bash {
		return 0, ""
	}
	if e.outsideSandbox {
		return Outside, fixedWords[noSandbox]
	}
	why, kept := "", false
	for i := range e.acts {
		out := e.outward(i)
		kept = kept || out == "" && e.runsCode(i) || out != "" && e.atLarge(i)
		if why == "" {
			why = out
		}
	}
	if why == "" {
		return Inside, ""
	}
	if by := e.firstPlanted(); by != "" {
		return Inside, why + ", and " + by + " may be a file that a command inside has written"
	}
	if !kept && !e.session.sandbox.Only {
		return Outside, why
	}
	return Inside, why
}

// firstPlanted returns the first program of the line that may be one that a command inside
// has put there, which is code that the line does not show; "" if there is none.
func (e *evaluation) firstPlanted() string {
	for i := range e.acts {
		if a := &e.acts[i]; a.sub.Kind == patterns.RunCommand && !a.inline && a.does.Words[0].Known() && e.planted(a.does.Words[0].Text) {
			return path.Base(a.does.Words[0].Text)
		}
	}
	return ""
}

// onlyReads reports whether the line runs nothing but programs that look, and changes nothing.
func (e *evaluation) onlyReads() bool {
	if e.facts == nil {
		return false
	}
	found := e.risks(e.policy.Profile)
	for i := range e.acts {
		switch a := &e.acts[i]; {
		case a.sub.Kind == patterns.ReadPath:
		case a.sub.Kind == patterns.RunCommand && !e.runsCode(i) && found[i].Class == risk.Safe && a.does.Words[0].Known() && !e.planted(a.does.Words[0].Text):
		default:
			return false
		}
	}
	return true
}

// lookedFor returns the names of the programs that were looked for.
func (e *evaluation) lookedFor() []string {
	var names []string
	for name := range e.programs {
		if !strings.Contains(name, "/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// planted reports whether a program, by its name or path, may be one that a command inside
// has put there. Each is looked for once.
func (e *evaluation) planted(name string) bool {
	if e.session.sandbox.Planted == nil || strings.Contains(name, "/") && !path.IsAbs(name) {
		return true
	}
	is, known := e.programs[name]
	if !known {
		is = e.session.sandbox.Planted(name)
		if e.programs == nil {
			e.programs = map[string]bool{}
		}
		e.programs[name] = is
	}
	return is
}

// atLarge reports whether act i is allowed by something that names nothing: a mode, or a
// rule for a whole tool.
func (e *evaluation) atLarge(i int) bool {
	a := e.first(i)
	switch {
	case a.behavior != Allow:
		return false
	case a.rule.listed != nil:
		return a.rule.listed.Bare()
	case a.rule.granular != nil:
		return !a.rule.granular.Specific()
	}
	return a.reason == allowedByMode
}

// runsCode reports whether act i runs what the tables do not describe.
func (e *evaluation) runsCode(i int) bool {
	a, found := &e.acts[i], e.risks(e.policy.Profile)
	switch a.sub.Kind {
	case patterns.Hidden:
		return true
	case patterns.RunCommand:
		return a.inline || a.does.Unproven() || i >= len(found) || found[i].RunsCode() ||
			slices.Contains(found[i].Factors, risk.FactorUnknown) || slices.Contains(found[i].Factors, risk.FactorDynamic)
	}
	return false
}

// outward returns why act i cannot do its work inside the sandbox, "" if it may.
func (e *evaluation) outward(i int) string {
	a := &e.acts[i]
	switch a.sub.Kind {
	case patterns.RunCommand:
		if e.worksOutside(i) {
			return fmt.Sprintf("%s works by what is not there inside the sandbox", path.Base(a.does.Words[0].Text))
		}
	case patterns.FetchURL:
		if !a.does.Hosted && !e.reached(a) {
			return "it reaches another host"
		}
	case patterns.ReadPath, patterns.WritePath:
		return e.outwardPath(a)
	}
	return ""
}

// worksOutside reports whether the program of a command needs services, other processes
// or hosts for its work.
func (e *evaluation) worksOutside(i int) bool {
	a, found := &e.acts[i], e.risks(e.policy.Profile)
	if a.inline || !a.does.Words[0].Known() || a.does.EndsJobs() {
		return false
	}
	called := a.does.Words[0].Text
	name := path.Base(called)
	switch {
	case strings.Contains(called, "/") && e.planted(called):
		return false // ./docker is not docker
	case i < len(found) && found[i].Local():
		return false
	case program.Is(name, program.Outside), a.does.Program != nil && a.does.Program.Hosts != "":
		return true
	case program.Is(name, program.Fetcher), program.Is(name, program.NamesHosts):
		return !e.fetchesReached(i)
	}
	return i < len(found) && (found[i].Outward() || found[i].Mutates() && a.does.Elsewhere)
}

// fetchesReached reports whether command i fetches, and only what is reached inside the sandbox.
func (e *evaluation) fetchesReached(i int) bool {
	fetches := false
	for k := range e.acts {
		if f := &e.acts[k]; f.parent == i && f.sub.Kind == patterns.FetchURL {
			if fetches = true; !e.reached(f) || !isLocal(f.does.Path) && !e.acts[i].does.OnlyGets() {
				return false // or sends something there
			}
		}
	}
	return fetches
}

// reached reports whether what is fetched is reached inside the sandbox: it is on this machine,
// or a rule lets its host be reached, which the proxy knows, by https.
func (e *evaluation) reached(a *act) bool {
	url := a.does.Path
	return isLocal(url) || len(url.Holes) == 0 && strings.HasPrefix(url.Text, "https://") &&
		yes(e.policy.Allow, &patterns.Subject{Kind: patterns.FetchURL, Tool: tools.WebFetch, URL: a.sub.URL}, patterns.Query{Specific: true}) != nil
}

// isLocal reports whether a URL is certainly one of this machine.
func isLocal(url shell.Word) bool {
	if len(url.Holes) > 0 {
		url.Text = url.Text[:url.Holes[0].At] + "?" // may be part of the host
	}
	return localURL.MatchString(url.Text)
}

// outwardPath returns why a read or write cannot be done inside the sandbox. What is not
// certain is tried there.
func (e *evaluation) outwardPath(a *act) string {
	if !a.certain() {
		return ""
	}
	writes := a.sub.Kind == patterns.WritePath
	for _, form := range a.sub.Path.Forms() {
		name := path.Clean(form.Text)
		switch {
		case subpath.Within(name, "/dev"):
		case e.inWorkspace(name):
		case writes && !slices.ContainsFunc(e.session.sandbox.Writable, func(dir string) bool { return subpath.Within(name, dir) }):
			return name + " cannot be written inside the sandbox"
		}
	}
	if writes && a.protected {
		return e.shown(a) + " cannot be written inside the sandbox"
	}
	return ""
}

// inWorkspace reports whether a path is in the workspace or in the session's directory
// for temporary files, as written.
func (e *evaluation) inWorkspace(name string) bool {
	place := &e.know.Place
	return subpath.Within(name, place.Workspace) || slices.ContainsFunc(place.Roots, func(root string) bool { return subpath.Within(name, root) })
}

// certain reports whether the path of a read or write is known, and stands for no others
// below it.
func (a *act) certain() bool {
	return a.does == nil || !a.does.Recursive && a.sub.Path != nil &&
		!slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool { return len(form.Holes) > 0 })
}

// wards reports whether the evaluator, rather than the sandbox, wards off what act a may do to
// files: the sandbox does where it is not said which ones those are.
func (e *evaluation) wards(a *act) bool {
	return e.holding == nil || a.certain() || e.namesHeld(a)
}

// namesHeld reports whether what is known of the path of a read or write, or the
// directory that it is about as a whole, is held: .vscode/$f, $d/.envrc, cp -r x .vscode.
// The sandbox lets such a file be made where there is none.
func (e *evaluation) namesHeld(a *act) bool {
	return a.does != nil && a.sub.Path != nil && slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool {
		said := shell.Word{Text: path.Clean(form.Filled(filler))}
		if a.sub.Kind == patterns.ReadPath {
			return e.credentialAt(said, false)
		}
		w := act{action: &action{sub: a.sub, does: &shell.Action{Kind: shell.Write}, parent: -1, forms: []shell.Word{said}}}
		return e.guarded(&w) != "" || e.protects(&w)
	})
}

// filler stands for what is known only when the line runs, where what is said beside it
// counts. No table has it.
const filler = "x"

// unheld returns a deny rule of a set that may match act i and that the sandbox does not
// hold, nil if it holds all of them. rule is one that may match.
func (e *evaluation) unheld(set *patterns.Set, i int, rule *patterns.Rule) *patterns.Rule {
	if e.holding == nil || e.namesOf(set, i) {
		return rule
	}
	rest, known := e.holding.sets[set]
	if !known {
		var rules []*patterns.Rule
		for _, r := range set.Rules() {
			if !e.holding.holds(r) {
				rules = append(rules, r)
			}
		}
		rest = patterns.NewSet(e.policy.Place, rules...)
		e.holding.sets[set] = rest
	}
	rule, _ = e.possible(rest, i, patterns.Query{})
	return rule
}

// heldStep returns the step of deny rules if one that may match act i is held by the sandbox.
func (e *evaluation) heldStep(layer Layer, set *patterns.Set, i int) Step {
	if e.holding == nil {
		return Step{}
	}
	rule, m := e.possible(set, i, patterns.Query{})
	if m != patterns.Maybe {
		return Step{}
	}
	s := e.stepOf(mayBe(layer, because(rule)), i)
	s.Behavior, s.Held, s.Reason = 0, false, s.Reason+"; the sandbox holds it"
	return s
}

// holds reports whether nothing inside can act against a deny rule: it is about hosts,
// which are reached by way of the evaluator only, or about paths that are withheld.
func (h *enclosure) holds(r *patterns.Rule) bool {
	switch {
	case r.Bare():
		return false
	case r.Tool() == tools.WebFetch:
		return true
	}
	return slices.Contains(h.rules, nameOfRule(r))
}

// nameOfRule is the name of a rule with paths for whoever holds programs to it.
func nameOfRule(r *patterns.Rule) string { return r.List().String() + " " + r.String() }

// namesOf reports whether the words of command i name a path that a rule of the set is
// about. A person is asked about that as without a sandbox.
func (e *evaluation) namesOf(set *patterns.Set, i int) bool {
	about := func(sub *patterns.Subject) bool {
		if _, m := set.Match(sub, patterns.Query{Specific: true}); m == patterns.Yes {
			return true
		}
		return slices.ContainsFunc(set.Near(sub.Path), func(r *patterns.Rule) bool {
			return !r.Bare() && sub.Path.Below(r, sub) && sub.Path.All(r)
		})
	}
	return e.names(i, about) || e.begins(&e.acts[i].sub, about)
}

// begins reports whether the path of a read or write, or the directory in which it is as
// far as that is known, is what about says, whatever stands for the rest.
func (e *evaluation) begins(of *patterns.Subject, about func(sub *patterns.Subject) bool) bool {
	return of.Path != nil && slices.ContainsFunc(of.Path.Forms(), func(form shell.Word) bool {
		sub := *of
		for _, said := range []string{knownPath(form), form.Filled(filler)} {
			if said == "" {
				continue
			}
			sub.Path = patterns.NewPath(shell.Word{Text: said}, e.dir, e.policy.Place, e.resolve)
			if about(&sub) {
				return true
			}
		}
		return false
	})
}

// names reports whether something that act i may read or write by its words, or by those
// of its code, is what about says.
func (e *evaluation) names(i int, about func(sub *patterns.Subject) bool) bool {
	a := e.worded(i)
	if a == nil {
		return false
	}
	for _, subs := range [2][]patterns.Subject{e.mayRead(a), e.mayWrite(a)} {
		for k := range subs {
			if about(&subs[k]) || e.begins(&subs[k], about) {
				return true
			}
		}
	}
	supposed := e.mayDo(a)
	for k := range supposed {
		if e.begins(&supposed[k].sub, about) {
			return true
		}
	}
	return false
}

// worded returns the command whose words say what act i may read and write: itself, or
// what code in the line is like in a file; nil if there is none.
func (e *evaluation) worded(i int) *act {
	a := &e.acts[i]
	switch {
	case a.sub.Kind == patterns.RunCommand:
		return a
	case a.sub.Kind != patterns.Hidden || a.does == nil || !a.does.Code() || a.parent < 0:
		return nil
	}
	by := &e.acts[a.parent]
	file := by.does.AsFile()
	if file == nil {
		return nil
	}
	return &act{action: &action{does: file, parent: a.parent, sub: patterns.Subject{Kind: patterns.RunCommand, Tool: by.sub.Tool, Command: file}}}
}

// holdsGranular is unheld for a granular deny rule that may match act i: it reports
// whether the sandbox holds it.
func (e *evaluation) holdsGranular(g *patterns.Granular, i int) bool {
	about := func(sub *patterns.Subject) bool { return g.Match(sub) == patterns.Yes }
	return e.holding != nil && g.Paths() && slices.Contains(e.holding.rules, g.String()) && !e.names(i, about) && !e.begins(&e.acts[i].sub, about)
}

// contained reports whether act i, which nothing else allows, is one that the sandbox holds: it
// is moderate, and runs code, or reads or writes in the workspace or what is only known
// when it runs. What it names is judged as without a sandbox.
func (e *evaluation) contained(i int) bool {
	a := &e.acts[i]
	switch {
	case e.holding == nil, a.does == nil, a.class > risk.Moderate, a.override != nil, a.secret, a.unkept != "":
		return false
	case e.policy.RiskOff, e.policy.Profile == risk.Terminal:
		return false // only rules count, or a person gives the line
	case e.byRisk(i).Behavior != 0:
		return false // the policy has its own answer
	case e.outward(i) != "":
		return false // the line does not run inside
	}
	switch a.sub.Kind {
	case patterns.RunCommand:
		found := e.risks(e.policy.Profile)
		return !a.does.Environment && !(i < len(found) && found[i].Loses()) && !e.namesGuarded(a)
	case patterns.Hidden:
		as := e.worded(i)
		return as == nil || !e.namesGuarded(as)
	case patterns.ReadPath:
		return a.inside || e.mayBeInside(a)
	case patterns.WritePath:
		return e.mayBeInside(a) || a.certain() && e.outwardPath(a) == ""
	case patterns.FetchURL:
		return e.reached(a)
	}
	return false
}

// mayBeInside reports whether a path that is known only when the line runs, or that
// stands for what is below it, may be in the workspace by what is known of it. What
// begins elsewhere, above the workspace too, is named.
func (e *evaluation) mayBeInside(a *act) bool {
	return !a.certain() && !slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool {
		at := knownPath(form)
		return at != "" && !e.inWorkspace(path.Clean(at))
	})
}

// knownPath returns the directory in which a path is that is known only in part, or else
// the path; "" if nothing is known.
func knownPath(form shell.Word) string {
	if len(form.Holes) == 0 {
		return form.Text
	}
	dir, _ := path.Split(form.Text[:form.Holes[0].At])
	return dir
}
