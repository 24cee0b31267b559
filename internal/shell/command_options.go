package shell

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// readOptions records what the options say about the whole command, before it is
// added.
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
	case program.EffClears:
		e.clears = e.clears || a.Option.Value == program.NoValue
	case program.EffPattern:
		e.pattern = true
	case program.EffRecursive:
		e.recursive = true
	case program.EffFollow:
		e.follows = true
	case program.EffRecursiveFollow:
		e.recursive, e.follows = true, true
	case program.EffTarget:
		v := a.Value
		e.target = &v
	case program.EffDir:
		e.dirs, e.moved = beneath(e.dirs, a.Value), true
	case program.EffListens:
		if !thisHost(a.Value) {
			e.frame.Exact = true
			e.unproven(causeVeryWords, "option "+a.Option.Names[0], e.prog.Name)
		}
	case program.EffUnproven, program.EffSystem:
		e.frame.Exact = true
		e.unproven(causeVeryWords, "option "+a.Option.Names[0], e.prog.Name)
	case program.EffSend:
		e.frame.Exact = true
		e.unproven(causeSends, a.Option.Names[0], e.prog.Name)
	}
}

// thisHost reports whether [HOST:]PORT is certainly a place that no other machine reaches.
func thisHost(at Word) bool {
	if !at.Known() {
		return false
	}
	host := strings.TrimRight(at.Text, "0123456789")
	switch {
	case host == "":
		return true
	case strings.HasSuffix(host, ":"):
		host = strings.Trim(strings.TrimSuffix(host, ":"), "[]")
	default:
		host = strings.Trim(at.Text, "[]")
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// optionEffects derives the effects of the options. If one of them changes the
// directory, the paths of the others may be relative to either directory.
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
		if !a.Value.Known() || NamesFile(a.Value.Text) {
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
			e.write(e.outputName(a), NeedCover, false, what)
		}
	case program.EffWrite:
		e.write(a.Value, NeedCover, false, what)
	case program.EffClears:
		if a.Option.Value != program.NoValue && (a.Value.Text != "" || !a.Value.Known()) {
			e.clear(a.Value, what)
		}
	case program.EffRead, program.EffSend:
		e.read(a.Value, NeedOutside, what)
	case program.EffLoad:
		e.load(a.Value, what)
	case program.EffPairs:
		e.loadPairs(a.Value, what)
	case program.EffInput:
		e.read(a.Value, NeedNone, what)
		if _, remote := urlIn(a.Value); remote {
			e.unprovenLate(causeRemoteSource, what)
		}
	case program.EffURL:
		e.fetch(a.Value, what)
	case program.EffBelow:
		if a.Value.Text != "" || !a.Value.Known() {
			e.below(a.Value, NeedCover, what)
		}
	case program.EffWriteHere:
		e.write(Word{Holes: []Hole{{Kind: Glob}}}, NeedCover, false, what)
	case program.EffReadListed:
		if a.ValueAt >= 0 {
			e.read(a.Value, NeedOutside, what)
		}
		e.read(unknown(), NeedNone, what+" reads the files that a list names")
	case program.EffWriteListed:
		e.read(a.Value, NeedNone, what)
		if !e.readOnly {
			e.write(unknown(), NeedCover, false, what+" names files that are written")
		}
	}
}

// runModule derives the effects of the words behind an option as those of a program
// that the interpreter becomes. They need no rule of their own.
func (e *effector) runModule(a Arg) {
	if a.ValueAt < 0 || !a.Value.Known() || e.w.depth >= maxNesting {
		e.odd(causeModuleUnknown, e.prog.Name)
		return
	}
	module := a.Value // a package is run as its module __main__ (runpy)
	module.Text = strings.TrimSuffix(module.Text, ".__main__")
	e.part(append([]Word{module}, e.words[a.ValueAt+1:]...), a.ValueAt)
}

// execWords runs the words behind an option, up to ";", with an unknown name in place
// of {} or at the end.
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
