package permission

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// exactOnly is the value of patterns.Query.Reach that only exact rules satisfy.
const exactOnly = math.MaxInt

// cover returns the rule of a set of allow rules that proves an action allowed,
// nil if there is none. It may be a rule for the action itself, a bare rule or
// a rule for the whole line, which match everything that the line does, or a
// rule for a command that does the action. For an action of tier 3 bare rules
// do not count.
func (e *evaluation) cover(set *patterns.Set, i int) *patterns.Rule {
	return e.coverBy(set, i, e.strict(i))
}

func (e *evaluation) coverBy(set *patterns.Set, i int, specific bool) *patterns.Rule {
	return e.coverWith(set, i, patterns.Query{Specific: specific})
}

// coverWith is coverBy restricted to a query, except for its reach.
func (e *evaluation) coverWith(set *patterns.Set, i int, q patterns.Query) *patterns.Rule {
	if set.Len() == 0 {
		return nil
	}
	a := &e.acts[i]
	q.Reach, q.Files = a.reach(), e
	if a.secret {
		q = a.naming(q)
	}
	if set == e.policy.Allow && a.ofProject() {
		q.Bare = true
	}
	if rule := yes(set, &a.sub, q); rule != nil || !a.command() {
		return rule
	}
	if rule := e.coverParent(set, i, q); rule != nil {
		return rule
	}
	if a.parent >= 0 && a.inside && a.sub.Kind == patterns.WritePath && a.does.Purpose {
		return e.coverWith(set, a.parent, q)
	}
	return e.coverLocal(set, i)
}

// Trusted implements patterns.Files: the settings of programs, which nobody writes unasked,
// and what the session has made or may write.
func (e *evaluation) Trusted(file string) bool {
	place := &e.know.Place
	for _, home := range [...]string{place.Home, place.RealHome} {
		if rest, ok := strings.CutPrefix(file, home+"/"); ok && home != "" && belowSettings(rest) {
			return true
		}
	}
	switch dir := e.know.scratch.privateDir(); {
	case e.know.scratch == nil || e.env == nil:
		return false
	case dir != "" && subpath.Within(file, dir):
		return true
	}
	entry := e.know.scratch.entry(file)
	_, own := e.env.Entry(entry)
	return own && slices.Contains(e.know.scratch.made, entry)
}

// ofProject reports whether files of the project decide what a command does. Whoever wrote a
// rule of the policy did not know those files. A person who answered the question did: it
// names them.
func (a *action) ofProject() bool {
	return a.sub.Kind == patterns.RunCommand && a.does.Why.Cause.OfProject()
}

// coverLocal returns a rule for the host of a command that does nothing but fetch
// from this machine, or post to a server of the project's own: WebFetch(localhost) covers
// curl http://localhost:8080/x. A rule for any other host is about the tool only, because
// a command may send too.
func (e *evaluation) coverLocal(set *patterns.Set, i int) (rule *patterns.Rule) {
	a := &e.acts[i]
	if !a.fetches() {
		return nil
	}
	for k := i + 1; k < len(e.acts); k++ {
		c := &e.acts[k]
		switch {
		case c.parent != i:
		case c.sub.Kind == patterns.FetchURL:
			if rule = localRule(set, c); rule == nil || !onlyAsksServer(a.does, &c.does.Path) {
				return nil
			}
		case c.sub.Kind != patterns.WritePath && (c.sub.Kind != patterns.ReadPath || !c.inside):
			return nil
		}
	}
	return rule
}

// fetches reports whether an action is a command whose purpose is to fetch, and
// which is proven to do no more than its words say.
func (a *act) fetches() bool {
	return a.sub.Kind == patterns.RunCommand && a.does.Program != nil && a.does.Program.Facts&program.Fetcher != 0 &&
		!a.does.Unproven() && a.does.Reach == 0 && a.does.Words[0].Known() && a.does.Words[0].Text == a.does.Program.Name
}

// loopback reports whether a host is certainly this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// localRule returns the rule for the host of a fetch if that is this machine. A
// word without a scheme is a host, as curl and httpie read it.
func localRule(set *patterns.Set, fetch *act) *patterns.Rule {
	url := fetch.sub.URL
	if url.Host() == "" {
		word := fetch.does.Path
		if strings.Contains(word.Text, ":/") || len(word.Holes) > 0 {
			return nil
		}
		word.Text = "http://" + word.Text
		url = patterns.NewURL(word)
	}
	if !loopback(url.Host()) {
		return nil
	}
	return yes(set, &patterns.Subject{Kind: patterns.FetchURL, Tool: fetch.sub.Tool, URL: url}, patterns.Query{Specific: true})
}

