package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// operandEffects derives the effects of the operands.
func (e *effector) operandEffects() {
	if e.done {
		return
	}
	p := e.sub()
	rest := e.operandWords(p.Skip)
	what := ""
	if len(rest) > 0 || !e.idle(p) {
		what = "operand of " + e.prog.Name
	}
	switch p.Operands {
	case program.Reads, program.ReadsTree, program.PatternReads, program.PatternTree:
		e.reads(p, rest, what)
	case program.Unread, program.Text:
		e.changes(rest, what)
	case program.Writes:
		e.noFollow = e.prog.Name == "rm" || e.prog.Name == "rmdir" || e.prog.Name == "unlink"
		if e.prog.Name == "mkdir" && e.has("--parents") {
			rest = withWay(rest)
		}
		e.writes(rest, NeedOutside, true, what)
	case program.Places:
		e.places(rest, what)
	case program.Loads:
		for _, r := range rest {
			e.load(r, what)
		}
	case program.Outputs:
		e.outputs(rest, what)
	case program.ModeWrites:
		e.writes(behindMode(rest, e.pattern), NeedOutside, true, what)
	case program.Fills:
		e.writes(rest, NeedCover, false, what)
	case program.ModeOutputs:
		e.writes(behindMode(rest, e.pattern), NeedCover, false, what)
	case program.Copy:
		e.copies(rest, what)
	case program.Transfer:
		e.transfers(rest, what)
	case program.Move:
		e.moves(rest, what)
	case program.InOut:
		e.inOut(rest, what)
	case program.URLs:
		for _, u := range rest {
			e.fetch(u, what)
		}
	case program.RunsArgs:
		e.runsArgs(p.Skip)
	case program.RunsText:
		e.runsText(rest, what)
	case program.RunsTexts:
		for i := range rest {
			e.runsText(rest[i:i+1], what)
		}
	case program.ShellArgs:
		e.shellArgs(rest)
	case program.Code:
		if len(rest) > 0 {
			e.odd(causeCode, "an argument of "+e.prog.Name)
		}
	case program.Script:
		e.script(rest, what)
	}
	if p.Stdin && !e.pattern && (len(rest) == 0 && p.Operands != program.Script || !p.Runs()) {
		e.stdin()
	}
	if p.Here && !e.readOnly && !e.named {
		for _, name := range e.hereNames(rest) {
			e.write(name, NeedCover, false, "output of "+e.prog.Name)
		}
	}
}

// idle reports whether the program has no effect without operands, so that no reason
// has to be formatted.
func (e *effector) idle(p *program.Program) bool {
	switch p.Operands {
	case program.Text, program.Unread, program.Reads, program.PatternReads:
		return !e.recursive && !e.inPlace
	}
	return false
}

func (e *effector) reads(p *program.Program, rest []Word, what string) {
	if p.Operands == program.PatternReads || p.Operands == program.PatternTree {
		rest = behind(rest, e.pattern)
	}
	if p.Operands == program.ReadsTree || p.Operands == program.PatternTree {
		e.recursive = true
	}
	if len(rest) == 0 && e.recursive {
		rest = []Word{{Text: "."}}
	}
	if len(rest) == 0 && e.inPlace && p.Operands == program.Reads {
		e.changes(rest, what)
	}
	need := NeedNone
	if e.prog.Workdir || e.sub().Workdir {
		need = NeedOutside // its configuration may lie beside the operand
	}
	for _, r := range rest {
		e.read(r, need, what)
		if e.inPlace {
			e.inPlaceWrite(r, NeedCover, what)
		}
	}
	e.globs(rest)
}

// globs reads the files that patterns of options name below directories. To a program
// that skips files, such a pattern means those as well.
func (e *effector) globs(dirs []Word) {
	if e.has("--files") { // rg lists names
		return
	}
	defer func(before bool) { e.recursive = before }(e.recursive)
	e.recursive = false
	from := len(e.w.facts.Actions)
	for _, a := range e.scan.Args {
		if a.Kind != ArgOption || a.Option.Effect != program.EffGlob {
			continue
		}
		files := e.filesOf(&a)
		for _, glob := range files {
			for _, dir := range dirs {
				e.read(joinPath(dir, glob), NeedNone, "option "+a.Option.Names[0]+" of "+e.prog.Name)
			}
		}
	}
	for i := from; i < len(e.w.facts.Actions); i++ {
		e.w.facts.Actions[i].ByPattern = true
	}
}

