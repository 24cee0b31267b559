package risk

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Grade is a class that tells what destroys something from what does not: a push is
// moderate, and so is one that overwrites what is there. Grades are in order, first by
// class. The zero value is no grade.
type Grade uint8

// GradeOf returns the grade of a class.
func GradeOf(c Class, destroys bool) Grade {
	g := Grade(c) << 1
	if destroys {
		g++
	}
	return g
}

// Class returns the class of the grade.
func (g Grade) Class() Class { return Class(g >> 1) }

// Destroys reports whether the grade is that of what destroys something.
func (g Grade) Destroys() bool { return g&1 != 0 }

// destroyed ends the name of a grade that is destructive.
const destroyed = "+destructive"

// MarshalText returns the name of the grade: "moderate", "moderate+destructive". That of
// none is empty.
func (g Grade) MarshalText() ([]byte, error) {
	switch {
	case g == 0:
		return nil, nil
	case g.Class() < Safe || g.Class() > Forbidden:
		return nil, fmt.Errorf("%d is no grade of a risk", uint8(g))
	case g.Destroys():
		return []byte(g.Class().String() + destroyed), nil
	}
	return []byte(g.Class().String()), nil
}

// UnmarshalText parses the name of a grade.
func (g *Grade) UnmarshalText(text []byte) error {
	name, destroys := strings.CutSuffix(string(text), destroyed)
	class, known := ParseClass(name)
	switch {
	case len(text) == 0:
		*g = 0
	case !known:
		return fmt.Errorf("%q is no grade of a risk", text)
	default:
		*g = GradeOf(class, destroys)
	}
	return nil
}

// certain reports whether the command is no more than the tables say of it: each word is
// known, and each option is one that the catalogue lists. Words behind "--" are not
// looked at by all rows, so they are not certain. Nor are operands where "--" makes a
// command graver, since git checkout takes them for paths without it too.
func (u *use) certain(a *shell.Action, p *plan) bool {
	if a.Program == nil || a.Unproven() || u.mayBePaths(p) {
		return false
	}
	for i := range a.Words {
		if !a.Words[i].Known() {
			return false
		}
	}
	return !slices.ContainsFunc(u.scan.Args, func(arg shell.Arg) bool {
		return arg.Kind != shell.ArgOption && arg.Kind != shell.ArgOperand && arg.Kind != shell.ArgSubcommand
	})
}

// mayBePaths reports whether the operands may be paths that a command destroys: those of
// a subcommand that "--" makes destructive.
func (u *use) mayBePaths(p *plan) bool {
	return slices.ContainsFunc(p.paths, func(l lead) bool { return len(u.operands) > len(l.path) && u.begins(l.path) })
}

// Graver returns the options that give a command that begins with the words of a another
// grade than from or one below it, in the order of the tables and by one of their names
// each. More says that something else does so too, such as the form of an operand. It is
// not ok if there are conditions of another kind, which no list of options tells.
func Graver(a *shell.Action, from Grade, p Profile) (options []string, more, ok bool) {
	plan := lookup(programName(a), p)
	if plan == nil {
		return nil, false, true
	}
	in := newRoom()
	defer in.free()
	u := in.sortWords(a, programName(a))
	for _, i := range plan.open(slices.Clone(u.operands)) { // graver uses the room too
		if row := &plan.rows[i]; gradeOfRow(row) <= from {
			continue
		}
		switch wants := plan.wants[i]; {
		case len(wants) == 1 && wants[0].form != "":
			more = true
		case len(wants) == 1 && len(wants[0].spellings) > 0:
			for _, option := range named(wants[0].spellings) {
				if option == "--" || !in.graver(a, option, from, p) {
					more = true
					continue
				}
				options = append(options, option)
			}
		default:
			return nil, false, false
		}
	}
	return unique(options), more, true
}

// graver reports whether a command is of a higher grade with a further option, whether or
// not a value follows. A row before the one that names it may say otherwise.
func (in *room) graver(a *shell.Action, option string, from Grade, p Profile) bool {
	with := *a
	for _, more := range [][]shell.Word{{{Text: option}}, {{Text: option}, {Text: "x"}}} {
		with.Words = append(slices.Clip(a.Words), more...)
		if f := command(&with, p, in); GradeOf(f.Class, f.Destroys) <= from {
			return false
		}
	}
	return true
}

// Mildest returns the lowest grade that the tables give a command that begins with the
// words of a, whatever follows; 0 if they do not know it.
func Mildest(a *shell.Action, p Profile) Grade {
	plan := lookup(programName(a), p)
	if plan == nil {
		return 0
	}
	in := newRoom()
	defer in.free()
	u := in.sortWords(a, programName(a))
	least := Grade(0)
	for _, i := range plan.open(u.operands) {
		if g := gradeOfRow(&plan.rows[i]); least == 0 || g < least {
			least = g
		}
	}
	return least
}

func gradeOfRow(r *program.Row) Grade { return GradeOf(r.Class, isDestructive(r.Cause)) }

// isDestructive reports whether a cause says that something is destroyed.
func isDestructive(c cause) bool { return strings.Contains(string(c), string(destructive)) }

// open returns the rows that may apply to a command with these operands first. Those
// without a subcommand do not where one for the subcommand always applies.
func (p *plan) open(operands []string) []int {
	var rows []int
	always := false
	for i := range p.rows {
		for one := range strings.FieldsSeq(p.rows[i].Subs) {
			l := lead{i, strings.Split(one, "/")}
			if !l.goesOn(operands) {
				continue
			}
			rows = append(rows, i)
			always = always || len(l.path) <= len(operands) && len(p.wants[i]) == 0
			break
		}
	}
	if !always {
		rows = append(rows, p.plain...)
	}
	return rows
}

// named returns one name for each option of a condition, a long one if there is one.
func named(spellings []string) []string {
	var long []string
	for _, s := range spellings {
		if strings.HasPrefix(s, "--") {
			long = append(long, s)
		}
	}
	if len(long) > 0 {
		return long
	}
	return spellings[:1]
}

// unique returns the options without repetitions, and without those that only add to the
// name of another one (--force-with-lease).
func unique(options []string) []string {
	var out []string
	for _, o := range options {
		if !slices.ContainsFunc(out, func(had string) bool { return o == had || strings.HasPrefix(o, had+"-") }) {
			out = append(out, o)
		}
	}
	return out
}