// onlyAsksServer reports whether a command gets what a URL of this machine names, or posts
// something to the port of a server that runs while a project is developed. Databases and
// container engines have other ports, and what deletes or replaces is for a rule to name.
func onlyAsksServer(does *shell.Action, url *shell.Word) bool {
	switch does.Method() {
	case "GET", "HEAD", "OPTIONS":
		return true
	case "POST":
		port := localPort.FindStringSubmatch(url.Text)
		return port != nil && len(url.Holes) == 0 && isDeveloped(port[1])
	}
	return false
}

// localPort matches the URL of a host, with its port in the group.
var localPort = lazyregexp.New(`^(?:https?://)?(?:\[[0-9a-fA-F:.]*\]|[A-Za-z0-9.-]*)(?::([0-9]*))?(?:[/?#]|$)`)

// developed are the ports of the servers that web frameworks start while a project is
// developed, from and to; 0 stands for no port.
var developed = [][2]uint64{{0, 0}, {80, 80}, {443, 443}, {3000, 3999}, {4000, 4099}, {4200, 4200}, {4321, 4321}, {5000, 5199}, {8000, 8085}}

func isDeveloped(port string) bool {
	n, err := strconv.ParseUint("0"+port, 10, 16)
	return err == nil && slices.ContainsFunc(developed, func(r [2]uint64) bool { return r[0] <= n && n <= r[1] })
}

// reach returns how far the literal words of a rule for a command must extend.
func (a *action) reach() int {
	switch {
	case a.sub.Kind != patterns.RunCommand:
		return 0
	case a.does.Unproven():
		return exactOnly
	}
	return a.does.Reach
}

func yes(set *patterns.Set, sub *patterns.Subject, q patterns.Query) *patterns.Rule {
	if rule, m := set.Match(sub, q); m == patterns.Yes {
		return rule
	}
	return nil
}

// coverParent returns a rule for a command that does i: one for exactly its
// words, which covers all that they do, or, if i is a command, one whose own
// words extend into i.
func (e *evaluation) coverParent(set *patterns.Set, i int, q patterns.Query) *patterns.Rule {
	reach := exactOnly
	if e.acts[i].sub.Kind == patterns.RunCommand {
		reach = e.further(0, i)
	}
	for at := i; ; {
		parent := e.acts[at].parent
		if parent < 0 || e.acts[at].does.Redirect {
			return nil
		}
		p := &e.acts[parent]
		q.Reach = max(reach, p.reach())
		if rule := yes(set, &p.sub, q); rule != nil {
			return rule
		}
		reach, at = e.further(reach, parent), parent
	}
}

// further returns how far the words of a rule for the parent of i must extend
// to include the first reach words of i. A rule that extends into a command
// with some words from elsewhere (the names that xargs adds) intends that; one
// with words that are still unknown cannot.
func (e *evaluation) further(reach, i int) int {
	a := &e.acts[i]
	if reach == exactOnly || a.parent < 0 || a.does.From < 1 || a.does.Exact {
		return exactOnly
	}
	if a.does.Unproven() && !known(e.acts[a.parent].does.Words) {
		return exactOnly
	}
	return reach + a.does.From
}

func known(words []shell.Word) bool {
	for i := range words {
		if !words[i].Known() {
			return false
		}
	}
	return true
}

// possible matches a set of ask or deny rules against an action and against what
// its command may run although its words do not say so.
func (e *evaluation) possible(set *patterns.Set, i int, q patterns.Query) (*patterns.Rule, patterns.Match) {
	rule, m := e.stated(set, i, q)
	if a := &e.acts[i]; m == patterns.No && a.does != nil && a.sub.Kind == patterns.RunCommand && set.Specific() && !e.blind(i) {
		return e.possibleCommand(set, a)
	}
	return rule, m
}

// blind reports whether what the command i does cannot be told from the line anyway:
// all rules may be about that, and it has a reason of its own.
func (e *evaluation) blind(i int) bool {
	for k := i + 1; k < len(e.acts); k++ {
		if a := &e.acts[k]; a.parent == i && (a.inline || a.sub.Kind == patterns.Hidden && a.sub.May&shell.MayRun != 0) {
			return true
		}
	}
	return false
}

// stated matches a set of ask or deny rules against an action and, if it affects a
// whole directory, against what is below it.
func (e *evaluation) stated(set *patterns.Set, i int, q patterns.Query) (*patterns.Rule, patterns.Match) {
	a := &e.acts[i]
	rule, m := set.Match(&a.sub, q)
	switch {
	case m != patterns.No || a.does == nil:
		return rule, m
	case a.sub.Kind == patterns.RunCommand:
		return e.unsaid(set, a)
	case !a.does.Recursive || a.sub.Path == nil:
		return rule, m
	}
	return e.below(set, a, q)
}