// filesOf returns the files that the pattern of an option names.
func (e *effector) filesOf(a *Arg) []Word {
	if slices.Contains(a.Option.Names, "--file-search-regex") { // ag
		files := regexWords(a.Value)
		if e.skipsHidden() {
			return visible(files)
		}
		return files
	}
	files := globWords(a.Value)
	if at := strings.IndexByte(a.Value.Text, ':'); at >= 0 { // --type-add NAME:PATTERN
		files = append(files, globWords(cutWord(a.Value, at+1))...)
	}
	if slices.Contains(a.Option.Names, "--iglob") || e.has("--glob-case-insensitive") {
		files = inLowerCase(files)
	}
	return files
}

// changes writes the operands of a program whose operands the catalogue does not
// describe, if an option changes files (biome check --write).
func (e *effector) changes(rest []Word, what string) {
	if !e.inPlace {
		return
	}
	if len(rest) == 0 {
		rest = []Word{{Text: "."}}
	}
	for _, r := range rest {
		e.inPlaceWrite(r, NeedCover, what)
	}
}

func (e *effector) writes(rest []Word, need Need, purpose bool, what string) {
	for _, r := range rest {
		e.write(r, need, purpose, what)
	}
}

// withWay puts the directories before names that mkdir -p and install -D create
// and leave again.
func withWay(names []Word) []Word { return append(onTheWay(names), names...) }

// onTheWay returns the directories that names enter and leave again: a of a/../b.
func onTheWay(names []Word) []Word {
	var way []Word
	for _, name := range names {
		for at := 0; name.Known(); {
			next := strings.Index(name.Text[at:], "/..")
			if next < 0 {
				break
			}
			at += next
			way = append(way, Word{Text: name.Text[:at], Pos: name.Pos, End: name.End})
			at += len("/..")
		}
	}
	return way
}

// places creates or changes directories. In .git they may become hooks or settings.
func (e *effector) places(rest []Word, what string) {
	for _, r := range rest {
		need := NeedOutside
		if inGit(r.Text) {
			need = NeedCover
		}
		e.write(r, need, false, what)
	}
}

func inGit(name string) bool {
	return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.EqualFold(part, ".git") })
}

func (e *effector) copies(rest []Word, what string) {
	if e.prog.Name == "install" && e.has("--directory") {
		e.writes(withWay(rest), NeedOutside, true, what)
		return
	}
	if e.prog.Name == "install" && e.has("-D") && len(rest) > 0 {
		e.writes(onTheWay(rest[len(rest)-1:]), NeedOutside, true, what)
		if e.target != nil {
			e.writes(onTheWay([]Word{*e.target}), NeedOutside, true, what)
		}
	}
	for _, src := range e.sources(rest) {
		e.read(src, NeedOutside, what)
	}
	e.destination(rest, what)
}

func (e *effector) moves(rest []Word, what string) {
	e.recursive, e.noFollow = true, true // the contents of a directory move with it
	for _, src := range e.sources(rest) {
		e.write(src, NeedOutside, true, what)
		e.read(src, NeedOutside, what)
	}
	e.recursive, e.noFollow = false, false
	e.destination(rest, what)
}

// sources returns the operands of cp and the like without the destination.
func (e *effector) sources(rest []Word) []Word {
	if e.target != nil || len(rest) < 2 {
		return rest
	}
	return rest[:len(rest)-1]
}

// destination writes the last operand: the file itself, or a file with the name of
// the source in it.
func (e *effector) destination(rest []Word, what string) {
	dest := Word{Text: "."}
	switch {
	case e.target != nil:
		dest = *e.target
	case len(rest) > 1:
		dest = rest[len(rest)-1]
	case len(rest) == 0:
		return
	case rest[0].Split: // the last of the words that it splits into
		e.write(rest[0], NeedOutside, true, what)
		e.write(joinPath(rest[0], Word{Holes: []Hole{{Kind: Glob}}}), NeedOutside, true, what)
	}
	e.write(dest, NeedOutside, true, what)
	e.links(dest)
	for _, src := range e.sources(rest) {
		name := last(src)
		if e.parents {
			name = src // cp --parents
		}
		at := joinPath(dest, name)
		e.write(at, NeedOutside, true, what)
		e.links(at)
	}
}

func (e *effector) inOut(rest []Word, what string) {
	for i, r := range rest {
		if i == 0 {
			e.read(r, NeedNone, what)
		}
		if i > 0 || r.Split {
			e.write(r, NeedCover, false, what)
		}
	}
}

