package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// labelled lists programs whose operands are labels, in which // stands for the
// workspace.
var labelled = set("bazel", "bazelisk", "buck", "buck2", "pants", "please")

// configBeside: a program that takes configuration from its directory may take it from
// a path outside the workspace of which its entry does not say what it is for.
func (e *effector) configBeside() {
	if !e.prog.Workdir && !e.sub().Workdir || e.index < 0 {
		return
	}
	p := e.sub()
	told := p.Operands != program.Unread && p.Operands != program.Text || p.Special != "" && p.Special != "pytest"
	for i, a := range e.scan.Args {
		w := e.words[a.Word]
		switch {
		case a.Kind == ArgUnlisted && strings.HasPrefix(w.Text, "-"):
			at := strings.IndexByte(w.Text, '=')
			if at < 0 {
				continue
			}
			w = cutWord(w, at+1)
		case a.Kind != ArgOperand || told && (i == 0 || !takesNext(e.scan.Args[i-1], e.words) || e.scan.Args[i-1].Word+1 != a.Word):
			continue
		}
		if labelled.has(e.prog.Name) && strings.HasPrefix(w.Text, "//") {
			continue
		}
		if leadsOut(&w) && slices.ContainsFunc(beneath(e.dirs, w), func(at Word) bool { return !e.w.inside(&at) }) {
			e.w.facts.Actions[e.index].Exact = true
			e.unprovenLate(causeConfigElsewhere, e.prog.Name)
			return
		}
	}
}

// leadsOut reports whether a word is a path that may lead out of the directory.
func leadsOut(w *Word) bool {
	return strings.HasPrefix(w.Text, "/") || w.Text == ".." || strings.HasPrefix(w.Text, "../") || strings.Contains(w.Text, "/../") || strings.HasSuffix(w.Text, "/..")
}

// takesNext reports whether the word after an argument may be its value, because the
// argument is an unlisted option without a value of its own.
func takesNext(arg Arg, words []Word) bool {
	w := &words[arg.Word]
	return arg.Kind == ArgUnlisted && strings.HasPrefix(w.Text, "-") && strings.IndexByte(w.Text, '=') < 0
}