// possibleCommand looks for a rule that matches what the command of a may run
// although its words do not say so. Bare rules do not count.
func (e *evaluation) possibleCommand(set *patterns.Set, a *act) (*patterns.Rule, patterns.Match) {
	q := patterns.Query{Specific: true}
	supposed := e.mayDo(a)
	for i := range supposed {
		s := &supposed[i]
		rule, m := set.Match(&s.sub, q)
		switch {
		case m != patterns.No:
		case s.sub.Kind == patterns.RunCommand && s.does.Program != nil:
			rule, m = e.unsaid(set, &act{action: s})
		case s.does.Recursive && s.sub.Path != nil:
			rule, m = e.below(set, &act{action: s}, q)
		}
		if m != patterns.No {
			return rule, patterns.Maybe
		}
	}
	return nil, patterns.No
}

// unsaid looks for a rule that names a file which the command of a may read or
// write although its words do not say so. Bare rules do not count.
func (e *evaluation) unsaid(set *patterns.Set, a *act) (*patterns.Rule, patterns.Match) {
	if set.Reads() {
		if rule := unsaidOne(set, e.mayRead(a)); rule != nil {
			return rule, patterns.Maybe
		}
	}
	if set.Edits() {
		writes := e.mayWrite(a)
		if rule := unsaidOne(set, writes); rule != nil {
			return rule, patterns.Maybe
		}
		if rule := e.unsaidBelow(set, writes); rule != nil {
			return rule, patterns.Maybe
		}
	}
	return nil, patterns.No
}

func unsaidOne(set *patterns.Set, subs []patterns.Subject) *patterns.Rule {
	for i := range subs {
		if rule, m := set.Match(&subs[i], patterns.Query{Specific: true}); m != patterns.No {
			return rule
		}
	}
	return nil
}

// unsaidBelow looks for a rule about paths below a possible directory whose
// files may be written.
func (e *evaluation) unsaidBelow(set *patterns.Set, subs []patterns.Subject) *patterns.Rule {
	for i := range subs {
		for _, rule := range set.Near(subs[i].Path) {
			if !rule.Bare() && subs[i].Path.Below(rule, &subs[i]) && e.holds(&subs[i], rule) {
				return rule
			}
		}
	}
	return nil
}

// holds asks the file system whether a path that the rule matches exists below
// that of sub. If it cannot be asked, such a path may exist if all that the
// rule matches is there.
func (e *evaluation) holds(sub *patterns.Subject, rule *patterns.Rule) bool {
	for _, form := range sub.Path.Forms() {
		if e.env != nil && len(form.Holes) == 0 {
			if e.walk(walk{dir: form.Text, rule: rule, hidden: true}) {
				return true
			}
		} else if slices.ContainsFunc(rule.Roots(), func(root string) bool { return subpath.Within(root, form.Text) }) {
			return true
		}
	}
	return false
}

// mayRead returns the reads that the command of a may do although its words do
// not say so.
func (e *evaluation) mayRead(a *act) []patterns.Subject {
	if a.reads == nil {
		a.reads = e.subjects(patterns.ReadPath, a, a.does.PossibleReads())
	}
	return a.reads
}

// mayWrite is mayRead for writes.
func (e *evaluation) mayWrite(a *act) []patterns.Subject {
	if a.writes == nil {
		a.writes = e.subjects(patterns.WritePath, a, a.does.PossibleWrites())
	}
	return a.writes
}

func (e *evaluation) subjects(kind patterns.Kind, a *act, paths []shell.Word) []patterns.Subject {
	subs := make([]patterns.Subject, 0, len(paths))
	for _, name := range paths {
		subs = append(subs, patterns.Subject{
			Kind: kind, Tool: a.sub.Tool, Path: patterns.NewPath(name, e.dir, e.policy.Place, e.resolve),
		})
	}
	return subs
}

// meets matches a granular ask or deny rule against an action and against what its
// command may read, write or run.
func (e *evaluation) meets(g *patterns.Granular, i int) patterns.Match {
	a := &e.acts[i]
	m := g.Match(&a.sub)
	if m != patterns.No || a.sub.Kind != patterns.RunCommand || g.Action() == patterns.Allow || !g.Specific() {
		return m
	}
	if e.mayMeet(g, a) {
		return patterns.Maybe
	}
	supposed := e.mayDo(a)
	for k := range supposed {
		s := &supposed[k]
		if g.Match(&s.sub) != patterns.No || s.sub.Kind == patterns.RunCommand && s.does.Program != nil && e.mayMeet(g, &act{action: s}) {
			return patterns.Maybe
		}
	}
	return patterns.No
}

// mayMeet reports whether a granular rule matches what the command of a may read or
// write although its words do not say so.
func (e *evaluation) mayMeet(g *patterns.Granular, a *act) bool {
	if !g.Paths() {
		return false
	}
	for _, subs := range [2][]patterns.Subject{e.mayRead(a), e.mayWrite(a)} {
		for k := range subs {
			if g.Match(&subs[k]) != patterns.No {
				return true
			}
		}
	}
	return false
}