// runsArgs runs the operands after the first skip ones as a command.
func (e *effector) runsArgs(skip int) {
	for e.sub().Assigns && len(e.operands) > skip && assigns(&e.words[e.operands[skip]]) {
		e.envAssign(&e.words[e.operands[skip]])
		skip++
	}
	if len(e.operands) > skip {
		e.runWords(e.operands[skip])
	} else if e.sub().Stdin && !e.pattern {
		e.stdin()
	}
}

// shellArgs runs a shell with the operands as its arguments. With an option for the
// user (runuser -u) the operands are a command.
func (e *effector) shellArgs(rest []Word) {
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption && a.Option.Names[0] == "-u" && len(e.operands) > 0 {
			e.runWords(e.operands[0])
			return
		}
	}
	if len(rest) > 0 {
		e.runList(append([]Word{{Text: "sh"}}, rest...), -1)
	}
}

// outputs writes the operands, or reads them if an option says so.
func (e *effector) outputs(rest []Word, what string) {
	tree := e.prog.Name == "zip" && (e.has("--recurse-paths") || e.has("--recurse-patterns"))
	all := e.recursive
	defer func(before bool) { e.edits = before }(e.edits)
	e.edits = true
	for _, r := range rest {
		e.recursive = all || tree
		e.read(r, NeedNone, what)
		e.recursive = all
		if e.readOnly {
			continue
		}
		e.write(r, NeedCover, false, what)
		if e.sub().Beside {
			for _, p := range e.besides(r) {
				e.write(p, NeedCover, false, "output beside an "+what)
			}
		}
	}
}

// besides returns the names of the files that a program may write beside an operand: with the
// first ending more, with one of its own less, or any if an option or a search names them.
func (e *effector) besides(w Word) []Word {
	ends := strings.Fields(e.sub().Endings)
	anyName := slices.ContainsFunc(e.scan.Args, func(a Arg) bool {
		return a.Kind == ArgUnsure && !e.words[a.Word].onlyGlobs() || a.Kind == ArgUnlisted || a.Kind == ArgOption && a.Option.Effect == program.EffRenames
	})
	if len(ends) == 0 || anyName || w.under != nil || w.Split && w.hasHole(AnyText) {
		return []Word{beside(w)}
	}
	if name := last(w); name.Known() && (name.Text == "." || name.Text == "..") || slashed(&w) || w.opens() {
		return nil // what is written is there already: all in a directory, or all of unknown ends
	}
	longer := w
	longer.Text += ends[0]
	all := []Word{longer}
	for _, end := range ends {
		from, to, _ := strings.Cut(end, "=")
		if other, ok := w.renamed(from, to); ok {
			all = append(all, other)
		}
	}
	return all
}

// transfers copies from and to other machines: host:path is fetched, or receives what
// is read here.
func (e *effector) transfers(rest []Word, what string) {
	for i, r := range rest {
		switch {
		case remote(&r):
			e.fetch(hostURL(r), what)
		case i == len(rest)-1 && r.Split:
			e.read(r, NeedOutside, what)
			e.write(r, NeedCover, false, what)
		case i > 0 && i == len(rest)-1:
			e.write(r, NeedCover, false, what)
			e.received(r, rest[:i], what)
			for _, src := range rest[:i] {
				e.write(joinPath(r, last(src)), NeedCover, false, what)
			}
		default:
			e.read(r, NeedOutside, what)
		}
	}
}

// received records the files that a transfer creates in a target directory.
func (e *effector) received(target Word, sources []Word, what string) {
	for _, src := range sources {
		if at := strings.LastIndexByte(src.Text, ':'); at >= 0 && remote(&src) {
			src = cutWord(src, at+1)
		}
		if name := last(src); name.Text != "" || len(name.Holes) > 0 {
			e.write(joinPath(target, name), NeedNone, false, what)
		}
	}
}

// hostURL returns the URL of the host in user@host:path. A URL stays as it is.
func hostURL(w Word) Word {
	host, rest, _ := strings.Cut(w.Text, ":")
	if strings.HasPrefix(rest, "//") {
		return w
	}
	out := Word{Text: "ssh://" + host + "/", Pos: w.Pos, End: w.End}
	for _, h := range w.Holes {
		if h.At <= len(host) {
			out.Holes = append(out.Holes, Hole{At: h.At + len("ssh://"), Kind: h.Kind})
		}
	}
	return out
}

// remote reports whether a word is host:path or a URL.
func remote(w *Word) bool {
	host, _, found := strings.Cut(w.Text, ":")
	return found && !strings.Contains(host, "/") && (len(w.Holes) == 0 || w.Holes[0].At > len(host))
}
