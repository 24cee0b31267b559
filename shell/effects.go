package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-wrapper/agent-wrapper/program"
)

// effects adds a command and what the catalogue knows that it does.
func (w *walker) effects(a Action, s *scope) outcome {
	e := w.effector()
	e.w, e.s, e.words, e.prog, e.frame, e.dirs = w, s, a.Words, a.Program, a, s.dirs
	out := e.run()
	w.retire(e)
	return out
}

// run adds the command and what it does, and returns the state behind it.
func (e *effector) run() outcome {
	w, a, s := e.w, &e.frame, e.s
	if a.Program == nil || !standardPath(a.Words[0].Text) {
		e.unfamiliar()
	}
	if a.Program == nil {
		e.index = w.add(e.frame)
		e.mayRead(e.words[1:], "argument of "+show(&e.words[0]))
		e.urls()
		return same(s)
	}
	if a.Program.Plain && standardPath(a.Words[0].Text) {
		e.frame.Need = NeedNone
	}
	e.scan = ScanInto(a.Program, a.Words, e.scan.Args)
	e.readOptions()
	e.workdir()
	e.namedSub()
	e.index = w.add(e.frame)
	e.optionEffects()
	e.plugin()
	e.homeFile()
	out := e.readByProgram()
	e.operandEffects()
	e.urls()
	return out
}

// standardPath reports whether a program's name is the catalogue's program
// for certain: a bare name, or one in a system directory.
func standardPath(name string) bool {
	cut := strings.LastIndexByte(name, '/')
	if cut < 0 {
		return true
	}
	switch path.Clean(name[:cut+1]) {
	case "/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin":
		return true
	}
	return false
}

// effector derives what one command does from its words.
type effector struct {
	w     *walker
	s     *scope
	words []Word
	prog  *program.Program
	scan  Scan
	frame Action // the command itself, before it is added
	index int    // its index in the facts
	dirs  []Word // the directories that its operands are relative to

	operands  []int // indexes of the words that are operands, without subcommands
	pattern   bool  // an option gave the pattern or script
	inPlace   bool
	readOnly  bool // an option says that nothing is written
	named     bool // an option names the output
	parents   bool // the directories of a source are made in the target
	recursive bool
	target    *Word // -t DIR
	moved     bool  // an option moved dirs
	noFollow  bool  // a link that an operand is stays as it is, or goes
	done      bool  // a special reader has dealt with the operands
	// ownAssigns: frame.Assigns may be appended to.
	ownAssigns bool
}

// sub is the entry that the operands belong to: the deepest subcommand.
func (e *effector) sub() *program.Program {
	if e.scan.Prog != nil {
		return e.scan.Prog
	}
	return e.prog
}

// unfamiliar: a program that the catalogue does not know may take any unknown
// argument for an option that runs something.
func (e *effector) unfamiliar() {
	for i := range e.words[1:] {
		if e.words[i+1].MayBeOption() {
			e.unproven(causeMayBeOption, e.words[0].Text)
			return
		}
	}
}

func (e *effector) unproven(c Cause, names ...string) {
	if !e.frame.Unproven() {
		e.frame.Why = because(c, names...)
	}
}

// readOptions notes what the options say of the command as a whole, before it
// is added.
func (e *effector) readOptions() {
	safe := e.sub().Safe
	for _, a := range e.scan.Args {
		switch a.Kind {
		case ArgOperand:
			e.operands = append(e.operands, a.Word)
		case ArgUnsure:
			e.operands = append(e.operands, a.Word)
			if !safe {
				e.unproven(causeMayBeListed, show(&e.words[a.Word]))
			}
		case ArgOption:
			e.optionFlags(a)
		}
	}
}

