package shell

import (
	"math"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// coded reports whether an option of an interpreter tells what it runs, so that no
// operand does.
func coded(scan *Scan) bool {
	for i := range scan.Args {
		a := &scan.Args[i]
		if a.Kind != ArgOption {
			continue
		}
		switch a.Option.Effect {
		case program.EffPattern, program.EffRun, program.EffCode, program.EffModule:
			return true
		}
		if a.Option.Pattern || scan.Prog.Special == "shell" && a.Option.Names[0] == "-c" {
			return true
		}
	}
	return false
}

// untold reports whether an entry does not say what some word does.
func untold(scan Scan) bool {
	if scan.Prog.Safe {
		return false
	}
	u := untelling(&scan)
	return slices.ContainsFunc(scan.Args, u.word)
}

// untolds tells which words of a command its entry does not explain.
type untolds struct {
	prog   *program.Program
	dashes int  // the index of the word "--", beyond all words if there is none
	coded  bool // see coded
}

func untelling(scan *Scan) untolds {
	u := untolds{prog: scan.Prog, dashes: math.MaxInt, coded: scan.Prog.Operands == program.Script && coded(scan)}
	if at := slices.IndexFunc(scan.Args, func(a Arg) bool { return a.Kind == ArgDashes }); at >= 0 {
		u.dashes = scan.Args[at].Word
	}
	return u
}

// word reports whether an entry does not say what a word does. The values of options
// count where the entry stands for several programs, or for one that runs what it is
// told.
func (u *untolds) word(arg Arg) bool {
	p := u.prog
	switch arg.Kind {
	case ArgUnlisted:
		return p.Special != "find" // it has a language of its own
	case ArgOption:
		return arg.ValueAt >= 0 && (p.Operands == program.Unread || p.Wraps()) && !plainName(arg.Value.Text)
	case ArgOperand, ArgUnsure:
		switch {
		case p.Operands == program.Unread || p.Special == "make":
			return true
		case p.Special == "npm" || p.Special == "runner": // what a script of the project is given
			return arg.Word > u.dashes
		}
		return p.Operands == program.Script && p.Special != "awk" && !u.coded
	}
	return false
}
