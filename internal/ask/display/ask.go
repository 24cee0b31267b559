// Package display makes what a person sees of a question about a tool use, in one
// form for a terminal, an editor and a web page: the tool use with the part that
// caused the question marked in its text, every action with its reason, rule and
// source, edits as diffs against the current file, and the choices with the rules
// that each would keep. Call [New] with the request that a permission.Approver
// gets; [Ask.Text] and [Ask.Menu] write the result for a terminal, package json for
// other programs.
//
// The package reads no file and no clock; the content of the file comes from the
// caller. Everything that the agent wrote passes through package visible, so that
// control characters cannot hide what would run. What is left out is counted, and
// a choice that would keep rules is not offered in an Ask that does not show
// everything.
package display

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/agent-wrapper/agent-wrapper/internal/text/subpath"
	"github.com/agent-wrapper/agent-wrapper/internal/text/visible"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Source is what an Ask is made from. Only Request is needed.
type Source struct {
	Request permission.Request
	// File is the current content of the file that the tool use would edit (see
	// Path); nil if it was not read.
	File *File
	// ID and Digest identify the request that an answer is for.
	ID, Digest string
	Choices    []Choice
	// All leaves nothing out, whatever the size.
	All bool
	// Screen is the terminal that the question has to fit on: what is long is folded if
	// it has a Height, unless All is set.
	Screen TextOptions
}

// File is the current state of a file.
type File struct {
	Exists  bool
	Text    string
	Problem string // why Text is unknown, "" if it is not
}

// Choice is one answer that a person may give.
type Choice struct {
	Key   string `json:"key"`   // the key on a terminal: "s"
	Name  string `json:"name"`  // the name for programs: "session"
	Label string `json:"label"` // the name for people: "for this session"
	// Rungs are the sets of rules that may be kept, narrowest first; empty for a
	// choice that keeps nothing.
	Rungs []Rung `json:"rungs,omitempty"`
	// Keeps says that the choice allows more than this tool use. It is offered
	// only if everything is shown.
	Keeps bool `json:"keeps,omitempty"`
	// Into is the name of the file that the rules are written to, "" if they are not
	// written or the file is unknown.
	Into string `json:"into,omitempty"`
}

// Rung is a set of rules that may be kept together; without rules it is about exactly
// this tool use.
type Rung struct {
	Label string   `json:"label,omitempty"` // what the rules cover, in words
	Rules []string `json:"rules"`
	// UpTo is the highest risk for which the rules answer, as risk.Grade is written; "" is
	// no limit. The label says what is left out.
	UpTo string `json:"up_to,omitempty"`
}

