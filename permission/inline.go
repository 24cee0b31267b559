package permission

import (
	"github.com/agent-wrapper/agent-wrapper/internal/risk"
	"github.com/agent-wrapper/agent-wrapper/internal/shell"
	"github.com/agent-wrapper/agent-wrapper/patterns"
)

// inline replaces the spots that cannot be read because they are code in the line by
// what they are like when the code stands in a file (policy.InlineAsFiles): a
// command that needs a rule as "python3 inline.py" does. The command that is given
// the code then needs none of its own.
func (e *evaluation) inline() {
	for i := range e.acts {
		a := &e.acts[i]
		if a.sub.Kind != patterns.Hidden || a.does == nil || !a.does.Code() || a.parent < 0 || a.class == risk.Forbidden {
			continue
		}
		by := &e.acts[a.parent]
		file := by.does.AsFile()
		if file == nil {
			continue
		}
		file.Parent, file.From = a.parent, -1
		as := act{action: &action{does: file, parent: a.parent, inline: true}}
		as.sub = patterns.Subject{Kind: patterns.RunCommand, Tool: by.sub.Tool, Line: by.sub.Line, Outside: by.sub.Outside, Command: file}
		if e.namesGuarded(&as) {
			continue
		}
		found := risk.Action(file, e.policy.Profile, e.riskPlace())
		as.class, as.why, as.factors = found.Class, found.Reason, found.Factors
		*a, by.free = as, true
	}
}

// namesGuarded reports whether the code of a command names a file with secrets, or one
// that is held when it is written: a person is asked about such code as before.
func (e *evaluation) namesGuarded(a *act) bool {
	reads, writes := e.mayRead(a), e.mayWrite(a)
	for i := range reads {
		for _, form := range reads[i].Path.Forms() {
			if e.policy.SensitiveAsks && len(e.appendSecrets(nil, form)) > 0 || e.credentialAt(form, false) {
				return true
			}
		}
	}
	for i := range writes {
		w := act{action: &action{sub: writes[i], does: &shell.Action{Kind: shell.Write}, parent: -1, forms: writes[i].Path.Forms()}}
		if e.guarded(&w) != "" || e.protects(&w) {
			return true
		}
	}
	return false
}
