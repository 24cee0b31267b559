// Package risk classifies actions as safe, moderate, high or forbidden, with a
// reason in words and the factors that led to it.
//
// The knowledge is in tables: programs, subcommands and options (package
// program) and paths (paths.go). Unlisted programs are unknown, hence Moderate.
// Safe must be proven: an unknown argument, an option that the catalogue does
// not list, or a substitution makes a safe command Moderate. The class of a
// wrapper is that of the wrapper alone; what it runs is an action of its own.
//
// The package does not decide; permission does. It uses no file, process, clock
// or environment, and equal actions have equal findings.
package risk

import (
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// Class is the risk of an action. The zero value is invalid and treated as
// Forbidden.
type Class = program.Class

// The classes, in increasing order.
const (
	Safe      = program.Safe
	Moderate  = program.Moderate
	High      = program.High
	Forbidden = program.Forbidden
)

// Profile is a set of tables.
type Profile uint8

// The profiles: Default follows the table of seed 1, Terminal the lists of seed
// 4.
const (
	Default Profile = iota
	Terminal
)

// Finding is the risk of one action with its reasons.
type Finding struct {
	Class   Class
	Reason  string   // "read-only", "mutating operation", "destructive operation" …
	Factors []string // the Factor constants, without duplicates
	cause   cause    // of the reason; "" if the reason is not from the tables
	// substituted means that the reason of a substitution is appended.
	substituted bool
	// Lifted means that only a substitution raised the class of a safe command. What
	// the substitution runs is an action of its own.
	Lifted bool
	// Asks means that a safe command, or one that only a substitution raised, gets what
	// it shows from another host, which is told its words or names made of them.
	Asks bool
	// Unproven means that only what is unproven about a safe command raised its class.
	Unproven bool
	// Destroys means that the tables call a command destructive, whatever its class.
	// Certain means that each word of the command is one that the tables know, so that
	// nothing in it can make it graver than they say.
	Destroys, Certain bool
}

// The factors of a finding.
const (
	FactorSubstitution = "command_substitution"
	FactorDynamic      = "dynamic_command"
	FactorUnknown      = "unknown_command"
	FactorArgument     = "unknown_argument"
	FactorSensitive    = "sensitive_path"
	FactorSystem       = "system_path"
	FactorDevice       = "block_device"
	FactorInterpreter  = "pipe_to_interpreter"
	FactorOutside      = "writes_outside_workspace"
	FactorHidden       = "hidden_text"
	FactorCatastrophic = "catastrophic"
)

// Place is what catastrophic removals, writes outside the workspace, and what is the
// user's own in the home of root are judged by. An empty field is unknown.
type Place struct {
	Home      string // absolute
	Workspace string // absolute; removing it or one of its parents is catastrophic
	// Roots are further directories of the workspace, absolute.
	Roots []string
}

// raise sets a higher class with its reason and factor.
func (f *Finding) raise(c Class, reason, factor string) {
	f.Say(c, reason)
	f.factor(factor)
}

// Say sets the class and the reason for it.
func (f *Finding) Say(c Class, reason string) {
	f.Class, f.Reason, f.cause, f.substituted = c, reason, "", false
}

func (f *Finding) factor(name string) {
	switch {
	case name == "" || slices.Contains(f.Factors, name):
	case f.Factors == nil:
		f.Factors = alone(name)
	default:
		f.Factors = append(f.Factors, name)
	}
}

// factors backs the lists of findings with a single factor.
var factors = [...]string{
	FactorSubstitution, FactorDynamic, FactorUnknown, FactorArgument, FactorSensitive, FactorSystem,
	FactorDevice, FactorInterpreter, FactorOutside, FactorHidden, FactorCatastrophic,
}

// alone returns a list of one factor with no spare capacity.
func alone(name string) []string {
	for i := range factors {
		if factors[i] == name {
			return factors[i : i+1 : i+1]
		}
	}
	return []string{name}
}

// nothing is the reason for a line without actions.
const nothing = "does nothing"

// join keeps the higher of two findings and merges their factors.
func (f *Finding) join(g Finding) {
	if g.Class > f.Class || f.Class == Safe && g.Class == Safe {
		f.Class, f.Reason, f.cause, f.substituted = g.Class, g.Reason, g.cause, g.substituted
	}
	for _, name := range g.Factors {
		f.factor(name)
	}
}

// Each returns the findings of all actions of a command line in order. A
// finding is at least that of Action, and higher where the rest of the line
// matters: a program that normally only reads runs another one; data is fetched
// and run; a command is catastrophic.
func Each(f *shell.Facts, p Profile) []Finding {
	return AppendEach(make([]Finding, 0, len(f.Actions)), f, p, Place{})
}

// AppendEach appends the findings of Each to out. If place is known, they also
// cover writes outside the workspace and catastrophic removals of it, and what is the
// user's own is not sensitive because it lies in the home of root (Owns).
func AppendEach(out []Finding, f *shell.Facts, p Profile, place Place) []Finding {
	in := newRoom()
	defer in.free()
	from, fetches, l := len(out), false, newLine(f, place, in)
	escaped, parts := strings.Contains(f.Source, "$'"), unread{place: place}
	out = slices.Grow(out, len(f.Actions))
	for i := range f.Actions {
		a := &f.Actions[i]
		out = append(out, action(a, p, &place, in))
		if a.Kind == shell.Opaque {
			out[from+i].join(parts.finding(f, i, p))
		}
		if a.Kind == shell.Write && place.outside(&a.Path) {
			out[from+i].outside()
		}
		fetches = fetches || a.Kind == shell.Fetch || program.Is(programName(a), program.Fetcher)
		if up := a.Parent; a.Kind == shell.Command && up >= 0 && up < i && out[from+up].looks() {
			out[from+up].raise(Moderate, string(wrapper), "")
		}
		if escaped && a.Kind == shell.Command && out[from+i].Class == Safe && a.End <= len(f.Source) && spellsOut(f.Source[a.Pos:a.End]) {
			out[from+i].raise(Moderate, hiddenText, FactorHidden)
		}
		if reason := l.catastrophe(i); reason != "" {
			out[from+i].raise(Forbidden, reason, FactorCatastrophic)
		}
	}
	for i := range f.Actions {
		if fetches && readsProgram(&f.Actions[i]) {
			out[from+i].raise(fetchedClass(p), "runs what it fetches from a host", FactorInterpreter)
		}
	}
	return out
}

// looks reports whether a program is safe because it only displays something.
func (f *Finding) looks() bool {
	return f.Class == Safe && (f.cause == readOnly || f.cause == asks || f.cause == environment)
}

// fetchedClass is Forbidden under seed 4; seed 1 has no row for it.
func fetchedClass(p Profile) Class {
	if p == Terminal {
		return Forbidden
	}
	return High
}

// readsProgram reports whether an action is code read from standard input.
func readsProgram(a *shell.Action) bool {
	return a.Kind == shell.Opaque && a.Why.Cause == shell.CauseStandardInput
}

// Action returns the finding of one action of any kind. An unknown kind is
// Forbidden.
func Action(a *shell.Action, p Profile, place Place) Finding {
	in := newRoom()
	defer in.free()
	return action(a, p, &place, in)
}

func action(a *shell.Action, p Profile, place *Place, in *room) Finding {
	switch a.Kind {
	case shell.Command:
		return command(a, p, in)
	case shell.Read:
		return reading(a, p, place)
	case shell.Write:
		return writing(a, p, place)
	case shell.Fetch:
		return because(Moderate, remote, "")
	case shell.Opaque:
		return hidden(a)
	}
	return Finding{Class: Forbidden, Reason: "an action of no known kind"}
}

func hidden(a *shell.Action) Finding {
	switch {
	case a.Why.Cause == shell.CauseForkBomb:
		return Finding{Class: Forbidden, Reason: forkBomb, Factors: alone(FactorCatastrophic)}
	case readsProgram(a):
		return Finding{Class: High, Reason: a.Why.String(), Factors: alone(FactorInterpreter)}
	}
	return Finding{Class: Moderate, Reason: a.Why.String(), Factors: alone(FactorDynamic)}
}

// Worst returns the highest class that the tables give any command that begins
// with the words of a.
func Worst(a *shell.Action, p Profile) Class {
	in := newRoom()
	defer in.free()
	class := command(a, p, in).Class
	if name := programName(a); name != "" {
		if plan := lookup(name, p); plan != nil {
			u := in.sortWords(a, name)
			class = max(class, plan.worst(u.operands))
		}
	}
	return class
}

func command(a *shell.Action, p Profile, in *room) Finding {
	if len(a.Words) == 0 || !a.Words[0].Known() {
		f := Finding{Class: Moderate, Reason: "the command name is known only when it runs", Factors: alone(FactorDynamic)}
		f.substitution(a)
		return f
	}
	name := base(a.Words[0].Text)
	var f Finding
	switch plan := lookup(name, p); {
	case a.Prints:
		f = Finding{Class: Safe, Reason: printsText}
	case a.Function() && a.Environment:
		f = Finding{Class: Moderate, Reason: "gives the function " + name + " a variable that may hold a secret"}
	case plan != nil:
		f = tabled(a, name, plan, in)
	default:
		f = Finding{Class: Moderate, Reason: "unknown command: " + name, Factors: alone(FactorUnknown)}
	}
	f.shows(a)
	if a.Exports && f.Class == Safe {
		f.raise(Moderate, "exports a variable to later commands", FactorUnknown)
	}
	if f.Class == Safe && !ofSystem(a.Words[0].Text) {
		f.raise(Moderate, "a program of that name outside the system's directories", FactorUnknown)
	}
	f.Asks = f.Class == Safe && f.cause == asks
	f.substitution(a)
	return f
}

// shows records that a command prints variables that may hold secrets, which is
// as sensitive as reading .env.
func (f *Finding) shows(a *shell.Action) {
	if !a.Environment {
		return
	}
	f.factor(FactorSensitive)
	if f.Class == Safe {
		f.Reason, f.cause = string(environment), environment
	}
}

// ofSystem reports whether a program is called by its bare name or lies in a
// system directory. Any other, such as ./ls, is unknown.
func ofSystem(name string) bool {
	if !strings.Contains(name, "/") {
		return true
	}
	switch path.Dir(name) {
	case "/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin":
		return true
	}
	return false
}

// The reason of a substitution, which follows that of its command.
const substituted, behind = "contains command substitution", ", "

// substitution raises a safe command whose words hold a command or process
// substitution.
func (f *Finding) substitution(a *shell.Action) {
	if !a.Substitution {
		return
	}
	f.Lifted = f.Class == Safe
	f.Class = max(f.Class, Moderate)
	f.Reason += behind + substituted
	f.substituted = true
	f.factor(FactorSubstitution)
}

// printsText is the reason of a query for the version or the help.
const printsText = "read-only: prints a text about itself"

// maySay reports whether a program may print a text about itself for --help or --version.
// One whose catalogue lists such words may obey its project before it answers another.
func maySay(p *program.Program, word string) bool {
	return p == nil || len(p.Prints) == 0 || slices.Contains(p.Prints, word)
}

// tabled returns the finding of a command that the tables list.
func tabled(a *shell.Action, name string, p *plan, in *room) Finding {
	u := in.sortWords(a, name)
	if u.asksForHelp(p) && !program.Is(name, program.ObeysProject) && maySay(a.Program, u.words[len(u.words)-1].Text) {
		return Finding{Class: Safe, Reason: printsText}
	}
	r := p.find(&u)
	if r == nil {
		return because(Moderate, mutating, "")
	}
	f := because(r.Class, r.Cause, "")
	f.Destroys, f.Certain = isDestructive(r.Cause), u.certain(a, p)
	if f.Class == Safe {
		u.prove(&f, r, a)
	}
	return f
}

// prove raises a safe command that is not fully known.
func (u *use) prove(f *Finding, r *program.Row, a *shell.Action) {
	switch odd := u.unlisted(r); {
	case r.Cause == wrapper && a.Program == nil:
		f.raise(Moderate, "what it runs is not known", FactorDynamic)
	case odd != "":
		f.raise(Moderate, "option "+odd+" is not known", FactorArgument)
	case a.Unproven():
		asked := f.cause
		f.raise(Moderate, a.Why.String(), FactorArgument)
		f.Unproven = true
		if a.Why.Cause.AsksHost() {
			f.cause = asked // it still asks one, if another
		}
	case u.unsure:
		f.raise(Moderate, "an argument is known only when it runs", FactorArgument)
	}
}

// lookup returns the plan of a program, or nil if no table of the profile has
// it.
func lookup(name string, p Profile) *plan {
	if p == Terminal {
		if found := ofTerminal.find(name); found != nil {
			return found
		}
	}
	return ofCatalog(name)
}