// Ask is a question to a person. Every text in it is safe to show as text; none must be
// interpreted as markup.
type Ask struct {
	ID      string   `json:"id,omitempty"`
	Digest  string   `json:"digest,omitempty"`
	Tool    string   `json:"tool"`
	Agent   string   `json:"agent,omitempty"` // the subagent, "" for the main agent
	Session string   `json:"session,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Risk    string   `json:"risk"`
	Tier    int      `json:"tier"`
	Held    bool     `json:"held,omitempty"` // only an answer to this tool use can allow it
	Blocks  []Block  `json:"blocks"`
	Actions []Action `json:"actions,omitempty"`
	// MoreActions is the number of actions that are left out of Actions.
	MoreActions int    `json:"more_actions,omitempty"`
	Reason      string `json:"reason,omitempty"`
	Rule        string `json:"rule,omitempty"`
	RuleSource  string `json:"rule_source,omitempty"`
	// Asked is what the question comes from: one entry for each cause, the most telling
	// first. It has at least one entry.
	Asked []Cause `json:"asked"`
	// Allowed is the number of other actions that the policy allows.
	Allowed int `json:"allowed,omitempty"`
	// Whole says that nothing is left out.
	Whole   bool     `json:"whole"`
	Choices []Choice `json:"choices,omitempty"`
	// Withheld are the names of the choices that are not offered because
	// something is left out.
	Withheld []string `json:"withheld,omitempty"`
	// Folded says that something was folded for a terminal.
	Folded bool `json:"-"`
	// here says that the workspace is known, and below where Dir is in it, "" for the
	// workspace itself.
	here  bool
	below string
}

// Block is one part of the input: a field, or an edit.
type Block struct {
	Title string   `json:"title"`
	Notes []string `json:"notes,omitempty"`
	Lines []Line   `json:"lines"`
}

// Line is one line of a block. Its text is that of its segments, joined.
type Line struct {
	// Sign is "" for a line of text; " ", "-" or "+" for a line of a diff; "@"
	// for the position of the following lines of the diff; "\" for a missing line
	// feed at the end of the file; and "…" for Bytes bytes (with Count line
	// feeds) that are left out.
	Sign     string    `json:"sign,omitempty"`
	Segments []Segment `json:"segments,omitempty"`
	Bytes    int       `json:"bytes,omitempty"`
	Count    int       `json:"count,omitempty"`
	// allowed says that the line has nothing but commands that the policy allows.
	allowed bool
	// goesOn says that the line is the rest of one, and folded how many lines it stands
	// for, or characters if it goes on.
	goesOn bool
	folded int
	runsOn bool // it is marked as a whole, and so is a line beside it
}

// Segment is a part of a line.
type Segment struct {
	Text string `json:"text"`
	// Mark says that it is part of what caused the question.
	Mark bool `json:"mark,omitempty"`
}

// Action is one thing that the tool use would do.
type Action struct {
	Verdict string `json:"verdict"` // allow, ask or deny; "" if it needs no answer
	Held    bool   `json:"held,omitempty"`
	Text    string `json:"text"` // "run npm install"
	Reason  string `json:"reason,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Source  string `json:"source,omitempty"` // of the rule: "agent-wrapper.toml:6:3"
	Risk    string `json:"risk,omitempty"`
	Why     string `json:"why,omitempty"` // the reason for the risk
	Times   int    `json:"times"`         // how often it occurs
	// pos and end are its place in the command line of a field, both 0 if it has
	// none.
	field    string
	pos, end int
}

// asks reports whether the action is part of what caused the question.
func (a *Action) asks() bool { return a.Verdict == "ask" }

// The longest name that is shown, in bytes, and the largest number of actions,
// those that caused the question and the others each.
const (
	maxName    = 200
	maxActions = 12
)

// New makes an Ask. It cannot fail: an input that cannot be read is shown as it
// is.
func New(s Source) *Ask {
	use, d := &s.Request.Use, &s.Request.Decision
	if s.File != nil {
		file := *s.File
		file.Problem = visible.Line(file.Problem) // it names the file as the agent does
		s.File = &file
	}
	b := &builder{Source: s, whole: true}
	a := &Ask{
		ID: visible.Line(s.ID), Digest: visible.Line(s.Digest),
		Tool: b.name(use.Tool), Agent: b.name(use.Agent), Session: b.name(use.Session), Dir: b.name(use.Dir),
		Risk: d.Risk.String(), Tier: d.Tier, Held: d.Held,
		Reason: visible.Line(d.Reason), Rule: visible.Line(d.Rule), RuleSource: visible.Line(d.RuleSource.String()),
	}
	if root := s.Request.Place.Workspace; root != "" {
		a.below, _ = subpath.Below(a.Dir, root)
		a.here = subpath.Within(a.Dir, root)
	}
	actions := b.actions()
	a.Blocks = b.blocks(actions)
	placed := actions
	actions = counted(actions)
	a.Actions = b.shown(actions)
	a.MoreActions = len(actions) - len(a.Actions)
	a.Asked = a.causes()
	for _, text := range s.Request.Besides {
		a.Asked = append(a.Asked, Cause{Times: 1, Reason: visible.Line(text), Held: a.Held})
	}
	if d.SandboxWhy != "" {
		a.Asked = append(a.Asked, Cause{Times: 1, Reason: "if you allow it, it runs " + visible.Line(runsWhere(*d)), Held: a.Held})
	}
	for i := range actions {
		if actions[i].Verdict == "allow" {
			a.Allowed++
		}
	}
	if b.Screen.Height > 0 && !b.All && a.hides(placed) {
		b.whole = false
	}
	a.Whole = b.whole
	a.offer(s.Choices)
	if b.Screen.Height > 0 && !b.All {
		b.fold(a)
		a.offer(s.Choices)
	}
	return a
}

