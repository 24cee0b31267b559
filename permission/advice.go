package permission

import (
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/risk"
	"github.com/agent-wrapper/agent-wrapper/shell"
	"github.com/agent-wrapper/agent-wrapper/tools"
)

// Advice is how the agent could say plainly what is not proven, so that nobody
// needs to be asked.
type Advice struct {
	Cause   string `json:"cause"`   // why it is not proven; fixed words for each cause
	Program string `json:"program"` // the program that it is about, "" if that is not known
	Text    string `json:"text"`    // what to do instead, for the model
}

// String returns the advice in one sentence: "grep: the path is not known for certain:
// name the file".
func (a Advice) String() string {
	text := a.Cause + ": " + a.Text
	if a.Program != "" {
		text = a.Program + ": " + text
	}
	return text
}

// doubt is an action that is asked about.
type doubt struct {
	why     shell.Why // a cause without advice: the action has no plainer form
	program string
	// plain is the command in the plainer form, which has to be allowed in dir. It is
	// "" for a form that only differs in how the shell reads it.
	plain, dir string
}

// maxAdvice is the maximum number of advices for one tool use. If it takes more to
// say it plainly, a person is asked.
const maxAdvice = 4

// forgetDoubts clears what the last judgement asked about.
func (r *reading) forgetDoubts() {
	r.doubts, r.stopped = r.doubts[:0], false
	for _, o := range r.others {
		o.doubts, o.stopped = o.doubts[:0], false
	}
}

// all returns the readings of the tool use, with the knowledge of each policy.
func (r *reading) all() []*reading { return append([]*reading{r}, r.others...) }

// advise returns the advice for a tool use that was judged with decision d: nil if a
// part that is asked about cannot be said more plainly, or would be asked about in
// its plainer form as well.
func (r *reading) advise(p *Policy, session *standing, d *Decision) []Advice {
	if !r.advisable(d) {
		return nil
	}
	var list []Advice
	for _, from := range r.all() {
		for i := range from.doubts {
			found := &from.doubts[i]
			text := found.why.Advice()
			one := Advice{Cause: found.why.Cause.String(), Program: found.program, Text: text}
			if slices.Contains(list, one) {
				continue
			}
			if text == "" || len(list) == maxAdvice || !r.allows(found, p, session) {
				return nil
			}
			list = append(list, one)
		}
	}
	return list
}

// advisable reports whether the decision is one that advice can take the place of. A
// deny is one if it only stands for a question.
func (r *reading) advisable(d *Decision) bool {
	if d.Behavior == Allow || d.Question || d.Refusal.Behavior != 0 || len(r.mapped) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.all(), func(one *reading) bool { return one.stopped })
}

// allows reports whether the plainer form of an action would be allowed.
func (r *reading) allows(found *doubt, p *Policy, session *standing) bool {
	if found.plain == "" {
		return true
	}
	input, err := json.Marshal(map[string]string{"command": found.plain})
	if err != nil {
		return false
	}
	use := ToolUse{Tool: tools.Bash, Input: input, Dir: found.dir, Agent: r.use.Agent, Session: r.use.Session}
	plain := newReading(&use, r.know, r.env, r.commandGate)
	defer plain.release()
	return judgeAll(plain, p, session, nil).Behavior == Allow
}

// noteDoubts adds the actions that are asked about to those of the reading.
func (e *evaluation) noteDoubts() {
	if e.wordless {
		return
	}
	for i := range e.acts {
		if a := e.standsFor(i); a.behavior == Ask {
			e.doubts = append(e.doubts, e.doubtAbout(a, i))
		}
	}
}

// doubtAbout returns the doubt about act i, which answer a asks about. Without a
// cause there is no plainer form: a rule meets the action for certain, or its risk
// is asked about and not what is unknown of it.
func (e *evaluation) doubtAbout(a answer, i int) doubt {
	switch a.reason {
	case mayCover, notAllowed, notListed, notListedThere:
	default:
		return doubt{}
	}
	if e.acts[i].secret { // in plain words it would hold the secret
		return doubt{}
	}
	switch act := &e.acts[i]; act.sub.Kind {
	case patterns.Hidden:
		if act.does == nil {
			return doubt{}
		}
		return doubt{why: act.does.Why, program: e.programOf(act.parent)}
	case patterns.RunCommand:
		return e.vague(i)
	case patterns.ReadPath, patterns.WritePath:
		return e.vaguePath(i)
	}
	return doubt{}
}

