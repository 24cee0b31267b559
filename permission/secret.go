package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
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
// there that it does not leave out, and what the wildcards of a path mean. Inside the sandbox such
// files are not there.
func (e *evaluation) secretsBelow(a *act) []patterns.Named {
	if e.env == nil || e.holding != nil || a.does.Walk().Kept {
		return nil
	}
	if slices.ContainsFunc(a.sub.Path.Forms(), func(form shell.Word) bool { return len(form.Holes) > 0 }) {
		return e.secretsMeant(a)
	}
	if !a.does.Recursive || !e.searches(a) {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(risk.SearchedPaths()), func(name string) bool { return !a.does.Walk().Names(name) })
	names = append(names, e.keysBelow(a)...)
	if len(names) > 1 && !e.searched(a, "{"+strings.Join(names, ",")+"}") {
		return nil
	}
	for _, name := range names {
		if e.searched(a, name) {
			return []patterns.Named{{Names: []string{name}, Least: 1, Pattern: name}}
		}
	}
	return nil
}

// keysBelow returns patterns for the names of files with keys that a search through a
// directory shows. Any extension of such files counts where all that is shown are the files
// of one directory, as for a wildcard there, or is printed whole.
func (e *evaluation) keysBelow(a *act) []string {
	walk := a.does.Walk()
	names := walk.Ending(keyEndings())
	if walk.Depth != 1 && !(a.parent >= 0 && printsTree(e.acts[a.parent].does)) {
		return names
	}
	for _, end := range keyEndings() {
		if walk.Ends(end) {
			names = append(names, "*"+end)
		}
	}
	return names
}

// keyEndings returns the ends of the names of files with keys.
func keyEndings() []string {
	_, ends := risk.SensitiveParts()
	return slices.DeleteFunc(slices.Clone(ends), func(end string) bool { return risk.SensitiveName("x"+end) == "" })
}

// searched reports whether a recursive read may show a file whose name matches a pattern.
func (e *evaluation) searched(a *act, name string) bool {
	hidden := e.showsHidden(a)
	return slices.ContainsFunc(a.levels(name), func(text string) bool {
		below := e.secretRule(text)
		return below != nil && a.sub.Path.Below(below, &a.sub) && e.existsShown(a, below, hidden) && !e.skips(a, below)
	})
}

// levels returns the patterns of the files of a name that a recursive read shows: one for
// each level of directories, if it reads only some.
func (a *act) levels(name string) []string {
	form := a.sub.Path.Forms()[0].Text
	if a.does.Walk().Depth == 0 || !strings.HasPrefix(form, "/") || strings.ContainsAny(form, `*?[]{}()\!`) {
		return []string{name}
	}
	var levels []string
	for dir := strings.TrimSuffix(form, "/") + "/"; len(levels) < a.does.Walk().Depth; dir += "*/" {
		levels = append(levels, dir+name)
	}
	return levels
}

// secretRule returns the rule for reading the files that a pattern means, nil if there is none.
func (e *evaluation) secretRule(pattern string) *patterns.Rule {
	if rule, made := e.secretRules[pattern]; made {
		return rule
	}
	rule, _, err := patterns.Parse("Read("+pattern+")", patterns.Deny, patterns.Source{})
	if err == nil {
		rule = patterns.NewSet(e.policy.Place, rule).Rules()[0]
	} else {
		rule = nil
	}
	if e.secretRules == nil {
		e.secretRules = map[string]*patterns.Rule{}
	}
	e.secretRules[pattern] = rule
	return rule
}

