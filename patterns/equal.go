package patterns

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
)

// equalText reports whether two words mean the same as operands or values of
// options of a program or of its subcommand.
func equalText(prog, sub *program.Program, a, b string) bool {
	return equalWords(prog, a, b) || sub != prog && equalWords(sub, a, b)
}

func equalWords(p *program.Program, a, b string) bool {
	switch {
	case p.Folds && strings.EqualFold(a, b):
		return true
	case p.Suffix != "" && strings.TrimSuffix(a, p.Suffix) == strings.TrimSuffix(b, p.Suffix):
		return true
	case p.Kinds:
		a, b = kind(a), kind(b)
		if a == b || a == b+"s" || b == a+"s" {
			return true
		}
	}
	holds := func(words []string, text string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, text) })
	}
	return slices.ContainsFunc(p.Equal, func(words []string) bool { return holds(words, a) && holds(words, b) })
}

// kind returns the type of a resource without its version and group: deployments
// for Deployments.v1.apps.
func kind(text string) string {
	name, _, _ := strings.Cut(strings.ToLower(text), ".")
	return name
}

// typed returns the words with each type of resource and its names as words of
// their own: kubectl delete pod x for kubectl delete pod/x, and kubectl delete pod x
// and kubectl delete svc x for kubectl delete pod,svc x.
func typed(have *shell.Scan, words []shell.Word) [][]shell.Word {
	var out [][]shell.Word
	at := operandsAt(have)
	for n, i := range at {
		if len(out)*len(words) > maxSpelled {
			break // there are too many for spell, which says so
		}
		w := words[i]
		kinds, name, slash := cutWord(w, '/')
		if !slash && (n > 0 || !strings.Contains(w.Text, ",")) {
			continue
		}
		for text := range strings.SplitSeq(kinds, ",") {
			list := without(words[:i], at[:n])
			list = append(list, shell.Word{Text: text, Pos: w.Pos, End: w.End})
			if slash {
				list = append(list, name)
			}
			out = append(out, append(list, words[i+1:]...))
		}
	}
	return out
}

// operandsAt returns the indexes of the operands.
func operandsAt(have *shell.Scan) []int {
	var at []int
	for i := range have.Args {
		if a := &have.Args[i]; a.Kind == shell.ArgOperand && (len(at) == 0 || at[len(at)-1] < a.Word) {
			at = append(at, a.Word)
		}
	}
	return at
}

// without returns a copy of words without those at these indexes.
func without(words []shell.Word, at []int) []shell.Word {
	out := make([]shell.Word, 0, len(words)+2)
	for i := range words {
		if !slices.Contains(at, i) {
			out = append(out, words[i])
		}
	}
	return out
}

// cutWord splits a word at the first c, if what precedes it is known.
func cutWord(w shell.Word, c byte) (before string, after shell.Word, found bool) {
	i := strings.IndexByte(w.Text, c)
	if i < 0 || len(w.Holes) > 0 && w.Holes[0].At <= i {
		return w.Text, shell.Word{}, false
	}
	after = w
	after.Text, after.Holes = w.Text[i+1:], nil
	for _, h := range w.Holes {
		after.Holes = append(after.Holes, shell.Hole{At: h.At - i - 1, Kind: h.Kind})
	}
	return w.Text[:i], after, true
}

// fromFile reports whether a command takes the resources that it works on from a file
// or a path of the server, so that they are unknown.
func fromFile(have *shell.Scan) bool {
	return slices.ContainsFunc(have.Args, func(a shell.Arg) bool {
		return a.Kind == shell.ArgOption && a.Option.Value != program.NoValue &&
			(named(a.Option, "--filename") || named(a.Option, "--kustomize") || named(a.Option, "--raw"))
	})
}

// tasks returns the words of commands that run the tasks of a task runner that stand
// in an option or with their project: nx deploy and npm run deploy for nx run-many
// --targets=build,deploy and nx run app:deploy.
func tasks(entry *program.Program, have *shell.Scan, words []shell.Word) [][]shell.Word {
	var out [][]shell.Word
	runner := entry.Facts&program.TaskRunner != 0
	for i := range have.Args {
		a := &have.Args[i]
		switch {
		case a.Kind == shell.ArgOption && a.Option.Effect == program.EffTask && a.ValueAt >= 0:
			for _, task := range parts(a.Value) {
				out = append(out, append(renamed(words[:1], 1, "npm", "run"), task))
				if runner {
					out = append(out, []shell.Word{words[0], task})
				}
			}
		case runner && (a.Kind == shell.ArgOperand || a.Kind == shell.ArgUnlisted) && words[a.Word].Known():
			at := strings.IndexAny(words[a.Word].Text, ":#")
			if at < 0 || len(out)*len(words) > maxSpelled {
				continue
			}
			task := words[a.Word]
			task.Text, _, _ = strings.Cut(task.Text[at+1:], ":")
			list := slices.Clone(words)
			list[a.Word] = task
			out = append(out, list)
		}
	}
	return out
}

// parts returns the parts of a list with commas, or the word if it is not known.
func parts(w shell.Word) []shell.Word {
	if !w.Known() {
		w.Split = true
		return []shell.Word{w}
	}
	var out []shell.Word
	for text := range strings.SplitSeq(w.Text, ",") {
		out = append(out, shell.Word{Text: text, Pos: w.Pos, End: w.End})
	}
	return out
}

// signal returns the signal that an argument names: -9, -KILL, --signal=KILL, -sKILL.
// "" if it names none.
func (r *reading) signal(a *shell.Arg, w *shell.Word) string {
	switch {
	case a.Kind == shell.ArgOption && named(a.Option, "--signal") && a.ValueAt >= 0:
		return a.Value.Text
	case a.Kind == shell.ArgOption && (named(a.Option, "-#") || named(a.Option, "-SIG"+strings.TrimPrefix(a.Option.Names[0], "-"))):
		return strings.TrimPrefix(w.Text, "-")
	case a.Kind == shell.ArgUnlisted && len(w.Text) > 2 && w.Text[0] == '-' && w.Known() && r.prog.Option("-SIGTERM") != nil:
		if strings.IndexByte("sn", w.Text[1]) >= 0 && r.isSignal(w.Text[2:]) {
			return w.Text[2:]
		}
		return w.Text[1:]
	}
	return ""
}

func (r *reading) isSignal(text string) bool { return equalWords(r.prog, text, text) }

// signals compares the signal that the rule's argument names with that of a command.
// A program with options named for signals sends TERM if none is named. The second
// result is false if the argument names no signal.
func (r *reading) signals(want *shell.Arg, have *shell.Scan, words []shell.Word) (Match, bool) {
	sub := r.scan.Prog
	if len(r.prog.Equal) == 0 && len(sub.Equal) == 0 {
		return No, false
	}
	text := r.signal(want, &r.words[want.Word])
	if text == "" || !equalText(r.prog, sub, text, text) {
		return No, false
	}
	best, sent := No, false
	for i := range have.Args {
		a := &have.Args[i]
		w := &words[a.Word]
		switch other := r.signal(a, w); {
		case a.Kind == shell.ArgOption && a.ValueAt >= 0 && !a.Value.Known() && named(a.Option, "--signal"):
			best, sent = max(best, Maybe), true
		case a.Kind == shell.ArgUnsure:
			best = max(best, Maybe)
		case equalText(r.prog, sub, other, other):
			sent = true
			best = max(best, yesIf(equalText(r.prog, sub, text, other)))
		}
	}
	if !sent && best == No && r.prog.Option("-SIGTERM") != nil && equalWords(r.prog, text, "TERM") {
		return Yes, true
	}
	return best, true
}