func (e *effector) optionFlags(a Arg) {
	e.pattern = e.pattern || a.Option.Pattern
	e.parents = e.parents || e.prog.Name == "cp" && a.Option.Names[0] == "--parents"
	switch a.Option.Effect {
	case program.EffReadOnly:
		e.readOnly = true
	case program.EffOutput, program.EffBelow:
		e.named = true
	case program.EffInPlace:
		e.inPlace = true
	case program.EffPattern:
		e.pattern = true
	case program.EffRecursive:
		e.recursive = true
	case program.EffTarget:
		v := a.Value
		e.target = &v
	case program.EffDir:
		e.dirs, e.moved = beneath(e.dirs, a.Value), true
	case program.EffUnproven, program.EffSystem:
		e.frame.Exact = true
		e.unproven(causeVeryWords, a.Option.Names[0], e.prog.Name)
	case program.EffSend:
		e.frame.Exact = true
		e.unproven(causeSends, a.Option.Names[0], e.prog.Name)
	}
}

// workdir: a program that takes configuration from its directory is proven
// only in the workspace.
func (e *effector) workdir() {
	if !e.prog.Workdir && !e.sub().Workdir {
		return
	}
	e.frame.Config = e.dirs
	for i := range e.dirs {
		if !e.w.inside(&e.dirs[i]) {
			e.frame.Config = nil
			e.frame.Elsewhere = !e.w.allInside(e.s.dirs) // an option's directory stands in the words
			e.unproven(causeConfigElsewhere, e.prog.Name)
			return
		}
	}
}

// inside reports whether a directory is known and lies in the workspace by its
// spelling.
func (w *walker) inside(dir *Word) bool {
	if w.opt.Workspace == "" || !dir.Known() {
		return false
	}
	clean, root := path.Clean(dir.Text), path.Clean(w.opt.Workspace)
	return clean == root || strings.HasPrefix(clean, strings.TrimSuffix(root, "/")+"/")
}

func (w *walker) allInside(dirs []Word) bool {
	for i := range dirs {
		if !w.inside(&dirs[i]) {
			return false
		}
	}
	return true
}

// namedSub asks for a rule that names the subcommand.
func (e *effector) namedSub() {
	if p := e.sub(); p.Apart || p.Named && len(e.operands) > 0 {
		e.frame.Reach = e.subcommandAt()
	}
}

// optionEffects derives what the options make the program do. Where one of
// them moves to another directory, the paths of the others may be meant from
// either.
func (e *effector) optionEffects() {
	defer func(dirs []Word) { e.dirs = dirs }(e.dirs)
	if e.moved {
		e.dirs = append(slices.Clone(e.s.dirs), e.dirs...)
	}
	for _, a := range e.scan.Args {
		if a.Kind == ArgOption {
			e.optionEffect(a)
		}
	}
}

func (e *effector) optionEffect(a Arg) {
	if a.Option.Effect == program.EffNone {
		return
	}
	what := "option " + a.Option.Names[0] + " of " + e.prog.Name
	switch a.Option.Effect {
	case program.EffRun:
		e.runText(a.Value, what, a.ValueAt < 0)
	case program.EffRunMore:
		e.runMore(a.Value, what, a.ValueAt < 0)
	case program.EffProgram:
		e.runFile(a.Value, what)
	case program.EffPlugin:
		if plugin := a.Value.Text; !a.Value.Known() || plugin != "" && strings.IndexByte("./~", plugin[0]) >= 0 {
			e.runFile(a.Value, what)
		}
	case program.EffModule:
		e.runModule(a)
	case program.EffCode:
		e.w.opaque(e.index, MayRun, causeCode, what)
	case program.EffOpaque:
		e.w.opaque(e.index, MayRun, causeRunsAnything, what)
	case program.EffExec:
		e.execWords(a, what)
	case program.EffOutput:
		if !a.Value.Known() || a.Value.Text != "-" {
			e.write(a.Value, NeedCover, false, what)
		}
	case program.EffWrite:
		e.write(a.Value, NeedCover, false, what)
	case program.EffRead, program.EffSend:
		e.read(a.Value, NeedOutside, what)
	case program.EffLoad:
		e.load(a.Value, what)
	case program.EffPairs:
		e.loadPairs(a.Value, what)
	case program.EffInput:
		e.read(a.Value, NeedNone, what)
	case program.EffURL:
		e.fetch(a.Value, what)
	case program.EffBelow:
		if a.Value.Text != "" || !a.Value.Known() {
			e.below(a.Value, NeedCover, what)
		}
	case program.EffWriteHere:
		e.write(Word{Holes: []Hole{{Kind: Glob}}}, NeedCover, false, what)
	case program.EffWriteListed:
		e.read(a.Value, NeedNone, what)
		if !e.readOnly {
			e.write(unknown(), NeedCover, false, what+" names files that are written")
		}
	}
}

