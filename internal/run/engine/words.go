package engine

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// Words are the tools as a whole in the lists of an editor at a start, as far as they
// count.
type Words struct {
	Named []string `json:"named,omitempty"` // what it names as allowed for the session
	Allow []string `json:"allow,omitempty"` // the person's own, of what is allowed
	Ask   []string `json:"ask,omitempty"`   // of what is asked about
	// Unlisted are those that it has added to its list of what is allowed because of an
	// answer, Listed those that it has removed from the one of what is asked about.
	Unlisted []string `json:"unlisted,omitempty"`
	Listed   []string `json:"listed,omitempty"`
}

// Lists are the lists of rules that an editor passes at a start, each entry with commas
// between its rules.
type Lists struct{ Allow, Ask, SessionAllow, SessionDeny []string }

// NamedAnswer is an answer that names a tool.
type NamedAnswer struct {
	Text     string // as it was given: "--session-allow Bash:once"
	Tool     string
	Behavior permission.Behavior
	Once     bool
}

// Answers returns the answers in the lists of a start whose message is prompt, and the
// words that count in them. Both are taken out of the lists: a tool in SessionAllow or,
// with ":once", in SessionDeny, and what the editor has changed in Allow and Ask because
// of an answer. A tool that is denied for the session is denied as a whole, as its rule
// says.
//
// Of a tool that is allowed for the session, an editor names it at each start from then
// on, adds it to its own list of what is allowed, and removes it from the one of what is
// asked about: none of that is a word about other uses of the tool.
func (last *Asked) Answers(l *Lists, prompt string) ([]NamedAnswer, Words, error) {
	answers, named, err := take(l)
	if err != nil {
		return nil, Words{}, err
	}
	_, allow, err := without(l.Allow, nil)
	if err != nil {
		return nil, Words{}, err
	}
	_, ask, err := without(l.Ask, nil)
	if err != nil {
		return nil, Words{}, err
	}
	now := last.Editor.next(named, allow, ask)
	l.Allow, _, err = without(l.Allow, now.Unlisted)
	l.Ask = append(l.Ask, now.Listed...)
	return last.bound(answers, prompt), now, err
}

// take takes the tools that answer out of the lists of the session. named are those that
// are allowed for the session.
func take(l *Lists) (answers []NamedAnswer, named []string, err error) {
	for _, from := range []struct {
		list     *[]string
		flag     string
		behavior permission.Behavior
	}{{&l.SessionDeny, "--session-deny", permission.Deny}, {&l.SessionAllow, "--session-allow", permission.Allow}} {
		var rest []string
		for _, text := range *from.list {
			rules, err := patterns.SplitList(text)
			if err != nil {
				return nil, nil, fmt.Errorf("%s %q: %w", from.flag, text, err)
			}
			for _, rule := range rules {
				tool, once := strings.CutSuffix(rule, ":once")
				if !once && (strings.Contains(rule, "(") || from.behavior == permission.Deny) {
					rest = append(rest, rule)
					continue
				}
				answers = append(answers, NamedAnswer{from.flag + " " + rule, tool, from.behavior, once})
				if !once {
					named = append(named, tool)
				}
			}
		}
		*from.list = rest
	}
	return answers, named, nil
}

// bound leaves only answers to what was asked last.
func (last *Asked) bound(answers []NamedAnswer, prompt string) []NamedAnswer {
	this := slices.ContainsFunc(answers, func(a NamedAnswer) bool { return a.Once && a.Tool == last.Tool })
	return slices.DeleteFunc(answers, func(a NamedAnswer) bool {
		again := a.Tool == last.Tool && !this && approves(prompt, a.Tool)
		return !a.Once && (this && a.Tool == last.Tool || slices.Contains(last.Editor.Named, a.Tool) && !again)
	})
}

// next returns the words of the start after that of w. It names tools as allowed for the
// session, and lists tools as a whole.
func (w *Words) next(named, allow, ask []string) Words {
	now := Words{Named: named, Ask: ask, Unlisted: w.Unlisted, Listed: w.Listed}
	for _, tool := range named {
		if slices.Contains(allow, tool) && !slices.Contains(w.Allow, tool) {
			now.Unlisted = withName(now.Unlisted, tool)
		}
		if !slices.Contains(ask, tool) && slices.Contains(w.Ask, tool) {
			now.Listed = withName(now.Listed, tool)
		}
	}
	now.Allow = slices.DeleteFunc(allow, func(tool string) bool { return slices.Contains(now.Unlisted, tool) })
	for _, tool := range now.Listed {
		now.Ask = withName(now.Ask, tool)
	}
	return now
}

func withName(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(slices.Clip(names), name)
}

// approves reports whether a prompt is what the editor writes when the person has
// allowed a tool.
func approves(prompt, tool string) bool {
	return strings.HasPrefix(prompt, "I approved the "+tool+" tool")
}

// without returns lists of rules without some tools as a whole, and the others that are
// left in them.
func without(lists, tools []string) (rest, whole []string, err error) {
	for _, text := range lists {
		rules, err := patterns.SplitList(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%q: %w", text, err)
		}
		for _, rule := range rules {
			if slices.Contains(tools, rule) {
				continue
			}
			rest = append(rest, rule)
			if !strings.Contains(rule, "(") {
				whole = append(whole, rule)
			}
		}
	}
	return rest, whole, nil
}
