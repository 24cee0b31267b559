package policy

import (
	"strings"

	"github.com/agent-wrapper/agent-wrapper/internal/text/stricttoml"
	"github.com/agent-wrapper/agent-wrapper/internal/tools"
	"github.com/agent-wrapper/agent-wrapper/internal/workspace"
	"github.com/agent-wrapper/agent-wrapper/modes"
	"github.com/agent-wrapper/agent-wrapper/patterns"
	"github.com/agent-wrapper/agent-wrapper/permission"
)

// protects looks for allow rules that name a protected file, and for entries of
// protect that the built-in table already has.
func protects(l *linter) {
	l.each(patterns.Allow, func(r *linted) {
		if file := l.lifts(r); file != "" {
			l.find(LevelWarning, r, strings.TrimPrefix(file, lintPlace.Workspace+"/")+" can change what other commands do, and this allows changing it without asking", "remove the rule to be asked each time")
		}
	})
	for _, item := range l.spec.Protect {
		if l.held("Write", item.Text) {
			l.findings = append(l.findings, Finding{
				Check: l.check, Level: LevelNote, Source: item.Source, Rule: "protect " + stricttoml.Quote(item.Text),
				Why: "it is already protected", Fix: "remove it",
			})
		}
	}
}

// lifts returns a protected file that the rule permits to be changed, "" if
// there is none among the paths with which its pattern begins.
func (l *linter) lifts(r *linted) string {
	if tool := r.rule.Tool(); general(tool) == tools.Editor {
		for _, root := range r.set.Rules()[0].Roots() {
			for _, file := range []string{root, root + "/x"} {
				if l.held(tool, file) && l.allowsUse(r, tool, tools.Builtin(tool).Main(), file) {
					return file
				}
			}
		}
	}
	return ""
}

// held reports whether a write is asked about although the bare rule for its
// tool allows it.
func (l *linter) held(tool, file string) bool {
	bare, _, err := patterns.Parse(tool, patterns.Allow, patterns.Source{})
	if err != nil {
		return false
	}
	name, input, err := textUse(tool, file)
	if err != nil {
		return false
	}
	p := &permission.Policy{Mode: modes.Default, Allow: patterns.NewSet(lintPlace, bare), RiskOff: true, Place: lintPlace}
	use := permission.ToolUse{Tool: name, Input: input, Dir: lintPlace.Workspace}
	return permission.Evaluate(p, nil, &use, workspace.Fake{Dir: lintPlace.Workspace}, nil).Held
}
