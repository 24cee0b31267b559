package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

func (e *effector) write(p Word, need Need, purpose bool, reason string) {
	e.path(Write, p, need, purpose, reason)
}

// clear removes what is at a path and writes there again.
func (e *effector) clear(p Word, what string) {
	defer func(recursive, clears bool) { e.recursive, e.clears = recursive, clears }(e.recursive, e.clears)
	e.recursive, e.clears = true, true
	e.write(p, NeedCover, false, what)
}

// below writes files of unknown names in a directory and its subdirectories.
func (e *effector) below(dir Word, need Need, reason string) {
	defer func(before bool) { e.edits = before }(e.edits)
	e.edits = true // files of other names stay
	at := joinPath(dir, Word{Holes: []Hole{{Kind: Glob}}})
	e.write(at, need, false, reason)
	e.write(joinPath(at, Word{Holes: []Hole{{Kind: Glob}}}), need, false, reason)
}

// inPlaceWrite changes an operand, or all files below it if it is lexically a
// directory (gofmt -w .).
func (e *effector) inPlaceWrite(r Word, need Need, what string) {
	defer func(recursive, edits bool) { e.recursive, e.edits = recursive, edits }(e.recursive, e.edits)
	e.edits = !e.empties
	e.recursive = e.recursive || r.Text == "." || r.Text == ".." || strings.HasSuffix(r.Text, "/") || strings.HasSuffix(r.Text, "/.") || strings.HasSuffix(r.Text, "/..")
	e.write(r, need, false, what)
}

// ownWrite writes a file in which a program keeps its own settings and which no word
// names. harmless reports that the setting makes nothing run.
func (e *effector) ownWrite(file Word, need Need, harmless bool, reason string) {
	from := len(e.w.facts.Actions)
	e.write(file, need, false, reason)
	for i := from; i < len(e.w.facts.Actions); i++ {
		e.w.facts.Actions[i].Own, e.w.facts.Actions[i].Harmless = true, harmless
	}
}

func (e *effector) read(p Word, need Need, reason string) {
	if p.Known() && p.Text == "-" {
		return
	}
	e.path(Read, p, need, false, reason)
}

// mayRead records the words, and values of options, that an unlisted program may take
// for files. Unknown words are left out, since they would be any path.
func (e *effector) mayRead(words []Word, reason string) {
	for _, t := range words {
		if strings.HasPrefix(t.Text, "-") {
			name, _, found := strings.Cut(t.Text, "=")
			if !found {
				continue
			}
			t = cutWord(t, len(name)+1)
		}
		if t.Known() && t.Text != "" {
			e.read(t, NeedNone, reason)
		}
	}
}

func (e *effector) path(kind Kind, p Word, need Need, purpose bool, reason string) {
	if p.hasHole(Pipe) || p.Known() && free.has(p.Text) || devFD(&p) {
		return
	}
	places, recursive, noFollow := beneath(e.dirs, p), e.recursive, e.noFollow && !slashed(&p)
	if p.under != nil && (!p.printed || kind == Read && need == NeedNone) {
		places, recursive = e.foundPlaces(&p), true
		noFollow = noFollow || slices.ContainsFunc(p.under, func(u Word) bool { return u.files })
	} else if kind == Read && (recursive || !p.Known()) {
		e.w.walked(places, e.walkOfSearch())
	}
	var skips []string
	if recursive && kind == Read && len(places) > 0 {
		skips = e.skips()
	}
	for _, at := range places {
		if at.matched && kind == Write {
			continue // the directory that is searched stands for it
		}
		e.w.add(Action{
			Skips: skips, ByPattern: at.matched, walk: e.w.walkFor(at.walk),
			Kind: kind, Need: need, Path: at, Purpose: purpose, Recursive: recursive && !at.matched,
			Sweep: kind == Write && recursive && (!e.inPlace || p.under != nil), Clears: kind == Write && e.clears, Replaces: kind == Write && need == NeedCover && !purpose && !e.edits && (p.Text != "" || p.under != nil), NoFollow: noFollow, SkipHidden: recursive && e.skipsHidden(), Reason: reason,
			FollowsLinks: kind == Read && recursive && e.follows, Found: p.under != nil, Parent: e.index, From: -1, Pos: p.Pos, End: p.End,
		})
	}
}

// foundPlaces returns the places of a word with a name that another command prints: those of
// the names, with what of the files there is named, and what stands behind the name in the
// word (NAME/.env), which is a name as any other.
func (e *effector) foundPlaces(p *Word) []Word {
	before, behind := p.Text[:p.Holes[0].At], strings.Trim(p.Text[p.Holes[0].At:], "/")
	var places []Word
	for _, u := range p.under {
		walks := []uint16{e.walkOfNames(u.walk)}
		switch {
		case behind != "":
			walks[0] = e.w.numbered(walkBehind(behind))
		case strings.Trim(before, "./") != "" && !e.recursive: // the files of one directory, or below it
			walks = []uint16{e.walkOfNames(0), e.walkOfNames(e.w.numbered(e.w.walk(u.walk).flat()))}
		}
		for _, at := range beneath(e.dirs, u) {
			for _, at.walk = range walks {
				places = append(places, at)
			}
			if behind != "" {
				places = append(places, joinPath(at, Word{Text: behind, matched: true}))
			}
		}
	}
	return places
}

