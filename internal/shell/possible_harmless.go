package shell

import (
	"slices"
	"strconv"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// maxWait is the number of seconds for which a command may hold the shell and be
// harmless where an agent waits for what it has started.
const maxWait = 60

// Waits reports whether the action is a sleep that is over soon (sleep(1), GNU).
func (a *Action) Waits() bool {
	if !a.named("sleep") || len(a.Words) == 1 {
		return false
	}
	total := 0.0
	for i := range a.Words[1:] {
		w := &a.Words[i+1]
		text, unit := strings.TrimSuffix(w.Text, "s"), 1.0
		if cut, minutes := strings.CutSuffix(w.Text, "m"); minutes {
			text, unit = cut, 60
		}
		n, err := strconv.ParseFloat(text, 64)
		if !w.Known() || err != nil || strings.Trim(text, "0123456789.") != "" {
			return false
		}
		total += n * unit
	}
	return total <= maxWait
}

// EndsJobs reports whether the action is a kill of nothing but jobs of the shell (kill
// %1), or of the process that it has put into the background last (kill $!), also by
// way of a variable of the line (bash(1), "Job Control").
func (a *Action) EndsJobs() bool {
	if !a.named("kill") {
		return false
	}
	jobs := 0
	for i := 1; i < len(a.Words); i++ {
		switch w := &a.Words[i]; {
		case i == 1 && w.Known() && strings.HasPrefix(w.Text, "-") && strings.Trim(w.Text[1:], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" && w.Text != "-0" && len(w.Text) > 1 && w.Text != "-1":
		case w.Known() && strings.HasPrefix(w.Text, "%"), w.job():
			jobs++
		default:
			return false
		}
	}
	return jobs > 0
}

// job reports whether the word is the value of $! and nothing else.
func (w *Word) job() bool { return w.Text == "" && len(w.Holes) == 1 && w.Holes[0].Job }

// OnlyGets reports whether the words of the action make its program only get what
// its URLs name: with options that the catalogue lists for that, and no other method
// than GET and HEAD.
func (a *Action) OnlyGets() bool {
	if a.Kind != Command || a.Program == nil || len(a.Program.Gets) == 0 || a.Unproven() || a.Words[0].Text != a.Program.Name {
		return false
	}
	for _, arg := range ScanWords(a.Program, a.Words).Args {
		switch {
		case arg.Kind == ArgOperand:
		case arg.Kind != ArgOption || !slices.ContainsFunc(arg.Option.Names, func(n string) bool { return slices.Contains(a.Program.Gets, n) }):
			return false
		case arg.Option.Names[0] == "-X" && arg.Value.Text != "GET" && arg.Value.Text != "HEAD":
			return false
		case arg.Option.Effect == program.EffNone && !arg.Value.Known() && arg.Value.MayBeOption():
			return false
		}
	}
	return true
}

func (a *Action) named(name string) bool {
	return a.Kind == Command && len(a.Words) > 0 && a.Words[0].Known() && a.Words[0].Text == name && !a.function && !a.Unproven()
}