// secretsMeant returns what a command shows of the files that the wildcards in a path mean:
// of those that are there. A program's own pattern is read with the directory.
func (e *evaluation) secretsMeant(a *act) []patterns.Named {
	if a.parent < 0 && !a.does.Redirect || a.does.ByPattern {
		return nil
	}
	for _, form := range a.sub.Path.Forms() {
		if !meansSecrets(form, a.does.Recursive, a.does.Found) {
			continue
		}
		files, all := e.filesOf(form)
		if !all {
			return []patterns.Named{{Names: []string{dotenv}, Least: 1, Pattern: dotenv}}
		}
		var dirs []string
		for _, file := range files {
			if dir, isDir := strings.CutSuffix(file, "/"); isDir {
				dirs = append(dirs, dir)
			} else if found := e.appendSecrets(nil, shell.Word{Text: file}); len(found) > 0 && (!a.does.Found || a.does.Walk().Names(path.Base(file))) {
				return found
			}
		}
		if len(dirs) > maxSearched { // the directory that these lie in stands for them
			dirs = []string{path.Dir(form.Text[:form.Holes[0].At] + "x")}
		}
		if found := e.secretsIn(a, dirs); found != nil {
			return found
		}
	}
	return nil
}

// maxSearched is the number of directories that are searched one by one for one path.
const maxSearched = 64

// secretsIn returns what a search of directories shows.
func (e *evaluation) secretsIn(a *act, dirs []string) []patterns.Named {
	if !a.does.Recursive || !e.searches(a) {
		return nil
	}
	names := slices.DeleteFunc(slices.Clone(risk.SearchedPaths()), func(name string) bool {
		return !a.does.Walk().Names(name) || slices.Contains(a.does.Skips, name)
	})
	for _, dir := range dirs {
		shows := func(pattern string) bool {
			below := e.secretRule(pattern)
			return below != nil && e.walk(walk{dir: dir, rule: below, hidden: e.showsHidden(a)})
		}
		if len(names) > 1 && !shows("{"+strings.Join(names, ",")+"}") {
			continue
		}
		if at := slices.IndexFunc(names, shows); at >= 0 {
			return []patterns.Named{{Names: names[at : at+1], Least: 1, Pattern: names[at]}}
		}
	}
	return nil
}

// meansSecrets reports whether wildcards of the shell may mean a file with secrets, or a
// directory that is searched: most end in an extension that no such file has.
func meansSecrets(form shell.Word, recursive, found bool) bool {
	if slices.ContainsFunc(form.Holes, func(h shell.Hole) bool { return h.Kind != shell.Glob && h.Kind != shell.Pattern }) {
		return false
	}
	tail := form.Text[form.Holes[len(form.Holes)-1].At:]
	_, ends := risk.SensitiveParts()
	ext := path.Ext(tail)
	return ext == "" || found || recursive && strings.HasSuffix(tail, "/") || slices.Contains(ends, strings.ToLower(ext))
}

// searches reports whether the tool that searches reads a, or a command that does, or that
// reads the files that another one names, and asks no question of its own.
func (e *evaluation) searches(a *act) bool {
	if a.parent < 0 {
		return e.use.Tool == searcher && (a.does.ByPattern || e.namesNone())
	}
	by := &e.acts[a.parent]
	return by.class == risk.Safe && (a.does.Found || searches(by.does))
}

// showsHidden reports whether a recursive read shows files that are hidden. The agent's tool
// shows them, but the files that git ignores, of which .env nearly always is one, only by a
// pattern that names files: without one, what an ignore file brings in counts.
func (e *evaluation) showsHidden(a *act) bool {
	switch {
	case a.does.Found:
		return !a.does.Walk().Visible
	case a.parent >= 0 && a.does.Walk().Only(): // they bring in what they mean
		return true
	}
	return !a.does.SkipHidden && (a.parent >= 0 || a.does.ByPattern)
}

// searches reports whether a command shows the lines of files that match a pattern: grep,
// rg, and git grep, which reads a directory only for files that git does not hold.
func searches(does *shell.Action) bool {
	p := does.Program
	if p == nil || slices.ContainsFunc(does.Words, func(w shell.Word) bool { return w.Text == "--files" }) {
		return false
	}
	return p.Operands == program.PatternReads || p.Operands == program.PatternTree || p.Special == "git" || printsTree(does)
}

// printsTree reports whether a command prints every file below a directory: rclone cat.
func printsTree(does *shell.Action) bool {
	if does.Program == nil {
		return false
	}
	by := shell.ScanWords(does.Program, does.Words).Prog
	return by != nil && by.Operands == program.ReadsTree
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
