package shell

import (
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
)

// own is the name of this program, some subcommands of which decide what the agent may
// do: approvals allow, serve, serve token, trust. Which one a run of it is may be known only
// when the line runs ("$@", xargs): then it counts as the one that decides.
const own = "agent-wrapper"

// mayName returns the Home of a subcommand that words may name, "" if they name none
// that has one. It reads them as cobra does, generously: options stand anywhere, and
// one that is not listed may take the next word.
func mayName(p *program.Program, words []Word) string {
	at := []*program.Program{p} // the subcommands that the words so far may name
	value := false              // the next word may be that of an option
	for i := 0; i < len(words) && len(at) > 0; i++ {
		w := &words[i]
		if w.Known() && w.Text == "--" {
			break
		}
		var next []*program.Program
		for _, p := range at {
			next = append(next, subsNamed(p, w)...)
		}
		if at := slices.IndexFunc(next, func(p *program.Program) bool { return p.Home != "" && !p.HasSubs() }); at >= 0 {
			return next[at].Home
		}
		option := strings.HasPrefix(w.Text, "-") && !w.holeAt(0) || w.MayBeOption()
		if option || value {
			next = append(next, at...)
		}
		value = option && !strings.Contains(w.Text, "=")
		if takes(at, w) {
			i, value = i+1, false
		}
		at = next
	}
	// One with subcommands, serve, decides if none of them follows.
	if i := slices.IndexFunc(at, func(p *program.Program) bool { return p.Home != "" }); i >= 0 {
		return at[i].Home
	}
	return ""
}

// takes reports whether a word is an option that takes the next one for its value,
// whatever the subcommand is.
func takes(at []*program.Program, w *Word) bool {
	return w.Known() && !slices.ContainsFunc(at, func(p *program.Program) bool {
		o := p.Option(w.Text)
		return o == nil || o.Value != program.Required
	})
}

// subsNamed returns the subcommands of p that a word may name. One that may become
// several words may name those below, too.
func subsNamed(p *program.Program, w *Word) (subs []*program.Program) {
	for sub := range p.Subs {
		if !w.mayBe(sub.Name) {
			continue
		}
		subs = append(subs, sub)
		if w.Split {
			subs = append(subs, subsNamed(sub, w)...)
		}
	}
	return subs
}

// mayBe reports whether a word may be a name, or one of the words it becomes.
func (w *Word) mayBe(name string) bool {
	switch {
	case w.Split && w.hasHole(AnyText), w.under != nil:
		return true
	case len(w.Holes) == 0:
		return w.Text == name
	}
	head, tail := w.Text[:w.Holes[0].At], w.Text[w.Holes[len(w.Holes)-1].At:]
	return len(head)+len(tail) <= len(name) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// ownRecord reads the audit log for the subcommands that print it.
func (e *effector) ownRecord() {
	if path := e.scan.Path; isOwn(e.prog) && (len(path) > 0 && path[0] == "audit" || slices.Equal(path, []string{"exec", "history"})) {
		e.read(joinPath(known(e.w.opt.Home), Word{Text: ".local/state/agent-wrapper/audit.jsonl"}), NeedNone, "audit log of "+own)
	}
}

// ownText adds what a line of which a part is known only when it runs may have this
// program do: sh -c "agent-wrapper $x". Quotes in it may belong to what is not known.
func (e *effector) ownText(text Word) {
	if !strings.Contains(text.Text, own) {
		return
	}
	line := text.Filled("${" + unset + "}")
	for _, line := range []string{line, unquoted.Replace(line)} {
		actions := e.w.recurse.aside(line, e.child())
		for i := range actions {
			if a := &actions[i]; a.Kind == Write && a.Parent >= 0 && isOwn(actions[a.Parent].Program) {
				e.write(a.Path, NeedNone, false, "settings of "+own)
				return
			}
		}
	}
}

// unset is the name of a variable that nothing sets.
const unset = "agent_wrapper_unknown"

func isOwn(p *program.Program) bool { return p != nil && p.Name == own }
