package shell

import (
	"path"
	"slices"
	"strings"
)

// throughLinks adds an opaque spot if the line uses a path through a link that it
// creates, since the link cannot be resolved before it exists.
func (w *walker) throughLinks() {
	if len(w.links) == 0 {
		return
	}
	if len(w.links) > maxLinks {
		w.opaque(-1, MayRead|MayWrite, causeManyLinks)
		return
	}
	for i := range w.facts.Actions {
		a := &w.facts.Actions[i]
		if a.Kind != Read && a.Kind != Write || slices.ContainsFunc(w.links, func(l Word) bool { return sameWord(&l, &a.Path) }) {
			continue
		}
		if slices.ContainsFunc(w.links, func(l Word) bool { return mayLieBelow(&a.Path, &l) }) {
			w.opaque(a.Parent, MayRead|MayWrite, causeThroughLink)
			return
		}
	}
}

// mayLieBelow reports whether a path may lie below another, as far as both are known.
func mayLieBelow(p, dir *Word) bool {
	have, want := knownStart(p), knownStart(dir)
	if dir.Known() {
		want = strings.TrimSuffix(want, "/") + "/"
	}
	if p.Known() {
		return strings.HasPrefix(have, want)
	}
	return strings.HasPrefix(have, want) || strings.HasPrefix(want, have)
}

// knownStart returns the text of a path up to its first hole, cleaned if there is
// none.
func knownStart(p *Word) string {
	if p.Known() {
		return path.Clean(p.Text)
	}
	if len(p.Holes) == 0 {
		return p.Text
	}
	return p.Text[:p.Holes[0].At]
}

// writtenThenRun adds an opaque spot if the line runs a file that it also writes. The
// order is ignored, since loops and functions may reverse it.
func (w *walker) writtenThenRun() {
	runs := w.runs
	for i := range w.facts.Actions {
		a := &w.facts.Actions[i]
		if a.Kind == Command && a.Words[0].Known() && strings.Contains(a.Words[0].Text, "/") {
			for _, p := range beneath(a.Dirs, a.Words[0]) {
				runs = append(runs, scriptRun{path: p, by: i})
			}
		}
	}
	if len(runs) == 0 {
		return
	}
	written, printed := w.written(false), w.written(true)
	for _, r := range runs {
		if to := path.Clean(r.path.Text); r.path.Known() && (printed[to] || !r.obeyed && written[to]) {
			w.opaque(r.by, MayRun, causeRunsWritten)
		}
	}
}

// written returns the known paths that the line writes, cleaned, or only those to
// which it redirects output.
func (w *walker) written(redirected bool) map[string]bool {
	out := map[string]bool{}
	for i := range w.facts.Actions {
		if a := &w.facts.Actions[i]; a.Kind == Write && a.Path.Known() && (a.Redirect || !redirected) {
			out[path.Clean(a.Path.Text)] = true
		}
	}
	return out
}