// runText runs shell text: the value of an option, or an argument.
func (e *effector) runText(text Word, what string, missing bool) {
	if missing || !text.Known() {
		e.w.opaque(e.index, MayRun, causeCommandUnknown, what)
		return
	}
	e.w.recurse.nested(text.Text, Sh, e.child(), e.index, what)
}

// runMore runs a command that gets more words, the first of which is no option:
// a host, a file. One whose words a shell would change is not read.
func (e *effector) runMore(text Word, what string, missing bool) {
	if missing || !text.Known() || strings.ContainsAny(text.Text, "$`\"'\\|&;<>()*?[]#~\n") || strings.TrimSpace(text.Text) == "" {
		e.runText(text, what, missing)
		e.odd(causeMoreWords, what)
		return
	}
	var words []Word
	for _, name := range strings.Fields(text.Text) {
		words = append(words, Word{Text: name, Pos: text.Pos, End: text.End})
	}
	e.runList(append(words, Word{Text: "./", Holes: []Hole{{At: 2, Kind: AnyText}}}), -1)
}

// child is the state in which a program starts another one.
func (e *effector) child() *scope {
	return &scope{dirs: e.dirs}
}

// runFile runs a program, or obeys a file, that an option names.
func (e *effector) runFile(file Word, what string) {
	if file.hasHole(Pipe) || !file.Known() || standardInput(file.Text) {
		e.w.opaque(e.index, MayRun, causeFileUnknown, what)
		return
	}
	e.w.add(Action{
		Kind: Command, Need: NeedCover, Words: []Word{file}, Dirs: e.dirs, Reason: what,
		Parent: e.index, From: -1, Pos: file.Pos, End: file.End,
	})
	e.read(file, NeedNone, what)
	e.w.runs = append(e.w.runs, e.runsFile(file)...)
}

func standardInput(name string) bool {
	return name == "-" || name == "" || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/")
}

func (e *effector) write(p Word, need Need, purpose bool, reason string) {
	e.path(Write, p, need, purpose, reason)
}

// below writes files of unknown names in a directory, and in directories there.
func (e *effector) below(dir Word, need Need, reason string) {
	at := joinPath(dir, Word{Holes: []Hole{{Kind: Glob}}})
	e.write(at, need, false, reason)
	e.write(joinPath(at, Word{Holes: []Hole{{Kind: Glob}}}), need, false, reason)
}

func (e *effector) read(p Word, need Need, reason string) {
	if p.Known() && p.Text == "-" {
		return
	}
	e.path(Read, p, need, false, reason)
}

func (e *effector) path(kind Kind, p Word, need Need, purpose bool, reason string) {
	if p.hasHole(Pipe) || p.Known() && free[p.Text] || devFD(&p) {
		return
	}
	places, recursive, noFollow := beneath(e.dirs, p), e.recursive, e.noFollow && !slashed(&p)
	if p.under != nil && (!p.printed || kind == Read && need == NeedNone) {
		places, recursive = nil, true
		for _, u := range p.under {
			places = append(places, beneath(e.dirs, u)...)
			noFollow = noFollow || u.files
		}
	}
	for _, at := range places {
		e.w.add(Action{
			Kind: kind, Need: need, Path: at, Purpose: purpose, Recursive: recursive,
			Sweep: recursive && kind == Write && !e.inPlace, NoFollow: noFollow, SkipHidden: recursive && e.skipsHidden(), Reason: reason,
			Found: p.under != nil, Parent: e.index, From: -1, Pos: p.Pos, End: p.End,
		})
	}
}

// slashed reports whether a word ends in a slash.
func slashed(w *Word) bool {
	n := len(w.Text)
	return strings.HasSuffix(w.Text, "/") && (len(w.Holes) == 0 || w.Holes[len(w.Holes)-1].At < n)
}

