package permission

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/internal/text/shellword"
	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Advice is how the agent could say plainly what is not proven, so that nobody
// needs to be asked; or what it can do after the sandbox refused a command something.
type Advice struct {
	Cause   string `json:"cause"`   // why it is not proven; fixed words for each cause
	Program string `json:"program"` // the program, path or host that it is about, "" if that is not known
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
	// plain are the plainer forms, at least one of which has to be allowed. There are
	// none for a form that only differs in how the shell reads it.
	plain []plainer
	// command is the one whose words in full are the plainer form, or nil. They are only
	// written out for what becomes advice.
	command *shell.Action
}

// plainer is a plainer form of an action.
type plainer struct {
	use  ToolUse
	text string // how to get to it; "" if the cause says so
}

// maxAdvice is the maximum number of advices for one tool use. If it takes more to
// say it plainly, a person is asked. maxAdvised is the maximum number of actions of a
// line that is looked into for advice.
const (
	maxAdvice  = 4
	maxAdvised = 512
)

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
			one := Advice{Cause: found.why.Cause.String(), Program: found.program}
			if slices.ContainsFunc(list, one.same) {
				continue
			}
			if one.Text = r.words(found, p, session); one.Text == "" || len(list) == maxAdvice {
				return nil
			}
			list = append(list, one)
		}
	}
	return list
}

// advisable reports whether the decision is one that advice can take the place of. A
// deny is one if it only stands for a question. A line that has asked the file system
// as often as it may is not looked into further.
func (r *reading) advisable(d *Decision) bool {
	if d.Behavior == Allow || d.Question || d.Refusal.Behavior != 0 || len(r.mapped) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.all(), func(one *reading) bool { return one.stopped || len(one.walks) >= maxWalks })
}

// same reports whether an advice is about the same cause and program.
func (a Advice) same(b Advice) bool { return a.Cause == b.Cause && a.Program == b.Program }

// words returns the advice about an action: how to get to those of its plainer forms
// that would be allowed, "" if none would.
func (r *reading) words(found *doubt, p *Policy, session *standing) string {
	text, plain := found.why.Advice(), found.plain
	if found.command != nil {
		plain = []plainer{{use: r.line(asLine(found.command.Words), found.command)}}
	}
	if text == "" || len(plain) == 0 {
		return text
	}
	var ways []string
	for i := range plain {
		if way := &plain[i]; r.allows(&way.use, p, session) {
			ways = append(ways, cmp.Or(way.text, text))
		}
	}
	return strings.Join(ways, ", or ")
}

// allows reports whether another tool use would be allowed.
func (r *reading) allows(use *ToolUse, p *Policy, session *standing) bool {
	plain := newReading(use, r.know, r.env, r.commandGate)
	defer plain.release()
	return judgeAll(plain, p, session, nil).Behavior == Allow
}