// offer adds the choices. Those that would keep rules are withheld if something
// is left out.
func (a *Ask) offer(choices []Choice) {
	a.Choices, a.Withheld = nil, nil
	for _, c := range choices {
		if c.Keeps && !a.Whole || a.Folded && c.asIs() {
			a.Withheld = append(a.Withheld, visible.Line(c.Name))
			continue
		}
		shown := Choice{Key: visible.Line(c.Key), Name: visible.Line(c.Name), Label: visible.Line(c.Label), Keeps: c.Keeps, Into: visible.Line(c.Into)}
		for _, r := range c.Rungs {
			shown.Rungs = append(shown.Rungs, r.shown())
		}
		a.Choices = append(a.Choices, shown)
	}
}

// asIs reports whether a choice allows exactly this tool use again, of which all has to
// be seen, not only what a rule is about.
func (c *Choice) asIs() bool {
	return slices.ContainsFunc(c.Rungs, func(r Rung) bool { return len(r.Rules) == 0 }) && c.Keeps
}

func (r *Rung) shown() Rung {
	out := Rung{Label: visible.Line(r.Label), Rules: []string{}, UpTo: visible.Line(r.UpTo)}
	for _, rule := range r.Rules {
		out.Rules = append(out.Rules, visible.Command(rule))
	}
	return out
}

// builder makes the parts of an Ask and tracks whether something is left out.
type builder struct {
	Source
	whole bool
	work  int // number of bytes of files that were examined
}

// name returns a short text on one line.
func (b *builder) name(s string) string {
	if b.All || len(s) <= maxName {
		return visible.Line(s)
	}
	b.whole = false
	at := runeStart(s, maxName)
	return fmt.Sprintf("%s… (%s more bytes)", visible.Line(s[:at]), thousands(len(s)-at))
}

// runeStart returns the last index up to at where a character begins.
func runeStart(s string, at int) int {
	for n := 0; at > 0 && n < utf8.UTFMax && !utf8.RuneStart(s[at]); n++ {
		at--
	}
	return at
}

// runeEnd returns the first index from at on where a character begins or the text
// ends.
func runeEnd(s string, at int) int {
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return at
}

// actions returns everything that the tool use would do, what caused the question
// first.
func (b *builder) actions() []Action {
	parts := b.Request.Decision.Parts
	var asks, others []Action
	for i := range parts {
		if a := part(&parts[i]); a.asks() {
			asks = append(asks, a)
		} else {
			others = append(others, a)
		}
	}
	return append(asks, others...)
}

// part converts an action of the decision.
func part(p *permission.Part) Action {
	a := Action{Text: visible.Line(p.Action), Risk: p.Risk.String(), Why: visible.Line(p.Why), field: p.Field, pos: p.Pos, end: p.End}
	if p.Behavior == 0 {
		return a // it needs no answer
	}
	a.Verdict, a.Held = p.Behavior.String(), p.Held
	a.Reason, a.Rule, a.Source = visible.Line(p.Reason), visible.Line(p.Rule), visible.Line(p.RuleSource.String())
	return a
}

// counted merges equal actions.
func counted(all []Action) []Action {
	at := map[Action]int{}
	var out []Action
	for _, a := range all {
		a.field, a.pos, a.end = "", 0, 0
		i, known := at[a]
		if !known {
			i = len(out)
			at[a] = i
			out = append(out, a)
		}
		out[i].Times++
	}
	return out
}

// shown shortens a long list of actions.
func (b *builder) shown(all []Action) []Action {
	asks := 0
	for asks < len(all) && all[asks].asks() {
		asks++
	}
	if b.All || asks <= maxActions && len(all)-asks <= maxActions {
		return all
	}
	if asks > maxActions { // of the others, which are allowed, the number is enough
		b.whole = false
	}
	first := min(asks, maxActions)
	return append(all[:first:first], all[asks:min(len(all), asks+maxActions)]...)
}