// has reports whether the command has an option of this name.
func (e *effector) has(name string) bool {
	return slices.ContainsFunc(e.scan.Args, func(a Arg) bool {
		return a.Kind == ArgOption && slices.Contains(a.Option.Names, name)
	})
}

// skipsHidden reports whether the program is one that leaves hidden files out
// when it goes through a directory, and no option tells it not to.
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
		for _, name := range a.Option.Names {
			switch name {
			case "--hidden", "-.", "-u", "--unrestricted", "-H", "--no-ignore":
				return false
			}
		}
	}
	return true
}

// mayRead notes the words that a program which is not known may take for
// files, and the values of its options. What is not known of them is left out:
// it would be any path.
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

func (e *effector) fetch(url Word, reason string) {
	e.w.add(Action{Kind: Fetch, Need: NeedNone, Path: url, Reason: reason, Parent: e.index, From: -1, Pos: url.Pos, End: url.End})
}

// operandWords are the operands behind the first skip ones. They may be the
// command's own words: to be read, or appended to, which copies them.
func (e *effector) operandWords(skip int) []Word {
	if len(e.operands) <= skip {
		return nil
	}
	at := e.operands[skip:]
	if end := at[0] + len(at); consecutive(at) {
		return e.words[at[0]:end:end]
	}
	out := make([]Word, 0, len(at))
	for _, i := range at {
		out = append(out, e.words[i])
	}
	return out
}

// consecutive reports whether each number is the one behind the number before.
func consecutive(numbers []int) bool {
	for i := range numbers {
		if numbers[i] != numbers[0]+i {
			return false
		}
	}
	return true
}

// operandEffects derives what the operands make the program do.
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
			rest = append(onTheWay(rest), rest...)
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

// idle reports whether the program does nothing in place of operands when it has
// none: then there is no reason to put into words.
func (e *effector) idle(p *program.Program) bool {
	switch p.Operands {
	case program.Text, program.Unread, program.Reads, program.PatternReads:
		return !e.recursive && !e.inPlace
	}
	return false
}

// behind leaves the first word out, unless an option took its place.
func behind(words []Word, given bool) []Word {
	if given || len(words) == 0 {
		return words
	}
	return words[1:]
}

// behindMode is behind for what is written: a first word that may fall apart
// holds some of it.
func behindMode(words []Word, given bool) []Word {
	if len(words) > 0 && words[0].Split {
		return words
	}
	return behind(words, given)
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
	for _, r := range rest {
		e.read(r, NeedNone, what)
		if e.inPlace {
			e.inPlaceWrite(r, NeedCover, what)
		}
	}
}

// changes are the writes of a program whose operands the catalogue does not
// tell, where an option says that it changes files (biome check --write).
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

// inPlaceWrite changes an operand, or all files below one that is a directory by
// its spelling (gofmt -w .).
func (e *effector) inPlaceWrite(r Word, need Need, what string) {
	defer func(before bool) { e.recursive = before }(e.recursive)
	e.recursive = e.recursive || r.Text == "." || r.Text == ".." || strings.HasSuffix(r.Text, "/") || strings.HasSuffix(r.Text, "/.") || strings.HasSuffix(r.Text, "/..")
	e.write(r, need, false, what)
}

func (e *effector) writes(rest []Word, need Need, purpose bool, what string) {
	for _, r := range rest {
		e.write(r, need, purpose, what)
	}
}

// onTheWay are the folders that mkdir -p makes and leaves again: a of a/../b.
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

// places makes or changes folders. In .git they may become hooks or settings.
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
		e.writes(rest, NeedOutside, true, what)
		return
	}
	for _, src := range e.sources(rest) {
		e.read(src, NeedOutside, what)
	}
	e.destination(rest, what)
}

func (e *effector) moves(rest []Word, what string) {
	e.recursive, e.noFollow = true, true // what lies in a directory moves with it
	for _, src := range e.sources(rest) {
		e.write(src, NeedOutside, true, what)
		e.read(src, NeedOutside, what)
	}
	e.recursive, e.noFollow = false, false
	e.destination(rest, what)
}