// vague returns the doubt about a command of which something is known only when it
// runs.
func (e *evaluation) vague(i int) doubt {
	a := &e.acts[i]
	why := a.does.Why
	switch {
	case known(a.does.Words) && known(a.does.Dirs), e.elsewhere(i):
		return doubt{}
	case a.does.Unproven():
	case slices.Contains(a.factors, risk.FactorSubstitution):
		why = shell.Why{Cause: shell.CauseSubstitution}
	default:
		why = shell.Why{Cause: shell.CauseWordUnknown}
	}
	return doubt{why: why, program: e.programOf(i), plain: asLine(a.does.Words), dir: e.start(a.does)}
}

// elsewhere reports whether a command reads or writes outside the workspace, as far
// as its paths are known.
func (e *evaluation) elsewhere(i int) bool {
	for k := i + 1; k < len(e.acts); k++ {
		a := &e.acts[k]
		path := a.sub.Kind == patterns.ReadPath || a.sub.Kind == patterns.WritePath
		if a.parent == i && path && !e.here(&a.does.Path) {
			return true
		}
	}
	return false
}

// vaguePath returns the doubt about a path that is known only when the line runs.
func (e *evaluation) vaguePath(i int) doubt {
	a := &e.acts[i]
	if a.does.Redirect {
		if a.does.Path.Known() || !e.here(&a.does.Path) {
			return doubt{}
		}
		line := "cat < x"
		if a.sub.Kind == patterns.WritePath {
			line = "echo > x"
		}
		return doubt{why: shell.Why{Cause: shell.CausePathUnknown}, plain: line, dir: e.start(a.does)}
	}
	if a.parent < 0 || !e.here(&a.does.Path) {
		return doubt{}
	}
	found := e.vague(a.parent)
	if found.why.Cause == shell.CauseWordUnknown {
		found.why = shell.Why{Cause: shell.CausePathUnknown}
	}
	return found
}

// here reports whether a path may be in the workspace, as far as it is known.
func (e *evaluation) here(name *shell.Word) bool {
	at := path.Clean(example(name))
	return !path.IsAbs(at) || within(at, e.policy.Place.Workspace) ||
		slices.ContainsFunc(e.policy.Place.Roots, func(root string) bool { return within(at, root) })
}

// start returns the directory in which the plainer form of an action is tried: its
// own if that is known, or else that of the tool use, as an example of one that is
// named.
func (e *evaluation) start(does *shell.Action) string {
	if len(does.Dirs) > 0 && does.Dirs[0].Known() {
		return does.Dirs[0].Text
	}
	return e.use.Dir
}

// programOf returns the name of the program that act i runs, without its directory.
func (e *evaluation) programOf(i int) string {
	if i < 0 || e.acts[i].sub.Kind != patterns.RunCommand {
		return ""
	}
	if name := &e.acts[i].does.Words[0]; name.Known() {
		return path.Base(name.Text)
	}
	return ""
}

// asLine returns words as a line for a shell, each hole filled with an example of
// what may stand there.
func asLine(words []shell.Word) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("'" + strings.ReplaceAll(example(&words[i]), "'", `'\''`) + "'")
	}
	return b.String()
}

// example returns a text that a word may stand for: the name of a file, a number.
func example(w *shell.Word) string {
	if len(w.Holes) == 0 {
		return w.Text
	}
	switch w.Holes[0].Kind {
	case shell.Pipe:
		return "x" // the file that what is printed there is written to
	case shell.Digits, shell.Number:
		return w.Filled("1")
	}
	return w.Filled("x")
}

// advised returns the denial that tells the agent advice in place of a question.
func advised(d Decision) Result {
	d.Behavior = Deny
	d.Message = "Not run, and nobody was asked yet: " + d.Reason + instead(&Decision{Advice: d.Advice}) +
		". Said so it needs no question. If it cannot be said so, do the same again: that is a question for a person"
	return Result{Decision: d, By: ByAdvice}
}

// instead returns the advice of a decision for the end of its message, without what
// the message says already.
func instead(d *Decision) string {
	text := ""
	for i := range d.Advice {
		if add := ". Instead: " + d.Advice[i].Text; !strings.Contains(d.Message+text, add) {
			text += add
		}
	}
	return text
}
