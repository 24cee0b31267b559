package shell

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/program"
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
	for i := range scan.Args {
		if untoldWord(&scan, i) {
			return true
		}
	}
	return false
}

// untoldWord reports whether an entry does not say what a word does. The values of
// options count where the entry stands for several programs, or for one that runs
// what it is told.
func untoldWord(scan *Scan, i int) bool {
	p, arg := scan.Prog, &scan.Args[i]
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
			return slices.ContainsFunc(scan.Args[:i], func(a Arg) bool { return a.Kind == ArgDashes })
		}
		return p.Operands == program.Script && p.Special != "awk" && !coded(scan)
	}
	return false
}