// sources are the operands of cp and its like without the destination.
func (e *effector) sources(rest []Word) []Word {
	if e.target != nil || len(rest) < 2 {
		return rest
	}
	return rest[:len(rest)-1]
}

// destination writes the last operand: the file itself, or a file of the
// source's name in it.
func (e *effector) destination(rest []Word, what string) {
	dest := Word{Text: "."}
	switch {
	case e.target != nil:
		dest = *e.target
	case len(rest) > 1:
		dest = rest[len(rest)-1]
	case len(rest) == 0:
		return
	case rest[0].Split: // the last of what it falls apart into
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

// last is the last path segment of a word.
func last(w Word) Word {
	text := strings.TrimRight(w.Text, "/")
	cut := strings.LastIndexByte(text, '/') + 1
	out := Word{Text: text[cut:], Pos: w.Pos, End: w.End}
	for _, h := range w.Holes {
		if h.At >= cut && h.At <= len(text) {
			out.Holes = append(out.Holes, Hole{At: h.At - cut, Kind: h.Kind})
		}
	}
	return out
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

// runsArgs runs the operands behind the first skip ones as a command.
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

// runModule reads the words behind an option as those of a program that the
// interpreter itself is: they need no cover of their own.
func (e *effector) runModule(a Arg) {
	if a.ValueAt < 0 || !a.Value.Known() || e.w.depth >= maxNesting {
		e.odd(causeModuleUnknown, e.prog.Name)
		return
	}
	e.part(append([]Word{a.Value}, e.words[a.ValueAt+1:]...), a.ValueAt)
}

// execWords runs the words behind an option, up to ";", with a name that is
// not known in the place of {} or at the end.
func (e *effector) execWords(a Arg, what string) {
	if a.ValueAt < 0 {
		return
	}
	end := a.ValueAt
	for end < len(e.words) && e.words[end].Text != ";" {
		end++
	}
	words := append([]Word{a.Value}, e.words[a.ValueAt+1:end]...)
	replaced := false
	for i := range words {
		if strings.Contains(words[i].Text, "{") {
			words[i] = Word{Holes: []Hole{{Kind: AnyText}}, Pos: words[i].Pos, End: words[i].End}
			replaced = true
		}
	}
	if !replaced {
		words = append(words, Word{Holes: []Hole{{Kind: AnyText}}})
	}
	from := a.ValueAt
	if a.ValueAt == a.Word {
		from = -1
	}
	e.runList(words, from)
}

// shellArgs runs a shell with the operands as its arguments; with an option
// that gives the user (runuser -u) they are a command.
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

// outputs writes the operands, or reads them when an option says so.
func (e *effector) outputs(rest []Word, what string) {
	tree := e.prog.Name == "zip" && (e.has("--recurse-paths") || e.has("--recurse-patterns"))
	all := e.recursive
	for _, r := range rest {
		e.recursive = all || tree
		e.read(r, NeedNone, what)
		e.recursive = all
		if e.readOnly {
			continue
		}
		e.write(r, NeedCover, false, what)
		if e.sub().Beside {
			e.write(beside(r), NeedCover, false, "output beside an "+what)
		}
	}
}

// beside is any name in the folder that a word names.
func beside(w Word) Word {
	cut := strings.LastIndexByte(strings.TrimRight(w.Text, "/"), '/') + 1
	out := Word{Text: w.Text[:cut], Pos: w.Pos, End: w.End}
	for _, h := range w.Holes {
		if h.Kind == AnyText || h.At < cut {
			out.Holes = append(out.Holes, Hole{At: min(h.At, cut), Kind: h.Kind})
		}
	}
	out.Holes = append(out.Holes, Hole{At: cut, Kind: Glob})
	return out
}

// transfers are copies from and to other machines: host:path is fetched, or
// gets what is read here.
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

// received notes the files that a transfer makes when its target is a folder.
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

// hostURL is the URL of the host in a word of the form user@host:path; a URL
// stays as it is.
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

// remote reports whether a word is of the form host:path or a URL.
func remote(w *Word) bool {
	host, _, found := strings.Cut(w.Text, ":")
	return found && !strings.Contains(host, "/") && (len(w.Holes) == 0 || w.Holes[0].At > len(host))
}

// assigns reports whether a word is NAME=value.
func assigns(w *Word) bool {
	name, _, found := strings.Cut(w.Text, "=")
	return found && syntax.ValidName(name)
}

// runWords runs the words from index at on as a command.
func (e *effector) runWords(at int) { e.runList(e.words[at:], at) }

// runList runs a list of words; from is the index in the parent's words at
// which it stands, or -1.
func (e *effector) runList(words []Word, from int) outcome {
	if e.w.depth >= maxNesting {
		e.w.opaque(e.index, MayRun, causeDeep)
		return same(e.s)
	}
	e.w.depth++
	defer func() { e.w.depth-- }()
	s := e.child()
	s.names = e.s.names
	f := frame{assigns: e.frame.Assigns, parent: e.index, from: from, subst: e.frame.Substitution}
	return e.w.recurse.simple(words, f, s)
}

// runsText runs the operands, joined by blanks, as shell text.
func (e *effector) runsText(rest []Word, what string) {
	if len(rest) == 0 {
		return
	}
	text, ok := joinWords(rest)
	e.runText(Word{Text: text}, what, !ok)
}

func joinWords(words []Word) (string, bool) {
	var sb strings.Builder
	for i := range words {
		if !words[i].Known() {
			return "", false
		}
		if i > 0 {
			sb.WriteByte(' ')
		}
		sb.WriteString(words[i].Text)
	}
	return sb.String(), true
}

// script: the first operand is a program file. The contents of files are not
// part of a tool use, but a program that comes from a pipe is.
func (e *effector) script(rest []Word, what string) {
	if len(rest) == 0 {
		if e.sub().Stdin && !e.pattern {
			e.stdin()
		}
		return
	}
	e.mayRead(rest, what)
	if e.pattern {
		return
	}
	if file := rest[0]; file.hasHole(Pipe) || file.Known() && standardInput(file.Text) {
		e.stdin()
	} else {
		e.w.runs = append(e.w.runs, e.runsFile(file)...)
	}
}

// runsFile are the paths of a script that the command runs.
func (e *effector) runsFile(file Word) []scriptRun {
	var out []scriptRun
	for _, at := range beneath(e.dirs, file) {
		out = append(out, scriptRun{path: at, by: e.index})
	}
	return out
}

func (e *effector) stdin() {
	e.w.opaque(e.index, MayRun, CauseStandardInput, e.prog.Name)
}

// scriptRun is a file that a command runs.
type scriptRun struct {
	path Word
	by   int
}

// links notes the places where ln makes a link.
func (e *effector) links(at Word) {
	if e.prog.Name == "ln" && e.w.muted == 0 {
		e.w.links = append(e.w.links, beneath(e.dirs, at)...)
	}
}

// throughLinks makes a spot opaque where the line goes through a link that it
// makes: nobody can follow it before it is there.
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

// mayLieBelow reports whether a path may lie below another, by what is known
// of both.
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

// knownStart is the text of a path up to its first hole, cleaned.
func knownStart(p *Word) string {
	if p.Known() {
		return path.Clean(p.Text)
	}
	if len(p.Holes) == 0 {
		return p.Text
	}
	return p.Text[:p.Holes[0].At]
}

// writtenThenRun makes a spot opaque where the line runs a file that it also
// writes. The order is not looked at: loops and functions turn it round.
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
	written := w.written()
	for _, r := range runs {
		if r.path.Known() && written[path.Clean(r.path.Text)] {
			w.opaque(r.by, MayRun, causeRunsWritten)
		}
	}
}

// written are the known paths that the line writes, cleaned.
func (w *walker) written() map[string]bool {
	out := map[string]bool{}
	for i := range w.facts.Actions {
		if a := &w.facts.Actions[i]; a.Kind == Write && a.Path.Known() {
			out[path.Clean(a.Path.Text)] = true
		}
	}
	return out
}

// show is a word for a message, with its holes marked.
func show(w *Word) string { return w.Filled("…") }
