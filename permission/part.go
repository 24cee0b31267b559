package permission

import (
	"cmp"
	"slices"

	"github.com/agent-wrapper/agent-wrapper/internal/program"
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// Part is one action of a tool use that a person is asked about, with the
// answer to this action alone.
type Part struct {
	Subject
	Action string // a description, possibly shortened: "run npm install", "write /tmp/x"
	// Field is the field of the input that holds the action, "" if only the tool
	// is used. Pos and End are its byte offsets in the command line there, both 0
	// if there are none.
	Field    string
	Pos, End int
	// Behavior is Ask for what caused the ask, Allow for what is allowed, and 0
	// for what needs no answer.
	Behavior   Behavior
	Layer      Layer // of the answer; 0 without one
	Held       bool  // only a person's answer to this very tool use counts
	Rule       string
	RuleSource patterns.Source
	Reason     string
	Risk       risk.Class
	Why        string   // the reason for the risk
	Factors    []string // of the risk, the Factor constants of package risk
	// Grade is that of a command, 0 if it may be graver than is known.
	Grade risk.Grade
	// Exact is the rule for exactly this action, "" if there is none or none may
	// be kept. Sealed is why no rule at all may be kept for the action, because it
	// is of tier 3, opaque or held; "" if one may.
	Exact  string
	Sealed string
	// Allows reports that Exact in the allow list of the policy would allow the action. An
	// ask rule, for one, still asks about it.
	Allows bool

	asker bool // an ask by a rule that asks for certain
}

// askToo adds to an ask the parts of another policy's decision on the same tool
// use: a part is asked about if either asks about it, and sealed if either
// seals it.
func (d *Decision) askToo(more []Part) {
	if d.Behavior != Ask || len(d.Parts) == 0 {
		return
	}
	places := map[partKey]int{}
	for i := range d.Parts {
		places[d.Parts[i].key()] = i
	}
	for _, p := range more {
		if i, known := places[p.key()]; known {
			d.Parts[i].join(p)
			continue
		}
		d.Parts = append(d.Parts, p)
	}
	for i := range d.Parts {
		if d.Held {
			d.Parts[i].seal(heldPart)
		}
	}
}

// join adds what another policy decides more strictly about the same action.
func (p *Part) join(more Part) {
	sealed := cmp.Or(p.Sealed, more.Sealed)
	switch {
	case more.Behavior == Ask && p.Behavior != Ask:
		*p = more
	case p.Behavior == Ask && !p.Held && !p.asker && more.asker:
		p.Layer, p.Rule, p.RuleSource, p.Reason, p.asker = more.Layer, more.Rule, more.RuleSource, more.Reason, true
	}
	p.Allows = p.Allows && more.Behavior != Ask // more is a policy that only restricts
	if sealed != "" {
		p.seal(sealed)
	}
}

// seal prevents any rule from being kept for the part.
func (p *Part) seal(why string) { p.Sealed, p.Exact, p.Allows = why, "", false }

// heldPart is why no rule can be kept for a part of a held ask.
const heldPart = "this can only be approved once"

// sameAction reports whether two parts are the same action of a tool use.
func sameAction(a, b Part) bool { return a.key() == b.key() }

// partKey identifies an action of a tool use.
type partKey struct {
	kind          patterns.Kind
	action, field string
	pos, end      int
}

func (p *Part) key() partKey { return partKey{p.Kind, p.Action, p.Field, p.Pos, p.End} }

// grade returns the grade of a command, 0 if it may be graver than is known.
func (e *evaluation) grade(i int) risk.Grade {
	a, found := &e.acts[i], e.risks(e.policy.Profile)
	if a.sub.Kind != patterns.RunCommand || a.inline || i >= len(found) || !found[i].Certain {
		return 0
	}
	return risk.GradeOf(a.class, found[i].Destroys)
}

// Subject describes an action for programs.
type Subject struct {
	Kind patterns.Kind
	Tool string // "Bash" for all actions of a command line
	// Name is what a tool that is used as a whole is asked for (for Skill, the
	// skill), "" if it has no such field.
	Name string
	// Words are those of a command. Words known only at run time have holes.
	Words []shell.Word
	// Program is the catalogue's entry for the command, nil if it has none.
	Program *program.Program
	// Target is the path of a read or write, absolute as far as it is known, or
	// the URL of a fetch.
	Target shell.Word
	Host   string // of a fetch, "" if it is not certain
}

// Unapproved returns the parts that caused the ask, without repetitions.
func (d *Decision) Unapproved() []Part {
	type key struct{ action, reason, exact, sealed string }
	seen := map[key]bool{}
	asked := make([]Part, 0, len(d.Parts))
	for i := range d.Parts {
		p := &d.Parts[i]
		k := key{p.Action, p.Reason, p.Exact, p.Sealed}
		if p.Behavior != Ask || seen[k] {
			continue
		}
		seen[k] = true
		asked = append(asked, *p)
	}
	return asked
}

// parts returns the actions with their answers. If the ask is held, no rule may
// be kept for any of them.
func (e *evaluation) parts(held bool) []Part {
	sealed := e.sealed()
	all := make([]Part, len(e.acts))
	for i := range e.acts {
		a := &e.acts[i]
		p := &all[i]
		*p = Part{Subject: Subject{Kind: a.sub.Kind}, Action: a.describe(), Risk: a.class, Why: a.why, Factors: slices.Clone(a.factors), Sealed: sealed[i]}
		p.Grade = e.grade(i)
		if a.does != nil {
			p.Field, p.Pos, p.End = e.field, a.does.Pos, a.does.End
		}
		if held {
			p.Sealed = heldPart
		}
		if !e.wordless {
			p.Subject = a.subject()
		}
		ans := e.answerTo(i)
		if !ans.given() {
			continue
		}
		p.Behavior, p.Layer, p.Held, p.asker = ans.behavior, ans.layer, ans.held(), ans.reason == askedBy
		if e.wordless {
			continue
		}
		p.Rule, p.RuleSource, p.Reason = ans.rule.text(), ans.rule.source(), e.why(ans, i)
		if p.Behavior == Ask && p.Sealed == "" {
			p.Exact = patterns.ExactRule(&a.sub)
			p.Allows = e.wouldAllow(i, ans, p.Exact)
		}
	}
	return all
}

// wouldAllow reports whether a rule in the allow list of the policy would allow act i in
// place of the answer that asks about it.
func (e *evaluation) wouldAllow(i int, ans answer, text string) bool {
	if text == "" || ans.held() || e.acts[i].ofProject() || ans.reason == askedBy || ans.reason == notListedThere {
		return false
	}
	rule, _, err := patterns.ParseWith(e.policy.Tools, text, patterns.Allow, patterns.Source{})
	return err == nil && e.speltBy(patterns.NewSet(e.policy.Place, rule), i, e.wanted(&e.acts[i]))
}

// subject returns a copy of the subject of the action, which is itself reused.
func (a *action) subject() Subject {
	s := Subject{Kind: a.sub.Kind, Tool: a.sub.Tool, Name: a.sub.Name}
	switch a.sub.Kind {
	case patterns.RunCommand:
		s.Program = a.does.Program
		s.Words = make([]shell.Word, len(a.does.Words))
		for i := range a.does.Words {
			s.Words[i] = copied(a.does.Words[i])
		}
	case patterns.ReadPath, patterns.WritePath:
		s.Target = copied(a.does.Path)
		if forms := a.sub.Path.Forms(); len(forms) > 0 {
			s.Target = copied(forms[0])
		}
	case patterns.FetchURL:
		s.Target, s.Host = copied(a.does.Path), a.sub.URL.Host()
	}
	return s
}

func copied(w shell.Word) shell.Word {
	w.Holes = slices.Clone(w.Holes)
	return w
}

// sealed returns for each act why no session rule may cover it, or "". It may
// be of tier 3 or opaque, or do something that is.
func (e *evaluation) sealed() []string {
	sealed := make([]string, len(e.acts))
	for i := len(e.acts) - 1; i >= 0; i-- {
		a := &e.acts[i]
		switch {
		case e.tier3(i) && !a.remade:
			sealed[i] = "tier 3 can only be approved once"
		case e.strict(i) && !a.remade:
			sealed[i] = e.byRisk(i).By + " denies " + a.class.Word() + " risk"
		case a.sub.Kind == patterns.Hidden:
			sealed[i] = "it cannot be analysed"
		}
		if sealed[i] != "" && a.parent >= 0 && sealed[a.parent] == "" {
			sealed[a.parent] = "not everything it does can be kept: " + sealed[i]
		}
	}
	return sealed
}
