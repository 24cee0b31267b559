package shell

import (
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

func (e *effector) odd(c Cause, names ...string) { e.w.opaque(e.index, MayRun, c, names...) }

func (e *effector) unproven(c Cause, names ...string) {
	if !e.frame.Unproven() {
		e.frame.Why = because(c, names...)
	}
}

// unprovenLate is unproven for a command that was already added.
func (e *effector) unprovenLate(c Cause, names ...string) { e.doubted(because(c, names...)) }

func (e *effector) doubted(why Why) {
	if e.index >= 0 && !e.w.facts.Actions[e.index].Unproven() {
		e.w.facts.Actions[e.index].Why = why
	}
}

// apartLate requires a rule that names the subcommand or, if there is none, a rule
// with the exact words.
func (e *effector) apartLate(c Cause, names ...string) {
	if e.index < 0 {
		return
	}
	at := e.subcommandAt()
	if at == 0 {
		e.unprovenLate(c, names...)
	}
	a := &e.w.facts.Actions[e.index]
	a.Reach = max(a.Reach, at)
}

// subcommandAt returns the index of the word that names the innermost subcommand, 0
// if there is none.
func (e *effector) subcommandAt() int {
	at := 0
	for _, a := range e.scan.Args {
		if a.Kind == ArgSubcommand {
			at = a.Word
		}
	}
	return at
}

// shows marks the command as one that prints values of variables.
func (e *effector) shows() { e.w.shows(e.index) }

// sub returns the entry that the operands belong to: that of the innermost
// subcommand.
func (e *effector) sub() *program.Program {
	if e.scan.Prog != nil {
		return e.scan.Prog
	}
	return e.prog
}

// has reports whether the command has an option of this name.
func (e *effector) has(name string) bool {
	return slices.ContainsFunc(e.scan.Args, func(a Arg) bool {
		return a.Kind == ArgOption && slices.Contains(a.Option.Names, name)
	})
}

// operandWords returns the operands after the first skip ones. The result may share
// memory with the command's words; its capacity is its length.
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

// consecutive reports whether each number is one more than the number before.
func consecutive(numbers []int) bool {
	for i := range numbers {
		if numbers[i] != numbers[0]+i {
			return false
		}
	}
	return true
}

// behindDashes returns the words after the first --, and whether there is one.
func (e *effector) behindDashes() ([]Word, bool) {
	at := slices.IndexFunc(e.scan.Args, func(a Arg) bool { return a.Kind == ArgDashes })
	if at < 0 {
		return nil, false
	}
	return e.words[e.scan.Args[at].Word+1:], true
}

// derived returns the actions added since the command.
func (e *effector) derived() []Action {
	if e.index < 0 {
		return nil
	}
	return e.w.facts.Actions[e.index+1:]
}
