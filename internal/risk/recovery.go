package risk

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/lazyregexp"
)

// maxTried is the number of bytes that are parsed to find out what a line with
// an error runs. Each parse counts as at least perRead bytes.
const (
	maxTried = 2 * shell.MaxLine
	perRead  = 64
)

var negations = lazyregexp.New(`!(\s+!)+(\s)`)

// unread recovers the parts of a line that run although the line failed to
// parse.
type unread struct {
	place Place
	tried int // bytes so far
}

// runs returns what is known to run of the action at index i, which is opaque
// because a shell text failed to parse: bash accepts two negations and an
// unterminated here-document, and has run the lines before an error by the time
// it reports the error. It is not ok if finding out would take too long.
func (u *unread) runs(f *shell.Facts, i int) (out []*shell.Facts, ok bool) {
	a := &f.Actions[i]
	if a.Kind != shell.Opaque || a.Why.Cause != shell.CauseUnparsed && a.Why.Cause != shell.CauseTextUnparsed {
		return nil, true
	}
	opt := shell.Options{Home: u.place.Home, Workspace: u.place.Workspace, Roots: u.place.Roots}
	if len(a.Dirs) == 1 && a.Dirs[0].Known() {
		opt.Dir = a.Dirs[0].Text
	}
	for _, text := range textsOf(f, a) {
		runs, ok := u.text(text, f, opt)
		if !ok {
			return nil, false
		}
		if runs != nil {
			out = append(out, runs)
		}
	}
	return out, true
}

// textsOf returns the texts of which one failed to parse: the line, or words of
// the command that runs them (bash -c, eval).
func textsOf(f *shell.Facts, a *shell.Action) []string {
	if a.Why.Cause == shell.CauseUnparsed {
		return []string{f.Source}
	}
	if a.Parent < 0 {
		return nil
	}
	var out, all []string
	for _, w := range f.Actions[a.Parent].Words {
		if w.Known() && strings.ContainsAny(w.Text, " \t\n") {
			out = append(out, w.Text)
		}
		all = append(all, w.Filled("_"))
	}
	if len(all) > 1 && all[0] == "eval" {
		out = append(out, strings.Join(all[1:], " "))
	}
	return out
}

// analyze parses a text, unless the limit maxTried has been reached.
func (u *unread) analyze(text string, opt shell.Options) (f *shell.Facts, ok bool) {
	if u.tried += max(len(text), perRead); u.tried > maxTried {
		return nil, false
	}
	return shell.Analyze(text, opt), true
}

// text returns what runs of a text that failed to parse, nil if nothing is
// known to run. The text is the line of f or one of its words.
func (u *unread) text(text string, f *shell.Facts, opt shell.Options) (runs *shell.Facts, ok bool) {
	if one := negations.ReplaceAllString(text, "!$2"); one != text || !f.Unreadable() {
		runs, ok := u.analyze(one, opt)
		if !ok || !runs.Unreadable() {
			return runs, ok
		}
		text, f = one, runs
	}
	if end := f.Failed.Document; end != "" {
		if again, ok := u.analyze(text+"\n"+end+"\n", opt); !ok || !again.Unreadable() {
			return again, ok
		}
	}
	return u.before(text, f.Failed.Line, opt)
}

// before returns what the lines before the first erroneous command run. Usually
// these are all lines above that of the error; otherwise commands are parsed
// one by one, each from as many lines as it needs, as bash does.
func (u *unread) before(text string, bad int, opt shell.Options) (runs *shell.Facts, ok bool) {
	lines := strings.SplitAfter(text, "\n")
	for to := min(bad-1, len(lines)); to > max(0, bad-4); to-- {
		if runs, ok := u.analyze(strings.Join(lines[:to], ""), opt); !ok || !runs.Unreadable() {
			return runs, ok
		}
	}
	whole := 0
	for to := 1; to <= min(bad, len(lines)); to++ {
		part, ok := u.analyze(strings.Join(lines[whole:to], ""), opt)
		switch {
		case !ok:
			return nil, false
		case !part.Unreadable():
			whole = to
		}
	}
	if whole == 0 {
		return nil, true
	}
	return u.analyze(strings.Join(lines[:whole], ""), opt)
}

// finding returns the finding of what runs of the unparsed action at index i;
// the zero value if nothing is known to run.
func (u *unread) finding(f *shell.Facts, i int, p Profile) Finding {
	if f.Failed != nil && i == len(f.Actions)-1 && spellsForkBomb(f.Source) {
		return Finding{Class: Forbidden, Reason: forkBomb, Factors: alone(FactorCatastrophic)}
	}
	parts, ok := u.runs(f, i)
	if !ok {
		return Finding{Class: Forbidden, Reason: "it cannot be read, and is too long to look at its lines one by one", Factors: alone(FactorDynamic)}
	}
	var all Finding
	for _, runs := range parts {
		for _, one := range AppendEach(nil, runs, p, u.place) {
			all.join(one)
		}
	}
	return all
}

// catastrophe returns why what runs of the unparsed action at index i is
// catastrophic, or "".
func (u *unread) catastrophe(f *shell.Facts, i int) string {
	if f.Failed != nil && i == len(f.Actions)-1 && spellsForkBomb(f.Source) {
		return forkBomb
	}
	parts, _ := u.runs(f, i)
	for _, runs := range parts {
		if reason, found := Catastrophic(runs, u.place); found {
			return reason
		}
	}
	return ""
}