// skipsHidden reports whether the program skips hidden files when it reads a
// directory recursively, and no option turns that off.
func (e *effector) skipsHidden() bool {
	switch e.prog.Name {
	case "rg", "fd", "fdfind", "ag":
	default:
		return false
	}
	for _, a := range e.scan.Args {
		switch {
		case a.Kind == ArgUnsure || a.Kind == ArgUnlisted:
			return false
		case a.Kind != ArgOption:
			continue
		}
		if a.Option.Effect == program.EffGlob && e.prog.Name == "rg" && !strings.HasPrefix(a.Value.Text, "!") && anyName(globWords(a.Value)) {
			return false // the pattern of everything means hidden files as well
		}
		for _, name := range a.Option.Names {
			switch name {
			case "--hidden", "-.", "-u", "--unrestricted", "-H", "--no-ignore":
				return false
			}
		}
	}
	return true
}

// anyName reports whether the names that a pattern means have nothing in common.
func anyName(files []Word) bool {
	return !slices.ContainsFunc(files, func(w Word) bool { return w.Text != "" })
}

// mount records the directory under which another appears (mount(8)), and that everything
// there changes: other files are seen at its paths, or what was there appears at others. An
// option that is not listed may have the mount point, so each operand counts.
func (e *effector) mount() {
	defer func(before bool) { e.recursive = before }(e.recursive)
	e.recursive = true
	const what = "is mounted over, or seen elsewhere"
	for _, i := range e.operands {
		if w := e.words[i]; !strings.HasPrefix(w.Text, "/dev/") { // what is mounted, and not written
			e.write(w, NeedNone, false, what)
		}
	}
	for _, a := range e.scan.Args {
		if w := e.words[a.Word]; a.Kind == ArgUnlisted {
			if at := strings.IndexByte(w.Text, '='); at >= 0 {
				e.write(cutWord(w, at+1), NeedNone, false, what)
			}
		}
	}
	if n := len(e.operands); n > 1 {
		e.links(e.words[e.operands[n-1]])
	}
}

// links records the links that ln creates, and mount points.
func (e *effector) links(at Word) {
	if (e.prog.Name == "ln" || e.prog.Special == "mount") && e.w.muted == 0 {
		e.w.links = append(e.w.links, beneath(e.dirs, at)...)
	}
}

// load reads what a program obeys or sends: a manifest, a chart, a build context, an
// asset. A rule has to name the subcommand for a source on another machine, which is
// its purpose rather than that of the program.
func (e *effector) load(w Word, what string) {
	for _, scheme := range []string{"file://", "fileb://"} {
		if strings.HasPrefix(w.Text, scheme) && !w.holeAt(0) {
			w = cutWord(w, len(scheme))
		}
	}
	switch {
	case w.Known() && (w.Text == "" || w.Text == "-"):
	case remoteSource(&w):
		e.apartLate(causeRemoteSource, what)
	default:
		e.read(w, NeedOutside, what)
	}
}

// loadPairs is load for each PATH of [NAME=]PATH,…
func (e *effector) loadPairs(w Word, what string) {
	for _, piece := range pieces(w, ',') {
		if at := strings.IndexByte(piece.Text, '='); at >= 0 {
			piece = cutWord(piece, at+1)
		}
		e.load(piece, what)
	}
}

// remoteSource reports whether a word names a source on another machine: a URL,
// user@host:path, or a repository in the notation of kustomize and docker
// (github.com/o/r, gh:o/r, host/x.git//dir, host/x.git?ref=v1). Case does not matter.
func remoteSource(w *Word) bool {
	text := strings.ToLower(w.Text)
	if head, _, ok := strings.Cut(text, ":"); ok && strings.Contains(head, "@") && !strings.Contains(head, "/") {
		return true
	}
	if len(w.Holes) > 0 && strings.Contains(text, ".git") { // the ? may have become a hole
		return true
	}
	return strings.Contains(text, "://") || webScheme(text) >= 0 ||
		strings.HasPrefix(text, "github.com/") || strings.HasPrefix(text, "gh:") ||
		strings.Contains(text, ".git//") || strings.Contains(text, ".git?") || strings.Contains(text, ".git#") || strings.Contains(text, "/_git/")
}

// webScheme returns where the scheme of a URL without "//" ends, -1 if there is none:
// parsers of URLs take https:host for https://host.
func webScheme(text string) int {
	lower := strings.ToLower(text)
	for _, scheme := range []string{"http:", "https:"} {
		if at := strings.Index(lower, scheme); at >= 0 && at+len(scheme) < len(text) {
			return at + len(scheme) - 1
		}
	}
	return -1
}

func (e *effector) fetch(url Word, reason string) {
	e.w.add(Action{Kind: Fetch, Need: NeedNone, Path: url, Reason: reason, Parent: e.index, From: -1, Pos: url.Pos, End: url.End})
}
