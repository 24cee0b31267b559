package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/program"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/shell"
)

// secretPaths holds the sensitive names that may lie in any directory, and the
// sensitive files with an absolute path.
var secretPaths = sync.OnceValue(func() (all struct {
	anywhere names
	absolute []string
}) {
	anywhere, absolute := risk.SensitivePaths()
	all.anywhere, all.absolute = namesOf(anywhere)(), absolute
	return all
})

// secrets returns what a rule must spell out to permit a read: the sensitive
// names in each form of the path. It is empty if the path holds none.
func (e *evaluation) secrets(a *act) []patterns.Named {
	var found []patterns.Named
	for _, form := range a.sub.Path.Forms() {
		found = e.appendSecrets(found, form)
	}
	if len(found) == 0 && slices.Contains(a.factors, risk.FactorSensitive) {
		found = append(found, patterns.Named{Names: []string{path.Base(a.does.Path.Text)}, Least: 1})
	}
	return found
}

func (e *evaluation) appendSecrets(found []patterns.Named, form shell.Word) []patterns.Named {
	segments := split(form, nil)
	for at := range segments {
		secretPaths().anywhere.each(segments[at:], func(want []string, n int) {
			if n == len(want) {
				name := spelling(segments[at:], want, n)
				if want[0] == dotenv {
					name.Pattern = dotenv
				}
				found = append(found, name)
			}
		})
	}
	if n := len(segments); n > 0 {
		if part := telling(segments); part != "" {
			found = append(found, patterns.Named{Names: []string{strings.ToLower(segments[n-1].Text)}, Least: 1, Pattern: part})
		}
	}
	place := e.riskPlace()
	for _, name := range secretPaths().absolute {
		if reaches(form, name, false) && !place.Owns(name, &form) {
			found = append(found, patterns.Named{Names: []string{path.Base(name)}, Least: 1})
		}
	}
	return found
}

// secretsBelow returns what a search through a directory shows of a file with secrets
// there that it does not leave out. Inside walls such files are not there.
func (e *evaluation) secretsBelow(a *act) []patterns.Named {
	if !a.does.Recursive || e.env == nil || e.holding != nil || !e.searches(a) {
		return nil
	}
	if slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool { return len(form.Holes) > 0 }) {
		return nil // names that the shell expands: pkg/*.go
	}
	names := risk.SearchedPaths()
	if !e.searched(a, "{"+strings.Join(names, ",")+"}") {
		return nil
	}
	for _, name := range names {
		if e.searched(a, name) {
			return []patterns.Named{{Names: []string{name}, Least: 1, Pattern: name}}
		}
	}
	return nil
}

// searched reports whether a recursive read may show a file whose name matches a pattern.
func (e *evaluation) searched(a *act, name string) bool {
	rule, _, err := patterns.Parse("Read("+name+")", patterns.Deny, patterns.Source{})
	if err != nil {
		return false
	}
	below := patterns.NewSet(e.policy.Place, rule).Rules()[0]
	return a.sub.Path.Below(below, &a.sub) && e.existsShown(a, below, e.showsHidden(a)) && !e.skips(a, below)
}

// searches reports whether the tool that searches reads a, or a command that does and asks
// no question of its own.
func (e *evaluation) searches(a *act) bool {
	if a.parent < 0 {
		return e.use.Tool == searcher && (a.does.ByPattern || e.namesNone())
	}
	return searches(e.acts[a.parent].does) && e.acts[a.parent].class == risk.Safe
}

// showsHidden reports whether a recursive read shows files that are hidden. The agent's tool
// shows them, but the files that git ignores, of which .env nearly always is one, only by a
// pattern that names files: without one, what an ignore file brings in counts.
func (e *evaluation) showsHidden(a *act) bool {
	return !a.does.SkipHidden && (a.parent >= 0 || a.does.ByPattern)
}

// searches reports whether a command shows the lines of files that match a pattern: grep,
// rg, and git grep, which reads a directory only for files that git does not hold.
func searches(does *shell.Action) bool {
	p := does.Program
	if p == nil || slices.ContainsFunc(does.Words, func(w shell.Word) bool { return w.Text == "--files" }) {
		return false
	}
	return p.Operands == program.PatternReads || p.Operands == program.PatternTree || p.Special == "git"
}

// telling returns the part of the last name of a path that tells that the file, or one of
// those that its pattern matches, holds secrets, or "".
func telling(segments []shell.Word) string {
	name := &segments[len(segments)-1]
	part := risk.SensitiveName(name.Text)
	if part != "" && name.Known() && risk.SensitiveName(knownEnd(segments)) == "" {
		return "" // it is public where it lies
	}
	if name.Known() {
		return part
	}
	rest := shell.Word{Text: name.Text, Holes: name.Holes}
	if rest.Holes[0].At == 0 {
		rest.Holes = rest.Holes[1:] // nothing stands there
	}
	for _, filled := range fillings {
		part = cmp.Or(part, risk.SensitiveName(name.Filled(filled)), risk.SensitiveName(rest.Filled(filled)))
	}
	for at := range len(name.Text) {
		if part == "" && strings.IndexByte("._-", name.Text[at]) >= 0 {
			part = tellingAt(name, at)
		}
	}
	return part
}

// tellingAt is telling for a name with wildcards in the part that tells, which ends or
// begins at a byte of the name: .e?v.local, id[_]rsa_work, server.p?m.
func tellingAt(name *shell.Word, at int) (part string) {
	head, tail := shell.Word{Text: name.Text[:at]}, shell.Word{Text: name.Text[at:]}
	for _, h := range name.Holes {
		if h.At <= at {
			head.Holes = append(head.Holes, h)
		} else {
			tail.Holes = append(tail.Holes, shell.Hole{At: h.At - at, Kind: h.Kind})
		}
	}
	begins, ends := risk.SensitiveParts()
	for _, begin := range begins {
		if len(head.Holes) > 0 && fits(head, begin) && tells(head, begin, true) {
			part = cmp.Or(part, risk.SensitiveName(begin+tail.Text))
		}
	}
	for _, end := range ends {
		if len(tail.Holes) > 0 && 2*len(tail.Text) > len(end) && fits(tail, end) {
			part = cmp.Or(part, risk.SensitiveName(cmp.Or(head.Text, "x")+end))
		}
	}
	return part
}

// knownEnd returns the last name of a path, and with it the directories before it whose
// names are known.
func knownEnd(segments []shell.Word) string {
	at := len(segments) - 1
	end := segments[at].Text
	for at--; at >= 0 && segments[at].Known(); at-- {
		end = segments[at].Text + "/" + end
	}
	return end
}

// fillings are what a wildcard may stand for in the name of a file with secrets:
// server*.pem, secrets.*, credential*, *env.local, *pem, id_rsa?work.
var fillings = []string{"x", "json", ".json", "s.json", ".", "x.", "_"}

const dotenv = ".env"

// naming restricts a query to rules that name what a secret action shows.
func (a *act) naming(q patterns.Query) patterns.Query {
	q.Specific = true
	if q.Named = append(q.Named, a.secrets...); prints(a.does) {
		q.Reach = exactOnly
	}
	return q
}

// namedBy reports whether a granular rule names what a secret action shows.
func (a *act) namedBy(g *patterns.Granular) bool {
	if a.sub.Path != nil {
		return g.Spells(&a.sub, a.secrets)
	}
	return g.Specific() && !prints(a.does)
}

// prints reports whether a command gets a secret as one of its words, about which a rule
// for the program says nothing.
func prints(does *shell.Action) bool { return holdsSecret(does.Words) }