// noteDoubts adds the actions that are asked about to those of the reading.
func (e *evaluation) noteDoubts() {
	if e.wordless {
		return
	}
	if len(e.acts) > maxAdvised {
		e.stopped = true
		return
	}
	for i := range e.acts {
		if a := e.answerTo(i); a.behavior == Ask {
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
	switch act := &e.acts[i]; act.sub.Kind {
	case patterns.Hidden:
		if act.does == nil {
			return doubt{}
		}
		return doubt{why: act.does.Why, program: e.programOf(act.parent)}
	case patterns.RunCommand:
		return e.vague(i)
	case patterns.WritePath:
		if e.temporary(act) {
			does := &shell.Action{}
			use := e.line("echo > "+shellword.Quote(path.Join(e.know.scratch.dir, "x")), does)
			return doubt{why: shell.Why{Cause: shell.CauseTemporary}, program: e.programOf(act.parent), plain: []plainer{{use: use}}}
		}
		return e.vaguePath(i)
	case patterns.ReadPath:
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
	case known(a.does.Words) && known(a.does.Dirs), holdsSecret(a.does.Words), e.elsewhere(i):
		return doubt{}
	case a.does.Unproven():
	case slices.Contains(a.factors, risk.FactorSubstitution):
		why = shell.Why{Cause: shell.CauseSubstitution}
	default:
		why = shell.Why{Cause: shell.CauseWordUnknown}
	}
	return doubt{why: why, program: e.programOf(i), command: a.does}
}

// holdsSecret reports whether a word holds the value of a variable that may be a
// secret, which the agent would have to read to write it out.
func holdsSecret(words []shell.Word) bool {
	return slices.ContainsFunc(words, func(w shell.Word) bool {
		return slices.ContainsFunc(w.Holes, func(h shell.Hole) bool { return h.Secret != 0 })
	})
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
		return doubt{why: shell.Why{Cause: shell.CausePathUnknown}, plain: []plainer{{use: e.line(line, a.does)}}}
	}
	if !e.here(&a.does.Path) {
		return doubt{}
	}
	if a.does.Recursive && a.sub.Kind == patterns.ReadPath && (a.parent < 0 || known(e.acts[a.parent].does.Words)) {
		return e.searching(i)
	}
	if a.parent < 0 {
		return doubt{}
	}
	if v := &e.vagueParent; v.command == nil || v.at != a.parent {
		*v = vagueParent{at: a.parent, command: e.acts[a.parent].does, doubt: e.vague(a.parent)}
	}
	found := e.vagueParent.doubt
	if found.why.Cause == shell.CauseWordUnknown {
		found.why = shell.Why{Cause: shell.CausePathUnknown}
	}
	return found
}

// vagueParent is the doubt about the command whose paths were last looked at.
type vagueParent struct {
	at      int
	command *shell.Action
	doubt   doubt
}

// temporary reports whether an action writes a file in a directory for everybody's
// temporary files, where the session has one of its own.
func (e *evaluation) temporary(a *act) bool {
	if e.know.scratch.privateDir() == "" || !a.does.Path.Known() || a.does.NoFollow || a.does.Recursive {
		return false
	}
	return !slices.ContainsFunc(a.forms, func(form shell.Word) bool {
		return e.here(&form) || e.know.scratch.entry(form.Text) == "" // the workspace may lie there too
	})
}

// here reports whether a path may be in the workspace, as far as it is known.
func (e *evaluation) here(name *shell.Word) bool {
	at := path.Clean(example(name))
	return !path.IsAbs(at) || subpath.Within(at, e.know.Place.Workspace) ||
		slices.ContainsFunc(e.know.Place.Roots, func(root string) bool { return subpath.Within(at, root) })
}

// searching returns the doubt about a search of a directory that holds what rules are
// about: the search can leave files of these names out.
func (e *evaluation) searching(i int) doubt {
	a := &e.acts[i]
	names := e.namesBelow(a)
	if len(names) == 0 {
		return doubt{}
	}
	about := doubt{why: shell.Why{Cause: shell.CauseDirectory}, program: e.programOf(a.parent)}
	switch about.program {
	case "":
		if _, given := e.input[globField]; e.use.Tool == searcher && !given {
			about.plain = []plainer{{e.with(globField, "!"+names[0]), `set ` + globField + ` to "!` + names[0] + `"`}}
		}
	case "grep", "egrep", "fgrep":
		about.plain = []plainer{
			e.adding(a, "--exclude=", "", names),
			{e.line("rg x "+shellword.Quote(example(&a.does.Path)), a.does), "use rg"},
		}
	case "rg":
		about.plain = []plainer{e.adding(a, "-g ", "!", names)}
	}
	if len(about.plain) == 0 {
		return doubt{}
	}
	return about
}

// namesBelow returns the last names of what ask and deny rules are about below the
// directory of a, nil if there is one without such a name.
func (e *evaluation) namesBelow(a *act) []string {
	var names []string
	for _, set := range []*patterns.Set{e.session.deny, e.policy.Deny, e.policy.Ask} {
		for _, rule := range set.Near(a.sub.Path) {
			if !a.sub.Path.Below(rule, &a.sub) || !e.exists(a, rule) || e.skips(a, rule) {
				continue
			}
			name := shell.SkippedName(rule.Last())
			if name == "" {
				return nil
			}
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// adding returns the command of a with an option for each name.
func (e *evaluation) adding(a *act, option, negation string, names []string) plainer {
	words, more := e.acts[a.parent].does.Words, ""
	for _, name := range names {
		more += " " + option + shellword.Quote(negation+name)
	}
	return plainer{e.line(asLine(words[:1])+more+" "+asLine(words[1:]), a.does), "add" + more}
}

// with returns the tool use with a further field in its input.
func (e *evaluation) with(field, value string) ToolUse {
	use := e.use
	input := maps.Clone(e.input)
	input[field] = value
	use.Input, _ = json.Marshal(input) // it was JSON
	return use
}

// line returns the use of a shell for another line, in the directory of an action.
func (r *reading) line(text string, does *shell.Action) ToolUse {
	input, _ := json.Marshal(map[string]string{tools.Builtin(tools.Bash).Main(): text}) // strings can be JSON
	return ToolUse{Tool: tools.Bash, Input: input, Dir: r.start(does), Agent: r.use.Agent, Session: r.use.Session, OwnShell: r.use.OwnShell}
}

// start returns the directory in which the plainer form of an action is tried: its
// own if that is known, or else that of the tool use, as an example of one that is
// named.
func (r *reading) start(does *shell.Action) string {
	if len(does.Dirs) > 0 && does.Dirs[0].Known() {
		return does.Dirs[0].Text
	}
	return r.use.Dir
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
		b.WriteString(shellword.Quote(example(&words[i])))
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
